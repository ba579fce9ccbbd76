/*
 * memory.c: the operations memory.*: prefetch, sync, show, get, write, add, replace, remove, paths.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/text/invisible.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/notes/note.h"
#include "memory/backends.h"
#include "memory/handle.h"
#include "memory/hooks/hooks.h"
#include "memory/notes/check.h"
#include "memory/notes/list.h"
#include "memory/offline/offline.h"
#include "ops/cache_validator.h"
#include "ops/tables.h"
#include "ops/write_report.h"

/* ---- prefetch ------------------------------------------------------------------------------ */

static json_t *part_json(struct ethos_view part)
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

/* The findings of the last check of the workspace's notes, as they were stored. */
static json_t *index_rows(struct ethos_turn *turn)
{
    json_t *rows = NULL;
    const struct ethos_context *context = ethos_turn_context(turn);
    if (!context->workspace_scope || !context->workspace_shown)
        return json_array();
    int code = notes_check_last(turn, context->workspace_scope, &rows, NULL);
    return code == ETHOS_OK || code == ETHOS_NOMEM ? rows : json_array();
}

/* Marks text of an unreachable backend as stale, with the time when it was read. */
static void put_staleness(json_t **json, int64_t known_ms)
{
    if (known_ms == 0)
        return;
    op_json_put(json, "stale", json_true());
    op_json_put(json, "knownAt", op_json_time(known_ms));
}

/* Why each recalled passage is in the block. */
static json_t *found_rows(const struct ethos_block *block)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < block->found_count; i++) {
        const struct ethos_found *row = &block->found[i];
        json_t *json = json_pack("{s:s, s:s, s:I, s:f, s:f, s:s}", "scope", row->scope, "key",
                                 row->key, "line", (json_int_t)row->line, "score", row->score,
                                 "evidence", row->evidence, "words", row->words);
        if (row->similarity >= 0)
            op_json_put(&json, "similarity", op_json_number(row->similarity));
        if (*row->message)
            op_json_put(&json, "message", json_string(row->message));
        op_json_push(&rows, json);
    }
    return rows;
}

static json_t *block_json(struct ethos_turn *turn, const struct ethos_block *block)
{
    json_t *json = json_pack(
        "{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "text",
        json_text(view_of(block->text, block->size)), "chars", (json_int_t)block->chars,
        "userMemory", part_json(block->user_memory), "projectMemory",
        part_json(block->project_memory), "workspaceMemory", part_json(block->workspace_memory),
        "globalMemory", part_json(block->global_memory), "recalled", part_json(block->recalled),
        "omitted", omission_rows(block), "sources", source_rows(block), "index", index_rows(turn));
    if (block->found_count > 0)
        op_json_put(&json, "found", found_rows(block));
    if (block->left_out > 0)
        op_json_put(&json, "leftOut", json_integer((json_int_t)block->left_out));
    put_staleness(&json, block->known_ms);
    return json;
}

static int return_block(const struct op_call *call, struct ethos_turn *turn,
                        struct ethos_block *block, struct op_result *result,
                        struct ethos_error *error)
{
    if (!block)
        return op_return(result, json_null(), error);
    result->code = block->code;
    result->error = block->error;
    if (call->want_json)
        return op_return(result, block_json(turn, block), error);
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
        .max_bytes = (uint64_t)op_integer(call, "maxBytes", 0),
        .truncate = !truncate                       ? ETHOS_TRUNCATE_DEFAULT
                    : strcmp(truncate, "tail") == 0 ? ETHOS_TRUNCATE_TAIL
                                                    : ETHOS_TRUNCATE_BALANCED,
        .receipt = call->want_json,
        .no_sessions = call->no_sessions,
    };
    struct ethos_request request = *call->request;
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    CLEANUP_BLOCK struct ethos_block *block = NULL;
    request.query = op_string(call, "query");
    TRY(ethos_turn_new(call->ethos, &request, &turn, error));
    result->texts_of = service_settings(turn)->guard ? OP_TEXTS_BLOCK : OP_TEXTS_ANY;
    TRY(ethos_prefetch(turn, &options, &block, error));
    return return_block(call, turn, block, result, error);
}

