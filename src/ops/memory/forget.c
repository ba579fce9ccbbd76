/*
 * forget.c: the operation memory.forget: purges a text from files, history and sessions. Only the owner can run it.
 *
 *     {"lines", "versions", "blobs", "conflicts", "names", "calls"?, "scopes": [{"scope", "name", ...}],
 *      "sessions"?: {"sessions", "messages", "summaries", "keys"}, "files"?: [{"path", "lines"}],
 *      "kept"?: [{"path", "reason"}], "elsewhere"?: {"files", "messages"}, "unreachable": [...],
 *      "emptied"?: [{"scope", "key"}],
 *      "taken"?: [{"scope", "name", "key", "line", "text"}], "more"?, "dryRun"?}
 *
 * A dry run lists the lines that would be removed, at most FORGET_LINES of them; "more" counts the others.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/forget_text.h"
#include "core/memory/scope.h"
#include "memory/handle.h"
#include "memory/purge/purge.h"
#include "memory/recall/folder.h"
#include "memory/recall/recall.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define FORGET_LINES 200 /* lines that a dry run lists */
#define MOST_SCOPES 8

struct forget_run {
    struct op_call *call;
    struct ethos_match match;
    struct ethos_origin origin;
    struct purge_how how;
    char scope[ETHOS_MAX_SCOPE]; /* the scope that is being searched */
    struct ethos_purge total;
    struct ethos_session_purge sessions;
    uint64_t more;                         /* lines beyond FORGET_LINES */
    json_t *scopes, *taken, *files, *kept; /* the last two: objects by path */
    json_t *elsewhere, *emptied;
    bool served;               /* a database or another machine was searched */
    struct ethos_error missed; /* why the first place could not be purged; code 0: all were */
    char missed_name[ETHOS_MAX_SCOPE];
};

/* ---- words ---------------------------------------------------------------------------------- */

/* A scope as people call it: "memory of personality default". */
static json_t *scope_words(const char *scope)
{
    static const char *const forms[][2] = {
        {"personality:", "memory of personality"},
        {"user:", "profile of user"},
        {"workspace:", "notes of workspace"},
        {"team:", "memory of team"},
        {"global", "global memory"},
        {"sessions", "conversations and keys"},
        {"files", "other files"},
        {"removed/", "removed"},
    };
    bool tree = view_starts(view_str(scope), VIEW("memories:"));
    const char *rest = scope + (tree ? sizeof "memories:" - 1 : 0);
    char words[ETHOS_MAX_SCOPE + 64];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        size_t size = strlen(forms[i][0]);
        if (strncmp(rest, forms[i][0], size) != 0)
            continue;
        snprintf(words, sizeof words, "%s%s%s%s", forms[i][1], rest[size] ? " " : "", rest + size,
                 tree ? " (memory tool)" : "");
        return json_string(words);
    }
    return json_string(scope);
}

static const char *const unreachable[] = {
    "backups and copies of the home",
    "the git history of a mirror or of the home",
    "transcripts that agents keep in their own folders",
    "swap and backup files of editors",
};

/* ---- what is found -------------------------------------------------------------------------- */

static void put_purge_counts(json_t **json, const struct ethos_purge *purge)
{
    op_json_put(json, "lines", json_integer((json_int_t)purge->lines));
    op_json_put(json, "versions", json_integer((json_int_t)purge->versions));
    op_json_put(json, "blobs", json_integer((json_int_t)purge->blobs));
    op_json_put(json, "conflicts", json_integer((json_int_t)purge->conflicts));
    op_json_put(json, "names", json_integer((json_int_t)purge->names));
    if (purge->calls > 0)
        op_json_put(json, "calls", json_integer((json_int_t)purge->calls));
}

static void enter_scope(void *arg, const char *scope)
{
    struct forget_run *run = arg;
    snprintf(run->scope, sizeof run->scope, "%s", scope);
}

static void add_scope_counts(void *arg, const char *scope, const struct ethos_purge *purge)
{
    struct forget_run *run = arg;
    json_t *row = json_pack("{s:s, s:o}", "scope", scope, "name", scope_words(scope));
    put_purge_counts(&row, purge);
    op_json_push(&run->scopes, row);
    run->total.lines += purge->lines;
    run->total.versions += purge->versions;
    run->total.blobs += purge->blobs;
    run->total.conflicts += purge->conflicts;
    run->total.names += purge->names;
    run->total.calls += purge->calls;
}

