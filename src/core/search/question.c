/*
 * question.c: cues of a question.
 *
 * The question is read as words (runs of letters, digits and underscores) and the single characters between
 * them, so that "how  many" with two spaces is no phrase.
 */
#include "core/search/question.h"

#include <string.h>

#include "base/utf8.h"
#include "base/view.h"

#define MAX_WORDS 512 /* of a question; further ones give no cues */

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct question_reader {
    struct ethos_view text;
    struct ethos_view words[MAX_WORDS];
    size_t count;
};

static bool is_question_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_question_digit(c) || c == '_';
}

static void read_words(struct question_reader *reader)
{
    struct ethos_view text = reader->text;
    for (size_t at = 0; at < text.size && reader->count < MAX_WORDS; at++) {
        size_t end = at;
        while (end < text.size && is_word_byte(text.data[end]))
            end++;
        if (end == at)
            continue;
        reader->words[reader->count++] = view_of(text.data + at, end - at);
        at = end;
    }
}

static bool is_in_table(struct ethos_view word, const char *const *table, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (view_eq_nocase(word, view_str(table[i])))
            return true;
    return false;
}

#define IS_ONE_OF(word, table) is_in_table(word, table, COUNT(table))

/* The word one space behind word i, or the absent view. */
static struct ethos_view word_behind(const struct question_reader *reader, size_t i)
{
    struct ethos_view word = reader->words[i];
    bool near = i + 1 < reader->count && reader->words[i + 1].data == word.data + word.size + 1 &&
                word.data[word.size] == ' ';
    return near ? reader->words[i + 1] : (struct ethos_view){0};
}

/* The word one space before word i, or the absent view. */
static struct ethos_view word_before(const struct question_reader *reader, size_t i)
{
    return i > 0 && word_behind(reader, i - 1).data ? reader->words[i - 1] : (struct ethos_view){0};
}

static bool is_number(struct ethos_view word)
{
    for (size_t i = 0; i < word.size; i++)
        if (!is_question_digit(word.data[i]))
            return false;
    return word.size > 0;
}

/* ---- dates ----------------------------------------------------------------------------------- */

/* A month that is a word of its own, too: only beside a day, or behind a preposition. */
static bool is_dated_month(const struct question_reader *reader, size_t i,
                           const char *const *before, size_t count, bool comma)
{
    struct ethos_view word = reader->words[i], last = word_before(reader, i);
    struct ethos_view next = word_behind(reader, i);
    size_t at = (size_t)(word.data - reader->text.data);
    if (next.size > 0 && is_question_digit(next.data[0]))
        return true;
    if (last.size > 0)
        return is_number(last) || is_in_table(last, before, count);
    return comma && at > 2 && word.data[-1] == ' ' && word.data[-2] == ',' &&
           is_word_byte(word.data[-3]);
}

/* 1 to 12 when the word names a month there; else 0. */
static unsigned month_at(const struct question_reader *reader, size_t i)
{
    static const char *const months[] = {"january",   "february", "march",    "april",
                                         "may",       "june",     "july",     "august",
                                         "september", "october",  "november", "december"};
    static const char *const before_may[] = {"in", "on", "of", "during", "early", "late", "mid"};
    static const char *const before_march[] = {"in", "on", "of", "during"};
    for (unsigned m = 0; m < COUNT(months); m++) {
        if (!view_eq_nocase(reader->words[i], view_str(months[m])))
            continue;
        if (m == 4)
            return is_dated_month(reader, i, before_may, COUNT(before_may), true) ? 5 : 0;
        if (m == 2)
            return is_dated_month(reader, i, before_march, COUNT(before_march), false) ? 3 : 0;
        return m + 1;
    }
    return 0;
}

/* "4", "4th", "22nd": the day of a month, or 0. */
static unsigned day_of(struct ethos_view word)
{
    static const char *const endings[] = {"st", "nd", "rd", "th"};
    unsigned day = 0;
    size_t digits = 0;
    for (; digits < word.size && digits < 2 && is_question_digit(word.data[digits]); digits++)
        day = day * 10 + (unsigned)(word.data[digits] - '0');
    bool whole = digits > 0 && (digits == word.size || IS_ONE_OF(view_from(word, digits), endings));
    return whole && day <= 31 ? day : 0;
}