/* ---- sync and the single updates ----------------------------------------------------------- */

static int sync_batch(struct ethos_turn *turn, const struct op_call *call,
                      const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    (void)more;
    return ethos_sync_json(turn, op_text(call, "updates"), how, error);
}

static int run_sync(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_request request = *call->request;
    struct op_call own = *call;
    const char *session = op_string(call, "session");
    if (session)
        request.session = session;
    own.request = &request;
    return report_run(sync_batch, &own, result, error);
}

/* Models see invisible characters as \u{...} (ops/sanitize). If the file lacks that text, restores the characters. */
static int restore_hidden_characters(struct ethos_turn *turn, const struct ethos_target *target,
                                     struct ethos_view *text, struct str *out,
                                     struct ethos_error *error)
{
    CLEANUP_FILE struct ethos_file *file = NULL;
    if (!view_contains(*text, VIEW("\\u{")))
        return ETHOS_OK;
    TRY(ethos_read(turn, target, &file, error));
    if (view_contains(view_of(file->text, file->size), *text))
        return ETHOS_OK;
    int code = hidden_restore(*text, out) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    *text = str_view(out);
    return code;
}

/*
 * By key, a model may write MEMORY.md and USER.md only. Notes have their own tools, which update the index, and an
 * unknown name does not create a file. In other scopes (a team's) any name is allowed.
 */
static int check_model_key(struct ethos_turn *turn, const struct ethos_target *target,
                           struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE], key[ETHOS_MAX_KEY + 1];
    const char *name = target->key;
    if (!name || target->scope || strcmp(name, NOTES_INDEX) == 0 || strcmp(name, "USER.md") == 0)
        return ETHOS_OK;
    int code = notes_locate(turn, NULL, name, scope, key, error);
    if (code == ETHOS_OK && !ethos_turn_context(turn)->workspace_scope)
        return ETHOS_OK; // there are no note tools without a workspace
    if (code == ETHOS_OK)
        return err_hint(error, err_set(error, ETHOS_DENIED, "%s is a note", key),
                        "note_write changes it, note_remove removes it");
    if (code != ETHOS_NOTFOUND)
        return code;
    return err_hint(error, err_set(error, code, "no such file: %s", name),
                    "remember makes a note; without key this changes MEMORY.md");
}

/* Reports the file as unchanged if it has these lines already: models tend to add them again. */
static int check_already_present(struct ethos_turn *turn, const struct ethos_target *target,
                                 struct ethos_view text, const struct ethos_sync_how *how,
                                 bool *out_says, struct ethos_error *error)
{
    CLEANUP_FILE struct ethos_file *file = NULL;
    *out_says = false;
    int code = ethos_read(turn, target, &file, error);
    if (code == ETHOS_UNSUPPORTED) // the backend accepts updates but cannot read
        return ETHOS_OK;
    TRY(code);
    const struct note note = {.body = view_of(file->text, file->size)};
    code = note_says(&note, text, out_says) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    const struct ethos_outcome outcome = {.kind = ETHOS_OUTCOME_UNCHANGED,
                                          .scope = file->scope,
                                          .key = file->key,
                                          .revision = file->revision,
                                          .chars = utf8_units(note.body),
                                          .warning = "the file already says this"};
    if (code == ETHOS_OK && *out_says)
        how->each(how->arg, &outcome);
    return code;
}

static int sync_one(enum ethos_action action, const char *argument, struct ethos_turn *turn,
                    const struct op_call *call, const struct ethos_sync_how *how,
                    struct ethos_error *error)
{
    struct ethos_target target = report_target(call);
    struct ethos_update update = {
        .action = action,
        .store = target.store,
        .scope = target.scope,
        .key = target.key,
        .text = op_text(call, argument),
        .if_match = op_string(call, "ifMatch"),
    };
    bool said = false;
    CLEANUP_STR struct str restored;
    str_init(&restored, SIZE_MAX);
    if (call->blind && (action != ETHOS_ACTION_ADD || target.key || target.scope))
        return err_hint(error, err_set(error, ETHOS_DENIED, "only text can be proposed here"),
                        "use the action add, without key");
    if (call->guarded && !call->blind)
        TRY(check_model_key(turn, &target, error));
    if (call->guarded && action == ETHOS_ACTION_REMOVE)
        TRY(restore_hidden_characters(turn, &target, &update.text, &restored, error));
    if (call->guarded && !call->blind && action == ETHOS_ACTION_ADD && update.text.size > 0)
        TRY(check_already_present(turn, &target, update.text, how, &said, error));
    return said ? ETHOS_OK : ethos_sync(turn, &update, 1, how, error);
}

