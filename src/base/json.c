/*
 * json.c: JSON out, and small helpers around jansson's values. Reading is in json_parse.c.
 */
#include "base/json.h"

#include <endian.h>
#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

/* What we write ourselves, and what jansson writes. */
static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";

#define SHORT 1024                     /* bytes that are quoted at once */
#define TOO_LARGE 9223372036854775808. /* from here on no int64_t */

/* ---- strings ------------------------------------------------------------------------------- */

/* What stands after the backslash of an escape; 'u': a number, 0: c needs none. */
static const char escapes[256] = {
    [0 ... 7] = 'u', ['\b'] = 'b', ['\t'] = 't',      ['\n'] = 'n', [11] = 'u',
    ['\f'] = 'f',    ['\r'] = 'r', [14 ... 31] = 'u', ['"'] = '"',  ['\\'] = '\\',
};

typedef unsigned char block __attribute__((vector_size(16)));

/* How many of sixteen bytes of text come before the first that needs an escape. */
static inline size_t plain_bytes(const char *data)
{
    block bytes;
    uint64_t found[2];

    memcpy(&bytes, data, sizeof bytes);
    block special = (block)((bytes < 32) | (bytes == '"') | (bytes == '\\'));
    memcpy(found, &special, sizeof found);
    if (found[0])
        return (size_t)__builtin_ctzll(le64toh(found[0])) / 8;
    return found[1] ? 8 + (size_t)__builtin_ctzll(le64toh(found[1])) / 8 : sizeof bytes;
}

/* What the escapes of a text add to it. */
static size_t escapes_size(struct ethos_view v)
{
    size_t added = 0;

    for (size_t at = 0; at < v.size; at++) {
        char escape = escapes[(unsigned char)v.data[at]];
        added += escape == 'u' ? 5 : escape != 0;
    }
    return added;
}

/* digits: of what has no letter. Returns the end. */
static char *put_escape(char c, const char *digits, char *to)
{
    *to++ = '\\';
    *to++ = escapes[(unsigned char)c];
    if (to[-1] != 'u')
        return to;
    *to++ = '0';
    *to++ = '0';
    *to++ = digits[c >> 4];
    *to++ = digits[c & 15];
    return to;
}

static char *put_bytes(const char *from, size_t size, const char *digits, char *to)
{
    for (const char *end = from + size; from < end; from++) {
        if (escapes[(unsigned char)*from])
            to = put_escape(*from, digits, to);
        else
            *to++ = *from;
    }
    return to;
}

/* Room for what a piece can need at most, or for what it does need when that is too much. */
static int reserve_quoted(struct ethos_view piece, struct str *out)
{
    size_t most = 6 * piece.size;

    if (out->size > out->ceiling || most > out->ceiling - out->size)
        most = piece.size + escapes_size(piece);
    return str_reserve(out, most);
}

/* A piece of at most SHORT bytes. */
static int quote_piece(struct ethos_view piece, const char *digits, struct str *out)
{
    const char *from = piece.data, *end = from + piece.size;

    if (reserve_quoted(piece, out))
        return str_code(out);
    char *to = out->data + out->size;
    while (end - from >= 16) {
        size_t plain = plain_bytes(from);
        memcpy(to, from, 16);
        to += plain;
        from += plain;
        if (plain < 16)
            to = put_escape(*from++, digits, to);
    }
    to = put_bytes(from, (size_t)(end - from), digits, to);
    *to = 0;
    out->size = (size_t)(to - out->data);
    return ETHOS_OK;
}

/* Room for all first, unless there are very many escapes: a long text should not move. */
static int quote_valid(struct ethos_view v, const char *digits, struct str *out)
{
    size_t most = v.size + 6 * SHORT;

    if (v.size > SHORT && out->size <= out->ceiling && most <= out->ceiling - out->size)
        str_reserve(out, most);
    str_addc(out, '"');
    for (size_t at = 0; at < v.size; at += SHORT) {
        size_t left = v.size - at;
        quote_piece(view_of(v.data + at, left < SHORT ? left : SHORT), digits, out);
    }
    return str_addc(out, '"');
}

int json_quote(struct ethos_view v, struct str *out)
{
    size_t start = out->size;
    struct str clean;

    str_init(&clean, SIZE_MAX);
    if (utf8_valid(v))
        quote_valid(v, lower, out);
    else if (utf8_sanitize(v, &clean))
        str_fail(out, str_code(&clean));
    else
        quote_valid(str_view(&clean), lower, out);
    str_release(&clean);
    return str_code(out) ? str_truncate(out, start) : ETHOS_OK;
}

