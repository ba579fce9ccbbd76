/*
 * memory.c: the operations memory.*: prefetch, sync, show, get, write, add, replace, remove, paths.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/scope.h"
#include "memory/service.h"
#include "ops/tables.h"

/* ---- prefetch ------------------------------------------------------------------------------ */

static json_t *json_part(struct ethos_view part)
{
    return part.data ? json_text(part) : json_null();
}

static json_t *omission_rows(const struct ethos_block *block)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < block->omitted_count; i++) {
        const struct ethos_omission *row = &block->omitted[i];
        op_json_push(&rows, json_pack("{s:s, s:s, s:I, s:I, s:s}", "scope", row->scope, "key",
                                      row->key, "chars", (json_int_t)row->chars, "bytes",
                                      (json_int_t)row->bytes, "reason", row->reason));
    }
    return rows;
}

static json_t *source_rows(const struct ethos_block *block)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < block->source_count; i++) {
        const struct ethos_source *row = &block->sources[i];
        op_json_push(&rows, json_pack("{s:s, s:s, s:o, s:o}", "scope", row->scope, "key", row->key,
                                      "path", op_json_string(row->path), "revision",
                                      op_json_string(*row->revision ? row->revision : NULL)));
    }
    return rows;
}

static json_t *block_json(const struct ethos_block *block)
{
    return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:[]}", "text",
                     json_text(view_of(block->text, block->size)), "chars",
                     (json_int_t)block->chars, "userMemory", json_part(block->user_memory),
                     "projectMemory", json_part(block->project_memory), "workspaceMemory",
                     json_part(block->workspace_memory), "omitted", omission_rows(block), "sources",
                     source_rows(block), "index");
}

static int show_block(const struct op_call *call, struct ethos_block *block,
                      struct op_result *result, struct ethos_error *error)
{
    if (!block)
        return op_return(result, json_null(), error);
    result->code = block->code;
    result->error = block->error;
    if (call->want_json)
        return op_return(result, block_json(block), error);
    result->has_text = true;
    str_adopt(&result->text, block->text, block->size);
    block->text = NULL;
    return ETHOS_OK;
}

