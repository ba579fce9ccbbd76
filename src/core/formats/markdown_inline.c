/*
 * markdown_inline.c: entities, links in texts, invisible characters, and allowed URLs.
 */
#include <string.h>

#include "base/str.h"
#include "base/text/invisible.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/formats/markdown_internal.h"

/* ---- entities -------------------------------------------------------------------------------- */

/* The entities that people type, sorted. */
static const struct {
    const char *name;
    uint32_t character;
} entities[] = {
    {"Auml", 0xC4},    {"NewLine", '\n'}, {"Ouml", 0xD6},     {"Tab", '\t'},     {"Uuml", 0xDC},
    {"aacute", 0xE1},  {"agrave", 0xE0},  {"alpha", 0x3B1},   {"amp", '&'},      {"apos", '\''},
    {"auml", 0xE4},    {"beta", 0x3B2},   {"bull", 0x2022},   {"ccedil", 0xE7},  {"cent", 0xA2},
    {"check", 0x2713}, {"colon", ':'},    {"copy", 0xA9},     {"darr", 0x2193},  {"deg", 0xB0},
    {"delta", 0x3B4},  {"divide", 0xF7},  {"eacute", 0xE9},   {"egrave", 0xE8},  {"euro", 0x20AC},
    {"frac12", 0xBD},  {"frac14", 0xBC},  {"frac34", 0xBE},   {"gamma", 0x3B3},  {"ge", 0x2265},
    {"gt", '>'},       {"harr", 0x2194},  {"hellip", 0x2026}, {"infin", 0x221E}, {"lambda", 0x3BB},
    {"laquo", 0xAB},   {"larr", 0x2190},  {"ldquo", 0x201C},  {"le", 0x2264},    {"lpar", '('},
    {"lsquo", 0x2018}, {"lt", '<'},       {"mdash", 0x2014},  {"micro", 0xB5},   {"middot", 0xB7},
    {"minus", 0x2212}, {"nbsp", 0xA0},    {"ndash", 0x2013},  {"ne", 0x2260},    {"not", 0xAC},
    {"ntilde", 0xF1},  {"omega", 0x3C9},  {"ouml", 0xF6},     {"para", 0xB6},    {"pi", 0x3C0},
    {"plusmn", 0xB1},  {"pound", 0xA3},   {"quot", '"'},      {"raquo", 0xBB},   {"rarr", 0x2192},
    {"rdquo", 0x201D}, {"reg", 0xAE},     {"rpar", ')'},      {"rsquo", 0x2019}, {"sect", 0xA7},
    {"sigma", 0x3C3},  {"sum", 0x2211},   {"szlig", 0xDF},    {"times", 0xD7},   {"trade", 0x2122},
    {"uarr", 0x2191},  {"uuml", 0xFC},    {"yen", 0xA5},
};

static uint32_t find_named_entity(struct ethos_view name)
{
    size_t from = 0, to = sizeof entities / sizeof *entities;
    while (from < to) {
        size_t middle = (from + to) / 2;
        const char *other = entities[middle].name;
        int order = strncmp(other, name.data, name.size);
        if (order == 0 && strlen(other) == name.size)
            return entities[middle].character;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return 0;
}

static unsigned digit_value(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                  : 16;
}

/* The character of a numeric entity: after "#", digits, or x and hexadecimal digits. Invalid ones are U+FFFD. */
static uint32_t read_numbered_entity(struct ethos_view digits)
{
    bool hex = digits.size > 0 && (digits.data[0] | 0x20) == 'x';
    uint32_t value = 0;
    for (size_t i = hex; i < digits.size && value < 0x110000; i++)
        value = value * (hex ? 16 : 10) + digit_value(digits.data[i]);
    bool scalar = value > 0 && value < 0x110000 && (value < 0xD800 || value > 0xDFFF);
    return scalar ? value : UTF8_REPLACEMENT;
}

int markdown_entity(struct ethos_view entity, struct str *out)
{
    char bytes[4];
    struct ethos_view name = view_of(entity.data + 1, entity.size - 2);
    if (entity.size < 3)
        return str_add(out, entity);
    uint32_t character = name.data[0] == '#' ? read_numbered_entity(view_from(name, 1))
                                             : find_named_entity(name);
    return character ? str_add(out, view_of(bytes, utf8_put(character, bytes)))
                     : str_add(out, entity);
}

/* ---- links in texts -------------------------------------------------------------------------- */

static bool is_url_word_character(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c & 0x80);
}

static bool is_in_set(char c, const char *characters)
{
    return c && strchr(characters, c);
}

static size_t scheme_size(struct ethos_view text)
{
    return view_starts(text, VIEW("https://")) ? 8 : view_starts(text, VIEW("http://")) ? 7 : 0;
}

static bool is_url_end(unsigned char c)
{
    return c <= ' ' || c == 0x7F || c == '<';
}

