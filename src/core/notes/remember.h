/*
 * remember.h: writes one fact as a note and a line of the index.
 *
 * If a note with the same title exists (ignoring letter case), the fact is added to it, replaces
 * its body, becomes a second note, or changes nothing, as the caller asks. A different title that
 * would get the same file name gets another name. Nothing is overwritten silently. Generated
 * titles, hooks and file names contain no secrets (core/memory/sanitize).
 *
 * The caller first tries the file of the index entry with this title (index_find_title), unless a
 * second note was asked for, and then further names until one is free:
 *
 *     for (n = 0; remember_key(what, n, key); n++)
 *         read key and index, remember_apply(...), effect == REMEMBER_TAKEN: go on
 */
#ifndef ETHOS_CORE_NOTES_REMEMBER_H
#define ETHOS_CORE_NOTES_REMEMBER_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

struct str;

#define REMEMBER_NAMES 10000          /* names to try for one title */
#define REMEMBER_MAX_TITLE 60         /* CH of a generated title */
#define REMEMBER_MAX_WORDS 8          /* words of the title of a note without one */
#define REMEMBER_MAX_DESCRIPTION 1023 /* CH before the ellipsis */

enum remember_how {
    REMEMBER_ADD,
    REMEMBER_REPLACE,
    REMEMBER_NEW,
    REMEMBER_ASK /* an existing note with this title stays as it is, unless it says the same: REMEMBER_EXISTS */
};

enum remember_effect {
    REMEMBER_CREATED,
    REMEMBER_APPENDED,
    REMEMBER_REPLACED,
    REMEMBER_UNCHANGED, /* the note is unchanged; a missing index line may have been added */
    REMEMBER_EXISTS,    /* only for REMEMBER_ASK; nothing was changed */
    REMEMBER_TAKEN      /* the name belongs to another note; there are no texts */
};

struct remember {
    struct ethos_view title; /* never blank: remember_note_title */
    struct ethos_view text;  /* never blank: line_blank */
    struct ethos_view hook;  /* blank: use the first line of the text */
    bool hook_by_hand;       /* written by a person: keep it when the text changes */
    struct ethos_view type;  /* absent: project for a new note, otherwise unchanged */
    struct ethos_view source;
    const char *date; /* YYYY-MM-DD */
    enum remember_how how;
};

/*
 * Appends a title for a text without one: its first line with a letter or digit, without the marks
 * of a heading, list or quote, at most 60 CH, cut between words; or its first line that is not
 * blank. Returns str_code.
 */
int remember_title(struct ethos_view text, struct str *out);

/* The same for a note: from the text without secrets, with at most 8 words. */
int remember_note_title(struct ethos_view text, struct str *out);

/*
 * The nth name to try: the slug of the title without secrets, with the hash of the title, then
 * numbered from 2; for REMEMBER_NEW the slug, then numbered. False from REMEMBER_NAMES on, and if
 * memory runs out.
 */
bool remember_key(const struct remember *what, unsigned n, char out_key[ETHOS_MAX_KEY + 1]);

/* The title and hook of the index line if none is given. Returns str_code. */
int remember_line(struct ethos_view text, struct str *out_title, struct str *out_hook);

/*
 * What becomes of the note under key (absent view: none) and of the index; the texts are made the
 * content of out_note and out_index.
 *
 * A note belongs to a title when its own title, or that of its entry, is the same once collapsed, in any
 * letter case; a name that has no note but an entry of another title is taken. Created: hook, else the first
 * line of the text, is the description (1,023 CH, then an ellipsis) and the hook of the line, which has none
 * where it would only repeat the title. Appended and replaced: verified is the date, a type that was given is
 * set, a hook that was given goes to the line and to the description. When none was given, so does the first line of
 * the new text, unless a person wrote the hook: in the line itself, which is then not what the description says, or
 * with hook_by_hand, which the note's member "hook" remembers. Replaced: the source is the new one. A note without head gets one only for its
 * type. An unlisted note gets its line in every case. What note_set cannot edit stays as it is. Returns
 * str_code.
 */
int remember_apply(const struct remember *what, const char *key, struct ethos_view note,
                   struct ethos_view index, struct str *out_note, struct str *out_index,
                   enum remember_effect *out_effect);

/*
 * Corrects the note under key, which is there: text, hook and title as given, those that are absent as they
 * are; but the hook follows a new text as above, and so does a title that was made from the old text. REMEMBER_REPLACED
 * or REMEMBER_UNCHANGED. out_title is the title to name the file after, or empty when its name stays: it had
 * the old title's, and the title changed. Returns str_code.
 */
int remember_rewrite(const struct remember *what, const char *key, struct ethos_view note,
                     struct ethos_view index, struct str *out_note, struct str *out_index,
                     struct str *out_title, enum remember_effect *out_effect);

const char *remember_effect_name(enum remember_effect effect); /* "created", ... */

#endif
