/*
 * yaml.h: config files as a flat table, edited line by line.
 *
 * `a.b: v` and a nested block mean the same key "a.b". A list is joined with commas. Values keep
 * the bytes between their quotes. Anchors, aliases, tags, merge keys, several documents, duplicate
 * keys and excessive depth or size are refused with the line number. Keys are not interpreted here.
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
    bool
        plain; /* one line of block style: the text of yaml_quote can be placed from start to end, after a space if they are equal, which is directly after the colon */
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

/* Words that YAML readers take for null, though here they are strings. */
bool yaml_is_null(struct ethos_view value);

/*
 * Appends value to out as the value of a block mapping, quoted if it would not be read as this
 * string. Text that looks like a number or boolean stays plain: here everything is a string.
 */
int yaml_quote(const char *value, struct str *out);

/* The same for files that other programs read: numbers, booleans and dates are quoted too. */
int yaml_quote_string(struct ethos_view value, struct str *out);

#endif