/* The end of a URL, without punctuation after it and without a bracket that was opened before it. */
static size_t url_end(struct ethos_view text, size_t start)
{
    size_t end = start, open = 0, closed = 0;
    for (; end < text.size && !is_url_end((unsigned char)text.data[end]); end++) {
        open += text.data[end] == '(';
        closed += text.data[end] == ')';
    }
    for (; end > start; end--) {
        char last = text.data[end - 1];
        if (!is_in_set(last, "?!.,:;*_~'\"") && (last != ')' || closed <= open))
            break;
        closed -= last == ')';
    }
    return end;
}

static bool url_at(struct ethos_view text, size_t at, struct markdown_link *out)
{
    size_t scheme = scheme_size(view_from(text, at));
    size_t host = at + scheme;
    if (scheme == 0 || (at > 0 && is_url_word_character(text.data[at - 1])) || host == text.size ||
        !is_url_word_character(text.data[host]))
        return false; // checked before searching the end, which would be quadratic
    *out = (struct markdown_link){at, url_end(text, host), false};
    return true;
}

/* Finds name@host.domain around an @; the name begins at `from` or later. */
static bool mail_at(struct ethos_view text, size_t from, size_t at, struct markdown_link *out)
{
    size_t start = at, end = at + 1, dot = 0;
    while (start > from &&
           (is_url_word_character(text.data[start - 1]) || is_in_set(text.data[start - 1], ".+_-")))
        start--;
    for (; end < text.size &&
           (is_url_word_character(text.data[end]) || is_in_set(text.data[end], ".-"));
         end++)
        dot = text.data[end] == '.' && end + 1 < text.size &&
                      is_url_word_character(text.data[end + 1])
                  ? end
                  : dot;
    while (end > at + 1 && !is_url_word_character(text.data[end - 1]))
        end--;
    *out = (struct markdown_link){start, end, true};
    return start < at && is_url_word_character(text.data[at + 1]) && dot > at && dot < end;
}

bool markdown_link(struct ethos_view text, size_t from, struct markdown_link *out)
{
    size_t begin = from;
    for (size_t i = from; i + 1 < text.size; i++) {
        if (text.data[i] == 'h' && url_at(text, i, out))
            return true;
        if (text.data[i] == '@') {
            if (mail_at(text, begin, i, out))
                return true;
            begin = i + 1;
        }
    }
    return false;
}

/* ---- invisible characters -------------------------------------------------------------------- */

/* The size of the character at an offset; *out_cp is 0 if it is visible. */
static size_t read_hidden_character(struct ethos_view text, size_t at, uint32_t *out_cp)
{
    uint32_t cp;
    size_t size = utf8_decode(text.data + at, text.size - at, &cp, NULL);
    bool control = (cp < 0x20 && cp != '\t' && cp != '\n' && cp != '\r') ||
                   (cp >= 0x7F && cp < 0xA0);
    *out_cp = control || hidden_at(text, at, cp) ? cp : 0;
    return size;
}

bool markdown_hidden(struct ethos_view text, size_t from, struct markdown_hidden *out)
{
    size_t at = from, size;
    uint32_t cp;
    for (; at < text.size; at += size)
        if ((size = read_hidden_character(text, at, &cp)) && cp)
            break;
    out->start = at;
    for (; at < text.size; at += size)
        if ((size = read_hidden_character(text, at, &cp)) && !cp)
            break;
    out->end = at;
    return out->start < out->end;
}

int markdown_show(struct ethos_view text, struct str *out)
{
    struct markdown_hidden hidden;
    size_t at = 0, size;
    uint32_t cp;
    for (; markdown_hidden(text, at, &hidden); at = hidden.end) {
        str_add(out, view_of(text.data + at, hidden.start - at));
        for (at = hidden.start; at < hidden.end; at += size) {
            size = read_hidden_character(text, at, &cp);
            hidden_show(cp, out);
        }
    }
    return str_add(out, view_from(text, at));
}

/* ---- links ----------------------------------------------------------------------------------- */

/* The scheme of a URL; absent if the URL is relative. */
static struct ethos_view scheme_of(struct ethos_view url)
{
    for (size_t i = 0; i < url.size && !memchr("/?#", url.data[i], 3); i++)
        if (url.data[i] == ':')
            return view_of(url.data, i);
    return (struct ethos_view){0};
}

/* Whether the URL has a host but no scheme. Browsers treat a backslash like a slash. */
static bool has_host(struct ethos_view url)
{
    return url.size >= 2 && memchr("/\\", url.data[0], 2) && memchr("/\\", url.data[1], 2);
}

bool markdown_url_ok(struct ethos_view url)
{
    static const struct ethos_view allowed[] = {VIEW("http"), VIEW("https"), VIEW("mailto")};
    struct markdown_hidden hidden;
    if (memchr(url.data, '\t', url.size) || memchr(url.data, '\n', url.size) ||
        memchr(url.data, '\r', url.size) || markdown_hidden(url, 0, &hidden))
        return false;
    url = view_trim(url);
    struct ethos_view scheme = scheme_of(url);
    for (size_t i = 0; scheme.data && i < sizeof allowed / sizeof *allowed; i++)
        if (view_eq_nocase(scheme, allowed[i]))
            return true;
    return !scheme.data && !has_host(url);
}
