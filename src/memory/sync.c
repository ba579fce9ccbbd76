/*
 * sync.c: updates, whole reads and byte-exact writes: checks everything before anything changes,
 * then calls the provider.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/approval/trust.h"
#include "core/history/diff.h"
#include "core/history/history.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"
#include "memory/admission.h"
#include "memory/handle_internal.h"

#define PROFILE_KEY "USER.md"

static const struct ethos_sync_how plain_how;

/* ---- people -------------------------------------------------------------------------------- */

static bool writes_profile(const struct ethos_turn *turn, const char *scope)
{
    return turn->platform_user && strcmp(scope, turn->context.user_scope) == 0 &&
           strncmp(scope, "user:", 5) == 0;
}

/* A profile is not written under an id that a damaged map might contradict. */
static int may_mint(struct ethos_turn *turn, struct ethos_error *error)
{
    int dir;
    struct identity_map map;
    TRY(service_open_root(turn->ethos, false, &dir, error));
    int code = identity_load(dir, &map, error);
    if (dir >= 0)
        os_close(dir);
    if (code != ETHOS_OK)
        return code;
    if (map.damaged)
        code = identity_damaged(&map, error);
    identity_release(&map);
    return code;
}

/* Called after the write. The id is derived, so that nothing is lost if it cannot be recorded. */
static void record_project_id(struct ethos_turn *turn)
{
    int dir;
    struct ethos_error error = {0};
    int code = service_open_root(turn->ethos, true, &dir, &error);
    if (code == ETHOS_OK) {
        code = identity_record(dir, turn->pair_platform, turn->platform_user, turn->context.user,
                               false, service_now_ms(turn->ethos), NULL, &error);
        os_close(dir);
    }
    if (code != ETHOS_OK)
        log_line(turn->ethos->host, ETHOS_LOG_WARN, "%s", error.text);
    else
        turn->platform_user = NULL;
}

/* ---- sync ---------------------------------------------------------------------------------- */

/* Resolves the store, scope and key that each update names. */
static int resolve_update_targets(struct ethos_turn *turn, struct arena *arena,
                                  const struct ethos_update *updates, size_t count,
                                  struct ethos_update **out, struct ethos_error *error)
{
    struct ethos_update *aimed = arena_array(arena, count, sizeof *aimed);
    struct scope_target *targets = arena_array(arena, count, sizeof *targets);
    if (!aimed || !targets)
        return err_nomem(error);
    for (size_t i = 0; i < count; i++) {
        int code = scope_target(&turn->context, updates[i].store, updates[i].scope, updates[i].key,
                                true, &targets[i], error);
        if (code != ETHOS_OK)
            return code;
        aimed[i] = updates[i];
        aimed[i].store = NULL;
        aimed[i].scope = targets[i].scope;
        aimed[i].key = targets[i].key;
    }
    *out = aimed;
    return ETHOS_OK;
}

int handle_origin(const struct ethos_turn *turn, const struct ethos_origin *given,
                  struct ethos_origin *out, struct ethos_error *error)
{
    struct ethos_origin origin = given ? *given : (struct ethos_origin){0};
    if (!origin.user)
        origin.user = turn->context.user;
    if (!origin.session)
        origin.session = turn->context.session;
    if (!origin.source)
        origin.source = origin.session_key && strncmp(origin.session_key, "dream:", 6) == 0
                            ? "dream"
                            : "tool";
    if (!origin.trust && !(origin.actor && strcmp(origin.actor, "ethos") == 0))
        origin.trust = trust_name(trust_of(&origin));
    if (!history_knows_source(origin.source))
        return err_set(error, ETHOS_INVALID, "unknown source: %s", origin.source);
    *out = origin;
    return origin.op_id ? update_check_opid(view_str(origin.op_id), error) : ETHOS_OK;
}

/* The operation id, or NULL. */
static const char *op_id_of(const struct ethos_sync_how *how)
{
    return how->origin ? how->origin->op_id : NULL;
}

