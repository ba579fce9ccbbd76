/*
 * ranker_internal.h: the state of ranking a question. Private to src/recall.
 */
#ifndef ETHOS_RECALL_RANKER_INTERNAL_H
#define ETHOS_RECALL_RANKER_INTERNAL_H

#include "base/arena.h"
#include "core/search/question.h"
#include "core/search/words.h"
#include "recall/ranker.h"

/* The numbers that docs/internals/recall.md has. */
enum feature {
    F_BM25,
    F_BM25_PREV,
    F_BM25_NEXT,
    F_BM25_PREV2,
    F_BM25_NEXT2,
    F_BM25_WINDOW,
    F_BM25_SESSION,
    F_WORDS,
    F_WORDS_PREV,
    F_WORDS_NEXT,
    F_RELATED,
    F_RELATED_PREV,
    F_RELATED_NEXT,
    F_COVERAGE,
    F_PREV_QUESTION,
    F_SPEAKER_NAMED,
    F_TIME_WHEN = 17,
    F_TIME,
    F_ASKS,
    F_LOG_LENGTH,
    F_ROLE_USER,
    F_TOKENS,
    F_TOKENS_PREV,
    F_TOKENS_NEXT,
    F_WHOLE,
    F_WHOLE_PREV,
    F_WHOLE_NEXT,
    F_CAPITALISED_WHO,
    F_CAPITALISED_WHERE,
    F_NUMBER_HOW_MANY,
    F_TITLE_WORK,
    F_DATE_MONTH_YEAR,
    F_DATE_DAY,
    F_CAPITALISED,
    F_FIRST_PERSON,
    F_FIRST_PERSON_SPEAKER,
    F_SECOND_PERSON,
    F_SECOND_PERSON_SPEAKER,
    F_EXCLAIMS,
    F_RECENT = 41,
    F_FIRST,
    F_PAIRS
};

/* A passage of the scope that contains a stem. */
struct match {
    uint32_t passage, unit, group; /* numbers within the scope */
    uint32_t count;
    uint16_t words; /* of the passage */
    uint16_t flags; /* of the unit */
};

struct question_stem {
    char text[WORDS_MAX + 1];
    size_t size;
    const char *word;  /* words of the question with this stem */
    uint32_t row;      /* row of that word in the table of words, else of its stem; or 0 */
    uint32_t stem_row; /* of its stem; or 0 */
    bool is_name;      /* stem of a speaker's name */
    uint32_t *numbers; /* by image: its number there, + 1 */
    struct match *matches;
    size_t count;
    uint32_t units; /* that hold it */
    double idf;     /* inverse frequency among units; 0 if none contains it */
    double weight;  /* likewise, counted as 1 if none contains it */
};

struct question_pair {
    size_t first, second; /* of the stems */
    double weight;
};

struct question {
    struct question_facts facts;
    struct question_stem *stems;
    size_t count;
    size_t words[RANKER_MAX_STEMS]; /* the words in order, as indexes of their stems */
    size_t word_count;
    struct question_pair pairs[RANKER_MAX_STEMS];
    size_t pair_count;
    double pair_weight; /* of all of them */
    double weight;      /* of all stems */
};

/* How many of each kind precede an image. */
struct base {
    uint32_t unit, passage, group, speaker;
};

/* Mean and deviation of a feature over all units. */
struct standard {
    double mean, deviation;
};

struct held_passage {
    uint32_t passage, unit;
};

struct ranking {
    const struct ranker_scope *scope;
    struct ranker_meaning with;
    struct arena *arena;
    struct base *bases; /* one per image, and one after the last */
    struct base total;
    struct base live;       /* of total, those that are searched; without speakers */
    struct image_sums sums; /* of those */
    struct question question;
    bool *named;    /* by speaker: the question names it */
    bool all_dated; /* every unit matches the months and years of the question */
    /* by passage */
    float *passage_bm25;
    float *passage_held;       /* share of the question's weight in it */
    struct held_passage *held; /* those that contain any stem */
    size_t held_count;
    /* by unit */
    float *bm25, *coverage, *window;
    float *window_words; /* 0: not yet counted */
    /* by session */
    double *session;
    uint32_t *session_words;
    /* for the stem being counted, by unit or by session */
    uint32_t *quarters; /* its count in a session; four times that in a window */
    uint32_t *touched;  /* where it is not 0 */
    size_t touched_count;
    struct meaning *meaning;                    /* NULL: without a model */
    struct standard standards[RANKER_FEATURES]; /* of the standardised features */
};

/* A unit of the scope. */
struct unit_place {
    const struct image *image;
    const struct image_unit *row;
    uint32_t number; /* in the scope */
    uint32_t unit;   /* in the image */
    uint32_t which;  /* index of the image */
};

struct unit_place ranking_place(const struct ranking *ranking, uint32_t number);

double ranking_idf(double rows, double having);

/*
 * ranker_question.c: reads the stems, pairs and facts of a question, and where its stems occur.
 * ETHOS_OK or ETHOS_NOMEM.
 */
int ranking_read_question(struct ranking *ranking, struct ethos_view text);

/* The rows of its stems in the table of words. */
void ranking_find_rows(struct ranking *ranking);

/* ranker_match.c: counts over the whole scope. */
void ranking_count(struct ranking *ranking);

/* The standardised value of a feature. */
static inline double ranking_standard(const struct ranking *ranking, enum feature feature,
                                      double value)
{
    const struct standard *standard = &ranking->standards[feature];
    return (value - standard->mean) / standard->deviation;
}

/* Mean and deviation from sums over `count` values. */
struct standard ranking_standard_of(double sum, double squares, double count);

/* ranker_meaning.c: compares the meaning of the question and the units. ETHOS_OK or ETHOS_NOMEM. */
int ranking_read_meaning(struct ranking *ranking, struct ethos_view text);

/* Candidates by meaning: the similarity of a unit's words, and of the whole; 0 if unknown. */
double ranking_related(const struct ranking *ranking, uint32_t unit);
double ranking_whole(const struct ranking *ranking, uint32_t unit);

/* Features of a unit: 10 to 12 and 25 to 27, and the expensive ones, 7 to 9 and 22 to 24. */
void ranking_set_known(const struct ranking *ranking, const struct unit_place *place,
                       double features[RANKER_FEATURES]);
void ranking_set_compared(const struct ranking *ranking, const struct unit_place *place,
                          double features[RANKER_FEATURES]);

#endif
