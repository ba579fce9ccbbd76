/*
 * message.c: one message in, what is to be sent out.
 *
 * The envelope is checked here and nothing else is: whatever arrives, a request gets one answer under
 * its own id, a notification none, and the next message finds everything as it was.
 */
#include "mcp/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/view.h"

#define META(name) "io.modelcontextprotocol/" name
#define MOST_ROOM 65536 /* bytes that are kept for the next request */

/* ---- sending --------------------------------------------------------------------------------- */

static void put_head(const json_t *id, struct str *out)
{
    str_adds(out, "{\"jsonrpc\":\"2.0\"");
    if (id) {
        str_adds(out, ",\"id\":");
        json_print(id, JSON_STYLE_LINE, out);
    }
}

/* An error whose request could not be read has no id: null is none in this protocol. */
static void put_failure(const json_t *id, int code, const char *why, const json_t *data,
                        struct str *out)
{
    put_head(id, out);
    str_printf(out, ",\"error\":{\"code\":%d,\"message\":", code);
    json_quote(view_str(why), out);
    if (data) {
        str_adds(out, ",\"data\":");
        json_print(data, JSON_STYLE_LINE, out);
    }
    str_adds(out, "}}");
}

/* Members that are text already come first. */
static void put_result(const json_t *id, const struct mcp_request *request, const json_t *result,
                       struct str *out)
{
    bool printed = request->members.size > 0, more = json_object_size(result) > 0;
    put_head(id, out);
    str_adds(out, printed ? ",\"result\":{" : ",\"result\":");
    str_add(out, str_view(&request->members));
    size_t object = out->size;
    if (printed && !more)
        str_addc(out, '}');
    else if (json_print(result, JSON_STYLE_LINE, out) == ETHOS_OK && printed)
        out->data[object] = ',';
    str_addc(out, '}');
}

/* A reply that cannot be said, from start on, becomes an error under the same id. */
static void settle_reply(const json_t *id, size_t start, struct str *out)
{
    int code = str_code(out);
    if (code == ETHOS_OK && out->size - start < MCP_MAX_REPLY)
        return;
    str_undo(out, start);
    put_failure(id, MCP_INTERNAL, code == ETHOS_NOMEM ? "out of memory" : "the answer is too large",
                NULL, out);
}

static void send_failure(int code, const char *why, struct str *out)
{
    put_failure(NULL, code, why, NULL, out);
    str_addc(out, '\n');
}

/* What was said since start is whole, or it is not said. */
static void drop_partial_output(size_t start, struct str *out)
{
    int code = str_code(out);
    if (code != ETHOS_OK) {
        str_undo(out, start);
        str_fail(out, code);
    }
}

