/*
 * rows.h: what the parts of the store over a database share. Private to rows*.c.
 *
 *     rows.c          life; what goes straight through; trying again when a version moved
 *     rows_batch.c    update and batch
 *     rows_history.c  describing a change; history and version
 *     rows_conflict_copies.c   conflict copies, and texts that were met beside a key
 *     rows_purge.c    purge
 *     rows_import_commits.c    graft
 *
 * All that changes a scope is a round: fetch, work out, commit. A round that returns ETHOS_CONFLICT came too
 * late and is made again from the start.
 */
#ifndef ETHOS_STORE_ROWS_H
#define ETHOS_STORE_ROWS_H

#include <stdbool.h>

#include <ethos/limits.h>

#include "base/arena.h"
#include "store/decorator.h"

#define ROWS_FIRST 8              /* rows asked for at first: most want the newest, */
#define ROWS_PAGE 128             /* and afterwards */
#define ROWS_PAGE_BYTES (1 << 22) /* bytes of diffs with which a page of history is full */
#define ROWS_WHOLE_BITS 6         /* one row in 2^6 keeps its text whole */

struct str;

struct rows {
    struct wrap wrap;
    uint32_t deadline_ms;
    struct {
        char scope[ETHOS_MAX_SCOPE];
        uint64_t number;
    } near; /* the row by which a version was found last */
};

static inline int64_t rows_now_ms(const struct rows *self)
{
    return self->wrap.host->now_ms(self->wrap.host->arg);
}

/* ---- rows.c -------------------------------------------------------------------------------- */

/* Until it returns something else than ETHOS_CONFLICT; ETHOS_BUSY when that takes too long. */
typedef int rows_round_fn(void *arg, struct ethos_error *error);
int rows_repeat(const struct rows *self, const char *scope, rows_round_fn *round, void *arg,
                struct ethos_error *error);

/* Commits under a token of its own; `next` follows from the rows, those that replace others apart. */
int rows_commit(const struct rows *self, const char *scope, struct ethos_commit *commit,
                struct ethos_error *error);

/* ---- rows_batch.c -------------------------------------------------------------------------- */

int rows_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits, size_t count,
                ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                struct ethos_error *error);
void rows_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                size_t count);

/* ---- rows_history.c ------------------------------------------------------------------------ */

/*
 * Completes a row whose change says number, key and who: sizes, the diff (in the arena) and, where it is
 * wanted, the text after (not copied); revisions that are NULL are made. ETHOS_OK or ETHOS_NOMEM.
 */
int rows_describe(struct ethos_view before, struct ethos_view after, struct arena *arena,
                  struct ethos_row *row);

/*
 * The text after a row, given that before it: out becomes it, and *out_known says whether it is the one
 * that the row names. ETHOS_OK or ETHOS_NOMEM.
 */
int rows_follow(const struct ethos_row *row, struct ethos_view before, struct str *out,
                bool *out_known);

/* Every row of a key (NULL: of all), newest first, page by page. each must not call the store. */
int rows_each(const struct rows *self, const char *scope, const char *key, ethos_row_fn *each,
              void *arg, struct ethos_error *error);

int rows_history(struct ethos_store *self, const char *scope, const char *key,
                 ethos_change_fn *each, void *arg, struct ethos_error *error);
int rows_version(struct ethos_store *self, const char *scope, const char *key, const char *revision,
                 struct ethos_text *out_text, struct ethos_error *error);

/* ---- rows_conflict_copies.c ------------------------------------------------------------------------- */

int rows_set_aside(struct ethos_store *self, const char *scope, const char *key,
                   struct ethos_view text, struct ethos_error *error);
int rows_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each, void *arg,
                   struct ethos_error *error);
int rows_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                       struct ethos_text *out_text, struct ethos_error *error);
int rows_conflict_drop(struct ethos_store *self, const char *scope, const char *id,
                       struct ethos_error *error);
int rows_keep(struct ethos_store *self, const char *scope, const char *key, struct ethos_view text,
              struct ethos_error *error);

/* ---- rows_purge.c -------------------------------------------------------------------------- */

int rows_purge(struct ethos_store *self, const char *scope, const struct ethos_match *match,
               int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
               struct ethos_error *error);

/* ---- rows_import_commits.c -------------------------------------------------------------------------- */

int rows_graft(struct ethos_store *self, const char *scope, const struct ethos_commit *commit,
               struct ethos_error *error);

#endif
