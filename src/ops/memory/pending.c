/*
 * pending.c: the operations on pending changes, which wait for a person's decision: pending.* for all scopes, and
 * memory.pending* for one personality, as the SDK calls them.
 *
 * Agents see the changes that they proposed, and cannot decide.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/text/quote.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/approval/pending.h"
#include "core/approval/policy.h"
#include "core/memory/scope.h"
#include "memory/handle.h"
#include "memory/review/review.h"
#include "ops/tables.h"
#include "ops/write_report.h"

/* ---- visibility -------------------------------------------------------------------------------- */

static bool is_agent(const struct op_call *call)
{
    return call->trust != TRUST_OWNER;
}

/* The actor whose changes the caller may see; NULL for all. */
static const char *visible_actor(const struct op_call *call)
{
    return !is_agent(call) ? NULL : call->actor ? call->actor : "agent";
}

/* Opens a turn for a scope: a personality may have its own backend. */
static int open_turn_for_scope(const struct op_call *call, const char *scope,
                               struct ethos_turn **out, struct ethos_error *error)
{
    enum scope_kind kind;
    const char *id;
    struct ethos_request request = *call->request;
    TRY(scope_parse(scope, &kind, &id, error));
    if (kind == SCOPE_PERSONALITY)
        request.personality = id;
    return ethos_turn_new(call->ethos, &request, out, error);
}

/* The scope of memory.pending*: that of the call's personality. */
static int personality_scope(const struct op_call *call, char out[ETHOS_MAX_SCOPE],
                             struct ethos_error *error)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    return scope_make(SCOPE_PERSONALITY, ethos_turn_context(turn)->personality, out, error);
}

/* ---- showing ----------------------------------------------------------------------------------- */

static int run_list_pending(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    json_t *rows;
    TRY(review_list(call->ethos, NULL, visible_actor(call), &rows, error));
    return op_return(result, json_pack("{s:o}", "pending", rows), error);
}

static int run_wire_list(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    json_t *rows;
    char scope[ETHOS_MAX_SCOPE];
    TRY(personality_scope(call, scope, error));
    TRY(review_list(call->ethos, scope, visible_actor(call), &rows, error));
    return op_return(result, json_pack("{s:o}", "pending", rows), error);
}

/* The reasons as sentences. */
static json_t *reasons_json(const struct pending *pending)
{
    size_t index;
    json_t *name, *sentences = json_array();
    json_array_foreach ((json_t *)pending->why, index, name) {
        const char *sentence = policy_why_sentence(
            view_of(json_string_value(name), json_string_length(name)));
        if (sentence)
            op_json_push(&sentences, json_string(sentence));
    }
    return sentences;
}

/* The line of a rule that would allow changes of this kind; JSON null if no rule may. */
static json_t *rule_json(const struct pending *pending)
{
    static const unsigned may = WHY_MODE | WHY_AUTOMATED;
    struct policy_rule rule;
    struct str line;
    size_t index;
    json_t *name, *json = NULL;
    unsigned why = 0;
    json_array_foreach ((json_t *)pending->why, index, name)
        for (unsigned bit = 1; bit <= may; bit *= 2)
            if (policy_why_name(bit) &&
                strcmp(policy_why_name(bit),
                       json_string_value(name) ? json_string_value(name) : "") == 0)
                why |= bit;
    const struct ethos_origin origin = {.actor = pending->actor, .trust = pending->trust};
    const struct policy_write write = {.trust = trust_of(&origin),
                                       .actor = pending->actor,
                                       .source = pending->source,
                                       .action = pending->action,
                                       .files = policy_files_of(pending->scope, pending->key),
                                       .chars = utf8_units(pending->text)};
    str_init(&line, 1024);
    if (pending->trust && why && policy_rule_for(&write, why, &rule) &&
        policy_print_rule(&rule, &line) == ETHOS_OK)
        json = json_text(str_view(&line));
    str_release(&line);
    return json ? json : json_null();
}

static int return_pending(const struct op_call *call, json_t *row, struct op_result *result,
                          struct ethos_error *error)
{
    struct pending pending;
    struct ethos_turn *turn;
    struct review_effect effect;
    if (!pending_read(row, &pending))
        return err_set(error, ETHOS_CORRUPT, "this is not a pending change");
    int code = open_turn_for_scope(call, pending.scope, &turn, error);
    if (code != ETHOS_OK)
        return code;
    code = review_preview(turn, &pending, &effect, error);
    json_t *json = code == ETHOS_OK ? json_deep_copy(row) : NULL;
    if (json) {
        op_json_put(&json, "hash", json_string(effect.hash));
        op_json_put(&json, "moved", json_boolean(effect.moved));
        op_json_put(&json, "reasons", reasons_json(&pending));
        op_json_put(&json, "rule", rule_json(&pending));
        op_json_put(&json, "diff", json_text(str_view(&effect.diff)));
    }
    review_effect_release(&effect);
    ethos_turn_free(turn);
    return code == ETHOS_OK ? op_return(result, json, error) : code;
}

