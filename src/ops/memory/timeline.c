/*
 * timeline.c: the operation memory.timeline: recent changes of all scopes.
 */
#include "memory/history/timeline.h"

#include <string.h>

#include "base/err.h"
#include "core/memory/scope.h"
#include "ops/memory/change_json.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define PAGE 50             /* changes, unless a limit is given */
#define WHOLE_BYTES 8388608 /* of complete diffs in one answer, about */

struct timeline_rows {
    json_t *items;
    bool diffs;
};

/* A diff that was cut is completed later, by complete_diffs. */
static int add_timeline_row(void *arg, const char *scope, const struct ethos_change *change)
{
    struct timeline_rows *rows = arg;
    json_t *row = change_json(scope, change);
    if (rows->diffs)
        op_json_put(&row, "diff", change->diff_whole ? json_text(change->diff) : json_null());
    op_json_push(&rows->items, row);
    return rows->items ? ETHOS_OK : ETHOS_NOMEM;
}

/* Completes diffs that were cut. A diff stays null if its version is gone or the result would be too long. */
static int complete_diffs(struct ethos_turn *turn, json_t *items, struct ethos_error *error)
{
    size_t index, bytes = 0;
    json_t *row;
    json_array_foreach (items, index, row) {
        const struct ethos_target target = {NULL, json_string_value(json_object_get(row, "scope")),
                                            json_string_value(json_object_get(row, "key"))};
        if (!json_is_null(json_object_get(row, "diff")) || bytes > WHOLE_BYTES)
            continue;
        if (change_complete(turn, &target, row, NULL) == ETHOS_NOMEM)
            return err_nomem(error);
        bytes += json_string_length(json_object_get(row, "diff"));
    }
    return ETHOS_OK;
}

/* Resolves the argument "scope"; out->scope is "" without it. */
static int named_scope(const struct op_call *call, const struct ethos_turn *turn,
                       struct scope_target *out, struct ethos_error *error)
{
    const char *scope = op_string(call, "scope");
    *out->scope = 0;
    return scope
               ? scope_target(ethos_turn_context(turn), NULL, scope, "MEMORY.md", false, out, error)
               : ETHOS_OK;
}

/* The argument, else the personality or user of the call. */
static const char *named_id(const struct op_call *call, const char *name, const char *of_call)
{
    const char *id = op_string(call, name);
    return id ? id : of_call;
}

/* An empty list is returned only if every scope could be read; else the error. */
static int nothing_found(const struct op_result *result, struct ethos_error *error)
{
    if (result->code != ETHOS_OK && error)
        *error = result->error;
    return result->code;
}

static int list_changes(struct op_call *call, struct ethos_turn *turn, struct op_result *result,
                        struct ethos_error *error)
{
    char cursor[TIMELINE_CURSOR_SIZE];
    struct scope_target aimed;
    struct timeline_rows rows = {NULL, op_flag(call, "diff")};
    struct timeline_query query = {
        .personality = named_id(call, "personality", call->request->personality),
        .user = named_id(call, "user", call->request->user),
        .key = op_string(call, "key"),
        .via = op_string(call, "via"),
        .filter = {.actor = op_string(call, "actor"),
                   .session = op_string(call, "session"),
                   .source = op_string(call, "source"),
                   .since_ms = op_time(call, "since"),
                   .until_ms = op_time(call, "until"),
                   .limit = (uint64_t)op_integer(call, "limit", PAGE)},
        .cursor = op_string(call, "cursor")};
    int code = named_scope(call, turn, &aimed, error);
    query.scope = *aimed.scope ? aimed.scope : NULL;
    rows.items = json_array();
    if (code == ETHOS_OK)
        code = timeline_page(turn, &query, add_timeline_row, &rows, cursor, &result->code,
                             &result->error, error);
    if (code == ETHOS_OK && json_array_size(rows.items) == 0)
        code = nothing_found(result, error);
    if (code == ETHOS_OK && rows.diffs)
        code = complete_diffs(turn, rows.items, error);
    if (code == ETHOS_OK)
        code = op_return(result,
                         json_pack("{s:O, s:o}", "items", rows.items, "nextCursor",
                                   op_json_string(*cursor ? cursor : NULL)),
                         error);
    json_decref(rows.items);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static int run_timeline(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    return list_changes(call, turn, result, error);
}

static const struct op_arg timeline_args[] = {
    {"personality", OP_TEXT, 0, NULL, "ID", "only the memory of this personality"},
    {"user", OP_TEXT, 0, NULL, "ID", "only the profile of this user; with the above: both"},
    ARG_SCOPE,
    ARG_KEY,
    ARG_SOURCE,
    {"via", OP_TEXT, 0, NULL, "SURFACE", "only changes made through: cli, mcp, http, editor, ..."},
    ARG_ACTOR,
    ARG_SESSION,
    ARG_SINCE,
    ARG_UNTIL,
    {"diff", OP_FLAG, 0, NULL, NULL, "show what each change did"},
    {"limit", OP_INTEGER, 0, "1|200", "N", "at most this many (default: 50)"},
    {"cursor", OP_TEXT, 0, NULL, "CURSOR", "nextCursor of the previous page"},
    ARG_END};

const struct op ops_timeline[] = {{"memory.timeline", "memory timeline",
                                   "List the changes of all memory, newest first",
                                   "ethos memory timeline --since 7d", timeline_args,
                                   OP_MEMORY_READ, OP_IDEMPOTENT, run_timeline},
                                  {0}};
