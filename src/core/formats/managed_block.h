/*
 * managed_block.h: our lines in a text file that belongs to somebody else, between two lines that mark
 * them.
 *
 * Everything outside the marks keeps its bytes. A line is a mark when nothing but white space
 * stands around it; a comma and a remark may follow. In markdown, what stands in a block of code
 * that somebody closed shows marks and has none.
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

/* The pieces of a text; all of it is `before` when there is no block. Lines with their ends. */
struct block {
    bool found;
    struct ethos_view before, begin, inner, end, after;
};

/* Whether a line is one of the marks. */
bool block_is_mark(struct ethos_view line, const struct block_marks *marks);

/* ETHOS_INVALID when the marks are unbalanced or come twice; out then tells of the last ones. */
int block_find(struct ethos_view text, const struct block_marks *marks, struct block *out);

/* What stands before the block, without the empty line that block_put adds. */
struct ethos_view block_lead(const struct block *block);

/*
 * Makes out the text with these lines in the block, which is added at the end, an empty line before
 * it, when there is none. The absent view takes the block out, and that empty line with it. Line
 * ends are those of the file. ETHOS_INVALID as above, when a mark stands anywhere in the
 * lines, and when the block would not be found again among the marks and fences of the text.
 */
int block_put(struct ethos_view text, const struct block_marks *marks, struct ethos_view lines,
              struct str *out);

#endif
