/*
 * invisible.c: characters that show nothing, or reorder what stands around them.
 */
#include "base/text/invisible.h"

#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

#define FIRST 0xAD /* below there are none */
#define TAG_SIZE 4 /* bytes */
#define FLAG_TAGS 6
#define SHOWN "\\u{"
#define MAX_DIGITS 5

struct character_span {
    uint32_t first, last;
};

static bool is_within_spans(const struct character_span *spans, size_t count, uint32_t cp)
{
    for (size_t i = 0; i < count; i++)
        if (cp >= spans[i].first && cp <= spans[i].last)
            return true;
    return false;
}
#define WITHIN(spans, cp) is_within_spans(spans, sizeof(spans) / sizeof *(spans), cp)

/* The characters before and after a place; 0: none. */
static uint32_t character_before(struct ethos_view text, size_t at)
{
    uint32_t cp = 0;
    if (at > 0) {
        size_t start = utf8_before(text, at);
        utf8_decode(text.data + start, at - start, &cp, NULL);
    }
    return cp;
}

static uint32_t after(struct ethos_view text, size_t at)
{
    uint32_t cp = 0;
    at += utf8_decode(text.data + at, text.size - at, &cp, NULL);
    cp = 0;
    if (at < text.size)
        utf8_decode(text.data + at, text.size - at, &cp, NULL);
    return cp;
}

static bool is_right_to_left(uint32_t cp)
{
    static const struct character_span spans[] = {{0x0590, 0x061B},   {0x061D, 0x08FF},
                                                  {0xFB1D, 0xFDFF},   {0xFE70, 0xFEFC},
                                                  {0x10800, 0x10FFF}, {0x1E800, 0x1EFFF}};
    return WITHIN(spans, cp);
}

static bool is_selector(uint32_t cp)
{
    return (cp >= 0xFE00 && cp <= 0xFE0F) || (cp >= 0xE0100 && cp <= 0xE01EF);
}

static bool is_ideograph(uint32_t cp)
{
    static const struct character_span spans[] = {
        {0x3400, 0x9FFF}, {0xF900, 0xFAFF}, {0x20000, 0x3FFFD}};
    return WITHIN(spans, cp);
}

/* Emoji, and what becomes one: digits of keycaps, signs and arrows. */
static bool takes_emoji_style(uint32_t cp)
{
    static const struct character_span spans[] = {{'#', '#'},        {'*', '*'},   {'0', '9'},
                                                  {0xA9, 0xA9},      {0xAE, 0xAE}, {0x203C, 0x3299},
                                                  {0x1F000, 0x1FAFF}};
    return WITHIN(spans, cp);
}

/* One selector after a character that has variants; a second one carries something else. */
static bool selects(struct ethos_view text, size_t at, uint32_t cp)
{
    uint32_t base = character_before(text, at);
    if (cp == 0xFE0E || cp == 0xFE0F)
        return takes_emoji_style(base);
    return cp >= 0xE0100 && is_ideograph(base);
}

/* Whether a tag is one of those that make a black flag that of a country. */
static bool is_of_flag(struct ethos_view text, size_t at)
{
#define TAG(c) "\xF3\xA0\x81" c
#define FLAG(a, b, c) "\xF0\x9F\x8F\xB4" TAG("\xA7") TAG("\xA2") TAG(a) TAG(b) TAG(c) TAG("\xBF")
    static const char flags[][TAG_SIZE * (1 + FLAG_TAGS) + 1] = {
        FLAG("\xA5", "\xAE", "\xA7"), FLAG("\xB3", "\xA3", "\xB4"), FLAG("\xB7", "\xAC", "\xB3")};
    const size_t size = sizeof flags[0] - 1;
    for (size_t back = TAG_SIZE; back <= TAG_SIZE * FLAG_TAGS; back += TAG_SIZE) {
        if (back > at || text.size - (at - back) < size)
            continue;
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
            if (memcmp(text.data + at - back, flags[i], size) == 0)
                return true;
    }
    return false;
}

