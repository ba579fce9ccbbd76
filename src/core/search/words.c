/*
 * words.c: from bytes to folded characters, and from those to words.
 *
 * Most text is ASCII, so its words are taken whole with one table and without any other. A run of
 * a script without blanks keeps its last two characters back: a following mark may still change
 * the last.
 */
#include "core/search/words.h"

#include <string.h>

#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

/* A folded character of a run and where it came from. */
struct unit {
    uint32_t cp;
    size_t start, end;
};

struct word_walk {
    word_fn *each;
    void *arg;
    bool open; /* a word is being written */
    bool cut;  /* and has no more room */
    char word[WORDS_MAX];
    size_t size, start, end;
    struct unit run[2]; /* the last of it, not yet given; count: of those */
    unsigned count;
    bool joined; /* a pair of the run was given */
};

/* ---- characters ------------------------------------------------------------------------------ */

#define LETTER(upper, lower) [upper] = (lower), [lower] = (lower)
#define DIGIT(digit) [digit] = (digit)

/* Letters and digits of ASCII in lower case; 0 for every other byte. */
static const char ascii[256] = {
    DIGIT('0'),       DIGIT('1'),       DIGIT('2'),       DIGIT('3'),       DIGIT('4'),
    DIGIT('5'),       DIGIT('6'),       DIGIT('7'),       DIGIT('8'),       DIGIT('9'),
    LETTER('A', 'a'), LETTER('B', 'b'), LETTER('C', 'c'), LETTER('D', 'd'), LETTER('E', 'e'),
    LETTER('F', 'f'), LETTER('G', 'g'), LETTER('H', 'h'), LETTER('I', 'i'), LETTER('J', 'j'),
    LETTER('K', 'k'), LETTER('L', 'l'), LETTER('M', 'm'), LETTER('N', 'n'), LETTER('O', 'o'),
    LETTER('P', 'p'), LETTER('Q', 'q'), LETTER('R', 'r'), LETTER('S', 's'), LETTER('T', 't'),
    LETTER('U', 'u'), LETTER('V', 'v'), LETTER('W', 'w'), LETTER('X', 'x'), LETTER('Y', 'y'),
    LETTER('Z', 'z'),
};

struct range {
    uint32_t first, last;
};

static bool in_ranges(uint32_t cp, const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count && cp >= ranges[i].first; i++) {
        if (cp <= ranges[i].last)
            return true;
    }
    return false;
}

#define IN_RANGES(cp, ranges) in_ranges(cp, ranges, sizeof(ranges) / sizeof(*(ranges)))

/* Whether a letter or mark belongs to a script without blanks. */
static bool is_unspaced(uint32_t cp)
{
    static const struct range scripts[] = {
        {0x0E00, 0x0EFF},   // Thai, Lao
        {0x1000, 0x109F},   // Burmese
        {0x1100, 0x11FF},   // Hangul in parts
        {0x1780, 0x17FF},   // Khmer
        {0x2E80, 0x2FDF},   // Han radicals
        {0x3005, 0x303C},   // Han marks of repetition and numbers
        {0x3041, 0x31FF},   // Kana, Bopomofo
        {0x3400, 0x9FFF},   // Han
        {0xA960, 0xA97F},   // Hangul in parts
        {0xA9E0, 0xA9FF},   // Burmese
        {0xAA60, 0xAA7F},   // Burmese
        {0xAC00, 0xD7FF},   // Hangul
        {0xF900, 0xFAFF},   // Han
        {0x1B000, 0x1B16F}, // Kana
        {0x20000, 0x3FFFF}, // Han
    };
    return IN_RANGES(cp, scripts);
}

/* The bulk of those, which fold to themselves: no table is asked. */
static bool is_plain_unspaced(uint32_t cp)
{
    static const struct range plain[] = {
        {0x3041, 0x3096}, {0x30A1, 0x30FA}, {0x30FC, 0x30FE},   {0x3400, 0x4DBF},
        {0x4E00, 0x9FFF}, {0xAC00, 0xD7A3}, {0x20000, 0x2F7FF}, {0x2FA20, 0x3FFFF},
    };
    return IN_RANGES(cp, plain);
}

