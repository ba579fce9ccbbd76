/*
 * unit_facts.c: time expressions, numbers, names and persons in a text.
 */
#include "core/search/unit_facts.h"

#include <string.h>

#include "base/view.h"
#include "core/search/passages.h"

#define TITLE_MIN 2 /* characters behind the first of a title */
#define TITLE_MAX 60
#define OPENING_QUOTE '\x9C' /* the last byte of the mark */
#define CLOSING_QUOTE '\x9D'

#define WORD_ROOM 16 /* bytes of a word in a table, filled up with zeros */

/* Words, and the letters that they begin with: most other words are told by that. */
struct word_set {
    uint32_t initials; /* INITIAL of each */
    size_t count;
    char words[40][WORD_ROOM];
};

/* The same bit for both cases of a letter. */
#define INITIAL(letter) (1u << ((letter)&31))

static const struct word_set time_words = {
    INITIAL('a') | INITIAL('d') | INITIAL('f') | INITIAL('j') | INITIAL('l') | INITIAL('m') |
        INITIAL('n') | INITIAL('o') | INITIAL('r') | INITIAL('s') | INITIAL('t') | INITIAL('w') |
        INITIAL('y'),
    33,
    {"ago",       "april",  "august",   "december", "february", "friday",   "january",
     "july",      "june",   "last",     "march",    "may",      "monday",   "month",
     "morning",   "next",   "november", "october",  "recently", "saturday", "september",
     "since",     "sunday", "thursday", "today",    "tomorrow", "tonight",  "tuesday",
     "wednesday", "week",   "weekend",  "year",     "yesterday"}};
static const struct word_set number_words = {INITIAL('c') | INITIAL('d') | INITIAL('e') |
                                                 INITIAL('f') | INITIAL('n') | INITIAL('s') |
                                                 INITIAL('t'),
                                             12,
                                             {"couple", "dozen", "eight", "five", "four", "nine",
                                              "seven", "several", "six", "ten", "three", "two"}};
static const struct word_set span_words = {INITIAL('d') | INITIAL('m') | INITIAL('w') |
                                               INITIAL('y'),
                                           4,
                                           {"days", "months", "weeks", "years"}};
static const struct word_set first_person = {
    INITIAL('i') | INITIAL('m') | INITIAL('o') | INITIAL('w'),
    11,
    {"i", "i'd", "i'll", "i'm", "i've", "im", "me", "my", "our", "we", "we're"}};
static const struct word_set second_person = {INITIAL('y'), 4, {"you", "you're", "you've", "your"}};

/* What a byte is to a word. */
enum { LOWER = 1, UPPER = 2, DIGIT = 4, UNDERSCORE = 8, APOSTROPHE = 16 };

static const unsigned char kinds[256] = {
    ['0' ... '9'] = DIGIT, ['a' ... 'z'] = LOWER, ['A' ... 'Z'] = UPPER,
    ['_'] = UNDERSCORE,    ['\''] = APOSTROPHE,
};

static bool is_kind(char c, unsigned wanted)
{
    return (kinds[(unsigned char)c] & wanted) != 0;
}

/* Eight bytes, capital letters made small; other bytes of a word stay what they are among themselves. */
static uint64_t load_lower(const char *bytes)
{
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
    return eight | 0x2020202020202020;
}

/* Whether the word, in any case, is in the set. Asked several times for every word of a text. */
static inline bool is_in(struct ethos_view word, const struct word_set *set)
{
    char bytes[WORD_ROOM] = "";
    if (!(set->initials & INITIAL((unsigned char)word.data[0])) || word.size >= WORD_ROOM)
        return false;
    memcpy(bytes, word.data, word.size);
    uint64_t head = load_lower(bytes), tail = load_lower(bytes + 8);
    for (size_t i = 0; i < set->count; i++)
        if (load_lower(set->words[i]) == head && load_lower(set->words[i] + 8) == tail)
            return true;
    return false;
}

static bool is_number(struct ethos_view word)
{
    size_t i = 0;
    while (i < word.size && is_kind(word.data[i], DIGIT))
        i++;
    return i == word.size;
}

