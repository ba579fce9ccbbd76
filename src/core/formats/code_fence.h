/*
 * code_fence.h: which lines of a markdown text are in a fenced code block.
 */
#ifndef ETHOS_CORE_FORMATS_CODE_FENCE_H
#define ETHOS_CORE_FORMATS_CODE_FENCE_H

#include <stdbool.h>

#include <ethos/types.h>

/* The open fence. */
struct fence {
    char mark; /* ` or ~; 0: none is open */
    size_t size;
};

/*
 * Reads the next line: three or more ` or ~ open a code block, and at least as many close it. True inside the block,
 * fences included.
 */
bool fence_line(struct fence *fence, struct ethos_view line);

#endif
