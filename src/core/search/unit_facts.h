/*
 * unit_facts.h: properties of a text for ranking that do not depend on the question.
 *
 * Determined from ASCII letters, digits and punctuation, in one pass. The head of a text is its
 * first passage (PASSAGE_MAX characters).
 */
#ifndef ETHOS_CORE_SEARCH_UNIT_FACTS_H
#define ETHOS_CORE_SEARCH_UNIT_FACTS_H

#include <stdbool.h>

#include <ethos/types.h>

#define UNIT_FACTS_CAPITALISED_MAX 3

struct unit_facts {
    uint32_t chars; /* code points */
    bool time;      /* contains a time expression: yesterday, May, 2023, 3 weeks */
    bool asks;      /* contains a question mark */
    bool exclaims;  /* the head contains an exclamation mark */
    bool number;    /* the head contains a number, in digits or as a word */
    bool title;     /* the head contains a title in quotation marks */
    unsigned
        capitalised; /* capitalised words within a sentence of the head, counted up to the maximum */
    unsigned first_person; /* I, my, we, ... in the head */
    unsigned second_person;
    unsigned head_words; /* runs of a-z and apostrophes in the head */
};

void unit_facts_find(struct ethos_view text, struct unit_facts *out);

#endif