void mcp_too_long(struct str *out)
{
    char why[64];
    size_t start = out->size;
    snprintf(why, sizeof why, "a message has at most %d bytes", MCP_MAX_LINE);
    send_failure(MCP_INVALID_REQUEST, why, out);
    drop_partial_output(start, out);
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
    if (self->mcp->no_log || !self->out || !self->log_level_now ||
        levels[level].severity < self->log_level_now)
        return;
    str_printf(self->out,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
               "\"level\":\"%s\",\"logger\":\"ethos\",\"data\":",
               levels[level].name);
    json_quote(view_str(line), self->out);
    str_adds(self->out, "}}\n");
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

static bool is_cancelled_now(const struct mcp_session *self, const struct mcp_request *request,
                             const json_t *id)
{
    return self->cancelled && strcmp(request->method, "initialize") != 0 &&
           self->cancelled(self->cancelled_arg, id);
}

/* A buffer of a request; where many come, its memory is kept from one to the next. */
static void open_room(struct str *kept, struct str *out)
{
    str_init(out, MCP_MAX_REPLY);
    if (kept && kept->capacity > 0) {
        *out = *kept;
        str_init(kept, MCP_MAX_REPLY);
    }
}

static void close_room(struct str *kept, struct str *own)
{
    if (kept && own->capacity <= MOST_ROOM) {
        str_clear(own);
        *kept = *own;
    } else {
        str_release(own);
    }
}

static void answer_request(struct mcp_session *self, struct mcp_request *request, const json_t *id,
                           bool in_batch, struct str *out)
{
    size_t start = out->size;
    if (is_cancelled_now(self, request, id))
        return;
    open_room(self->rooms, &request->members);
    open_room(self->rooms ? self->rooms + 1 : NULL, &request->text);
    json_t *result = result_of(request, in_batch);
    if (!result && !request->code)
        mcp_refuse(request, MCP_INTERNAL, "out of memory");
    if (!is_cancelled_now(self, request, id)) {
        if (result)
            put_result(id, request, result, out);
        else
            put_failure(id, request->code, request->why, request->data, out);
        settle_reply(id, start, out);
        if (request->again && !in_batch)
            mcp_answer_cache_store(self, view_of(out->data + start, out->size - start),
                                   &request->again);
    }
    op_validator_free(request->again);
    close_room(self->rooms, &request->members);
    close_room(self->rooms ? self->rooms + 1 : NULL, &request->text);
    json_decref(result);
    json_decref(request->data);
}

/* Of a request of ours, though there was none. */
static bool is_answer(const json_t *message)
{
    return !json_object_get(message, "method") &&
           (json_object_get(message, "result") || json_object_get(message, "error"));
}

/* Why a message is none that can be taken, or NULL. */
static const char *find_fault(const json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    const json_t *params = json_object_get(message, "params");
    struct ethos_view method = json_view(message, "method");
    if (!json_is_object(message))
        return "a message is an object";
    if (id && !json_is_string(id) && !json_is_integer(id))
        return "an id is a string or an integer of 64 bits";
    if (!view_eq_str(json_view(message, "jsonrpc"), "2.0"))
        return "jsonrpc must be \"2.0\"";
    if (!is_answer(message) && (!method.data || memchr(method.data, 0, method.size)))
        return "a method is a string";
    if (id && params && !json_is_object(params) && !json_is_null(params))
        return "params must be an object";
    return NULL;
}

/* Appends what to send for a request that is written like another, in which no fault was found. */
static void answer_known_form(struct mcp_session *self, struct mcp_known_form *alike,
                              struct str *out)
{
    struct mcp_request request = {
        .session = self, .method = alike->method, .params = alike->params, .alike = alike};
    answer_request(self, &request, json_object_get(alike->message, "id"), false, out);
}

/* Appends what to send for one message of the input, or nothing. */
static void answer_message(struct mcp_session *self, const json_t *message, bool in_batch,
                           struct str *out)
{
    const json_t *id = json_object_get(message, "id");
    const char *fault = find_fault(message);
    if (fault)
        put_failure(json_is_string(id) || json_is_integer(id) ? id : NULL, MCP_INVALID_REQUEST,
                    fault, NULL, out);
    if (fault || !id || is_answer(message))
        return; // no notification asks for more than has been seen to
    struct mcp_request request = {.session = self,
                                  .method = json_view(message, "method").data,
                                  .params = json_object_get(message, "params")};
    answer_request(self, &request, id, in_batch, out);
}

/* Whether this program has what a message asks for. */
static bool can_answer_here(const struct mcp_session *self, const json_t *message)
{
    struct ethos_view method = json_view(message, "method");
    const json_t *params = json_object_get(message, "params");
    return view_eq_str(method, "tools/call")    ? tools_here(self, params)
           : view_eq_str(method, "prompts/get") ? prompts_here(self, params)
                                                : true;
}

/*
 * Decided for the whole message: of one that is handled elsewhere, nothing is run here. False: this program
 * has not what it asks for.
 */
static bool settle_where(const struct mcp_session *self, const json_t *message)
{
    size_t index;
    json_t *item;
    bool here = can_answer_here(self, message);
    json_array_foreach (message, index, item)
        here = here && can_answer_here(self, item);
    if (!here && self->mcp->elsewhere)
        self->mcp->elsewhere(self->mcp->run_arg);
    return here;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Its replies are one line; what is told meanwhile comes before it. */
static void answer_batch(struct mcp_session *self, const json_t *batch, struct str *out)
{
    size_t index;
    json_t *message;
    struct str replies;
    str_init(&replies, MCP_MAX_REPLY);
    json_array_foreach (batch, index, message) {
        size_t start = replies.size;
        str_addc(&replies, start ? ',' : '[');
        answer_message(self, message, true, &replies);
        if (replies.size == start + 1)
            str_truncate(&replies, start);
    }
    if (str_code(&replies) != ETHOS_OK)
        send_failure(
            MCP_INTERNAL,
            str_code(&replies) == ETHOS_NOMEM ? "out of memory" : "the answer is too large", out);
    else if (replies.size > 0) {
        str_add(out, str_view(&replies));
        str_adds(out, "]\n");
    }
    str_release(&replies);
}

static const char *refuse_batch(const struct mcp_session *self, const json_t *batch)
{
    return self->version != MCP_2025_03_26          ? "this version has no batches"
           : json_array_size(batch) == 0            ? "a batch must not be empty"
           : json_array_size(batch) > MCP_MAX_BATCH ? "the batch is too large"
                                                    : NULL;
}

/* A message that is none of a known form. */
static void answer_text(struct mcp_session *self, struct ethos_view text, struct str *out)
{
    json_t *message = NULL;
    struct ethos_error error;
    int code = json_parse_wide(text, "message", &message, &error);
    if (code != ETHOS_OK) {
        send_failure(code == ETHOS_NOMEM ? MCP_INTERNAL : MCP_PARSE_ERROR, error.text, out);
    } else if (json_is_array(message)) {
        const char *why = refuse_batch(self, message);
        if (why) {
            send_failure(MCP_INVALID_REQUEST, why, out);
        } else {
            settle_where(self, message);
            answer_batch(self, message, out);
        }
    } else {
        bool asks = !find_fault(message) && !is_answer(message);
        if (settle_where(self, message) && self->forms && asks)
            mcp_forms_learn(self->forms, text, message);
        answer_message(self, message, false, out);
    }
    json_decref(message);
}

bool mcp_message_early(const struct mcp_session *self, struct ethos_view text, struct str *out)
{
    struct mcp_session apart = {.mcp = self->mcp, .version = self->version};
    json_t *message = NULL;
    size_t begin = out->size;
    if (view_blank(text) || json_parse_wide(text, "message", &message, NULL) != ETHOS_OK)
        return false;
    bool early = !find_fault(message) && !is_answer(message) && json_object_get(message, "id") &&
                 mcp_is_immediate(json_view(message, "method").data);
    if (early) {
        memcpy(apart.client, self->client, sizeof apart.client);
        answer_message(&apart, message, false, out);
        str_addc(out, '\n');
        drop_partial_output(begin, out);
    }
    json_decref(message);
    return early;
}

void mcp_message(struct mcp_session *self, struct ethos_view text, struct str *out)
{
    size_t begin = out->size;
    if (view_blank(text) || (self->kept && mcp_answer_cache_reply(self, text, out)))
        return;
    self->out = out;
    self->log_level_now = 0;
    struct mcp_known_form *alike = self->forms ? mcp_forms_fill(self->forms, text) : NULL;
    if (alike)
        answer_known_form(self, alike, out);
    else
        answer_text(self, text, out);
    if (out->size > begin && out->data[out->size - 1] != '\n')
        str_addc(out, '\n');
    drop_partial_output(begin, out);
    self->out = NULL;
}
