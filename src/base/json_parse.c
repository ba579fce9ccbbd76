/*
 * json_parse.c: strict JSON in.
 *
 * A recursive reader over the text that builds jansson values. jansson's own loader is not used:
 * up to 2.14 it ignores a failed growth of its token buffer and then stores a shortened string or
 * writes past its end. Reading here also puts size, depth, duplicate keys, lone surrogates and
 * positions in one pass. The fuzz target holds this reader against jansson's.
 *
 * A reader function returns NULL or false after it has put the reason into the error; nothing is
 * left behind.
 */
#include "base/json.h"

#include <ethos/limits.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF(macro)
#define TOO_MANY "more than " TEXT(ETHOS_MAX_JSON_VALUES) " values"

struct json_reader {
    const char *text, *at, *end;
    const char *what;
    unsigned depth;
    size_t values;
    bool wide; /* numbers may be too large */
    int code;
    struct ethos_error *error;
};

static json_t *read_value(struct json_reader *r);

/* ---- errors ---------------------------------------------------------------------------------- */

/* Fails at a place; columns count characters from 1. */
static void fail_at(struct json_reader *r, const char *place, int code, const char *reason)
{
    size_t line = 1, column = 1, taken;

    for (const char *at = r->text; at < place; at += taken) {
        uint32_t cp;

        taken = utf8_decode(at, (size_t)(r->end - at), &cp, NULL);
        column = cp == '\n' ? 1 : column + 1;
        line += cp == '\n';
    }
    r->code = err_set(r->error, code, "%s: line %zu, column %zu: %s", r->what, line, column,
                      reason);
}

static bool fail_reader(struct json_reader *r, const char *reason)
{
    fail_at(r, r->at, ETHOS_INVALID, r->at < r->end ? reason : "the text ends too early");
    return false;
}

