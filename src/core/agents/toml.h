/*
 * toml.h: as much of TOML as is needed to add a table to a file and to remove it again.
 *
 * Splits a text into statements but does not parse values. Invalid TOML may be accepted, but not a
 * text that ends inside a string or a bracket.
 */
#ifndef ETHOS_CORE_AGENTS_TOML_H
#define ETHOS_CORE_AGENTS_TOML_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

struct toml_statement {
    bool table;              /* a header; otherwise a key with its value */
    struct ethos_view key;   /* as written: dots, quotes */
    struct ethos_view whole; /* from its first byte to the end of its last line */
};

/* The statement at or after *offset: 1; 0 at the end; -1 if the text ends inside a statement. */
int toml_next(struct ethos_view text, size_t *offset, struct toml_statement *out);

/*
 * Reads the first part of a key, unquoted but not unescaped, and advances. False if none is left.
 */
bool toml_part(struct ethos_view *key, struct ethos_view *out);

/* Reads the first member of an inline table and advances. False if none is left. */
bool toml_member(struct ethos_view *members, struct ethos_view *out_key,
                 struct ethos_view *out_value);

/* The value of a statement: everything after its equals sign, without a comment. */
struct ethos_view toml_value(const struct toml_statement *row);

/* Appends v as a string. Returns str_code. */
int toml_quote(struct ethos_view v, struct str *out);

enum toml_room {
    TOML_FREE,  /* [parent.name] can be added at the end */
    TOML_TAKEN, /* it exists, in one form or another */
    TOML_SHUT   /* the parent is not a table, or the text is broken */
};
enum toml_room toml_room(struct ethos_view text, const char *parent, const char *name);

/*
 * Appends the text without the table parent.name and its subtables, and without surplus empty
 * lines. Returns str_code.
 */
int toml_without(struct ethos_view text, const char *parent, const char *name, struct str *out);

#endif