bool hidden_at(struct ethos_view text, size_t at, uint32_t cp)
{
    static const struct character_span spans[] = {
        {0x00AD, 0x00AD}, {0x061C, 0x061C}, {0x115F, 0x1160},  {0x180E, 0x180E}, {0x200B, 0x200B},
        {0x200E, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064},  {0x2066, 0x2069}, {0x3164, 0x3164},
        {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xE0000, 0xE007F}};
    if (cp < FIRST)
        return false;
    if (is_selector(cp))
        return !selects(text, at, cp);
    if (!WITHIN(spans, cp))
        return false;
    if (cp == 0x200E || cp == 0x200F || cp == 0x061C)
        return !is_right_to_left(character_before(text, at)) && !is_right_to_left(after(text, at));
    return cp < 0xE0000 || !is_of_flag(text, at);
}

/* Whether one of them may begin so: what most letters and signs of most scripts do not. */
static bool may_begin(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xC2:
        return second == 0xAD;
    case 0xD8:
        return second == 0x9C;
    case 0xE1:
        return second == 0x85 || second == 0xA0;
    case 0xE2:
        return second == 0x80 || second == 0x81;
    case 0xE3:
        return second == 0x85;
    case 0xEF:
        return second == 0xB8 || second >= 0xBB;
    case 0xF3:
        return second == 0xA0;
    default:
        return false;
    }
}

/* Where the ASCII that begins at `at` may end. */
static size_t skip_plain(struct ethos_view text, size_t at)
{
    uint64_t word;
    while (text.size - at >= sizeof word) {
        memcpy(&word, text.data + at, sizeof word);
        if (word & UINT64_C(0x8080808080808080))
            break;
        at += sizeof word;
    }
    return at;
}

size_t hidden_find(struct ethos_view text, size_t from)
{
    for (size_t at = from; (at = skip_plain(text, at)) + 1 < text.size; at++) {
        uint32_t cp;
        if (!may_begin((unsigned char)text.data[at], (unsigned char)text.data[at + 1]))
            continue;
        utf8_decode(text.data + at, text.size - at, &cp, NULL);
        if (hidden_at(text, at, cp))
            return at;
    }
    return text.size;
}

int hidden_show(uint32_t cp, struct str *out)
{
    return str_printf(out, SHOWN "%X}", (unsigned)cp);
}

int hidden_show_all(struct ethos_view text, struct str *out)
{
    size_t done = 0;
    for (size_t at; (at = hidden_find(text, done)) < text.size;) {
        uint32_t cp;
        str_add(out, view_of(text.data + done, at - done));
        done = at + utf8_decode(text.data + at, text.size - at, &cp, NULL);
        hidden_show(cp, out);
    }
    return str_add(out, view_from(text, done));
}

/* ---- and back -------------------------------------------------------------------------------- */

/* What begins at text.data + at as hidden_show writes a character: its size; 0: something else. */
static size_t read_shown(struct ethos_view text, size_t at, uint32_t *out)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t start = at + sizeof SHOWN - 1, end = start;
    const char *digit;

    *out = 0;
    while (end < text.size && end - start < MAX_DIGITS &&
           (digit = memchr(digits, text.data[end], sizeof digits - 1))) {
        *out = *out * 16 + (uint32_t)(digit - digits);
        end++;
    }
    bool whole = end > start && end < text.size && text.data[end] == '}';
    return whole && text.data[start] != '0' ? end + 1 - at : 0;
}

/* Where the next one begins that is so written; text.size: there is none. */
static size_t find_shown(struct ethos_view text, size_t from, uint32_t *out, size_t *out_size)
{
    const char *found;

    while (from < text.size &&
           (found = memmem(text.data + from, text.size - from, SHOWN, sizeof SHOWN - 1))) {
        size_t at = (size_t)(found - text.data);

        *out_size = read_shown(text, at, out);
        if (*out_size > 0)
            return at;
        from = at + sizeof SHOWN - 1;
    }
    return text.size;
}

int hidden_restore(struct ethos_view text, struct str *out)
{
    uint32_t cp;
    size_t size, done = 0;

    for (size_t at = 0; (at = find_shown(text, at, &cp, &size)) < text.size; at += size) {
        char bytes[4];
        struct ethos_view one = view_of(bytes, utf8_put(cp, bytes));

        if (hidden_find(one, 0) == one.size)
            continue;
        str_add(out, view_of(text.data + done, at - done));
        str_add(out, one);
        done = at + size;
    }
    return str_add(out, view_from(text, done));
}
