/*
 * unicode.c: graphemes, normal forms and width, over the tables of utf8proc.
 */
#include "base/text/unicode.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

/* ---- graphemes ------------------------------------------------------------------------------- */

struct character {
    size_t start, end;
    utf8proc_int32_t cp;
    bool ok;
};

static struct character character_at(struct ethos_view v, size_t start)
{
    struct character c = {.start = start};
    uint32_t cp;

    c.end = start + utf8_decode(v.data + start, v.size - start, &cp, &c.ok);
    c.cp = (utf8proc_int32_t)cp;
    return c;
}

static struct character character_before(struct ethos_view v, size_t end)
{
    return character_at(v, utf8_before(v, end));
}

/* A character start at or after `at`. */
static size_t align(struct ethos_view v, size_t at)
{
    size_t start = at;

    while (start > 0 && at - start < 3 && ((unsigned char)v.data[start] & 0xC0) == 0x80)
        start--;
    size_t end = character_at(v, start).end;
    return start < at && end > at ? end : at;
}

/* Whether what stands before this character can matter for the break after it. */
static bool has_context(struct character c)
{
    switch (utf8proc_get_property(c.cp)->boundclass) {
    case UTF8PROC_BOUNDCLASS_EXTEND:
    case UTF8PROC_BOUNDCLASS_ZWJ:
    case UTF8PROC_BOUNDCLASS_SPACINGMARK:
    case UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR:
        return true;
    default:
        return false;
    }
}

static bool breaks(struct character left, struct character right, utf8proc_int32_t *state)
{
    bool here = utf8proc_grapheme_break_stateful(left.cp, right.cp, state);

    return here || !left.ok || !right.ok;
}

/* The nearest boundary at or before the character start `at` that no earlier text can undo. */
static size_t sure_boundary(struct ethos_view v, size_t at)
{
    while (at > 0) {
        struct character left = character_before(v, at), right = character_at(v, at);
        utf8proc_int32_t state = 0;

        if ((!left.ok || !has_context(left)) && breaks(left, right, &state))
            break;
        at = left.start;
    }
    return at;
}

size_t unicode_boundary(struct ethos_view v, size_t at)
{
    if (at >= v.size)
        return v.size;
    at = align(v, at);
    if (at == 0 || at >= v.size)
        return at;
    struct character left = character_at(v, sure_boundary(v, at));
    if (left.start == at)
        return at;
    utf8proc_int32_t state = 0;
    while (left.end < v.size) {
        struct character right = character_at(v, left.end);

        if (breaks(left, right, &state) && right.start >= at)
            return right.start;
        left = right;
    }
    return v.size;
}

/* ---- normal forms ---------------------------------------------------------------------------- */

static int map(struct ethos_view v, utf8proc_option_t options, struct str *out)
{
    utf8proc_uint8_t *mapped = NULL;
    utf8proc_ssize_t size = utf8proc_map((const utf8proc_uint8_t *)v.data, (utf8proc_ssize_t)v.size,
                                         &mapped, options);

    if (size < 0)
        return str_fail(out, size == UTF8PROC_ERROR_NOMEM ? ETHOS_NOMEM : ETHOS_LIMIT);
    str_add(out, view_of((const char *)mapped, (size_t)size));
    free(mapped);
    return str_code(out);
}

static int normalize(struct ethos_view v, utf8proc_option_t options, struct str *out)
{
    struct str clean;

    if (utf8_ascii(v))
        return str_add(out, v); // every normal form of ASCII is itself
    if (utf8_valid(v))
        return map(v, options, out);
    str_init(&clean, SIZE_MAX);
    if (utf8_sanitize(v, &clean))
        str_fail(out, str_code(&clean));
    else
        map(str_view(&clean), options, out);
    str_release(&clean);
    return str_code(out);
}

int unicode_nfc(struct ethos_view v, struct str *out)
{
    return normalize(v, UTF8PROC_STABLE | UTF8PROC_COMPOSE, out);
}

