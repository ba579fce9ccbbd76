/*
 * history.c: the operations that look back: memory.history, diff, restore, undo, blame, forget.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/view.h"
#include "core/scope.h"
#include "memory/archived.h"
#include "memory/service.h"
#include "memory/undo.h"
#include "ops/change.h"
#include "ops/report.h"
#include "ops/tables.h"

/* A turn and the file that the arguments name. */
struct looking {
    struct ethos_turn *turn;
    struct ethos_target target; /* resolved: points into aimed */
    struct scope_target aimed;
};

static int look(struct op_call *call, struct looking *out, struct ethos_error *error)
{
    const struct ethos_target named = report_target(call);
    *out = (struct looking){0};
    int code = ethos_turn_new(call->ethos, call->request, &out->turn, error);
    if (code == ETHOS_OK)
        code = scope_target(ethos_turn_context(out->turn), named.store, named.scope, named.key,
                            false, &out->aimed, error);
    out->target = (struct ethos_target){NULL, out->aimed.scope, out->aimed.key};
    return code;
}

static struct ethos_filter named_filter(const struct op_call *call)
{
    return (struct ethos_filter){
        .actor = op_string(call, "actor"),
        .session = op_string(call, "session"),
        .source = op_string(call, "source"),
        .since_ms = op_time(call, "since"),
        .until_ms = op_time(call, "until"),
        .limit = (uint64_t)op_integer(call, "limit", 0),
    };
}

/* ---- history -------------------------------------------------------------------------------- */

struct rows {
    json_t *array;
    const char *scope;
    bool diffs;
};

/* A diff that was cut is made whole later: a walk does not look at versions. */
static int add_row(void *arg, const struct ethos_change *change)
{
    struct rows *rows = arg;
    json_t *row = change_json(rows->scope, change);
    if (rows->diffs)
        op_json_put(&row, "diff", change->diff_whole ? json_text(change->diff) : json_null());
    op_json_push(&rows->array, row);
    return rows->array ? ETHOS_OK : ETHOS_NOMEM;
}

static int complete_diffs(const struct looking *looking, json_t *rows, struct ethos_error *error)
{
    size_t index;
    json_t *row;
    int code = ETHOS_OK;
    json_array_foreach (rows, index, row) {
        if (code == ETHOS_OK && json_is_null(json_object_get(row, "diff")))
            code = change_complete(looking->turn, &looking->target, row, error);
    }
    return code;
}

static int run_history(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct looking looking;
    const struct ethos_filter filter = named_filter(call);
    int code = look(call, &looking, error);
    struct rows rows = {json_array(), looking.aimed.scope, op_flag(call, "diff")};
    if (code == ETHOS_OK)
        code = ethos_history(looking.turn, &looking.target, &filter, add_row, &rows, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    if (code == ETHOS_OK && rows.diffs)
        code = complete_diffs(&looking, rows.array, error);
    if (code == ETHOS_OK)
        code = op_return(result, rows.array, error);
    else
        json_decref(rows.array);
    ethos_turn_free(looking.turn);
    return code;
}

/* ---- diff ----------------------------------------------------------------------------------- */

/* The revisions of the newest change. */
struct last {
    char from[ETHOS_REVISION_SIZE], to[ETHOS_REVISION_SIZE];
    bool any;
};

static int note_last(void *arg, const struct ethos_change *change)
{
    struct last *last = arg;
    if (change->via && strcmp(change->via, "seen") == 0)
        return ETHOS_OK;
    snprintf(last->from, sizeof last->from, "%s", change->before);
    snprintf(last->to, sizeof last->to, "%s", change->after);
    last->any = true;
    return 1; // enough
}

/* What is compared: two versions, one and the text as it is, or what the last change did. */
static int choose_versions(const struct op_call *call, const struct looking *looking,
                           struct last *out, struct ethos_error *error)
{
    const char *from = op_string(call, "from"), *to = op_string(call, "to");
    struct ethos_file *file = NULL;
    *out = (struct last){.any = from != NULL};
    if (!from) {
        int code = ethos_history(looking->turn, &looking->target, NULL, note_last, out, error);
        return code == 1 ? ETHOS_OK : code;
    }
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? from : to;
        int code = name ? ethos_read_version(looking->turn, &looking->target, name, &file, error)
                        : ethos_read(looking->turn, &looking->target, &file, error);
        if (code != ETHOS_OK)
            return code;
        memcpy(i == 0 ? out->from : out->to, file->revision, sizeof out->from);
        ethos_file_free(file);
    }
    return ETHOS_OK;
}

