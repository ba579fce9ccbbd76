/*
 * message.c: one message in, what is to be sent out.
 *
 * The envelope is checked here and nothing else is: whatever arrives, a request gets one answer under
 * its own id, a notification none, and the next message finds everything as it was.
 */
#include "mcp/parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/view.h"

#define META(name) "io.modelcontextprotocol/" name

/* ---- sending --------------------------------------------------------------------------------- */

/* An error whose request could not be read has no id: null is none in this protocol. */
static json_t *failure(const json_t *id, int code, const char *why, json_t *data)
{
    json_t *error = json_pack("{s:i, s:o}", "code", code, "message", json_text(view_str(why)));
    if (data)
        op_json_put(&error, "data", data);
    json_t *reply = json_pack("{s:s}", "jsonrpc", "2.0");
    if (id)
        op_json_put(&reply, "id", json_incref((json_t *)id));
    op_json_put(&reply, "error", error);
    return reply;
}

/* Appends a line; false: nothing. */
static bool print_line(const json_t *message, struct str *out, int *out_code)
{
    size_t start = out->size;
    bool ok = message && json_print(message, JSON_STYLE_LINE, out) == ETHOS_OK &&
              str_addc(out, '\n') == ETHOS_OK && out->size - start <= MCP_MAX_REPLY;
    *out_code = ok || !message ? ETHOS_NOMEM : str_code(out) ? str_code(out) : ETHOS_LIMIT;
    if (!ok)
        str_undo(out, start);
    return ok;
}

/* Takes the reply; one that cannot be said becomes an error under the same id. */
static void send(struct str *out, json_t *reply)
{
    int code;
    if (!print_line(reply, out, &code)) {
        json_t *error = failure(json_object_get(reply, "id"), MCP_INTERNAL,
                                code == ETHOS_LIMIT ? "the answer is too large" : "out of memory",
                                NULL);
        if (!print_line(error, out, &code))
            str_fail(out, code);
        json_decref(error);
    }
    json_decref(reply);
}

void mcp_too_long(struct str *out)
{
    char why[64];
    snprintf(why, sizeof why, "a message has at most %d bytes", MCP_MAX_LINE);
    send(out, failure(NULL, MCP_INVALID_REQUEST, why, NULL));
}

void mcp_log(struct mcp_session *self, enum ethos_level level, const char *line)
{
    static const struct {
        int severity;
        const char *name;
    } levels[] = {[ETHOS_LOG_ERROR] = {5, "error"},
                  [ETHOS_LOG_WARN] = {4, "warning"},
                  [ETHOS_LOG_INFO] = {2, "info"},
                  [ETHOS_LOG_DEBUG] = {1, "debug"}};
    if (!self->out || !self->log_level_now || levels[level].severity < self->log_level_now)
        return;
    send(self->out, json_pack("{s:s, s:s, s:{s:s, s:s, s:o}}", "jsonrpc", "2.0", "method",
                              "notifications/message", "params", "level", levels[level].name,
                              "logger", "ethos", "data", json_text(view_str(line))));
}

/* ---- the era of a request -------------------------------------------------------------------- */

json_t *mcp_refuse(struct mcp_request *request, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(request->why, sizeof request->why, format, args);
    va_end(args);
    request->code = code;
    return NULL;
}

/* What history may call it: a short word, and nobody's but an agent's. */
static void take_client(const json_t *info, char out[MCP_CLIENT_SIZE])
{
    static const char *const taken[] = {"owner", "external", "ethos"};
    const char *name = mcp_word(json_object_get(info, "name"));
    size_t size = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789._-")
                       : 0;
    bool fits = size > 0 && size < MCP_CLIENT_SIZE && !name[size];
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        fits = fits && strcmp(name, taken[i]) != 0;
    snprintf(out, MCP_CLIENT_SIZE, "%s", fits ? name : "agent");
}

int mcp_log_level(const json_t *name)
{
    static const char *const names[] = {"debug", "info",     "notice", "warning",
                                        "error", "critical", "alert",  "emergency"};
    for (int i = 0; json_is_string(name) && i < 8; i++)
        if (strcmp(mcp_word(name), names[i]) == 0)
            return i + 1;
    return 0;
}

static bool open_modern(struct mcp_request *request, const json_t *meta)
{
    const json_t *version = json_object_get(meta, META("protocolVersion"));
    if (!json_is_string(version))
        return mcp_refuse(request, MCP_INVALID_PARAMS, "params._meta[\"%s\"] must be a string",
                          META("protocolVersion"));
    if (!json_is_object(json_object_get(meta, META("clientCapabilities"))))
        return mcp_refuse(request, MCP_INVALID_PARAMS, "params._meta[\"%s\"] must be an object",
                          META("clientCapabilities"));
    if (mcp_version_find(mcp_word(version)) != MCP_2026_07_28) {
        request->data = json_pack("{s:[s], s:O}", "supported", mcp_version_name(MCP_2026_07_28),
                                  "requested", version);
        return mcp_refuse(request, MCP_UNSUPPORTED_VERSION, "unsupported protocol version");
    }
    request->version = MCP_2026_07_28;
    take_client(json_object_get(meta, META("clientInfo")), request->client);
    request->session->log_level_now = mcp_log_level(json_object_get(meta, META("logLevel")));
    return true;
}

