/*
 * normalize.h: folds a text to what a reader sees, for searching.
 *
 * Folds case, compatibility forms, accents, invisible characters, and letters that look like Latin
 * ones among Latin letters; a run of spaces becomes one space, or two spaces if it has two or more.
 * Every byte of the result is mapped to the byte of the text it comes from, so that matches can be
 * located there.
 */
#ifndef ETHOS_CORE_SCAN_NORMALIZE_H
#define ETHOS_CORE_SCAN_NORMALIZE_H

#include <stdbool.h>

#include <ethos/types.h>

#define NORMAL_MAX 4096 /* bytes of the result */

struct normal_text {
    size_t size;
    unsigned hidden; /* invisible characters that no script needs: tags, direction overrides */
    unsigned tags;   /* of those, letters of tags beyond those of a flag */
    bool strange;    /* it had invisible characters, compatibility forms or look-alikes */
    char text[NORMAL_MAX];
    uint16_t from[NORMAL_MAX]; /* where each byte comes from, in ascending order */
};

/*
 * Folds the start of a text, as much as fits. Returns how many bytes of the text were folded, at
 * most UINT16_MAX.
 */
size_t normalize(struct ethos_view text, struct normal_text *out);

/* Whether a character is invisible: zero-width, soft hyphen, tag, selector. */
bool normal_is_invisible(uint32_t cp);

#endif
