/*
 * yaml.h: config files as a flat table, edited by line.
 *
 * `a.b: v` and a nested block mean the same key "a.b". A list is joined with commas. Values keep
 * the bytes they had between the marks. Anchors, aliases, tags, merge keys, several documents,
 * duplicate keys and more depth or size than the limits are refused with the line number.
 * What a key means is none of this file's business.
 */
#ifndef ETHOS_BASE_YAML_H
#define ETHOS_BASE_YAML_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct str;

struct yaml_pair {
    const char *key;   /* dotted */
    const char *value; /* "" for an empty one */
    unsigned line;     /* from 1 */
    size_t start, end; /* bytes of the value in the text; equal when empty; whole list for a list */
    bool plain;        /* one line of block style: yaml_quote's text may stand from start to end,
                          after a space when they are equal, which is right behind the colon */
};

struct yaml_table {
    struct yaml_pair *pairs; /* in file order */
    size_t count;
};

/* ETHOS_INVALID or ETHOS_LIMIT as "<what>:<line>: <why>". The table lives in the arena. */
int yaml_parse(struct ethos_view text, const char *what, struct arena *arena,
               struct yaml_table *out, struct ethos_error *error);

/* NULL when absent. */
const char *yaml_get(const struct yaml_table *table, const char *key);
const struct yaml_pair *yaml_find(const struct yaml_table *table, const char *key);

/* Words every YAML reader takes for no value at all, though here they are strings. */
bool yaml_is_null(struct ethos_view value);

/*
 * Appends value to out as the value of a block mapping, quoted if it would not read back as this
 * very string. What only looks like a number or a boolean stays plain: here everything is a string.
 */
int yaml_quote(const char *value, struct str *out);

/* The same for files that others read: what looks like a number, a boolean or a date is quoted. */
int yaml_quote_string(struct ethos_view value, struct str *out);

#endif