static int run_prefetch(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const char *truncate = op_string(call, "truncate");
    struct ethos_prefetch_options options = {
        .max_chars = (uint64_t)op_integer(call, "maxChars", 0),
        .truncate = !truncate                       ? ETHOS_TRUNCATE_DEFAULT
                    : strcmp(truncate, "tail") == 0 ? ETHOS_TRUNCATE_TAIL
                                                    : ETHOS_TRUNCATE_BALANCED,
        .receipt = call->want_json,
    };
    struct ethos_request request = *call->request;
    struct ethos_turn *turn;
    struct ethos_block *block = NULL;
    request.query = op_string(call, "query");
    int code = ethos_turn_new(call->ethos, &request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    code = ethos_prefetch(turn, &options, &block, error);
    if (code == ETHOS_OK)
        code = show_block(call, block, result, error);
    ethos_block_free(block);
    ethos_turn_free(turn);
    return code;
}

/* ---- sync and the single updates ----------------------------------------------------------- */

struct report {
    json_t *written, *unchanged, *conflicts, *failed, *warnings;
    size_t rows;
    json_int_t applied;
    struct str diff;
};

static json_t *outcome_json(const struct ethos_outcome *outcome)
{
    json_t *row = json_pack("{s:s, s:s, s:o, s:I}", "scope", outcome->scope, "key", outcome->key,
                            "revision", op_json_revision(outcome->revision), "chars",
                            (json_int_t)outcome->chars);
    if (outcome->removals > 0)
        op_json_put(&row, "matched", json_integer((json_int_t)outcome->matched));
    if (outcome->diff)
        op_json_put(&row, "diff", json_text(view_str(outcome->diff)));
    if (outcome->error)
        op_json_put(&row, "error", op_json_error(outcome->error));
    return row;
}

static void collect(void *arg, const struct ethos_outcome *outcome)
{
    struct report *report = arg;
    json_t **lists[] = {&report->written, &report->unchanged, &report->conflicts, &report->failed};
    op_json_push(lists[outcome->kind], outcome_json(outcome));
    report->rows++;
    report->applied += (json_int_t)outcome->applied;
    if (outcome->warning)
        op_json_push(&report->warnings, json_string(outcome->warning));
    if (outcome->diff)
        str_adds(&report->diff, outcome->diff);
}

static void report_init(struct report *report)
{
    *report = (struct report){
        json_array(), json_array(), json_array(), json_array(), json_array(), 0, 0, {0}};
    str_init(&report->diff, ETHOS_MAX_STORE_BYTES);
}

/* The report as JSON; empty lists that the contract does not name are left out. */
static json_t *report_json(struct report *report, bool dry_run)
{
    json_t *json = json_pack("{s:I, s:O, s:O, s:O}", "applied", report->applied, "written",
                             report->written, "unchanged", report->unchanged, "conflicts",
                             report->conflicts);
    if (!report->failed || json_array_size(report->failed) > 0)
        op_json_put(&json, "failed", json_incref(report->failed));
    if (!report->warnings || json_array_size(report->warnings) > 0)
        op_json_put(&json, "warnings", json_incref(report->warnings));
    if (dry_run)
        op_json_put(&json, "dryRun", json_true());
    return json;
}

static void report_release(struct report *report)
{
    json_decref(report->written);
    json_decref(report->unchanged);
    json_decref(report->conflicts);
    json_decref(report->failed);
    json_decref(report->warnings);
    str_release(&report->diff);
}

/* Something happened: give the report, with the error beside it. Nothing did: give the error. */
static int finish_report(const struct op_call *call, struct report *report, int code,
                         struct op_result *result, struct ethos_error *error)
{
    if (code != ETHOS_OK && report->rows == 0)
        return code;
    if (code != ETHOS_OK) {
        result->code = code;
        if (error)
            result->error = *error;
    }
    if (call->dry_run && !call->want_json) {
        result->has_text = true;
        str_add(&result->text, str_view(&report->diff));
    }
    if (str_code(&report->diff) != ETHOS_OK || str_code(&result->text) != ETHOS_OK)
        return err_nomem(error);
    json_t *json = report_json(report, call->dry_run);
    if (!json && !call->dry_run)
        return err_set(error, ETHOS_NOMEM, "out of memory for the report of what was done");
    return op_return(result, json, error);
}

typedef int sync_fn(struct ethos_turn *turn, const struct op_call *call,
                    const struct ethos_sync_how *how, struct ethos_error *error);

static int run_sync_with(sync_fn *sync, struct op_call *call, struct op_result *result,
                         struct ethos_error *error)
{
    struct report report;
    struct ethos_turn *turn;
    const struct ethos_origin origin = {
        .actor = "owner", .via = call->via, .source = "tool", .op_id = op_string(call, "opId")};
    const struct ethos_sync_how how = {
        .origin = &origin,
        .flags = call->dry_run ? (unsigned)(ETHOS_SYNC_DRY_RUN | ETHOS_SYNC_DIFF) : 0u,
        .each = collect,
        .arg = &report,
    };
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    report_init(&report);
    code = sync(turn, call, &how, error);
    code = finish_report(call, &report, code, result, error);
    report_release(&report);
    ethos_turn_free(turn);
    return code;
}

static int sync_batch(struct ethos_turn *turn, const struct op_call *call,
                      const struct ethos_sync_how *how, struct ethos_error *error)
{
    return ethos_sync_json(turn, op_text(call, "updates"), how, error);
}

static int run_sync(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return run_sync_with(sync_batch, call, result, error);
}

/* The file that the arguments name; a scope alone means the store's file there. */
static struct ethos_target named_target(const struct op_call *call)
{
    struct ethos_target target = {op_string(call, "store"), op_string(call, "scope"),
                                  op_string(call, "key")};
    if (target.scope && !target.key)
        target.key = scope_store_key(target.store ? target.store : "memory");
    return target;
}

static int sync_single(enum ethos_action action, const char *argument, struct ethos_turn *turn,
                       const struct op_call *call, const struct ethos_sync_how *how,
                       struct ethos_error *error)
{
    struct ethos_target target = named_target(call);
    struct ethos_update update = {
        .action = action,
        .store = target.store,
        .scope = target.scope,
        .key = target.key,
        .text = op_text(call, argument),
        .if_match = op_string(call, "ifMatch"),
    };
    return ethos_sync(turn, &update, 1, how, error);
}

static int sync_add(struct ethos_turn *turn, const struct op_call *call,
                    const struct ethos_sync_how *how, struct ethos_error *error)
{
    return sync_single(ETHOS_ACTION_ADD, "content", turn, call, how, error);
}

static int sync_replace(struct ethos_turn *turn, const struct op_call *call,
                        const struct ethos_sync_how *how, struct ethos_error *error)
{
    return sync_single(ETHOS_ACTION_REPLACE, "content", turn, call, how, error);
}

static int sync_remove(struct ethos_turn *turn, const struct op_call *call,
                       const struct ethos_sync_how *how, struct ethos_error *error)
{
    return sync_single(ETHOS_ACTION_REMOVE, "substringMatch", turn, call, how, error);
}

static int run_add(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return run_sync_with(sync_add, call, result, error);
}

static int run_replace(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return run_sync_with(sync_replace, call, result, error);
}

static int run_remove(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return run_sync_with(sync_remove, call, result, error);
}

/* ---- whole files --------------------------------------------------------------------------- */

static json_t *file_json(const struct ethos_file *file)
{
    const char *store = strcmp(file->key, "USER.md") == 0 ? "user" : "memory";
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "store", store, "scope", file->scope,
                     "key", file->key, "content", json_text(view_of(file->text, file->size)),
                     "path", op_json_string(file->path), "modifiedAt", op_json_time(file->mtime_ms),
                     "revision", op_json_revision(file->revision));
}

