/*
 * disguises.c: markup, spaced letters, digits for letters, ROT13, reversed text, base64, hexadecimal, percent.
 */
#include "core/scan/disguises.h"

#include <string.h>

#include "base/utf8.h"
#include "base/view.h"
#include "core/scan/bytes.h"

#define LONG_RUN 24  /* bytes of an encoding */
#define SPACED_RUN 8 /* bytes that are letters and separators by turns */

static void add_revealed(struct normal_text *out, char c, uint16_t from)
{
    if (out->size == NORMAL_MAX)
        return;
    out->text[out->size] = c;
    out->from[out->size++] = from;
}

/* Adds bytes of the text as they are. */
static void add_unchanged(struct normal_text *out, const struct normal_text *normal, size_t at,
                          size_t size)
{
    for (size_t i = at; i < at + size; i++)
        add_revealed(out, normal->text[i], normal->from[i]);
}

/* Letters and separators by turns. */
static bool has_spaced_letters(struct ethos_view line)
{
    for (size_t at = 0; at + SPACED_RUN <= line.size; at += SPACED_RUN / 2) {
        const char *p = line.data + at;
        bool first = byte_is(p[0], BYTE_ALNUM), by_turns = true;

        if ((unsigned char)p[0] & 0x80)
            return true;
        for (size_t i = 1; i < SPACED_RUN - 1 && by_turns; i++)
            by_turns = byte_is(p[i], BYTE_ALNUM) == (i % 2 ? !first : first);
        if (by_turns)
            return true;
    }
    return false;
}

/* ---- in the words ----------------------------------------------------------------------------- */

static bool is_markup(char c)
{
    return c == '<' || c == '*' || c == '~' || c == '`' || c == '_' || c == '\\' || c == '|';
}

static bool has_markup_in_words(const struct normal_text *normal)
{
    for (size_t at = 1; at + 1 < normal->size; at++) {
        if (is_markup(normal->text[at]) && byte_is(normal->text[at - 1], BYTE_LOWER) &&
            normal->text[at + 1] != ' ')
            return true;
    }
    return false;
}

/* Emphasis and tags between the letters of words. */
static bool drop_markup(const struct normal_text *normal, struct normal_text *out)
{
    bool found = false;

    if (!has_markup_in_words(normal))
        return false;
    for (size_t at = 0; at < normal->size; at++) {
        char c = normal->text[at];

        if (c == '<') {
            const char *end = memchr(normal->text + at, '>',
                                     normal->size - at < 64 ? normal->size - at : 64);

            if (end) {
                found = true;
                at = (size_t)(end - normal->text);
                continue;
            }
        }
        if (is_markup(c)) {
            found = true;
            continue;
        }
        add_revealed(out, c, normal->from[at]);
    }
    return found;
}

/* How many bytes the letter at `at` has, 0 for what is none. Letters of all scripts are taken for some. */
static size_t letter_size(const struct normal_text *normal, size_t at)
{
    if (at >= normal->size)
        return 0;
    unsigned char c = (unsigned char)normal->text[at];
    size_t size = c < 0x80   ? (size_t)(byte_is((char)c, BYTE_LOWER | BYTE_DIGIT))
                  : c < 0xE0 ? 2
                  : c < 0xF0 ? 3
                             : 4;

    while (size > 1 && at + size < normal->size && (unsigned char)normal->text[at + size] == 0xCC)
        size += 2; // an accent of its own
    return at + size <= normal->size ? size : 0;
}

static bool is_separator(const struct normal_text *normal, size_t at)
{
    return at < normal->size && normal->text[at] && strchr(" .-_*,|/+", normal->text[at]);
}

/* "i g n o r e", "i.g.n.o.r.e": one separator joins letters, two end a word. */
static bool join_letters(const struct normal_text *normal, struct normal_text *out)
{
    bool found = false;

    for (size_t at = 0; at < normal->size;) {
        size_t end = at, letters = 0, size;

        while ((size = letter_size(normal, end)) > 0 && letter_size(normal, end + size) == 0) {
            letters++;
            end += size;
            if (!is_separator(normal, end) || letter_size(normal, end + 1) == 0)
                break;
            end++;
        }
        if (letters >= 2) {
            found = true;
            for (; at < end; at += size) {
                size = letter_size(normal, at);
                add_unchanged(out, normal, at, size);
                size += size == 0;
            }
            continue;
        }
        size = letter_size(normal, at);
        bool is_word = size > 0;
        size += size == 0;
        if (!(normal->text[at] == ' ' && at + 1 < normal->size && normal->text[at + 1] == ' '))
            add_unchanged(out, normal, at, size);
        at += size;
        /* A word of several letters goes on as it is. */
        while (is_word && (size = letter_size(normal, at)) > 0) {
            add_unchanged(out, normal, at, size);
            at += size;
        }
    }
    return found;
}

