/*
 * op.c: the operation table, checking of arguments, running operations, and helpers for their results.
 */
#include "ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/choice.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/handle.h"
#include "ops/key_limits.h"
#include "ops/redact_args.h"
#include "ops/sanitize.h"
#include "session/session.h"

/* ---- the table ----------------------------------------------------------------------------- */

const struct op *op_next(const struct op *op)
{
    if (!op)
        return op_tables[0];
    if (op[1].name)
        return op + 1;
    for (size_t i = 0; op_tables[i]; i++)
        for (const struct op *row = op_tables[i]; row->name; row++)
            if (row == op)
                return op_tables[i + 1];
    return NULL;
}

const struct op *op_find(const char *name)
{
    for (size_t i = 0; op_tables[i]; i++)
        for (const struct op *row = op_tables[i]; row->name; row++)
            if (row->name[0] == name[0] && strcmp(row->name, name) == 0)
                return row;
    return NULL;
}

bool op_is_in_program(const struct op *op)
{
    return !(op->effect & OP_DATABASE) || sessions_builtin;
}

bool op_needs_other_program(const struct op *op)
{
    return op->effect & OP_ASKS && !op_is_in_program(op_find("memory.recall"));
}

const char *op_right_name(enum op_right right)
{
    static const char *const names[] = {
        "memory:read", "memory:write", "sessions:read", "sessions:write", "personalities:read",
        "chat:send",   "store",        "owner",         "anybody"};
    return names[right];
}

bool op_right_parse(struct ethos_view name, enum op_right *out)
{
    for (enum op_right right = 0; right < OP_OWNER; right++) {
        if (view_eq_str(name, op_right_name(right))) {
            *out = right;
            return true;
        }
    }
    return false;
}

bool op_allowed(const struct op *op, unsigned rights)
{
    if ((op->effect & OP_LOCAL) || ((op->effect & OP_NEVER_AGENT) && (rights & OP_AGENT)))
        return false;
    if ((rights & OP_LIMITED) && !limits_is_op_known(op))
        return false;
    if (rights & OP_AGENT)
        rights &= ~OP_RIGHTS_NEVER_AGENT;
    return op->right == OP_ANYBODY || (rights & OP_RIGHT(op->right));
}

int op_team_scope(const char *name, char out[ETHOS_MAX_SCOPE], struct ethos_error *error)
{
    return scope_make(SCOPE_TEAM, name, out, error);
}

/* ---- checking ------------------------------------------------------------------------------ */

void op_range(const struct op_arg *arg, int64_t *out_min, int64_t *out_max)
{
    const char *max = arg->choices ? strchr(arg->choices, '|') : NULL;
    *out_min = max ? strtoll(arg->choices, NULL, 10) : INT64_MIN;
    *out_max = max ? strtoll(max + 1, NULL, 10) : INT64_MAX;
}

static int check_integer(const struct op_arg *arg, int64_t number, struct ethos_error *error)
{
    int64_t min, max;
    op_range(arg, &min, &max);
    if (number >= min && number <= max)
        return ETHOS_OK;
    return err_set(error, ETHOS_INVALID, "%s: must be from %lld to %lld", arg->name, (long long)min,
                   (long long)max);
}

static int check_choice(const struct op_arg *arg, struct ethos_view value,
                        struct ethos_error *error)
{
    char words[128];
    if (choice_has(arg->choices, value))
        return ETHOS_OK;
    choice_text(arg->choices, words, sizeof words);
    int code = err_set(error, ETHOS_INVALID, "%s: unknown value '%.*s'", arg->name,
                       VIEW_ARG(value));
    return err_hint(error, code, "use %s", words);
}

/* A name with a NUL would be read as another name. Content, which has OP_STDIN, may contain NUL. */
static int check_text(const struct op_arg *arg, struct ethos_view value, struct ethos_error *error)
{
    if ((arg->flags & OP_STDIN) || !memchr(value.data, 0, value.size))
        return ETHOS_OK;
    return err_set(error, ETHOS_INVALID, "%s: must not contain NUL", arg->name);
}

static int check_time(const struct op_arg *arg, struct ethos_view value, struct ethos_error *error)
{
    int64_t ms;
    if (clock_parse(value, 0, false, &ms, NULL))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_INVALID, "%s: '%.*s' is not a valid time", arg->name,
                       VIEW_ARG(value));
    return err_hint(error, code, "use 30m, 12h, 7d, 2w, 2026-11-15 or 2026-11-15T08:30");
}