int handle_sync_able(const struct ethos_provider *provider, const struct ethos_sync_how *how,
                     struct ethos_error *error)
{
    uint32_t can = provider->capabilities;
    unsigned flags = how->flags;
    if (op_id_of(how) && !(can & ETHOS_PROVIDER_ONCE))
        return err_set(error, ETHOS_UNSUPPORTED, "%s: this memory provider keeps no operation ids",
                       provider->ops->name);
    bool ok = (!(flags & ETHOS_SYNC_DRY_RUN) || (can & ETHOS_PROVIDER_DRY_RUN)) &&
              (!(flags & ETHOS_SYNC_DIFF) || (can & ETHOS_PROVIDER_DIFF));
    return ok ? ETHOS_OK
              : err_set(error, ETHOS_UNSUPPORTED, "%s: this memory provider cannot do a dry run",
                        provider->ops->name);
}

/*
 * Passes outcomes on, and records what else a write requires: an entry in the identity map, a
 * workspace's folder.
 */
struct outcome_watch {
    const struct ethos_turn *turn;
    const struct ethos_sync_how *how;
    bool wrote_profile, wrote_workspace;
};

static void watch_outcome(void *arg, const struct ethos_outcome *outcome)
{
    struct outcome_watch *watch = arg;
    if (outcome->kind == ETHOS_OUTCOME_WRITTEN) {
        const char *workspace = watch->turn->context.workspace_scope;
        watch->wrote_profile |= writes_profile(watch->turn, outcome->scope);
        watch->wrote_workspace |= workspace && strcmp(outcome->scope, workspace) == 0;
    }
    if (watch->how->each)
        watch->how->each(watch->how->arg, outcome);
}

static int sync_aimed(struct ethos_turn *turn, const struct ethos_update *updates, size_t count,
                      const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct outcome_watch watch = {turn, how, false, false};
    const struct ethos_sync_how watched = {
        .origin = how->origin, .flags = how->flags, .each = watch_outcome, .arg = &watch};
    bool profile = false;
    for (size_t i = 0; i < count; i++)
        profile = profile || writes_profile(turn, updates[i].scope);
    int code = profile ? may_mint(turn, error) : ETHOS_OK;
    if (code == ETHOS_OK)
        code = turn->provider->ops->sync(turn->provider, &turn->context, updates, count, &watched,
                                         error);
    bool dry = how->flags & ETHOS_SYNC_DRY_RUN;
    if (watch.wrote_profile && !dry)
        record_project_id(turn);
    if (watch.wrote_workspace && !dry)
        handle_touch(turn, turn->context.workspace_scope);
    return code;
}

static bool updates_same_file(const struct ethos_update *a, const struct ethos_update *b)
{
    return strcmp(a->scope, b->scope) == 0 && strcmp(a->key, b->key) == 0;
}

/*
 * Splits off the updates that need approval: those that the policy does not admit, and all others
 * of the same file, since their order matters. The admitted ones are moved to the front.
 */
static int admit_updates(struct admission *admission, struct ethos_update *updates, size_t *count,
                         struct arena *arena, struct ethos_error *error)
{
    size_t all = *count;
    unsigned *why = arena_array(arena, all, sizeof *why);
    struct ethos_update *given = arena_array(arena, all, sizeof *given);
    int code = why && given ? ETHOS_OK : err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < all; i++)
        code = admission_check_update(admission, &updates[i], &why[i], error);
    if (code != ETHOS_OK)
        return code;
    memcpy(given, updates, all * sizeof *given);
    *count = 0;
    for (size_t i = 0; code == ETHOS_OK && i < all; i++) {
        bool waits = false;
        for (size_t k = 0; k < all && !waits; k++)
            waits = why[k] != 0 && updates_same_file(&given[i], &given[k]);
        if (waits)
            code = admission_note_update(admission, &given[i], why[i], error);
        else
            updates[(*count)++] = given[i];
    }
    return code;
}