static int run_get(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_turn *turn;
    struct ethos_file *file = NULL;
    struct ethos_target target = named_target(call);
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    code = ethos_read(turn, &target, &file, error);
    if (code == ETHOS_OK && !call->want_json) {
        result->has_text = true;
        if (str_add(&result->text, view_of(file->text, file->size)) != ETHOS_OK)
            code = err_nomem(error);
    } else if (code == ETHOS_OK) {
        code = op_return(result, file_json(file), error);
    }
    ethos_file_free(file);
    ethos_turn_free(turn);
    return code;
}

/* An overwrite is a replace; the answer is the entry as it is now. */
static int run_write(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    int code = run_replace(call, result, error);
    if (code != ETHOS_OK || result->code != ETHOS_OK || call->dry_run || !call->want_json)
        return code;
    json_decref(result->json);
    result->json = NULL;
    return run_get(call, result, error);
}

/* Byte for byte, as an editor saves. */
static int sync_save(struct ethos_turn *turn, const struct op_call *call,
                     const struct ethos_sync_how *how, struct ethos_error *error)
{
    struct ethos_target target = named_target(call);
    return ethos_write(turn, &target, op_string(call, "ifMatch"), op_text(call, "content"), how,
                       error);
}

static int run_save(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return run_sync_with(sync_save, call, result, error);
}

/* ---- what there is ------------------------------------------------------------------------- */

/* The files of a context in the order they are shown: profile, log, workspace index. */
static size_t context_files(const struct ethos_context *context, struct ethos_target targets[3],
                            const char *labels[3])
{
    size_t count = 0;
    labels[count] = "About you";
    targets[count++] = (struct ethos_target){NULL, context->user_scope, "USER.md"};
    labels[count] = "Memory";
    targets[count++] = (struct ethos_target){NULL, context->memory_scope, "MEMORY.md"};
    if (context->workspace_scope && context->workspace_shown) {
        labels[count] = "Workspace";
        targets[count++] = (struct ethos_target){NULL, context->workspace_scope, "MEMORY.md"};
    }
    return count;
}

static json_t *entry_json(const struct ethos_file *file, const char *label)
{
    json_t *entry = file_json(file);
    struct ethos_view text = view_of(file->text, file->size);
    op_json_put(&entry, "label", json_string(label));
    op_json_put(&entry, "chars", json_integer((json_int_t)utf8_units(text)));
    return entry;
}

static json_t *path_row(struct ethos_turn *turn, const struct ethos_target *target,
                        const char *label)
{
    return json_pack("{s:s, s:s, s:s, s:o}", "label", label, "scope", target->scope, "key",
                     target->key, "path", op_json_path(turn, target->scope, target->key));
}

