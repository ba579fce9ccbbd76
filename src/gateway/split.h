/*
 * split.h: splitting a text into parts that fit a platform's limit.
 *
 * Sizes are UTF-16 code units. A part ends, where there is a choice in its last tenth or before, at a blank line,
 * else a line, a sentence, a blank, a character as people see one; never within a surrogate pair or an address. A
 * block of code that is cut is closed and opened again.
 */
#ifndef ETHOS_GATEWAY_SPLIT_H
#define ETHOS_GATEWAY_SPLIT_H

#include <stdbool.h>

#include "base/str.h"

#define SPLIT_MAX_PARTS                                                                            \
    8 /* of a text; what is longer is sent as a file, or cut where there are none */

/* Takes the next part off *rest and gives it in out, which is cleared. False: there was none. */
struct splitter {
    struct ethos_view rest;
    unsigned limit;  /* of a part */
    char fence[128]; /* the line that opened the block of code which goes on, or "" */
};

void splitter_init(struct splitter *self, struct ethos_view text, unsigned limit);
bool splitter_next(struct splitter *self, struct str *out);

/* The first piece of a text that is still being written, with an ellipsis. Returns str_code. */
int split_preview(struct ethos_view text, unsigned limit, struct str *out);

#endif
