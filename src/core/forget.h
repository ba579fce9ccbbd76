/*
 * forget.h: where a text that is to be forgotten stands, the same for every store and index.
 *
 * Whole words by default: "tea" is not in "team". A letter or digit beside the match makes it part of a
 * longer word, unless the text itself begins or ends with something else there, or one of the two
 * characters belongs to a script written without spaces. Cost: linear in the text, whatever it holds.
 */
#ifndef ETHOS_CORE_FORGET_H
#define ETHOS_CORE_FORGET_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

#include "base/json.h"

struct str;

#define FORGET_SYMBOLS (2 * ETHOS_MAX_MATCH) /* of a folded text */

/* A match, prepared for searching. */
struct forget {
    const struct ethos_match *match;
    size_t count;
    uint32_t symbols[FORGET_SYMBOLS]; /* bytes, or folded characters */
    uint16_t back[FORGET_SYMBOLS];    /* longest proper border of each head */
    uint32_t first, last;             /* characters of the text */
    const char *mark;                 /* what stands for a line that cannot go */
    bool escaped;                     /* JSON writes the text otherwise */
    struct ethos_view slug;           /* of the text, as names of notes are made */
    char slug_bytes[ETHOS_MAX_MATCH + 1];
};

/* ETHOS_INVALID for a blank text, or more than part of one line; ETHOS_LIMIT for a long one. */
int forget_init(struct forget *self, const struct ethos_match *match, struct ethos_error *error);

/* The first match that begins at or after `from`. */
bool forget_find(const struct forget *self, struct ethos_view text, size_t from, size_t *out_at,
                 size_t *out_end);
bool forget_holds(const struct forget *self, struct ethos_view text);

/*
 * The text without the lines that hold it, as `remove` leaves it, in out; one that does not hold it is
 * given as it is. *lines (may be NULL) counts them. ETHOS_OK or ETHOS_NOMEM.
 */
int forget_lines(const struct forget *self, struct ethos_view text, struct str *out,
                 struct ethos_view *out_text, uint64_t *lines);

/* Tells match->each (may be NULL) of every line of a key that holds it; what it returned, or ETHOS_OK. */
int forget_tell(const struct forget *self, const char *key, struct ethos_view text);

/* The same with a mark in the place of each such line; every other byte stays. */
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