int json_print_text(struct ethos_view v, struct str *out)
{
    return quote_valid(v, upper, out);
}

/* ---- values -------------------------------------------------------------------------------- */

static int append_chunk(const char *buffer, size_t size, void *data)
{
    return str_add(data, view_of(buffer, size)) ? -1 : 0;
}

static size_t digits_of(double number)
{
    char text[32];
    size_t digits = DBL_DIG;
    while (digits < DBL_DECIMAL_DIG) {
        snprintf(text, sizeof text, "%.*g", (int)digits, number);
        if (strtod(text, NULL) == number)
            break;
        digits++;
    }
    return digits;
}

/* How many digits all numbers of a value need, to be read back as they are: 0.1 is no more. */
static size_t most_digits(const json_t *value)
{
    size_t index, most = json_is_real(value) ? digits_of(json_real_value(value)) : DBL_DIG;
    const char *key;
    json_t *child;
    json_array_foreach ((json_t *)value, index, child) {
        size_t digits = most_digits(child);
        most = digits > most ? digits : most;
    }
    json_object_foreach ((json_t *)value, key, child) {
        size_t digits = most_digits(child);
        most = digits > most ? digits : most;
    }
    return most;
}

static int dump(const json_t *value, size_t flags, struct str *out)
{
    flags |= JSON_ENCODE_ANY | JSON_REAL_PRECISION(most_digits(value));
    if (json_dump_callback(value, append_chunk, out, flags) == 0)
        return ETHOS_OK;
    return str_fail(out, ETHOS_NOMEM); // unless the ceiling was the reason
}

static void print_json_value(const json_t *value, struct str *out);

static void print_object(const json_t *object, struct str *out)
{
    const char *name, *gap = "{";
    json_t *value;

    json_object_foreach ((json_t *)object, name, value) {
        str_adds(out, gap);
        quote_valid(view_str(name), upper, out);
        str_addc(out, ':');
        print_json_value(value, out);
        gap = ",";
    }
    str_adds(out, *gap == '{' ? "{}" : "}");
}

static void print_array(const json_t *array, struct str *out)
{
    size_t index;
    json_t *value;

    str_addc(out, '[');
    json_array_foreach (array, index, value) {
        if (index > 0)
            str_addc(out, ',');
        print_json_value(value, out);
    }
    str_addc(out, ']');
}

static void print_integer(json_int_t number, struct str *out)
{
    char digits[24], *end = digits + sizeof digits, *at = end;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--at = '-';
    str_add(out, view_of(at, (size_t)(end - at)));
}

/* The bytes that jansson would write, without its call for every piece of them. */
static void print_json_value(const json_t *value, struct str *out)
{
    if (json_is_string(value)) {
        quote_valid(view_of(json_string_value(value), json_string_length(value)), upper, out);
    } else if (json_is_object(value)) {
        print_object(value, out);
    } else if (json_is_array(value)) {
        print_array(value, out);
    } else if (json_is_integer(value)) {
        print_integer(json_integer_value(value), out);
    } else {
        dump(value, JSON_COMPACT, out);
    }
}

int json_print(const json_t *value, int style, struct str *out)
{
    size_t start = out->size;

    if (str_code(out))
        return str_code(out);
    if (!value)
        return str_fail(out, ETHOS_NOMEM);
    if (style == JSON_STYLE_PRETTY)
        dump(value, JSON_INDENT(2), out);
    else
        print_json_value(value, out);
    return str_code(out) ? str_truncate(out, start) : ETHOS_OK;
}

/* ---- members and texts --------------------------------------------------------------------- */

bool json_whole(const json_t *value, int64_t *out)
{
    double real = json_real_value(value);

    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    if (real >= TOO_LARGE || real < -TOO_LARGE) {
        *out = real < 0 ? INT64_MIN : INT64_MAX;
        return true;
    }
    *out = (int64_t)real;
    return json_is_real(value) && (double)*out == real;
}

struct ethos_view json_view(const json_t *object, const char *name)
{
    const json_t *member = json_object_get(object, name);

    return view_of(json_string_value(member), json_string_length(member));
}

const char *json_cstr(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

long long json_int(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

json_t *json_text(struct ethos_view v)
{
    struct str clean;

    if (utf8_valid(v))
        return json_stringn_nocheck(v.size ? v.data : "", v.size);
    str_init(&clean, SIZE_MAX);
    json_t *out = utf8_sanitize(v, &clean) ? NULL : json_stringn_nocheck(clean.data, clean.size);
    str_release(&clean);
    return out;
}
