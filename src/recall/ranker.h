/*
 * ranker.h: which units answer a question best.
 *
 * A score is a sum of features, each times its weight: BM25 of the unit, its neighbours, the window around it and its
 * session; what the text says of itself; what the question asks for. With a model (recall/model.h) also how near their
 * words are to those of the question, and, where vectors are known, what the encoder makes of both; then other weights
 * hold. docs/internals/recall.md has the features. All counts and means are of the units searched, so nothing else
 * changes a score.
 *
 * Only candidates are scored: the units whose window matches best, those that session, speaker and date speak for, and
 * with a model those that mean most nearly the same. A score orders the units of one question; it does not say whether
 * any of them answers it. Evidence can be compared: a word that occurs nowhere counts as if it occurred once.
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
#define RANKER_MAX_STEMS 256      /* of a question; further words do not count */

struct arena;
struct snowball;

/* By number. */
struct ranker_feature {
    const char *name; /* NULL: not used */
    double lexical;   /* the weight without a model */
    double linear;    /* and with one */
};

extern const struct ranker_feature ranker_features[RANKER_FEATURES];

/* Whether a unit may be an answer. It counts in means and to its neighbours all the same. */
typedef bool ranker_want_fn(void *arg, uint32_t image, uint32_t unit);

/* What is known beside words. */
struct ranker_meaning {
    struct recall_model *model; /* NULL: nothing; the images have rows of its table, or none */
    const struct image_vectors *vectors; /* by image, or NULL */
};

/* ETHOS_OK or ETHOS_NOMEM. */
typedef int ranker_meaning_fn(void *arg, struct ranker_meaning *out);

/* What is searched together: units in order of time, those of an image behind those of the image before. */
struct ranker_scope {
    const struct image *images;
    size_t count;
    ranker_want_fn *want; /* NULL: every unit may be an answer */
    void *arg;
    struct snowball *languages; /* NULL: English forms alone */
    struct ranker_meaning meaning;
    ranker_meaning_fn *find_meaning; /* or NULL: finds that when it is needed */
    double evidence;                 /* where no unit has so much of it, nothing is ranked */
};

struct ranker_hit {
    uint32_t image, unit; /* the unit is a number within the image */
    double
        window; /* BM25 of the window: 0 when neither the unit nor a neighbour has a word of it */
    double score;
    double
        evidence; /* 0 to 1: the share of the question's weight that the unit and its headings hold */
    double meaning; /* 0 to 1: the cosine of the whole with the question; 0 without vectors */
    bool is_linear; /* a model took part */
    double features[RANKER_FEATURES];
};

double ranker_weight(const struct ranker_hit *hit, size_t feature);

/*
 * Fills hits with at most `limit` of the best units, best first, equal scores in the order of the units; how
 * many they are. ETHOS_OK or ETHOS_NOMEM.
 */
int ranker_rank(const struct ranker_scope *scope, struct ethos_view question, size_t limit,
                struct ranker_hit hits[], size_t *out_count, struct ethos_error *error);

#endif