/* A file that cannot be read does not hide the others. */
static json_t *unreadable_json(struct ethos_turn *turn, const struct ethos_target *target,
                               const char *label, const struct ethos_error *why)
{
    json_t *row = path_row(turn, target, label);
    op_json_put(&row, "error", op_json_error(why));
    return row;
}

static int collect_files(struct ethos_turn *turn, json_t **files, struct op_result *result,
                         struct ethos_error *error)
{
    struct ethos_target targets[3];
    const char *labels[3];
    size_t count = context_files(ethos_turn_context(turn), targets, labels);
    for (size_t i = 0; i < count; i++) {
        struct ethos_file *file = NULL;
        struct ethos_error why = {0};
        int code = ethos_read(turn, &targets[i], &file, &why);
        if (code == ETHOS_NOMEM)
            return err_nomem(error);
        if (code != ETHOS_OK) {
            result->code = code;
            result->error = why;
            op_json_push(files, unreadable_json(turn, &targets[i], labels[i], &why));
        } else if (i < 2 || file->text) {
            op_json_push(files, entry_json(file, labels[i]));
        }
        ethos_file_free(file);
    }
    return *files ? ETHOS_OK : err_nomem(error);
}

/* What the prompt gets of each file. False when out of memory. */
static bool add_shown(const struct ethos_block *block, const json_t *files)
{
    const struct ethos_view parts[] = {block->user_memory, block->project_memory,
                                       block->workspace_memory};
    size_t index;
    json_t *file;
    json_array_foreach (files, index, file) {
        if (json_object_set_new(file, "shown", json_part(parts[index])) != 0)
            return false;
    }
    return true;
}

/* What prefetch would leave out now, so that nobody is surprised by a cut. */
static int add_budget(struct ethos_turn *turn, json_t **json, struct op_result *result,
                      struct ethos_error *error)
{
    const struct ethos_prefetch_options options = {.receipt = 1};
    struct ethos_block *block = NULL;
    int code = ethos_prefetch(turn, &options, &block, error);
    if (code != ETHOS_OK)
        return code;
    if (block && !add_shown(block, json_object_get(*json, "files")))
        code = err_nomem(error);
    if (block && result->code == ETHOS_OK) {
        result->code = block->code;
        result->error = block->error;
    }
    op_json_put(json, "budget", json_integer((json_int_t)service_settings(turn)->max_chars));
    op_json_put(json, "chars", json_integer(block ? (json_int_t)block->chars : 0));
    op_json_put(json, "omitted", block ? omission_rows(block) : json_array());
    ethos_block_free(block);
    return code;
}

static int run_show(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_turn *turn;
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    const struct ethos_context *context = ethos_turn_context(turn);
    json_t *files = json_array();
    code = collect_files(turn, &files, result, error);
    json_t *json = json_pack("{s:s, s:s, s:o}", "personality", context->personality, "user",
                             context->user, "files", files);
    if (code == ETHOS_OK)
        code = json ? add_budget(turn, &json, result, error) : err_nomem(error);
    if (code == ETHOS_OK)
        code = op_return(result, json, error);
    else
        json_decref(json);
    ethos_turn_free(turn);
    return code;
}

static int run_paths(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_turn *turn;
    struct ethos_target targets[3];
    const char *labels[3];
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    const struct ethos_context *context = ethos_turn_context(turn);
    size_t count = context_files(context, targets, labels);
    json_t *files = json_array();
    for (size_t i = 0; i < count; i++)
        op_json_push(&files, path_row(turn, &targets[i], labels[i]));
    json_t *json = json_pack("{s:o, s:s, s:s, s:o, s:o}", "home",
                             op_json_string(service_home(call->ethos)), "personality",
                             context->personality, "user", context->user, "workspace",
                             op_json_string(context->workspace), "files", files);
    code = op_return(result, json, error);
    ethos_turn_free(turn);
    return code;
}

/* ---- the rows ------------------------------------------------------------------------------ */

#define ARG_STORE                                                                                  \
    {                                                                                              \
        "store", OP_CHOICE, 0, "memory|user", "STORE", "which file: memory (default) or user"      \
    }
#define ARG_SCOPE                                                                                  \
    {                                                                                              \
        "scope", OP_TEXT, 0, NULL, "SCOPE", "in a scope: personality, global, workspace, user:ID"  \
    }