/* The run of letters, digits and underscores that begins at `at`. */
static struct ethos_view word_at(struct ethos_view text, size_t at)
{
    size_t end = at;
    while (end < text.size && is_kind(text.data[end], LOWER | UPPER | DIGIT | UNDERSCORE))
        end++;
    return view_of(text.data + at, end - at);
}

static bool is_span(struct ethos_view word)
{
    return word.size > 0 && is_in(word, &span_words);
}

/* Whether a word that ends at `end` is a time expression, alone or with the word behind it. */
static bool is_time(struct ethos_view text, struct ethos_view word, size_t end)
{
    if (!is_number(word))
        return is_in(word, &time_words);
    return word.size == 4 ||
           (end < text.size && text.data[end] == ' ' && is_span(word_at(text, end + 1)));
}

static void find_words(struct ethos_view text, size_t head, struct unit_facts *out)
{
    for (size_t at = 0; at < text.size && !(out->time && (out->number || at >= head));) {
        struct ethos_view word = word_at(text, at);
        size_t end = at + word.size;
        if (word.size > 0) {
            out->time = out->time || is_time(text, word, end);
            if (!out->number && at < head) {
                struct ethos_view part = end > head ? view_of(word.data, head - at) : word;
                out->number = is_number(part) || is_in(part, &number_words);
            }
        }
        at = end + 1;
    }
}

/* A capitalised word behind a space behind a small letter or a comma. */
static bool is_capitalised_at(struct ethos_view head, size_t at)
{
    if (at < 2 || at + 1 >= head.size || head.data[at - 1] != ' ')
        return false;
    char before = head.data[at - 2];
    return is_kind(head.data[at], UPPER) && is_kind(head.data[at + 1], LOWER) &&
           (before == ',' || is_kind(before, LOWER));
}

static void find_persons(struct ethos_view head, struct unit_facts *out)
{
    for (size_t at = 0; at < head.size; at++) {
        size_t end = at;
        if (is_capitalised_at(head, at) && out->capitalised < UNIT_FACTS_CAPITALISED_MAX)
            out->capitalised++;
        while (end < head.size && is_kind(head.data[end], LOWER | UPPER | APOSTROPHE))
            end++;
        if (end == at)
            continue;
        struct ethos_view word = view_of(head.data + at, end - at);
        out->head_words++;
        out->first_person += is_in(word, &first_person);
        out->second_person += is_in(word, &second_person);
        at = end - 1;
    }
}

/* The bytes of a quotation mark, or 0: that of typewriters, or the one that opens or closes. */
static size_t quote_at(struct ethos_view text, size_t at, char last)
{
    if (text.data[at] == '"')
        return 1;
    return at + 2 < text.size && text.data[at] == '\xE2' && text.data[at + 1] == '\x80' &&
                   text.data[at + 2] == last
               ? 3
               : 0;
}

/* Whether a capital letter, at most TITLE_MAX further characters and a closing mark stand there. */
static bool is_title_at(struct ethos_view head, size_t at)
{
    unsigned chars = 0;
    if (at >= head.size || !is_kind(head.data[at], UPPER))
        return false;
    for (at++; at < head.size && !quote_at(head, at, CLOSING_QUOTE); at++)
        chars += ((unsigned char)head.data[at] & 0xC0) != 0x80;
    return at < head.size && chars >= TITLE_MIN && chars <= TITLE_MAX;
}

static bool has_title(struct ethos_view head)
{
    for (size_t at = 0; at < head.size; at++) {
        size_t size = quote_at(head, at, OPENING_QUOTE);
        if (size > 0 && is_title_at(head, at + size))
            return true;
    }
    return false;
}

void unit_facts_find(struct ethos_view text, struct unit_facts *out)
{
    size_t head = passages_head(text);
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < text.size; i++)
        out->chars += ((unsigned char)text.data[i] & 0xC0) != 0x80; // bytes that begin a character
    out->asks = text.size > 0 && memchr(text.data, '?', text.size) != NULL;
    out->exclaims = head > 0 && memchr(text.data, '!', head) != NULL;
    out->title = has_title(view_of(text.data, head));
    find_words(text, head, out);
    find_persons(view_of(text.data, head), out);
}