static int add_found_line(void *arg, const struct ethos_purge_line *line)
{
    struct forget_run *run = arg;
    if (json_array_size(run->taken) >= FORGET_LINES) {
        run->more++;
        return ETHOS_OK;
    }
    op_json_push(&run->taken,
                 json_pack("{s:s, s:o, s:o, s:I, s:o}", "scope", run->scope, "name",
                           scope_words(run->scope), "key", op_json_string(line->key), "line",
                           (json_int_t)line->number, "text", json_text(line->text)));
    return run->taken ? ETHOS_OK : ETHOS_NOMEM;
}

/* A file may be reported in several rounds. */
static void add_file_lines(void *arg, const char *path, uint64_t lines)
{
    struct forget_run *run = arg;
    json_int_t before = json_integer_value(json_object_get(run->files, path));
    op_json_put(&run->files, path, json_integer(before + (json_int_t)lines));
}

static void add_unpurged_file(void *arg, const char *path, const char *reason)
{
    struct forget_run *run = arg;
    op_json_put(&run->kept, path, json_string(reason));
}

/* The report lists every place that failed; the first one is also the error of the result. */
static void add_missed_place(void *arg, const char *name, int code, const struct ethos_error *why)
{
    struct forget_run *run = arg;
    op_json_put(&run->kept, name, json_string(why->text));
    if (run->missed.code != ETHOS_OK)
        return;
    run->missed = *why;
    run->missed.code = code;
    snprintf(run->missed_name, sizeof run->missed_name, "%s", name);
}

static void add_emptied_file(void *arg, const char *scope, const char *key)
{
    struct forget_run *run = arg;
    op_json_push(&run->emptied, json_pack("{s:s, s:s}", "scope", scope, "key", key));
}

static void mark_server_searched(void *arg, const char *name)
{
    struct forget_run *run = arg;
    (void)name;
    run->served = true;
}

/* ---- where ---------------------------------------------------------------------------------- */

struct chosen_scopes {
    struct report_scopes scopes;
    struct scope_target aimed;
};

/* The scope of the file that the arguments name, or all scopes of the context. */
static int choose_scopes(const struct op_call *call, struct ethos_turn *turn,
                         struct chosen_scopes *out, struct ethos_error *error)
{
    const struct ethos_context *context = ethos_turn_context(turn);
    const struct ethos_target named = report_target(call);
    if (!named.store && !named.scope) {
        report_scopes(turn, &out->scopes);
        return report_require_workspace(context, error);
    }
    out->scopes.targets[0] = (struct ethos_target){NULL, out->aimed.scope, out->aimed.key};
    out->scopes.count = 1;
    return scope_target(context, named.store, named.scope, named.key, true, &out->aimed, error);
}

/* Counts matches in other places, without removing anything. */
static int count_elsewhere(struct forget_run *run, const struct chosen_scopes *context,
                           struct ethos_error *error)
{
    struct ethos *ethos = run->call->ethos;
    const char *scopes[MOST_SCOPES];
    size_t count = 0;
    uint64_t files = 0;
    struct ethos_session_purge found = {0};
    const struct ethos_match plain = {.text = run->match.text, .flags = run->match.flags};
    const struct purge_how how = {.match = &plain, .dry_run = true};
    for (; count < context->scopes.count && count < MOST_SCOPES; count++)
        scopes[count] = context->scopes.targets[count].scope;
    int code = purge_scan(ethos, &plain, scopes, count, &files, error);
    if (code == ETHOS_OK && !service_ephemeral(ethos))
        code = purge_sessions(ethos, &how, &found, error);
    if (code == ETHOS_UNSUPPORTED)
        code = ETHOS_OK;
    uint64_t messages = found.messages + found.sessions + found.summaries + found.keys;
    if (code == ETHOS_OK && files + messages > 0)
        run->elsewhere = json_pack("{s:I, s:I}", "files", (json_int_t)files, "messages",
                                   (json_int_t)messages);
    return code == ETHOS_OK && files + messages > 0 && !run->elsewhere ? err_nomem(error) : code;
}

