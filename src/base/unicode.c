/*
 * unicode.c: graphemes, normal forms and width, over the tables of utf8proc.
 */
#include "base/unicode.h"

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

int unicode_width(uint32_t cp)
{
    return utf8proc_charwidth((utf8proc_int32_t)cp);
}
