/*
 * value_shape.c: what the bytes of a value are and how they change.
 */
#include "core/scan/value_shape.h"

#include <string.h>

#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/secret_rules.h"

#define MAX_WORDS 40 /* of a list that values are looked through for */
#define SAMPLE 96    /* bytes of a value that are looked at to see how random it is */
#define MIN_PASSWORD 6
#define MIN_KEY 16
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const uint8_t value_marks[256] = {
    ['\0'] = VALUE_END | VALUE_WORD_END | VALUE_BETWEEN | VALUE_BRACKET | VALUE_PATH |
             VALUE_EXPRESSION,
    ['\n'] = VALUE_END | VALUE_WORD_END,
    ['\r'] = VALUE_END | VALUE_WORD_END | VALUE_BETWEEN,
    ['#'] = VALUE_FILLER,
    ['$'] = VALUE_FILLER | VALUE_EXPRESSION,
    ['%'] = VALUE_EXPRESSION,
    ['&'] = VALUE_END | VALUE_EXPRESSION,
    ['('] = VALUE_BETWEEN | VALUE_BRACKET | VALUE_EXPRESSION,
    [')'] = VALUE_END | VALUE_WORD_END | VALUE_BETWEEN | VALUE_BRACKET,
    ['*'] = VALUE_BLANKED | VALUE_FILLER | VALUE_EXPRESSION,
    [','] = VALUE_END | VALUE_WORD_END | VALUE_BETWEEN,
    ['.'] = VALUE_BLANKED | VALUE_FILLER,
    ['/'] = VALUE_PATH,
    ['0'] = VALUE_BLANKED,
    [':'] = VALUE_BETWEEN | VALUE_PATH,
    [';'] = VALUE_END | VALUE_WORD_END | VALUE_BETWEEN,
    ['<'] = VALUE_END | VALUE_BRACKET | VALUE_PATH | VALUE_FILLER | VALUE_EXPRESSION,
    ['='] = VALUE_BETWEEN,
    ['>'] = VALUE_END | VALUE_BRACKET | VALUE_PATH,
    ['@'] = VALUE_EXPRESSION,
    ['C'] = VALUE_FILLER,
    ['E'] = VALUE_FILLER,
    ['G'] = VALUE_FILLER,
    ['I'] = VALUE_FILLER,
    ['O'] = VALUE_FILLER,
    ['P'] = VALUE_FILLER,
    ['R'] = VALUE_FILLER,
    ['X'] = VALUE_BLANKED | VALUE_FILLER,
    ['Y'] = VALUE_FILLER,
    ['['] = VALUE_BETWEEN | VALUE_BRACKET | VALUE_EXPRESSION,
    ['\\'] = VALUE_PATH,
    [']'] = VALUE_END | VALUE_WORD_END | VALUE_BETWEEN | VALUE_BRACKET,
    ['c'] = VALUE_FILLER,
    ['e'] = VALUE_FILLER,
    ['g'] = VALUE_FILLER,
    ['i'] = VALUE_FILLER,
    ['o'] = VALUE_FILLER,
    ['p'] = VALUE_FILLER,
    ['r'] = VALUE_FILLER,
    ['x'] = VALUE_BLANKED | VALUE_FILLER,
    ['y'] = VALUE_FILLER,
    ['{'] = VALUE_BRACKET | VALUE_PATH | VALUE_FILLER | VALUE_EXPRESSION,
    ['|'] = VALUE_END | VALUE_WORD_END | VALUE_BETWEEN,
    ['}'] = VALUE_END | VALUE_BRACKET | VALUE_PATH,
};

/* n times the binary logarithm of n, times 1024, for n up to SAMPLE. */
static const uint32_t log2_weights[SAMPLE + 1] = {
    0,      0,      2048,   4869,   8192,   11885,  15882,  20118,  24576,  29214,  34010,
    38962,  44052,  49257,  54572,  60000,  65536,  71145,  76860,  82631,  88500,  94437,
    100452, 106536, 112680, 118875, 125138, 131463, 137816, 144246, 150720, 157263, 163840,
    170445, 177106, 183820, 190584, 197358, 204174, 211068, 217960, 224926, 231882, 238908,
    245960, 253035, 260176, 267289, 274512, 281701, 288950, 296208, 303524, 310845, 318222,
    325600, 332976, 340404, 347884, 355357, 362880, 370453, 378014, 385560, 393216, 400790,
    408474, 416137, 423844, 431595, 439320, 447087, 454896, 462674, 470492, 478350, 486172,
    494109, 502008, 509945, 517840, 525852, 533820, 541824, 549780, 557855, 565880, 573939,
    582032, 590159, 598230, 606333, 614560, 622728, 630834, 639065, 647328,
};

