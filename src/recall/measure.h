/*
 * measure.h: measures how well questions are answered: how many right answers are found, and how
 * high they rank.
 *
 * Ranks count from 1. With one right answer per question, recall at k is the share of questions
 * with that answer among the first k.
 */
#ifndef ETHOS_RECALL_MEASURE_H
#define ETHOS_RECALL_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* Means over the questions, 0 to 1. */
struct recall_means {
    double recall_1, recall_5, recall_10;
    double
        ndcg_10; /* ranks of the right answers, discounted logarithmically, relative to the ideal order */
    double mrr; /* 1 / rank of the first right answer */
};

/* Zero it first. */
struct recall_measure {
    uint64_t questions, texts; /* texts: how many were searched */
    int64_t elapsed_ms;        /* of all questions */
    struct recall_means sums;
};

/* Adds a question: the ranks of the right answers found, in order, and how many exist. */
void recall_measure_add(struct recall_measure *self, const size_t *places, size_t found,
                        size_t right);

struct recall_means recall_measure_means(const struct recall_measure *self);

#endif