/* Words that a line end cuts in two. */
static bool join_broken_words(struct ethos_view text, struct normal_text *out)
{
    __attribute__((uninitialized)) char bytes[NORMAL_MAX / 2];
    size_t size = 0;

    if (!memchr(text.data, '\n', text.size))
        return false;
    for (size_t i = 0; i < text.size && size < sizeof bytes; i++) {
        if (text.data[i] != '\n' && text.data[i] != '\r')
            bytes[size++] = text.data[i];
    }
    normalize(view_of(bytes, size), out);
    return true;
}

static char letter_of(char c)
{
    static const char letters[128] = {
        ['0'] = 'o', ['1'] = 'i', ['3'] = 'e', ['4'] = 'a', ['5'] = 's', ['7'] = 't',
        ['8'] = 'b', ['@'] = 'a', ['$'] = 's', ['!'] = 'i', ['|'] = 'l',
    };

    return (unsigned char)c < 0x80 && letters[(unsigned char)c] ? letters[(unsigned char)c] : c;
}

/* "1gn0r3": in words that have letters, too. */
static bool read_digits(const struct normal_text *normal, struct normal_text *out)
{
    bool found = false;

    for (size_t at = 1; at < normal->size && !found; at++)
        found = byte_is(normal->text[at], BYTE_LOWER) !=
                    byte_is(normal->text[at - 1], BYTE_LOWER) &&
                (letter_of(normal->text[at]) != normal->text[at] ||
                 letter_of(normal->text[at - 1]) != normal->text[at - 1]);
    if (!found)
        return false;
    found = false;
    for (size_t at = 0; at < normal->size;) {
        size_t end = at;
        bool letters = false, digits = false;

        for (; end < normal->size && normal->text[end] != ' '; end++) {
            letters = letters || byte_is(normal->text[end], BYTE_LOWER);
            digits = digits || letter_of(normal->text[end]) != normal->text[end];
        }
        found = found || (letters && digits);
        for (; at < end; at++)
            add_revealed(out, letters && digits ? letter_of(normal->text[at]) : normal->text[at],
                         normal->from[at]);
        add_unchanged(out, normal, at, at < normal->size);
        at += at < normal->size;
    }
    return found;
}

/* Whether a text has one of some words, of which `firsts` are the first letters. */
static bool has_turned_word(const struct normal_text *normal, const char *const *words,
                            size_t count, uint32_t firsts)
{
    for (size_t at = 0; at + 6 <= normal->size; at++) {
        char c = normal->text[at];

        if (!byte_is(c, BYTE_LOWER) || !(firsts >> (c - 'a') & 1))
            continue;
        for (size_t i = 0; i < count; i++) {
            if (memcmp(normal->text + at, words[i], 6) == 0)
                return true;
        }
    }
    return false;
}

#define LETTER(c) (1u << ((c) - 'a'))

/* Six letters of: ignore, instructions, prompt, system, forget, password, whenever, always. */
static const char *const rotated_words[] = {"vtaber", "vafgeh", "cebzcg",   "flfgrz",
                                            "sbetrg", "cnffjb", "jurarire", "nyjnlf"};
#define ROTATED (LETTER('v') | LETTER('c') | LETTER('f') | LETTER('s') | LETTER('j') | LETTER('n'))

static const char *const reversed_words[] = {"erongi", "noitcurtsni", "tpmorp",  "metsys",
                                             "tegrof", "drowssap",    "elbasid", "rof yebo",
                                             "arongi", "ytefas"};
#define REVERSED                                                                                   \
    (LETTER('a') | LETTER('y') | LETTER('e') | LETTER('n') | LETTER('t') | LETTER('m') |           \
     LETTER('d') | LETTER('r'))

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool has_turned_words(const struct normal_text *normal)
{
    return has_turned_word(normal, rotated_words, COUNT(rotated_words), ROTATED) ||
           has_turned_word(normal, reversed_words, COUNT(reversed_words), REVERSED);
}

static bool rotate(const struct normal_text *normal, struct normal_text *out)
{
    if (!has_turned_word(normal, rotated_words, COUNT(rotated_words), ROTATED))
        return false;
    for (size_t at = 0; at < normal->size; at++) {
        char c = normal->text[at];

        add_revealed(out, byte_is(c, BYTE_LOWER) ? (char)(c < 'n' ? c + 13 : c - 13) : c,
                     normal->from[at]);
    }
    return true;
}

