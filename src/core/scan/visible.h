/*
 * visible.h: a text without its invisible characters, with a map back.
 *
 * A token with a zero-width space in it is the same token for anyone who reads or copies it. So
 * byte-wise matching is repeated on this copy, and matches are replaced in the text itself.
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

/* Whether a text has an invisible character. Fast if there are few. */
bool visible_differs(struct ethos_view text);

/*
 * Makes the copy. Tags, the invisible letters U+E0020 to U+E007E, are left out like the others or
 * read as the letters they encode. False, without a copy, if the text has no invisible character,
 * or no tag to read. Check str_code of text and of gaps.
 */
bool visible_read(struct visible_text *self, struct ethos_view text, enum visible_tags tags);

/*
 * The position in the text of the byte at `at` of the copy; its size for the end. Increases with
 * `at`.
 */
size_t visible_start(const struct visible_text *self, size_t at);

/* The end in the text of the byte before `at`. */
size_t visible_end(const struct visible_text *self, size_t at);

/* The first byte of the copy that is at or after `at` of the text. */
size_t visible_find(const struct visible_text *self, size_t at);

#endif
