/*
 * ranker.c: chooses candidates, computes their features, and sorts them by score.
 */
#include "recall/ranker.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/view.h"
#include "recall/numbers.h"
#include "recall/ranker_internal.h"

const struct ranker_feature ranker_features[RANKER_FEATURES] = {
    [F_BM25] = {"bm25", 0.26, 0.0467},
    [F_BM25_PREV] = {"bm25_prev", 0, -0.0466},
    [F_BM25_NEXT] = {"bm25_next", 0.13, 0.0333},
    [F_BM25_PREV2] = {"bm25_prev2", 0.12, 0.0779},
    [F_BM25_NEXT2] = {"bm25_next2", 0, 0.0049},
    [F_BM25_WINDOW] = {"bm25_window", 0.24, 0.2963},
    [F_BM25_SESSION] = {"bm25_session", 0.33, 0.2867},
    [F_WORDS] = {"words", 0, 0.1425},
    [F_WORDS_PREV] = {"words_prev", 0, 0.1316},
    [F_WORDS_NEXT] = {"words_next", 0, -0.0125},
    [F_RELATED] = {"related", 0, 0.2817},
    [F_RELATED_PREV] = {"related_prev", 0, -0.0099},
    [F_RELATED_NEXT] = {"related_next", 0, -0.0567},
    [F_COVERAGE] = {"coverage", 0.14, -0.1483},
    [F_PREV_QUESTION] = {"prev_question_x_bm25", 0.14, 0.1096},
    [F_SPEAKER_NAMED] = {"speaker_named", 2.9, 2.72},
    [F_TIME_WHEN] = {"time_cue_x_when", 1.42, 1.0629},
    [F_TIME] = {"time_cue", 0.17, 0.0979},
    [F_ASKS] = {"asks", 0, 0.0471},
    [F_LOG_LENGTH] = {"log_length", -0.07, -0.2244},
    [F_ROLE_USER] = {"role_user", 1.58, 1.5442},
    [F_TOKENS] = {"encoded_words", 0, 0.4476},
    [F_TOKENS_PREV] = {"encoded_words_prev", 0, 0.0434},
    [F_TOKENS_NEXT] = {"encoded_words_next", 0, 0.1925},
    [F_WHOLE] = {"encoded_whole", 0, 0.2972},
    [F_WHOLE_PREV] = {"encoded_whole_prev", 0, -0.1209},
    [F_WHOLE_NEXT] = {"encoded_whole_next", 0, 0.0114},
    [F_CAPITALISED_WHO] = {"capitalised_x_who", 1.16, 1.1895},
    [F_CAPITALISED_WHERE] = {"capitalised_x_where", 1.34, 1.2826},
    [F_NUMBER_HOW_MANY] = {"number_x_how_many", 1.25, 0.9308},
    [F_TITLE_WORK] = {"title_x_work", 0, 0.3396},
    [F_DATE_MONTH_YEAR] = {"date_month_year", 2.15, 2.1125},
    [F_DATE_DAY] = {"date_day", 2.26, 2.3035},
    [F_CAPITALISED] = {"capitalised", 0.16, 0.0182},
    [F_FIRST_PERSON] = {"first_person", 0.6, 0.3606},
    [F_FIRST_PERSON_SPEAKER] = {"first_person_x_speaker", 0.4, 0.1738},
    [F_SECOND_PERSON] = {"second_person", -0.88, -0.6073},
    [F_SECOND_PERSON_SPEAKER] = {"second_person_x_speaker", -0.49, -0.2293},
    [F_EXCLAIMS] = {"exclaims", -0.19, -0.1053},
    [F_RECENT] = {"position_x_recent", 0.41, 0.452},
    [F_FIRST] = {"position_x_first", -0.78, -0.6314},
    [F_PAIRS] = {"pairs", 1.62, 0},
};

double ranker_weight(const struct ranker_hit *hit, size_t feature)
{
    return hit->is_linear ? ranker_features[feature].linear : ranker_features[feature].lexical;
}

/* ---- setting up ------------------------------------------------------------------------------ */

