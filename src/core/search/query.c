/*
 * query.c: what was typed, as terms; and whether a text has them.
 *
 * A text is walked once. For every term, a bit per word says whether the words up to there have
 * just been seen one after the other; the next word of the text moves the bits on.
 */
#include "core/search/query.h"

#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/search/words.h"

/* ---- parsing --------------------------------------------------------------------------------- */

enum { FULL = 1 }; // ends a walk that has nothing left to do

struct query_parse {
    struct arena *arena;
    struct query *out;
    struct query_word words[QUERY_MAX_WORDS]; /* of the term that is being written */
    size_t count;
    bool phrase;
};

static int end_term(struct query_parse *parse)
{
    if (parse->count == 0)
        return ETHOS_OK;
    size_t size = parse->count * sizeof(*parse->words);
    struct query_word *words = arena_alloc(parse->arena, size);
    if (!words)
        return ETHOS_NOMEM;
    memcpy(words, parse->words, size);
    parse->out->terms[parse->out->count++] = (struct query_term){
        .words = words, .count = parse->count, .phrase = parse->phrase};
    parse->count = 0;
    return parse->out->count == QUERY_MAX_TERMS ? FULL : ETHOS_OK;
}

static int keep_word(struct query_parse *parse, const struct word *word)
{
    char stem[WORDS_MAX + 1];
    size_t stem_size = words_stem(word->folded, stem);
    const char *folded = arena_copy(parse->arena, word->folded);
    const char *kept = arena_copy(parse->arena, view_of(stem, stem_size));
    if (!folded || !kept)
        return ETHOS_NOMEM;
    parse->words[parse->count++] = (struct query_word){.folded = view_of(folded, word->folded.size),
                                                       .stem = view_of(kept, stem_size),
                                                       .pair = word->pair,
                                                       .one = word->one,
                                                       .aside = word->aside,
                                                       .joined = word->joined && parse->count > 0};
    return ETHOS_OK;
}

static int add_query_word(void *arg, const struct word *word)
{
    struct query_parse *parse = arg;
    int code = ETHOS_OK;
    if (word->tail || word->aside != parse->out->aside)
        return ETHOS_OK; // the text may go on where the query ends
    if (!parse->phrase && !word->joined)
        code = end_term(parse);
    if (code != ETHOS_OK || parse->count == QUERY_MAX_WORDS)
        return code;
    return keep_word(parse, word);
}

static int take_part(struct query_parse *parse, struct ethos_view text, bool phrase)
{
    parse->phrase = phrase;
    int code = words_each(text, add_query_word, parse);
    return code ? code : end_term(parse);
}

/* Takes what stands before the first pair of quotes, and what is in it, off *rest. */
static int take_quoted(struct query_parse *parse, struct ethos_view *rest)
{
    const char *open = memchr(rest->data, '"', rest->size), *close = NULL, *end;
    end = rest->data + rest->size;
    if (open)
        close = memchr(open + 1, '"', (size_t)(end - open - 1));
    struct ethos_view before = close ? view_of(rest->data, (size_t)(open - rest->data)) : *rest;
    int code = take_part(parse, before, false);
    if (code == ETHOS_OK && close)
        code = take_part(parse, view_of(open + 1, (size_t)(close - open - 1)), true);
    *rest = close ? view_of(close + 1, (size_t)(end - close - 1)) : view_of(end, 0);
    return code;
}

int query_parse(struct ethos_view text, struct arena *arena, struct query *out)
{
    struct query_parse parse = {.arena = arena, .out = out};
    struct ethos_view rest = text;
    int code = ETHOS_OK;
    out->count = 0;
    out->aside = false;
    while (code == ETHOS_OK && rest.size > 0)
        code = take_quoted(&parse, &rest);
    if (code == ETHOS_OK && out->count == 0 && text.size > 0) {
        out->aside = true;
        code = take_part(&parse, text, false);
    }
    return code == ETHOS_NOMEM ? ETHOS_NOMEM : ETHOS_OK;
}

/* ---- matching -------------------------------------------------------------------------------- */

_Static_assert(QUERY_MAX_WORDS == 64, "a bit for each");

struct hunt {
    const struct query *query;
    struct ethos_view text;
    uint64_t seen[QUERY_MAX_TERMS]; /* bit n: its words 0 to n are the last that passed */
    bool found[QUERY_MAX_TERMS];
    size_t missing;                 /* terms that did not occur yet */
    size_t starts[QUERY_MAX_WORDS]; /* of the words that passed, in turn */
    size_t passed;
    size_t start, end; /* the first place so far */
};

/* A word of the text that is being looked at; its stem is made when somebody asks. */
struct candidate {
    const struct word *word;
    char stem[WORDS_MAX + 1];
    size_t stem_size; /* 0: not made yet */
};

static bool same_stem(struct candidate *candidate, struct ethos_view stem)
{
    struct ethos_view folded = candidate->word->folded;
    if (stem.size > folded.size || stem.data[0] != folded.data[0])
        return false;
    if (candidate->stem_size == 0)
        candidate->stem_size = words_stem(folded, candidate->stem);
    return view_eq(view_of(candidate->stem, candidate->stem_size), stem);
}

