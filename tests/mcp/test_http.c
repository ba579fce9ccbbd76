/*
 * test_http.c: messages that come as a POST: what headers must say, and which status comes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "mcp/mcp.h"

static int run(void *arg, const struct op *op, struct op_call *call, struct op_result *result,
               struct ethos_error *error)
{
    (void)arg;
    return op_run_as(op, 0, call, result, error); // nobody may do anything here
}

#define META(version)                                                                              \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\","                      \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN META("2026-07-28")
#define REQUEST(id, method, params)                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define INITIALIZE                                                                                 \
    "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\"}"

struct row {
    const char *body, *version, *method, *name;
    unsigned status;
    const char *has; /* the answer has this; "": there is none */
};

static const struct row rows[] = {
    /* legacy: no header is the first version that had this way in */
    {REQUEST("1", "initialize", INITIALIZE), NULL, NULL, NULL, 200, "\"2025-06-18\""},
    {REQUEST("1", "ping", ""), NULL, NULL, NULL, 200, "\"result\":{}"},
    {"[" REQUEST("1", "ping", "") "]", NULL, NULL, NULL, 200, "[{"},
    {"[" REQUEST("1", "ping", "") "]", "2025-06-18", NULL, NULL, 400, "-32600"},
    {REQUEST("1", "tools/list", ""), "2025-11-25", NULL, NULL, 200, "\"tools\""},
    {REQUEST("1", "no/such", ""), "2025-11-25", NULL, NULL, 200, "-32601"},
    {REQUEST("1", "ping", ""), "1999-01-01", NULL, NULL, 400, "\"id\":1"},
    {REQUEST("1", "ping", ""), "", NULL, NULL, 400, "-32600"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", "2025-06-18", NULL, NULL,
     202, ""},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "2025-06-18", NULL, NULL, 202, ""},
    {"{\"jsonrpc\":", NULL, NULL, NULL, 400, "-32700"},
    {"7", NULL, NULL, NULL, 400, "-32600"},
    {"", NULL, NULL, NULL, 400, "-32700"},
    /* modern: headers repeat what the body says */
    {REQUEST("\"a\"", "server/discover", MODERN), "2026-07-28", "server/discover", NULL, 200,
     "supportedVersions"},
    {REQUEST("1", "tools/list", MODERN), "2026-07-28", "tools/list", NULL, 200, "\"tools\""},
    {REQUEST("1", "tools/list", MODERN), " 2026-07-28 ", "tools/list", NULL, 200, "\"tools\""},
    {REQUEST("1", "tools/list", MODERN), NULL, "tools/list", NULL, 400, "-32020"},
    {REQUEST("1", "tools/list", MODERN), "2025-11-25", "tools/list", NULL, 400, "-32020"},
    {REQUEST("1", "tools/list", MODERN), "2026-07-28", NULL, NULL, 400, "-32020"},
    {REQUEST("1", "tools/list", MODERN), "2026-07-28", "tools/call", NULL, 400, "-32020"},
    {REQUEST("1", "tools/call", MODERN ",\"name\":\"x\""), "2026-07-28", "tools/call", NULL, 400,
     "-32020"},
    {REQUEST("1", "tools/call", MODERN ",\"name\":\"x\""), "2026-07-28", "tools/call", "y", 400,
     "-32020"},
    {REQUEST("1", "tools/call", MODERN ",\"name\":\"x\""), "2026-07-28", "tools/call", "x", 200,
     "-32602"},
    {REQUEST("1", "tools/call", MODERN ",\"name\":\"x\""), "2026-07-28", "tools/call",
     "=?base64?eA==?=", 200, "-32602"},
    {REQUEST("1", "tools/call", MODERN ",\"name\":\"x\""), "2026-07-28", "tools/call",
     "=?base64?!?=", 400, "-32020"},
    {REQUEST("1", "tools/call", MODERN ",\"name\":\"x\""), "2026-07-28", "tools/call",
     "=?base64?=", 400, "-32020"},
    {REQUEST("1", "resources/read", MODERN ",\"uri\":\"u\""), "2026-07-28", "resources/read", "v",
     400, "-32020"},
    {REQUEST("1", "no/such", MODERN), "2026-07-28", "no/such", NULL, 404, "-32601"},
    {REQUEST("1", "ping", MODERN), "2026-07-28", "ping", NULL, 404, "-32601"},
    {REQUEST("1", "tools/list", ""), "2026-07-28", "tools/list", NULL, 400, "-32602"},
    {REQUEST("1", "server/discover", ""), NULL, NULL, NULL, 400, "-32602"},
    {REQUEST("1", "tools/list", META("2031-01-01")), "2031-01-01", "tools/list", NULL, 400,
     "-32022"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{" MODERN "}}",
     "2026-07-28", NULL, NULL, 202, ""},
};

static void test_every_row(void **state)
{
    (void)state;
    const struct mcp mcp = {.rights = OP_RIGHTS_AGENT, .run = run};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        const struct mcp_post post = {view_str(row->body), row->version, row->method, row->name};
        struct mcp_session session = {.mcp = &mcp};
        struct str out;
        str_init(&out, 1 << 20);
        unsigned status = mcp_post(&session, &post, &out);
        bool fits = *row->has ? strstr(out.data, row->has) != NULL : out.size == 0;
        if (status != row->status || !fits)
            fail_msg("row %zu, %s: %u %s", i, row->body, status, out.data);
        str_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
