/*
 * external_edit.c: turns an edit made outside into history lines, and into a new text where needed.
 *
 * core/history/external_edit decides what the edit was. Here its decision becomes lines to append
 * and, where lost changes come back or a damaged text is replaced, the text that the file must
 * get. An edit that only takes a file back to the text before the newest change is a decision of a
 * person, unless nobody has touched the file since: then that change was never published, and its
 * lines are voided.
 */
#include "store/files/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/history/external_edit.h"
#include "core/memory/update.h"

#define CLOCK_SLACK_MS 1000 /* between the clock of lines and that of the file system */

/*
 * ---- describing a change ----------------------------------------------------------------------
 */

static int write_blob(struct files *self, struct files_lock *lock, struct ethos_view hex,
                      struct ethos_view text, struct ethos_error *error)
{
    char name[65];
    if (hex.size != sizeof name - 1)
        return ETHOS_OK;
    memcpy(name, hex.data, hex.size);
    name[hex.size] = 0;
    return files_blob_write(self, lock, name, text, true, error);
}

/* The hex digits of "sha256:<hex>". */
static struct ethos_view hash_digits(struct ethos_view hash)
{
    return hash.size > 7 ? view_from(hash, 7) : hash;
}

int files_describe_change(struct files *self, struct files_lock *lock,
                          const struct history_last *last, struct ethos_view before,
                          struct ethos_view after, struct arena *arena,
                          struct history_record *record, struct ethos_error *error)
{
    struct ethos_view appended = history_appended(before, after);
    if (history_describe_hashed(before, after, arena, record) != ETHOS_OK ||
        history_keep_appended(appended, arena, record) != ETHOS_OK)
        return err_nomem(error);
    if (!last->ours && before.size > 0) // lines of others need not lead to this text
        record->before_blob = hash_digits(record->before_hash);
    if (last->since_blob + 1 >= history_patches(appended, after) && after.size > 0)
        record->after_blob = hash_digits(record->after_hash);
    TRY(record->append_blob.data ? write_blob(self, lock, record->append_blob, appended, error)
                                 : write_blob(self, lock, record->blob, before, error));
    TRY(write_blob(self, lock, record->before_blob, before, error));
    return write_blob(self, lock, record->after_blob, after, error);
}

/*
 * ---- judging ----------------------------------------------------------------------------------
 */

struct edit_review {
    struct files *self;
    struct files_lock *lock;
    struct history_last last;
    struct arena *arena;
    struct history_record model; /* scope and key */
    struct ethos_view now;
    struct str before; /* the text last recorded */
    bool has_before;   /* it could be rebuilt */
    struct files_external_edit *out;
};

static struct ethos_view last_recorded_text(const struct edit_review *court)
{
    return court->last.absent ? (struct ethos_view){0} : str_view(&court->before);
}

/* Adds a record of a change between two known texts. */
static int add_change_record(struct edit_review *court, const char *actions, const char *source,
                             const char *via, const char *actor, struct ethos_view before,
                             struct ethos_view after, struct ethos_error *error)
{
    struct history_record *record = &court->out->records[court->out->count];
    *record = court->model;
    record->actions = view_str(actions);
    record->source = view_str(source);
    record->via = view_str(via);
    record->actor = view_str(actor);
    if (strcmp(actor, "external") == 0)
        record->trust = VIEW("owner"); // an editor
    TRY(files_describe_change(court->self, court->lock, &court->last, before, after, court->arena,
                              record, error));
    court->out->count++;
    return ETHOS_OK;
}

/* Where the last recorded text cannot be rebuilt, the current text is stored whole. */
static int add_whole_record(struct edit_review *court, struct ethos_error *error)
{
    const struct history_last none = {0};
    struct history_record *record = &court->out->records[court->out->count];
    *record = court->model;
    TRY(files_describe_change(court->self, court->lock, &none, court->now, court->now, court->arena,
                              record, error));
    record->after_blob = record->before_blob;
    record->before_blob = (struct ethos_view){0};
    record->before_hash = view_str(arena_str(court->arena, court->last.hash));
    record->absent_before = court->last.absent;
    record->size_before = court->last.size;
    record->actions = VIEW("external");
    record->source = VIEW("web-editor");
    record->via = VIEW("external");
    record->actor = VIEW("external");
    record->trust = VIEW("owner");
    court->out->count++;
    return record->before_hash.data ? ETHOS_OK : err_nomem(error);
}

