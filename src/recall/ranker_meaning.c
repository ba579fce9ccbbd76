/*
 * ranker_meaning.c: units whose words are other ones and mean the same.
 *
 * Three measures. Related words: each word of the question meets the word of the unit that is nearest in the table.
 * Words: the sum of the unit's words, rare ones counting more, beside that of the question. And what the encoder makes
 * of a passage: its words, each of the question meeting the best of them, and the whole.
 *
 * The first and the last are counted over all units. The two others cost more: their mean and deviation are those of a
 * sample, and only candidates and their neighbours are compared.
 */
#include <string.h>

#include "base/view.h"
#include "core/search/ranked_words.h"
#include "recall/numbers.h"
#include "recall/ranker_internal.h"

#define SAMPLE 256         /* units, evenly spread */
#define RELATED_LEAST 0.3f /* cosine of words that are related */
#define RELATED_WORDS 20   /* of a word of the question */
#define FORM_LEAST 0.5f    /* what another form of the word itself is worth at least */
#define UNKNOWN 8.0f       /* stands for a cosine that is not known */
#define ENCODED_SHARE                                                                              \
    0.9             /* of the units: while fewer have vectors, those would win for having them */
#define RARITY 1e-3 /* a word that is more frequent counts less */

/* What was compared, by unit; UNKNOWN where nothing was. */
struct meaning {
    float *related; /* of all units */
    float *whole;
    float *tokens, *words; /* of those that were compared; 0: not yet */
    struct packed_question *question;
    float words_of_question[WORD_VECTOR];
    float common[WORD_VECTOR]; /* the direction that all units have, of length 1 */
    bool encoded;              /* nearly all units have vectors */
};

/* ---- numbers --------------------------------------------------------------------------------- */

struct sums {
    double values, squares, count;
};

static void add_to_sums(struct sums *sums, double value)
{
    sums->values += value;
    sums->squares += value * value;
    sums->count++;
}

