/*
 * slug.c: names made from text.
 *
 * Slugs and fact hashes are kept in files the reference reads too, so lower case here is the full
 * mapping it uses: U+0130 becomes two characters and a sigma that ends a word its final form.
 */
#include "base/text/slug.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

#define LOWER_GROWTH 3   /* bytes out per byte in, at most: an invalid byte becomes U+FFFD */
#define NORMAL_GROWTH 18 /* the same for the normal forms */

#define CAPITAL_SIGMA 0x3A3u
#define FINAL_SIGMA 0x3C2u
#define DOTTED_CAPITAL_I 0x130u

static uint32_t next_char(struct ethos_view *rest)
{
    uint32_t cp;
    size_t taken = utf8_decode(rest->data, rest->size, &cp, NULL);

    *rest = view_from(*rest, taken);
    return cp;
}

static void add_char(struct str *out, uint32_t cp)
{
    char bytes[4];

    str_add(out, view_of(bytes, utf8_put(cp, bytes)));
}

/* ---- lower case ---------------------------------------------------------------------------- */

/* Characters that do not end a word by themselves, as in "rock'n'roll" or "e.g.". */
static bool joins_words(uint32_t cp)
{
    return unicode_is_mark(cp) || cp == '\'' || cp == '.' || cp == ':' || cp == 0xAD ||
           cp == 0xB7 || cp == 0x387 || cp == 0x2018 || cp == 0x2019;
}

static bool is_cased(uint32_t cp)
{
    return unicode_is_letter_or_digit(cp) && !(cp >= '0' && cp <= '9');
}

static bool word_goes_on(struct ethos_view rest)
{
    while (rest.size > 0) {
        uint32_t cp = next_char(&rest);
        if (!joins_words(cp))
            return is_cased(cp);
    }
    return false;
}

static int add_lower(struct ethos_view text, struct str *out)
{
    bool in_word = false;

    while (text.size > 0) {
        uint32_t cp = next_char(&text);
        if (cp == DOTTED_CAPITAL_I)
            str_adds(out, "i\u0307");
        else if (cp == CAPITAL_SIGMA && in_word && !word_goes_on(text))
            add_char(out, FINAL_SIGMA);
        else
            add_char(out, unicode_lower(cp));
        in_word = is_cased(cp) || (in_word && joins_words(cp));
    }
    return str_code(out);
}

/* ---- slugs --------------------------------------------------------------------------------- */

/* A slug being written: gap says that a '-' is due before the next character. */
struct slug {
    struct str text;
    bool gap;
};

static bool slug_takes(uint32_t cp)
{
    return (cp >= 'a' && cp <= 'z') || (cp >= '0' && cp <= '9');
}

static void slug_put(struct slug *slug, uint32_t cp)
{
    if (!slug_takes(cp)) {
        slug->gap = true;
        return;
    }
    if (slug->gap && slug->text.size > 0)
        str_addc(&slug->text, '-');
    slug->gap = false;
    str_addc(&slug->text, (char)cp);
}

int slug_hash(struct ethos_view text, struct str *out)
{
    struct str nfc;
    char hex[HASH_HEX_SIZE];

    str_init(&nfc, NORMAL_GROWTH * text.size);
    if (unicode_nfc(text, &nfc))
        str_fail(out, str_code(&nfc));
    hash_hex(str_view(&nfc), hex);
    str_add(out, view_of(hex, 8));
    str_release(&nfc);
    return str_code(out);
}

int slug_section(struct ethos_view heading, struct str *out)
{
    struct str lower;
    struct slug slug = {.gap = false};
    struct ethos_view rest;

    str_init(&lower, LOWER_GROWTH * heading.size);
    str_init(&slug.text, LOWER_GROWTH * heading.size);
    if (add_lower(heading, &lower))
        str_fail(out, str_code(&lower));
    rest = str_view(&lower);
    while (rest.size > 0)
        slug_put(&slug, next_char(&rest));
    if (str_code(&slug.text))
        str_fail(out, str_code(&slug.text));
    str_add(out, slug.text.size > 0 ? str_view(&slug.text) : VIEW("u-"));
    if (slug.text.size == 0)
        slug_hash(heading, out);
    str_release(&slug.text);
    str_release(&lower);
    return str_code(out);
}

/* Puts the title into the slug; *out_lost tells whether a letter or digit found no place in it. */
static int put_title(struct ethos_view title, struct slug *slug, bool *out_lost)
{
    struct str nfkd;
    struct ethos_view rest;

    str_init(&nfkd, NORMAL_GROWTH * title.size);
    if (unicode_nfkd(title, &nfkd))
        str_fail(&slug->text, str_code(&nfkd));
    rest = str_view(&nfkd);
    while (rest.size > 0) {
        uint32_t cp = unicode_lower(next_char(&rest));
        if (unicode_is_mark(cp))
            continue;
        *out_lost = *out_lost || (!slug_takes(cp) && unicode_is_letter_or_digit(cp));
        slug_put(slug, cp);
    }
    str_release(&nfkd);
    return str_code(&slug->text);
}

/* Cuts to max bytes and no '-' at the end; true when something went. */
static bool cut_slug(struct str *text, size_t max)
{
    if (text->size <= max)
        return false;
    str_truncate(text, max);
    while (text->size > 0 && text->data[text->size - 1] == '-')
        str_truncate(text, text->size - 1);
    return true;
}

/* Names whose files have another meaning. */
static bool is_reserved_name(struct ethos_view name)
{
    return view_eq_str(name, "memory") || view_eq_str(name, "user") || view_eq_str(name, "soul") ||
           view_eq_str(name, "memory-archive");
}

int slug_note(struct ethos_view title, size_t max, struct str *out)
{
    struct slug slug = {.gap = false};
    bool lost = false;

    str_init(&slug.text, NORMAL_GROWTH * title.size);
    if (put_title(title, &slug, &lost))
        str_fail(out, str_code(&slug.text));
    lost = cut_slug(&slug.text, max) || lost || slug.text.size == 0;
    if (slug.text.size == 0)
        str_adds(out, "note");
    else if (!lost && is_reserved_name(str_view(&slug.text)))
        str_adds(out, "note-");
    str_add(out, str_view(&slug.text));
    if (lost) {
        str_addc(out, '-');
        slug_hash(title, out);
    }
    str_release(&slug.text);
    return str_code(out);
}

/* ---- fact hash ----------------------------------------------------------------------------- */

static int add_collapsed(struct ethos_view text, struct str *out)
{
    bool gap = false;

    while (text.size > 0) {
        uint32_t cp = next_char(&text);
        if (utf8_space(cp)) {
            gap = true;
            continue;
        }
        if (gap && out->size > 0)
            str_addc(out, ' ');
        gap = false;
        add_char(out, cp);
    }
    return str_code(out);
}

int slug_fact_hash(struct ethos_view text, char out[65])
{
    struct str lower;
    struct str normal;
    int code;

    str_init(&lower, LOWER_GROWTH * text.size);
    str_init(&normal, LOWER_GROWTH * text.size);
    code = add_lower(text, &lower);
    if (!code)
        code = add_collapsed(str_view(&lower), &normal);
    if (!code)
        hash_hex(str_view(&normal), out);
    str_release(&normal);
    str_release(&lower);
    return code;
}
