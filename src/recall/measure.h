/*
 * measure.h: how well questions were answered: what share of the right answers stands how far in front.
 *
 * Places count from 1. With one right answer a question, the recall at k is the share of questions that have it
 * among the first k.
 */
#ifndef ETHOS_RECALL_MEASURE_H
#define ETHOS_RECALL_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* Means over the questions, 0 to 1. */
struct recall_means {
    double recall_1, recall_5, recall_10;
    double
        ndcg_10; /* places of the right answers, discounted by their logarithm, to the best that is possible */
    double mrr; /* one by the place of the first */
};

/* Start from all zero. */
struct recall_measure {
    uint64_t questions, texts; /* texts: that were searched */
    int64_t elapsed_ms;        /* of all questions */
    struct recall_means sums;
};

/* A question, the places of the right answers that were found, in order, of how many there are. */
void recall_measure_add(struct recall_measure *self, const size_t *places, size_t found,
                        size_t right);

struct recall_means recall_measure_means(const struct recall_measure *self);

#endif