int unicode_nfkd(struct ethos_view v, struct str *out)
{
    return normalize(v, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, out);
}

/* ---- single characters ----------------------------------------------------------------------- */

uint32_t unicode_lower(uint32_t cp)
{
    if (cp < 0x80) // a short process does not even have the tables in memory
        return cp >= 'A' && cp <= 'Z' ? cp - 'A' + 'a' : cp;
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
}

bool unicode_is_mark(uint32_t cp)
{
    if (cp < 0x80)
        return false;
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)cp);

    return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool unicode_is_letter_or_digit(uint32_t cp)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)cp);

    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
           (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

/*
 * By combining class: overlays (1), the points of Hebrew, Arabic and Syriac (10 to 36) and what
 * stands around a letter (200 and up). The classes between and class 0 are vowels and tones of
 * other scripts, without which the word is another one.
 */
static enum unicode_kind mark_kind(const utf8proc_property_t *property)
{
    const utf8proc_propval_t class = property->combining_class;
    bool accent = class == 1 || (class >= 10 && class <= 36) || class >= 200 ||
                  property->category == UTF8PROC_CATEGORY_ME;

    return accent ? UNICODE_ACCENT : UNICODE_MARK;
}

/*
 * Emoji that are younger than the tables are symbols; lines, blocks and dots are there to be
 * looked at.
 */
static enum unicode_kind symbol_kind(uint32_t cp, utf8proc_propval_t category)
{
    bool drawn = (cp >= 0x2500 && cp <= 0x25FF) || (cp >= 0x2800 && cp <= 0x28FF);

    if (category == UTF8PROC_CATEGORY_CN)
        return cp >= 0x1F000 && cp <= 0x1FAFF ? UNICODE_SYMBOL : UNICODE_OTHER;
    return drawn || cp == UTF8_REPLACEMENT ? UNICODE_OTHER : UNICODE_SYMBOL;
}

enum unicode_kind unicode_kind(uint32_t cp)
{
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)cp);

    if (cp == 0x0640 || (cp >= 0x1F3FB && cp <= 0x1F3FF)) // tatweel; the skin of an emoji
        return UNICODE_ACCENT;
    switch (property->category) {
    case UTF8PROC_CATEGORY_LU ... UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND ... UTF8PROC_CATEGORY_NO:
        return UNICODE_LETTER;
    case UTF8PROC_CATEGORY_MN ... UTF8PROC_CATEGORY_ME:
        return mark_kind(property);
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SO:
    case UTF8PROC_CATEGORY_CN:
        return symbol_kind(cp, property->category);
    default:
        return UNICODE_OTHER;
    }
}

static size_t decompose(uint32_t cp, utf8proc_option_t options, uint32_t out[UNICODE_FOLD_MAX])
{
    utf8proc_int32_t buffer[UNICODE_FOLD_MAX];
    utf8proc_ssize_t count = utf8proc_decompose_char((utf8proc_int32_t)cp, buffer, UNICODE_FOLD_MAX,
                                                     options, NULL);

    if (count < 0 || count > UNICODE_FOLD_MAX) {
        out[0] = cp;
        return 1;
    }
    for (utf8proc_ssize_t i = 0; i < count; i++)
        out[i] = (uint32_t)buffer[i];
    return (size_t)count;
}

size_t unicode_fold(uint32_t cp, uint32_t out[UNICODE_FOLD_MAX])
{
    return decompose(cp, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE,
                     out);
}

size_t unicode_decompose(uint32_t cp, uint32_t out[UNICODE_FOLD_MAX])
{
    return decompose(cp, UTF8PROC_DECOMPOSE, out);
}

uint32_t unicode_compose(uint32_t first, uint32_t second)
{
    utf8proc_int32_t pair[2] = {(utf8proc_int32_t)first, (utf8proc_int32_t)second};

    return utf8proc_normalize_utf32(pair, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) == 1
               ? (uint32_t)pair[0]
               : 0;
}

int unicode_width(uint32_t cp)
{
    return utf8proc_charwidth((utf8proc_int32_t)cp);
}