static int run_diff(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct looking looking;
    struct last last;
    struct str diff;
    str_init(&diff, ETHOS_MAX_STORE_BYTES);
    int code = look(call, &looking, error);
    if (code == ETHOS_OK)
        code = choose_versions(call, &looking, &last, error);
    if (code == ETHOS_OK && last.any)
        code = change_diff(looking.turn, &looking.target, last.from, last.to, &diff, error);
    if (code == ETHOS_OK && last.any)
        code = op_return(result,
                         json_pack("{s:s, s:s, s:o, s:o, s:o}", "scope", looking.aimed.scope, "key",
                                   looking.aimed.key, "from", op_json_revision(last.from), "to",
                                   op_json_revision(last.to), "diff", json_text(str_view(&diff))),
                         error);
    else if (code == ETHOS_OK)
        code = op_return(result, json_null(), error);
    str_release(&diff);
    ethos_turn_free(looking.turn);
    return code;
}

/* ---- a text that history keeps whole -------------------------------------------------------- */

struct wanted {
    const char *revision;
    char key[ETHOS_MAX_KEY + 1];
};

static int note_key(void *arg, const struct ethos_change *change)
{
    struct wanted *wanted = arg;
    bool found = strcmp(change->before, wanted->revision) == 0 ||
                 strcmp(change->after, wanted->revision) == 0;
    if (found)
        snprintf(wanted->key, sizeof wanted->key, "%s", change->key);
    return found ? 1 : ETHOS_OK;
}

/* The text of a hash, if some file of the scope ever had it; else null, as for what is no hash. */
static int read_blob(const struct looking *looking, const char *blob, json_t **out,
                     struct ethos_error *error)
{
    char revision[ETHOS_REVISION_SIZE];
    struct wanted wanted = {.revision = revision};
    struct ethos_file *file = NULL;
    struct ethos_provider *provider = service_provider(looking->turn);
    snprintf(revision, sizeof revision, "sha256:%s", blob);
    int code = hash_is_hex(view_str(blob)) && provider->ops->history
                   ? provider->ops->history(provider, looking->aimed.scope, NULL, note_key, &wanted,
                                            error)
                   : ETHOS_OK;
    const struct ethos_target target = {NULL, looking->aimed.scope, wanted.key};
    if (code == 1)
        code = ethos_read_version(looking->turn, &target, revision, &file, error);
    if (code == ETHOS_NOTFOUND)
        code = ETHOS_OK;
    if (code == ETHOS_OK)
        *out = file && file->text ? json_text(view_of(file->text, file->size)) : json_null();
    ethos_file_free(file);
    return code;
}

static int run_blob(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct looking looking;
    json_t *content = NULL;
    int code = look(call, &looking, error);
    if (code == ETHOS_OK)
        code = read_blob(&looking, op_string(call, "blob"), &content, error);
    if (code == ETHOS_OK)
        code = op_return(result, json_pack("{s:o}", "content", content), error);
    ethos_turn_free(looking.turn);
    return code;
}

/* ---- restore and undo ----------------------------------------------------------------------- */