unsigned value_entropy(struct ethos_view value)
{
    uint8_t counts[256] = {0};
    size_t size = value.size < SAMPLE ? value.size : SAMPLE;
    uint32_t sum = 0;

    if (size == 0)
        return 0;
    for (size_t i = 0; i < size; i++) {
        unsigned count = counts[(unsigned char)value.data[i]]++;

        sum += log2_weights[count + 1] - log2_weights[count];
    }
    return (unsigned)((log2_weights[size] - sum) * 10 / size >> 10);
}

bool value_is_varied(struct ethos_view value, unsigned tenths)
{
    return value_entropy(value) >= tenths;
}

static unsigned character_kind(char c)
{
    return byte_is(c, BYTE_DIGIT) ? 1 : byte_is(c, BYTE_UPPER) ? 2 : byte_is(c, BYTE_LOWER) ? 4 : 8;
}

/* How often the bytes of a value change between upper case, lower case and digits. */
static unsigned changes_in(struct ethos_view value)
{
    unsigned last = 0, changes = 0;

    for (size_t i = 0; i < value.size && i < SAMPLE; i++) {
        unsigned kind = character_kind(value.data[i]);

        if (kind != 8) {
            changes += last && kind != last;
            last = kind;
        }
    }
    return changes;
}

bool value_is_wordy(struct ethos_view value)
{
    size_t words = 0, run = 0;

    for (size_t i = 0; i <= value.size && i <= SAMPLE; i++) {
        bool goes_on = i < value.size && i < SAMPLE && byte_is(value.data[i], BYTE_LOWER);

        run = goes_on ? run + 1 : 0;
        if (run >= 5)
            words += run == 5 ? 5 : 1;
    }
    return words * 2 > value.size;
}

bool value_is_one_of(struct ethos_view value, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (view_eq_nocase(value, view_str(words[i])))
            return true;
    }
    return false;
}

/* Whether a text begins with a word, which is in small letters, in any case. */
static bool begins_with_word(const char *p, const char *end, const char *word)
{
    while (*word && p < end && byte_lower(*p) == *word) {
        p++;
        word++;
    }
    return !*word;
}

bool value_has_word(struct ethos_view value, const char *const *words, size_t count)
{
    uint8_t first[32] = {0}, next[MAX_WORDS + 1]; /* words by their first byte, counted from 1 */
    const char *end = value.data + value.size;

    for (size_t i = 1; i <= count && i <= MAX_WORDS; i++) {
        next[i] = first[*words[i - 1] & 31];
        first[*words[i - 1] & 31] = (uint8_t)i;
    }
    for (size_t at = 0; at < value.size && at < SAMPLE; at++) {
        for (size_t i = first[value.data[at] & 31]; i > 0; i = next[i]) {
            if (begins_with_word(value.data + at, end, words[i - 1]))
                return true;
        }
    }
    return false;
}

bool value_is_placeholder(struct ethos_view value)
{
    /* Examples that vendors publish; each in two halves. */
    static const char *const published[] = {
        "wJalrXUtnFEMI/K7MDENG/"
        "bPxRfiCYEXAMPLEKEY",
        "je7MtGbClwBF/2Zp9Utk/"
        "h3yCo8nvbEXAMPLEKEY",
        "4eC39HqLyjWDarjt"
        "T1zdp7dc",
        "BQokikJOvBiI2HlW"
        "gH4olfQ2",
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/"
        "K1SZFPTOtr/KBHBeksoGMGw==",
        "2YotnFZFEjr1zCsi"
        "cMWpAA",
        "tGzv3JOkF0XG5Qx2"
        "TlKWIA",
    };
    size_t blank = 0;

    for (size_t i = 0; i < value.size && i < SAMPLE; i++)
        blank += value_has_mark(value.data[i], VALUE_BLANKED);
    size_t looked_at = value.size < SAMPLE ? value.size : SAMPLE;
    if (looked_at > 0 && blank * 10 >= looked_at * 6)
        return true;
    for (size_t i = 0; i < COUNT(published); i++) {
        if (view_eq_str(value, published[i]))
            return true;
    }
    return false;
}

