/*
 * ranker_question.c: the stems of a question and where they occur.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text/snowball.h"
#include "base/view.h"
#include "core/search/ranked_words.h"
#include "core/search/stem_english.h"
#include "recall/numbers.h"
#include "recall/ranker_internal.h"

#define RANKER_FORMS 8 /* of a word, in an image */
#define FORM_START 4   /* bytes that forms of a word have in common */

/* The distinct words of a question. */
struct word_list {
    char words[RANKER_MAX_STEMS][WORDS_MAX + 1];
    bool stop[RANKER_MAX_STEMS];
    size_t count;
    bool only_stop; /* nothing else is there */
};

double ranking_idf(double rows, double having)
{
    return number_log(1 + (rows - having + 0.5) / (having + 0.5));
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool has_word(const struct word_list *list, struct ethos_view folded)
{
    for (size_t i = 0; i < list->count; i++)
        if (view_eq_str(folded, list->words[i]))
            return true;
    return false;
}

static int add_question_word(void *arg, const struct word *word)
{
    struct word_list *list = arg;
    bool stop = ranked_words_is_stop(word->folded);
    if (list->count == RANKER_MAX_STEMS || (stop && !list->only_stop))
        return 0;
    if (!stop && list->only_stop) { // the first one that is none
        list->only_stop = false;
        list->count = 0;
    }
    if (has_word(list, word->folded))
        return 0;
    memcpy(list->words[list->count], word->folded.data, word->folded.size);
    list->words[list->count][word->folded.size] = '\0';
    list->count++;
    return 0;
}

static size_t find_stem(const struct question *question, const char *text, size_t size)
{
    for (size_t i = 0; i < question->count; i++)
        if (question->stems[i].size == size && memcmp(question->stems[i].text, text, size) == 0)
            return i;
    return question->count;
}

static void add_stems(struct question *question, const struct word_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        char text[WORDS_MAX + 1];
        size_t size = stem_english(view_str(list->words[i]), text);
        size_t at = find_stem(question, text, size);
        if (at == question->count) {
            memcpy(question->stems[at].text, text, size + 1);
            question->stems[at].size = size;
            question->stems[at].word = list->words[i];
            question->count++;
        }
        question->words[question->word_count++] = at;
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

struct name_walk {
    struct question *question;
    const struct word_list *list;
    bool named;
};

static bool is_role(struct ethos_view folded)
{
    return view_eq(folded, VIEW("user")) || view_eq(folded, VIEW("assistant")) ||
           view_eq(folded, VIEW("system")) || view_eq(folded, VIEW("tool"));
}

static int add_name_stem(void *arg, const struct word *word)
{
    struct name_walk *walk = arg;
    char stem[WORDS_MAX + 1];
    if (is_role(word->folded) || ranked_words_is_stop(word->folded))
        return 0;
    size_t at = find_stem(walk->question, stem, stem_english(word->folded, stem));
    if (at < walk->question->count)
        walk->question->stems[at].is_name = true;
    walk->named = walk->named || has_word(walk->list, word->folded);
    return 0;
}

/* Finds the speakers that the question names, and the stems that are names. */
static void find_names(struct ranking *ranking, const struct word_list *list)
{
    for (size_t i = 0; i < ranking->scope->count; i++) {
        const struct image *image = &ranking->scope->images[i];
        for (uint32_t s = 0; s < image->counts.speakers; s++) {
            struct name_walk walk = {.question = &ranking->question, .list = list};
            ranked_words_each(image_speaker(image, s), add_name_stem, &walk);
            ranking->named[ranking->bases[i].speaker + s] = walk.named;
        }
    }
}

/* ---- where stems occur ----------------------------------------------------------------------- */

/* Postings of an image whose matches are of one stem of the question. */
struct forms {
    struct ethos_view postings[RANKER_FORMS];
    size_t count;
};

/* Forms of other languages are looked for among the stems that begin like the word. */
struct form_walk {
    struct ranking *ranking;
    const struct question_stem *stem;
    const struct image *image;
    struct forms *forms;
};

static int add_form(void *arg, struct ethos_view stem, size_t bytes)
{
    struct form_walk *walk = arg;
    struct image_stem found;
    (void)bytes;
    if (walk->forms->count == RANKER_FORMS)
        return 1;
    if (!view_eq(stem, view_of(walk->stem->text, walk->stem->size)) &&
        snowball_same(walk->ranking->scope->languages, view_str(walk->stem->word), stem) &&
        image_find_stem(walk->image, stem, &found))
        walk->forms->postings[walk->forms->count++] = found.postings;
    return 0;
}

static void find_forms(struct ranking *ranking, size_t image, struct question_stem *stem,
                       struct forms *out)
{
    struct image_stem found;
    struct form_walk walk = {ranking, stem, &ranking->scope->images[image], out};
    struct ethos_view word = view_str(stem->word);
    out->count = 0;
    if (image_find_stem(walk.image, view_of(stem->text, stem->size), &found)) {
        out->postings[out->count++] = found.postings;
        stem->numbers[image] = found.number + 1;
    }
    word.size = word.size < FORM_START ? word.size : FORM_START;
    if (ranking->scope->languages && word.size == FORM_START)
        image_each_stem_from(walk.image, word, add_form, &walk);
}

/* The matches of one image, behind those that are there. */
static void add_matches(const struct ranking *ranking, size_t image, struct ethos_view postings,
                        struct question_stem *stem)
{
    const struct image *from = &ranking->scope->images[image];
    const struct base *base = &ranking->bases[image];
    struct image_postings walk = image_postings_of(from, postings);
    uint32_t document = 0;
    while (image_next_posting(&walk)) {
        const struct image_passage *passage = &from->passages[walk.passage];
        while (passage->unit >= image_units_end(from, document))
            document++;
        if (image_is_gone(from, document))
            continue;
        stem->matches[stem->count++] = (struct match){.passage = base->passage + walk.passage,
                                                      .unit = base->unit + passage->unit,
                                                      .group = base->group +
                                                               from->documents[document].group,
                                                      .count = walk.count,
                                                      .words = passage->words,
                                                      .flags = from->units[passage->unit].flags};
    }
}

static int compare_matches(const void *a, const void *b)
{
    const struct match *x = a, *y = b;
    return (x->passage > y->passage) - (x->passage < y->passage);
}

/* Several forms in one passage count together. */
static void join_matches(struct question_stem *stem, size_t first)
{
    size_t count = first;
    qsort(stem->matches + first, stem->count - first, sizeof *stem->matches, compare_matches);
    for (size_t i = first; i < stem->count; i++) {
        if (count > first && stem->matches[count - 1].passage == stem->matches[i].passage)
            stem->matches[count - 1].count += stem->matches[i].count;
        else
            stem->matches[count++] = stem->matches[i];
    }
    stem->count = count;
}

static void count_units(struct question_stem *stem)
{
    for (size_t i = 0; i < stem->count; i++)
        stem->units += i == 0 || stem->matches[i].unit != stem->matches[i - 1].unit;
}

static int find_matches(struct ranking *ranking, struct question_stem *stem)
{
    size_t count = ranking->scope->count, bytes = 0;
    struct forms *forms = arena_array(ranking->arena, count + 1, sizeof *forms);
    stem->numbers = arena_array(ranking->arena, count + 1, sizeof *stem->numbers);
    if (!forms || !stem->numbers)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < count; i++) {
        find_forms(ranking, i, stem, &forms[i]);
        for (size_t f = 0; f < forms[i].count; f++)
            bytes += forms[i].postings[f].size; // each posting has at least one
    }
    stem->matches = arena_array(ranking->arena, bytes + 1, sizeof *stem->matches);
    if (!stem->matches)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < count; i++) {
        size_t first = stem->count;
        for (size_t f = 0; f < forms[i].count; f++)
            add_matches(ranking, i, forms[i].postings[f], stem);
        if (forms[i].count > 1)
            join_matches(stem, first);
    }
    count_units(stem);
    if (stem->units > 0)
        stem->idf = ranking_idf(ranking->live.unit, stem->units);
    stem->weight = ranking_idf(ranking->live.unit, stem->units > 0 ? stem->units : 1);
    ranking->question.weight += stem->weight;
    return ETHOS_OK;
}

