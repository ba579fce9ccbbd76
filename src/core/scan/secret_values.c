/*
 * secret_values.c: values that stand behind a name, in a header, a URL or on a command line.
 *
 * A name alone makes no secret: most passwords in text are "password: see vault". So a value has to look like one,
 * by what its bytes are and how they change; what that means is one function for passwords, one for keys.
 */
#include <string.h>

#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/secret_rules.h"

#define MAX_NAME 64
#define MAX_VALUE 256    /* bytes of a value that stands behind a name */
#define MAX_ARGUMENT 200 /* bytes of one on a command line */
#define MAX_WORDS 40     /* of a list that values are looked through for */
#define SAMPLE 96        /* bytes of a value that are looked at to see how random it is */
#define MIN_PASSWORD 6
#define MIN_KEY 16

/* ---- bytes ------------------------------------------------------------------------------------ */

/* What a byte is where values and words of prose stand. */
enum {
    ENDS_VALUE = 1,
    ENDS_WORD = 2,
    IS_BETWEEN = 4,
    IS_BRACKET = 8,     /* of a call, an index, a type */
    IS_PATH = 16,       /* in no password that stands in prose */
    IS_BLANKED = 32,    /* what stands for something else: xxxx, **** */
    BEGINS_FILLER = 64, /* one of fillers, in any case */
    BEGINS_EXPRESSION = 128,
};
static const unsigned char marks[256] = {
    ['\0'] = ENDS_VALUE | ENDS_WORD | IS_BETWEEN | IS_BRACKET | IS_PATH | BEGINS_EXPRESSION,
    ['\n'] = ENDS_VALUE | ENDS_WORD,
    ['\r'] = ENDS_VALUE | ENDS_WORD | IS_BETWEEN,
    ['#'] = BEGINS_FILLER,
    ['$'] = BEGINS_FILLER | BEGINS_EXPRESSION,
    ['%'] = BEGINS_EXPRESSION,
    ['&'] = ENDS_VALUE | BEGINS_EXPRESSION,
    ['('] = IS_BETWEEN | IS_BRACKET | BEGINS_EXPRESSION,
    [')'] = ENDS_VALUE | ENDS_WORD | IS_BETWEEN | IS_BRACKET,
    ['*'] = IS_BLANKED | BEGINS_FILLER | BEGINS_EXPRESSION,
    [','] = ENDS_VALUE | ENDS_WORD | IS_BETWEEN,
    ['.'] = IS_BLANKED | BEGINS_FILLER,
    ['/'] = IS_PATH,
    ['0'] = IS_BLANKED,
    [':'] = IS_BETWEEN | IS_PATH,
    [';'] = ENDS_VALUE | ENDS_WORD | IS_BETWEEN,
    ['<'] = ENDS_VALUE | IS_BRACKET | IS_PATH | BEGINS_FILLER | BEGINS_EXPRESSION,
    ['='] = IS_BETWEEN,
    ['>'] = ENDS_VALUE | IS_BRACKET | IS_PATH,
    ['@'] = BEGINS_EXPRESSION,
    ['C'] = BEGINS_FILLER,
    ['E'] = BEGINS_FILLER,
    ['G'] = BEGINS_FILLER,
    ['I'] = BEGINS_FILLER,
    ['O'] = BEGINS_FILLER,
    ['P'] = BEGINS_FILLER,
    ['R'] = BEGINS_FILLER,
    ['X'] = IS_BLANKED | BEGINS_FILLER,
    ['Y'] = BEGINS_FILLER,
    ['['] = IS_BETWEEN | IS_BRACKET | BEGINS_EXPRESSION,
    ['\\'] = IS_PATH,
    [']'] = ENDS_VALUE | ENDS_WORD | IS_BETWEEN | IS_BRACKET,
    ['c'] = BEGINS_FILLER,
    ['e'] = BEGINS_FILLER,
    ['g'] = BEGINS_FILLER,
    ['i'] = BEGINS_FILLER,
    ['o'] = BEGINS_FILLER,
    ['p'] = BEGINS_FILLER,
    ['r'] = BEGINS_FILLER,
    ['x'] = IS_BLANKED | BEGINS_FILLER,
    ['y'] = BEGINS_FILLER,
    ['{'] = IS_BRACKET | IS_PATH | BEGINS_FILLER | BEGINS_EXPRESSION,
    ['|'] = ENDS_VALUE | ENDS_WORD | IS_BETWEEN,
    ['}'] = ENDS_VALUE | IS_BRACKET | IS_PATH,
};

static bool has_mark(char c, unsigned mark)
{
    return marks[(unsigned char)c] & mark;
}

/* ---- what a value looks like ------------------------------------------------------------------ */

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

/* Entropy in bits a byte, times 10. */
static unsigned entropy_of(struct ethos_view value)
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

bool secret_is_varied(struct ethos_view value, unsigned tenths)
{
    return entropy_of(value) >= tenths;
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

/* Whether more than half of a value are words: five and more letters of one case, but for the first. */
static bool is_wordy(struct ethos_view value)
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

static bool is_one_of_words(struct ethos_view value, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (view_eq_nocase(value, view_str(words[i])))
            return true;
    }
    return false;
}

