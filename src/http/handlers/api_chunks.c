/*
 * api_chunks.c: /api/memory/chunks: the entries of a file as resources.
 *
 *     GET     /api/memory/chunks       a list; ?q= searches
 *     POST    /api/memory/chunks       {"content": ..., "under"?, "store"?, "id"?}
 *     GET     /api/memory/chunks/ID    one, ETag is its revision
 *     PUT     /api/memory/chunks/ID    {"content": ...}, with If-Match; without it the id of a text will do
 *     DELETE  /api/memory/chunks/ID    the same
 *
 * Each is an operation memory.chunks.*, with its arguments. An entry that is not what was read, or not there any more, is
 * 412 for whoever sent If-Match, else 409, with the nearest one in `nearest`.
 */
#include <string.h>

#include "base/view.h"
#include "http/handlers/api.h"

#define CHUNKS "memory/chunks"

/* What stands behind "memory/chunks/"; "" of the whole; NULL: another path, or the name of an operation. */
static const char *id_of(const char *rest)
{
    size_t size = sizeof CHUNKS - 1;
    if (strncmp(rest, CHUNKS, size) != 0 || (rest[size] && rest[size] != '/'))
        return NULL;
    const char *id = rest + size + (rest[size] == '/');
    return *id && (strchr(id, '/') || api_op(rest)) ? NULL : id;
}

static const struct op *find_op(const struct http_call *call, bool whole)
{
    switch (call->method) {
    case HTTP_GET:
    case HTTP_HEAD:
        return op_find(!whole                  ? "memory.chunks.get"
                       : http_query(call, "q") ? "memory.chunks.search"
                                               : "memory.chunks.list");
    case HTTP_POST:
        return whole ? op_find("memory.chunks.add") : NULL;
    case HTTP_PUT:
        return whole ? NULL : op_find("memory.chunks.update");
    case HTTP_DELETE:
        return whole ? NULL : op_find("memory.chunks.delete");
    default:
        return NULL;
    }
}

/* "q" is the search's query. Of a write, whose memory it is may stand in the query, and the rest in the body. */
static json_t *read_args(struct http_call *call, const struct op *op, const char *id)
{
    json_t *args = api_query(call, op);
    json_t *body = args && (op->effect & OP_WRITES) ? api_body(call) : NULL;
    if (args && (op->effect & OP_WRITES) && !body) {
        json_decref(args);
        return NULL;
    }
    if (body && json_object_update(args, body) != 0)
        op_json_put(&args, "content", NULL);
    json_decref(body);
    json_t *query = json_incref(json_object_get(args, "q"));
    if (query && op == op_find("memory.chunks.search")) {
        json_object_del(args, "q");
        op_json_put(&args, "query", query);
    } else {
        json_decref(query);
    }
    if (args && *id)
        op_json_put(&args, "id", json_text(view_str(id)));
    return args;
}

/* If-Match as an argument; "*" asks for nothing. False: it was answered. */
static bool take_match(struct http_call *call, json_t **args)
{
    char revision[ETHOS_REVISION_SIZE];
    switch (api_match(http_header(call, "If-Match"), revision)) {
    case API_MATCH_NONE:
    case API_MATCH_ANY:
        return true;
    case API_MATCH_ONE:
        op_json_put(args, "ifRevision", json_string(revision));
        return true;
    default:
        api_stale(call, NULL, NULL);
        return false;
    }
}

bool api_chunks(struct http_call *call)
{
    static const struct http_error method = {405, "METHOD_NOT_SUPPORTED", "Not with this method",
                                             NULL};
    const char *id = id_of(call->rest);
    const struct op *op = id ? find_op(call, !*id) : NULL;
    if (!id)
        return false;
    if (!op) {
        http_answer_header(call, "Allow", *id ? "GET, HEAD, PUT, DELETE" : "GET, HEAD, POST");
        http_answer_error(call, &method, NULL);
        return true;
    }
    if (!op_allowed(op, call->rights)) {
        rpc_refuse(call, op);
        return true;
    }
    json_t *args = read_args(call, op, id);
    if (args && (op->effect & OP_WRITES) && *id && !take_match(call, &args)) {
        json_decref(args);
        return true;
    }
    if (args)
        api_run(call, op, args);
    return true;
}
