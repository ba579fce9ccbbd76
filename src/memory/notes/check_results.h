/*
 * check_results.h: the findings of the last check of a scope, in .mem/checks-<scope>.json of the
 * root. Private to src/memory.
 */
#ifndef ETHOS_MEMORY_NOTES_CHECK_RESULTS_H
#define ETHOS_MEMORY_NOTES_CHECK_RESULTS_H

#include "base/json.h"
#include "memory/notes/check.h"

/* Findings to be recorded. */
struct notes_record {
    json_t *rows;  /* NULL after running out of memory */
    uint64_t more; /* findings that were dropped */
};

void notes_record_init(struct notes_record *self);
void notes_record_release(struct notes_record *self);

void notes_record_add(struct notes_record *self, const struct note_finding *finding);

/*
 * Replaces the record of a scope, or with key only the rows of that note. Creates nothing if there
 * are neither rows nor a record.
 */
int notes_record_write(struct ethos_turn *turn, const char *scope, const char *key,
                       struct notes_record *self, struct ethos_error *error);

#endif
