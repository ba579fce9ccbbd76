/*
 * managed_block.h: a block of our lines between two marks, in a text file of another program.
 *
 * Everything outside the marks keeps its bytes. A mark has a line of its own; white space around it, and a comma with a
 * remark after it, are allowed. In markdown, marks in a closed code block do not count.
 */
#ifndef ETHOS_CORE_FORMATS_MANAGED_BLOCK_H
#define ETHOS_CORE_FORMATS_MANAGED_BLOCK_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

struct block_marks {
    const char *begin, *end;
    bool markdown;
};

/* The parts of a text, with line ends; without a block, all of it is `before`. */
struct block {
    bool found;
    struct ethos_view before, begin, inner, end, after;
};

/* Whether a line is one of the marks. */
bool block_is_mark(struct ethos_view line, const struct block_marks *marks);

/* ETHOS_INVALID if the marks are unbalanced or occur twice; out then has the last ones. */
int block_find(struct ethos_view text, const struct block_marks *marks, struct block *out);

/* The text before the block, without the empty line that block_put adds. */
struct ethos_view block_lead(const struct block *block);

/*
 * Sets out to the text with these lines in the block. A missing block is added at the end, after an empty line; the
 * absent view removes the block and that empty line. Line ends are those of the file. ETHOS_INVALID as above, if the
 * lines contain a mark, or if the block would not be found again because of other marks and fences.
 */
int block_put(struct ethos_view text, const struct block_marks *marks, struct ethos_view lines,
              struct str *out);

#endif
