/*
 * fuzz_mcp.c: whatever comes in, what goes out is lines of whole messages with ids that were asked for,
 * and it is the same however the input was cut into pieces, and whether answers are kept or not.
 *
 * Input: a version of the legacy era by its first byte ('0' to '4'), then what a client sends.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/view.h"
#include "mcp/mcp.h"
#include "ops/cache_validator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The arguments, as a text of the result. */
static json_t *told(const json_t *args)
{
    struct str text;
    str_init(&text, SIZE_MAX / 4);
    json_print(args, JSON_STYLE_LINE, &text);
    json_t *json = json_text(str_view(&text));
    str_release(&text);
    return json;
}

/* Operations give something of every kind; what, depends on the arguments alone. */
static int run(void *arg, const struct op *op, struct op_call *call, struct op_result *result,
               struct ethos_error *error)
{
    (void)arg;
    assert(op_allowed(op, OP_RIGHTS_AGENT) && call->guarded && json_is_object(call->args));
    size_t kind = json_object_size(call->args);
    if (kind == 3)
        return err_set(error, ETHOS_NOTFOUND, "%s: no such thing", op->name);
    if (kind == 4)
        result->code = err_set(&result->error, ETHOS_CONFLICT, "moved");
    result->withheld = kind == 2;
    if (call->again)
        result->again = validator_new(&(struct service_seen){.turn = 1}, -1);
    return op_return(result,
                     json_pack("{s:o, s:s, s:s, s:[{s:s, s:i}], s:[{s:s, s:s}]}", "content",
                               told(call->args), "revision", "sha256:0", "text", "tea", "hits",
                               "key", "a.md", "line", 1, "notes", "key", "a.md", "title", "A"),
                     error);
}

static void check_reply(const json_t *reply, struct ethos_view sent)
{
    const json_t *id = json_object_get(reply, "id");
    assert(json_is_object(reply));
    assert(view_eq_str(json_view(reply, "jsonrpc"), "2.0"));
    assert(!json_object_get(reply, "result") != !json_object_get(reply, "error"));
    assert(id || json_object_get(reply, "error"));
    assert(!id || json_is_string(id) || json_is_integer(id));
    assert(!id || view_contains(sent, VIEW("id")) || view_contains(sent, VIEW("\\u")));
}

static void check_lines(struct ethos_view text, struct ethos_view sent)
{
    struct ethos_view line;
    assert(text.size == 0 || text.data[text.size - 1] == '\n');
    while (view_line(&text, &line)) {
        json_t *reply = NULL, *item;
        size_t index;
        assert(json_parse(line, "reply", &reply, NULL) == ETHOS_OK);
        if (!json_is_array(reply))
            check_reply(reply, sent);
        json_array_foreach (reply, index, item)
            check_reply(item, sent);
        json_decref(reply);
    }
}

static bool holds(void *arg, const struct op_validator *again)
{
    (void)arg;
    return again != NULL;
}

static void serve(enum mcp_version version, struct ethos_view sent, size_t piece, bool keeps,
                  struct str *out)
{
    const struct mcp mcp = {
        .rights = OP_RIGHTS_AGENT, .team = "team:crew", .run = run, .holds = keeps ? holds : NULL};
    struct mcp_stream stream;
    mcp_stream_init(&stream, &mcp);
    stream.session.version = version;
    while (sent.size > 0) {
        size_t size = sent.size < piece ? sent.size : piece;
        assert(mcp_stream_add(&stream, view_of(sent.data, size)) == ETHOS_OK);
        sent = view_from(sent, size);
        while (mcp_stream_next(&stream, false, out))
            ;
    }
    while (mcp_stream_next(&stream, true, out))
        ;
    assert(str_code(out) == ETHOS_OK);
    mcp_stream_release(&stream);
}

/*
 * Everything once more, and once more with other ids and words: the answers are the same as those that are
 * made from what was parsed.
 */
static void check_kept(enum mcp_version version, struct ethos_view sent)
{
    struct str input, made, kept;
    str_init(&input, SIZE_MAX / 4);
    str_init(&made, SIZE_MAX / 4);
    str_init(&kept, SIZE_MAX / 4);
    for (int i = 0; i < 3; i++) {
        str_add(&input, sent);
        str_addc(&input, '\n');
    }
    for (size_t at = 2 * (sent.size + 1); at < input.size; at++)
        if (input.data[at] == '1')
            input.data[at] = '7';
    serve(version, str_view(&input), SIZE_MAX, false, &made);
    serve(version, str_view(&input), SIZE_MAX, true, &kept);
    assert(view_eq(str_view(&made), str_view(&kept)));
    str_release(&input);
    str_release(&made);
    str_release(&kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str whole, pieces;
    if (size == 0 || size > 65536)
        return 0;
    enum mcp_version version = (enum mcp_version)(data[0] % MCP_2026_07_28);
    struct ethos_view sent = view_of((const char *)data + 1, size - 1);
    str_init(&whole, SIZE_MAX / 4);
    str_init(&pieces, SIZE_MAX / 4);
    serve(version, sent, SIZE_MAX, false, &whole);
    check_lines(str_view(&whole), sent);
    serve(version, sent, 1 + data[0] % 61, true, &pieces);
    if (!view_contains(sent, VIEW("cancelled"))) // else it matters what has come by then
        assert(view_eq(str_view(&whole), str_view(&pieces)));
    check_kept(version, sent);
    str_release(&whole);
    str_release(&pieces);
    return 0;
}