static int add_external_record(struct edit_review *court, const char *event,
                               struct ethos_error *error)
{
    int code = court->has_before
                   ? add_change_record(court, "external", "web-editor", "external", "external",
                                       last_recorded_text(court), court->now, error)
                   : add_whole_record(court, error);
    if (code == ETHOS_OK && event)
        court->out->records[court->out->count - 1].event = view_str(event);
    return code;
}

/* Appends one entry to out->text and records that. */
static int reapply_entry(struct edit_review *court, struct ethos_view entry,
                         struct ethos_error *error)
{
    const struct ethos_update add = {.action = ETHOS_ACTION_ADD, .text = entry};
    struct update_effect effect;
    struct str *text = &court->out->text;
    char *before = arena_copy(court->arena, str_view(text));
    if (!before)
        return err_nomem(error);
    struct ethos_view old = view_of(before, text->size);
    str_clear(text);
    int code = update_apply(&add, 1, old, text, &effect);
    if (code != ETHOS_OK)
        return code == ETHOS_NOMEM ? err_nomem(error)
                                   : err_set(error, code, "%.*s: the result is too large",
                                             VIEW_ARG(court->model.key));
    return add_change_record(court, "add", "tool", "reapply", "ethos", old, str_view(text), error);
}

/* Writes the last version as a conflict copy, where the saved lines replace some of its lines. */
static int write_lost_text(struct edit_review *court, const struct verdict_finding *finding,
                           struct ethos_error *error)
{
    const char *key = arena_copy(court->arena, court->model.key);
    if (!key)
        return err_nomem(error);
    return finding->conflicts == 0 ? ETHOS_OK
                                   : files_conflict_write(court->self, court->lock, key,
                                                          last_recorded_text(court), error);
}

/* Whether the newest change was never published, so that the file still has the text before it. */
static bool is_unpublished(const struct edit_review *court, const struct verdict_finding *finding,
                           const struct stat *seen)
{
    if (finding->voids_first == 0 || !court->last.alone || !court->now.data)
        return false; // an unpublished new file has left a temporary
    int64_t changed_ms = (int64_t)seen->st_ctim.tv_sec * 1000 + seen->st_ctim.tv_nsec / 1000000;
    int64_t now_ms = court->self->host->now_ms(court->self->host->arg);
    return court->last.ts_ms <= now_ms && // a clock that was set back proves nothing
           changed_ms + CLOCK_SLACK_MS < court->last.ts_ms;
}

