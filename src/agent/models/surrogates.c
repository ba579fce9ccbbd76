/*
 * surrogates.c: characters that a server cut in two.
 */
#include "agent/models/surrogates.h"

#include "base/utf8.h"
#include "base/view.h"

#define ESCAPE_SIZE 6 /* \uD83D */
#define FIRST_PLACEHOLDER 0x10F800u
#define PLACEHOLDER_LEAD '\xF4' /* their first byte */
#define FIRST_HIGH 0xD800u
#define FIRST_LOW 0xDC00u

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The surrogate whose escape the text starts with, or 0. */
static uint32_t read_escape(struct ethos_view v)
{
    uint32_t unit = 0;
    if (v.size < ESCAPE_SIZE || v.data[0] != '\\' || v.data[1] != 'u')
        return 0;
    for (size_t i = 2; i < ESCAPE_SIZE; i++) {
        int digit = hex_digit(v.data[i]);
        if (digit < 0)
            return 0;
        unit = unit * 16 + (uint32_t)digit;
    }
    return (unit & 0xF800) == FIRST_HIGH ? unit : 0;
}

static bool is_high(uint32_t unit)
{
    return unit >= FIRST_HIGH && unit < FIRST_LOW;
}

static void add_character(struct str *out, uint32_t cp)
{
    char bytes[4];
    str_add(out, view_of(bytes, utf8_put(cp, bytes)));
}

int surrogates_mark(struct ethos_view json, struct str *out)
{
    while (json.size > 0) {
        const char *slash = memchr(json.data, '\\', json.size);
        size_t plain = slash ? (size_t)(slash - json.data) : json.size;
        str_add(out, view_of(json.data, plain));
        json = view_from(json, plain);
        uint32_t unit = read_escape(json);
        size_t size = json.size < 2 ? json.size : 2;
        if (unit != 0 && is_high(unit)) {
            uint32_t low = read_escape(view_from(json, ESCAPE_SIZE));
            size = low >= FIRST_LOW ? 2 * ESCAPE_SIZE : ESCAPE_SIZE;
        } else if (unit != 0) {
            size = ESCAPE_SIZE;
        }
        if (size == ESCAPE_SIZE)
            add_character(out, FIRST_PLACEHOLDER + unit - FIRST_HIGH);
        else
            str_add(out, view_of(json.data, size));
        json = view_from(json, size);
    }
    return str_code(out);
}

static void join_unit(uint16_t *half, uint32_t unit, struct str *out)
{
    if (*half != 0 && !is_high(unit)) {
        add_character(out, 0x10000 + ((*half - FIRST_HIGH) << 10) + (unit - FIRST_LOW));
        *half = 0;
        return;
    }
    if (*half != 0 || !is_high(unit))
        add_character(out, UTF8_REPLACEMENT);
    *half = is_high(unit) ? (uint16_t)unit : 0;
}

static void add_plain(uint16_t *half, struct ethos_view plain, struct str *out)
{
    if (plain.size == 0)
        return;
    if (*half != 0)
        add_character(out, UTF8_REPLACEMENT);
    *half = 0;
    str_add(out, plain);
}

int surrogates_join(uint16_t *half, struct ethos_view piece, struct str *out)
{
    size_t start = 0, at = 0;
    while (at < piece.size) {
        const char *lead = memchr(piece.data + at, PLACEHOLDER_LEAD, piece.size - at);
        uint32_t cp;
        if (!lead)
            break;
        at = (size_t)(lead - piece.data);
        size_t size = utf8_decode(lead, piece.size - at, &cp, NULL);
        if (cp >= FIRST_PLACEHOLDER) {
            add_plain(half, view_of(piece.data + start, at - start), out);
            join_unit(half, cp - FIRST_PLACEHOLDER + FIRST_HIGH, out);
            start = at + size;
        }
        at += size;
    }
    add_plain(half, view_from(piece, start), out);
    return str_code(out);
}
