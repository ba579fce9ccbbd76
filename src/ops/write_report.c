/*
 * write_report.c: runs operations that change files, and reports what happened to each file.
 */
#include "ops/write_report.h"

#include "base/err.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/notes/list.h"

struct ethos_target report_target(const struct op_call *call)
{
    struct ethos_target target = {op_string(call, "store"), op_string(call, "scope"),
                                  op_string(call, "key")};
    if (target.scope && !target.key)
        target.key = scope_store_key(target.store ? target.store : "memory");
    return target;
}

static void add_scope_target(struct report_scopes *out, const char *scope, const char *key)
{
    out->targets[out->count++] = (struct ethos_target){NULL, scope, key};
}

void report_scopes(struct ethos_turn *turn, struct report_scopes *out)
{
    const struct ethos_context *context = ethos_turn_context(turn);
    out->count = 0;
    add_scope_target(out, context->memory_scope, "MEMORY.md");
    if (strcmp(context->user_scope, context->memory_scope) != 0)
        add_scope_target(out, context->user_scope, "USER.md");
    if (context->workspace_scope)
        add_scope_target(out, context->workspace_scope, "MEMORY.md");
    if (strcmp(context->user_scope, "global") != 0 && notes_global_shown(turn))
        add_scope_target(out, "global", "MEMORY.md");
    size_t owners = out->count;
    for (size_t i = 0; i < owners; i++) {
        scope_tree(out->targets[i].scope, out->trees[i]);
        add_scope_target(out, out->trees[i], "MEMORY.md");
    }
}

void report_workspace(const struct ethos_context *context, struct op_result *result)
{
    if (!context->workspace_error || result->code != ETHOS_OK)
        return;
    result->code = context->workspace_error->code;
    result->error = *context->workspace_error;
}

int report_require_workspace(const struct ethos_context *context, struct ethos_error *error)
{
    if (!context->workspace_error)
        return ETHOS_OK;
    if (error)
        *error = *context->workspace_error;
    return context->workspace_error->code;
}

#define REPORT_ROWS 1000 /* except on the command line, which gets all */

struct write_report {
    json_t *written, *unchanged, *conflicts, *failed, *waiting, *pending, *warnings;
    size_t rows, most; /* outcomes so far, and how many of them are listed */
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
    if (outcome->warning)
        op_json_put(&row, "warning", json_text(view_str(outcome->warning)));
    if (outcome->diff)
        op_json_put(&row, "diff", json_text(view_str(outcome->diff)));
    if (outcome->error)
        op_json_put(&row, "error", op_json_error(outcome->error));
    return row;
}

static json_t *pending_json(const struct ethos_outcome *outcome)
{
    return json_pack("{s:s, s:s, s:s}", "id", outcome->pending, "scope", outcome->scope, "key",
                     outcome->key);
}

static void add_outcome(void *arg, const struct ethos_outcome *outcome)
{
    struct write_report *report = arg;
    json_t **lists[] = {&report->written, &report->unchanged, &report->conflicts,
                        &report->failed,  &report->waiting,   &report->pending};
    bool waits = outcome->kind == ETHOS_OUTCOME_PENDING;
    report->applied += (json_int_t)outcome->applied;
    if (report->rows++ >= report->most)
        return;
    op_json_push(lists[outcome->kind], waits ? pending_json(outcome) : outcome_json(outcome));
    if (outcome->warning)
        op_json_push(&report->warnings, json_text(view_str(outcome->warning)));
    if (outcome->diff)
        str_adds(&report->diff, outcome->diff);
}

static void report_init(struct write_report *report, const struct op_call *call)
{
    *report = (struct write_report){.written = json_array(),
                                    .unchanged = json_array(),
                                    .conflicts = json_array(),
                                    .failed = json_array(),
                                    .waiting = json_array(),
                                    .pending = json_array(),
                                    .warnings = json_array(),
                                    .most = call->whole_lists ? SIZE_MAX : REPORT_ROWS};
    str_init(&report->diff, ETHOS_MAX_STORE_BYTES);
}

/* The report as JSON; optional lists that are empty are omitted. */
static json_t *report_json(struct write_report *report, bool dry_run)
{
    json_t *json = json_pack("{s:I, s:O, s:O, s:O}", "applied", report->applied, "written",
                             report->written, "unchanged", report->unchanged, "conflicts",
                             report->conflicts);
    if (!report->failed || json_array_size(report->failed) > 0)
        op_json_put(&json, "failed", json_incref(report->failed));
    if (!report->waiting || json_array_size(report->waiting) > 0) {
        op_json_put(&json, "queued", json_true());
        op_json_put(&json, "waiting", json_incref(report->waiting));
    }
    if (!report->pending || json_array_size(report->pending) > 0) {
        json_t *first = json_array_get(report->pending, 0);
        op_json_put(&json, "status", json_string("pending"));
        op_json_put(&json, "id", json_incref(json_object_get(first, "id")));
        op_json_put(&json, "pending", json_incref(report->pending));
    }
    if (!report->warnings || json_array_size(report->warnings) > 0)
        op_json_put(&json, "warnings", json_incref(report->warnings));
    if (report->rows > report->most)
        op_json_put(&json, "more", json_integer((json_int_t)(report->rows - report->most)));
    if (dry_run)
        op_json_put(&json, "dryRun", json_true());
    return json;
}

static void report_release(struct write_report *report)
{
    json_decref(report->written);
    json_decref(report->unchanged);
    json_decref(report->conflicts);
    json_decref(report->failed);
    json_decref(report->waiting);
    json_decref(report->pending);
    json_decref(report->warnings);
    str_release(&report->diff);
}

/* Returns the report, with the error beside it, if there are outcomes; else the error alone. */
static int finish_report(const struct op_call *call, struct write_report *report, int code,
                         json_t *more, struct op_result *result, struct ethos_error *error)
{
    if (code == ETHOS_PENDING && report->rows > 0)
        code = ETHOS_OK; // the report lists what is pending
    if (code != ETHOS_OK && report->rows == 0 && json_object_size(more) == 0)
        return code;
    if (code != ETHOS_OK && report->rows == 0) {
        result->code = code;
        if (error)
            result->error = *error;
        return op_return(result, json_incref(more), error);
    }
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
    if (json && (!more || json_object_update(json, more) != 0)) {
        json_decref(json);
        json = NULL;
    }
    if (!json && !call->dry_run)
        return err_set(error, ETHOS_NOMEM, "done, but out of memory for the report");
    return op_return(result, json, error);
}

int report_run(report_fn *run, struct op_call *call, struct op_result *result,
               struct ethos_error *error)
{
    struct write_report report;
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    struct ethos_origin origin = op_origin(call);
    origin.op_id = op_string(call, "opId");
    const struct ethos_sync_how how = {
        .origin = &origin,
        .flags = call->dry_run ? (unsigned)(ETHOS_SYNC_DRY_RUN | ETHOS_SYNC_DIFF) : 0u,
        .each = add_outcome,
        .arg = &report,
        .if_match = op_string(call, "ifMatch"),
    };
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    report_init(&report, call);
    json_auto_t *more = json_object();
    int code = run(turn, call, &how, more, error);
    code = finish_report(call, &report, code, more, result, error);
    report_release(&report);
    return code;
}