static void add_up(struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->scope->count; i++) {
        const struct image *image = &ranking->scope->images[i];
        ranking->bases[i] = ranking->total;
        ranking->total.unit += image->counts.units;
        ranking->total.passage += image->counts.passages;
        ranking->total.group += image->counts.groups;
        ranking->total.speaker += image->counts.speakers;
        ranking->sums.words += image->sums.words;
        ranking->sums.window_quarters += image->sums.window_quarters;
        ranking->sums.log_chars += image->sums.log_chars;
    }
    ranking->bases[ranking->scope->count] = ranking->total;
}

static void subtract_unit(const struct image *image, uint32_t unit, struct image_sums *sums)
{
    unsigned flags = image->units[unit].flags;
    sums->window_quarters -= (uint64_t)image_window_share(flags) * image_unit_words(image, unit);
    sums->log_chars -= number_log(1 + (double)image->units[unit].chars);
}

/* Subtracts what is not searched from the sums. */
static void subtract_gone(struct ranking *ranking, const struct image *image)
{
    for (uint32_t d = 0; d < image->counts.documents; d++) {
        uint32_t first = image->documents[d].first_unit, end = image_units_end(image, d);
        if (!image_is_gone(image, d) || first == end)
            continue;
        ranking->live.unit -= end - first;
        ranking->live.passage -= image_passages_end(image, end - 1) -
                                 image->units[first].first_passage;
        ranking->sums.words -= image->documents[d].words;
        for (uint32_t unit = first; unit < end; unit++)
            subtract_unit(image, unit, &ranking->sums);
    }
}

/* Counts the sessions of an image with a searched document; marks are all 0 before and after. */
static uint32_t count_live_groups(const struct image *image, uint32_t *marks)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < image->counts.documents; d++)
        if (!image_is_gone(image, d) && marks[image->documents[d].group]++ == 0)
            count++;
    for (uint32_t g = 0; g < image->counts.groups; g++)
        marks[g] = 0;
    return count;
}

static void find_live(struct ranking *ranking)
{
    ranking->live = ranking->total;
    for (size_t i = 0; i < ranking->scope->count; i++) {
        const struct image *image = &ranking->scope->images[i];
        if (!image->gone)
            continue;
        subtract_gone(ranking, image);
        ranking->live.group -= image->counts.groups - count_live_groups(image, ranking->quarters);
    }
}

/* Prepares the scope, as needed for reading a question. */
static int prepare_scope(struct ranking *ranking)
{
    struct arena *arena = ranking->arena;
    const struct base *total = &ranking->total;
    ranking->bases = arena_array(arena, ranking->scope->count + 1, sizeof *ranking->bases);
    if (!ranking->bases)
        return ETHOS_NOMEM;
    add_up(ranking);
    size_t most = total->unit > total->group ? total->unit : total->group;
    ranking->named = arena_array(arena, total->speaker + 1, sizeof *ranking->named);
    ranking->quarters = arena_array(arena, most + 1, sizeof *ranking->quarters);
    if (!ranking->named || !ranking->quarters)
        return ETHOS_NOMEM;
    find_live(ranking);
    return ETHOS_OK;
}