/*
 * A mark of voice, a vowel or an end of a Hangul syllable: makes one character with the one
 * before.
 */
static bool may_compose(uint32_t cp)
{
    return cp == 0x3099 || cp == 0x309A || (cp >= 0x1161 && cp <= 0x11C2);
}

/*
 * Letters that people write without their stroke, dot or ligature, and Unicode does not decompose.
 */
static const char *plain_letters(uint32_t cp)
{
    switch (cp) {
    case 0x00E6: // æ
        return "ae";
    case 0x00F0: // ð
    case 0x0111: // đ
        return "d";
    case 0x00F8: // ø
        return "o";
    case 0x00FE: // þ
        return "th";
    case 0x0127: // ħ
        return "h";
    case 0x0131: // ı
        return "i";
    case 0x0142: // ł
        return "l";
    case 0x0153: // œ
        return "oe";
    case 0x0167: // ŧ
        return "t";
    default:
        return NULL;
    }
}

/* ---- giving ---------------------------------------------------------------------------------- */

static int give_pair(struct word_walk *walk)
{
    char folded[8];
    size_t size = utf8_put(walk->run[0].cp, folded);
    size += utf8_put(walk->run[1].cp, folded + size);
    struct word word = {.folded = view_of(folded, size),
                        .start = walk->run[0].start,
                        .end = walk->run[1].end,
                        .pair = true,
                        .joined = walk->joined};
    walk->joined = true;
    return walk->each(walk->arg, &word);
}

static int give_one(struct word_walk *walk, const struct unit *unit, struct word word)
{
    char folded[4];
    word.folded = view_of(folded, utf8_put(unit->cp, folded));
    word.start = unit->start;
    word.end = unit->end;
    return walk->each(walk->arg, &word);
}

static int end_run(struct word_walk *walk)
{
    const struct unit *last = &walk->run[walk->count - 1];
    int code = walk->count == 2 ? give_pair(walk) : 0;
    if (code == 0)
        code = give_one(walk, last, (struct word){.one = true, .tail = walk->joined});
    walk->count = 0;
    walk->joined = false;
    return code;
}

static int end_word(struct word_walk *walk)
{
    struct word word = {
        .folded = view_of(walk->word, walk->size), .start = walk->start, .end = walk->end};
    walk->open = false;
    return walk->each(walk->arg, &word);
}

