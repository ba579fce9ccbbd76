/*
 * visible.h: a text without its invisible characters, with a map back.
 *
 * A token in which a zero-width space stands is the same token to whoever reads or copies it. So what is matched
 * byte by byte is matched once more on this copy; what is found there is replaced in the text itself.
 */
#ifndef ETHOS_CORE_SCAN_VISIBLE_H
#define ETHOS_CORE_SCAN_VISIBLE_H

#include <stdbool.h>

#include "base/str.h"

enum visible_tags { VISIBLE_DROP_TAGS, VISIBLE_READ_TAGS, VISIBLE_COPIES };

struct visible_text {
    struct str text;
    struct str gaps; /* of struct visible_gap, in their order */
    size_t source_size;
};

void visible_init(struct visible_text *self);
void visible_release(struct visible_text *self);

/* Whether a text has an invisible character. Fast where there are few. */
bool visible_differs(struct ethos_view text);

/*
 * Makes the copy. Tags, the invisible letters of U+E0020 to U+E007E, are left out like all others or read as the
 * letters they stand for. False, and nothing is made, when the text has no invisible character, or no tag to read.
 * Check str_code of text and of gaps.
 */
bool visible_read(struct visible_text *self, struct ethos_view text, enum visible_tags tags);

/* Where the byte at `at` of the copy begins in the text; its size for the end. Rises with `at`. */
size_t visible_start(const struct visible_text *self, size_t at);

/* Where the byte before `at` ends in the text. */
size_t visible_end(const struct visible_text *self, size_t at);

/* The first byte of the copy that begins at `at` of the text or behind it. */
size_t visible_find(const struct visible_text *self, size_t at);

#endif