static bool reverse(const struct normal_text *normal, struct normal_text *out)
{
    if (!has_turned_word(normal, reversed_words, COUNT(reversed_words), REVERSED))
        return false;
    for (size_t at = normal->size; at > 0; at--)
        add_revealed(out, normal->text[at - 1], normal->from[normal->size - at]);
    return true;
}

/* ---- encodings --------------------------------------------------------------------------------- */

static int base64_value(char c)
{
    if (byte_is(c, BYTE_UPPER))
        return c - 'A';
    if (byte_is(c, BYTE_LOWER))
        return c - 'a' + 26;
    if (byte_is(c, BYTE_DIGIT))
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static int hex_value(char c)
{
    return byte_is(c, BYTE_DIGIT)       ? c - '0'
           : byte_is(c, BYTE_HEX_LOWER) ? c - 'a' + 10
           : byte_is(c, BYTE_HEX_UPPER) ? c - 'A' + 10
                                        : -1;
}

/* Decodes a run of base64 or hexadecimal digits; returns the bytes. */
static size_t decode_run(struct ethos_view run, bool hex, char *out, size_t room)
{
    unsigned bits = 0, held = 0, width = hex ? 4 : 6;
    size_t size = 0;

    for (size_t i = 0; i < run.size && size < room; i++) {
        int value = hex ? hex_value(run.data[i]) : base64_value(run.data[i]);

        if (value < 0)
            break;
        held = (held << width | (unsigned)value) & 0xFFFF;
        bits += width;
        if (bits >= 8) {
            bits -= 8;
            out[size++] = (char)(held >> bits);
        }
    }
    return size;
}

/* Whether bytes are text: hardly a control character, and blanks between words. */
static bool is_decoded_text(const char *bytes, size_t size)
{
    size_t strange = 0, blanks = 0;

    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)bytes[i];

        strange += (c < 0x20 && !strchr("\t\r\n", (int)c)) || c == 0x7F;
        blanks += c == ' ';
    }
    return size >= 8 && strange * 20 <= size && (blanks > 0 || size < 24);
}

/* The runs of digits of an encoding that are text, one behind the other. */
static bool decode_runs(struct ethos_view text, bool hex, struct normal_text *out)
{
    const char *p = text.data, *end = p + text.size;
    __attribute__((uninitialized)) char bytes[NORMAL_MAX / 2];
    size_t size = 0;

    while (p < end) {
        const char *run = p;

        while (p < end && (hex ? hex_value(*p) : base64_value(*p)) >= 0)
            p++;
        if (p - run >= LONG_RUN) {
            size_t more = decode_run(view_of(run, (size_t)(p - run)), hex, bytes + size,
                                     sizeof bytes - size);

            if (is_decoded_text(bytes + size, more))
                size += more;
        }
        p += p < end;
    }
    if (size > 0)
        normalize(view_of(bytes, size), out);
    return size > 0;
}

/* A number written in decimal or hexadecimal digits at p; returns the digits, 0 for none. */
static size_t read_character_code(const char *p, const char *end, bool hex, size_t most,
                                  uint32_t *out)
{
    size_t size = 0;

    for (*out = 0; size < most && p + size < end; size++) {
        int value = hex ? hex_value(p[size]) : byte_is(p[size], BYTE_DIGIT) ? p[size] - '0' : -1;

        if (value < 0)
            break;
        *out = *out * (hex ? 16 : 10) + (uint32_t)value;
    }
    return size;
}

/* One character that is written as a number at p: %41, \x41, \u0041, &#65; and &#x41;. Returns its bytes, or 0. */
static size_t read_escape(const char *p, const char *end, uint32_t *out, bool *out_byte)
{
    size_t size;

    *out_byte = *p == '%' || (end - p > 1 && p[0] == '\\' && p[1] == 'x');
    if (*p == '%')
        return read_character_code(p + 1, end, true, 2, out) == 2 ? 3 : 0;
    if (end - p > 3 && *p == '\\' && (p[1] == 'x' || p[1] == 'u')) {
        size = p[1] == 'x' ? 2 : 4;
        return read_character_code(p + 2, end, true, size, out) == size ? size + 2 : 0;
    }
    if (end - p > 3 && p[0] == '&' && p[1] == '#') {
        bool hex = p[2] == 'x' || p[2] == 'X';

        size = read_character_code(p + 2 + hex, end, hex, 6, out);
        return size > 0 && p + 2 + hex + size < end && p[2 + hex + size] == ';' ? size + 3 + hex
                                                                                : 0;
    }
    return 0;
}