static int sync_add(struct ethos_turn *turn, const struct op_call *call,
                    const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    (void)more;
    return sync_one(ETHOS_ACTION_ADD, "content", turn, call, how, error);
}

static int sync_replace(struct ethos_turn *turn, const struct op_call *call,
                        const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    (void)more;
    return sync_one(ETHOS_ACTION_REPLACE, "content", turn, call, how, error);
}

static int sync_remove(struct ethos_turn *turn, const struct op_call *call,
                       const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    (void)more;
    return sync_one(ETHOS_ACTION_REMOVE, "substringMatch", turn, call, how, error);
}

static int run_add_text(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(sync_add, call, result, error);
}

static int run_replace_file(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    return report_run(sync_replace, call, result, error);
}

static int run_remove_lines(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    return report_run(sync_remove, call, result, error);
}

/* ---- whole files --------------------------------------------------------------------------- */

#define FILE_MEMBERS 7

/* A member of the result; an absent text is null. */
struct file_member {
    const char *name;
    struct ethos_view text;
};

/* iso is the buffer of the time. */
static void file_members(const struct ethos_file *file, char iso[CLOCK_ISO_SIZE],
                         struct file_member out[FILE_MEMBERS])
{
    const char *store = strcmp(file->key, "USER.md") == 0 ? "user" : "memory";
    bool absent = strcmp(file->revision, "absent") == 0 || !*file->revision;
    if (file->mtime_ms >= 0)
        clock_iso(file->mtime_ms, iso);
    const struct file_member members[FILE_MEMBERS] = {
        {"store", view_str(store)},
        {"scope", view_str(file->scope)},
        {"key", view_str(file->key)},
        {"content", view_of(file->text ? file->text : "", file->size)},
        {"path", view_str(file->path)},
        {"modifiedAt", view_str(file->mtime_ms >= 0 ? iso : NULL)},
        {"revision", view_str(absent ? NULL : file->revision)}};
    memcpy(out, members, sizeof members);
}

static json_t *file_json(const struct ethos_file *file)
{
    char iso[CLOCK_ISO_SIZE];
    struct file_member members[FILE_MEMBERS];
    json_t *json = json_object();
    file_members(file, iso, members);
    for (size_t i = 0; i < FILE_MEMBERS; i++)
        op_json_put(&json, members[i].name, part_json(members[i].text));
    if (file->unsettled)
        op_json_put(&json, "unsettled", json_true());
    put_staleness(&json, file->known_ms);
    return json;
}

/* Appends the same object as JSON text. */
static int print_file(const struct ethos_file *file, struct str *out)
{
    char iso[CLOCK_ISO_SIZE];
    struct file_member members[FILE_MEMBERS];
    file_members(file, iso, members);
    str_reserve(out, file->size + 8192);
    for (size_t i = 0; i < FILE_MEMBERS; i++) {
        str_adds(out, i == 0 ? "{\"" : ",\"");
        str_adds(out, members[i].name);
        str_adds(out, "\":");
        if (members[i].text.data)
            json_quote(members[i].text, out);
        else
            str_adds(out, "null");
    }
    if (file->unsettled)
        str_adds(out, ",\"unsettled\":true");
    if (file->known_ms) {
        clock_iso(file->known_ms, iso);
        str_printf(out, ",\"stale\":true,\"knownAt\":\"%s\"", iso);
    }
    return str_addc(out, '}');
}