static bool is_match(struct candidate *candidate, const struct query_word *wanted, bool phrase)
{
    const struct word *word = candidate->word;
    if (word->pair && !wanted->pair) // one character: either of the two
        return view_starts(word->folded, wanted->folded) || view_ends(word->folded, wanted->folded);
    if (wanted->pair || wanted->aside)
        return view_eq(word->folded, wanted->folded) && (word->joined || !wanted->joined);
    return (!phrase && view_starts(word->folded, wanted->folded)) ||
           same_stem(candidate, wanted->stem);
}

/* Moves the bits of one term on; true when all of it has passed. */
static bool advance(const struct query_term *term, struct candidate *candidate, uint64_t *seen)
{
    uint64_t possible = *seen << 1 | 1, now = 0;
    for (size_t i = 0; i < term->count && possible >> i != 0; i++) {
        if ((possible >> i & 1) && is_match(candidate, &term->words[i], term->phrase))
            now |= UINT64_C(1) << i;
    }
    *seen = now;
    return now >> (term->count - 1) & 1;
}

/* Of a pair, a query of one character means only that one. */
static void narrow(const struct hunt *hunt, const struct word *word, struct ethos_view wanted,
                   size_t *start, size_t *end)
{
    uint32_t cp;
    size_t first = utf8_decode(hunt->text.data + word->start, word->end - word->start, &cp, NULL);
    if (view_starts(word->folded, wanted))
        *end = word->start + first;
    else
        *start = word->start + first;
}

static void add_found_place(struct hunt *hunt, const struct query_term *term,
                            const struct word *word)
{
    size_t start = hunt->starts[(hunt->passed - term->count) % QUERY_MAX_WORDS], end = word->end;
    if (term->count == 1 && word->pair && !term->words[0].pair)
        narrow(hunt, word, term->words[0].folded, &start, &end);
    if (hunt->start == hunt->end || start < hunt->start) {
        hunt->start = start;
        hunt->end = end;
    }
}

static int match_query_word(void *arg, const struct word *word)
{
    struct hunt *hunt = arg;
    struct candidate candidate = {.word = word, .stem_size = 0};
    if (word->tail || word->aside != hunt->query->aside)
        return 0;
    hunt->starts[hunt->passed++ % QUERY_MAX_WORDS] = word->start;
    for (size_t i = 0; i < hunt->query->count; i++) {
        const struct query_term *term = &hunt->query->terms[i];
        if (hunt->found[i] || !advance(term, &candidate, &hunt->seen[i]))
            continue;
        hunt->found[i] = true;
        hunt->missing--;
        add_found_place(hunt, term, word);
    }
    return hunt->missing == 0 ? FULL : 0;
}

bool query_matches(const struct query *query, struct ethos_view text, size_t *out_start,
                   size_t *out_end)
{
    struct hunt hunt = {.query = query, .text = text, .missing = query->count};
    if (query->count == 0 || words_each(text, match_query_word, &hunt) != FULL)
        return false;
    if (out_start)
        *out_start = hunt.start;
    if (out_end)
        *out_end = hunt.end;
    return true;
}

struct term_tally {
    const struct query *query;
    uint64_t seen[QUERY_MAX_TERMS]; /* as in a hunt */
    unsigned *counts;
    size_t words, start;
};

static int count_word(void *arg, const struct word *word)
{
    struct term_tally *tally = arg;
    struct candidate candidate = {.word = word, .stem_size = 0};
    if (word->tail || word->aside != tally->query->aside)
        return 0;
    tally->words++;
    for (size_t i = 0; i < tally->query->count; i++) {
        const struct query_term *term = &tally->query->terms[i];
        const struct query_word *last = &term->words[term->count - 1];
        if (!advance(term, &candidate, &tally->seen[i]))
            continue;
        bool longer = term->count == 1 && !last->pair && !last->one && !last->aside &&
                      !same_stem(&candidate, last->stem);
        tally->counts[i] += longer ? 1 : 2;
        if (word->start < tally->start)
            tally->start = word->start;
    }
    return 0;
}

size_t query_count(const struct query *query, struct ethos_view text, unsigned counts[],
                   size_t *out_start)
{
    struct term_tally tally = {.query = query, .counts = counts, .start = SIZE_MAX};
    words_each(text, count_word, &tally);
    if (out_start && tally.start != SIZE_MAX)
        *out_start = tally.start;
    return tally.words;
}

bool query_is_phrase_in(const struct query *query, struct ethos_view text)
{
    struct query_word words[QUERY_MAX_WORDS];
    struct query together = {.terms[0].words = words, .aside = query->aside};
    size_t *count = &together.terms[0].count;
    for (size_t i = 0; i < query->count; i++) {
        for (size_t j = 0; j < query->terms[i].count && *count < QUERY_MAX_WORDS; j++)
            words[(*count)++] = query->terms[i].words[j];
    }
    together.count = *count > 0;
    return query_matches(&together, text, NULL, NULL);
}
