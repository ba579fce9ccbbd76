/*
 * toml.h: just enough of TOML to add a table to somebody else's file and to take it out again.
 *
 * Statements are told apart, values are not read. What is no TOML may pass; a text that ends inside
 * a string or a bracket does not.
 */
#ifndef ETHOS_CORE_AGENTS_TOML_H
#define ETHOS_CORE_AGENTS_TOML_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

struct toml_statement {
    bool table;              /* a header, else a key with its value */
    struct ethos_view key;   /* as written: dots, quotes */
    struct ethos_view whole; /* from its first byte to the end of its last line */
};

/* The statement at or behind *offset: 1; 0 at the end; -1 when the text ends inside of one. */
int toml_next(struct ethos_view text, size_t *offset, struct toml_statement *out);

/* Takes the first part off a key, unquoted but not unescaped. False when none is left. */
bool toml_part(struct ethos_view *key, struct ethos_view *out);

/*
 * Takes the first member off what stands between the braces of an inline table. False when none is
 * left.
 */
bool toml_member(struct ethos_view *members, struct ethos_view *out_key,
                 struct ethos_view *out_value);

/* What a statement says: all behind its equals sign, a remark excluded. */
struct ethos_view toml_value(const struct toml_statement *row);

/* Appends v as a string. Returns str_code. */
int toml_quote(struct ethos_view v, struct str *out);

enum toml_room {
    TOML_FREE,  /* [parent.name] may be added at the end */
    TOML_TAKEN, /* it is there, in one form or another */
    TOML_SHUT   /* the parent is no table, or the text is broken */
};
enum toml_room toml_room(struct ethos_view text, const char *parent, const char *name);

/*
 * Appends the text without the table parent.name and those below it, and without the empty lines
 * that would then be too many. Returns str_code.
 */
int toml_without(struct ethos_view text, const char *parent, const char *name, struct str *out);

#endif
