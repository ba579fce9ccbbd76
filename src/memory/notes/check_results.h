/*
 * check_results.h: what the last check of a scope found, in .mem/checks-<scope>.json of the root.
 * Private to src/memory.
 */
#ifndef ETHOS_MEMORY_NOTES_CHECK_RESULTS_H
#define ETHOS_MEMORY_NOTES_CHECK_RESULTS_H

#include "base/json.h"
#include "memory/notes/check.h"

/* Findings on their way to the record. */
struct notes_record {
    json_t *rows;  /* NULL after running out of memory */
    uint64_t more; /* findings that were not kept */
};

void notes_record_init(struct notes_record *self);
void notes_record_release(struct notes_record *self);

void notes_record_add(struct notes_record *self, const struct note_finding *finding);

/*
 * Replaces the record of a scope, or with key only what it says about that note. Makes nothing
 * where there is nothing to say and no record.
 */
int notes_record_write(struct ethos_turn *turn, const char *scope, const char *key,
                       struct notes_record *self, struct ethos_error *error);

#endif