#define ARG_KEY                                                                                    \
    {                                                                                              \
        "key", OP_TEXT, 0, NULL, "FILE", "which file, by name: a note such as plan.md"             \
    }
#define ARG_IF_MATCH                                                                               \
    {                                                                                              \
        "ifMatch", OP_TEXT, 0, NULL, "REV", "only if this is still its revision (absent: no file)" \
    }
#define ARG_END                                                                                    \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }

#define RANGE_TEXT(min, max) #min "|" #max
#define RANGE(min, max) RANGE_TEXT(min, max)

static const struct op_arg prefetch_args[] = {
    {"query", OP_TEXT, 0, NULL, "TEXT", "what the person just asked"},
    {"maxChars", OP_INTEGER, 0, RANGE(ETHOS_CAP_MIN_CH, ETHOS_CAP_MAX_CH), "N",
     "at most this many characters (1000 to 200000)"},
    {"truncate", OP_CHOICE, 0, "balanced|tail", "HOW",
     "what is cut when it does not fit: balanced or tail"},
    ARG_END};
static const struct op_arg sync_args[] = {
    {"updates", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN | OP_FILE, NULL, "FILE",
     "JSON in a file; - or nothing reads a pipe"},
    {"opId", OP_TEXT, 0, NULL, "ID", "do it once: a repeat gives the first report"},
    ARG_END};
static const struct op_arg show_args[] = {ARG_END};
static const struct op_arg get_args[] = {ARG_STORE, ARG_KEY, ARG_SCOPE, ARG_END};
static const struct op_arg write_args[] = {
    {"content", OP_TEXT, OP_REQUIRED | OP_STDIN, NULL, "TEXT", "the new text"},
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_IF_MATCH,
    ARG_END};
static const struct op_arg text_args[] = {{"content", OP_TEXT,
                                           OP_REQUIRED | OP_POSITIONAL | OP_STDIN, NULL, "TEXT",
                                           "the text; - reads it from a pipe"},
                                          ARG_STORE,
                                          ARG_KEY,
                                          ARG_SCOPE,
                                          ARG_IF_MATCH,
                                          ARG_END};
static const struct op_arg remove_args[] = {
    {"substringMatch", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN, NULL, "SUBSTRING",
     "lines that contain this go; - reads it from a pipe"},
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_IF_MATCH,
    ARG_END};

const struct op ops_memory[] = {
    {"memory.prefetch", "prefetch", "Print the memory block for a prompt",
     "ethos prefetch --query 'how do we deploy?'", prefetch_args, OP_MEMORY_READ, OP_IDEMPOTENT,
     run_prefetch},
    {"memory.sync", "sync", "Apply updates that an agent sends as JSON",
     "echo '{\"action\":\"add\",\"content\":\"We deploy on Fridays\"}' | ethos sync", sync_args,
     OP_MEMORY_WRITE, OP_WRITES | OP_DESTRUCTIVE, run_sync},
    {"memory.list", "memory show", "Show the files as the agent sees them", "ethos memory show",
     show_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_show},
    {"memory.get", "memory get", "Print one file, byte for byte", "ethos memory get --store user",
     get_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_get},
    {"memory.write", "memory write", "Overwrite one file with standard input",
     "ethos memory write --store user < profile.md", write_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT, run_write},
    {"memory.save", NULL, "Save one file byte for byte, as an editor does", NULL, write_args,
     OP_MEMORY_WRITE, OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT | OP_LOCAL, run_save},
    {"memory.add", "memory add", "Append text to a file", "ethos memory add 'We deploy on Fridays'",
     text_args, OP_MEMORY_WRITE, OP_WRITES | OP_SHORTHAND, run_add},
    {"memory.replace", "memory replace", "Replace a whole file by text",
     "ethos memory replace --store user 'Prefers short answers'", text_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT | OP_SHORTHAND, run_replace},
    {"memory.remove", "memory remove", "Remove the lines that contain a text",
     "ethos memory remove 'deploy on Fridays'", remove_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT | OP_SHORTHAND, run_remove},
    {"memory.paths", "memory paths", "Tell where every file of this context lives",
     "ethos memory paths", show_args, OP_MEMORY_READ, OP_IDEMPOTENT | OP_LOCAL, run_paths},
    {0}};
