/*
 * query.h: what somebody typed into a search field.
 *
 * Words in any order, and phrases in double quotes; an unpaired quote and every other sign are
 * literal text, which separates words like anywhere else. Signs that are not ASCII are looked for
 * when there is nothing else. Nothing is ever an error.
 */
#ifndef ETHOS_CORE_SEARCH_QUERY_H
#define ETHOS_CORE_SEARCH_QUERY_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;

#define QUERY_MAX_TERMS 256
#define QUERY_MAX_WORDS 64 /* of one term */

/* As core/search/words gives them; views into the arena. */
struct query_word {
    struct ethos_view folded, stem;
    bool pair;
    bool joined; /* a pair that overlaps the one before */
    bool one;    /* one character of a script without blanks */
    bool aside;  /* a sign; then all are */
};

/* One thing that must occur: a word, a run of pairs, or the words of a phrase in their order. */
struct query_term {
    struct query_word *words;
    size_t count; /* at least 1 */
    bool phrase;  /* in quotes: no longer words that begin so */
};

struct query {
    struct query_term terms[QUERY_MAX_TERMS];
    size_t count; /* 0: nothing to look for, and nothing fits */
    bool aside;   /* of signs */
};

/* Further terms and words than fit are dropped. ETHOS_OK or ETHOS_NOMEM. */
int query_parse(struct ethos_view text, struct arena *arena, struct query *out);

/*
 * Whether a text has every term: a word by itself, by its stem or as the start of a longer one; a
 * phrase as neighbours, by themselves or by their stems; pairs of characters as the run they came
 * from. [*out_start, *out_end) is the first place of any (both may be NULL). The truth that an index
 * is checked against.
 */
bool query_matches(const struct query *query, struct ethos_view text, size_t *out_start,
                   size_t *out_end);

/*
 * Counts how often a text has each term, in halves: 2 for the word or its stem, 1 for a longer word that begins
 * with it. counts has room for every term and is added to; returns the number of words of the text. *out_start
 * is the first place of any term, untouched without one (may be NULL).
 */
size_t query_count(const struct query *query, struct ethos_view text, unsigned counts[],
                   size_t *out_start);

/* Whether the typed words stand in the text as one phrase, in their order: such hits come first. */
bool query_is_phrase_in(const struct query *query, struct ethos_view text);

#endif