static int check_single_value(const struct op_arg *arg, const json_t *value,
                              struct ethos_error *error)
{
    static const char *const kinds[] = {"a string", "a whole number", "true or false", "a string",
                                        "a time"};
    if (arg->type == OP_VALUE)
        return ETHOS_OK;
    int64_t number = 0;
    bool ok = arg->type == OP_INTEGER ? json_whole(value, &number)
              : arg->type == OP_FLAG  ? json_is_boolean(value)
                                      : json_is_string(value);
    if (!ok)
        return err_set(error, ETHOS_INVALID, "%s: must be %s", arg->name, kinds[arg->type]);
    if (arg->type == OP_INTEGER)
        return check_integer(arg, number, error);
    if (arg->type == OP_FLAG)
        return ETHOS_OK;
    struct ethos_view text = view_of(json_string_value(value), json_string_length(value));
    return arg->type == OP_CHOICE ? check_choice(arg, text, error)
           : arg->type == OP_TIME ? check_time(arg, text, error)
                                  : check_text(arg, text, error);
}

static int check_argument(const struct op_arg *arg, const json_t *value, struct ethos_error *error)
{
    size_t index;
    json_t *item;
    if (!(arg->flags & OP_MANY))
        return check_single_value(arg, value, error);
    if (!json_is_array(value))
        return err_set(error, ETHOS_INVALID, "%s: must be an array", arg->name);
    json_array_foreach (value, index, item)
        TRY(check_single_value(arg, item, error));
    return ETHOS_OK;
}

static bool has_arg(const struct op *op, const char *name)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return true;
    return false;
}

static int check_arguments(const struct op *op, const json_t *args, struct ethos_error *error)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        const json_t *value = json_object_get(args, arg->name);
        bool given = value && !json_is_null(value);
        bool said = given || (value && (arg->flags & OP_NULL));
        if (!said && (arg->flags & OP_REQUIRED))
            return err_set(error, ETHOS_INVALID, "%s: missing %s", op->name, arg->name);
        if (given)
            TRY(check_argument(arg, value, error));
    }
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)args, name, value) {
        if (!has_arg(op, name))
            return err_set(error, ETHOS_INVALID, "%s: unknown argument %s", op->name, name);
    }
    return ETHOS_OK;
}

int op_run(const struct op *op, struct op_call *call, struct op_result *result,
           struct ethos_error *error)
{
    if (!call->args)
        return err_nomem(error); // the surface could not build the arguments
    TRY(check_arguments(op, call->args, error));
    TRY(op->run(call, result, error));
    return call->guarded ? sanitize_result(call->ethos, result, error) : ETHOS_OK;
}

/* Runs an operation for a limited key, and discards results that the key must not see. */
static int run_limited(const struct op *op, struct op_call *call, struct op_result *result,
                       struct ethos_error *error)
{
    struct limits limits;
    if (!call->only || !call->request || !call->ethos)
        return err_set(error, ETHOS_DENIED, "%s: the limits of the key are not known", op->name);
    TRY(call->args ? check_arguments(op, call->args, error) : err_nomem(error));
    int code = limits_enter(op, call, &limits, error);
    if (code == ETHOS_OK)
        code = limits_leave(op, &limits, op_run(op, &limits.call, result, error), result, error);
    if (code == ETHOS_DENIED || code == ETHOS_NOTFOUND) {
        op_result_release(result);
        op_result_init(result);
    }
    limits_release(&limits);
    return code;
}

int op_refuse(const struct op *op, unsigned rights, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_DENIED, "%s: not allowed here", op->name);
    if (op->right == OP_OWNER || (op->effect & OP_LOCAL))
        return err_hint(error, code, OP_OWNER_ONLY);
    if ((rights & OP_LIMITED) && !limits_is_op_known(op))
        return err_hint(error, code, "a key that is limited with --only cannot use it");
    if ((op->effect & OP_NEVER_AGENT) && (rights & OP_AGENT))
        return err_hint(error, code, "a person has to decide");
    return err_hint(error, code, "the right %s is required", op_right_name(op->right));
}

int op_run_as(const struct op *op, unsigned rights, struct op_call *call, struct op_result *result,
              struct ethos_error *error)
{
    if (!op_allowed(op, rights))
        return op_refuse(op, rights, error);
    call->no_sessions = (rights & OP_LIMITED) || !(rights & OP_RIGHT(OP_SESSIONS_READ));
    if ((rights & OP_AGENT) && call->trust == TRUST_OWNER)
        call->trust = TRUST_AGENT;
    json_t *redacted = NULL;
    int code = rights & OP_AGENT && call->args
                   ? redact_args(op, call->ethos, call->args, &redacted, error)
                   : ETHOS_OK;
    if (redacted)
        call->args = redacted;
    if (code == ETHOS_OK)
        code = rights & OP_LIMITED ? run_limited(op, call, result, error)
                                   : op_run(op, call, result, error);
    if (redacted && code == ETHOS_OK && result->json)
        op_json_put(&result->json, "warning",
                    json_string("the text contained a secret, which was redacted before writing"));
    json_decref(redacted);
    return code;
}

void op_result_init(struct op_result *result)
{
    *result = (struct op_result){0};
    str_init(&result->texts, SIZE_MAX);
    str_init(&result->text, ETHOS_MAX_STORE_BYTES);
}

void op_result_release(struct op_result *result)
{
    json_decref(result->json);
    str_release(&result->texts);
    str_release(&result->text);
    op_validator_free(result->again);
}