/* Writes what is admitted, then queues what needs approval. */
static int sync_admitted(struct ethos_turn *turn, struct ethos_update *updates, size_t count,
                         struct arena *arena, const struct ethos_sync_how *how,
                         struct ethos_error *error)
{
    struct admission admission;
    bool dry = how->flags & ETHOS_SYNC_DRY_RUN;
    int code = admission_begin(turn, how->origin, dry, &admission, error);
    if (code == ETHOS_OK && !admission.passes)
        code = admit_updates(&admission, updates, &count, arena, error);
    if (code == ETHOS_OK && count > 0)
        code = sync_aimed(turn, updates, count, how, error);
    if (code == ETHOS_OK)
        code = admission_queue(&admission, how, error);
    admission_release(&admission);
    return code;
}

static int sync_checked(struct ethos_turn *turn, const struct ethos_update *updates, size_t count,
                        const struct ethos_sync_how *how, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct ethos_update *aimed = NULL;
    arena_init(&arena);
    TRY(update_check(updates, count, error));
    TRY(resolve_update_targets(turn, &arena, updates, count, &aimed, error));
    TRY(handle_sync_able(turn->provider, how, error));
    return sync_admitted(turn, aimed, count, &arena, how, error);
}

/* A dry run does nothing, so it is not an operation. */
int ethos_sync(struct ethos_turn *turn, const struct ethos_update *updates, size_t count,
               const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct ethos_sync_how own = how ? *how : plain_how;
    struct ethos_origin origin;
    int code = handle_origin(turn, own.origin, &origin, error);
    if (code != ETHOS_OK || count == 0)
        return code;
    if (own.flags & ETHOS_SYNC_DRY_RUN)
        origin.op_id = NULL;
    own.origin = &origin;
    return sync_checked(turn, updates, count, &own, error);
}

/* The operation id may be in the JSON or come from the caller. */
static int set_operation_id(const char *op_id, struct ethos_origin *origin,
                            struct ethos_error *error)
{
    if (origin->op_id && op_id && strcmp(origin->op_id, op_id) != 0)
        return err_set(error, ETHOS_INVALID, "'opId' differs from the operation id of the call");
    if (!origin->op_id)
        origin->op_id = op_id;
    return ETHOS_OK;
}

int ethos_sync_json(struct ethos_turn *turn, struct ethos_view json,
                    const struct ethos_sync_how *how, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct update_batch batch;
    struct ethos_sync_how named = how ? *how : plain_how;
    struct ethos_origin origin = named.origin ? *named.origin : (struct ethos_origin){0};
    named.origin = &origin;
    arena_init(&arena);
    TRY(update_parse(json, &arena, &batch, error));
    TRY(set_operation_id(batch.op_id, &origin, error));
    return ethos_sync(turn, batch.updates, batch.count, &named, error);
}

/* ---- reading ------------------------------------------------------------------------------- */

static const struct ethos_target memory_store;

/* Readers see memory files only: settings and sidecars stay private. */
int handle_aim(const struct ethos_turn *turn, const struct ethos_target *target, bool write,
               struct scope_target *out, struct ethos_error *error)
{
    if (!target)
        target = &memory_store;
    TRY(scope_target(&turn->context, target->store, target->scope, target->key, write, out, error));
    return !write && !scope_key_shown(out->scope, out->key)
               ? err_set(error, ETHOS_NOTFOUND, "no such memory file: %s", out->key)
               : ETHOS_OK;
}

/* Reads a key; a person without a profile gets the one they had before. target may change. */
static int read_file_text(struct ethos_turn *turn, struct scope_target *target,
                          struct ethos_text *text, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_provider *provider = turn->provider;
    int code = provider->ops->read(provider, target->scope, target->key, &whole, text, error);
    bool profile = strcmp(target->scope, turn->context.user_scope) == 0 &&
                   strcmp(target->key, PROFILE_KEY) == 0;
    for (int i = 0; i < 2 && profile && code == ETHOS_NOTFOUND; i++) {
        const char *scope = turn->context.profile_fallback[i];
        if (!scope)
            continue;
        code = provider->ops->read(provider, scope, target->key, &whole, text, error);
        if (code == ETHOS_OK)
            memcpy(target->scope, scope, strlen(scope) + 1);
    }
    return code;
}