static int run_show_pending(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    json_auto_t *row = NULL;
    TRY(review_find(call->ethos, NULL, op_text(call, "id"), &row, error));
    const char *own = visible_actor(call);
    if (own && !view_eq_str(json_view(row, "actor"), own))
        return err_set(error, ETHOS_DENIED, "this change was proposed by somebody else");
    return return_pending(call, row, result, error);
}

/* ---- deciding ----------------------------------------------------------------------------------- */

struct decision {
    json_t *row;
    struct review_decision what;
    struct ethos_turn *turn;
};

static int open_decision(const struct op_call *call, bool wire, struct decision *out,
                         struct ethos_error *error)
{
    struct pending pending;
    char scope[ETHOS_MAX_SCOPE];
    *out = (struct decision){0};
    if (wire)
        TRY(personality_scope(call, scope, error));
    TRY(review_find(call->ethos, wire ? scope : NULL, op_text(call, "id"), &out->row, error));
    pending_read(out->row, &pending);
    out->what = (struct review_decision){.scope = pending.scope,
                                         .id = pending.id,
                                         .hash = op_string(call, "hash"),
                                         .by = call->actor ? call->actor : "owner"};
    return open_turn_for_scope(call, pending.scope, &out->turn, error);
}

static void close_decision(struct decision *decision)
{
    if (decision->turn)
        ethos_turn_free(decision->turn);
    json_decref(decision->row);
}

/* Adds the rule to approval.yaml before the write: if the process dies in between, the change is still pending. */
static int add_rule(const struct op_call *call, const struct decision *decision, json_t *more,
                    struct ethos_error *error)
{
    struct pending pending;
    pending_read(decision->row, &pending);
    json_t *rule = rule_json(&pending);
    int code = json_is_string(rule)
                   ? review_allow(call->ethos, json_string_value(rule), error)
                   : err_hint(error,
                              err_set(error, ETHOS_DENIED,
                                      "%s: no rule may allow this kind of change", pending.key),
                              "approve this one without --always");
    if (code == ETHOS_OK)
        json_object_set(more, "rule", rule);
    json_decref(rule);
    return code;
}

/* Approves as a write operation, with the usual report of what was written. */
static int approve_pending(struct ethos_turn *turn, const struct op_call *call,
                           const struct ethos_sync_how *how, json_t *more,
                           struct ethos_error *error)
{
    struct decision decision;
    (void)turn;
    int code = open_decision(call, false, &decision, error);
    if (code == ETHOS_OK && op_flag(call, "always") && !call->dry_run)
        code = add_rule(call, &decision, more, error);
    if (code == ETHOS_OK)
        code = review_approve(decision.turn, &decision.what, how, error);
    if (code == ETHOS_OK)
        json_object_set(more, "id", json_object_get(decision.row, "id"));
    close_decision(&decision);
    return code;
}

static int run_approve(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(approve_pending, call, result, error);
}

static int return_decided(const struct decision *decision, const char *reason,
                          struct op_result *result, struct ethos_error *error)
{
    return op_return(
        result,
        json_pack("{s:O, s:s}", "id", json_object_get(decision->row, "id"), "decided", reason),
        error);
}

static int reject_pending(struct op_call *call, bool wire, bool never, struct op_result *result,
                          struct ethos_error *error)
{
    struct decision decision;
    int code = open_decision(call, wire, &decision, error);
    if (code == ETHOS_OK && !call->dry_run)
        code = review_reject(decision.turn, &decision.what, never, error);
    if (code == ETHOS_OK)
        code = return_decided(&decision, never ? "never" : "rejected", result, error);
    close_decision(&decision);
    return code;
}

static int run_reject(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return reject_pending(call, false, false, result, error);
}

static int run_never(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return reject_pending(call, false, true, result, error);
}

static int edit_pending(struct op_call *call, bool wire, struct ethos_view text, json_t **out,
                        struct ethos_error *error)
{
    struct decision decision;
    int code = open_decision(call, wire, &decision, error);
    if (code == ETHOS_OK && !call->dry_run)
        code = review_edit(decision.turn, &decision.what, text, out, error);
    else if (code == ETHOS_OK)
        *out = json_incref(decision.row);
    close_decision(&decision);
    return code;
}

static int run_edit(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    json_auto_t *row = NULL;
    TRY(edit_pending(call, false, op_text(call, "content"), &row, error));
    return return_pending(call, row, result, error);
}

