/*
 * query.h: parses a search query.
 *
 * Words in any order, and phrases in double quotes; an unpaired quote and all other signs are
 * literal text, which separates words as anywhere else. Non-ASCII signs are searched for if there
 * is nothing else. No query is an error.
 */
#ifndef ETHOS_CORE_SEARCH_QUERY_H
#define ETHOS_CORE_SEARCH_QUERY_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;

#define QUERY_MAX_TERMS 256
#define QUERY_MAX_WORDS 64 /* of one term */

/* As core/search/words reports them; views into the arena. */
struct query_word {
    struct ethos_view folded, stem;
    bool pair;
    bool joined; /* a pair that overlaps the one before */
    bool one;    /* one character of a script without spaces */
    bool aside;  /* a sign; then all are */
};

/* Something that must occur: a word, a run of pairs, or the words of a phrase in order. */
struct query_term {
    struct query_word *words;
    size_t count; /* at least 1 */
    bool phrase;  /* in quotes: does not match words that begin with it */
};

struct query {
    struct query_term terms[QUERY_MAX_TERMS];
    size_t count; /* 0: nothing to search for, nothing matches */
    bool aside;   /* of signs */
};

/* Terms and words beyond the limits are dropped. ETHOS_OK or ETHOS_NOMEM. */
int query_parse(struct ethos_view text, struct arena *arena, struct query *out);

/*
 * Whether a text contains every term: a word by itself, by its stem or as the start of a longer
 * one; a phrase as adjacent words or stems; pairs of characters as the run they came from.
 * [*out_start, *out_end) is the first occurrence of any term (both may be NULL). Indexes are
 * verified with this.
 */
bool query_matches(const struct query *query, struct ethos_view text, size_t *out_start,
                   size_t *out_end);

/*
 * Counts the occurrences of each term in halves: 2 for the word or its stem, 1 for a longer word
 * that begins with it. Adds to counts, which has room for every term; returns the number of words
 * of the text. *out_start is the first occurrence of any term, unchanged if there is none (may be
 * NULL).
 */
size_t query_count(const struct query *query, struct ethos_view text, unsigned counts[],
                   size_t *out_start);

/* Whether the typed words occur in the text as one phrase, in order: such matches come first. */
bool query_is_phrase_in(const struct query *query, struct ethos_view text);

#endif