static int record_finding(struct edit_review *court, const struct verdict_finding *finding,
                          const struct stat *seen, struct ethos_error *error)
{
    court->out->records = arena_array(court->arena, finding->count + 2,
                                      sizeof *court->out->records);
    if (!court->out->records)
        return err_nomem(error);
    TRY(write_lost_text(court, finding, error));
    switch (finding->verdict) {
    case VERDICT_MERGE: {
        bool whole = !finding->dropped && finding->conflicts == 0;
        int code = add_external_record(court, whole ? "merged" : "partial", error);
        if (code == ETHOS_OK)
            code = add_change_record(court, "replace", "tool", "merge", "ethos", court->now,
                                     finding->merged, error);
        if (code == ETHOS_OK && str_add(&court->out->text, finding->merged) != ETHOS_OK)
            code = err_nomem(error);
        court->out->rewrites = code == ETHOS_OK;
        return code;
    }
    case VERDICT_REAPPLY: {
        int code = add_external_record(court, finding->dropped ? "partial" : "reapplied", error);
        if (code == ETHOS_OK && str_add(&court->out->text, court->now) != ETHOS_OK)
            code = err_nomem(error);
        for (size_t i = 0; code == ETHOS_OK && i < finding->count; i++)
            code = reapply_entry(court, finding->entries[i], error);
        court->out->rewrites = code == ETHOS_OK;
        return code;
    }
    case VERDICT_RESTORE: {
        int code = add_external_record(court, "restored", error);
        if (code == ETHOS_OK)
            code = add_change_record(court, "restore", "restore", "recovery", "ethos", court->now,
                                     last_recorded_text(court), error);
        if (code == ETHOS_OK && str_add(&court->out->text, last_recorded_text(court)) != ETHOS_OK)
            code = err_nomem(error);
        court->out->rewrites = code == ETHOS_OK;
        return code;
    }
    case VERDICT_REVERT:
        if (is_unpublished(court, finding, seen)) {
            int code = add_change_record(court, "restore", "restore", "recovery", "ethos",
                                         last_recorded_text(court), court->now, error);
            if (code == ETHOS_OK) {
                struct history_record *record = &court->out->records[court->out->count - 1];
                record->voids_first = finding->voids_first;
                record->voids_last = finding->voids_last;
            }
            return code;
        }
        break;
    case VERDICT_HONOUR:
        break;
    }
    return add_external_record(court,
                               finding->returned  ? "returned"
                               : finding->dropped ? "dropped"
                                                  : NULL,
                               error);
}

/* Reads versions for core/history/external_edit. */
struct version_reader {
    const struct edit_review *court;
    const struct files_key_history *past;
    struct ethos_error *error;
};

static int read_version(void *arg, size_t index, bool before, struct str *out)
{
    const struct version_reader *versions = arg;
    int code = files_key_history_text(versions->court->self, versions->past, index, before, out,
                                      versions->error);
    return code == ETHOS_CORRUPT ? ETHOS_NOTFOUND : code;
}

static int review_edit(struct edit_review *court, struct files_key_history *past,
                       const struct stat *seen, struct ethos_error *error)
{
    struct version_reader versions = {court, past, error};
    struct verdict_finding finding = {.verdict = VERDICT_HONOUR};
    int code = files_key_history_text(court->self, past, past->history.count - 1, false,
                                      &court->before, error);
    if (code != ETHOS_OK && code != ETHOS_CORRUPT)
        return code;
    court->has_before = code == ETHOS_OK;
    if (court->has_before) {
        const struct verdict_case facts = {
            .history = &past->history,
            .last = last_recorded_text(court),
            .now = court->now,
            .before_boot = court->now.data && (int64_t)seen->st_mtim.tv_sec * 1000 < os_boot_ms(),
            .now_ms = court->self->host->now_ms(court->self->host->arg),
            .text = read_version,
            .arg = &versions,
        };
        code = edit_verdict_find(&facts, &finding);
        if (code != ETHOS_OK)
            return code == ETHOS_NOMEM ? err_nomem(error) : code;
    }
    return record_finding(court, &finding, seen, error);
}

int files_inspect_external_edit(struct files *self, struct files_lock *lock,
                                const struct files_journal *journal, const char *scope,
                                const char *key, struct ethos_view now, const struct stat *seen,
                                struct arena *arena, struct files_external_edit *out,
                                struct ethos_error *error)
{
    struct files_key_history past = {0};
    struct edit_review court = {.self = self,
                                .lock = lock,
                                .arena = arena,
                                .model = {.scope = view_str(scope), .key = view_str(key)},
                                .now = now,
                                .out = out};
    str_init(&court.before, ETHOS_MAX_STORE_BYTES);
    int code = files_journal_last_change(journal, key, &court.last, error);
    if (code == ETHOS_OK)
        code = files_key_history_load(self, lock->dir, lock->path, key, &past, error);
    if (code == ETHOS_OK && past.history.count > 0)
        code = review_edit(&court, &past, seen, error);
    str_release(&court.before);
    files_key_history_free(&past);
    return code;
}
