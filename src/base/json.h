/*
 * json.h: strict JSON in, compact or indented JSON out, over jansson.
 *
 * Stricter than jansson: bounded size and depth, duplicate keys refused, invalid UTF-8 refused.
 * More lenient in one point of the memory format: a lone surrogate escape becomes U+FFFD.
 */
#ifndef ETHOS_BASE_JSON_H
#define ETHOS_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include <ethos/types.h>

struct str;

/*
 * Parses one document. `what` names it in the error ("updates", a file name). ETHOS_INVALID, or
 * ETHOS_LIMIT for too much size, depth or too many values: "updates: line 3, column 7: duplicate
 * object key".
 */
int json_parse(struct ethos_view text, const char *what, json_t **out, struct ethos_error *error);

/* The same for our own documents around an input, which may be larger: up to `most` bytes. */
int json_parse_most(struct ethos_view text, size_t most, const char *what, json_t **out,
                    struct ethos_error *error);

/*
 * The same, but a number that is too large is not an error: an integer becomes a real, a real the
 * largest possible.
 */
int json_parse_wide(struct ethos_view text, const char *what, json_t **out,
                    struct ethos_error *error);

/*
 * A member of an object: its value as written, and either its text (for a string) or its parsed
 * value. Valid during the call; text without escapes is part of the document.
 */
struct json_member {
    struct ethos_view name;
    struct ethos_view raw;
    struct ethos_view text; /* absent: not a string */
    const json_t *value;    /* NULL: a string */
};

/* Returns 0 to continue; any other value ends the reading and is returned by it. */
typedef int json_member_fn(void *arg, const struct json_member *member);

/*
 * Parses a document that is one object, and reports its members in order instead of building it. A
 * name may occur twice. The document may turn out to be invalid after some members were reported.
 */
int json_members(struct ethos_view text, const char *what, json_member_fn *each, void *arg,
                 struct ethos_error *error);

enum { JSON_STYLE_LINE, JSON_STYLE_PRETTY /* two spaces */ };

/* Appends the text of value; returns str_code. */
int json_print(const json_t *value, int style, struct str *out);

/* Appends v as a JSON string, quotes included; invalid UTF-8 becomes U+FFFD. Returns str_code. */
int json_quote(struct ethos_view v, struct str *out);

/*
 * Appends v, valid UTF-8, as json_print prints a string: escapes have capital letters. Returns
 * str_code.
 */
int json_print_text(struct ethos_view v, struct str *out);

/*
 * Whether value is a number without a fraction: 2, or 2.0 as some programs write it. One beyond 64
 * bits becomes the nearest within.
 */
bool json_whole(const json_t *value, int64_t *out);

/* A string member as a view, absent view when missing or not a string. Bytes may include NUL. */
struct ethos_view json_view(const json_t *object, const char *name);

/* The same as a C string; "" when the member is missing or not a string. */
const char *json_cstr(const json_t *object, const char *name);

/* An integer member; 0 when it is missing or not an integer. */
long long json_int(const json_t *object, const char *name);

/* A new string from bytes; invalid UTF-8 becomes U+FFFD. NULL when out of memory. */
json_t *json_text(struct ethos_view v);

#endif