/* Passes value on; a missing one means no memory. */
static json_t *made(struct json_reader *r, json_t *value)
{
    if (!value)
        r->code = err_nomem(r->error);
    return value;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static int peek(const struct json_reader *r)
{
    return r->at < r->end ? (unsigned char)*r->at : -1;
}

static void skip_space(struct json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* Takes c, with white space before it, if it comes next. */
static bool take_char(struct json_reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static int hex_value(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return -1;
}

/* The UTF-16 unit of a \uXXXX that stands at `at`, or -1. */
static int32_t unit_at(const struct json_reader *r, const char *at)
{
    int32_t unit = 0;

    if (r->end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hex_value((unsigned char)at[i]);

        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static bool read_unicode_escape(struct json_reader *r, struct str *out)
{
    char bytes[4];
    int32_t unit = unit_at(r, r->at);

    if (unit < 0)
        return fail_reader(r, "invalid \\u escape");
    r->at += 6;
    uint32_t cp = (uint32_t)unit;
    if (unit >= 0xD800 && unit <= 0xDFFF) {
        int32_t low = unit <= 0xDBFF ? unit_at(r, r->at) : -1;

        cp = UTF8_REPLACEMENT;
        if (low >= 0xDC00 && low <= 0xDFFF) {
            cp = 0x10000 + (((uint32_t)unit - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
            r->at += 6;
        }
    }
    str_add(out, view_of(bytes, utf8_put(cp, bytes)));
    return true;
}

static bool read_json_escape(struct json_reader *r, struct str *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";

    if (r->end - r->at < 2) {
        r->at = r->end;
        return fail_reader(r, "");
    }
    if (r->at[1] == 'u')
        return read_unicode_escape(r, out);
    const char *name = memchr(names, r->at[1], sizeof(names) - 1);
    if (!name)
        return fail_reader(r, "invalid escape");
    str_addc(out, values[name - names]);
    r->at += 2;
    return true;
}

/* The bytes up to the next quote, backslash or control character. */
static struct ethos_view read_run(struct json_reader *r)
{
    const char *start = r->at;

    while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= 0x20)
        r->at++;
    return view_of(start, (size_t)(r->at - start));
}

/* The string at the opening quote: a piece of the text, or of scratch when it has escapes. */
static bool read_string(struct json_reader *r, struct str *scratch, struct ethos_view *out)
{
    r->at++;
    struct ethos_view run = read_run(r);
    if (peek(r) == '\\') {
        str_clear(scratch);
        str_add(scratch, run);
        while (peek(r) == '\\') {
            if (!read_json_escape(r, scratch))
                return false;
            str_add(scratch, read_run(r));
        }
        if (str_code(scratch)) {
            r->code = err_nomem(r->error);
            return false;
        }
        run = str_view(scratch);
    }
    if (peek(r) != '"')
        return fail_reader(r, "control character in a string");
    r->at++;
    *out = run;
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static json_t *read_json_string(struct json_reader *r)
{
    struct str scratch;
    struct ethos_view text;
    json_t *out = NULL;

    str_init(&scratch, SIZE_MAX);
    if (read_string(r, &scratch, &text))
        out = made(r, json_stringn_nocheck(text.data, text.size));
    str_release(&scratch);
    return out;
}

static bool skip_digits(struct json_reader *r)
{
    if (peek(r) < '0' || peek(r) > '9')
        return fail_reader(r, "invalid number");
    while (peek(r) >= '0' && peek(r) <= '9')
        r->at++;
    return true;
}

/* strtod must not follow the host's locale, whose decimal point may be a comma. */
static json_t *make_real(struct json_reader *r, const char *start)
{
    struct str digits;
    json_t *out = NULL;

    str_init(&digits, SIZE_MAX);
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain || str_add(&digits, view_of(start, (size_t)(r->at - start)))) {
        r->code = err_nomem(r->error);
    } else {
        double value = strtod_l(digits.data, NULL, plain);

        if (isfinite(value) || r->wide)
            out = made(r, json_real(value > DBL_MAX    ? DBL_MAX
                                    : value < -DBL_MAX ? -DBL_MAX
                                                       : value));
        else
            fail_at(r, start, ETHOS_INVALID, "number out of range");
    }
    if (plain)
        freelocale(plain);
    str_release(&digits);
    return out;
}

static json_t *make_integer(struct json_reader *r, const char *start)
{
    bool negative = *start == '-';
    json_int_t value = 0;

    for (const char *at = start + negative; at < r->at; at++) {
        int digit = negative ? '0' - *at : *at - '0';

        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            if (r->wide)
                return make_real(r, start);
            fail_at(r, start, ETHOS_INVALID, "integer out of range");
            return NULL;
        }
    }
    return made(r, json_integer(value));
}

static json_t *read_json_number(struct json_reader *r)
{
    const char *start = r->at;
    bool real = false;

    if (*r->at == '-')
        r->at++;
    if (peek(r) == '0')
        r->at++;
    else if (!skip_digits(r))
        return NULL;
    if (peek(r) == '.') {
        real = true;
        r->at++;
        if (!skip_digits(r))
            return NULL;
    }
    if (peek(r) == 'e' || peek(r) == 'E') {
        real = true;
        r->at++;
        if (peek(r) == '+' || peek(r) == '-')
            r->at++;
        if (!skip_digits(r))
            return NULL;
    }
    return real ? make_real(r, start) : make_integer(r, start);
}

static json_t *read_literal(struct json_reader *r)
{
    static const struct {
        struct ethos_view word;
        json_t *(*make)(void);
    } words[] = {{{"null", 4}, json_null}, {{"true", 4}, json_true}, {{"false", 5}, json_false}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (view_starts(view_of(r->at, (size_t)(r->end - r->at)), words[i].word)) {
            r->at += words[i].word.size;
            return words[i].make();
        }
    }
    fail_reader(r, "a value is expected");
    return NULL;
}

/* The key and the colon after it. */
static bool read_key(struct json_reader *r, struct str *scratch, struct ethos_view *out)
{
    skip_space(r);
    if (peek(r) != '"')
        return fail_reader(r, "a key in double quotes is expected");
    return read_string(r, scratch, out) && (take_char(r, ':') || fail_reader(r, "':' is expected"));
}

/* The same, of a key that may stand in an object. */
static bool read_new_key(struct json_reader *r, json_t *object, struct str *scratch,
                         struct ethos_view *out)
{
    skip_space(r);
    const char *start = r->at;
    const char *reason = NULL;

    if (!read_key(r, scratch, out))
        return false;
    if (memchr(out->data, '\0', out->size))
        reason = "NUL in an object key";
    else if (json_object_getn(object, out->data, out->size))
        reason = "duplicate object key";
    if (reason)
        fail_at(r, start, ETHOS_INVALID, reason);
    return !reason;
}

static bool read_object_members(struct json_reader *r, json_t *object, struct str *scratch)
{
    struct ethos_view key;

    if (take_char(r, '}'))
        return true;
    do {
        if (!read_new_key(r, object, scratch, &key))
            return false;
        json_t *value = read_value(r);
        if (!value)
            return false;
        if (json_object_setn_new_nocheck(object, key.data, key.size, value)) {
            r->code = err_nomem(r->error);
            return false;
        }
    } while (take_char(r, ','));
    return take_char(r, '}') || fail_reader(r, "',' or '}' is expected");
}

static json_t *read_json_object(struct json_reader *r)
{
    struct str scratch; // holds the key while its value is read
    json_t *object = made(r, json_object());

    if (!object)
        return NULL;
    str_init(&scratch, SIZE_MAX);
    if (!read_object_members(r, object, &scratch)) {
        json_decref(object);
        object = NULL;
    }
    str_release(&scratch);
    return object;
}

static bool read_array_items(struct json_reader *r, json_t *array)
{
    if (take_char(r, ']'))
        return true;
    do {
        json_t *value = read_value(r);

        if (!value)
            return false;
        if (json_array_append_new(array, value)) {
            r->code = err_nomem(r->error);
            return false;
        }
    } while (take_char(r, ','));
    return take_char(r, ']') || fail_reader(r, "',' or ']' is expected");
}

static json_t *read_array(struct json_reader *r)
{
    json_t *array = made(r, json_array());

    if (array && !read_array_items(r, array)) {
        json_decref(array);
        array = NULL;
    }
    return array;
}

static json_t *read_nested(struct json_reader *r)
{
    if (r->depth == ETHOS_MAX_JSON_DEPTH) {
        fail_at(r, r->at, ETHOS_LIMIT, "nested too deeply");
        return NULL;
    }
    r->depth++;
    json_t *out = *r->at++ == '{' ? read_json_object(r) : read_array(r);
    r->depth--;
    return out;
}

static json_t *read_value(struct json_reader *r)
{
    skip_space(r);
    int c = peek(r);

    if (r->values++ == ETHOS_MAX_JSON_VALUES) {
        fail_at(r, r->at, ETHOS_LIMIT, TOO_MANY);
        return NULL;
    }
    if (c == '{' || c == '[')
        return read_nested(r);
    if (c == '"')
        return read_json_string(r);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_json_number(r);
    return read_literal(r);
}

/* ---- the document ---------------------------------------------------------------------------- */

/* Moves to the first invalid sequence, if there is one. */
static bool skip_to_invalid(struct json_reader *r)
{
    bool ok = true;

    if (utf8_valid(view_of(r->text, (size_t)(r->end - r->text))))
        return false;
    for (;;) {
        uint32_t cp;
        size_t taken = utf8_decode(r->at, (size_t)(r->end - r->at), &cp, &ok);

        if (!ok)
            return true;
        r->at += taken;
    }
}

static int start_reader(struct json_reader *r, struct ethos_view text, size_t most,
                        const char *what, struct ethos_error *error)
{
    const char *data = text.size ? text.data : "";

    *r = (struct json_reader){.text = data, .at = data, .what = what, .error = error};
    if (text.size > most)
        return err_set(error, ETHOS_LIMIT, "%s: larger than %zu bytes", what, most);
    r->end = data + text.size;
    if (skip_to_invalid(r))
        fail_reader(r, "invalid UTF-8");
    return r->code;
}

static int finish_document(struct json_reader *r)
{
    skip_space(r);
    if (r->at < r->end)
        fail_reader(r, "unexpected text after the value");
    return r->code;
}

static int parse_document(struct ethos_view text, size_t most, bool wide, const char *what,
                          json_t **out, struct ethos_error *error)
{
    struct json_reader r;
    int code = start_reader(&r, text, most, what, error);

    if (code)
        return code;
    r.wide = wide;
    json_t *value = read_value(&r);
    if (!value)
        return r.code;
    if (finish_document(&r)) {
        json_decref(value);
        return r.code;
    }
    *out = value;
    return ETHOS_OK;
}

int json_parse(struct ethos_view text, const char *what, json_t **out, struct ethos_error *error)
{
    return parse_document(text, ETHOS_MAX_INPUT_BYTES, false, what, out, error);
}

int json_parse_most(struct ethos_view text, size_t most, const char *what, json_t **out,
                    struct ethos_error *error)
{
    return parse_document(text, most, false, what, out, error);
}

int json_parse_wide(struct ethos_view text, const char *what, json_t **out,
                    struct ethos_error *error)
{
    return parse_document(text, ETHOS_MAX_INPUT_BYTES, true, what, out, error);
}

/* ---- members one by one ---------------------------------------------------------------------- */

/* Reads a value and hands it over. */
static bool hand_over_member(struct json_reader *r, struct ethos_view name, struct str *scratch,
                             json_member_fn *each, void *arg)
{
    struct json_member member = {.name = name};
    json_t *value = NULL;

    skip_space(r);
    const char *from = r->at;
    bool ok = peek(r) == '"' ? read_string(r, scratch, &member.text)
                             : (value = read_value(r)) != NULL;
    if (ok) {
        member.raw = view_of(from, (size_t)(r->at - from));
        member.value = value;
        r->code = each(arg, &member);
    }
    json_decref(value);
    return ok && r->code == ETHOS_OK;
}

static bool walk_members(struct json_reader *r, struct str scratch[2], json_member_fn *each,
                         void *arg)
{
    struct ethos_view name;

    if (!take_char(r, '{'))
        return fail_reader(r, "an object is expected");
    if (take_char(r, '}'))
        return true;
    do {
        if (!read_key(r, &scratch[0], &name) || !hand_over_member(r, name, &scratch[1], each, arg))
            return false;
    } while (take_char(r, ','));
    return take_char(r, '}') || fail_reader(r, "',' or '}' is expected");
}

int json_members(struct ethos_view text, const char *what, json_member_fn *each, void *arg,
                 struct ethos_error *error)
{
    struct json_reader r;
    struct str scratch[2]; // of a name and of its value
    int code = start_reader(&r, text, ETHOS_MAX_INPUT_BYTES, what, error);

    if (code)
        return code;
    str_init(&scratch[0], SIZE_MAX);
    str_init(&scratch[1], SIZE_MAX);
    if (walk_members(&r, scratch, each, arg))
        finish_document(&r);
    str_release(&scratch[0]);
    str_release(&scratch[1]);
    return r.code;
}
