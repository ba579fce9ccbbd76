/*
 * notes_check.h: does what the notes of a scope claim still hold?
 *
 * Files are looked for below the workspace; nothing is executed, nothing outside the named files is
 * read. What was found is recorded beside the home's other state, so that a prefetch receipt and a
 * list can repeat it without opening a note.
 */
#ifndef ETHOS_MEMORY_NOTES_CHECK_H
#define ETHOS_MEMORY_NOTES_CHECK_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/json.h"

/*
 * One thing that does not hold. kind: "path", "symbol", "date", "link", "expired", "old", "unlisted",
 * "missing", "double", "duplicate", "near-duplicate". line: in the note, or in the index for the three
 * about it; 0: none. fixed: --fix mended it.
 */
struct note_finding {
    const char *key;
    const char *kind;
    uint64_t line;
    const char *text; /* one sentence */
    bool fixed;
};

typedef void note_finding_fn(void *arg, const struct note_finding *finding);

struct notes_check {
    const char *scope; /* NULL: the workspace */
    const char *name;  /* one note, or NULL: all */
    bool fix;          /* index lines; nothing else is safe */
    bool confirm;      /* somebody looked: the named note is verified today */
};

struct notes_checked {
    uint64_t notes, claims, findings, fixed, verified;
};

/* Notes whose claims were looked up and all hold get today as `verified`. */
int notes_check(struct ethos_turn *turn, const struct notes_check *what,
                const struct ethos_sync_how *how, note_finding_fn *each, void *arg,
                struct notes_checked *out, struct ethos_error *error);

/* What the last check recorded: [{key, kind, line, text}], an empty array when there was none. */
int notes_check_last(struct ethos_turn *turn, const char *scope, json_t **out_rows,
                     struct ethos_error *error);

/*
 * Why a note is stale, into out ("" when it is not): `expires` has passed, or `verified` (else
 * `created`, else mtime) is older than notes.staleDays.
 */
#define NOTES_STALE_SIZE 96
void notes_stale(struct ethos_view expires, struct ethos_view verified, struct ethos_view created,
                 int64_t mtime_ms, int64_t now_ms, int64_t stale_days, char out[NOTES_STALE_SIZE]);

#endif