struct ethos_origin op_origin(const struct op_call *call)
{
    return (struct ethos_origin){.actor = call->actor ? call->actor : "owner",
                                 .via = call->via,
                                 .source = call->source ? call->source : "tool",
                                 .session = call->request->session,
                                 .trust = trust_name(call->trust)};
}

/* ---- for operations ------------------------------------------------------------------------ */

struct ethos_view op_text(const struct op_call *call, const char *name)
{
    return json_view(call->args, name);
}

const char *op_string(const struct op_call *call, const char *name)
{
    return json_view(call->args, name).data;
}

int64_t op_integer(const struct op_call *call, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(call->args, name);
    int64_t number;
    return json_whole(value, &number) ? number : fallback;
}

bool op_flag(const struct op_call *call, const char *name)
{
    return json_is_true(json_object_get(call->args, name));
}

bool op_is_end_of_day(const char *name)
{
    return strcmp(name, "until") == 0;
}

int64_t op_time(const struct op_call *call, const char *name)
{
    int64_t ms;
    struct ethos_view text = op_text(call, name);
    bool given = text.data &&
                 clock_parse(text, service_now_ms(call->ethos), op_is_end_of_day(name), &ms, NULL);
    return given ? ms : 0;
}

int op_return(struct op_result *result, json_t *value, struct ethos_error *error)
{
    if (!value)
        return err_nomem(error);
    result->json = value;
    return ETHOS_OK;
}

void op_member(struct op_result *result, const char *name, struct ethos_view text)
{
    struct str *texts = &result->texts;
    struct op_member *member = &result->members[result->member_count++];
    *member = (struct op_member){.name = name, .at = texts->size, .absent = !text.data};
    if (utf8_valid(text))
        str_add(texts, text);
    else
        utf8_sanitize(text, texts);
    member->size = texts->size - member->at;
}

struct ethos_view op_member_view(const struct op_result *result, const struct op_member *member)
{
    return member->absent ? (struct ethos_view){0}
                          : view_of(result->texts.data + member->at, member->size);
}

static json_t *members_json(const struct op_result *result)
{
    json_t *json = json_object();
    for (size_t i = 0; i < result->member_count; i++) {
        struct ethos_view text = op_member_view(result, &result->members[i]);
        op_json_put(&json, result->members[i].name, text.data ? json_text(text) : json_null());
    }
    return json;
}

int op_return_members(const struct op_call *call, struct op_result *result,
                      struct ethos_error *error)
{
    if (str_code(&result->texts) != ETHOS_OK)
        return err_nomem(error);
    if (call->members)
        return ETHOS_OK;
    json_t *json = members_json(result);
    result->member_count = 0;
    return op_return(result, json, error);
}

int op_return_change(const struct op_call *call, struct op_result *result, json_t *value,
                     struct ethos_error *error)
{
    if (call->dry_run) {
        op_json_put(&value, "dryRun", json_true());
        op_json_put(&value, "diff", json_text(str_view(&result->text)));
    }
    if (call->dry_run && str_code(&result->text) != ETHOS_OK) {
        json_decref(value);
        value = NULL;
    }
    result->has_text = call->dry_run && !call->want_json;
    return op_return(result, value, error);
}

static void drop_unless(json_t **value, bool ok)
{
    if (!ok) {
        json_decref(*value);
        *value = NULL;
    }
}

void op_json_push(json_t **array, json_t *value)
{
    drop_unless(array, json_array_append_new(*array, value) == 0);
}

void op_json_insert(json_t **array, size_t index, json_t *value)
{
    drop_unless(array, json_array_insert_new(*array, index, value) == 0);
}

void op_json_put(json_t **object, const char *name, json_t *value)
{
    drop_unless(object, json_object_set_new(*object, name, value) == 0);
}

json_t *op_json_string(const char *string)
{
    return string ? json_text(view_str(string)) : json_null();
}

json_t *op_json_revision(const char *revision)
{
    return strcmp(revision, "absent") == 0 ? json_null() : json_string(revision);
}

json_t *op_json_number(double number)
{
    int64_t millionths = (int64_t)(number * 1e6 + (number < 0 ? -0.5 : 0.5));
    return json_real((double)millionths / 1e6);
}

json_t *op_json_time(int64_t ms)
{
    char iso[CLOCK_ISO_SIZE];
    if (ms < 0)
        return json_null();
    clock_iso(ms, iso);
    return json_string(iso);
}

json_t *op_json_path(const struct ethos_turn *turn, const char *scope, const char *key)
{
    char *path;
    if (service_path(turn, scope, key, &path, NULL) != ETHOS_OK)
        return NULL;
    json_t *json = op_json_string(path);
    free(path);
    return json;
}

json_t *op_json_error(const struct ethos_error *error)
{
    return json_pack("{s:s, s:o, s:o}", "code", err_name(error->code), "message",
                     json_text(view_str(error->text)), "hint",
                     *error->hint ? json_text(view_str(error->hint)) : json_null());
}