/* Ends the word or the run, of which there is one at most. */
static inline int separate(struct word_walk *walk)
{
    if (walk->open)
        return end_word(walk);
    return walk->count > 0 ? end_run(walk) : 0;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static inline void begin_word(struct word_walk *walk, size_t start)
{
    walk->open = true;
    walk->cut = false;
    walk->size = 0;
    walk->start = start;
}

static void add_to_word(struct word_walk *walk, const char *bytes, size_t size)
{
    walk->cut = walk->cut || size > WORDS_MAX - walk->size;
    if (walk->cut)
        return;
    memcpy(walk->word + walk->size, bytes, size);
    walk->size += size;
}

/* Letters and digits of ASCII from `at` on; where they end. */
static size_t take_ascii(struct word_walk *walk, struct ethos_view text, size_t at)
{
    size_t size = walk->size, room = walk->cut ? 0 : WORDS_MAX - size;
    size_t most = room < text.size - at ? at + room : text.size;
    char folded;
    while (at < most && (folded = ascii[(unsigned char)text.data[at]]) != 0) {
        walk->word[size++] = folded;
        at++;
    }
    walk->size = size;
    for (; at < text.size && ascii[(unsigned char)text.data[at]]; at++)
        walk->cut = true; // no room for the rest of it
    walk->end = at;
    return at;
}

static int take_letter(struct word_walk *walk, const struct unit *unit)
{
    const char *plain = plain_letters(unit->cp);
    char bytes[4];
    int code = walk->count > 0 ? end_run(walk) : 0;
    if (!walk->open)
        begin_word(walk, unit->start);
    if (plain)
        add_to_word(walk, plain, strlen(plain));
    else
        add_to_word(walk, bytes, utf8_put(unit->cp, bytes));
    walk->end = unit->end;
    return code;
}

static int take_unspaced(struct word_walk *walk, const struct unit *unit)
{
    int code = walk->open ? end_word(walk) : 0;
    if (walk->count > 0 && may_compose(unit->cp)) {
        struct unit *last = &walk->run[walk->count - 1];
        uint32_t composed = unicode_compose(last->cp, unit->cp);
        if (composed) {
            last->cp = composed;
            last->end = unit->end;
            return code;
        }
    }
    if (walk->count == 2) {
        code = code ? code : give_pair(walk);
        walk->run[0] = walk->run[1];
        walk->count = 1;
    }
    walk->run[walk->count++] = *unit;
    return code;
}

/* An accent is a part of what stands before it; false when there is nothing. */
static bool take_accent(struct word_walk *walk, size_t end)
{
    if (walk->open)
        walk->end = end;
    else if (walk->count > 0)
        walk->run[walk->count - 1].end = end;
    return walk->open || walk->count > 0;
}

/* *taken: it is a part of a word, or one. */
static int take_folded(struct word_walk *walk, const struct unit *unit, bool *taken)
{
    *taken = true;
    switch (unicode_kind(unit->cp)) {
    case UNICODE_LETTER:
    case UNICODE_MARK:
        return is_unspaced(unit->cp) ? take_unspaced(walk, unit) : take_letter(walk, unit);
    case UNICODE_ACCENT:
        *taken = take_accent(walk, unit->end);
        return 0;
    case UNICODE_SYMBOL: {
        int code = separate(walk);
        return code || unit->cp < 0x80 ? code : give_one(walk, unit, (struct word){.pair = false});
    }
    default:
        *taken = unit->cp == ' ';
        return separate(walk);
    }
}

/* One character that is not ASCII. */
static int take_other(struct word_walk *walk, uint32_t cp, size_t start, size_t end)
{
    struct unit unit = {.cp = cp, .start = start, .end = end};
    uint32_t folded[UNICODE_FOLD_MAX];
    int code = 0;
    if (is_plain_unspaced(cp))
        return take_unspaced(walk, &unit);
    size_t count = unicode_fold(cp, folded);
    bool taken = cp == UTF8_REPLACEMENT || (count == 0 && take_accent(walk, end));
    for (size_t i = 0; code == 0 && i < count; i++) {
        bool part;
        unit.cp = folded[i];
        code = take_folded(walk, &unit, &part);
        taken = taken || part;
    }
    unit.cp = cp;
    return code || taken ? code : give_one(walk, &unit, (struct word){.aside = true});
}

int words_each(struct ethos_view text, word_fn *each, void *arg)
{
    struct word_walk walk;
    size_t at = 0;
    int code = 0;
    walk.each = each,
    walk.arg = arg; // the buffer is left as it is: this is called for every message
    walk.open = walk.cut = walk.joined = false;
    walk.size = walk.count = 0;
    while (at < text.size && code == 0) {
        unsigned char byte = (unsigned char)text.data[at];
        if (byte >= 0x80) {
            uint32_t cp;
            size_t end = at + utf8_decode(text.data + at, text.size - at, &cp, NULL);
            code = take_other(&walk, cp, at, end);
            at = end;
        } else if (ascii[byte] == 0) {
            code = separate(&walk);
            at++;
        } else {
            if (walk.count > 0)
                code = end_run(&walk);
            if (!walk.open)
                begin_word(&walk, at);
            at = take_ascii(&walk, text, at);
        }
    }
    return code ? code : separate(&walk);
}
