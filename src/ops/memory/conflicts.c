/*
 * conflicts.c: the operations conflicts.*: conflict copies (texts that could not be merged), and external edits
 * that overwrote recorded changes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "memory/handle.h"
#include "memory/provider/missing_slots.h"
#include "ops/memory/change_json.h"
#include "ops/paging.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define EVENT_DAYS 30 /* days an event is listed without --all */
#define DAY_MS INT64_C(86400000)
#define LIST_PAGE 200  /* copies and events, unless a limit is given */
#define MOST_ABSENT 20 /* missing files checked in one call; the check waits for each of them */

/* ---- list ----------------------------------------------------------------------------------- */

struct conflict_list {
    const struct op_call *call;
    const struct ethos_context *context;
    const char *scope;
    json_t *copies, *events;
    json_t *purged;    /* keys purged by a change of this scope read so far */
    json_t *files;     /* of the scope: key to [bytes, time of the last change] */
    json_t *seen;      /* keys whose newest change was read */
    json_t *outside;   /* keys whose files differ from what that change wrote */
    struct str undone; /* ",12,14,": numbers of the scope's changes that were undone */
    struct str merged; /* diff of the last merge with a stale save that was read */
    uint64_t merge;    /* its number */
    int64_t since_ms;
};

static json_t *copy_json(const char *scope, const struct ethos_conflict *conflict)
{
    return json_pack("{s:o, s:s, s:o, s:o, s:I, s:o, s:o}", "id", op_json_string(conflict->id),
                     "scope", scope, "key", op_json_string(conflict->key), "time",
                     op_json_time(conflict->time_ms), "bytes", (json_int_t)conflict->bytes, "path",
                     op_json_string(conflict->path), "kind", op_json_string(conflict->kind));
}

static int add_conflict_copy(void *arg, const struct ethos_conflict *conflict)
{
    struct conflict_list *list = arg;
    op_json_push(&list->copies, copy_json(list->scope, conflict));
    return list->copies ? ETHOS_OK : ETHOS_NOMEM;
}

/* Appends the command-line options that name a file of the context. */
static void print_file_options(const struct conflict_list *list, const char *key, struct str *out)
{
    const struct ethos_context *context = list->context;
    bool memory = strcmp(list->scope, context->memory_scope) == 0;
    if (list->call->request->personality)
        str_printf(out, " -p %s", list->call->request->personality);
    if (strcmp(key, "USER.md") == 0 && strcmp(list->scope, context->user_scope) == 0)
        str_adds(out, " --store user");
    else if (!memory)
        str_printf(out, " --scope %s --key %s", list->scope, key);
    else if (strcmp(key, "MEMORY.md") != 0)
        str_printf(out, " --key %s", key);
}

/* Whether a shell reads the text as one plain word. The history may hold names that others chose. */
static bool is_shell_word(const char *text)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                               "0123456789_.:/-";
    return *text && *text != '-' && strspn(text, safe) == strlen(text);
}

/* Whether the edit was accepted as it is, so that nothing else was written. */
static bool is_honoured(const struct ethos_change *change)
{
    return strcmp(change->event, "dropped") == 0 || strcmp(change->event, "returned") == 0;
}

/*
 * The command that reverses an event: it undoes the accepted edit, or the change that ethos made in response at the
 * same time.
 */
static json_t *undo_command(const struct conflict_list *list, const struct ethos_change *change)
{
    char iso[CLOCK_ISO_SIZE];
    struct str command;
    const char *actor = is_honoured(change)                     ? change->actor
                        : strcmp(change->event, "partial") == 0 ? NULL // the edit and the answer
                                                                : "ethos";
    if (!is_shell_word(change->key) || (actor && !is_shell_word(actor)))
        return json_null();
    clock_iso(change->time_ms, iso);
    str_init(&command, SIZE_MAX);
    str_adds(&command, "ethos memory undo");
    print_file_options(list, change->key, &command);
    if (actor)
        str_printf(&command, " --actor %s", actor);
    str_printf(&command, " --since %s --until %s", iso, iso);
    json_t *json = str_code(&command) == ETHOS_OK ? json_text(str_view(&command)) : NULL;
    str_release(&command);
    return json;
}

static bool is_undone(const struct conflict_list *list, uint64_t number)
{
    char word[32];
    snprintf(word, sizeof word, ",%llu,", (unsigned long long)number);
    return strstr(list->undone.data, word);
}

/* Changes are read newest first, so a merge comes before the save that it was merged with. */
static int remember_merge(struct conflict_list *list, const struct ethos_change *change)
{
    if (!change->via || strcmp(change->via, "merge") != 0)
        return ETHOS_OK;
    list->merge = change->number;
    str_clear(&list->merged);
    return str_add(&list->merged, change->diff);
}

