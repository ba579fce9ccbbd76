/*
 * ranker_match.c: BM25 of passages, windows and sessions, the share of the question in a passage,
 * and the mean and deviation of each over the scope.
 */
#include "base/view.h"
#include "recall/numbers.h"
#include "recall/ranker_internal.h"

/* BM25: how soon repeating a word stops to matter, and how much length does. */
#define K1 0.9
#define B 0.4
#define SESSION_K1 1.2
#define SESSION_B 0.75

#define LEAST 1e-9           /* stands in for a divisor of 0 */
#define LEAST_DEVIATION 1e-6 /* is added to each deviation */

static double bm25_score(double count, double words, double mean, double k1, double b)
{
    return count * (k1 + 1) / (count + k1 * (1 - b + b * words / mean));
}

static double mean_of(double sum, double count)
{
    double mean = count > 0 ? sum / count : 0;
    return mean > LEAST ? mean : LEAST;
}

/* ---- passages -------------------------------------------------------------------------------- */

static void add_to_passages(struct ranking *ranking, const struct question_stem *stem, double held)
{
    double idf = ranking_idf(ranking->live.passage, (double)stem->count);
    double mean = mean_of((double)ranking->sums.words, ranking->live.passage);
    for (size_t i = 0; i < stem->count; i++) {
        const struct match *match = &stem->matches[i];
        float *sum = &ranking->passage_bm25[match->passage];
        if (*sum == 0)
            ranking->held[ranking->held_count++] = (struct held_passage){match->passage,
                                                                         match->unit};
        *sum += (float)(bm25_score(match->count, match->words, mean, K1, B) * idf);
        ranking->passage_held[match->passage] += (float)held;
    }
}

/* A unit counts as its best passage. */
static void choose_passages(struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->held_count; i++) {
        struct held_passage held = ranking->held[i];
        float sum = ranking->passage_bm25[held.passage];
        float share = ranking->passage_held[held.passage];
        if (sum > ranking->bm25[held.unit])
            ranking->bm25[held.unit] = sum;
        if (share > ranking->coverage[held.unit])
            ranking->coverage[held.unit] = share;
    }
}

static void count_passages(struct ranking *ranking)
{
    const struct question *question = &ranking->question;
    double whole = 0;
    for (size_t i = 0; i < question->count; i++)
        if (!question->stems[i].is_name)
            whole += question->stems[i].idf;
    for (size_t i = 0; i < question->count; i++) {
        const struct question_stem *stem = &question->stems[i];
        add_to_passages(ranking, stem, stem->is_name ? 0 : stem->idf / (whole + LEAST));
    }
    choose_passages(ranking);
}

/* ---- windows --------------------------------------------------------------------------------- */

static void add_quarters(struct ranking *ranking, uint32_t unit, uint32_t quarters)
{
    if (ranking->quarters[unit] == 0)
        ranking->touched[ranking->touched_count++] = unit;
    ranking->quarters[unit] += quarters;
}

/* Four times the words of the window around a unit. */
static double window_quarters(const struct ranking *ranking, uint32_t unit)
{
    struct unit_place place = ranking_place(ranking, unit);
    const struct image *image = place.image;
    unsigned flags = place.row->flags;
    double quarters = 4.0 * image_unit_words(image, place.unit);
    if (flags & UNIT_HAS_PREV)
        quarters += 2.0 * image_unit_words(image, place.unit - 1);
    if (flags & UNIT_HAS_NEXT)
        quarters += 2.0 * image_unit_words(image, place.unit + 1);
    if (flags & UNIT_HAS_PREV2)
        quarters += image_unit_words(image, place.unit - 2);
    if (flags & UNIT_HAS_NEXT2)
        quarters += image_unit_words(image, place.unit + 2);
    return quarters;
}

static void add_to_windows(struct ranking *ranking, const struct question_stem *stem)
{
    double mean = mean_of((double)ranking->sums.window_quarters / 4, ranking->live.unit);
    ranking->touched_count = 0;
    for (size_t i = 0; i < stem->count; i++) {
        const struct match *match = &stem->matches[i];
        add_quarters(ranking, match->unit, 4 * match->count);
        if (match->flags & UNIT_HAS_PREV)
            add_quarters(ranking, match->unit - 1, 2 * match->count);
        if (match->flags & UNIT_HAS_NEXT)
            add_quarters(ranking, match->unit + 1, 2 * match->count);
        if (match->flags & UNIT_HAS_PREV2)
            add_quarters(ranking, match->unit - 2, match->count);
        if (match->flags & UNIT_HAS_NEXT2)
            add_quarters(ranking, match->unit + 2, match->count);
    }
    for (size_t i = 0; i < ranking->touched_count; i++) {
        uint32_t unit = ranking->touched[i];
        if (ranking->window_words[unit] == 0)
            ranking->window_words[unit] = (float)(window_quarters(ranking, unit) / 4);
        ranking->window[unit] += (float)(bm25_score(ranking->quarters[unit] / 4.0,
                                                    ranking->window_words[unit], mean, K1, B) *
                                         stem->idf);
        ranking->quarters[unit] = 0;
    }
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void sum_sessions(struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->scope->count; i++) {
        const struct image *image = &ranking->scope->images[i];
        for (uint32_t d = 0; d < image->counts.documents; d++)
            if (!image_is_gone(image, d))
                ranking->session_words[ranking->bases[i].group + image->documents[d].group] +=
                    image->documents[d].words;
    }
}