static int restore_named(struct ethos_turn *turn, const struct op_call *call,
                         const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    (void)more;
    struct ethos_target target = report_target(call);
    const char *revision = op_string(call, "revision"), *slug = op_string(call, "slug");
    if (!revision == !slug)
        return err_hint(error,
                        err_set(error, ETHOS_INVALID, "neither a version nor a slug, or both"),
                        "for example: ethos memory restore 12");
    return slug ? archived_restore(turn, target.scope, slug, how, error)
                : ethos_restore(turn, &target, revision, how, error);
}

static int run_restore(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(restore_named, call, result, error);
}

/* Undoes in every file of the scope that the arguments name. */
static int undo_scope(struct ethos_turn *turn, const struct op_call *call,
                      const struct ethos_filter *filter, const struct ethos_sync_how *how,
                      struct ethos_error *error)
{
    struct scope_target aimed;
    const struct ethos_target named = report_target(call);
    if (op_string(call, "key") || how->if_match)
        return err_hint(
            error, err_set(error, ETHOS_INVALID, "'all' goes with neither 'key' nor 'ifMatch'"),
            "they name one file, and it means every file of the scope");
    int code = scope_target(ethos_turn_context(turn), named.store, named.scope, named.key, false,
                            &aimed, error);
    return code == ETHOS_OK ? undo_all(turn, aimed.scope, filter, how, error) : code;
}

static int undo_named(struct ethos_turn *turn, const struct op_call *call,
                      const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    (void)more;
    struct ethos_target target = report_target(call);
    const struct ethos_filter filter = named_filter(call);
    return op_flag(call, "all") ? undo_scope(turn, call, &filter, how, error)
                                : ethos_undo(turn, &target, &filter, how, error);
}

struct undone {
    json_t *numbers;   /* of all files so far */
    size_t seen;       /* changes of this file */
    json_int_t before; /* number of the change that it stood at before, or 0 */
};

/* The newest change is the undoing; what was before it is the one behind. */
static int note_undoes(void *arg, const struct ethos_change *change)
{
    struct undone *undone = arg;
    if (undone->seen++ > 0) {
        undone->before = (json_int_t)change->number;
        return 1;
    }
    json_t *row = change_json("", change);
    const json_t *numbers = json_object_get(row, "undoes");
    if (json_is_array(numbers))
        json_array_extend(undone->numbers, (json_t *)numbers);
    json_decref(row);
    return row ? ETHOS_OK : ETHOS_NOMEM;
}

/* Which changes are undone now; the report stands, whether or not that can be told. */
static int add_undone(struct op_call *call, json_t **json, struct ethos_error *error)
{
    size_t i;
    const json_t *row;
    struct looking looking;
    struct undone undone = {json_array(), 0, 0};
    int code = look(call, &looking, error);
    json_array_foreach (json_object_get(*json, "written"), i, row) {
        looking.target.key = json_string_value(json_object_get(row, "key"));
        undone.seen = 0;
        if (code >= 0)
            code = ethos_history(looking.turn, &looking.target, NULL, note_undoes, &undone, error);
    }
    ethos_turn_free(looking.turn);
    op_json_put(json, "undone", undone.numbers);
    if (undone.before > 0 && !op_flag(call, "all"))
        op_json_put(json, "before", json_integer(undone.before));
    return code == ETHOS_NOMEM || !*json ? err_nomem(error) : code < 0 ? code : ETHOS_OK;
}

static int run_undo(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    int code = report_run(undo_named, call, result, error);
    bool told = result->code == ETHOS_OK || op_flag(call, "all");
    if (code == ETHOS_OK && !call->dry_run && told) {
        struct ethos_error why = {0};
        int untold = add_undone(call, &result->json, &why);
        if (result->code == ETHOS_OK) {
            result->code = untold;
            result->error = why;
        }
    }
    if (code == ETHOS_OK && !result->json)
        return err_set(error, ETHOS_NOMEM, "out of memory for the report of what was done");
    return code;
}

/* ---- blame ---------------------------------------------------------------------------------- */