static int copy_text(const struct ethos_text *text, struct ethos_file *file,
                     struct ethos_error *error)
{
    file->text = malloc(text->size + 1);
    if (!file->text)
        return err_nomem(error);
    memcpy(file->text, text->data, text->size);
    file->text[text->size] = 0;
    file->size = text->size;
    return ETHOS_OK;
}

int service_locate(const struct ethos_turn *turn, struct ethos_file *file,
                   struct ethos_error *error)
{
    return file->path ? ETHOS_OK : service_path(turn, file->scope, file->key, &file->path, error);
}

/* Without its path. */
static int make_file_result(const struct scope_target *target, const struct ethos_text *text,
                            struct ethos_file **out_file, struct ethos_error *error)
{
    struct ethos_file *file = calloc(1, sizeof *file);
    if (!file)
        return err_nomem(error);
    memcpy(file->scope, target->scope, sizeof file->scope);
    memcpy(file->key, target->key, sizeof file->key);
    memcpy(file->revision, text ? text->revision : "absent", text ? sizeof file->revision : 7);
    file->mtime_ms = text ? text->mtime_ms : -1;
    file->unsettled = text && text->unsettled;
    file->known_ms = text ? text->known_ms : 0;
    int code = text ? copy_text(text, file, error) : ETHOS_OK;
    if (code == ETHOS_OK)
        *out_file = file;
    else
        ethos_file_free(file);
    return code;
}

int handle_file(const struct ethos_turn *turn, const struct scope_target *target,
                const struct ethos_text *text, struct ethos_file **out_file,
                struct ethos_error *error)
{
    struct ethos_file *file;
    TRY(make_file_result(target, text, &file, error));
    int code = service_locate(turn, file, error);
    if (code == ETHOS_OK)
        *out_file = file;
    else
        ethos_file_free(file);
    return code;
}

/* known_ms: when it was found absent, if not now. */
static int make_absent_file(const struct scope_target *target, int64_t known_ms,
                            struct ethos_file **out_file, struct ethos_error *error)
{
    int code = make_file_result(target, NULL, out_file, error);
    if (code == ETHOS_OK)
        (*out_file)->known_ms = known_ms;
    return code;
}

/* While an older profile is shown, the newer one may appear, which no validator covers. */
static void set_cache_validator(struct ethos_turn *turn, const struct scope_target *aimed,
                                uint64_t stamp, struct ethos_file *file, struct service_seen *out)
{
    const struct turn_cache *kept = &turn->ethos->kept;
    bool moved = strcmp(file->scope, aimed->scope) != 0;
    *out = (struct service_seen){.stamp = stamp};
    if (moved || !stamp || service_locate(turn, file, NULL) != ETHOS_OK || !file->path)
        return;
    out->turn = turn_cache_number(kept, turn);
    out->watched = turn_cache_covers(kept, turn, file->path);
    memcpy(out->scope, file->scope, sizeof out->scope);
    memcpy(out->key, file->key, sizeof out->key);
}

int service_read(struct ethos_turn *turn, const struct ethos_target *target,
                 struct ethos_file **out_file, struct service_seen *out_seen,
                 struct ethos_error *error)
{
    struct scope_target aimed;
    struct ethos_text text = {0};
    TRY(handle_aim(turn, target, false, &aimed, error));
    struct scope_target found = aimed;
    int code = read_file_text(turn, &found, &text, error);
    if (code == ETHOS_OK)
        code = make_file_result(&found, &text, out_file, error);
    else if (code == ETHOS_NOTFOUND)
        code = make_absent_file(&found, text.known_ms, out_file, error);
    if (code == ETHOS_OK && out_seen)
        set_cache_validator(turn, &aimed, text.stamp, *out_file, out_seen);
    const struct ethos_host *host = turn->ethos->host;
    host->resize(host->arg, text.data, 0);
    return code;
}

int ethos_read(struct ethos_turn *turn, const struct ethos_target *target,
               struct ethos_file **out_file, struct ethos_error *error)
{
    int code = service_read(turn, target, out_file, NULL, error);
    if (code == ETHOS_OK && (code = service_locate(turn, *out_file, error)) != ETHOS_OK) {
        ethos_file_free(*out_file);
        *out_file = NULL;
    }
    return code;
}

