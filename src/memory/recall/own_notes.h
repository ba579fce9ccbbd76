/*
 * own_notes.h: how well recall finds a person's own notes.
 *
 * The hook of each note, or its title, is a question, and the note the answer. Titles and hooks are not searched, so
 * what is found is found by the text alone.
 */
#ifndef ETHOS_MEMORY_RECALL_OWN_NOTES_H
#define ETHOS_MEMORY_RECALL_OWN_NOTES_H

#include <ethos/ethos.h>

#include "recall/measure.h"

/* Of the notes that the turn sees. Those that cannot be read are left out. */
int recall_own_notes(struct ethos_turn *turn, struct recall_measure *out,
                     struct ethos_error *error);

#endif
