/*
 * rank.c: how well a text answers a question.
 */
#include "core/rank.h"

#include <string.h>

#include "core/words.h"

/* BM25: how soon repeating a word stops to matter, and how much length does. */
#define SATURATION 1.2
#define LENGTH 0.6

static bool is_common_term(const struct query_term *term)
{
    return !term->phrase && term->count == 1 && words_is_common(term->words[0].folded);
}

int rank_parse(struct ethos_view question, struct arena *arena, struct query *out)
{
    size_t count = 0, others = 0;
    int code = query_parse(question, arena, out);
    for (size_t i = 0; i < out->count; i++)
        others += !is_common_term(&out->terms[i]);
    for (size_t i = 0; i < out->count && count < RANK_MAX_TERMS; i++)
        if (others == 0 || !is_common_term(&out->terms[i]))
            out->terms[count++] = out->terms[i];
    out->count = count;
    return code;
}

void rank_count(const struct query *query, struct ethos_view part, unsigned weight,
                struct rank_counts *counts)
{
    unsigned terms[RANK_MAX_TERMS] = {0};
    counts->words += query_count(query, part, terms, weight == 1 ? &counts->start : NULL);
    for (size_t i = 0; i < query->count; i++)
        counts->terms[i] += weight * terms[i];
}

/* Every phrase, and something at all. */
static bool answers(const struct query *query, const struct rank_counts *counts)
{
    bool any = false;
    for (size_t i = 0; i < query->count; i++) {
        if (query->terms[i].phrase && counts->terms[i] == 0)
            return false;
        any |= counts->terms[i] > 0;
    }
    return any;
}

bool rank_add(const struct query *query, const struct rank_counts *counts,
              struct rank_totals *totals)
{
    totals->texts++;
    totals->words += counts->words;
    for (size_t i = 0; i < query->count; i++)
        totals->with[i] += counts->terms[i] > 0;
    return answers(query, counts);
}

/* Natural, of 1 or more. libm has it too, but then every start of the program would load libm. */
static double logarithm(double x)
{
    double whole = 0;

    for (; x > 1.5; x /= 2)
        whole += 0.6931471805599453;
    double z = (x - 1) / (x + 1), square = z * z;
    return whole + 2 * z * (1 + square * (1.0 / 3 + square * (1.0 / 5 + square / 7)));
}

double rank_score(const struct query *query, const struct rank_counts *counts,
                  const struct rank_totals *totals)
{
    double score = 0, texts = (double)totals->texts + 1;
    double usual = totals->words > 0 ? (double)totals->words / texts : 1;
    double length = 1 - LENGTH + LENGTH * (double)counts->words / usual;
    size_t found = 0;
    if (!answers(query, counts))
        return 0;
    for (size_t i = 0; i < query->count; i++) {
        double often = counts->terms[i] / 2.0, with = (double)totals->with[i];
        double rare = logarithm(1 + (texts - with + 0.5) / (with + 0.5));
        found += often > 0;
        score += rare * often * (SATURATION + 1) / (often + SATURATION * length);
    }
    return score * (double)found / (double)query->count;
}
