/*
 * question.h: what kind of answer a question asks for, besides its words.
 *
 * English cues, matched as whole words in the question in lower case.
 */
#ifndef ETHOS_CORE_SEARCH_QUESTION_H
#define ETHOS_CORE_SEARCH_QUESTION_H

#include <stdbool.h>

#include <ethos/types.h>

#define QUESTION_MAX_YEARS 8

struct question_facts {
    bool when;       /* asks for a time */
    bool who;        /* for a name */
    bool where;      /* for a place */
    bool number;     /* how many, how much, how old, how long, how often */
    bool work;       /* names a book, a film or the like */
    bool recent;     /* for the present state */
    bool first;      /* for the first time, or the beginning */
    unsigned months; /* months named: bit 1 is January */
    unsigned day;    /* day named with a month; 0: none */
    unsigned years[QUESTION_MAX_YEARS], year_count;
};

void question_find_facts(struct ethos_view question, struct question_facts *out);

/*
 * Whether a date matches the months and years that the question names, of which there is at least
 * one.
 */
bool question_names_date(const struct question_facts *facts, unsigned year, unsigned month);

#endif