bool service_holds(struct ethos *self, const struct service_seen *seen)
{
    const struct ethos_read_how how = {0, seen->watched ? ETHOS_READ_AGAIN : 0};
    struct ethos_text text = {.stamp = seen->stamp};
    struct ethos_turn *turn = seen->turn ? turn_cache_take_number(&self->kept, seen->turn) : NULL;
    if (!turn)
        return false;
    struct ethos_provider *provider = turn->provider;
    int code = provider->ops->read(provider, seen->scope, seen->key, &how, &text, NULL);
    bool same = code == ETHOS_OK && text.stamp == seen->stamp;
    self->host->resize(self->host->arg, text.data, 0);
    ethos_turn_free(turn);
    return same;
}

void ethos_file_free(struct ethos_file *file)
{
    if (!file)
        return;
    free(file->text);
    free(file->path);
    free(file);
}

/* ---- writing byte for byte ----------------------------------------------------------------- */

/*
 * Reads what the write replaces, and the revision to expect of the store: an older profile shown in
 * place of an absent one counts as absent.
 */
static int read_before_write(struct ethos_turn *turn, const struct scope_target *target,
                             const char **expect, struct ethos_file **out_file,
                             struct ethos_error *error)
{
    const struct ethos_target name = {NULL, target->scope, target->key};
    TRY(ethos_read(turn, &name, out_file, error));
    bool migrated = strcmp((*out_file)->scope, target->scope) != 0;
    if (!*expect || !migrated)
        return ETHOS_OK;
    if (strcmp(*expect, (*out_file)->revision) == 0)
        *expect = "absent";
    return ETHOS_OK;
}

int handle_match(const struct scope_target *target, const char *wanted,
                 const struct ethos_file *file, struct ethos_error *error)
{
    bool migrated = strcmp(file->scope, target->scope) != 0;
    bool fits = !wanted || strcmp(wanted, file->revision) == 0 ||
                (migrated && strcmp(wanted, "absent") == 0);
    return fits ? ETHOS_OK : update_moved(target->key, file->revision, error);
}

static int rehearse_write(const char *expect, const struct ethos_file *before,
                          struct ethos_view text, const struct scope_target *target,
                          struct ethos_outcome *outcome, struct str *diff,
                          struct ethos_error *error)
{
    TRY(handle_match(target, expect, before, error));
    struct ethos_view old = view_of(before->text, before->size);
    bool there = before->text && strcmp(before->scope, target->scope) == 0;
    outcome->revision = there ? before->revision : "absent";
    if (there && view_eq(old, text))
        outcome->kind = ETHOS_OUTCOME_UNCHANGED;
    outcome->applied = outcome->kind == ETHOS_OUTCOME_WRITTEN;
    if (diff && diff_unified(there ? old : (struct ethos_view){0}, text, target->key, diff))
        return err_nomem(error);
    return ETHOS_OK;
}

/* Checked as a replacement of the whole text. ETHOS_PENDING: it was queued and reported. */
static int admit_write(struct ethos_turn *turn, const struct scope_target *target,
                       const struct ethos_file *before, struct ethos_view text,
                       const struct ethos_origin *origin, const struct ethos_sync_how *how,
                       struct ethos_error *error)
{
    struct admission admission;
    bool there = before->text && strcmp(before->scope, target->scope) == 0;
    struct ethos_edit edit = {.key = target->key, .verdict = ETHOS_EDIT_PUT, .text = text};
    if (there) {
        edit.old = (struct ethos_text){.data = before->text, .size = before->size};
        memcpy(edit.old.revision, before->revision, sizeof edit.old.revision);
    }
    int code = admission_begin(turn, origin, false, &admission, error);
    if (code == ETHOS_OK)
        code = admission_check_edits(&admission, target->scope, &edit, 1, error);
    if (code == ETHOS_PENDING)
        code = admission_queue(&admission, how, error);
    admission_release(&admission);
    return code;
}