/* Words of values that are written for somebody to fill in, or that are computed. */
static const char *const fillers[] = {
    "your",        "example",    "changeme", "change-me", "change_me", "placeholder", "redacted",
    "process.env", "os.environ", "getenv",   "insert",    "<",         "${",          "{{",
    "$(",          "xxxx",       "#{",       "****",      "....",
};

#define LONGEST_FILLER 11 /* bytes */

static bool begins_with_filler(const char *p, const char *end)
{
    for (size_t i = 0; value_has_mark(*p, VALUE_FILLER) && i < COUNT(fillers); i++) {
        if (begins_with_word(p, end, fillers[i]))
            return true;
    }
    return false;
}

/*
 * Whether a value has one of them in its first SAMPLE bytes. Values overlap where a name stands in the value of
 * another, so it is remembered where none begins.
 */
static bool has_filler(struct secret_search *search, struct ethos_view value)
{
    const char *text = search->text.data, *end = value.data + value.size;
    const char *stop = value.data + (value.size < SAMPLE ? value.size : SAMPLE);
    struct secret_span *none = &search->no_filler;
    size_t from = (size_t)(value.data - text);

    if (from < none->from || from > none->to)
        none->from = none->to = from;
    for (const char *p = text + none->to; p < stop; p++) {
        if (begins_with_filler(p, end))
            return true;
        if (end - p >= LONGEST_FILLER)
            none->to = (size_t)(p + 1 - text);
    }
    return false;
}

bool value_is_filled_in_later(struct secret_search *search, struct ethos_view value)
{
    return value.size == 0 || has_filler(search, value) || value_is_placeholder(value);
}

static bool has_no_mark(const char *p, const char *end, unsigned mark)
{
    (void)end;
    return !value_has_mark(*p, mark);
}

static bool is_of_others(const char *p, const char *end, unsigned bytes)
{
    (void)end;
    return !byte_is(*p, bytes);
}

bool value_is_expression(struct secret_search *search, struct ethos_view value)
{
    const char *p = value.data, *end = p + value.size;

    if (value_has_mark(*p, VALUE_EXPRESSION) ||
        secret_span_end(search, &search->no_bracket, p, has_no_mark, VALUE_BRACKET) < end)
        return true;
    return value.size > 2 &&
           secret_span_end(search, &search->names, p, secret_is_of_bytes,
                           BYTE_LETTER | BYTE_UNDERSCORE | BYTE_DOT) >= end &&
           memchr(p + 1, '.', value.size - 2);
}

static bool has_no_digit(struct secret_search *search, struct ethos_view value)
{
    return secret_span_end(search, &search->no_digit, value.data, is_of_others, BYTE_DIGIT) >=
           value.data + value.size;
}

bool value_is_password(struct secret_search *search, struct ethos_view value, bool quoted)
{
    unsigned kinds = 0;

    if (value.size < MIN_PASSWORD || value.size > 200)
        return false;
    if (has_no_digit(search, value) &&
        secret_span_end(search, &search->no_upper, value.data, is_of_others, BYTE_UPPER) >=
            value.data + value.size)
        return false;
    for (size_t i = 0; i < value.size && !((kinds & 1) && (kinds & 6)); i++)
        kinds |= (unsigned char)value.data[i] >= 0x80 ? 4 : character_kind(value.data[i]);
    if (!(kinds & 1) && (__builtin_popcount(kinds) < 3 || memchr(value.data, ' ', value.size)))
        return false;
    if (kinds == 1 || (kinds == 9 && (!quoted || value.size < 8)))
        return false;
    return (quoted || !value_is_expression(search, value)) &&
           !value_is_filled_in_later(search, value);
}