/* What an event did to the file: the save itself, and what was merged with it. */
static void add_diffs(const struct conflict_list *list, const struct ethos_change *change,
                      json_t **row)
{
    bool merged = list->merge > 0 && list->merge == change->number + 1;
    op_json_put(row, "diff", json_text(change->diff));
    op_json_put(row, "merged", merged ? json_text(str_view(&list->merged)) : json_null());
}

/* Whether the event, or the response to it (the next change), was undone. */
static bool is_resolved(const struct conflict_list *list, const struct ethos_change *change)
{
    return is_undone(list, change->number) ||
           (!is_honoured(change) && is_undone(list, change->number + 1)) ||
           (strcmp(change->event, "returned") == 0 && json_object_get(list->purged, change->key));
}

static int record_file_state(void *arg, const struct ethos_entry *entry)
{
    struct conflict_list *list = arg;
    json_t *value = json_pack("[I, I]", (json_int_t)entry->bytes, (json_int_t)entry->mtime_ms);
    return json_object_set_new_nocheck(list->files, entry->key, value) ? ETHOS_NOMEM : ETHOS_OK;
}

/* Whether size or time show that the file is no longer what its newest change wrote. */
static bool is_changed_outside(const struct conflict_list *list, const struct ethos_change *change)
{
    const json_t *file = json_object_get(list->files, change->key);
    bool absent = strcmp(change->after, "absent") == 0;
    if (!file || absent)
        return !file != absent;
    return json_integer_value(json_array_get(file, 0)) != (json_int_t)change->bytes_after ||
           json_integer_value(json_array_get(file, 1)) > change->time_ms;
}

/* Changes are read newest first, so the first one of a key says what its file should be. */
static int record_newest_change(struct conflict_list *list, const struct ethos_change *change)
{
    if (!list->files || json_object_get(list->seen, change->key))
        return ETHOS_OK;
    if (json_object_set_new_nocheck(list->seen, change->key, json_true()))
        return ETHOS_NOMEM;
    if (is_changed_outside(list, change) &&
        json_array_append_new(list->outside, json_string_nocheck(change->key)))
        return ETHOS_NOMEM;
    return ETHOS_OK;
}

static int add_event(void *arg, const struct ethos_change *change)
{
    struct conflict_list *list = arg;
    if (record_newest_change(list, change) != ETHOS_OK)
        return ETHOS_NOMEM;
    if (change->undoes && str_printf(&list->undone, ",%s,", change->undoes) != ETHOS_OK)
        return ETHOS_NOMEM;
    if (remember_merge(list, change) != ETHOS_OK)
        return ETHOS_NOMEM;
    if (change->via && strcmp(change->via, "purge") == 0 &&
        json_object_set_new_nocheck(list->purged, change->key, json_true()))
        return ETHOS_NOMEM;
    if (!change->event || change->time_ms < list->since_ms || is_resolved(list, change))
        return ETHOS_OK;
    json_t *row = change_json(list->scope, change);
    add_diffs(list, change, &row);
    op_json_put(&row, "undo", undo_command(list, change));
    op_json_push(&list->events, row);
    return list->events ? ETHOS_OK : ETHOS_NOMEM;
}

static int walk_history(struct ethos_provider *provider, struct conflict_list *list,
                        struct ethos_error *error)
{
    str_clear(&list->undone);
    json_object_clear(list->purged);
    list->merge = 0;
    return SLOT_PROVIDER(provider, history)
               ? provider->ops->history(provider, list->scope, NULL, add_event, list, error)
               : ETHOS_OK;
}

/* Records external edits of these keys in the history. *out_any: there was one. */
static void settle_changed_keys(struct ethos_provider *provider, const struct conflict_list *list,
                                bool *out_any)
{
    size_t index, absent = 0;
    json_t *key;
    json_array_foreach (list->outside, index, key) {
        const char *name = json_string_value(key);
        if (!json_object_get(list->files, name) && ++absent > MOST_ABSENT)
            continue;
        *out_any |= provider->ops->settle(provider, list->scope, name, NULL) == ETHOS_OK;
    }
}

/*
 * Reads the history, then records external edits that are not in it yet: those of every file whose size or time
 * changed. If there are any, the history is read again.
 */
