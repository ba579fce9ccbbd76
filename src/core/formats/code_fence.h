/*
 * code_fence.h: which lines of a markdown text stand in a block of code between fences.
 */
#ifndef ETHOS_CORE_FORMATS_CODE_FENCE_H
#define ETHOS_CORE_FORMATS_CODE_FENCE_H

#include <stdbool.h>

#include <ethos/types.h>

/* The fence that is open. */
struct fence {
    char mark; /* ` or ~; 0: none is open */
    size_t size;
};

/*
 * Takes the next line: three or more of ` or ~ open a block of code, as many close it. True inside,
 * fences included.
 */
bool fence_line(struct fence *fence, struct ethos_view line);

#endif
