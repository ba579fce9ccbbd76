/*
 * forget_text.h: where a text that is to be forgotten stands, the same for every store and index.
 *
 * Whole words by default: "tea" is not in "team". A letter or digit beside the match makes it part of a
 * longer word, unless the text itself begins or ends with something else there, or one of the two
 * characters belongs to a script written without spaces. Letters that are composed of others are the same
 * letter however they are written. Cost: linear in the text, whatever it holds.
 */
#ifndef ETHOS_CORE_MEMORY_FORGET_TEXT_H
#define ETHOS_CORE_MEMORY_FORGET_TEXT_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

#include "base/json.h"

struct str;

#define FORGET_SYMBOLS (2 * ETHOS_MAX_MATCH) /* of a text, decomposed or folded */

/* What two characters must have in common. */
enum forget_mode {
    FORGET_BYTES,     /* every byte: ASCII, and what is no UTF-8 */
    FORGET_CANONICAL, /* what they are composed of */
    FORGET_FOLDED     /* the same, letter case and compatibility forms aside */
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

/* A match, prepared likewise: its text, and its other form if it has one. */
struct forget {
    const struct ethos_match *match;
    struct forget_needle needles[2];
    size_t needle_count;
    const char *mark;       /* what stands for a line that cannot go */
    struct ethos_view slug; /* of the text, as names of notes are made */
    char slug_bytes[ETHOS_MAX_MATCH + 1];
};

/* ETHOS_INVALID for a blank text, or more than part of one line; ETHOS_LIMIT for a long one. */
int forget_init(struct forget *self, const struct ethos_match *match, struct ethos_error *error);

/* The first match that begins at or after `from`. */
bool forget_find(const struct forget *self, struct ethos_view text, size_t from, size_t *out_at,
                 size_t *out_end);
bool forget_holds(const struct forget *self, struct ethos_view text);

/*
 * The same for what may be JSON: also where escapes stand for characters of it, three levels deep. What cannot be
 * told without memory is held.
 */
bool forget_holds_escaped(const struct forget *self, struct ethos_view text);

/*
 * The text without the lines that hold it, in out: every other line stays as it is, but blank lines that would be
 * the last ones; of nothing a line end is left. One that does not hold it is given as it is. *lines (may be NULL)
 * counts them. ETHOS_OK or ETHOS_NOMEM.
 */
int forget_lines(const struct forget *self, struct ethos_view text, struct str *out,
                 struct ethos_view *out_text, uint64_t *lines);

/* Tells match->each (may be NULL) of every line of a key that holds it; what it returned, or ETHOS_OK. */
int forget_tell(const struct forget *self, const char *key, struct ethos_view text);

/* The same for every text within a JSON value. */
int forget_tell_json(const struct forget *self, const char *key, const json_t *value);

/* The same for a value of a table, which is JSON if it can be parsed: see forget_value. */
int forget_tell_value(const struct forget *self, bool json, const char *key,
                      struct ethos_view value, size_t most);

/* The text with a mark in the place of each such line; every other byte stays. */
int forget_mark(const struct forget *self, struct ethos_view text, struct str *out,
                struct ethos_view *out_text, uint64_t *lines);

/*
 * Marks every string and member name within a JSON value. A string itself is replaced through *value.
 * *count: how many held it. ETHOS_OK or ETHOS_NOMEM.
 */
int forget_json(const struct forget *self, json_t **value, uint64_t *count);

/*
 * Marks a value of a table, which is JSON where `json` says so and it can be parsed (`most` bytes), else a text. *out
 * has it if *count grew. ETHOS_OK or ETHOS_NOMEM.
 */
int forget_value(const struct forget *self, bool json, struct ethos_view value, size_t most,
                 struct str *out, uint64_t *count);

/* Whether the name of a file holds it, or the name that a title with the text gives. */
bool forget_names(const struct forget *self, struct ethos_view key);

/* The name that such a file gets instead, each part of a path by itself; ETHOS_MAX_KEY + 1 bytes. */
void forget_rename(const struct forget *self, struct ethos_view key, char *out);

#endif