/* ---- memory.pending*, for the SDK ---------------------------------------------------------------- */

static int run_wire_approve(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    struct decision decision;
    static const struct ethos_sync_how plain;
    int code = open_decision(call, true, &decision, error);
    if (code == ETHOS_OK && !call->dry_run)
        code = review_approve(decision.turn, &decision.what, &plain, error);
    if (code == ETHOS_OK)
        code = return_decided(&decision, "approved", result, error);
    close_decision(&decision);
    return code;
}

static int run_wire_reject(struct op_call *call, struct op_result *result,
                           struct ethos_error *error)
{
    return reject_pending(call, true, false, result, error);
}

static int run_wire_never(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return reject_pending(call, true, true, result, error);
}

/* Replaces the text of the update; its file and action stay. */
static int run_wire_edit(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const json_t *update = json_object_get(call->args, "update");
    struct ethos_view text = json_view(update, "content");
    json_t *row = NULL;
    if (!text.data)
        text = json_view(update, "substringMatch");
    if (!text.data)
        return err_set(error, ETHOS_INVALID, "update: must have content, or substringMatch");
    int code = edit_pending(call, true, text, &row, error);
    return code == ETHOS_OK ? op_return(result, json_pack("{s:o}", "pending", row), error) : code;
}

/* ---- the table ----------------------------------------------------------------------------------- */

#define ARG_ID                                                                                     \
    {                                                                                              \
        "id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID",                                    \
            "the id of a pending change, or its beginning"                                         \
    }
#define ARG_HASH                                                                                   \
    {                                                                                              \
        "hash", OP_TEXT, 0, NULL, "HASH", "only if the change still has this hash"                 \
    }

static const struct op_arg id_args[] = {ARG_ID, ARG_END};
static const struct op_arg decide_args[] = {ARG_ID, ARG_HASH, ARG_END};
static const struct op_arg approve_args[] = {
    ARG_ID,
    ARG_HASH,
    {"always", OP_FLAG, 0, NULL, NULL,
     "also add a rule to approval.yaml that allows this kind; pending show prints it"},
    ARG_END};
static const struct op_arg edit_args[] = {ARG_ID,
                                          {"content", OP_TEXT,
                                           OP_REQUIRED | OP_POSITIONAL | OP_STDIN, NULL, "TEXT",
                                           "the new text; - reads standard input"},
                                          ARG_HASH,
                                          ARG_END};
static const struct op_arg wire_edit_args[] = {
    ARG_ID, {"update", OP_VALUE, OP_REQUIRED, NULL, "UPDATE", "the new update"}, ARG_HASH, ARG_END};

const struct op ops_pending[] = {
    {"pending.list", "pending list", "List pending changes", "ethos pending list", NULL,
     OP_MEMORY_READ, OP_IDEMPOTENT, run_list_pending},
    {"pending.show", "pending show", "Show a pending change: what it would do and why it waits",
     "ethos pending show 3f2a9c1d", id_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_show_pending},
    {"pending.approve", "pending approve", "Approve a pending change",
     "ethos pending approve 3f2a9c1d", approve_args, OP_MEMORY_WRITE, OP_WRITES | OP_PERSON,
     run_approve},
    {"pending.edit", "pending edit", "Edit the text of a pending change",
     "ethos pending edit 3f2a9c1d", edit_args, OP_MEMORY_WRITE, OP_WRITES | OP_PERSON | OP_LARGE,
     run_edit},
    {"pending.reject", "pending reject", "Reject a pending change", "ethos pending reject 3f2a9c1d",
     decide_args, OP_MEMORY_WRITE, OP_WRITES | OP_PERSON, run_reject},
    {"pending.never", "pending never", "Reject a pending change whenever it is proposed again",
     "ethos pending never 3f2a9c1d", decide_args, OP_MEMORY_WRITE, OP_WRITES | OP_PERSON,
     run_never},
    {"memory.pendingList", NULL, "List the pending changes of a personality", NULL, NULL,
     OP_MEMORY_READ, OP_IDEMPOTENT, run_wire_list},
    {"memory.pendingApprove", NULL, "Approve a pending change", NULL, decide_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_PERSON, run_wire_approve},
    {"memory.pendingEdit", NULL, "Edit the text of a pending change", NULL, wire_edit_args,
     OP_MEMORY_WRITE, OP_WRITES | OP_PERSON | OP_LARGE, run_wire_edit},
    {"memory.pendingReject", NULL, "Reject a pending change", NULL, decide_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_PERSON, run_wire_reject},
    {"memory.pendingNever", NULL, "Reject a pending change whenever it is proposed again", NULL,
     decide_args, OP_MEMORY_WRITE, OP_WRITES | OP_PERSON, run_wire_never},
    {0}};
