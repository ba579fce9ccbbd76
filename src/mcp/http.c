/*
 * http.c: one message that came as a POST: what its headers must say, and which status the answer has.
 *
 * No session is kept: the modern era needs none, and of the legacy one each request says its version.
 * Headers repeat what the body says, for those on the way who do not read bodies; they may not say
 * anything else. Free of I/O like the rest.
 */
#include "mcp/internal.h"

#include "base/base64.h"
#include "base/view.h"

#define META "io.modelcontextprotocol/"
#define STATUS_DONE 200
#define STATUS_TAKEN 202
#define STATUS_BAD 400
#define STATUS_NOT_FOUND 404

/* ---- what headers say ------------------------------------------------------------------------ */

/* Whether a header, as it is or behind "=?base64?", is this text. */
static bool says(const char *header, const char *text)
{
    struct ethos_view value = view_trim(view_str(header));
    struct str decoded;
    if (!header || !text)
        return false;
    if (!view_starts(value, VIEW("=?base64?")) || !view_ends(value, VIEW("?=")) || value.size < 11)
        return view_eq_str(value, text);
    str_init(&decoded, MCP_MAX_LINE);
    bool same = base64_decode(view_of(value.data + 9, value.size - 11), &decoded) == ETHOS_OK &&
                view_eq_str(str_view(&decoded), text);
    str_release(&decoded);
    return same;
}

/* What Mcp-Name repeats, NULL: nothing. */
static const char *header_name(const char *method, const json_t *params)
{
    if (strcmp(method, "tools/call") == 0 || strcmp(method, "prompts/get") == 0)
        return mcp_word(json_object_get(params, "name"));
    return strcmp(method, "resources/read") == 0 ? mcp_word(json_object_get(params, "uri")) : NULL;
}

/* ---- one message ----------------------------------------------------------------------------- */

struct seen {
    const char *method; /* NULL: it is no request */
    const json_t *id, *params, *meta;
    bool modern;
};

static struct seen inspect_message(const json_t *message, const struct mcp_post *post)
{
    struct seen seen = {.method = mcp_word(json_object_get(message, "method")),
                        .id = json_object_get(message, "id"),
                        .params = json_object_get(message, "params")};
    seen.meta = json_object_get(seen.params, "_meta");
    seen.modern = json_object_get(seen.meta, META "protocolVersion") ||
                  (seen.method && strcmp(seen.method, "server/discover") == 0) ||
                  (post->version && mcp_version_find(post->version) == MCP_2026_07_28);
    if (!seen.id)
        seen.method = NULL;
    return seen;
}

static bool has_meta(const struct seen *seen)
{
    return json_is_string(json_object_get(seen->meta, META "protocolVersion")) &&
           json_is_object(json_object_get(seen->meta, META "clientCapabilities"));
}

static unsigned refuse_post(const struct seen *seen, int code, const char *why, struct str *out)
{
    bool named_id = json_is_string(seen->id) || json_is_integer(seen->id);
    json_t *reply = json_pack("{s:s, s:{s:i, s:s}}", "jsonrpc", "2.0", "error", "code", code,
                              "message", why);
    if (named_id)
        op_json_put(&reply, "id", json_incref((json_t *)seen->id));
    if (!reply || json_print(reply, JSON_STYLE_LINE, out) != ETHOS_OK)
        str_fail(out, ETHOS_NOMEM);
    str_addc(out, '\n');
    json_decref(reply);
    return STATUS_BAD;
}

/* NULL: the headers repeat what the body says. */
static const char *mismatch(const struct seen *seen, const struct mcp_post *post)
{
    const char *version = mcp_word(json_object_get(seen->meta, META "protocolVersion"));
    const char *name = header_name(seen->method, seen->params);
    if (!says(post->version, version))
        return "MCP-Protocol-Version must say what params._meta does";
    if (!says(post->method, seen->method))
        return "Mcp-Method must say what method does";
    if (name && !says(post->name, name))
        return "Mcp-Name must say what params does";
    return NULL;
}

/* The status that goes with the answer, which is the last line. */
static unsigned status_of(const struct seen *seen, struct ethos_view lines)
{
    struct ethos_view line = {0};
    json_t *reply = NULL;
    if (!view_last_line(&lines, &line))
        return STATUS_TAKEN; // nothing was asked
    if (json_parse(line, "reply", &reply, NULL) != ETHOS_OK)
        return STATUS_DONE; // too large to be one of ours that failed
    int code = (int)json_integer_value(json_object_get(json_object_get(reply, "error"), "code"));
    json_decref(reply);
    switch (code) {
    case MCP_PARSE_ERROR:
    case MCP_INVALID_REQUEST:
    case MCP_MISSING_CAPABILITY:
    case MCP_UNSUPPORTED_VERSION:
        return STATUS_BAD;
    case MCP_NO_METHOD:
        return seen->modern ? STATUS_NOT_FOUND : STATUS_DONE;
    default:
        return STATUS_DONE;
    }
}

static unsigned pass_on(struct mcp_session *session, const struct mcp_post *post,
                        const struct seen *seen, struct str *out)
{
    size_t start = out->size;
    mcp_message(session, post->body, out);
    return status_of(seen, view_of(out->data + start, out->size - start));
}

unsigned mcp_post(struct mcp_session *session, const struct mcp_post *post, struct str *out)
{
    json_t *message = NULL;
    int code = json_parse_wide(post->body, "message", &message, NULL);
    struct seen seen = inspect_message(message, post);
    const char *why = seen.method && seen.modern && has_meta(&seen) ? mismatch(&seen, post) : NULL;
    enum mcp_version version = post->version ? mcp_version_find(post->version) : MCP_2025_03_26;
    unsigned status;
    session->version = version;
    memcpy(session->client, "agent", sizeof "agent"); // the legacy era says its name once
    if (view_blank(post->body))
        status = refuse_post(&seen, MCP_PARSE_ERROR, "there is no message", out);
    else if (code != ETHOS_OK)
        status = pass_on(session, post, &seen, out); // it says why
    else if (seen.method && seen.modern && !has_meta(&seen))
        status = refuse_post(&seen, MCP_INVALID_PARAMS,
                             "params._meta lacks the version or capabilities", out);
    else if (why)
        status = refuse_post(&seen, MCP_HEADER_MISMATCH, why, out);
    else if (!seen.modern && version == MCP_NONE)
        status = refuse_post(&seen, MCP_INVALID_REQUEST, "MCP-Protocol-Version is not supported",
                             out);
    else
        status = pass_on(session, post, &seen, out);
    json_decref(message);
    return status;
}
