/*
 * growing_transcript.h: random transcripts of other programs, as they grow: conversations, with everything in them
 * that a reader must not take for one. The same seed gives the same text.
 */
#ifndef TESTS_SUPPORT_GROWING_TRANSCRIPT_H
#define TESTS_SUPPORT_GROWING_TRANSCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define GROW_MAX 4096 /* lines that others may follow */

struct grow {
    uint64_t seed;
    bool codex;
    unsigned odd;    /* in a thousand: how often a line is none that a program writes as a rule */
    struct str text; /* all of it; may end in the middle of a line */
    /* claude-code: the lines by number, from 1, */
    unsigned up[GROW_MAX], count;
    bool question[GROW_MAX];
    unsigned leaf;                                   /* and the one that was written last */
    unsigned calls[GROW_MAX], call_count, call_next; /* without result so far */
    unsigned answers, session;
    int64_t ms, tokens;
};

void grow_init(struct grow *self, uint64_t seed, bool codex);
void grow_release(struct grow *self);

/* A number below `below`. */
unsigned grow_pick(struct grow *self, unsigned below);

/* Appends a few lines. */
void grow_more(struct grow *self);

#endif