static bool decode_escapes(struct ethos_view text, struct normal_text *out)
{
    const char *p = text.data, *end = p + text.size;
    __attribute__((uninitialized)) char bytes[NORMAL_MAX / 2];
    size_t size = 0, found = 0;

    while (p < end && size + 4 < sizeof bytes) {
        uint32_t cp;
        bool is_byte;
        size_t taken = read_escape(p, end, &cp, &is_byte);

        if (taken == 0) {
            bytes[size++] = *p == '+' ? ' ' : *p;
            p++;
            continue;
        }
        found++;
        p += taken;
        if (is_byte)
            bytes[size++] = (char)cp;
        else if (cp < 0xD800 || (cp > 0xDFFF && cp < 0x110000))
            size += utf8_put(cp, bytes + size);
    }
    if (found >= 3)
        normalize(view_of(bytes, size), out);
    return found >= 3;
}

/* ---- whether there may be one ------------------------------------------------------------------ */

/* Whether a run looks like an encoding: capitals, small letters and digits, or hexadecimal digits alone. */
static bool is_encoding(const char *p, const char *end)
{
    unsigned kinds = 0;
    bool hex = true;

    p += end - p > 2 && p[0] == '0' && p[1] == 'x' ? 2 : 0;
    for (; p < end; p++) {
        kinds |= byte_is(*p, BYTE_UPPER)   ? 1
                 : byte_is(*p, BYTE_LOWER) ? 2
                 : byte_is(*p, BYTE_DIGIT) ? 4
                                           : 0;
        hex = hex && byte_is(*p, BYTE_HEX);
    }
    return hex || (kinds & 3) == 3;
}

static bool has_long_run(struct ethos_view line)
{
    const char *p = line.data, *end = p + line.size;

    while (end - p >= LONG_RUN) {
        const char *q = p + LONG_RUN;

        while (q > p && byte_is(q[-1], BYTE_ALNUM | BYTE_BASE64))
            q--;
        if (q > p) {
            p = q;
            continue;
        }
        q = byte_run(p, end, BYTE_ALNUM | BYTE_BASE64);
        if (is_encoding(p, q))
            return true;
        p = q;
    }
    return false;
}

/* Characters written as numbers: one after the other, or among others. */
static bool has_escapes(struct ethos_view line)
{
    const char *p = line.data, *end = p + line.size;

    for (; (p = memchr(p, '&', (size_t)(end - p))); p++) {
        if (end - p > 2 && p[1] == '#')
            return true;
    }
    for (p = line.data; (p = memchr(p, '%', (size_t)(end - p))); p++) {
        if (end - p > 3 && hex_value(p[1]) >= 0 && hex_value(p[2]) >= 0 && p[3] == '%')
            return true;
    }
    for (p = line.data; (p = memchr(p, '\\', (size_t)(end - p))); p++) {
        if (end - p > 2 && (p[1] == 'u' || p[1] == 'x'))
            return true;
    }
    return false;
}

/* Whether any disguise is worth trying on a text; letters that are digits, markup and turned words count, too. */
bool disguise_is_worth_trying(struct ethos_view text, const struct normal_text *normal)
{
    bool mixed = false;

    if (!utf8_ascii(text) || disguise_is_possible(text) || memchr(text.data, '\n', text.size))
        return true;
    for (size_t at = 1; at < normal->size && !mixed; at++) {
        char c = normal->text[at], before = normal->text[at - 1];

        mixed = (is_markup(c) && byte_is(before, BYTE_LOWER)) ||
                (byte_is(c, BYTE_LOWER) && !byte_is(before, BYTE_LOWER) &&
                 letter_of(before) != before);
    }
    return mixed || has_turned_words(normal);
}

bool disguise_reveal(unsigned which, struct ethos_view text, const struct normal_text *normal,
                     struct normal_text *out)
{
    out->size = 0;
    switch (which) {
    case 0:
        return drop_markup(normal, out);
    case 1:
        return has_spaced_letters(text) && join_letters(normal, out);
    case 2:
        return read_digits(normal, out);
    case 3:
        return join_broken_words(text, out);
    case 4:
        return rotate(normal, out);
    case 5:
        return reverse(normal, out);
    case 6:
        return has_long_run(text) && decode_runs(text, false, out);
    case 7:
        return has_long_run(text) && decode_runs(text, true, out);
    default:
        return (has_escapes(text) || memchr(text.data, '%', text.size)) &&
               decode_escapes(text, out);
    }
}

bool disguise_is_possible(struct ethos_view line)
{
    return has_long_run(line) || has_spaced_letters(line) || has_escapes(line);
}