static int add_line(void *arg, const struct ethos_blame *blame)
{
    struct rows *rows = arg;
    op_json_push(&rows->array,
                 json_pack("{s:I, s:o, s:o, s:o}", "line", (json_int_t)blame->line, "text",
                           json_text(blame->text), "change",
                           blame->change ? change_json(rows->scope, blame->change) : json_null(),
                           "replaced",
                           blame->replaced.data ? json_text(blame->replaced) : json_null()));
    return rows->array ? ETHOS_OK : ETHOS_NOMEM;
}

static int run_blame(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct looking looking;
    int code = look(call, &looking, error);
    struct rows rows = {json_array(), looking.aimed.scope, false};
    if (code == ETHOS_OK)
        code = ethos_blame(looking.turn, &looking.target, (uint64_t)op_integer(call, "line", 0),
                           add_line, &rows, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    if (code == ETHOS_OK)
        code = op_return(result,
                         json_pack("{s:s, s:s, s:o}", "scope", looking.aimed.scope, "key",
                                   looking.aimed.key, "lines", rows.array),
                         error);
    else
        json_decref(rows.array);
    ethos_turn_free(looking.turn);
    return code;
}

/* ---- forget --------------------------------------------------------------------------------- */

static void put_counts(json_t **json, const struct ethos_purge *purge)
{
    op_json_put(json, "lines", json_integer((json_int_t)purge->lines));
    op_json_put(json, "versions", json_integer((json_int_t)purge->versions));
    op_json_put(json, "blobs", json_integer((json_int_t)purge->blobs));
    op_json_put(json, "conflicts", json_integer((json_int_t)purge->conflicts));
    if (purge->calls > 0)
        op_json_put(json, "calls", json_integer((json_int_t)purge->calls));
}

/* The scopes that are meant: that of the file that is named, else all of the context. */
static int forget_scopes(const struct op_call *call, const struct ethos_context *context,
                         struct scope_target *aimed, struct report_scopes *scopes,
                         struct ethos_error *error)
{
    const struct ethos_target named = report_target(call);
    if (!named.store && !named.scope && !named.key) {
        report_scopes(context, scopes);
        return report_whole(context, error);
    }
    scopes->targets[0] = (struct ethos_target){NULL, aimed->scope, aimed->key};
    scopes->count = 1;
    return scope_target(context, named.store, named.scope, named.key, true, aimed, error);
}

static void add_purge(const char *scope, const struct ethos_purge *purge, struct ethos_purge *total,
                      json_t **rows)
{
    json_t *row = json_pack("{s:s}", "scope", scope);
    put_counts(&row, purge);
    op_json_push(rows, row);
    total->lines += purge->lines;
    total->versions += purge->versions;
    total->blobs += purge->blobs;
    total->conflicts += purge->conflicts;
    total->calls += purge->calls;
}

static int forget_all(struct ethos_turn *turn, const struct op_call *call,
                      struct ethos_purge *total, json_t **rows, struct ethos_error *error)
{
    const struct ethos_origin origin = {.actor = call->actor ? call->actor : "owner",
                                        .via = call->via,
                                        .session = call->request->session};
    const struct ethos_sync_how how = {.origin = &origin,
                                       .flags = call->dry_run ? ETHOS_SYNC_DRY_RUN : 0u};
    struct report_scopes scopes;
    struct scope_target aimed;
    int code = forget_scopes(call, ethos_turn_context(turn), &aimed, &scopes, error);
    for (size_t i = 0; code == ETHOS_OK && i < scopes.count; i++) {
        struct ethos_purge purge = {0};
        code = ethos_forget(turn, &scopes.targets[i], op_text(call, "substringMatch"), &how, &purge,
                            error);
        if (code == ETHOS_OK)
            add_purge(scopes.targets[i].scope, &purge, total, rows);
        code = code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    }
    return code != ETHOS_OK || *rows ? code : err_nomem(error);
}

static int run_forget(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_turn *turn;
    struct ethos_purge total = {0};
    json_t *rows = json_array(), *json = NULL;
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code == ETHOS_OK) {
        code = forget_all(turn, call, &total, &rows, error);
        ethos_turn_free(turn);
    }
    if (code == ETHOS_OK && json_array_size(rows) == 0)
        code = err_set(error, ETHOS_NOTFOUND, "nothing holds this text");
    if (code == ETHOS_OK) {
        json = json_object();
        put_counts(&json, &total);
        op_json_put(&json, "scopes", json_incref(rows));
        if (call->dry_run)
            op_json_put(&json, "dryRun", json_true());
        code = op_return(result, json, error);
    }
    json_decref(rows);
    return code;
}

