/*
 * own_notes.h: measures how well recall finds a person's own notes.
 *
 * The hook of each note, or its title, is the question, and the note the answer. Titles and hooks
 * are not indexed, so that only the text can match.
 */
#ifndef ETHOS_MEMORY_RECALL_OWN_NOTES_H
#define ETHOS_MEMORY_RECALL_OWN_NOTES_H

#include <ethos/ethos.h>

#include "recall/measure.h"

/* Measures the notes that the turn sees. Unreadable ones are left out. */
int recall_own_notes(struct ethos_turn *turn, struct recall_measure *out,
                     struct ethos_error *error);

#endif
