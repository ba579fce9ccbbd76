/*
 * check.h: checks whether the notes of a scope still hold.
 *
 * Files are searched below the workspace of the turn, and only for notes of that workspace: for
 * other notes nobody can say which folder a path means, so paths and names are not looked up.
 * Nothing is executed, and nothing outside the named files is read (reference_lookup.h). Findings
 * are recorded in the home's state, so that a prefetch receipt and a list can repeat them without
 * opening notes.
 */
#ifndef ETHOS_MEMORY_NOTES_CHECK_H
#define ETHOS_MEMORY_NOTES_CHECK_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/json.h"

/*
 * A finding. kind: "path", "symbol", "date", "link", "expired", "old", "unlisted", "missing",
 * "double", "duplicate", "near-duplicate"; "unchecked" for what could not be checked (a note that
 * cannot be read or is too large, an exceeded limit; key may be ""). line: in the note, or in the
 * index for the three about it; 0: none. fixed: --fix has fixed it.
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
    bool fix;          /* fix index lines, of all notes; nothing else can be fixed safely */
    bool confirm;      /* a person has checked the named note: it is verified today */
};

struct notes_checked {
    uint64_t notes, claims, findings, fixed, verified;
};

/*
 * Reports notes that cannot be read, then problems of the index, then each note by key and line,
 * then duplicates. Notes with a head are marked with today's date as `verified` if all of their
 * files, names and links were looked up and hold, and no date has passed. With ETHOS_SYNC_DRY_RUN
 * nothing is written, not even the record. how, each and arg may be NULL.
 */
int notes_check(struct ethos_turn *turn, const struct notes_check *what,
                const struct ethos_sync_how *how, note_finding_fn *each, void *arg,
                struct notes_checked *out, struct ethos_error *error);

/*
 * The findings of the last check: [{key, kind, line, text}], an empty array if there was none.
 * Beyond NOTES_CHECK_KEPT findings the last row has the kind "more" and says how many were left
 * out.
 */
#define NOTES_CHECK_KEPT 300
int notes_check_last(struct ethos_turn *turn, const char *scope, json_t **out_rows,
                     struct ethos_error *error);

/* Removes the record, when texts of the scope are purged. */
int notes_check_forget(struct ethos_turn *turn, const char *scope, struct ethos_error *error);

/*
 * Why a note is stale, into out ("" if it is not): `expires` has passed, or `verified` (else
 * `created`, else mtime) is older than notes.staleDays.
 */
#define NOTES_STALE_SIZE 96
void notes_stale(struct ethos_view expires, struct ethos_view verified, struct ethos_view created,
                 int64_t mtime_ms, int64_t now_ms, int64_t stale_days, char out[NOTES_STALE_SIZE]);

#endif
