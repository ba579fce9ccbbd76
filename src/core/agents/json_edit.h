/*
 * json_edit.h: changing a JSON document that belongs to somebody else, as text.
 *
 * What need not change keeps its bytes: order of members, white space, line ends, the mark of
 * UTF-8, how numbers and strings are written. What is added looks like the rest: on lines of its
 * own with the indentation found there, or within the line where the document has no lines. What
 * was added as the last member or element and is taken out again leaves no trace, except that a
 * list or object left empty is written {} or [].
 *
 * A path leads from the root: names of members and numbers of elements, at least one, then NULL. In
 * an array "-" stands for the place behind the last element.
 *
 * Only strict JSON is touched (base/json.h), unless its form is JSON_EDIT_REMARKS: then comments and
 * trailing commas stay where they are. An empty document counts as {}.
 */
#ifndef ETHOS_CORE_AGENTS_JSON_EDIT_H
#define ETHOS_CORE_AGENTS_JSON_EDIT_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/json.h"

struct str;

enum json_edit_form { JSON_EDIT_STRICT, JSON_EDIT_REMARKS };

/*
 * Like json_parse for such a document: skips the byte order mark, and reads an empty one as {}. The
 * error says so if the document only differs by comments or trailing commas.
 */
int json_edit_parse(struct ethos_view text, enum json_edit_form form, const char *what,
                    json_t **out, struct ethos_error *error);

/*
 * The same, also accepting comments and trailing commas: for reading, not editing. NULL if it
 * cannot be read.
 */
json_t *json_edit_look(struct ethos_view text);

/* The value at a path of a parsed document, or NULL. */
const json_t *json_edit_at(const json_t *root, const char *const path[]);

/*
 * Sets the value at path and writes the text to out: replaces an existing value or adds one after
 * the last; missing parents are created. ETHOS_INVALID if the text is not JSON, or if a parent is
 * neither object nor array.
 */
int json_edit_put(struct ethos_view text, enum json_edit_form form, const char *what,
                  const char *const path[], const json_t *value, struct str *out,
                  struct ethos_error *error);

/* Removes the value at path and writes the text to out. ETHOS_NOTFOUND if there is none. */
int json_edit_drop(struct ethos_view text, enum json_edit_form form, const char *what,
                   const char *const path[], struct str *out, struct ethos_error *error);

#endif