/* Returns the file as text, or as printed JSON, with its revision in result->json. */
static int return_file_text(const struct op_call *call, const struct ethos_file *file,
                            struct op_result *result, struct ethos_error *error)
{
    result->printed = call->want_json;
    result->has_text = !call->want_json;
    int code = call->want_json ? print_file(file, &result->text)
                               : str_add(&result->text, view_of(file->text, file->size));
    if (code != ETHOS_OK)
        return code == ETHOS_LIMIT ? err_set(error, code, "too large for one result")
                                   : err_nomem(error);
    json_t *json = json_pack("{s:o}", "revision", op_json_revision(file->revision));
    put_staleness(&json, file->known_ms);
    return op_return(result, json, error);
}

static int run_get_file(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    CLEANUP_FILE struct ethos_file *file = NULL;
    struct service_seen seen = {0};
    struct ethos_target target = report_target(call);
    const char *at = op_string(call, "at");
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    result->texts_of = OP_TEXTS_SCOPED;
    TRY(at ? ethos_read_version(turn, &target, at, &file, error)
           : service_read(turn, &target, &file, call->again ? &seen : NULL, error));
    TRY(service_locate(turn, file, error));
    TRY(call->want_json && !call->printed ? op_return(result, file_json(file), error)
                                          : return_file_text(call, file, result, error));
    result->again = validator_new(&seen, -1);
    return ETHOS_OK;
}

/* Returns a file whose write is queued until its backend can be reached; it has no revision yet. */
static int return_queued_file(struct op_call *call, struct op_result *result,
                              struct ethos_error *error)
{
    const json_t *row = json_array_get(json_object_get(result->json, "waiting"), 0);
    struct ethos_view text = op_text(call, "content");
    struct ethos_file file = {.text = (char *)text.data, .size = text.size, .mtime_ms = -1};
    snprintf(file.scope, sizeof file.scope, "%.*s", VIEW_ARG(json_view(row, "scope")));
    snprintf(file.key, sizeof file.key, "%.*s", VIEW_ARG(json_view(row, "key")));
    json_decref(result->json);
    result->json = NULL;
    json_t *json = file_json(&file);
    op_json_put(&json, "queued", json_true());
    return op_return(result, json, error);
}

/* Replaces the file, then returns it as it is now, or as it will be if the write is queued. */
static int run_write_file(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    int code = run_replace_file(call, result, error);
    if (code != ETHOS_OK || result->code != ETHOS_OK || call->dry_run || !call->want_json)
        return code;
    if (json_object_get(result->json, "queued"))
        return return_queued_file(call, result, error);
    json_t *warnings = json_incref(json_object_get(result->json, "warnings"));
    json_decref(result->json);
    result->json = NULL;
    code = run_get_file(call, result, error);
    if (warnings && code == ETHOS_OK)
        op_json_put(&result->json, "warnings", json_incref(warnings));
    json_decref(warnings);
    return code == ETHOS_OK && !result->json ? err_nomem(error) : code;
}

/* ---- saving as an editor does -------------------------------------------------------------- */

/* The newest conflict copy of a key. */
struct newest_copy {
    const char *key;
    char id[256];
};

static int record_newest_copy(void *arg, const struct ethos_conflict *conflict)
{
    struct newest_copy *newest = arg;
    if (strcmp(conflict->key, newest->key) == 0)
        snprintf(newest->id, sizeof newest->id, "%s", conflict->id);
    return ETHOS_OK;
}

/* Reports that the text was saved as a conflict copy, and which one. */
static int report_save_conflict(struct ethos_turn *turn, const struct ethos_target *target,
                                unsigned places, const struct ethos_sync_how *how,
                                struct ethos_error *error)
{
    CLEANUP_FILE struct ethos_file *file = NULL;
    TRY(ethos_read(turn, target, &file, error));
    struct newest_copy newest = {file->key, ""};
    struct ethos_error why = {0};
    const struct ethos_outcome outcome = {.kind = ETHOS_OUTCOME_CONFLICT,
                                          .scope = file->scope,
                                          .key = file->key,
                                          .revision = file->revision,
                                          .chars = utf8_units(view_of(file->text, file->size)),
                                          .error = &why};
    int code = err_set(&why, ETHOS_CONFLICT,
                       "%s: changed meanwhile in the same %s, where its own text is kept",
                       file->key, places == 1 ? "place" : "places");
    if (!(how->flags & ETHOS_SYNC_DRY_RUN) &&
        ethos_conflicts(turn, target, record_newest_copy, &newest, NULL) == ETHOS_OK && *newest.id)
        err_hint(&why, code, "your text is saved: ethos conflicts show %s", newest.id);
    how->each(how->arg, &outcome);
    if (error)
        *error = why;
    return code;
}

