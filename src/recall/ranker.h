/*
 * ranker.h: ranks the units that best answer a question.
 *
 * A score is a weighted sum of features: BM25 of the unit, its neighbours, the window around it and
 * its session; properties of the text; what the question asks for. With a model (recall/model.h)
 * also the similarity of words, and, if vectors are known, the encoder's; other weights are used
 * then. docs/internals/recall.md lists the features. All counts and means are over the searched
 * units, so that nothing else changes a score.
 *
 * Only candidates are scored: the units whose window matches best, those favoured by session,
 * speaker and date, and with a model those closest in meaning. A score orders the units of one
 * question; it does not say whether any of them answers it. Evidence is comparable: an unknown word
 * counts as if it occurred once.
 */
#ifndef ETHOS_RECALL_RANKER_H
#define ETHOS_RECALL_RANKER_H

#include "recall/image.h"
#include "recall/vectors.h"

#define RANKER_FEATURES 44    /* numbers 16 and 40 are not used */
#define RANKER_CANDIDATES 200 /* of one kind */
#define RANKER_MAX_CANDIDATES 500
#define RANKER_MAX_HITS 120
#define RANKER_LEAST_MEANING 0.35 /* of a hit that has no word of the question */
#define RANKER_MAX_STEMS 256      /* of a question; further words are ignored */

struct arena;
struct snowball;

/* By number. */
struct ranker_feature {
    const char *name; /* NULL: not used */
    double lexical;   /* the weight without a model */
    double linear;    /* and with one */
};

extern const struct ranker_feature ranker_features[RANKER_FEATURES];

/* Whether a unit may be an answer. It counts in means and for its neighbours in any case. */
typedef bool ranker_want_fn(void *arg, uint32_t image, uint32_t unit);

/* Knowledge besides words. */
struct ranker_meaning {
    struct recall_model *model; /* NULL: nothing; the images have rows of its table, or none */
    const struct image_vectors *vectors; /* by image, or NULL */
};

/* ETHOS_OK or ETHOS_NOMEM. */
typedef int ranker_meaning_fn(void *arg, struct ranker_meaning *out);

/* What is searched together: units ordered by time, images one after the other. */
struct ranker_scope {
    const struct image *images;
    size_t count;
    ranker_want_fn *want; /* NULL: every unit may be an answer */
    void *arg;
    struct snowball *languages; /* NULL: only English word forms */
    struct ranker_meaning meaning;
    ranker_meaning_fn *find_meaning; /* or NULL: called when vectors are needed */
    double evidence;                 /* minimum evidence: if no unit has it, nothing is ranked */
};

struct ranker_hit {
    uint32_t image, unit; /* the unit is a number within the image */
    double
        window; /* BM25 of the window: 0 if neither the unit nor a neighbour has a word of the question */
    double score;
    double evidence; /* 0 to 1: share of the question's weight in the unit and its headings */
    double meaning;  /* 0 to 1: cosine of the whole with the question; 0 without vectors */
    bool is_linear;  /* a model was used */
    double features[RANKER_FEATURES];
};

double ranker_weight(const struct ranker_hit *hit, size_t feature);

/*
 * Fills hits with at most `limit` of the best units, best first, equal scores in the order of
 * units; returns their number in *out_count. ETHOS_OK or ETHOS_NOMEM.
 */
int ranker_rank(const struct ranker_scope *scope, struct ethos_view question, size_t limit,
                struct ranker_hit hits[], size_t *out_count, struct ethos_error *error);

#endif