/* Allocates what ranking needs. */
static int allocate_ranking(struct ranking *ranking)
{
    struct arena *arena = ranking->arena;
    const struct base *total = &ranking->total;
    size_t units = total->unit + 1, passages = total->passage + 1, groups = total->group + 1;
    size_t most = units > groups ? units : groups;
    ranking->passage_bm25 = arena_array(arena, passages, sizeof *ranking->passage_bm25);
    ranking->passage_held = arena_array(arena, passages, sizeof *ranking->passage_held);
    ranking->held = arena_array(arena, passages, sizeof *ranking->held);
    ranking->bm25 = arena_array(arena, units, sizeof *ranking->bm25);
    ranking->coverage = arena_array(arena, units, sizeof *ranking->coverage);
    ranking->window = arena_array(arena, units, sizeof *ranking->window);
    ranking->window_words = arena_array(arena, units, sizeof *ranking->window_words);
    ranking->session = arena_array(arena, groups, sizeof *ranking->session);
    ranking->session_words = arena_array(arena, groups, sizeof *ranking->session_words);
    ranking->touched = arena_array(arena, most, sizeof *ranking->touched);
    bool ready = ranking->passage_bm25 && ranking->passage_held && ranking->held && ranking->bm25 &&
                 ranking->coverage && ranking->window && ranking->window_words &&
                 ranking->session && ranking->session_words && ranking->touched;
    return ready ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- units ----------------------------------------------------------------------------------- */

struct unit_place ranking_place(const struct ranking *ranking, uint32_t number)
{
    size_t image = 0;
    while (number >= ranking->bases[image + 1].unit)
        image++;
    const struct image *found = &ranking->scope->images[image];
    uint32_t unit = number - ranking->bases[image].unit;
    return (struct unit_place){.image = found,
                               .row = &found->units[unit],
                               .number = number,
                               .unit = unit,
                               .which = (uint32_t)image};
}

/* The document of a unit, by binary search. */
static uint32_t document_of_unit(const struct image *image, uint32_t unit)
{
    uint32_t low = 0, high = image->counts.documents;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (image->documents[middle].first_unit <= unit)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool is_dated(const struct question_facts *facts)
{
    return facts->months != 0 || facts->year_count > 0;
}

static bool fits_date(const struct question_facts *facts, const struct image_unit *row)
{
    return row->date != 0 &&
           question_names_date(facts, IMAGE_YEAR(row->date), IMAGE_MONTH(row->date));
}

/* Whether every unit matches the question's months and years: then they say nothing. */
static bool find_all_dated(const struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->scope->count; i++) {
        const struct image *image = &ranking->scope->images[i];
        for (uint32_t d = 0; d < image->counts.documents; d++)
            for (uint32_t u = image->documents[d].first_unit;
                 !image_is_gone(image, d) && u < image_units_end(image, d); u++)
                if (!fits_date(&ranking->question.facts, &image->units[u]))
                    return false;
    }
    return true;
}

static bool is_near_day(const struct question_facts *facts, uint32_t date)
{
    int day = (int)IMAGE_DAY(date);
    return facts->day > 0 && day > 0 && facts->months >> IMAGE_MONTH(date) & 1 &&
           abs(day - (int)facts->day) <= 1;
}

/* What selects candidates besides the window; each is also a feature. */
static void set_context(const struct ranking *ranking, const struct unit_place *place,
                        uint32_t group, double features[RANKER_FEATURES])
{
    const struct question_facts *facts = &ranking->question.facts;
    uint32_t speaker = ranking->bases[place->which].speaker + place->row->speaker;
    features[F_BM25_SESSION] = ranking_standard(ranking, F_BM25_SESSION, ranking->session[group]);
    features[F_SPEAKER_NAMED] = ranking->named[speaker];
    features[F_TIME_WHEN] = facts->when && place->row->flags & UNIT_TIME;
    features[F_DATE_MONTH_YEAR] = is_dated(facts) && !ranking->all_dated &&
                                  fits_date(facts, place->row);
    features[F_DATE_DAY] = is_near_day(facts, place->row->date);
}

/* ---- features -------------------------------------------------------------------------------- */

/* BM25 of a neighbour of the unit, or 0. */
static double neighbour_score(const struct ranking *ranking, const struct unit_place *place,
                              unsigned flag, int step)
{
    return place->row->flags & flag ? ranking->bm25[(int64_t)place->number + step] : 0;
}

static void set_matches(const struct ranking *ranking, const struct unit_place *place,
                        double features[RANKER_FEATURES])
{
    bool asked = place->row->flags & UNIT_HAS_PREV && (place->row - 1)->flags & UNIT_ASKS;
    double prev = asked ? neighbour_score(ranking, place, UNIT_HAS_PREV, -1) : 0;
    features[F_BM25] = ranking_standard(ranking, F_BM25, ranking->bm25[place->number]);
    features[F_BM25_PREV] = ranking_standard(ranking, F_BM25_PREV,
                                             neighbour_score(ranking, place, UNIT_HAS_PREV, -1));
    features[F_BM25_NEXT2] = ranking_standard(ranking, F_BM25_NEXT2,
                                              neighbour_score(ranking, place, UNIT_HAS_NEXT2, 2));
    features[F_BM25_NEXT] = ranking_standard(ranking, F_BM25_NEXT,
                                             neighbour_score(ranking, place, UNIT_HAS_NEXT, 1));
    features[F_BM25_PREV2] = ranking_standard(ranking, F_BM25_PREV2,
                                              neighbour_score(ranking, place, UNIT_HAS_PREV2, -2));
    features[F_BM25_WINDOW] = ranking_standard(ranking, F_BM25_WINDOW,
                                               ranking->window[place->number]);
    features[F_COVERAGE] = ranking_standard(ranking, F_COVERAGE, ranking->coverage[place->number]);
    features[F_PREV_QUESTION] = ranking_standard(ranking, F_PREV_QUESTION, prev);
}

/* Density of personal words at the start of a text, times eight, at most 1. */
static double person_share(unsigned count, unsigned words)
{
    double share = 8.0 * count / (words > 0 ? words : 1);
    return share < 1 ? share : 1;
}

static void set_text_features(const struct ranking *ranking, const struct unit_place *place,
                              double features[RANKER_FEATURES])
{
    const struct image_unit *row = place->row;
    const struct question_facts *facts = &ranking->question.facts;
    double named = features[F_SPEAKER_NAMED], n = ranking->total.unit;
    double position = place->number / (n > 1 ? n - 1 : 1) - 0.5;
    features[F_TIME] = (row->flags & UNIT_TIME) != 0;
    features[F_ASKS] = (row->flags & UNIT_ASKS) != 0;
    features[F_TITLE_WORK] = facts->work && row->flags & UNIT_TITLE;
    features[F_LOG_LENGTH] = number_log(1 + (double)row->chars) -
                             ranking->sums.log_chars / ranking->live.unit;
    features[F_ROLE_USER] = (row->flags & UNIT_USER) != 0;
    features[F_CAPITALISED] = UNIT_CAPITALISED_WORDS(row->flags) / 3.0;
    features[F_CAPITALISED_WHO] = facts->who * features[F_CAPITALISED];
    features[F_CAPITALISED_WHERE] = facts->where * features[F_CAPITALISED];
    features[F_NUMBER_HOW_MANY] = facts->number && row->flags & UNIT_NUMBER;
    features[F_FIRST_PERSON] = person_share(row->first_person, row->head_words);
    features[F_FIRST_PERSON_SPEAKER] = features[F_FIRST_PERSON] * named;
    features[F_SECOND_PERSON] = person_share(row->second_person, row->head_words);
    features[F_SECOND_PERSON_SPEAKER] = features[F_SECOND_PERSON] * named;
    features[F_EXCLAIMS] = (row->flags & UNIT_EXCLAIMS) != 0;
    features[F_RECENT] = facts->recent * position;
    features[F_FIRST] = facts->first * position;
}

/* The weight of the word pairs in a passage with these stems; `walk` advances past it. */
static double pairs_of_passage(const struct ranking *ranking, uint32_t image,
                               struct image_content *walk)
{
    const struct question *question = &ranking->question;
    bool held[RANKER_MAX_STEMS] = {false};
    uint32_t before = UINT32_MAX;
    double sum = 0;
    for (uint32_t left = image_content_number(walk); left > 0 && walk->at < walk->end; left--) {
        uint32_t number = image_content_number(walk) + 1;
        for (size_t i = 0; i < question->pair_count; i++) {
            const struct question_pair *pair = &question->pairs[i];
            if (!held[i] && question->stems[pair->first].numbers[image] == before &&
                question->stems[pair->second].numbers[image] == number) {
                held[i] = true;
                sum += pair->weight;
            }
        }
        before = number;
    }
    return sum;
}

static double best_pairs(const struct ranking *ranking, const struct unit_place *place)
{
    struct image_content walk = image_content_of(place->image, place->unit);
    uint32_t end = image_passages_end(place->image, place->unit);
    double best = 0;
    if (ranking->question.pair_count == 0)
        return 0;
    for (uint32_t p = place->row->first_passage; p < end; p++) {
        double sum = pairs_of_passage(ranking, place->which, &walk);
        best = sum > best ? sum : best;
    }
    return best / (ranking->question.pair_weight + 1e-9);
}

/* Matches are ordered by unit. */
static bool holds_stem(const struct question_stem *stem, uint32_t unit)
{
    size_t low = 0, high = stem->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stem->matches[middle].unit < unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low < stem->count && stem->matches[low].unit == unit;
}

static double find_evidence(const struct ranking *ranking, const struct unit_place *place)
{
    const struct question *question = &ranking->question;
    const struct image *image = place->image;
    uint32_t first = image->documents[document_of_unit(image, place->unit)].first_unit;
    uint32_t heading = ranking->bases[place->which].unit + first;
    bool headed = image->units[first].flags & UNIT_HEADING;
    double sum = 0;
    for (size_t i = 0; i < question->count; i++) {
        const struct question_stem *stem = &question->stems[i];
        if (holds_stem(stem, place->number) || (headed && holds_stem(stem, heading)))
            sum += stem->weight;
    }
    return question->weight > 0 ? sum / question->weight : 0;
}

static void add_up_score(struct ranker_hit *hit)
{
    hit->score = 0;
    for (size_t f = 0; f < RANKER_FEATURES; f++) {
        if (ranker_weight(hit, f) == 0)
            hit->features[f] = 0;
        hit->score += ranker_weight(hit, f) * hit->features[f];
    }
}

/* Scores a unit by cheap features. */
static void score_quickly(const struct ranking *ranking, uint32_t number, struct ranker_hit *out)
{
    struct unit_place place = ranking_place(ranking, number);
    uint32_t group = ranking->bases[place.which].group +
                     place.image->documents[document_of_unit(place.image, place.unit)].group;
    out->image = place.which;
    out->unit = place.unit;
    out->window = ranking->window[number];
    out->is_linear = ranking->meaning != NULL;
    set_context(ranking, &place, group, out->features);
    set_matches(ranking, &place, out->features);
    set_text_features(ranking, &place, out->features);
    if (out->is_linear)
        ranking_set_known(ranking, &place, out->features);
    else
        out->features[F_PAIRS] = best_pairs(ranking, &place);
    add_up_score(out);
}

/* Adds the expensive features. */
static void score_fully(const struct ranking *ranking, struct ranker_hit *hit)
{
    struct unit_place place = ranking_place(ranking, ranking->bases[hit->image].unit + hit->unit);
    hit->evidence = find_evidence(ranking, &place);
    if (!hit->is_linear)
        return;
    ranking_set_compared(ranking, &place, hit->features);
    hit->meaning = ranking_whole(ranking, place.number);
    hit->meaning = hit->meaning > 0 ? hit->meaning : 0;
    add_up_score(hit);
}

/* ---- candidates ------------------------------------------------------------------------------ */

struct candidate {
    double value;
    uint32_t unit;
};

/* The best so far as a heap, with the worst on top; among equals the earlier units. */
struct best {
    struct candidate rows[RANKER_CANDIDATES];
    size_t count, most;
};

/*
 * The criteria for candidates, and how many each selects: the context without a model, the last two
 * with one.
 */
enum { BY_WINDOW, BY_CONTEXT, BY_RELATED, BY_WHOLE, KINDS };
#define MOST_WINDOWS 100
#define MOST_WINDOWS_LINEAR 200
#define MOST_OTHERS 100

static bool is_worse(const struct candidate *a, const struct candidate *b)
{
    return a->value < b->value || (a->value == b->value && a->unit > b->unit);
}

static void swap_candidates(struct candidate *a, struct candidate *b)
{
    struct candidate kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_down(struct best *best)
{
    for (size_t at = 0;;) {
        size_t worst = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < best->count; child++)
            if (is_worse(&best->rows[child], &best->rows[worst]))
                worst = child;
        if (worst == at)
            return;
        swap_candidates(&best->rows[at], &best->rows[worst]);
        at = worst;
    }
}

static void push_candidate(struct best *best, double value, uint32_t unit)
{
    size_t at = best->count++;
    best->rows[at] = (struct candidate){value, unit};
    for (; at > 0 && is_worse(&best->rows[at], &best->rows[(at - 1) / 2]); at = (at - 1) / 2)
        swap_candidates(&best->rows[at], &best->rows[(at - 1) / 2]);
}

/* Units come in order, so an equal one is worse than existing ones. */
static inline void add_candidate(struct best *best, double value, uint32_t unit)
{
    if (best->count < best->most) {
        push_candidate(best, value, unit);
    } else if (value > best->rows[0].value) {
        best->rows[0] = (struct candidate){value, unit};
        sift_down(best);
    }
}

static double context_value(const double features[RANKER_FEATURES])
{
    static const enum feature parts[] = {F_BM25_SESSION, F_SPEAKER_NAMED, F_TIME_WHEN,
                                         F_DATE_MONTH_YEAR, F_DATE_DAY};
    double sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        sum += ranker_features[parts[i]].lexical * features[parts[i]];
    return sum;
}

static bool is_wanted(const struct ranking *ranking, const struct unit_place *place)
{
    const struct ranker_scope *scope = ranking->scope;
    return !(place->row->flags & UNIT_HEADING) &&
           (!scope->want || scope->want(scope->arg, place->which, place->unit));
}

/* For the units of a document. */
static void find_candidates(const struct ranking *ranking, uint32_t i, uint32_t document,
                            struct best best[KINDS])
{
    const struct image *image = &ranking->scope->images[i];
    uint32_t group = ranking->bases[i].group + image->documents[document].group;
    uint32_t end = image_units_end(image, document);
    double features[RANKER_FEATURES];
    for (uint32_t unit = image->documents[document].first_unit; unit < end; unit++) {
        struct unit_place place = {.image = image,
                                   .row = &image->units[unit],
                                   .number = ranking->bases[i].unit + unit,
                                   .unit = unit,
                                   .which = i};
        if (!is_wanted(ranking, &place))
            continue;
        add_candidate(&best[BY_WINDOW], ranking->window[place.number], place.number);
        if (ranking->meaning) {
            add_candidate(&best[BY_RELATED], ranking_related(ranking, place.number), place.number);
            add_candidate(&best[BY_WHOLE], ranking_whole(ranking, place.number), place.number);
        } else {
            set_context(ranking, &place, group, features);
            add_candidate(&best[BY_CONTEXT], context_value(features), place.number);
        }
    }
}

static int compare_units(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Best first; equal units keep their order. */
static int compare_hits(const void *a, const void *b)
{
    const struct ranker_hit *x = *(const struct ranker_hit *const *)a;
    const struct ranker_hit *y = *(const struct ranker_hit *const *)b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x > y) - (x < y);
}

/* Merges the units of all lists, in order and unique; returns their number. */
static size_t join_candidates(const struct best best[KINDS], uint32_t units[RANKER_MAX_CANDIDATES])
{
    size_t count = 0, distinct = 0;
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < best[kind].count; i++)
            units[count++] = best[kind].rows[i].unit;
    qsort(units, count, sizeof *units, compare_units);
    for (size_t i = 0; i < count; i++)
        if (distinct == 0 || units[distinct - 1] != units[i])
            units[distinct++] = units[i];
    return distinct;
}