/* With a base text, merges what was saved meanwhile; without one, overwrites it. */
static int sync_save(struct ethos_turn *turn, const struct op_call *call,
                     const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    (void)more;
    struct ethos_target target = report_target(call);
    struct ethos_view base = op_text(call, "base"), text = op_text(call, "content");
    unsigned places = 0;
    if (!base.data)
        return ethos_write(turn, &target, how->if_match, text, how, error);
    TRY(ethos_save(turn, &target, base, text, how, &places, error));
    return places > 0 ? report_save_conflict(turn, &target, places, how, error) : ETHOS_OK;
}

static int run_save_file(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(sync_save, call, result, error);
}

/* ---- the files of a context ---------------------------------------------------------------- */

#define CONTEXT_FILES 4
#define GLOBAL_LABEL "Global"

/* The files of a context in the order of the prompt: profile, memory, index of the workspace, global index. */
static size_t context_files(const struct ethos_context *context,
                            struct ethos_target targets[CONTEXT_FILES],
                            const char *labels[CONTEXT_FILES])
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
    if (context->global_scope) {
        labels[count] = GLOBAL_LABEL;
        targets[count++] = (struct ethos_target){NULL, context->global_scope, "MEMORY.md"};
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

/* The row of a file that cannot be read. */
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
    struct ethos_target targets[CONTEXT_FILES];
    const char *labels[CONTEXT_FILES];
    size_t count = context_files(ethos_turn_context(turn), targets, labels);
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FILE struct ethos_file *file = NULL;
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
    }
    return *files ? ETHOS_OK : err_nomem(error);
}

static struct ethos_view shown_file_part(const struct ethos_block *block, const json_t *file)
{
    static const char *const labels[] = {"About you", "Memory", "Workspace", GLOBAL_LABEL};
    const struct ethos_view parts[] = {block->user_memory, block->project_memory,
                                       block->workspace_memory, block->global_memory};
    const char *label = json_string_value(json_object_get(file, "label"));
    for (size_t i = 0; label && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(label, labels[i]) == 0)
            return parts[i];
    return (struct ethos_view){0};
}

/*
 * Adds the part of each file that prompts show. The global MEMORY.md is removed if prompts do not show it, since it may
 * not be an index. False when out of memory.
 */
static bool add_shown(const struct ethos_block *block, json_t *files)
{
    for (size_t i = json_array_size(files); i-- > 0;) {
        json_t *file = json_array_get(files, i);
        struct ethos_view part = block ? shown_file_part(block, file) : (struct ethos_view){0};
        const char *label = json_string_value(json_object_get(file, "label"));
        if (!part.data && label && strcmp(label, GLOBAL_LABEL) == 0)
            json_array_remove(files, i);
        else if (block && json_object_set_new(file, "shown", part_json(part)) != 0)
            return false;
    }
    return true;
}

/* Adds the same for agents that get memory through a hook, whose budget is smaller. */
static int add_hooks(struct ethos_turn *turn, json_t **json, struct op_result *result,
                     struct ethos_error *error)
{
    CLEANUP_BLOCK struct ethos_block *block = NULL;
    TRY(hooks_block(turn, &block, error));
    if (block && result->code == ETHOS_OK) {
        result->code = block->code;
        result->error = block->error;
    }
    op_json_put(json, "hooks",
                json_pack("{s:I, s:I, s:o}", "bytes", (json_int_t)(block ? block->size : 0),
                          "budget", (json_int_t)HOOKS_BLOCK, "omitted",
                          block ? omission_rows(block) : json_array()));
    return ETHOS_OK;
}

