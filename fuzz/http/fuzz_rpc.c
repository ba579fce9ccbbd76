/*
 * fuzz_rpc.c: whatever is sent to /rpc, the answer is one of the two forms of the wire, and an operation
 * is run only with arguments that its row has.
 *
 * Input: a line "namespace/method", then the body.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "http/handlers/stable_calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- a server that runs nothing --------------------------------------------------------------- */

static json_t *answered;

void http_answer_header(struct http_call *call, const char *name, const char *value)
{
    (void)call;
    assert(*name && *value);
}

void http_answer_json(struct http_call *call, unsigned status, json_t *value)
{
    assert(!answered && value);
    call->status = status;
    answered = value;
}

bool http_quick_op(const struct op *op)
{
    return op->effect & OP_QUICK;
}

static bool is_known(const struct op *op, const char *name)
{
    for (const struct op_arg *arg = op->args; arg && arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return true;
    for (const struct shape_field *field = shape_common; field->name; field++)
        if (strcmp(field->name, name) == 0)
            return true;
    return false;
}

/* Gives something of every kind; which, depends on the arguments alone. */
int http_run(struct http_call *call, const struct op *op, json_t *args, struct op_result *result,
             struct ethos_error *error)
{
    const char *name;
    json_t *value;
    size_t kind = json_object_size(args);
    assert(op_allowed(op, call->rights) && !(op->effect & OP_LOCAL));
    json_object_foreach (args, name, value)
        assert(is_known(op, name) && value);
    json_decref(args);
    op_result_init(result);
    if (kind == 3)
        return err_set(error, ETHOS_NOTFOUND, "%s: no such thing", op->name);
    if (kind == 4)
        result->code = err_set(&result->error, ETHOS_CONFLICT, "moved");
    return op_return(result,
                     json_pack("{s:{s:s}, s:{s:s}, s:[{s:s, s:s, s:s}], s:[{}, {}], s:[{}]}",
                               "session", "id", "x", "personality", "id", "p", "items", "id", "a",
                               "time", "2026-11-15", "diff", "+x", "files", "users"),
                     error);
}

/* ---- what comes back --------------------------------------------------------------------------- */

static void check_error(const json_t *error, unsigned status)
{
    size_t known = json_object_get(error, "data") ? 5 : 4;
    assert(json_object_size(error) == known);
    assert(json_is_false(json_object_get(error, "defined")));
    assert(json_integer_value(json_object_get(error, "status")) == (json_int_t)status);
    assert(json_view(error, "code").size > 0 && json_view(error, "message").data);
}

static void check_answer(const struct http_call *call)
{
    assert(json_is_object(answered));
    if (call->status == 200)
        assert(json_object_size(answered) == 1 && json_object_get(answered, "json"));
    else
        check_error(json_object_get(answered, "json"), call->status);
    json_decref(answered);
    answered = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view rest = view_of((const char *)data, size), line;
    char path[128];
    if (!view_line(&rest, &line) || memchr(line.data, 0, line.size))
        return 0;
    snprintf(path, sizeof path, "/rpc/%.*s", VIEW_ARG(line));
    struct http_call call = {.method = HTTP_POST,
                             .path = path,
                             .rest = path + 5,
                             .body = rest,
                             .who = HTTP_BROWSER,
                             .rights = (OP_RIGHT(OP_OWNER) << 1) - 1};
    http_rpc_quick(&call);
    http_rpc(&call);
    check_answer(&call);
    return 0;
}