static unsigned char fold(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* Whether a text begins with a word, which is in small letters, in any case. */
static bool begins_with_word(const char *p, const char *end, const char *word)
{
    while (*word && p < end && fold(*p) == (unsigned char)*word) {
        p++;
        word++;
    }
    return !*word;
}

/* Whether any of the words begins in the first SAMPLE bytes and stands in the value, in any case. */
static bool has_any_word(struct ethos_view value, const char *const *words, size_t count)
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

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool secret_is_placeholder(struct ethos_view value)
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
        blank += has_mark(value.data[i], IS_BLANKED);
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
    for (size_t i = 0; has_mark(*p, BEGINS_FILLER) && i < COUNT(fillers); i++) {
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

/* A value that is written for somebody to fill in, or that is computed. */
static bool is_filled_in_later(struct secret_search *search, struct ethos_view value)
{
    return value.size == 0 || has_filler(search, value) || secret_is_placeholder(value);
}

static bool has_no_mark(const char *p, const char *end, unsigned mark)
{
    (void)end;
    return !has_mark(*p, mark);
}

static bool is_of_bytes(const char *p, const char *end, unsigned bytes)
{
    (void)end;
    return byte_is(*p, bytes);
}

static bool is_of_others(const char *p, const char *end, unsigned bytes)
{
    (void)end;
    return !byte_is(*p, bytes);
}

/* A call, an index, a variable, or a chain of names. */
static bool is_expression(struct secret_search *search, struct ethos_view value)
{
    const char *p = value.data, *end = p + value.size;

    if (has_mark(*p, BEGINS_EXPRESSION) ||
        secret_span_end(search, &search->no_bracket, p, has_no_mark, IS_BRACKET) < end)
        return true;
    return value.size > 2 &&
           secret_span_end(search, &search->names, p, is_of_bytes,
                           BYTE_LETTER | BYTE_UNDERSCORE | BYTE_DOT) >= end &&
           memchr(p + 1, '.', value.size - 2);
}

static bool has_no_digit(struct secret_search *search, struct ethos_view value)
{
    return secret_span_end(search, &search->no_digit, value.data, is_of_others, BYTE_DIGIT) >=
           value.data + value.size;
}

/* Six bytes or more with a digit and another class, or three classes. */
static bool is_password(struct secret_search *search, struct ethos_view value, bool quoted)
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
    return (quoted || !is_expression(search, value)) && !is_filled_in_later(search, value);
}

static bool is_hex(struct ethos_view value)
{
    for (size_t i = 0; i < value.size; i++) {
        if (!byte_is(value.data[i], BYTE_DIGIT | BYTE_HEX_LOWER | BYTE_HEX_UPPER))
            return false;
    }
    return true;
}

static bool is_uuid(struct ethos_view value)
{
    static const unsigned dashes = 1u << 8 | 1u << 13 | 1u << 18 | 1u << 23;

    if (value.size != 36)
        return false;
    for (size_t i = 0; i < 36; i++) {
        if (i < 24 && dashes >> i & 1
                ? value.data[i] != '-'
                : !byte_is(value.data[i], BYTE_DIGIT | BYTE_HEX_LOWER | BYTE_HEX_UPPER))
            return false;
    }
    return true;
}

/* Sixteen bytes or more that no person thought of. */
static bool is_random_key(struct secret_search *search, struct ethos_view value)
{
    const char *end = value.data + value.size;

    if (value.size < MIN_KEY || value.size > MAX_VALUE || has_no_digit(search, value) ||
        secret_span_end(search, &search->key_bytes, value.data, is_of_bytes,
                        BYTE_RUN | BYTE_PERCENT) < end ||
        is_uuid(value))
        return false;
    unsigned entropy = entropy_of(value);
    if (entropy < 30 ||
        (is_hex(value) ? value.size < 32
                       : entropy < (value.size < 20 ? 33 : 35) || changes_in(value) < 4))
        return false;
    return !is_wordy(value) && !is_filled_in_later(search, value);
}

/* ---- name and value --------------------------------------------------------------------------- */

struct named_value {
    struct ethos_view name, value;
    bool quoted, assigned; /* a value in quotes; behind = and not : */
    bool in_table;
};

static const char *skip_value_blanks(const char *p, const char *end)
{
    return byte_run(p, end, BYTE_BLANK);
}

/* Quotes, and the ones that JSON in JSON has: \" */
static const char *skip_quote(const char *p, const char *end)
{
    while (p < end && *p == '\\')
        p++;
    return p < end && byte_is(*p, BYTE_QUOTE) ? p + 1 : p;
}

/* Skips what stands between a name and its value: = : := => "is", </name>, quotes and ** around the name. */
static const char *skip_separator(const char *p, const char *end, bool prose, bool *out_assigned)
{
    p = skip_quote(p, end);
    while (p < end && strchr("*]) ", *p) && *p)
        p++;
    p = skip_value_blanks(p, end);
    *out_assigned = false;
    if (p < end && *p == '>') // <name>value</name>
        return p + 1;
    if (prose && end - p > 3 && memcmp(p, "is ", 3) == 0) {
        p = skip_value_blanks(p + 3, end);
        return p < end && *p == ':' ? skip_value_blanks(p + 1, end) : p;
    }
    if (p < end && *p == '|') { // a cell of a table
        p = skip_value_blanks(p + 1, end);
        return p;
    }
    if (p == end || (*p != '=' && *p != ':'))
        return NULL;
    *out_assigned = *p == '=';
    for (unsigned i = 0; i < 3 && p < end && strchr("=:>", *p) && *p; i++)
        p++;
    while (p < end && *p == '*')
        p++;
    return skip_value_blanks(p, end);
}

static bool ends_value(char c)
{
    return has_mark(c, ENDS_VALUE) || byte_is(c, BYTE_BLANK | BYTE_QUOTE);
}

/* Whether a mark of Chinese or Japanese text stands at p: a comma, a full stop, a bracket. */
static bool is_wide_mark(const char *p, const char *end)
{
    return end - p >= 3 && (memcmp(p, "\xE3\x80", 2) == 0 || memcmp(p, "\xEF\xBC", 2) == 0);
}

static bool is_of_value(const char *p, const char *end, unsigned none)
{
    (void)none;
    return !ends_value(*p) && !is_wide_mark(p, end) &&
           !(*p == '\\' && p + 1 < end && strchr("\"nrt", p[1]));
}

/* Where a value without quotes ends, at `stop` at the latest. A mark of several bytes ends it if it stands before. */
static const char *value_end(struct secret_search *search, const char *value, const char *stop)
{
    const char *end = secret_span_end(search, &search->value, value, is_of_value, 0);

    if (end >= stop || (!ends_value(*end) && stop - end < (*end == '\\' ? 2 : 3)))
        return stop;
    return end;
}

/* The name that the anchor stands in, and what is given to it. */
static bool read_named_value(struct secret_search *search, const char *anchor, bool prose,
                             struct named_value *out)
{
    const char *start = search->text.data, *end = start + search->text.size;
    const char *from = anchor - start > MAX_NAME ? anchor - MAX_NAME : start;
    const char *stop = end - anchor > SECRET_REACH ? anchor + SECRET_REACH : end;
    const char *name = byte_run_back(anchor, from, BYTE_TOKEN | BYTE_DOT);
    const char *name_end = byte_run(anchor, stop - anchor > MAX_NAME ? anchor + MAX_NAME : stop,
                                    BYTE_TOKEN);

    out->name = view_of(name, (size_t)(name_end - name));
    const char *bar = byte_run(name_end, stop, BYTE_BLANK);
    out->in_table = bar < stop && *bar == '|';
    const char *p = skip_separator(name_end, stop, prose, &out->assigned);
    if (!p || p == stop)
        return false;
    const char *value = skip_quote(p, stop);
    out->quoted = value > p;
    char quote = out->quoted ? value[-1] : '\0';
    stop = end - value > MAX_VALUE ? value + MAX_VALUE : end;
    const char *after = value;
    if (quote) {
        after = memchr(value, quote, (size_t)(stop - value));
        if (!after || memchr(value, '\n', (size_t)(after - value)))
            return false;
        if (after > value && after[-1] == '\\')
            after--;
    } else {
        after = value_end(search, value, stop);
        while (after > value && strchr(".:!?*_", after[-1]))
            after--;
    }
    out->value = view_of(value, (size_t)(after - value));
    return out->value.size > 0;
}

static bool report_secret(const struct secret_search *search, struct ethos_view value,
                          struct secret *out)
{
    out->start = (size_t)(value.data - search->text.data);
    out->end = out->start + value.size;
    return true;
}

/* Names of what is about a password and none. */
static bool is_about(struct ethos_view name)
{
    static const char *const words[] = {
        "id",     "name",    "file",  "path",   "url",      "type",    "len",      "count",
        "size",   "max",     "expir", "hash",   "sha",      "digest",  "checksum", "integrity",
        "public", "version", "hint",  "policy", "field",    "pattern", "prefix",   "tokeniz",
        "tokens", "keyword", "salt",  "author", "keyboard",
    };
    struct ethos_view rest = name;

    /* Each word at the start of a part of the name: id in key_id and keyId, not in "provided". */
    for (size_t at = 0; at < rest.size && at < 2 * MAX_NAME; at++) {
        bool starts = at == 0 || !byte_is(name.data[at - 1], BYTE_LETTER) ||
                      (byte_is(name.data[at], BYTE_UPPER) &&
                       byte_is(name.data[at - 1], BYTE_LOWER));

        for (size_t i = 0; starts && i < COUNT(words); i++) {
            size_t size = fold(name.data[at]) == *words[i] ? strlen(words[i]) : SIZE_MAX;

            if (name.size - at < size ||
                !view_eq_nocase(view_of(name.data + at, size), view_str(words[i])))
                continue;
            if (size > 2 || name.size - at == size || !byte_is(name.data[at + size], BYTE_LOWER))
                return true;
        }
    }
    return false;
}

static bool is_unlike_words(struct secret_search *search, struct ethos_view word);

bool find_named_password(struct secret_search *search, const char *anchor, struct secret *out)
{
    struct named_value named;

    if (!read_named_value(search, anchor, true, &named) || is_about(named.name))
        return false;
    if (named.in_table && !is_unlike_words(search, named.value))
        return false;
    return is_password(search, named.value, named.quoted) &&
           report_secret(search, named.value, out);
}

bool find_named_value(struct secret_search *search, const char *anchor, struct secret *out)
{
    static const char *const uuid_names[] = {"token", "secret", "api_key", "apikey", "api-key"};
    struct named_value named;

    if (!read_named_value(search, anchor, false, &named))
        return false;
    static const char *const schemes[] = {"Bearer", "Basic", "Token", "Bot", "Digest"};
    if (is_one_of_words(named.value, schemes, COUNT(schemes)) &&
        named.value.data + named.value.size < search->text.data + search->text.size) {
        const char *end = search->text.data + search->text.size;
        const char *p = skip_value_blanks(named.value.data + named.value.size, end);
        named.value = view_of(
            p, (size_t)(byte_run(p, end - p > MAX_VALUE ? p + MAX_VALUE : end, BYTE_RUN) - p));
        if (named.value.size == 0)
            return false;
    }
    bool random = named.quoted && named.value.size >= 30 && named.value.size <= 128 &&
                  entropy_of(named.value) >= 42 &&
                  !memchr(named.value.data, ' ', named.value.size) &&
                  !is_expression(search, view_of(named.value.data + 1, 1));
    bool uuid = is_uuid(named.value) && has_any_word(named.name, uuid_names, COUNT(uuid_names)) &&
                !is_filled_in_later(search, named.value);
    if (!random && !uuid && !is_random_key(search, named.value))
        return false;
    static const char *const own[] = {"token", "secret", "key"};
    return !has_any_word(named.value, own, COUNT(own)) && !is_about(named.name) &&
           report_secret(search, named.value, out);
}

/* ---- URLs, headers, command lines ------------------------------------------------------------ */

bool find_url_password(struct secret_search *search, const char *anchor, struct secret *out)
{
    static const char *const examples[] = {"pass", "password", "secret",   "xxx",
                                           "pwd",  "passwd",   "postgres", "user"};
    const char *start = search->text.data, *end = start + search->text.size;
    const char *user = anchor + 3, *stop = end - user > SECRET_REACH ? user + SECRET_REACH : end;
    const char *p = user;

    if (anchor == start || !byte_is(anchor[-1], BYTE_ALNUM))
        return false;
    while (p < stop && !ends_value(*p) && *p != ':' && *p != '/' && *p != '@' && *p != '#' &&
           *p != '?')
        p++;
    if (p == stop || *p != ':')
        return false;
    const char *pass = ++p, *at = NULL;
    for (; p < stop && !ends_value(*p) && *p != '/'; p++) {
        if (*p == '@')
            at = p;
    }
    if (!at || at == pass || at + 1 == stop || !(byte_is(at[1], BYTE_ALNUM) || at[1] == '['))
        return false;
    struct ethos_view value = view_of(pass, (size_t)(at - pass));
    struct ethos_view name = view_of(user, (size_t)(pass - 1 - user));
    if (view_eq(value, name) || is_one_of_words(value, examples, COUNT(examples)) ||
        is_filled_in_later(search, value) || strchr("$<{%[", value.data[0]))
        return false;
    return report_secret(search, value, out);
}

/* The token behind a header's scheme. */
static struct ethos_view token_at(const struct secret_search *search, const char *p)
{
    const char *end = search->text.data + search->text.size;

    p = byte_run(p, end, BYTE_BLANK);
    const char *stop = end - p > MAX_VALUE ? p + MAX_VALUE : end;
    return view_of(p, (size_t)(byte_run(p, stop, BYTE_RUN) - p));
}

bool find_bearer(struct secret_search *search, const char *anchor, struct secret *out)
{
    struct ethos_view value = token_at(search, anchor + 7);

    if (value.size < 20 || !secret_is_varied(value, 30) || is_wordy(value) ||
        is_filled_in_later(search, value))
        return false;
    return report_secret(search, value, out);
}

/* Whether base64 is printable text with a colon. */
static bool is_encoded_login(struct ethos_view value)
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

bool find_basic(struct secret_search *search, const char *anchor, struct secret *out)
{
    struct ethos_view value = token_at(search, anchor + 6);

    return value.size >= 8 && is_encoded_login(value) && report_secret(search, value, out);
}

bool find_docker_auth(struct secret_search *search, const char *anchor, struct secret *out)
{
    struct named_value named;

    if (!read_named_value(search, anchor + 1, false, &named) || !view_eq_str(named.name, "auth"))
        return false;
    return named.value.size >= 8 && is_encoded_login(named.value) &&
           report_secret(search, named.value, out);
}

static bool is_of_argument(const char *p, const char *end, unsigned none)
{
    (void)end, (void)none;
    return !ends_value(*p);
}

/* Where an argument of a program ends. */
static const char *argument_end(struct secret_search *search, const char *p)
{
    const char *text_end = search->text.data + search->text.size;
    const char *stop = text_end - p > MAX_ARGUMENT ? p + MAX_ARGUMENT : text_end;
    const char *end = secret_span_end(search, &search->argument, p, is_of_argument, 0);

    return end < stop ? end : stop;
}

/* curl -u user:password, --user user:password, --password X, --password=X */
bool find_command_password(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *end = search->text.data + search->text.size;
    const char *p = anchor + 3;
    bool login = anchor[1] != '-' || anchor[2] == 'u' || anchor[2] == 'U';

    if (!login)
        p = anchor + strlen("--password");
    else if (anchor[0] == '-')
        p = anchor + strlen("--user");
    if (p < end && *p != ' ' && *p != '=' && p[-1] != ' ')
        return false;
    while (p < end && (*p == ' ' || *p == '='))
        p++;
    const char *value = skip_quote(p, end), *after = argument_end(search, value);
    if (login) {
        const char *colon = memchr(value, ':', (size_t)(after - value));

        if (!colon || colon == value || colon + 1 == after || colon[1] == '/')
            return false;
        value = colon + 1;
    }
    struct ethos_view found = view_of(value, (size_t)(after - value));
    if (login ? found.size < 4 || is_filled_in_later(search, found) || strchr("$<{", found.data[0])
              : !is_password(search, found, false))
        return false;
    static const char *const words[] = {"password", "passwd", "pass", "secret", "token", "pwd"};
    if (is_one_of_words(found, words, COUNT(words)) ||
        (login && !is_password(search, found, true) && found.size < 8))
        return false;
    return report_secret(search, found, out);
}

/* What stands before a password in a line, and how often: the option of a program, or fields that something divides. */
static const struct {
    const char *start, *mark;
    unsigned times;
} password_places[] = {
    {"redis-cli", " -a ", 1},
    {"mysql", " -p", 1},
    {"mysqldump", " -p", 1},
    {"mysqladmin", " -p", 1},
    {"mariadb", " -p", 1},
    {"ldapsearch", " -w ", 1},
    {"ldapmodify", " -w ", 1},
    {"ldapadd", " -w ", 1},
    {"ldapwhoami", " -w ", 1},
    {"snmpwalk", " -c ", 1},
    {"snmpget", " -c ", 1},
    {"sshpass", " -p", 1},
    {"zip ", " -P ", 1},
    {"7z ", " -p", 1},
    {"smbclient", "%", 1},
    {"lftp", ",", 1},
    {"requirepass", " ", 1},
    {"masterauth", " ", 1},
    {"wandb login", " ", 1},
    {"/user:", " ", 1},
    {" -auth ", ":", 1},
    {"htpasswd -b", " ", 3},
    {":5432:", ":", 3},
    {":3306:", ":", 3},
    {"jdbc:oracle:thin:", "/", 1},
};

#define OPTION_REACH 120 /* bytes from a program to its password, in a line */

bool find_option_password(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *text_end = search->text.data + search->text.size;
    const char *stop = text_end - anchor > OPTION_REACH ? anchor + OPTION_REACH : text_end;
    const char *line = memchr(anchor, '\n', (size_t)(stop - anchor));

    stop = line ? line : stop;
    for (size_t i = 0; i < COUNT(password_places); i++) {
        if (*anchor != *password_places[i].start)
            continue;
        size_t start = strlen(password_places[i].start), size = strlen(password_places[i].mark);
        const char *at = anchor + start - 1;

        if (start > (size_t)(stop - anchor) || memcmp(anchor, password_places[i].start, start) != 0)
            continue;
        for (unsigned times = password_places[i].times; at && times > 0; times--) {
            at = memmem(at, (size_t)(stop - at), password_places[i].mark, size);
            at = at ? at + size : NULL;
        }
        if (!at)
            continue;
        const char *value = skip_quote(at, text_end);
        const char *after = argument_end(search, value);
        const char *at_sign = memchr(value, '@', (size_t)(after - value));
        after = at_sign ? at_sign : after;
        struct ethos_view found = view_of(value, (size_t)(after - value));
        if (is_password(search, found, false))
            return report_secret(search, found, out);
    }
    return false;
}

#define PHRASE_WORDS 12 /* of a wallet, at least */

/* The words from which a wallet is made again: in lower case, of three to eight letters, none as sentences need them. */
bool find_word_phrase(struct secret_search *search, const char *anchor, struct secret *out)
{
    static const char *const usual[] = {"the",  "and", "for", "with", "are",  "was",
                                        "from", "has", "not", "that", "this", "your"};
    const char *end = search->text.data + search->text.size;
    const char *stop = end - anchor > MAX_VALUE ? anchor + MAX_VALUE : end;
    const char *p = memchr(anchor, ':', (size_t)(stop - anchor > 60 ? 60 : stop - anchor));
    unsigned words = 0;

    if (!p)
        return false;
    const char *first = p = byte_run(p + 1, stop, BYTE_BLANK), *after = p;
    while (p < stop && byte_is(*p, BYTE_LOWER)) {
        const char *word = p;

        p = byte_run(p, stop, BYTE_LOWER);
        if (p - word < 3 || p - word > 8 ||
            is_one_of_words(view_of(word, (size_t)(p - word)), usual, COUNT(usual)))
            return false;
        words++;
        after = p;
        p = byte_run(p, stop, BYTE_BLANK);
    }
    return words >= PHRASE_WORDS && (after == end || !byte_is(*after, BYTE_ALNUM)) &&
           report_secret(search, view_of(first, (size_t)(after - first)), out);
}

/* ---- prose ------------------------------------------------------------------------------------- */

/* Whether a word stands right before p. */
static bool has_before(const char *start, const char *p, const char *word)
{
    size_t size = strlen(word);

    return (size_t)(p - start) >= size && memcmp(p - size, word, size) == 0;
}

#define PROSE_REACH 96 /* bytes from a word like "password" to what it is, in a sentence */

const struct foreign_name secret_foreign_names[] = {
    {"", "парол"},       {"", "Парол"},      {"", "ПАРОЛ"},    {"", "密码"},  {"", "密碼"},
    {"", "口令"},        {"", "パスワード"}, {"", "비밀번호"}, {"", "암호"},  {"", "पासवर्ड"},
    {"", "كلمة المرور"}, {"", "كلمة السر"},  {"", "ật khẩu"},  {"has", "ło"}, {"Has", "ło"},
    {"", "şifre"},       {"", "Şifre"},
};
const size_t secret_foreign_name_count = COUNT(secret_foreign_names);

static bool is_foreign_name(const struct foreign_name *name, const char *start, const char *p,
                            const char *end)
{
    size_t same = 0;

    while (name->rest[same] && p + same < end && p[same] == name->rest[same])
        same++;
    return !name->rest[same] && has_before(start, p, name->before);
}

const char *secret_next_foreign_name(struct ethos_view text, const char *p)
{
    const char *end = text.data + text.size;

    for (; p < end; p++) {
        if (!((unsigned char)*p & 0x80))
            continue;
        for (size_t i = 0; i < COUNT(secret_foreign_names); i++) {
            if (is_foreign_name(&secret_foreign_names[i], text.data, p, end))
                return p;
        }
    }
    return NULL;
}

/* A word that nobody would write but as a password: of three kinds of bytes, or several words with a number. */
static bool is_unlike_words(struct secret_search *search, struct ethos_view word)
{
    static const char *const own[] = {"passw", "token", "secret"};
    unsigned kinds = 0, joins = 0;

    if (word.size < 8 || word.size > 128 || has_no_digit(search, word))
        return false;
    for (size_t i = 0; i < word.size; i++) {
        char c = word.data[i];

        if ((unsigned char)c >= 0x80 || c == '@' || has_mark(c, IS_PATH))
            return false;
        kinds |= character_kind(c);
        joins += byte_is(c, BYTE_DASH | BYTE_UNDERSCORE | BYTE_DOT);
    }
    bool mixed = (kinds & 7) == 7
                     ? changes_in(word) >= (kinds & 8 ? 2 : 4) && (kinds & 8 || word.size >= 10)
                     : (kinds & 5) == 5 && joins >= 3 && (kinds & 8);
    return mixed && !has_any_word(word, own, COUNT(own)) && !is_filled_in_later(search, word) &&
           !is_expression(search, word);
}

/* Whether what stands before a word says that the word is what was named. */
static bool is_stated(const char *from, const char *word)
{
    static const char *const told[] = {":",
                                       "=",
                                       " is",
                                       " ist",
                                       " est",
                                       "c'est",
                                       " es",
                                       " jest",
                                       " to",
                                       " \xC3\xA9",
                                       " \xC3\xA8",
                                       "\xE6\x98\xAF",
                                       "\xE6\x88\x90\xE4\xBA\x86",
                                       "\xEF\xBC\x9A"};

    while (word > from && byte_is(word[-1], BYTE_BLANK | BYTE_QUOTE))
        word--;
    for (size_t i = 0; i < COUNT(told); i++) {
        size_t size = strlen(told[i]);

        if ((size_t)(word - from) >= size && memcmp(word - size, told[i], size) == 0)
            return true;
    }
    return false;
}

/* Letters and a digit, as people choose them: what no name of a thing looks like where a password is told. */
static bool is_chosen(struct secret_search *search, struct ethos_view word)
{
    static const char *const things[] = {"sha", "md5", "argon", "crypt",  "http",
                                         "iso", "rfc", "utf",   "base64", "aes"};
    unsigned kinds = 0, digits = 0;

    if (word.size < 8 || word.size > 64 || *word.data == '_' || has_no_digit(search, word))
        return false;
    for (size_t i = 0; i < word.size; i++) {
        if ((unsigned char)word.data[i] >= 0x80 || has_mark(word.data[i], IS_PATH))
            return false;
        kinds |= character_kind(word.data[i]);
        digits += byte_is(word.data[i], BYTE_DIGIT);
    }
    return (kinds & 5) == 5 && (digits > 1 || kinds != 5) && !is_expression(search, word) &&
           !has_any_word(word, things, COUNT(things)) && !is_filled_in_later(search, word);
}

/* Whether a word of prose, and the blanks between two, surely end at p, wherever they begin. */
static bool ends_word(char c)
{
    return (unsigned char)c & 0x80 || byte_is(c, BYTE_BLANK | BYTE_QUOTE) || has_mark(c, ENDS_WORD);
}

/*
 * The first such word behind the anchor, in its sentence. Words end at blanks and at what no password ends with;
 * between characters of other scripts no blank is needed. Words that were read for an anchor before are not read
 * again.
 */
bool find_password_in_prose(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *text = search->text.data, *end = text + search->text.size;
    const char *stop = end - anchor > PROSE_REACH ? anchor + PROSE_REACH : end;
    const char *p = secret_run_end(search, 'L', anchor);

    if (p >= stop)
        return false;
    if (p + 1 < stop && *p == ':' && !byte_is(p[1], BYTE_BLANK)) // an identifier
        return false;
    struct secret_span *known = &search->prose, seen = {(size_t)(p - text), (size_t)(p - text)};
    bool sentence_ends = false;
    while (p < stop && *p != '\n' && !sentence_ends) {
        size_t at = (size_t)(p - text);

        if (ends_word(*p) && at >= known->from && at < known->to && text + known->to <= stop) {
            p = text + known->to;
            seen = (struct secret_span){known->from, known->to};
            sentence_ends = search->ends_sentence;
            continue;
        }
        if (ends_word(*p) || has_mark(*p, IS_BETWEEN)) {
            p++;
            continue;
        }
        const char *word = p;
        while (p < stop && !ends_word(*p))
            p++;
        const char *after = p;
        while (after > word && strchr(".:!?", after[-1]))
            after--;
        struct ethos_view found = view_of(word, (size_t)(after - word));
        if (is_unlike_words(search, found) || (is_chosen(search, found) && is_stated(anchor, word)))
            return report_secret(search, found, out);
        sentence_ends = p < stop && after < p && *after == '.';
        if (p < stop)
            seen.to = (size_t)(p - text);
    }
    if (seen.to > seen.from) {
        *known = seen;
        search->ends_sentence = sentence_ends;
    }
    return false;
}

/* A long run that looks like a key, in a line that says so before it and does not say that it is something else. */
bool find_key_in_prose(struct secret_search *search, const char *anchor, struct secret *out)
{
    static const char *const keys[] = {
        "key",     "token", "secret",  "credential", "clave", "chave",         "chiave", "schl",
        "sleutel", "klucz", "anahtar", "jeton",      "ключ",  "токен",         "секрет", "密钥",
        "密鑰",    "令牌",  "キー",    "トークン",   "키",    "토큰",          "مفتاح",  "رمز",
        "कुंजी",     "टोकन",  "khóa",    "cl\xc3\xa9", "-h \"", "authorization",
    };
    static const char *const others[] = {
        "[redacted", "sha",      "commit", "hash",        "digest",  "checksum",
        "integrity", "revision", "public", "fingerprint", "etag",    "keyboard",
        "http",      "id ",      "id:",    "id=",         "uuid",    "tokeniz",
        "tokens",    "nonce",    "href",   "src",         "path",    "version",
        "monkey",    "keyword",  "turkey", "key:",        "cache",   "gpg",
        "using ",    "class",    "test",   "fixture",     "example", "data:",
    };
    const char *start = search->text.data, *end = start + search->text.size;
    const char *after = byte_run(anchor, end - anchor > MAX_VALUE ? anchor + MAX_VALUE : end,
                                 BYTE_TOKEN | BYTE_BASE64);
    const char *from = anchor - start > PROSE_REACH ? anchor - PROSE_REACH : start;

    after = byte_run(after, end - after > 2 ? after + 2 : end, BYTE_EQUALS);
    struct ethos_view value = view_of(anchor, (size_t)(after - anchor));
    if (value.size < 20 || value.size > 300 ||
        (after < end && strchr("./:", *after) && after + 1 < end && byte_is(after[1], BYTE_ALNUM)))
        return false;
    const char *line = memrchr(from, '\n', (size_t)(anchor - from));
    struct ethos_view before = view_of(line ? line + 1 : from,
                                       (size_t)(anchor - (line ? line + 1 : from)));
    return is_random_key(search, value) && has_any_word(before, keys, COUNT(keys)) &&
           !has_any_word(before, others, COUNT(others)) && report_secret(search, value, out);
}

/* Cookie: name=value; the value of a session is long and random. */
bool find_cookie(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *end = search->text.data + search->text.size;
    const char *stop = end - anchor > SECRET_REACH ? anchor + SECRET_REACH : end, *p = anchor + 6;

    while (p < stop && *p != ':' && *p != '=' && *p != '\n' && p - anchor < 12)
        p++;
    if (p >= stop || (*p != ':' && *p != '='))
        return false;
    while (p < stop && *p != '\n') {
        const char *equals = memchr(p, '=', (size_t)(stop - p)),
                   *newline = memchr(p, '\n', (size_t)(stop - p));

        if (!equals || (newline && newline < equals))
            return false;
        const char *after = byte_run(equals + 1, stop, BYTE_RUN | BYTE_PERCENT);
        struct ethos_view value = view_of(equals + 1, (size_t)(after - equals - 1));
        if (value.size >= 24 && secret_is_varied(value, 35) && !is_wordy(value) &&
            !is_filled_in_later(search, value))
            return report_secret(search, value, out);
        p = after > p ? after : p + 1;
    }
    return false;
}

/* ---- tokens that are no shape ---------------------------------------------------------------- */

/* 8 to 10 digits, :AA and 33 more. */
bool find_telegram_token(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *start = search->text.data, *end = start + search->text.size;
    const char *from = anchor - start > 11 ? anchor - 11 : start;
    const char *digits = byte_run_back(anchor, from, BYTE_DIGIT);

    if (anchor - digits < 8 || anchor - digits > 10 || memcmp(anchor, ":AA", 3) != 0)
        return false;
    const char *after = byte_run(anchor + 3, end - anchor > 60 ? anchor + 60 : end, BYTE_TOKEN);
    if (after - anchor != 36)
        return false;
    return report_secret(search, view_of(anchor + 1, 35), out);
}

/* Base64 of a number, six bytes of a time, and the rest. */
bool find_discord_token(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *after = secret_shape_end(search, "L24-28'.L6'.L27-38", anchor);

    if (!after || !strchr("MNO", anchor[0]) || !strchr("DTjz", anchor[1]) ||
        !strchr("AEIMQUYcgk", anchor[2]) ||
        !(byte_is(anchor[3], BYTE_DIGIT) || strchr("wxyz", anchor[3])))
        return false;
    return report_secret(search, view_of(anchor, (size_t)(after - anchor)), out);
}

bool find_json_web_token(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *start = search->text.data;
    const char *after = secret_shape_end(search, "L13+'.L4+'.L10+'.L10+'.L10+",
                                         anchor); // encrypted

    if (memcmp(anchor, "eyJ", 3) != 0 || (anchor > start && byte_is(anchor[-1], BYTE_ALNUM)))
        return false;
    if (!after)
        after = secret_shape_end(search, "L13+'.'e'yL11+'.L16+", anchor);
    return after && report_secret(search, view_of(anchor, (size_t)(after - anchor)), out);
}

/* ---- Azure ------------------------------------------------------------------------------------- */

/* Keys that have their mark in the middle; what stands behind AccountKey=, SharedAccessKey= and &sig=. */
bool find_azure_key(struct secret_search *search, const char *anchor, struct secret *out)
{
    static const size_t lengths[] = {44, 52, 56, 84, 88};
    const char *start = search->text.data, *end = start + search->text.size;
    const char *stop = end - anchor > 200 ? anchor + 200 : end,
               *from = anchor - start > 100 ? anchor - 100 : start;

    if (memcmp(anchor, "Q~", 2) == 0) { // a secret of the directory: L3, a digit, Q~, 31 to 34
        const char *after = byte_run(anchor + 2, stop, BYTE_TOKEN | BYTE_DOT | BYTE_TILDE);

        if (anchor - start < 4 || !byte_is(anchor[-1], BYTE_DIGIT) || after - anchor < 33 ||
            after - anchor > 36)
            return false;
        const char *first = byte_run_back(anchor - 1, from, BYTE_TOKEN | BYTE_DOT | BYTE_TILDE);
        return anchor - 1 - first == 3 &&
               report_secret(search, view_of(first, (size_t)(after - first)), out);
    }
    const char *equals = memchr(anchor, '=',
                                (size_t)(stop - anchor) < 17 ? (size_t)(stop - anchor) : 17);
    if (equals &&
        (memcmp(anchor, "Ac", 2) == 0 || memcmp(anchor, "Sh", 2) == 0 || anchor[0] == '&')) {
        const char *value = equals + 1;
        const char *after = byte_run(value, end - value > 200 ? value + 200 : end,
                                     BYTE_ALNUM | BYTE_BASE64 | BYTE_PERCENT);

        if (after < end && *after == '=')
            after = byte_run(after, end - after > 2 ? after + 2 : end, BYTE_EQUALS);
        struct ethos_view key = view_of(value, (size_t)(after - value));
        return key.size >= 40 && !secret_is_placeholder(key) && secret_is_varied(key, 30) &&
               report_secret(search, key, out);
    }
    const char *first = byte_run_back(anchor, from, BYTE_ALNUM | BYTE_BASE64);
    const char *after = byte_run(anchor, stop, BYTE_ALNUM | BYTE_BASE64);
    after = byte_run(after, stop - after > 2 ? after + 2 : stop, BYTE_EQUALS);
    if (first > start && has_before(start, first, "data:"))
        return false;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct ethos_view key = view_of(first, (size_t)(after - first));

        if (key.size == lengths[i])
            return !secret_is_placeholder(key) && secret_is_varied(key, 40) &&
                   report_secret(search, key, out);
    }
    return false;
}
