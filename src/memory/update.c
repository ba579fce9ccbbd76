/*
 * update.c: changes several files of one scope by a pure function, all or none.
 *
 * sync takes updates as data; this is for changes that need code, such as a note and its line in
 * the index. The function runs under the store's lock and decides from the current texts.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/memory/update.h"
#include "memory/admission.h"
#include "memory/handle_internal.h"
#include "memory/provider/idempotency.h"
#include "memory/provider/missing_slots.h"
#include "store/update_steps.h"

/* The callback, and how a repeated call will be answered. */
struct asked {
    ethos_edit_fn *edit;
    void *arg;
    bool once;
    const char *scope;
    struct admission admission;
};

static struct ethos_view text_after(const struct ethos_edit *edit)
{
    bool put = edit->verdict == ETHOS_EDIT_PUT, drop = edit->verdict == ETHOS_EDIT_DROP;
    return put    ? edit->text
           : drop ? (struct ethos_view){0}
                  : view_of(edit->old.data, edit->old.size);
}

/* Puts the receipt of the report before the callback's. */
static void prepend_receipt(struct ethos_edit *edit)
{
    char own[ETHOS_RECEIPT_SIZE], all[2 * ETHOS_RECEIPT_SIZE];
    bool changed = edit_is_change(edit);
    const struct update_effect effect = {.changed = changed, .applied = changed};
    once_receipt(&effect, utf8_units(text_after(edit)), own);
    snprintf(all, sizeof all, "%s %s", own, edit->receipt);
    snprintf(edit->receipt, sizeof edit->receipt, "%.*s", ETHOS_RECEIPT_SIZE - 1, all);
}

static int call_edit_fn(void *arg, struct ethos_edit *edits, size_t count,
                        struct ethos_error *error)
{
    struct asked *asked = arg;
    int code = asked->edit(asked->arg, edits, count, error);
    if (code == ETHOS_OK)
        code = admission_check_edits(&asked->admission, asked->scope, edits, count, error);
    for (size_t i = 0; code == ETHOS_OK && asked->once && i < count; i++)
        prepend_receipt(&edits[i]);
    return code;
}

/* Runs the callback without a store behind it. */
static int dry_run_edits(struct ethos_turn *turn, const char *scope, struct ethos_edit *edits,
                         size_t count, ethos_edit_fn *edit, void *arg, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_provider *provider = turn->provider;
    const struct ethos_host *host = turn->ethos->host;
    for (size_t i = 0; i < count; i++) {
        int code = provider->ops->read(provider, scope, edits[i].key, &whole, &edits[i].old, error);
        if (code == ETHOS_NOTFOUND)
            edit_free_text(host, &edits[i].old);
        else if (code != ETHOS_OK)
            return code;
    }
    int code = edit_run_callback(edits, count, edit, arg, error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        if (!edit_is_change(&edits[i])) // only the store knows the revision of a new text
            memcpy(edits[i].revision, edits[i].old.revision, sizeof edits[i].revision);
    return code;
}

static int report_edit(const char *scope, const struct ethos_edit *edit,
                       const struct ethos_sync_how *how)
{
    CLEANUP_STR struct str diff;
    bool changed = edit_is_change(edit);
    struct ethos_view old = view_of(edit->old.data, edit->old.size), now = text_after(edit);
    struct ethos_outcome outcome = {
        .kind = changed ? ETHOS_OUTCOME_WRITTEN : ETHOS_OUTCOME_UNCHANGED,
        .scope = scope,
        .key = edit->key,
        .revision = *edit->revision ? edit->revision : "absent",
        .chars = utf8_units(now),
        .applied = changed,
    };
    str_init(&diff, ETHOS_MAX_STORE_BYTES);
    if (edit->verdict == ETHOS_EDIT_REPEATED)
        once_recall(edit->receipt, &outcome);
    else if (changed && (how->flags & ETHOS_SYNC_DIFF))
        diff_unified(old, now, edit->key, &diff);
    outcome.diff = diff.size ? diff.data : NULL;
    how->each(how->arg, &outcome);
    return str_code(&diff);
}

/* In a dry run a diff that cannot be made is an error; what was written stays written. */
static int report_edits(const char *scope, const struct ethos_edit *edits, size_t count,
                        const struct ethos_sync_how *how, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; how->each && i < count; i++)
        if (report_edit(scope, &edits[i], how) != ETHOS_OK && (how->flags & ETHOS_SYNC_DRY_RUN))
            code = err_nomem(error);
    return code;
}

int handle_recover(struct ethos_turn *turn, const char *scope, struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    if (!SLOT_PROVIDER(provider, settle))
        return ETHOS_OK;
    int code = provider->ops->settle(provider, scope, "MEMORY.md", error); // any key will do
    return code == ETHOS_BUSY || code == ETHOS_NOMEM ? code : ETHOS_OK;
}

int handle_update(struct ethos_turn *turn, const char *scope, struct ethos_edit *edits,
                  size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_sync_how *how,
                  struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    const struct ethos_host *host = turn->ethos->host;
    struct ethos_origin origin;
    bool dry = how->flags & ETHOS_SYNC_DRY_RUN;
    TRY(handle_origin(turn, how->origin, &origin, error));
    struct asked asked = {.edit = edit, .arg = arg, .once = origin.op_id && !dry, .scope = scope};
    int code = admission_begin(turn, &origin, dry, &asked.admission, error);
    if (code != ETHOS_OK) {
        admission_release(&asked.admission);
        return code;
    }
    if (dry) {
        code = dry_run_edits(turn, scope, edits, count, call_edit_fn, &asked, error);
    } else {
        code = provider->ops->update(provider, scope, edits, count, call_edit_fn, &asked, &origin,
                                     error);
        if (code == ETHOS_OK && edit_has_changes(edits, count))
            handle_touch(turn, scope);
    }
    if (code == ETHOS_OK)
        code = report_edits(scope, edits, count, how, error);
    if (code == ETHOS_PENDING)
        code = admission_queue(&asked.admission, how, error);
    admission_release(&asked.admission);
    for (size_t i = 0; i < count; i++) {
        host->resize(host->arg, edits[i].old.data, 0);
        edits[i].old = (struct ethos_text){0};
    }
    return code;
}
