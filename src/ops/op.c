/*
 * op.c: walking the table, checking arguments, small JSON.
 */
#include "ops/op.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/view.h"

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
    for (const struct op *op = op_next(NULL); op; op = op_next(op))
        if (strcmp(op->name, name) == 0)
            return op;
    return NULL;
}

const char *op_right_name(enum op_right right)
{
    static const char *const names[] = {"memory:read", "memory:write", "personalities:read",
                                        "owner"};
    return names[right];
}

/* ---- checking ------------------------------------------------------------------------------ */

static bool is_choice(const char *choices, struct ethos_view value)
{
    for (const char *at = choices; *at;) {
        size_t size = strcspn(at, "|");
        if (view_eq(value, view_of(at, size)))
            return true;
        at += size + (at[size] == '|');
    }
    return false;
}

static int check_value(const struct op_arg *arg, const json_t *value, struct ethos_error *error)
{
    static const char *const kinds[] = {"a string", "a number", "true or false", "a string"};
    bool ok = arg->type == OP_INTEGER ? json_is_integer(value)
              : arg->type == OP_FLAG  ? json_is_boolean(value)
                                      : json_is_string(value);
    if (!ok)
        return err_set(error, ETHOS_INVALID, "%s: must be %s", arg->name, kinds[arg->type]);
    if (arg->type != OP_CHOICE)
        return ETHOS_OK;
    struct ethos_view text = view_of(json_string_value(value), json_string_length(value));
    if (is_choice(arg->choices, text))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_INVALID, "%s: unknown value '%.*s'", arg->name, VIEW_ARG(text));
    return err_hint(error, code, "use one of %s", arg->choices);
}

static int check_args(const struct op *op, const json_t *args, struct ethos_error *error)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++) {
        const json_t *value = json_object_get(args, arg->name);
        bool given = value && !json_is_null(value);
        if (!given && (arg->flags & OP_REQUIRED))
            return err_set(error, ETHOS_INVALID, "%s: missing %s", op->name, arg->name);
        int code = given ? check_value(arg, value, error) : ETHOS_OK;
        if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}

int op_run(const struct op *op, struct op_call *call, struct op_result *result,
           struct ethos_error *error)
{
    int code = check_args(op, call->args, error);
    return code == ETHOS_OK ? op->run(call, result, error) : code;
}

void op_result_init(struct op_result *result)
{
    *result = (struct op_result){0};
    str_init(&result->text, ETHOS_MAX_STORE_BYTES);
}

void op_result_release(struct op_result *result)
{
    json_decref(result->json);
    str_release(&result->text);
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
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : fallback;
}

bool op_flag(const struct op_call *call, const char *name)
{
    return json_is_true(json_object_get(call->args, name));
}

int op_return(struct op_result *result, json_t *value, struct ethos_error *error)
{
    if (!value)
        return err_nomem(error);
    result->json = value;
    return ETHOS_OK;
}

json_t *op_json_string(const char *string)
{
    return string ? json_text(view_str(string)) : json_null();
}

json_t *op_json_revision(const char *revision)
{
    return strcmp(revision, "absent") == 0 ? json_null() : json_string(revision);
}

json_t *op_json_time(int64_t ms)
{
    char iso[CLOCK_ISO_SIZE];
    if (ms < 0)
        return json_null();
    clock_iso(ms, iso);
    return json_string(iso);
}

json_t *op_json_error(const struct ethos_error *error)
{
    return json_pack("{s:s, s:o, s:o}", "code", err_name(error->code), "message",
                     json_text(view_str(error->text)), "hint",
                     *error->hint ? json_text(view_str(error->hint)) : json_null());
}
