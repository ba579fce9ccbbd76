/*
 * remember.h: one fact becomes one note and one line of the index.
 *
 * The same title again adds to its note, replaces its body, or makes a second note, as asked. Another
 * title that gives the same file name gets a name of its own. Nothing is overwritten unsaid.
 *
 * Whoever stores asks for names until one is not taken:
 *
 *     for (n = 0;; n++) {
 *         remember_key(what, n, key);
 *         read key and index, remember_apply(...), effect == REMEMBER_TAKEN: go on
 *     }
 */
#ifndef ETHOS_CORE_REMEMBER_H
#define ETHOS_CORE_REMEMBER_H

#include <ethos/limits.h>
#include <ethos/types.h>

struct str;

enum remember_how { REMEMBER_ADD, REMEMBER_REPLACE, REMEMBER_NEW };

enum remember_effect {
    REMEMBER_CREATED,
    REMEMBER_APPENDED,
    REMEMBER_REPLACED,
    REMEMBER_UNCHANGED,
    REMEMBER_TAKEN /* the name belongs to another note */
};

struct remember {
    struct ethos_view title; /* never blank: remember_title */
    struct ethos_view text;  /* never blank */
    struct ethos_view hook;  /* blank: the first line of the text */
    struct ethos_view type;  /* absent: project for a new note, else as it is */
    struct ethos_view source;
    const char *date; /* YYYY-MM-DD */
    enum remember_how how;
};

/*
 * Appends a title for a text that was given none: its first line that is not blank, without the marks
 * of a heading, list or quote, at most 60 CH, cut between words. Returns str_code.
 */
int remember_title(struct ethos_view text, struct str *out);

/*
 * The n-th name to try: the slug of the title, with the hash of the title, then numbered from 2; for
 * REMEMBER_NEW the slug, then numbered. False when there is no further one (n > 9999).
 */
bool remember_key(const struct remember *what, unsigned n, char out_key[ETHOS_MAX_KEY + 1]);

/*
 * What becomes of the note under key (absent view: none) and of the index; the texts are made the
 * content of out_note and out_index. A note belongs to a title when its own title, or that of its
 * entry, is the same after trimming. An unlisted note gets its line back, a refreshed hook goes to the
 * line and to the description. ETHOS_UNSUPPORTED never: what note_set cannot edit stays as it is.
 * Returns str_code.
 */
int remember_apply(const struct remember *what, const char *key, struct ethos_view note,
                   struct ethos_view index, struct str *out_note, struct str *out_index,
                   enum remember_effect *out_effect);

const char *remember_effect_name(enum remember_effect effect); /* "created", ... */

#endif