static int walk_settled_history(struct ethos_provider *provider, struct conflict_list *list,
                                struct ethos_error *error)
{
    size_t before = json_array_size(list->events);
    bool any = false;
    int code = ETHOS_OK;
    if (SLOT_PROVIDER(provider, settle) && SLOT_PROVIDER(provider, list)) {
        list->files = json_object();
        list->seen = json_object();
        list->outside = json_array();
        if (!list->files || !list->seen || !list->outside)
            code = ETHOS_NOMEM;
        else if (provider->ops->list(provider, list->scope, record_file_state, list, NULL) !=
                 ETHOS_OK)
            json_decref(list->files),
                list->files = NULL; // without a list, edits are not searched for
    }
    if (code == ETHOS_OK)
        code = walk_history(provider, list, error);
    if (code == ETHOS_OK && list->files)
        settle_changed_keys(provider, list, &any);
    json_decref(list->files);
    json_decref(list->seen);
    json_decref(list->outside);
    list->files = list->seen = list->outside = NULL;
    if (code != ETHOS_OK || !any)
        return code;
    while (json_array_size(list->events) > before)
        json_array_remove(list->events, json_array_size(list->events) - 1);
    return walk_history(provider, list, error);
}

static int list_scope_conflicts(struct ethos_turn *turn, struct conflict_list *list,
                                const struct ethos_target *target, struct ethos_error *error)
{
    struct ethos_provider *provider = service_provider(turn, target->scope, target->key);
    list->scope = target->scope;
    if (SLOT_PROVIDER(provider, settle))
        provider->ops->settle(provider, target->scope, target->key, NULL);
    int code = walk_settled_history(provider, list, error);
    if (code == ETHOS_OK)
        code = ethos_conflicts(turn, target, add_conflict_copy, list, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* Returns {"conflicts", "events", "nextCursor"}: one page of both lists, copies first. */
static int return_conflicts(struct conflict_list *list, struct op_result *result,
                            struct ethos_error *error)
{
    size_t index;
    json_t *row, *copies = json_array(), *events = json_array(), *page = NULL;
    if (list->copies && list->events && json_array_extend(list->copies, list->events) == 0)
        page = json_pack("{s:O}", "rows", list->copies);
    int code = page ? pages_cut(list->call, &page, "rows", "scope key id number", LIST_PAGE, error)
                    : err_nomem(error);
    json_array_foreach (json_object_get(page, "rows"), index, row)
        op_json_push(json_object_get(row, "id") ? &copies : &events, json_incref(row));
    json_t *json = json_pack("{s:o, s:o, s:O}", "conflicts", copies, "events", events, "nextCursor",
                             json_object_get(page, "nextCursor"));
    json_decref(page);
    if (code == ETHOS_OK)
        return op_return(result, json, error);
    json_decref(json);
    return code;
}

static int run_list_conflicts(struct op_call *call, struct op_result *result,
                              struct ethos_error *error)
{
    struct ethos_turn *turn;
    struct report_scopes scopes;
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    struct conflict_list list = {.call = call,
                                 .context = ethos_turn_context(turn),
                                 .purged = json_object(),
                                 .copies = json_array(),
                                 .events = json_array()};
    if (!op_flag(call, "all"))
        list.since_ms = service_now_ms(call->ethos) - EVENT_DAYS * DAY_MS;
    str_init(&list.undone, SIZE_MAX);
    str_init(&list.merged, SIZE_MAX);
    report_scopes(turn, &scopes);
    for (size_t i = 0; i < scopes.count && code == ETHOS_OK; i++)
        code = list_scope_conflicts(turn, &list, &scopes.targets[i], error);
    json_decref(list.purged);
    str_release(&list.undone);
    str_release(&list.merged);
    report_workspace(list.context, result);
    if (code == ETHOS_OK)
        code = return_conflicts(&list, result, error);
    json_decref(list.copies);
    json_decref(list.events);
    ethos_turn_free(turn);
    return code;
}

/* ---- one copy ------------------------------------------------------------------------------- */

struct wanted_copy {
    const char *id, *scope;
    json_t *row;
};

static int match_copy(void *arg, const struct ethos_conflict *conflict)
{
    struct wanted_copy *found = arg;
    if (strcmp(conflict->id, found->id) != 0)
        return ETHOS_OK;
    found->row = copy_json(found->scope, conflict);
    return found->row ? 1 : ETHOS_NOMEM;
}

/* Searches every scope of the context for a conflict copy; *out_target is one of `scopes`. */
static int find_conflict_scope(struct ethos_turn *turn, const char *id,
                               struct report_scopes *scopes, const struct ethos_target **out_target,
                               json_t **out_row, struct ethos_error *error)
{
    report_scopes(turn, scopes);
    for (size_t i = 0; i < scopes->count; i++) {
        struct wanted_copy found = {id, scopes->targets[i].scope, NULL};
        int code = ethos_conflicts(turn, &scopes->targets[i], match_copy, &found, error);
        if (found.row) {
            *out_target = &scopes->targets[i];
            *out_row = found.row;
            return ETHOS_OK;
        }
        if (code != ETHOS_OK)
            return code == ETHOS_NOMEM ? err_nomem(error) : code;
    }
    int code = report_require_workspace(ethos_turn_context(turn), error);
    if (code != ETHOS_OK)
        return code;
    return err_hint(error, err_set(error, ETHOS_NOTFOUND, "no such conflict: %s", id),
                    "ethos conflicts list shows them");
}

/* Adds the copy's text, its diff to the file, and the revision of that file, for the call that resolves the conflict. */
static int add_copy_content(struct ethos_turn *turn, const struct ethos_target *target,
                            const char *id, json_t **row, struct ethos_error *error)
{
    CLEANUP_FILE struct ethos_file *copy = NULL;
    CLEANUP_FILE struct ethos_file *file = NULL;
    CLEANUP_STR struct str diff;
    str_init(&diff, ETHOS_MAX_STORE_BYTES);
    TRY(ethos_conflict_read(turn, target, id, &copy, error));
    TRY(ethos_read(turn, &(struct ethos_target){NULL, copy->scope, copy->key}, &file, error));
    struct ethos_view text = view_of(copy->text, copy->size);
    if (diff_unified(view_of(file->text, file->size), text, copy->key, &diff) != ETHOS_OK)
        return err_nomem(error);
    op_json_put(row, "content", json_text(text));
    op_json_put(row, "diff", json_text(str_view(&diff)));
    op_json_put(row, "revision", op_json_string(file->text ? file->revision : NULL));
    return ETHOS_OK;
}

static int run_show_conflict(struct op_call *call, struct op_result *result,
                             struct ethos_error *error)
{
    const struct ethos_target *target;
    struct report_scopes scopes;
    const char *id = op_string(call, "id");
    json_auto_t *row = NULL;
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    TRY(find_conflict_scope(turn, id, &scopes, &target, &row, error));
    TRY(add_copy_content(turn, target, id, &row, error));
    return op_return(result, json_incref(row), error);
}

static int resolve_conflict(struct ethos_turn *turn, const struct op_call *call,
                            const struct ethos_sync_how *how, json_t *more,
                            struct ethos_error *error)
{
    (void)more;
    bool keep = op_flag(call, "keep"), take = op_flag(call, "take"), both = op_flag(call, "both");
    const char *id = op_string(call, "id");
    const struct ethos_target *target;
    struct report_scopes scopes;
    json_auto_t *row = NULL;
    if (keep + take + both != 1)
        return err_set(error, ETHOS_INVALID, "choose exactly one of keep, take and both");
    TRY(find_conflict_scope(turn, id, &scopes, &target, &row, error));
    return ethos_conflict_resolve(turn, target, id,
                                  keep   ? ETHOS_RESOLVE_KEEP
                                  : take ? ETHOS_RESOLVE_TAKE
                                         : ETHOS_RESOLVE_BOTH,
                                  how, error);
}

static int run_resolve_conflict(struct op_call *call, struct op_result *result,
                                struct ethos_error *error)
{
    TRY(report_run(resolve_conflict, call, result, error));
    if (result->code == ETHOS_OK)
        op_json_put(&result->json, "resolved", op_json_string(op_string(call, "id")));
    return result->json || result->code != ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* ---- the rows ------------------------------------------------------------------------------- */

static const struct op_arg list_args[] = {
    {"all", OP_FLAG, 0, NULL, NULL, "include events older than 30 days"},
    ARG_LIMIT("1|1000", "at most this many (default: all; other surfaces: 200)"),
    ARG_CURSOR,
    ARG_END};
static const struct op_arg show_args[] = {{"id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID",
                                           "the conflict's id, as ethos conflicts list shows it"},
                                          ARG_END};
static const struct op_arg resolve_args[] = {
    {"id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID",
     "the conflict's id, as ethos conflicts list shows it"},
    {"keep", OP_FLAG, 0, NULL, NULL, "keep the file; the copy is saved in its history"},
    {"take", OP_FLAG, 0, NULL, NULL, "replace the file with the copy"},
    {"both", OP_FLAG, 0, NULL, NULL, "add the lines of the copy that the file lacks"},
    ARG_IF_MATCH,
    ARG_END};

const struct op ops_conflicts[] = {
    {"conflicts.list", "conflicts list", "List edits that could not be merged",
     "ethos conflicts list", list_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_list_conflicts},
    {"conflicts.show", "conflicts show", "Show a conflict copy and how it differs from its file",
     "ethos conflicts show MEMORY.md.20261115T083000Z.1a2b3c4d.md", show_args, OP_MEMORY_READ,
     OP_IDEMPOTENT, run_show_conflict},
    {"conflicts.resolve", "conflicts resolve",
     "Resolve a conflict: keep the file, use the copy, or both",
     "ethos conflicts resolve MEMORY.md.20261115T083000Z.1a2b3c4d.md --both", resolve_args,
     OP_MEMORY_WRITE, OP_WRITES | OP_DESTRUCTIVE, run_resolve_conflict},
    {0}};