static void add_to_sessions(struct ranking *ranking, const struct question_stem *stem)
{
    double mean = mean_of((double)ranking->sums.words, ranking->live.group);
    ranking->touched_count = 0;
    for (size_t i = 0; i < stem->count; i++)
        add_quarters(ranking, stem->matches[i].group, stem->matches[i].count);
    double idf = ranking_idf(ranking->live.group, (double)ranking->touched_count);
    for (size_t i = 0; i < ranking->touched_count; i++) {
        uint32_t group = ranking->touched[i];
        ranking->session[group] += bm25_score(ranking->quarters[group],
                                              ranking->session_words[group], mean, SESSION_K1,
                                              SESSION_B) *
                                   idf;
        ranking->quarters[group] = 0;
    }
}

/* ---- means ----------------------------------------------------------------------------------- */

struct sum {
    double values, squares;
};

static void add_to_sum(struct sum *sum, double value)
{
    sum->values += value;
    sum->squares += value * value;
}

static void add_values(const struct ranking *ranking, uint32_t unit, unsigned flags,
                       struct sum sums[RANKER_FEATURES])
{
    double own = ranking->bm25[unit];
    add_to_sum(&sums[F_BM25_WINDOW], ranking->window[unit]);
    if (own == 0)
        return;
    add_to_sum(&sums[F_BM25], own);
    add_to_sum(&sums[F_COVERAGE], ranking->coverage[unit]);
    // what a unit is worth to its neighbours
    if (flags & UNIT_HAS_PREV)
        add_to_sum(&sums[F_BM25_NEXT], own);
    if (flags & UNIT_HAS_NEXT)
        add_to_sum(&sums[F_BM25_PREV], own);
    if (flags & UNIT_HAS_PREV2)
        add_to_sum(&sums[F_BM25_NEXT2], own);
    if (flags & UNIT_HAS_NEXT2)
        add_to_sum(&sums[F_BM25_PREV2], own);
    if (flags & UNIT_HAS_NEXT && flags & UNIT_ASKS)
        add_to_sum(&sums[F_PREV_QUESTION], own);
}

static void add_document_sums(const struct ranking *ranking, size_t i, uint32_t document,
                              struct sum sums[RANKER_FEATURES])
{
    const struct image *image = &ranking->scope->images[i];
    double session = ranking->session[ranking->bases[i].group + image->documents[document].group];
    uint32_t first = image->documents[document].first_unit;
    uint32_t end = image_units_end(image, document);
    sums[F_BM25_SESSION].values += session * (end - first);
    sums[F_BM25_SESSION].squares += session * session * (end - first);
    for (uint32_t unit = first; unit < end; unit++)
        add_values(ranking, ranking->bases[i].unit + unit, image->units[unit].flags, sums);
}

struct standard ranking_standard_of(double sum, double squares, double count)
{
    double n = count > 0 ? count : 1, mean = sum / n;
    return (struct standard){mean, number_sqrt(squares / n - mean * mean) + LEAST_DEVIATION};
}

static void find_standards(struct ranking *ranking)
{
    struct sum sums[RANKER_FEATURES] = {0};
    double n = ranking->live.unit;
    for (size_t i = 0; i < ranking->scope->count; i++)
        for (uint32_t d = 0; d < ranking->scope->images[i].counts.documents; d++)
            if (!image_is_gone(&ranking->scope->images[i], d))
                add_document_sums(ranking, i, d, sums);
    for (size_t f = 0; f < RANKER_FEATURES; f++)
        ranking->standards[f] = ranking_standard_of(sums[f].values, sums[f].squares, n);
}

void ranking_count(struct ranking *ranking)
{
    count_passages(ranking);
    sum_sessions(ranking);
    for (size_t i = 0; i < ranking->question.count; i++) {
        add_to_windows(ranking, &ranking->question.stems[i]);
        if (!ranking->question.stems[i].is_name)
            add_to_sessions(ranking, &ranking->question.stems[i]);
    }
    find_standards(ranking);
}
