/*
 * import_export.c: the operations transfer.import and transfer.export: exchange notes with other programs.
 *
 *     {"format", "path", "scope", "counts": {"taken": 2, ...},
 *      "rows": [{"what", "file", "scope", "key", "why", "diff"}], "dryRun"}
 *
 * Members of rows that do not apply are omitted. An export to standard output is the text alone.
 */
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/formats/memory_formats.h"
#include "memory/import_export/import_export.h"
#include "ops/tables.h"
#include "ops/write_report.h"

struct transfer_tally {
    json_t *rows, *counts;
    int64_t conflicts, left, differs;
    int code; /* of the first item that was not written */
};

static void put_row_text(json_t **row, const char *name, const char *value)
{
    if (value)
        op_json_put(row, name, json_text(view_str(value)));
}

static void add_transfer_row(void *arg, const struct transfer_row *row)
{
    struct transfer_tally *tally = arg;
    json_t *json = json_pack("{s:s}", "what", row->what);
    put_row_text(&json, "file", row->file);
    put_row_text(&json, "scope", row->scope);
    put_row_text(&json, "key", row->key);
    put_row_text(&json, "why", row->why);
    put_row_text(&json, "diff", row->diff);
    op_json_push(&tally->rows, json);
    tally->conflicts += strcmp(row->what, "conflict") == 0;
    tally->differs += row->why && strcmp(row->why, TRANSFER_DIFFERS) == 0;
    tally->left += row->code != ETHOS_OK;
    tally->code = tally->code != ETHOS_OK ? tally->code : row->code;
    json_int_t count = json_integer_value(json_object_get(tally->counts, row->what));
    if (strcmp(row->what, "diff") != 0)
        op_json_put(&tally->counts, row->what, json_integer(count + 1));
}

/* Sets the error of items that were not written as requested, although the operation itself did not fail. */
static void set_unfinished_error(const struct transfer_tally *tally, struct op_result *result)
{
    if (tally->conflicts > 0) {
        result->code = err_set(&result->error, ETHOS_CONFLICT, "%lld in conflict",
                               (long long)tally->conflicts);
        err_hint(&result->error, result->code, "ethos conflicts list shows them");
    } else if (tally->left > 0) {
        result->code = err_set(&result->error, tally->code, "%lld not written",
                               (long long)tally->left);
        if (tally->differs > 0)
            err_hint(&result->error, result->code, "--replace overwrites what is there");
    }
}

static int return_transfer(const struct op_call *call, const struct transfer_request *what,
                           const struct transfer_place *place, struct transfer_tally *tally,
                           struct op_result *result, struct ethos_error *error)
{
    json_t *json = json_pack("{s:s, s:s, s:o*, s:o*}", "format", what->format, "scope",
                             place->scope, "counts", json_incref(tally->counts), "rows",
                             json_incref(tally->rows));
    op_json_put(&json, "path", *place->path ? json_text(view_str(place->path)) : json_null());
    if (call->dry_run)
        op_json_put(&json, "dryRun", json_true());
    if (result->has_text)
        op_json_put(&json, "text", json_text(str_view(&result->text)));
    if (!tally->rows || !tally->counts) {
        json_decref(json);
        json = NULL;
    }
    set_unfinished_error(tally, result);
    return op_return(result, json, error);
}

static int run_transfer(struct op_call *call, const struct transfer_request *given, bool export,
                        struct op_result *result, struct ethos_error *error)
{
    struct ethos_turn *turn;
    struct transfer_place place = {0};
    struct transfer_tally tally = {.rows = json_array(), .counts = json_object()};
    struct transfer_request what = *given;
    struct ethos_origin origin = op_origin(call);
    if (!export) {
        origin.trust = trust_name(TRUST_UNTRUSTED); // others wrote the text
        origin.approved_by = call->trust == TRUST_OWNER && op_flag(call, "approve") ? "owner"
                                                                                    : NULL;
    }
    const struct ethos_sync_how how = {
        .origin = &origin,
        .flags = call->dry_run ? (unsigned)(ETHOS_SYNC_DRY_RUN | ETHOS_SYNC_DIFF) : 0u};
    what.each = add_transfer_row;
    what.arg = &tally;
    what.progress = call->progress;
    what.progress_arg = call->progress_arg;
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code == ETHOS_OK) {
        code = export ? transfer_export(turn, &what, &result->text, &how, &place, error)
                      : transfer_import(turn, &what, &how, &place, error);
        ethos_turn_free(turn);
    }
    result->has_text = export && code == ETHOS_OK && !*place.path;
    if (code == ETHOS_OK)
        code = return_transfer(call, &what, &place, &tally, result, error);
    json_decref(tally.rows);
    json_decref(tally.counts);
    return code;
}

static int run_import(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const struct transfer_request what = {.format = op_string(call, "source"),
                                          .path = op_string(call, "path"),
                                          .scope = op_string(call, "scope")};
    return run_transfer(call, &what, false, result, error);
}

static int run_export(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const struct transfer_request what = {.format = op_string(call, "format"),
                                          .path = op_string(call, "path"),
                                          .scope = op_string(call, "scope"),
                                          .replace = op_flag(call, "replace")};
    return run_transfer(call, &what, true, result, error);
}

static const struct op_arg import_args[] = {
    {"source", OP_CHOICE, OP_REQUIRED | OP_POSITIONAL, FOREIGN_SOURCES, "SOURCE",
     "claude-code, claude-md, jutul, openclaw, hermes, server-memory or ethos-vector"},
    {"path", OP_TEXT, OP_POSITIONAL, NULL, "PATH",
     "a folder or file (default: where that program stores it)"},
    {"scope", OP_TEXT, 0, NULL, "SCOPE",
     "import into this scope (default: the workspace; for openclaw and hermes the personality)"},
    {"approve", OP_FLAG, 0, NULL, NULL,
     "write at once instead of waiting for approval; --yes does the same"},
    ARG_END};
static const struct op_arg export_args[] = {
    {"format", OP_CHOICE, OP_REQUIRED | OP_POSITIONAL, TRANSFER_FORMATS, "FORMAT",
     "claude-code, jutul, markdown, json, agents-md or claude-md"},
    {"path", OP_TEXT, OP_POSITIONAL, NULL, "PATH",
     "a folder for claude-code and jutul, else a file (default: standard output)"},
    {"scope", OP_TEXT, 0, NULL, "SCOPE", "export this scope (default: the workspace)"},
    {"replace", OP_FLAG, 0, NULL, NULL, "overwrite files that have other content"},
    ARG_END};

const struct op ops_transfer[] = {
    {"transfer.import", "import", "Import the memory of another program",
     "ethos import claude-code", import_args, OP_MEMORY_WRITE, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL,
     run_import},
    {"transfer.export", "export", "Export notes in another program's format",
     "ethos export agents-md .", export_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL,
     run_export},
    {0}};