/* Adds the budget, and what prefetch would omit now. */
static int add_budget(struct ethos_turn *turn, json_t **json, struct op_result *result,
                      struct ethos_error *error)
{
    const struct ethos_prefetch_options options = {.receipt = 1};
    CLEANUP_BLOCK struct ethos_block *block = NULL;
    TRY(ethos_prefetch(turn, &options, &block, error));
    if (!add_shown(block, json_object_get(*json, "files")))
        return err_nomem(error);
    if (block && result->code == ETHOS_OK) {
        result->code = block->code;
        result->error = block->error;
    }
    op_json_put(json, "budget", json_integer((json_int_t)service_settings(turn)->max_chars));
    op_json_put(json, "chars", json_integer(block ? (json_int_t)block->chars : 0));
    op_json_put(json, "omitted", block ? omission_rows(block) : json_array());
    return add_hooks(turn, json, result, error);
}

/*
 * Adds the name of the backend, null if memory is in local files, and the number of changes that are queued for it, if
 * there are any.
 */
static void add_backend(struct op_call *call, const char *personality, json_t **json)
{
    const char *name;
    struct ethos_provider *provider;
    struct ethos_error error;
    struct offline_waiting waiting;
    char since[CLOCK_ISO_SIZE];
    if (service_provider_for(call->ethos, personality, &name, &provider, &error) != ETHOS_OK ||
        backends_here(call->ethos, provider)) {
        op_json_put(json, "backend", json_null());
        return;
    }
    op_json_put(json, "backend", op_json_string(name));
    offline_waiting(provider, &waiting);
    clock_iso(waiting.since_ms, since);
    if (waiting.calls > 0)
        op_json_put(json, "waiting",
                    json_pack("{s:I, s:s}", "changes", (json_int_t)waiting.calls, "since", since));
}

static int run_show_files(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    json_auto_t *files = json_array();
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    const struct ethos_context *context = ethos_turn_context(turn);
    TRY(collect_files(turn, &files, result, error));
    json_auto_t *json = json_pack("{s:s, s:s}", "personality", context->personality, "user",
                                  context->user);
    add_backend(call, context->personality, &json);
    op_json_put(&json, "files", json_incref(files));
    TRY(json ? add_budget(turn, &json, result, error) : err_nomem(error));
    return op_return(result, json_incref(json), error);
}

static int run_paths(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_target targets[CONTEXT_FILES];
    const char *labels[CONTEXT_FILES];
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    const struct ethos_context *context = ethos_turn_context(turn);
    size_t count = context_files(context, targets, labels);
    json_t *files = json_array();
    bool here = backends_here(call->ethos, service_provider(turn, "global", NULL));
    for (size_t i = 0; i < count; i++)
        if (strcmp(labels[i], GLOBAL_LABEL) != 0 || (here && notes_global_shown(turn)))
            op_json_push(&files, path_row(turn, &targets[i], labels[i]));
    json_t *json = json_pack("{s:o, s:s, s:s, s:o}", "home",
                             op_json_string(service_home(call->ethos)), "personality",
                             context->personality, "user", context->user, "workspace",
                             op_json_string(context->workspace));
    add_backend(call, context->personality, &json);
    op_json_put(&json, "files", files);
    report_workspace(context, result);
    return op_return(result, json, error);
}

/* ---- the rows ------------------------------------------------------------------------------ */

#define RANGE_TEXT(min, max) #min "|" #max
#define RANGE(min, max) RANGE_TEXT(min, max)

static const struct op_arg prefetch_args[] = {
    {"query", OP_TEXT, 0, NULL, "TEXT", "the question or prompt to find memory for"},
    {"maxChars", OP_INTEGER, 0, RANGE(ETHOS_CAP_MIN_CH, ETHOS_CAP_MAX_CH), "N",
     "at most this many characters (1000 to 200000)"},
    {"maxBytes", OP_INTEGER, 0, RANGE(ETHOS_CAP_MIN_CH, ETHOS_CAP_MAX_CH), "N",
     "at most this many bytes"},
    {"truncate", OP_CHOICE, 0, "balanced|tail", "HOW",
     "what is cut when it does not fit: balanced or tail"},
    ARG_END};
