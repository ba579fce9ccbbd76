/*
 * check.h: does what the notes of a scope claim still hold?
 *
 * Files are looked for below the workspace of the turn, and only for the notes of that workspace:
 * elsewhere nobody can say which folder a path means, so there paths and names are not looked up.
 * Nothing is executed, nothing outside the named files is read (reference_lookup.h). What was found is
 * recorded beside the home's other state, so that a prefetch receipt and a list can repeat it
 * without opening a note.
 */
#ifndef ETHOS_MEMORY_NOTES_CHECK_H
#define ETHOS_MEMORY_NOTES_CHECK_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/json.h"

/*
 * One thing that does not hold. kind: "path", "symbol", "date", "link", "expired", "old",
 * "unlisted", "missing", "double", "duplicate", "near-duplicate"; "unchecked" for what could not be
 * looked at (a note that cannot be read or is too large, a limit that was reached; key may be "").
 * line: in the note, or in the index for the three about it; 0: none. fixed: --fix mended it.
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
    bool fix;          /* index lines, of all notes; nothing else is safe */
    bool confirm;      /* somebody looked: the named note is verified today */
};

struct notes_checked {
    uint64_t notes, claims, findings, fixed, verified;
};

/*
 * Told are notes that cannot be read, then what is wrong with the index, then each note by key and
 * line, then notes that say the same. Notes with a head whose files, names and links were looked up
 * and all hold, and no date of which has passed, get today as `verified`. With the flag
 * ETHOS_SYNC_DRY_RUN nothing is written, the record included. how, each and arg may be NULL.
 */
int notes_check(struct ethos_turn *turn, const struct notes_check *what,
                const struct ethos_sync_how *how, note_finding_fn *each, void *arg,
                struct notes_checked *out, struct ethos_error *error);

/*
 * What the last check recorded: [{key, kind, line, text}], an empty array when there was none. Of
 * more than NOTES_CHECK_KEPT findings the last row has the kind "more" and says how many were left
 * out.
 */
#define NOTES_CHECK_KEPT 300
int notes_check_last(struct ethos_turn *turn, const char *scope, json_t **out_rows,
                     struct ethos_error *error);

/* Takes the record away: for those who make a scope forget what it says. */
int notes_check_forget(struct ethos_turn *turn, const char *scope, struct ethos_error *error);

/*
 * Why a note is stale, into out ("" when it is not): `expires` has passed, or `verified` (else
 * `created`, else mtime) is older than notes.staleDays.
 */
#define NOTES_STALE_SIZE 96
void notes_stale(struct ethos_view expires, struct ethos_view verified, struct ethos_view created,
                 int64_t mtime_ms, int64_t now_ms, int64_t stale_days, char out[NOTES_STALE_SIZE]);

#endif