static float dot_vectors(const float *a, const float *b)
{
    float sum = 0;
    for (size_t i = 0; i < WORD_VECTOR; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ---- related words --------------------------------------------------------------------------- */

/* A stem of an image that is near a word of the question. */
struct near {
    uint32_t image, number, row;
    float cosine;
};

/* The stems that are near a word, and the cosines of the nearest words, best first: each row once. */
struct related {
    const struct question_stem *stem;
    struct near *near;
    size_t count, capacity;
    struct near nearest[RELATED_WORDS];
    size_t nearest_count;
};

/* Words that are compared at once, with the stems of an image. */
struct comparing {
    struct ranking *ranking;
    uint32_t image;
    struct word_block block;
    struct related words[WORD_BLOCK];
    bool failed;
};

/* Of several images that have the same word it is counted once. */
static void insert_nearest(struct related *self, const struct near *near)
{
    size_t at = self->nearest_count;
    while (at > 0 && self->nearest[at - 1].cosine < near->cosine)
        at--;
    for (size_t i = at; i > 0 && self->nearest[i - 1].cosine <= near->cosine; i--)
        if (self->nearest[i - 1].row == near->row)
            return;
    if (at == RELATED_WORDS)
        return;
    if (self->nearest_count < RELATED_WORDS)
        self->nearest_count++;
    memmove(&self->nearest[at + 1], &self->nearest[at],
            (self->nearest_count - 1 - at) * sizeof *self->nearest);
    self->nearest[at] = *near;
}

static void add_near_stem(void *arg, size_t word, uint32_t number, float cosine)
{
    struct comparing *self = arg;
    struct related *related = &self->words[word];
    const struct near near = {
        .image = self->image,
        .number = number,
        .row = self->ranking->scope->images[self->image].rows[number].row,
        .cosine = cosine,
    };
    if (near.row == related->stem->stem_row)
        return; // the word itself
    struct near *rows = arena_grow(self->ranking->arena, related->near, related->count,
                                   &related->capacity, sizeof *rows);
    self->failed = self->failed || !rows;
    if (!rows)
        return;
    related->near = rows;
    rows[related->count++] = near;
    insert_nearest(related, &near);
}

/* The best of each unit, of the stem that is counted. */
static void keep_best_cosine(struct ranking *ranking, float *best, uint32_t unit, float cosine)
{
    if (best[unit] <= 0)
        ranking->touched[ranking->touched_count++] = unit;
    if (cosine > best[unit])
        best[unit] = cosine;
}

static void add_stem_cosines(struct ranking *ranking, const struct near *near, float *best)
{
    const struct image *image = &ranking->scope->images[near->image];
    char text[WORDS_MAX + 1];
    struct image_stem stem;
    uint32_t document = 0;
    if (!image_stem_at(image, near->number, &stem, text))
        return;
    struct image_postings walk = image_postings_of(image, stem.postings);
    while (image_next_posting(&walk)) {
        uint32_t unit = image->passages[walk.passage].unit;
        while (image->gone && unit >= image_units_end(image, document))
            document++;
        if (!image_is_gone(image, document))
            keep_best_cosine(ranking, best, ranking->bases[near->image].unit + unit, near->cosine);
    }
}

/* What a text with another form of a word has of it. */
static float form_of(const struct ranking *ranking, const struct question_stem *stem)
{
    if (stem->row == stem->stem_row || stem->stem_row == 0)
        return 1;
    float cosine = word_table_cosine(&ranking->with.model->table, stem->row, stem->stem_row);
    return cosine > FORM_LEAST ? cosine : FORM_LEAST;
}

/* related: NULL for a word that is not compared. */
static void add_related(struct ranking *ranking, const struct question_stem *stem,
                        const struct related *related, float *best)
{
    float own = form_of(ranking, stem), least = 0;
    if (related && related->nearest_count == RELATED_WORDS)
        least = related->nearest[RELATED_WORDS - 1].cosine;
    ranking->touched_count = 0;
    for (size_t m = 0; m < stem->count; m++)
        keep_best_cosine(ranking, best, stem->matches[m].unit, own);
    for (size_t i = 0; related && i < related->count; i++)
        if (related->near[i].cosine >= least)
            add_stem_cosines(ranking, &related->near[i], best);
    for (size_t i = 0; i < ranking->touched_count; i++) {
        uint32_t unit = ranking->touched[i];
        ranking->meaning->related[unit] += (float)stem->weight * (best[unit] - RELATED_LEAST);
        best[unit] = 0;
    }
}

static bool has_related(const struct question_stem *stem)
{
    return stem->row != 0 && strpbrk(stem->word, "0123456789") == NULL;
}

static int compare_block(struct comparing *self, float *best)
{
    const struct ranker_scope *scope = self->ranking->scope;
    for (self->image = 0; self->image < scope->count; self->image++) {
        const struct image *image = &scope->images[self->image];
        if (image->rows)
            word_block_compare(&self->block, image->rows, image->counts.stems, RELATED_LEAST,
                               add_near_stem, self);
    }
    for (size_t i = 0; i < self->block.count; i++)
        add_related(self->ranking, self->words[i].stem, &self->words[i], best);
    self->block.count = 0;
    return self->failed ? ETHOS_NOMEM : ETHOS_OK;
}

static int count_related(struct ranking *ranking)
{
    const struct question *question = &ranking->question;
    struct comparing *self = arena_alloc(ranking->arena, sizeof *self);
    float *best = arena_array(ranking->arena, (size_t)ranking->total.unit + 1, sizeof *best);
    int code = ETHOS_OK;
    if (!self || !best)
        return ETHOS_NOMEM;
    self->ranking = ranking;
    self->block.table = &ranking->with.model->table;
    for (size_t i = 0; code == ETHOS_OK && i < question->count; i++) {
        const struct question_stem *stem = &question->stems[i];
        if (stem->is_name)
            continue;
        if (!has_related(stem)) {
            add_related(ranking, stem, NULL, best);
            continue;
        }
        self->words[self->block.count] = (struct related){.stem = stem};
        word_block_add(&self->block, stem->row);
        if (self->block.count == WORD_BLOCK)
            code = compare_block(self, best);
    }
    return code ? code : compare_block(self, best);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* How much a word counts: its share of a language is about one by its row. */
static float rarity_of(uint32_t row)
{
    double share = 0.1 / (row + 2.7);
    return (float)(RARITY / (RARITY + share));
}

static void add_to_sum(const struct ranking *ranking, const struct word_row *word,
                       float sum[WORD_VECTOR])
{
    word_table_add(&ranking->with.model->table, word, rarity_of(word->row), sum);
}

/* The words of the passage that the walk has come to. */
static void sum_passage(const struct ranking *ranking, const struct image *image,
                        struct image_content *walk, float sum[WORD_VECTOR])
{
    memset(sum, 0, WORD_VECTOR * sizeof *sum);
    for (uint32_t left = image_content_number(walk); left > 0 && walk->at < walk->end; left--) {
        uint32_t stem = image_content_number(walk);
        if (stem < image->counts.stems)
            add_to_sum(ranking, &image->rows[stem], sum);
    }
}

/* The cosine of two sums of words, less the direction that all have. */
static float compare_words(const struct meaning *meaning, const float *a, const float *b)
{
    float in_a = dot_vectors(a, meaning->common), in_b = dot_vectors(b, meaning->common);
    float product = dot_vectors(a, b) - in_a * in_b;
    double lengths = (double)(dot_vectors(a, a) - in_a * in_a) *
                     (double)(dot_vectors(b, b) - in_b * in_b);
    return lengths > 0 ? (float)(product / number_sqrt(lengths)) : 0;
}

static float words_of_unit(const struct ranking *ranking, const struct unit_place *place)
{
    struct image_content walk = image_content_of(place->image, place->unit);
    uint32_t end = image_passages_end(place->image, place->unit);
    float best = -1, sum[WORD_VECTOR];
    if (!place->image->rows)
        return 0;
    for (uint32_t p = place->row->first_passage; p < end; p++) {
        sum_passage(ranking, place->image, &walk, sum);
        float cosine = compare_words(ranking->meaning, sum, ranking->meaning->words_of_question);
        best = cosine > best ? cosine : best;
    }
    return best;
}

static float words_at(const struct ranking *ranking, const struct unit_place *place)
{
    float *value = &ranking->meaning->words[place->number];
    if (*value == 0)
        *value = words_of_unit(ranking, place);
    return *value;
}

/* ---- the encoder ----------------------------------------------------------------------------- */

static bool is_question_name(void *arg, struct ethos_view word)
{
    const struct ranking *ranking = arg;
    for (size_t i = 0; i < ranking->question.count; i++)
        if (ranking->question.stems[i].is_name &&
            view_eq_str(word, ranking->question.stems[i].word))
            return true;
    return false;
}

static int encode_question(struct ranking *ranking, struct ethos_view text)
{
    struct recall_model *model = ranking->with.model;
    struct packed_question *packed = arena_alloc(ranking->arena, sizeof *packed);
    struct encoding *encoding = arena_alloc(ranking->arena, sizeof *encoding);
    uint32_t rows[ENCODER_MAX_WORDS];
    if (!packed || !encoding)
        return ETHOS_NOMEM;
    size_t count = encoder_words(model->encoder, text, is_question_name, ranking, rows);
    encoder_encode(model->encoder, rows, count, false, encoding);
    encoder_pack_question(encoding, packed);
    ranking->meaning->question = packed;
    return ETHOS_OK;
}

/* The cosines of an image's passages, UNKNOWN where there is none. */
static void compare_passages(const struct ranking *ranking, size_t i, float *cosines)
{
    const struct image_vectors *vectors = ranking->with.vectors ? &ranking->with.vectors[i] : NULL;
    uint32_t passages = ranking->scope->images[i].counts.passages;
    for (uint32_t p = 0; p < passages; p++)
        cosines[p] = UNKNOWN;
    for (size_t n = 0; vectors && n < vectors->count; n++) {
        const struct vectors *piece = &vectors->pieces[n];
        bool fits = piece->first < passages && piece->count <= passages - piece->first;
        if (fits && piece->cosines)
            memcpy(cosines + piece->first, piece->cosines, piece->count * sizeof *cosines);
        else if (fits)
            encoder_cosines(ranking->meaning->question, piece->wholes, piece->count,
                            cosines + piece->first);
    }
}

/* A unit has the best of its passages. */
static int compare_wholes(struct ranking *ranking)
{
    uint32_t most = 0;
    for (size_t i = 0; i < ranking->scope->count; i++)
        if (ranking->scope->images[i].counts.passages > most)
            most = ranking->scope->images[i].counts.passages;
    float *cosines = arena_array(ranking->arena, (size_t)most + 1, sizeof *cosines);
    if (!cosines)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < ranking->scope->count; i++) {
        const struct image *image = &ranking->scope->images[i];
        float *whole = ranking->meaning->whole + ranking->bases[i].unit;
        compare_passages(ranking, i, cosines);
        for (uint32_t p = 0; p < image->counts.passages; p++) {
            uint32_t unit = image->passages[p].unit;
            bool first = image->units[unit].first_passage == p;
            whole[unit] = first || cosines[p] > whole[unit] ? cosines[p] : whole[unit];
        }
    }
    return ETHOS_OK;
}

static float tokens_of_unit(const struct ranking *ranking, const struct unit_place *place)
{
    const struct image_vectors *vectors = ranking->with.vectors;
    uint32_t end = image_passages_end(place->image, place->unit);
    float best = UNKNOWN;
    for (uint32_t p = place->row->first_passage; p < end; p++) {
        struct passage_vectors found;
        if (!vectors || !image_vectors_find(&vectors[place->which], p, &found))
            return UNKNOWN;
        float match = encoder_match(ranking->with.model->encoder, ranking->meaning->question,
                                    found.tokens, found.words);
        best = best >= UNKNOWN || match > best ? match : best;
    }
    return best;
}

/* UNKNOWN where nothing is known. */
static float tokens_at(const struct ranking *ranking, const struct unit_place *place)
{
    float *value = &ranking->meaning->tokens[place->number];
    if (*value == 0)
        *value = tokens_of_unit(ranking, place);
    return *value;
}

/* ---- over all units -------------------------------------------------------------------------- */

typedef void unit_fn(struct ranking *ranking, const struct unit_place *place, void *arg);

/* Every unit that is searched, or every `step`th of them. */
static inline __attribute__((always_inline)) void each_unit(struct ranking *ranking, uint32_t step,
                                                            unit_fn *each, void *arg)
{
    uint32_t skipped = 0;
    for (uint32_t i = 0; i < ranking->scope->count; i++) {
        const struct image *image = &ranking->scope->images[i];
        for (uint32_t d = 0; d < image->counts.documents; d++) {
            uint32_t unit = image->documents[d].first_unit, end = image_units_end(image, d);
            for (; unit < end && !image_is_gone(image, d); unit++) {
                struct unit_place place = {.image = image,
                                           .row = &image->units[unit],
                                           .number = ranking->bases[i].unit + unit,
                                           .unit = unit,
                                           .which = i};
                if (skipped++ % step == 0)
                    each(ranking, &place, arg);
            }
        }
    }
}

/* The words of the first passages of the sample. */
struct sampled {
    float (*rows)[WORD_VECTOR];
    uint32_t count;
};

struct counts {
    struct sampled sampled;
    struct sums related[3], whole[3]; /* own, of the previous unit, of the next */
    struct sums tokens, words;        /* of the sample */
    double units, has_prev, has_next;
    double common[WORD_VECTOR];
};

/* A unit's value is its own, and that of the previous unit for the one behind it. */
static void add_shifted(struct sums sums[3], unsigned flags, double value)
{
    add_to_sums(&sums[0], value);
    if (flags & UNIT_HAS_NEXT)
        add_to_sums(&sums[1], value);
    if (flags & UNIT_HAS_PREV)
        add_to_sums(&sums[2], value);
}

static void count_unit(struct ranking *ranking, const struct unit_place *place, void *arg)
{
    struct counts *counts = arg;
    struct meaning *meaning = ranking->meaning;
    float whole = meaning->whole[place->number];
    counts->units++;
    counts->has_prev += (place->row->flags & UNIT_HAS_PREV) != 0;
    counts->has_next += (place->row->flags & UNIT_HAS_NEXT) != 0;
    add_shifted(counts->related, place->row->flags, meaning->related[place->number]);
    if (whole < UNKNOWN)
        add_shifted(counts->whole, place->row->flags, whole);
}

static void sample_unit(struct ranking *ranking, const struct unit_place *place, void *arg)
{
    struct counts *counts = arg;
    struct image_content walk = image_content_of(place->image, place->unit);
    float tokens = tokens_at(ranking, place);
    if (tokens < UNKNOWN)
        add_to_sums(&counts->tokens, tokens);
    if (!place->image->rows)
        return;
    float *sum = counts->sampled.rows[counts->sampled.count++];
    sum_passage(ranking, place->image, &walk, sum);
    double length = number_sqrt((double)dot_vectors(sum, sum));
    for (size_t i = 0; length > 0 && i < WORD_VECTOR; i++)
        counts->common[i] += (double)sum[i] / length;
}

static void find_direction(struct meaning *meaning, const struct counts *counts)
{
    double length = 0;
    for (size_t i = 0; i < WORD_VECTOR; i++)
        length += counts->common[i] * counts->common[i];
    length = number_sqrt(length);
    for (size_t i = 0; length > 0 && i < WORD_VECTOR; i++)
        meaning->common[i] = (float)(counts->common[i] / length);
}

static void compare_sample(const struct meaning *meaning, struct counts *counts)
{
    for (uint32_t i = 0; i < counts->sampled.count; i++)
        add_to_sums(&counts->words, (double)compare_words(meaning, counts->sampled.rows[i],
                                                          meaning->words_of_question));
}

/* Of all units: of those that have no such neighbour it is 0. */
static struct standard standard_of(const struct sums *sums, double units)
{
    return ranking_standard_of(sums->values, sums->squares, units);
}

/* The same for a share of the units, whose values are those of the sample. */
static struct standard standard_of_share(const struct sums *sums, double share)
{
    return ranking_standard_of(sums->values * share, sums->squares * share, sums->count);
}

static void set_standards(struct ranking *ranking, const struct counts *counts)
{
    struct standard *standards = ranking->standards;
    double units = counts->units > 0 ? counts->units : 1;
    double prev = counts->has_prev / units, next = counts->has_next / units;
    for (size_t i = 0; i < 3; i++) {
        standards[F_RELATED + i] = standard_of(&counts->related[i], units);
        standards[F_WHOLE + i] = standard_of(&counts->whole[i], counts->whole[0].count);
    }
    standards[F_TOKENS] = standard_of_share(&counts->tokens, 1);
    standards[F_TOKENS_PREV] = standard_of_share(&counts->tokens, prev);
    standards[F_TOKENS_NEXT] = standard_of_share(&counts->tokens, next);
    standards[F_WORDS] = standard_of_share(&counts->words, 1);
    standards[F_WORDS_PREV] = standard_of_share(&counts->words, prev);
    standards[F_WORDS_NEXT] = standard_of_share(&counts->words, next);
}

static void sum_question(struct ranking *ranking)
{
    const struct word_table *table = &ranking->with.model->table;
    for (size_t i = 0; i < ranking->question.count; i++) {
        uint32_t row = ranking->question.stems[i].row;
        const struct word_row word = {row, word_table_length(table, row)};
        add_to_sum(ranking, &word, ranking->meaning->words_of_question);
    }
}

static int allocate_meaning(struct ranking *ranking)
{
    struct arena *arena = ranking->arena;
    size_t units = (size_t)ranking->total.unit + 1;
    struct meaning *meaning = ranking->meaning = arena_alloc(arena, sizeof *meaning);
    if (!meaning)
        return ETHOS_NOMEM;
    meaning->related = arena_array(arena, units, sizeof(float));
    meaning->whole = arena_array(arena, units, sizeof(float));
    meaning->tokens = arena_array(arena, units, sizeof(float));
    meaning->words = arena_array(arena, units, sizeof(float));
    bool ready = meaning->related && meaning->whole && meaning->tokens && meaning->words;
    return ready ? ETHOS_OK : ETHOS_NOMEM;
}

int ranking_read_meaning(struct ranking *ranking, struct ethos_view text)
{
    struct counts counts = {.units = 0};
    int code = allocate_meaning(ranking);
    code = code ? code : encode_question(ranking, text);
    code = code ? code : count_related(ranking);
    code = code ? code : compare_wholes(ranking);
    if (code != ETHOS_OK)
        return code;
    counts.sampled.rows = arena_array(ranking->arena, SAMPLE + 1, sizeof *counts.sampled.rows);
    if (!counts.sampled.rows)
        return ETHOS_NOMEM;
    uint32_t step = ranking->live.unit / SAMPLE + 1;
    sum_question(ranking);
    each_unit(ranking, 1, count_unit, &counts);
    ranking->meaning->encoded = counts.units > 0 &&
                                counts.whole[0].count >= ENCODED_SHARE * counts.units;
    each_unit(ranking, step, sample_unit, &counts);
    find_direction(ranking->meaning, &counts);
    compare_sample(ranking->meaning, &counts);
    set_standards(ranking, &counts);
    return ETHOS_OK;
}

/* ---- of a unit ------------------------------------------------------------------------------- */

double ranking_related(const struct ranking *ranking, uint32_t unit)
{
    return (double)ranking->meaning->related[unit];
}

double ranking_whole(const struct ranking *ranking, uint32_t unit)
{
    float whole = ranking->meaning->whole[unit];
    return whole < UNKNOWN ? (double)whole : -1;
}

/* What is not known is like the mean. */
static double standardise(const struct ranking *ranking, enum feature feature, float value)
{
    return value < UNKNOWN ? ranking_standard(ranking, feature, (double)value) : 0;
}

/* NULL: a neighbour that there is not, whose values are 0. */
typedef void set_fn(const struct ranking *ranking, const struct unit_place *place, size_t shift,
                    double features[RANKER_FEATURES]);

static void set_known(const struct ranking *ranking, const struct unit_place *place, size_t shift,
                      double features[RANKER_FEATURES])
{
    const struct meaning *meaning = ranking->meaning;
    float related = place ? meaning->related[place->number] : 0;
    float whole = place ? meaning->whole[place->number] : 0;
    features[F_RELATED + shift] = standardise(ranking, F_RELATED + shift, related);
    if (meaning->encoded)
        features[F_WHOLE + shift] = standardise(ranking, F_WHOLE + shift, whole);
}

static void set_compared(const struct ranking *ranking, const struct unit_place *place,
                         size_t shift, double features[RANKER_FEATURES])
{
    float words = place ? words_at(ranking, place) : 0;
    float tokens = place && ranking->meaning->encoded ? tokens_at(ranking, place) : 0;
    features[F_WORDS + shift] = standardise(ranking, F_WORDS + shift, words);
    if (ranking->meaning->encoded)
        features[F_TOKENS + shift] = standardise(ranking, F_TOKENS + shift, tokens);
}

static void set_adjacent_unit_features(const struct ranking *ranking,
                                       const struct unit_place *place, unsigned flag, int step,
                                       size_t shift, set_fn *set, double features[RANKER_FEATURES])
{
    if (!(place->row->flags & flag)) {
        set(ranking, NULL, shift, features);
        return;
    }
    struct unit_place beside = {.image = place->image,
                                .row = place->row + step,
                                .number = place->number + (uint32_t)step,
                                .unit = place->unit + (uint32_t)step,
                                .which = place->which};
    set(ranking, &beside, shift, features);
}

static void set_all(const struct ranking *ranking, const struct unit_place *place, set_fn *set,
                    double features[RANKER_FEATURES])
{
    set(ranking, place, 0, features);
    set_adjacent_unit_features(ranking, place, UNIT_HAS_PREV, -1, 1, set, features);
    set_adjacent_unit_features(ranking, place, UNIT_HAS_NEXT, 1, 2, set, features);
}

void ranking_set_known(const struct ranking *ranking, const struct unit_place *place,
                       double features[RANKER_FEATURES])
{
    set_all(ranking, place, set_known, features);
}

void ranking_set_compared(const struct ranking *ranking, const struct unit_place *place,
                          double features[RANKER_FEATURES])
{
    set_all(ranking, place, set_compared, features);
}