static bool is_hex(struct ethos_view value)
{
    const char *end = value.data + value.size;

    return byte_run(value.data, end, BYTE_HEX) == end;
}

bool value_is_uuid(struct ethos_view value)
{
    static const unsigned dashes = 1u << 8 | 1u << 13 | 1u << 18 | 1u << 23;

    if (value.size != 36)
        return false;
    for (size_t i = 0; i < 36; i++) {
        if (i < 24 && dashes >> i & 1 ? value.data[i] != '-' : !byte_is(value.data[i], BYTE_HEX))
            return false;
    }
    return true;
}

bool value_is_random_key(struct secret_search *search, struct ethos_view value)
{
    const char *end = value.data + value.size;

    if (value.size < MIN_KEY || value.size > MAX_VALUE || has_no_digit(search, value) ||
        secret_span_end(search, &search->key_bytes, value.data, secret_is_of_bytes,
                        BYTE_RUN | BYTE_PERCENT) < end ||
        value_is_uuid(value))
        return false;
    unsigned entropy = value_entropy(value);
    if (entropy < 30 ||
        (is_hex(value) ? value.size < 32
                       : entropy < (value.size < 20 ? 33 : 35) || changes_in(value) < 4))
        return false;
    return !value_is_wordy(value) && !value_is_filled_in_later(search, value);
}

bool value_ends_at(char c)
{
    return value_has_mark(c, VALUE_END) || byte_is(c, BYTE_BLANK | BYTE_QUOTE);
}

const char *value_skip_quote(const char *p, const char *end)
{
    while (p < end && *p == '\\')
        p++;
    return p < end && byte_is(*p, BYTE_QUOTE) ? p + 1 : p;
}

bool value_is_unlike_words(struct secret_search *search, struct ethos_view word)
{
    static const char *const own[] = {"passw", "token", "secret"};
    unsigned kinds = 0, joins = 0;

    if (word.size < 8 || word.size > 128 || has_no_digit(search, word))
        return false;
    for (size_t i = 0; i < word.size; i++) {
        char c = word.data[i];

        if ((unsigned char)c >= 0x80 || c == '@' || value_has_mark(c, VALUE_PATH))
            return false;
        kinds |= character_kind(c);
        joins += byte_is(c, BYTE_DASH | BYTE_UNDERSCORE | BYTE_DOT);
    }
    bool mixed = (kinds & 7) == 7
                     ? changes_in(word) >= (kinds & 8 ? 2 : 4) && (kinds & 8 || word.size >= 10)
                     : (kinds & 5) == 5 && joins >= 3 && (kinds & 8);
    return mixed && !value_has_word(word, own, COUNT(own)) &&
           !value_is_filled_in_later(search, word) && !value_is_expression(search, word);
}

bool value_is_chosen(struct secret_search *search, struct ethos_view word)
{
    static const char *const things[] = {"sha", "md5", "argon", "crypt",  "http",
                                         "iso", "rfc", "utf",   "base64", "aes"};
    unsigned kinds = 0, digits = 0;

    if (word.size < 8 || word.size > 64 || *word.data == '_' || has_no_digit(search, word))
        return false;
    for (size_t i = 0; i < word.size; i++) {
        if ((unsigned char)word.data[i] >= 0x80 || value_has_mark(word.data[i], VALUE_PATH))
            return false;
        kinds |= character_kind(word.data[i]);
        digits += byte_is(word.data[i], BYTE_DIGIT);
    }
    return (kinds & 5) == 5 && (digits > 1 || kinds != 5) && !value_is_expression(search, word) &&
           !value_has_word(word, things, COUNT(things)) && !value_is_filled_in_later(search, word);
}

bool value_is_encoded_login(struct ethos_view value)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0, held = 0;
    bool colon = false;

    for (size_t i = 0; i < value.size && value.data[i] != '='; i++) {
        const char *digit = strchr(digits, value.data[i]);

        if (!digit || !*digit)
            return false;
        held = (held << 6 | (unsigned)(digit - digits)) & 0xFFFF;
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        unsigned char c = (unsigned char)(held >> bits);
        if (c < 0x20 || c == 0x7F)
            return false;
        colon = colon || c == ':';
    }
    return colon;
}