static bool has_pair(const struct question *question, size_t first, size_t second)
{
    for (size_t i = 0; i < question->pair_count; i++)
        if (question->pairs[i].first == first && question->pairs[i].second == second)
            return true;
    return false;
}

/* Neighbouring words of the question, both of which occur somewhere. */
static void find_pairs(struct question *question)
{
    for (size_t i = 0; i + 1 < question->word_count; i++) {
        size_t first = question->words[i], second = question->words[i + 1];
        if (first == second || question->stems[first].units == 0 ||
            question->stems[second].units == 0 || has_pair(question, first, second))
            continue;
        double weight = (question->stems[first].idf + question->stems[second].idf) / 2;
        question->pairs[question->pair_count++] = (struct question_pair){first, second, weight};
        question->pair_weight += weight;
    }
}

int ranking_read_question(struct ranking *ranking, struct ethos_view text)
{
    struct question *question = &ranking->question;
    struct word_list *list = arena_alloc(ranking->arena, sizeof *list);
    question->stems = arena_array(ranking->arena, RANKER_MAX_STEMS, sizeof *question->stems);
    if (!list || !question->stems)
        return ETHOS_NOMEM;
    list->only_stop = true;
    question_find_facts(text, &question->facts);
    ranked_words_each(text, add_question_word, list);
    add_stems(question, list);
    find_names(ranking, list);
    for (size_t i = 0; i < question->count; i++) {
        int code = find_matches(ranking, &question->stems[i]);
        if (code != ETHOS_OK)
            return code;
    }
    find_pairs(question);
    return ETHOS_OK;
}

/* Of each word as it is asked, else of its stem. */
void ranking_find_rows(struct ranking *ranking)
{
    const struct word_table *table = &ranking->with.model->table;
    for (size_t i = 0; i < ranking->question.count; i++) {
        struct question_stem *stem = &ranking->question.stems[i];
        stem->stem_row = word_table_find_stem(table, view_of(stem->text, stem->size));
        stem->row = word_table_find(table, view_str(stem->word));
        if (stem->row == 0)
            stem->row = stem->stem_row;
    }
}
