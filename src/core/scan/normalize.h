/*
 * normalize.h: a text as a reader takes it, for looking things up in it.
 *
 * Case, compatibility forms, accents, invisible characters and letters that look like Latin ones between Latin ones
 * are folded; runs of blanks are one space, or two spaces for two and more. Every byte of the result knows the byte
 * of the text that it comes from, so that what is found here can be shown there.
 */
#ifndef ETHOS_CORE_SCAN_NORMALIZE_H
#define ETHOS_CORE_SCAN_NORMALIZE_H

#include <stdbool.h>

#include <ethos/types.h>

#define NORMAL_MAX 4096 /* bytes of the result */

struct normal_text {
    size_t size;
    unsigned
        hidden; /* characters that nobody sees and no script needs: tags, overrides of direction */
    unsigned tags; /* of those, letters of tags beyond what a flag has */
    bool strange;  /* it had invisible characters, compatibility forms or look-alikes */
    char text[NORMAL_MAX];
    uint16_t from[NORMAL_MAX]; /* where each byte comes from, never falling */
};

/*
 * Folds the start of a text; what does not fit is left. Returns how many bytes of the text were folded, UINT16_MAX
 * at most.
 */
size_t normalize(struct ethos_view text, struct normal_text *out);

/* Whether a character shows nothing, and stands for none that does: zero-width, soft hyphens, tags, selectors. */
bool normal_is_invisible(uint32_t cp);

#endif