static int write_aimed(struct ethos_turn *turn, const struct scope_target *target,
                       const char *expect, struct ethos_view text, const struct ethos_sync_how *how,
                       struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    struct ethos_file *before = NULL;
    CLEANUP_STR struct str diff;
    char revision[ETHOS_REVISION_SIZE] = "";
    struct ethos_outcome outcome = {.kind = ETHOS_OUTCOME_WRITTEN,
                                    .scope = target->scope,
                                    .key = target->key,
                                    .revision = "absent",
                                    .chars = utf8_units(text)};
    str_init(&diff, ETHOS_MAX_STORE_BYTES);
    int code = read_before_write(turn, target, &expect, &before, error);
    if (code == ETHOS_OK)
        code = rehearse_write(expect, before, text, target, &outcome,
                              how->flags & ETHOS_SYNC_DIFF ? &diff : NULL, error);
    if (code == ETHOS_OK && outcome.kind == ETHOS_OUTCOME_WRITTEN &&
        !(how->flags & ETHOS_SYNC_DRY_RUN)) {
        struct ethos_origin origin;
        code = handle_origin(turn, how->origin, &origin, error);
        if (code == ETHOS_OK)
            code = admit_write(turn, target, before, text, &origin, how, error);
        if (code == ETHOS_OK)
            code = provider->ops->write(provider, target->scope, target->key, expect, text, &origin,
                                        revision, error);
        if (code == ETHOS_OK)
            handle_touch(turn, target->scope);
        outcome.revision = revision;
    }
    if (code == ETHOS_OK && how->each) {
        outcome.diff = diff.size ? diff.data : NULL;
        how->each(how->arg, &outcome);
    }
    ethos_file_free(before);
    return code;
}

static int write_whole(struct ethos_turn *turn, const struct scope_target *target,
                       const char *expect, struct ethos_view text, const struct ethos_sync_how *how,
                       struct ethos_error *error)
{
    if (op_id_of(how))
        return err_set(error, ETHOS_UNSUPPORTED, "opId: only for updates; use a revision here");
    bool profile = writes_profile(turn, target->scope);
    int code = profile ? may_mint(turn, error) : ETHOS_OK;
    if (code == ETHOS_OK)
        code = write_aimed(turn, target, expect, text, how, error);
    if (code == ETHOS_OK && profile && !(how->flags & ETHOS_SYNC_DRY_RUN))
        record_project_id(turn);
    return code;
}

int handle_update_files(struct ethos_turn *turn, const char *scope, struct ethos_edit *edits,
                        size_t count, ethos_edit_fn *edit, void *arg,
                        const struct ethos_sync_how *how, struct ethos_error *error)
{
    bool profile = writes_profile(turn, scope);
    int code = profile ? may_mint(turn, error) : ETHOS_OK;
    if (code == ETHOS_OK)
        code = handle_update(turn, scope, edits, count, edit, arg, how, error);
    if (code == ETHOS_OK && profile && !(how->flags & ETHOS_SYNC_DRY_RUN))
        record_project_id(turn);
    return code;
}

int ethos_write(struct ethos_turn *turn, const struct ethos_target *target, const char *expect,
                struct ethos_view text, const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct scope_target aimed;
    TRY(handle_aim(turn, target, true, &aimed, error));
    return write_whole(turn, &aimed, expect, text, how ? how : &plain_how, error);
}

/* Reports successes, not failures. */
static void report_success(void *arg, const struct ethos_outcome *outcome)
{
    const struct ethos_sync_how *how = arg;
    if (how->each && !outcome->error)
        how->each(how->arg, outcome);
}

int handle_put(struct ethos_turn *turn, const struct scope_target *target, const char *expect,
               struct ethos_view text, const struct ethos_sync_how *how, struct ethos_error *error)
{
    const struct ethos_sync_how quiet = {
        .origin = how->origin, .flags = how->flags, .each = report_success, .arg = (void *)how};
    const struct ethos_update update = {.action = ETHOS_ACTION_DELETE,
                                        .scope = target->scope,
                                        .key = target->key,
                                        .if_match = expect};
    if (text.data)
        return write_whole(turn, target, expect, text, how, error);
    return ethos_sync(turn, &update, 1, &quiet, error);
}
