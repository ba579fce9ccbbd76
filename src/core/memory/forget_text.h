/*
 * forget_text.h: finds and removes a text that is to be forgotten, in the same way for every store
 * and index.
 *
 * By default only whole words match: "tea" does not match "team". A letter or digit next to the
 * match makes it part of a longer word, unless the searched text itself begins or ends with another
 * kind of character, or one of the two characters belongs to a script written without spaces.
 * Composed and decomposed letters are equal. Linear in the text.
 */
#ifndef ETHOS_CORE_MEMORY_FORGET_TEXT_H
#define ETHOS_CORE_MEMORY_FORGET_TEXT_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

#include "base/json.h"

struct str;

#define FORGET_SYMBOLS (2 * ETHOS_MAX_MATCH) /* of a text, decomposed or folded */

/* How characters are compared. */
enum forget_mode {
    FORGET_BYTES,     /* byte by byte: ASCII and invalid UTF-8 */
    FORGET_CANONICAL, /* by canonical decomposition */
    FORGET_FOLDED     /* also ignoring letter case and compatibility forms */
};

/* A text, prepared for searching. */
struct forget_needle {
    struct ethos_view text;
    enum forget_mode mode;
    size_t count;
    uint32_t symbols[FORGET_SYMBOLS]; /* bytes, or characters */
    uint16_t back[FORGET_SYMBOLS];    /* longest proper border of each head */
    uint32_t first, last;             /* characters of the text */
};

/* What is searched for: the text, and its other form if it has one. */
struct forget {
    const struct ethos_match *match;
    struct forget_needle needles[2];
    size_t needle_count;
    const char *mark;       /* replaces a line that cannot be removed */
    struct ethos_view slug; /* the text as a file name of a note */
    char slug_bytes[ETHOS_MAX_MATCH + 1];
};

/*
 * ETHOS_INVALID for a blank text or one of several lines; ETHOS_LIMIT for a text that is too long.
 */
int forget_init(struct forget *self, const struct ethos_match *match, struct ethos_error *error);

/* The first match that begins at or after `from`. */
bool forget_find(const struct forget *self, struct ethos_view text, size_t from, size_t *out_at,
                 size_t *out_end);
bool forget_holds(const struct forget *self, struct ethos_view text);

/*
 * Like forget_find, for text that may be JSON: also matches where JSON escapes encode the
 * characters, up to three levels deep. True if memory does not suffice to decide.
 */
bool forget_holds_escaped(const struct forget *self, struct ethos_view text);

/*
 * The text without the lines that contain a match, in out. Other lines stay as they are, except
 * that blank lines at the end are removed; if nothing is left, the result is empty. A text without
 * a match is returned unchanged. *lines (may be NULL) counts the removed lines. ETHOS_OK or
 * ETHOS_NOMEM.
 */
int forget_lines(const struct forget *self, struct ethos_view text, struct str *out,
                 struct ethos_view *out_text, uint64_t *lines);

/*
 * Calls match->each (may be NULL) for every line of a key that contains a match; returns what it
 * returned, or ETHOS_OK.
 */
int forget_tell(const struct forget *self, const char *key, struct ethos_view text);

/* The same for every text within a JSON value. */
int forget_tell_json(const struct forget *self, const char *key, const json_t *value);

/* The same for a table value, which is JSON if it can be parsed: see forget_value. */
int forget_tell_value(const struct forget *self, bool json, const char *key,
                      struct ethos_view value, size_t most);

/* Replaces each line that contains a match by the mark; every other byte stays. */
int forget_mark(const struct forget *self, struct ethos_view text, struct str *out,
                struct ethos_view *out_text, uint64_t *lines);

/*
 * Replaces matches in every string and member name of a JSON value. A value that is itself a string
 * is replaced through *value. *count: the number of strings that matched. ETHOS_OK or ETHOS_NOMEM.
 */
int forget_json(const struct forget *self, json_t **value, uint64_t *count);

/*
 * Replaces matches in a table value, which is JSON if `json` is set and it can be parsed (up to
 * `most` bytes), otherwise text. If *count grew, *out is the new value. ETHOS_OK or ETHOS_NOMEM.
 */
int forget_value(const struct forget *self, bool json, struct ethos_view value, size_t most,
                 struct str *out, uint64_t *count);

/* Whether a file name contains the text, or the name that a title with the text would get. */
bool forget_names(const struct forget *self, struct ethos_view key);

/*
 * The new name for such a file, replacing each path component separately; ETHOS_MAX_KEY + 1 bytes.
 */
void forget_rename(const struct forget *self, struct ethos_view key, char *out);

#endif