static bool open_legacy(struct mcp_request *request)
{
    struct mcp_session *session = request->session;
    if (session->version == MCP_NONE && strcmp(request->method, "initialize") != 0 &&
        strcmp(request->method, "ping") != 0)
        return mcp_refuse(request, MCP_INVALID_REQUEST, "%s: initialize comes first",
                          request->method);
    request->version = session->version == MCP_NONE ? MCP_2024_11_05 : session->version;
    memcpy(request->client, session->client, sizeof request->client);
    session->log_level_now = session->log_level;
    return true;
}

/* What the legacy era keeps of a connection. */
static void keep_settled(struct mcp_request *request)
{
    struct mcp_session *session = request->session;
    if (strcmp(request->method, "initialize") == 0) {
        session->version = request->version;
        take_client(json_object_get(request->params, "clientInfo"), session->client);
    } else if (strcmp(request->method, "logging/setLevel") == 0) {
        session->log_level = mcp_log_level(json_object_get(request->params, "level"));
    }
}

static json_t *result_of(struct mcp_request *request, bool in_batch)
{
    const json_t *meta = json_object_get(request->params, "_meta");
    bool modern = json_object_get(meta, META("protocolVersion")) ||
                  strcmp(request->method, "server/discover") == 0;
    if (in_batch && (modern || strcmp(request->method, "initialize") == 0))
        return mcp_refuse(request, MCP_INVALID_REQUEST, "%s: not in a batch", request->method);
    if (!(modern ? open_modern(request, meta) : open_legacy(request)))
        return NULL;
    json_t *result = mcp_answer(request);
    if (result && !modern)
        keep_settled(request);
    return result;
}

/* ---- the envelope ---------------------------------------------------------------------------- */

static bool is_cancelled(const struct mcp_session *self, const struct mcp_request *request,
                         const json_t *id)
{
    return self->cancelled && strcmp(request->method, "initialize") != 0 &&
           self->cancelled(self->cancelled_arg, id);
}

static json_t *answer_request(struct mcp_session *self, struct mcp_request *request,
                              const json_t *id, bool in_batch)
{
    if (is_cancelled(self, request, id))
        return NULL;
    json_t *result = result_of(request, in_batch);
    json_t *reply = NULL;
    if (is_cancelled(self, request, id)) {
        json_decref(result);
        json_decref(request->data);
        return NULL;
    }
    if (result)
        reply = json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
    if (reply)
        return reply;
    if (!request->code)
        mcp_refuse(request, MCP_INTERNAL, "out of memory");
    return failure(id, request->code, request->why, request->data);
}

/* What to send for one message of the input, owned; NULL: nothing. */
static json_t *answer(struct mcp_session *self, const json_t *message, bool in_batch)
{
    const json_t *id = json_object_get(message, "id");
    const json_t *method = json_object_get(message, "method");
    const json_t *params = json_object_get(message, "params");
    bool id_fits = json_is_string(id) || json_is_integer(id);
    if (!json_is_object(message))
        return failure(NULL, MCP_INVALID_REQUEST, "a message is an object", NULL);
    if (id && !id_fits)
        return failure(NULL, MCP_INVALID_REQUEST, "an id is a string or an integer", NULL);
    if (!view_eq_str(json_view(message, "jsonrpc"), "2.0"))
        return failure(id, MCP_INVALID_REQUEST, "jsonrpc must be \"2.0\"", NULL);
    if (!method && (json_object_get(message, "result") || json_object_get(message, "error")))
        return NULL; // an answer, though nothing was asked
    if (!json_is_string(method) || memchr(json_string_value(method), 0, json_string_length(method)))
        return failure(id, MCP_INVALID_REQUEST, "a method is a string", NULL);
    if (!id)
        return NULL; // no notification asks for more than has been seen to
    if (params && !json_is_object(params) && !json_is_null(params))
        return failure(id, MCP_INVALID_REQUEST, "params must be an object", NULL);
    struct mcp_request request = {
        .session = self, .method = json_string_value(method), .params = params};
    return answer_request(self, &request, id, in_batch);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void answer_batch(struct mcp_session *self, const json_t *batch, struct str *out)
{
    size_t index;
    json_t *message, *replies = json_array();
    json_array_foreach (batch, index, message) {
        json_t *reply = answer(self, message, true);
        if (reply)
            op_json_push(&replies, reply);
    }
    if (!replies || json_array_size(replies) > 0)
        send(out, replies);
    else
        json_decref(replies);
}

static const char *refuse_batch(const struct mcp_session *self, const json_t *batch)
{
    return self->version != MCP_2025_03_26          ? "this version has no batches"
           : json_array_size(batch) == 0            ? "a batch must not be empty"
           : json_array_size(batch) > MCP_MAX_BATCH ? "the batch is too large"
                                                    : NULL;
}

void mcp_message(struct mcp_session *self, struct ethos_view text, struct str *out)
{
    json_t *message = NULL;
    struct ethos_error error = {0};
    if (view_blank(text))
        return;
    self->out = out;
    self->log_level_now = 0;
    int code = json_parse(text, "message", &message, &error);
    if (code != ETHOS_OK) {
        send(out,
             failure(NULL, code == ETHOS_NOMEM ? MCP_INTERNAL : MCP_PARSE_ERROR, error.text, NULL));
    } else if (json_is_array(message)) {
        const char *why = refuse_batch(self, message);
        if (why)
            send(out, failure(NULL, MCP_INVALID_REQUEST, why, NULL));
        else
            answer_batch(self, message, out);
    } else {
        json_t *reply = answer(self, message, false);
        if (reply)
            send(out, reply);
    }
    json_decref(message);
    self->out = NULL;
}