/* ---- the rows ------------------------------------------------------------------------------- */

static const struct op_arg history_args[] = {
    ARG_STORE,   ARG_KEY,
    ARG_SCOPE,   {"limit", OP_INTEGER, 0, "1|1000000", "N", "at most this many"},
    ARG_SOURCE,  ARG_ACTOR,
    ARG_SESSION, ARG_SINCE,
    ARG_UNTIL,   {"diff", OP_FLAG, 0, NULL, NULL, "with what each changed"},
    ARG_END};
static const struct op_arg diff_args[] = {
    {"from", OP_TEXT, OP_POSITIONAL, NULL, "REV",
     "a version: a number or a revision of the history"},
    {"to", OP_TEXT, OP_POSITIONAL, NULL, "REV", "another one; without it, the file as it is"},
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_END};
static const struct op_arg restore_args[] = {
    {"revision", OP_TEXT, OP_POSITIONAL, NULL, "REV",
     "a version: a number or a revision of the history"},
    {"slug", OP_TEXT, 0, NULL, "SLUG", "a section of the archive instead, by its name"},
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_IF_MATCH,
    ARG_END};
static const struct op_arg undo_args[] = {
    ARG_STORE,   ARG_KEY,
    ARG_SCOPE,   {"all", OP_FLAG, 0, NULL, NULL, "in every file of the scope, deleted ones too"},
    ARG_ACTOR,   ARG_SOURCE,
    ARG_SESSION, ARG_SINCE,
    ARG_UNTIL,   ARG_IF_MATCH,
    ARG_END};
static const struct op_arg blame_args[] = {
    {"line", OP_INTEGER, 0, "1|100000000", "N", "only this line, with all that is known of it"},
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_END};
static const struct op_arg forget_args[] = {{"substringMatch", OP_TEXT, OP_REQUIRED | OP_POSITIONAL,
                                             NULL, "SUBSTRING",
                                             "lines with this go, in every file of the scope"},
                                            ARG_STORE,
                                            ARG_SCOPE,
                                            ARG_END};

static const struct op_arg blob_args[] = {
    {"blob", OP_TEXT, OP_REQUIRED, NULL, "HEX", "the SHA-256 of a text, in hexadecimal digits"},
    ARG_SCOPE,
    ARG_END};

const struct op ops_history[] = {
    {"memory.history", "memory history", "List the versions of a file, newest first",
     "ethos memory history --since 7d --diff", history_args, OP_MEMORY_READ, OP_IDEMPOTENT,
     run_history},
    {"memory.diff", "memory diff", "Show what the last change did, or how versions differ",
     "ethos memory diff 12", diff_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_diff},
    {"memory.historyBlob", NULL, "Read a text that the history of a scope keeps", NULL, blob_args,
     OP_MEMORY_READ, OP_IDEMPOTENT, run_blob},
    {"memory.restore", "memory restore", "Write a version back, byte for byte",
     "ethos memory restore 12", restore_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT, run_restore},
    {"memory.undo", "memory undo", "Undo the last change, or all of an actor, session or time",
     "ethos memory undo --actor external --since 12h", undo_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE, run_undo},
    {"memory.blame", "memory blame", "Tell who wrote each line, when and how",
     "ethos memory blame --line 3", blame_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_blame},
    {"memory.forget", "memory forget", "Purge a text from files, archive and history, for good",
     "ethos memory forget 'the old password'", forget_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT, run_forget},
    {0}};