static int forget_here(struct forget_run *run, struct ethos_error *error)
{
    struct ethos_turn *turn;
    struct chosen_scopes context;
    struct ethos_purge purge;
    int code = ethos_turn_new(run->call->ethos, run->call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    code = choose_scopes(run->call, turn, &context, error);
    for (size_t i = 0; code == ETHOS_OK && i < context.scopes.count; i++) {
        const char *scope = context.scopes.targets[i].scope;
        code = purge_scope(run->call->ethos, service_provider(turn, scope, NULL), scope, &run->how,
                           &purge, error);
        if (code != ETHOS_OK && code != ETHOS_NOMEM && context.scopes.count > 1) {
            add_missed_place(run, scope, code, error);
            code = ETHOS_OK;
        }
    }
    if (code == ETHOS_OK)
        code = count_elsewhere(run, &context, error);
    ethos_turn_free(turn);
    return code;
}

static int forget_everywhere(struct forget_run *run, struct ethos_error *error)
{
    struct ethos *ethos = run->call->ethos;
    int code = purge_everywhere(ethos, &run->how, error);
    bool sessions = code == ETHOS_OK && !service_ephemeral(ethos);
    if (sessions)
        code = purge_sessions(ethos, &run->how, &run->sessions, error);
    if (code != ETHOS_OK && code != ETHOS_NOMEM && sessions) {
        add_missed_place(run, "sessions", code, error);
        code = ETHOS_OK;
    }
    return code;
}

/* ---- the report ----------------------------------------------------------------------------- */

/* {path: value} as [{"path", name: value}]. */
static json_t *path_rows(json_t *object, const char *name)
{
    const char *path;
    json_t *value, *rows = json_array();
    json_object_foreach (object, path, value)
        op_json_push(&rows, json_pack("{s:s, s:O}", "path", path, name, value));
    return rows;
}

static uint64_t count_found(const struct forget_run *run)
{
    const struct ethos_purge *total = &run->total;
    return total->lines + total->versions + total->blobs + total->conflicts + total->names +
           total->calls + run->sessions.sessions + run->sessions.messages +
           run->sessions.summaries + run->sessions.keys + json_object_size(run->files);
}

static int return_purge_report(struct forget_run *run, struct op_result *result,
                               struct ethos_error *error)
{
    json_t *json = json_object(), *out_of_reach = json_array();
    put_purge_counts(&json, &run->total);
    op_json_put(&json, "scopes", json_incref(run->scopes));
    if (op_flag(run->call, "everywhere")) {
        op_json_put(
            &json, "sessions",
            json_pack("{s:I, s:I, s:I, s:I}", "sessions", (json_int_t)run->sessions.sessions,
                      "messages", (json_int_t)run->sessions.messages, "summaries",
                      (json_int_t)run->sessions.summaries, "keys", (json_int_t)run->sessions.keys));
        op_json_put(&json, "files", path_rows(run->files, "lines"));
    }
    if (op_flag(run->call, "everywhere") || json_object_size(run->kept) > 0)
        op_json_put(&json, "kept", path_rows(run->kept, "reason"));
    if (run->elsewhere)
        op_json_put(&json, "elsewhere", json_incref(run->elsewhere));
    for (size_t i = 0; i < sizeof unreachable / sizeof *unreachable; i++)
        op_json_push(&out_of_reach, json_string(unreachable[i]));
    if (run->served)
        op_json_push(&out_of_reach, json_string("files, logs and backups of a database server"));
    op_json_put(&json, "unreachable", out_of_reach);
    if (!run->emptied || json_array_size(run->emptied) > 0)
        op_json_put(&json, "emptied", json_incref(run->emptied));
    if (run->call->dry_run) {
        op_json_put(&json, "taken", json_incref(run->taken));
        op_json_put(&json, "more", json_integer((json_int_t)run->more));
        op_json_put(&json, "dryRun", json_true());
    }
    return op_return(result, json, error);
}

/* The error when nothing was purged: a failure, matches elsewhere, or no match at all. */
static int refuse_nothing_found(const struct forget_run *run, struct ethos_error *error)
{
    size_t kept = json_object_size(run->kept);
    if (run->missed.code != ETHOS_OK) {
        if (error)
            *error = run->missed;
        return run->missed.code;
    }
    if (run->elsewhere) {
        int code = err_set(error, ETHOS_NOTFOUND,
                           "nothing in this context contains this text, but %lld other files and "
                           "%lld messages do",
                           json_integer_value(json_object_get(run->elsewhere, "files")),
                           json_integer_value(json_object_get(run->elsewhere, "messages")));
        return err_hint(error, code, "use --everywhere to purge those, too");
    }
    if (kept > 0) {
        void *first = json_object_iter(run->kept);
        int code = err_set(error, ETHOS_NOTFOUND, "nothing that can be purged contains this text");
        return err_hint(error, code, "see %s: %s", json_object_iter_key(first),
                        json_string_value(json_object_iter_value(first)));
    }
    return err_set(error, ETHOS_NOTFOUND, "nothing contains this text");
}

/* The argument text without the line end that piped input has. */
static struct ethos_view text_without_line_end(const struct op_call *call)
{
    struct ethos_view text = op_text(call, "text");
    if (view_ends(text, VIEW("\n")))
        text.size--;
    if (view_ends(text, VIEW("\r")))
        text.size--;
    return text;
}

static int init_forget_run(struct forget_run *run, struct op_call *call, struct ethos_error *error)
{
    struct forget forget;
    *run = (struct forget_run){
        .call = call,
        .match = {.text = text_without_line_end(call),
                  .flags = (op_flag(call, "substring") ? ETHOS_MATCH_SUBSTRING : 0u) |
                           (op_flag(call, "ignoreCase") ? ETHOS_MATCH_ANY_CASE : 0u)},
        .origin = op_origin(call),
        .scopes = json_array(),
        .taken = json_array(),
        .files = json_object(),
        .kept = json_object(),
        .emptied = json_array(),
    };
    if (call->dry_run) {
        run->match.each = add_found_line;
        run->match.arg = run;
    }
    run->how = (struct purge_how){.match = &run->match,
                                  .origin = &run->origin,
                                  .dry_run = call->dry_run,
                                  .enter = enter_scope,
                                  .scope = add_scope_counts,
                                  .file = add_file_lines,
                                  .kept = add_unpurged_file,
                                  .emptied = add_emptied_file,
                                  .missed = add_missed_place,
                                  .served = mark_server_searched,
                                  .arg = run};
    if (os_random(&run->match.salt, sizeof run->match.salt) != 0)
        return err_errno(error, errno, "random numbers");
    if (op_flag(call, "everywhere") && (op_string(call, "store") || op_string(call, "scope")))
        return err_hint(error,
                        err_set(error, ETHOS_INVALID,
                                "'everywhere' cannot be combined with 'store' or 'scope'"),
                        "leave out 'everywhere' to search one place only");
    return forget_init(&forget, &run->match, error);
}

/* Even if nothing was found, an index may contain an older text. The next question rebuilds it. */
static void remove_recall_indexes(struct forget_run *run)
{
    struct ethos_error why;
    int code = run->call->dry_run ? ETHOS_OK : recall_remove(run->call->ethos, &why);
    if (code != ETHOS_OK)
        add_missed_place(run, RECALL_FOLDER, code, &why);
}

static int run_forget(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct forget_run run;
    struct ethos_error own = {0};
    error = error ? error : &own;
    int code = init_forget_run(&run, call, error);
    if (code == ETHOS_OK)
        code = op_flag(call, "everywhere") ? forget_everywhere(&run, error)
                                           : forget_here(&run, error);
    if (code == ETHOS_OK && !(run.scopes && run.taken && run.files && run.kept))
        code = err_nomem(error);
    if (code == ETHOS_OK)
        remove_recall_indexes(&run);
    if (code == ETHOS_OK && run.missed.code != ETHOS_OK) {
        result->code = err_set(&result->error, run.missed.code,
                               "not everything was purged: %s: %.300s", run.missed_name,
                               run.missed.text);
        if (*run.missed.hint)
            err_hint(&result->error, result->code, "%s", run.missed.hint);
    }
    if (code == ETHOS_OK)
        code = count_found(&run) > 0 ? return_purge_report(&run, result, error)
                                     : refuse_nothing_found(&run, error);
    json_decref(run.scopes);
    json_decref(run.taken);
    json_decref(run.files);
    json_decref(run.kept);
    json_decref(run.elsewhere);
    json_decref(run.emptied);
    return code;
}

static const struct op_arg args[] = {
    {"text", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN, NULL, "TEXT",
     "delete the lines that contain this, as whole words; - reads standard input"},
    {"everywhere", OP_FLAG, 0, NULL, NULL,
     "in every scope, conversation and other file of the home"},
    {"substring", OP_FLAG, 0, NULL, NULL, "match inside words, too: tea in team"},
    {"ignoreCase", OP_FLAG, 0, "i", NULL, "ignore case"},
    ARG_STORE,
    ARG_SCOPE,
    ARG_END};

const struct op ops_forget[] = {
    {"memory.forget", "memory forget", "Delete a text for good: files, archive and history",
     "ethos memory forget 'the old password' --everywhere", args, OP_OWNER,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT | OP_DATABASE | OP_FINAL, run_forget},
    {0}};
