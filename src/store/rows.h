/*
 * rows.h: shared by the parts of the store over a database.
 *
 *     rows.c                   life; forwarded slots; retries when a version moved
 *     rows_batch.c             update and batch
 *     rows_history.c           describes a change; history and version
 *     rows_conflict_copies.c   conflict copies, and versions added to a key
 *     rows_purge.c             purge
 *     rows_import_commits.c    changes of another store (the slot graft)
 *
 * Everything that changes a scope is a round: fetch, compute, commit. A round that returns
 * ETHOS_CONFLICT came too late and is repeated from the start.
 */
#ifndef ETHOS_STORE_ROWS_H
#define ETHOS_STORE_ROWS_H

#include <stdbool.h>

#include <ethos/limits.h>

#include "base/arena.h"
#include "store/decorator.h"

#define ROWS_FIRST 8              /* rows to ask for first: most callers want the newest */
#define ROWS_PAGE 128             /* and afterwards */
#define ROWS_PAGE_BYTES (1 << 22) /* bytes of diffs with which a page of history is full */
#define ROWS_WHOLE_BITS 6         /* one row in 2^6 keeps its text whole */

struct str;

struct rows_store {
    struct store_wrapper wrap;
    uint32_t deadline_ms;
    struct {
        char scope[ETHOS_MAX_SCOPE];
        uint64_t number;
    } near; /* the row of the version that was found last */
};

static inline int64_t rows_now_ms(const struct rows_store *self)
{
    return self->wrap.host->now_ms(self->wrap.host->arg);
}

/* ---- rows.c -------------------------------------------------------------------------------- */

/*
 * Repeats a round until it returns something else than ETHOS_CONFLICT; ETHOS_BUSY when that takes
 * too long.
 */
typedef int rows_round_fn(void *arg, struct ethos_error *error);
int rows_retry(const struct rows_store *self, const char *scope, rows_round_fn *round, void *arg,
               struct ethos_error *error);

/* Commits with a new token; sets next, token and time. */
int rows_commit(const struct rows_store *self, const char *scope, struct ethos_commit *commit,
                struct ethos_error *error);

/* ---- rows_batch.c -------------------------------------------------------------------------- */

int rows_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits, size_t count,
                ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                struct ethos_error *error);
void rows_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                size_t count);

/* ---- rows_history.c ------------------------------------------------------------------------ */

/*
 * Completes a row whose change has number, key and origin: sizes, the diff (in the arena) and,
 * where it is stored, the text after (not copied); revisions that are NULL are made. ETHOS_OK or
 * ETHOS_NOMEM.
 */
int rows_describe_row(struct ethos_view before, struct ethos_view after, struct arena *arena,
                      struct ethos_row *row);

/*
 * Makes the text after a row from the text before it; *out_known: it has the revision that the row
 * names. ETHOS_OK or ETHOS_NOMEM.
 */
int rows_apply_row(const struct ethos_row *row, struct ethos_view before, struct str *out,
                   bool *out_known);

/* Every row of a key (NULL: of all), newest first, page by page. each must not call the store. */
int rows_for_each(const struct rows_store *self, const char *scope, const char *key,
                  ethos_row_fn *each, void *arg, struct ethos_error *error);

int rows_history(struct ethos_store *self, const char *scope, const char *key,
                 ethos_change_fn *each, void *arg, struct ethos_error *error);
int rows_version(struct ethos_store *self, const char *scope, const char *key, const char *revision,
                 struct ethos_text *out_text, struct ethos_error *error);

/*
 * ---- rows_conflict_copies.c
 * -------------------------------------------------------------------------
 */

int rows_add_conflict_copy(struct ethos_store *self, const char *scope, const char *key,
                           struct ethos_view text, struct ethos_error *error);
int rows_list_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each,
                        void *arg, struct ethos_error *error);
int rows_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                       struct ethos_text *out_text, struct ethos_error *error);
int rows_conflict_remove(struct ethos_store *self, const char *scope, const char *id,
                         struct ethos_error *error);
int rows_add_version(struct ethos_store *self, const char *scope, const char *key,
                     struct ethos_view text, struct ethos_error *error);

/* ---- rows_purge.c -------------------------------------------------------------------------- */

int rows_purge(struct ethos_store *self, const char *scope, const struct ethos_match *match,
               int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
               struct ethos_error *error);

/*
 * ---- rows_import_commits.c
 * --------------------------------------------------------------------------
 */

int rows_import_commits(struct ethos_store *self, const char *scope,
                        const struct ethos_commit *commit, struct ethos_error *error);

#endif
