/*
 * measure.c: computes recall, discounted gain, and the rank of the first right answer.
 */
#include "recall/measure.h"

#include "recall/numbers.h"

#define DEPTH 10

static size_t count_within(const size_t *places, size_t found, size_t depth)
{
    size_t count = 0;
    while (count < found && places[count] <= depth)
        count++;
    return count;
}

static double rank_gain(size_t place)
{
    return number_log(2) / number_log((double)place + 1);
}

static double discounted_gain(const size_t *places, size_t found, size_t right)
{
    double sum = 0, ideal = 0;
    for (size_t i = 0; i < count_within(places, found, DEPTH); i++)
        sum += rank_gain(places[i]);
    for (size_t i = 1; i <= right && i <= DEPTH; i++)
        ideal += rank_gain(i);
    return ideal > 0 ? sum / ideal : 0;
}

void recall_measure_add(struct recall_measure *self, const size_t *places, size_t found,
                        size_t right)
{
    struct recall_means *sums = &self->sums;
    double all = right > 0 ? (double)right : 1;
    self->questions++;
    sums->recall_1 += (double)count_within(places, found, 1) / all;
    sums->recall_5 += (double)count_within(places, found, 5) / all;
    sums->recall_10 += (double)count_within(places, found, DEPTH) / all;
    sums->ndcg_10 += discounted_gain(places, found, right);
    sums->mrr += found > 0 ? 1 / (double)places[0] : 0;
}

struct recall_means recall_measure_means(const struct recall_measure *self)
{
    double n = self->questions > 0 ? (double)self->questions : 1;
    const struct recall_means *sums = &self->sums;
    return (struct recall_means){sums->recall_1 / n, sums->recall_5 / n, sums->recall_10 / n,
                                 sums->ndcg_10 / n, sums->mrr / n};
}