/* With a model all candidates get cheap scores, and the best of them full ones. */
static int score_candidates(struct ranking *ranking, const uint32_t *units, size_t count,
                            size_t limit, struct ranker_hit hits[], size_t *out_count)
{
    struct ranker_hit *order[RANKER_MAX_CANDIDATES];
    struct ranker_hit *scored = arena_array(ranking->arena, count + 1, sizeof *scored);
    if (!scored)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < count; i++) {
        score_quickly(ranking, units[i], &scored[i]);
        order[i] = &scored[i];
    }
    qsort(order, count, sizeof *order, compare_hits);
    count = count < RANKER_MAX_HITS ? count : RANKER_MAX_HITS;
    for (size_t i = 0; i < count; i++)
        score_fully(ranking, order[i]);
    qsort(order, count, sizeof *order, compare_hits);
    *out_count = count < limit ? count : limit;
    for (size_t i = 0; i < *out_count; i++)
        hits[i] = *order[i];
    return ETHOS_OK;
}

static int choose_candidates(struct ranking *ranking, size_t limit, struct ranker_hit hits[],
                             size_t *out_count)
{
    struct best best[KINDS];
    uint32_t units[RANKER_MAX_CANDIDATES];
    for (size_t kind = 0; kind < KINDS; kind++) {
        best[kind].count = 0;
        best[kind].most = MOST_OTHERS;
    }
    best[BY_WINDOW].most = ranking->meaning ? MOST_WINDOWS_LINEAR : MOST_WINDOWS;
    for (uint32_t i = 0; i < ranking->scope->count; i++)
        for (uint32_t d = 0; d < ranking->scope->images[i].counts.documents; d++)
            if (!image_is_gone(&ranking->scope->images[i], d))
                find_candidates(ranking, i, d, best);
    return score_candidates(ranking, units, join_candidates(best, units), limit, hits, out_count);
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* The weight of the stems that each unit contains. */
static void sum_evidence(const struct ranking *ranking, float *sums)
{
    const struct question *question = &ranking->question;
    for (size_t i = 0; i < question->count; i++) {
        const struct question_stem *stem = &question->stems[i];
        for (size_t m = 0; m < stem->count; m++)
            if (m == 0 || stem->matches[m].unit != stem->matches[m - 1].unit)
                sums[stem->matches[m].unit] += (float)stem->weight;
    }
}

/*
 * Whether any unit, with its headings, may have enough evidence; what both contain counts twice
 * here.
 */
static bool may_have_evidence(const struct ranking *ranking, const float *sums)
{
    double least = ranking->scope->evidence * ranking->question.weight * 0.999; // sums are rounded
    for (size_t i = 0; i < ranking->scope->count; i++) {
        const struct image *image = &ranking->scope->images[i];
        const float *own = sums + ranking->bases[i].unit;
        for (uint32_t d = 0; d < image->counts.documents; d++) {
            uint32_t unit = image->documents[d].first_unit, end = image_units_end(image, d);
            float above = unit < end && image->units[unit].flags & UNIT_HEADING ? own[unit] : 0;
            for (; unit < end; unit++)
                if ((double)own[unit] + (double)above >= least)
                    return true;
        }
    }
    return false;
}

static int check_evidence(const struct ranking *ranking, bool *out_enough)
{
    *out_enough = true;
    if (ranking->scope->evidence <= 0)
        return ETHOS_OK;
    float *sums = arena_array(ranking->arena, (size_t)ranking->total.unit + 1, sizeof *sums);
    if (!sums)
        return ETHOS_NOMEM;
    sum_evidence(ranking, sums);
    *out_enough = may_have_evidence(ranking, sums);
    return ETHOS_OK;
}

/*
 * Whether the table has at least half of the question's words. The encoder cannot handle names,
 * identifiers and words of other languages.
 */
static bool knows_question(const struct ranking *ranking)
{
    const struct question *question = &ranking->question;
    size_t known = 0, count = 0;
    for (size_t i = 0; i < question->count; i++) {
        count += !question->stems[i].is_name;
        known += !question->stems[i].is_name && question->stems[i].row != 0;
    }
    return known > 0 && 2 * known >= count;
}

static int find_meaning(struct ranking *ranking, struct ethos_view question)
{
    const struct ranker_scope *scope = ranking->scope;
    int code = ETHOS_OK;
    ranking->with = scope->meaning;
    if (scope->find_meaning)
        code = scope->find_meaning(scope->arg, &ranking->with);
    if (code != ETHOS_OK || !ranking->with.model)
        return code;
    ranking_find_rows(ranking);
    return knows_question(ranking) ? ranking_read_meaning(ranking, question) : ETHOS_OK;
}

int ranker_rank(const struct ranker_scope *scope, struct ethos_view question, size_t limit,
                struct ranker_hit hits[], size_t *out_count, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct ranking ranking = {.scope = scope, .arena = &arena};
    bool enough = false;
    *out_count = 0;
    arena_init(&arena);
    int code = prepare_scope(&ranking);
    if (code == ETHOS_OK)
        code = ranking_read_question(&ranking, question);
    if (code == ETHOS_OK)
        code = check_evidence(&ranking, &enough);
    if (code == ETHOS_OK && enough)
        code = allocate_ranking(&ranking);
    if (code == ETHOS_OK && enough) {
        ranking.all_dated = is_dated(&ranking.question.facts) && find_all_dated(&ranking);
        ranking_count(&ranking);
        code = find_meaning(&ranking, question);
    }
    if (code == ETHOS_OK && enough)
        code = choose_candidates(&ranking, limit, hits, out_count);
    return code ? err_nomem(error) : ETHOS_OK;
}
