/*
 * rank.h: how well a text answers a question: any of its words, the best text first.
 *
 * Words that only join others (core/words.h) do not count unless there are no others. Phrases in quotes must
 * occur. The score is BM25 over the texts that were counted (a rare word says more than a frequent one, a short
 * text more than a long one), times the share of the words that occur: a text with all of them comes before one
 * that repeats a single one.
 */
#ifndef ETHOS_CORE_RANK_H
#define ETHOS_CORE_RANK_H

#include "core/query.h"

#define RANK_MAX_TERMS 32 /* of a question; further ones do not count */
#define RANK_TITLE 3      /* a word in a title counts as so many in the text */
#define RANK_HOOK 2       /* and in a hook */

/* How often a text has each term, title and hook weighed in. */
struct rank_counts {
    unsigned terms[RANK_MAX_TERMS]; /* in halves, as query_count */
    uint64_t words;
    size_t start; /* of the first that occurs in the text itself */
};

/* What is known of all texts. */
struct rank_totals {
    uint64_t texts, words;
    uint64_t with[RANK_MAX_TERMS]; /* texts that have the term */
};

/* ETHOS_OK or ETHOS_NOMEM. */
int rank_parse(struct ethos_view question, struct arena *arena, struct query *out);

/* Counts a part of a text; weight 1, RANK_HOOK or RANK_TITLE. counts is zero before the first part. */
void rank_count(const struct query *query, struct ethos_view part, unsigned weight,
                struct rank_counts *counts);

/* Adds a text to the totals; whether it answers anything. */
bool rank_add(const struct query *query, const struct rank_counts *counts,
              struct rank_totals *totals);

/* 0: it does not answer. */
double rank_score(const struct query *query, const struct rank_counts *counts,
                  const struct rank_totals *totals);

#endif
