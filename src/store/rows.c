/*
 * rows.c: makes a whole store of a database that has fetch and commit.
 *
 * Nothing is locked: an update fetches, computes the changes, and commits them on condition that
 * the scope still has the version that was fetched. If another program changed it first, it starts again
 * after a short random pause.
 */
#include "store/rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "store/store.h"
#include "store/update_steps.h"

#define PAUSE_MS 64 /* the longest between two tries */
#define TOKEN_BYTES 16
#define DAY_MS 86400000
#define FORGET_EVERY 256 /* versions between two times that operation ids are forgotten */

/* ---- trying again --------------------------------------------------------------------------- */

/* Up to 1, 3, 7, ... ms. */
static void pause_randomly(unsigned tries)
{
    unsigned most = tries < 6 ? 2u << tries : PAUSE_MS;
    unsigned char random = 0;
    os_random(&random, sizeof random); // without it: no pause
    os_sleep_ms(random % most);
}

static int keeps_changing(const char *scope, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_BUSY, "%s: others keep changing it", scope);
    return err_hint(error, code, "try again");
}

int rows_retry(const struct rows_store *self, const char *scope, rows_round_fn *round, void *arg,
               struct ethos_error *error)
{
    int64_t deadline = os_monotonic_ms() + self->deadline_ms;
    int code = round(arg, error);
    for (unsigned tries = 0; code == ETHOS_CONFLICT; tries++) {
        if (os_monotonic_ms() >= deadline)
            return keeps_changing(scope, error);
        pause_randomly(tries);
        code = round(arg, error);
    }
    return code;
}

/* ---- committing ----------------------------------------------------------------------------- */

static int make_commit_token(char out[2 * TOKEN_BYTES + 1], struct ethos_error *error)
{
    unsigned char random[TOKEN_BYTES];
    if (os_random(random, sizeof random) != 0)
        return err_errno(error, errno, "random numbers");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    return ETHOS_OK;
}

/* The version after a commit: at least one more, and the highest row number. */
static uint64_t next_version(const struct ethos_commit *commit)
{
    uint64_t next = commit->version + 1;
    for (size_t i = 0; i < commit->row_count; i++) {
        if (commit->rows[i].change.number > next)
            next = commit->rows[i].change.number;
    }
    return next;
}

/* Lets old operation ids be forgotten now and then, unless the clock was never set. */
static void set_forget_time(struct ethos_commit *commit)
{
    int64_t before_ms = commit->time_ms - (int64_t)ETHOS_OPID_DAYS * DAY_MS;
    if (commit->version / FORGET_EVERY == commit->next / FORGET_EVERY || before_ms <= 0)
        return;
    commit->forget_ms = before_ms;
    commit->keep = ETHOS_OPID_COUNT;
}

int rows_commit(const struct rows_store *self, const char *scope, struct ethos_commit *commit,
                struct ethos_error *error)
{
    struct ethos_store *inner = self->wrap.inner;
    char token[2 * TOKEN_BYTES + 1];
    TRY(make_commit_token(token, error));
    commit->next = next_version(commit);
    commit->token = token;
    commit->time_ms = rows_now_ms(self);
    set_forget_time(commit);
    return inner->ops->commit(inner, scope, commit, error);
}

/* ---- one key -------------------------------------------------------------------------------- */

static int rows_write(struct ethos_store *self, const char *scope, const char *key,
                      const char *expect, struct ethos_view text, const struct ethos_origin *origin,
                      char out_revision[ETHOS_REVISION_SIZE], struct ethos_error *error)
{
    return edit_compare_and_swap(((struct store_wrapper *)self)->host, rows_update, self, scope,
                                 key, expect, &text, origin, out_revision, error);
}

static int rows_remove(struct ethos_store *self, const char *scope, const char *key,
                       const char *expect, const struct ethos_origin *origin,
                       struct ethos_error *error)
{
    return edit_compare_and_swap(((struct store_wrapper *)self)->host, rows_update, self, scope,
                                 key, expect, NULL, origin, NULL, error);
}

/* ---- what goes straight through ------------------------------------------------------------- */

static int rows_read(struct ethos_store *self, const char *scope, const char *key,
                     const struct ethos_read_how *how, struct ethos_text *out_text,
                     struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->read(inner, scope, key, how, out_text, error);
}

static int rows_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
                     struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->list(inner, scope, each, arg, error);
}

/* ---- life ----------------------------------------------------------------------------------- */

/* The slots that are forwarded; wrap_new adds the optional ones of the inner store. */
static const struct ethos_store_ops straight_ops = {
    .abi = ETHOS_ABI,
    .close = wrap_close,
    .read = rows_read,
    .list = rows_list,
    .check = wrap_check,
};

int store_rows_new(const struct ethos_host *host, struct ethos_store *inner, uint32_t deadline_ms,
                   struct ethos_store **out_store, struct ethos_error *error)
{
    struct store_wrapper *wrap;
    TRY(wrap_new(host, &straight_ops, sizeof(struct rows_store), inner, &wrap, error));
    wrap->ops.write = rows_write;
    wrap->ops.remove = rows_remove;
    wrap->ops.update = rows_update;
    wrap->ops.batch = rows_batch;
    wrap->ops.history = rows_history;
    wrap->ops.version = rows_version;
    wrap->ops.purge = rows_purge;
    wrap->ops.set_aside = rows_add_conflict_copy;
    wrap->ops.conflicts = rows_list_conflicts;
    wrap->ops.conflict_read = rows_conflict_read;
    wrap->ops.conflict_drop = rows_conflict_remove;
    wrap->ops.keep = rows_add_version;
    wrap->ops.graft = rows_import_commits;
    wrap->ops.name = inner->ops->name;
    wrap->store.capabilities |= ETHOS_STORE_ONCE | ETHOS_STORE_HISTORY;
    ((struct rows_store *)wrap)->deadline_ms = deadline_ms;
    *out_store = &wrap->store;
    return ETHOS_OK;
}