static unsigned year_of(struct ethos_view word)
{
    if (word.size != 4 || !is_number(word) || word.data[0] != '2' || word.data[1] != '0')
        return 0;
    return 2000 + 10 * (unsigned)(word.data[2] - '0') + (unsigned)(word.data[3] - '0');
}

static void find_dates(const struct question_reader *reader, struct question_facts *out)
{
    unsigned day = 0;
    for (size_t i = 0; i < reader->count; i++) {
        unsigned month = month_at(reader, i), year = year_of(reader->words[i]);
        if (month > 0)
            out->months |= 1u << month;
        if (year > 0 && out->year_count < QUESTION_MAX_YEARS)
            out->years[out->year_count++] = year;
        if (day == 0)
            day = day_of(reader->words[i]);
    }
    out->day = out->months ? day : 0;
}

bool question_names_date(const struct question_facts *facts, unsigned year, unsigned month)
{
    bool known = facts->year_count == 0;
    for (unsigned i = 0; i < facts->year_count; i++)
        known = known || facts->years[i] == year;
    return known && (facts->months == 0 || (month > 0 && (facts->months >> month & 1)));
}

/* ---- cues ------------------------------------------------------------------------------------ */

static void find_cues(const struct question_reader *reader, struct question_facts *out)
{
    static const char *const names[] = {"who", "whose", "name", "names", "named", "called"};
    static const char *const places[] = {"city", "country", "place", "state"};
    static const char *const amounts[] = {"many", "much", "old", "long", "often"};
    static const char *const works[] = {"book", "books", "movie", "movies", "song", "film",
                                        "show", "game",  "title", "album",  "band", "artist"};
    static const char *const recent[] = {"currently", "current",  "now",  "latest",
                                         "recent",    "recently", "last", "today"};
    static const char *const first[] = {"first",   "initially", "originally", "start",
                                        "started", "begin",     "began",      "earliest"};
    for (size_t i = 0; i < reader->count; i++) {
        struct ethos_view word = reader->words[i], next = word_behind(reader, i);
        bool which = view_eq_nocase(word, VIEW("which")) || view_eq_nocase(word, VIEW("what"));
        out->who = out->who || IS_ONE_OF(word, names);
        out->where = out->where || view_eq_nocase(word, VIEW("where")) ||
                     (which && IS_ONE_OF(next, places));
        out->number = out->number ||
                      (view_eq_nocase(word, VIEW("how")) && IS_ONE_OF(next, amounts));
        out->work = out->work || IS_ONE_OF(word, works);
        out->recent = out->recent || IS_ONE_OF(word, recent) ||
                      (view_eq_nocase(word, VIEW("these")) && view_eq_nocase(next, VIEW("days"))) ||
                      (view_eq_nocase(word, VIEW("at")) && view_eq_nocase(next, VIEW("the")) &&
                       view_eq_nocase(word_behind(reader, i + 1), VIEW("moment")));
        out->first = out->first || IS_ONE_OF(word, first);
    }
}

/* Whether the text begins so, in any case; a longer word may follow. */
static bool begins_nocase(struct ethos_view text, const char *head)
{
    size_t size = strlen(head);
    return text.size >= size && view_eq_nocase(view_of(text.data, size), view_of(head, size));
}

static bool asks_when(struct ethos_view question)
{
    static const char *const heads[] = {"when",      "how long",   "what date", "what day",
                                        "what year", "what month", "what time"};
    uint32_t cp;
    while (question.size > 0) {
        size_t size = utf8_decode(question.data, question.size, &cp, NULL);
        if (!utf8_space(cp))
            break;
        question = view_from(question, size);
    }
    for (size_t i = 0; i < COUNT(heads); i++)
        if (begins_nocase(question, heads[i]))
            return true;
    return false;
}

void question_find_facts(struct ethos_view question, struct question_facts *out)
{
    struct question_reader reader = {.text = question};
    memset(out, 0, sizeof *out);
    read_words(&reader);
    find_cues(&reader, out);
    find_dates(&reader, out);
    out->when = asks_when(question);
}