static const struct op_arg sync_args[] = {
    {"updates", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN | OP_FILE | OP_JSON, NULL, "FILE",
     "a file with JSON; - or nothing reads standard input"},
    {"opId", OP_TEXT, 0, NULL, "ID", "idempotency key: repeating a call returns the first result"},
    {"session", OP_TEXT, 0, NULL, "ID", "the session recorded with the change"},
    ARG_END};
static const struct op_arg show_args[] = {ARG_END};
static const struct op_arg get_args[] = {
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    {"at", OP_TEXT, 0, NULL, "REV", "an older version: its number or revision in the history"},
    ARG_END};
static const struct op_arg write_args[] = {
    {"content", OP_TEXT, OP_REQUIRED | OP_STDIN, NULL, "TEXT", "the new text"},
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_IF_MATCH,
    ARG_END};
static const struct op_arg save_args[] = {
    {"content", OP_TEXT, OP_REQUIRED | OP_STDIN, NULL, "TEXT", "the new text"},
    {"base", OP_TEXT, OP_STDIN, NULL, "TEXT", "the text that was edited; later changes are merged"},
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_IF_MATCH,
    ARG_END};
static const struct op_arg text_args[] = {{"content", OP_TEXT,
                                           OP_REQUIRED | OP_POSITIONAL | OP_STDIN, NULL, "TEXT",
                                           "the text; - reads standard input"},
                                          ARG_STORE,
                                          ARG_KEY,
                                          ARG_SCOPE,
                                          ARG_IF_MATCH,
                                          ARG_END};
static const struct op_arg remove_args[] = {
    {"substringMatch", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN, NULL, "SUBSTRING",
     "remove the lines that contain this; - reads standard input"},
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_IF_MATCH,
    ARG_END};

const struct op ops_memory[] = {
    {"memory.prefetch", "prefetch", "Print the memory block for a prompt",
     "ethos prefetch --query 'how do we deploy?'", prefetch_args, OP_MEMORY_READ,
     OP_IDEMPOTENT | OP_QUICK | OP_ASKS, run_prefetch},
    {"memory.sync", "sync", "Apply updates that an agent sends as JSON",
     "echo '{\"action\":\"add\",\"content\":\"We deploy on Fridays\"}' | ethos sync", sync_args,
     OP_MEMORY_WRITE, OP_WRITES | OP_DESTRUCTIVE, run_sync},
    {"memory.list", "memory show", "Show the files as the agent sees them", "ethos memory show",
     show_args, OP_MEMORY_READ, OP_IDEMPOTENT | OP_QUICK, run_show_files},
    {"memory.get", "memory get", "Print one file, byte for byte", "ethos memory get --store user",
     get_args, OP_MEMORY_READ, OP_IDEMPOTENT | OP_QUICK | OP_PRINTS, run_get_file},
    {"memory.write", "memory write", "Overwrite one file with standard input",
     "ethos memory write --store user < profile.md", write_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT, run_write_file},
    {"memory.save", NULL, "Save one file byte for byte, as an editor does", NULL, save_args,
     OP_MEMORY_WRITE, OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT, run_save_file},
    {"memory.add", "memory add", "Append text to a file", "ethos memory add 'We deploy on Fridays'",
     text_args, OP_MEMORY_WRITE, OP_WRITES | OP_SHORTHAND, run_add_text},
    {"memory.replace", "memory replace", "Replace the whole file with text",
     "ethos memory replace --store user 'Prefers short answers'", text_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT | OP_SHORTHAND, run_replace_file},
    {"memory.remove", "memory remove", "Remove the lines that contain a text",
     "ethos memory remove 'deploy on Fridays'", remove_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT | OP_SHORTHAND, run_remove_lines},
    {"memory.paths", "memory paths", "Show the path of every memory file", "ethos memory paths",
     show_args, OP_MEMORY_READ, OP_IDEMPOTENT | OP_LOCAL, run_paths},
    {0}};
