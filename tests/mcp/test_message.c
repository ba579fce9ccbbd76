/*
 * test_message.c: the envelope, the two eras, batches, cancellation: whatever arrives gets the documented
 * answer, and the next request is served.
 */
#include "client.h"

/* ---- the envelope ---------------------------------------------------------------------------- */

static const struct {
    const char *message;
    int code;
} malformed[] = {
    {"{", -32700},
    {"nonsense", -32700},
    {"{'jsonrpc':'2.0','id':1,'method':'ping'}}", -32700},
    {"{'jsonrpc':'2.0','id':1,'id':2,'method':'ping'}", -32700},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':{'a':\xff}}", -32700},
    {"{'jsonrpc':'2.0','id':1,'method':'\xc0\xaf'}", -32700},
    {"{'jsonrpc':'2.0','id':99999999999999999999,'method':'ping'}", -32600},
    {"1", -32600},
    {"null", -32600},
    {"'ping'", -32600},
    {"[]", -32600},
    {"[{'jsonrpc':'2.0','id':1,'method':'ping'}]", -32600},
    {"{}", -32600},
    {"{'jsonrpc':'2.0'}", -32600},
    {"{'jsonrpc':'2.0','id':1}", -32600},
    {"{'jsonrpc':'1.0','id':1,'method':'ping'}", -32600},
    {"{'jsonrpc':2,'id':1,'method':'ping'}", -32600},
    {"{'id':1,'method':'ping'}", -32600},
    {"{'jsonrpc':'2.0','id':null,'method':'ping'}", -32600},
    {"{'jsonrpc':'2.0','id':1.5,'method':'ping'}", -32600},
    {"{'jsonrpc':'2.0','id':1.0,'method':'ping'}", -32600},
    {"{'jsonrpc':'2.0','id':true,'method':'ping'}", -32600},
    {"{'jsonrpc':'2.0','id':{},'method':'ping'}", -32600},
    {"{'jsonrpc':'2.0','id':[1],'method':'ping'}", -32600},
    {"{'jsonrpc':'2.0','id':1,'method':5}", -32600},
    {"{'jsonrpc':'2.0','id':1,'method':null}", -32600},
    {"{'jsonrpc':'2.0','id':1,'method':'ping\\u0000x'}", -32600},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':[]}", -32600},
    {"{'jsonrpc':'2.0','id':1,'method':'ping','params':'x'}", -32600},
    {"{'jsonrpc':'2.0','id':1,'method':'tools/list'}", -32600},
    {"{'jsonrpc':'2.0','id':1,'method':'no/such'}", -32600},
    {"{'jsonrpc':'2.0','id':1,'method':'initialize'}", -32602},
    {"{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'protocolVersion':7}}", -32602},
    {"{'jsonrpc':'2.0','id':1,'method':'server/discover'}", -32602},
};

static void test_malformed_messages_get_their_error_and_the_next_is_served(void **state)
{
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    for (size_t i = 0; i < COUNT(malformed); i++) {
        const json_t *reply = say(&client, malformed[i].message);
        if (!reply)
            fail_msg("no answer to %s", malformed[i].message);
        assert_failure(reply, malformed[i].code);
        reply = say(&client, "{'jsonrpc':'2.0','id':0,'method':'ping'}");
        assert_true(json_is_integer(at(reply, "id")));
        assert_true(json_is_object(at(reply, "result")));
    }
    client_close(&client);
}

static void test_an_error_names_the_id_when_there_is_one(void **state)
{
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    assert_string_equal(
        text_at(say(&client, "{'jsonrpc':'2.0','id':'a b','method':'tools/list'}"), "id"), "a b");
    assert_null(at(say(&client, "{'jsonrpc':'2.0','id':null,'method':'ping'}"), "id"));
    assert_null(at(say(&client, "{"), "id"));
    client_close(&client);
}

static void test_ids_come_back_as_they_were(void **state)
{
    static const char *const ids[] = {"0",   "-1", "9223372036854775807", "-9223372036854775808",
                                      "'0'", "''", "'\\u0000\\u20ac'",    "1"};
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    for (size_t i = 0; i < COUNT(ids); i++) {
        char message[128], *id = quoted(ids[i]);
        snprintf(message, sizeof message, "{'jsonrpc':'2.0','id':%s,'method':'ping'}", ids[i]);
        json_t *expected = json_loads(id, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        char *sent = quoted(message);
        str_clear(&client.out);
        mcp_message(&client.session, view_str(sent), &client.out);
        json_t *reply = json_loads(client.out.data, JSON_ALLOW_NUL, NULL);
        assert_true(json_equal(expected, json_object_get(reply, "id")));
        assert_non_null(json_object_get(reply, "result"));
        json_decref(reply);
        json_decref(expected);
        free(sent);
        free(id);
    }
    client_close(&client);
}

static void test_what_asks_for_nothing_gets_nothing(void **state)
{
    static const char *const silent[] = {
        "",
        "   \t ",
        "{'jsonrpc':'2.0','method':'notifications/initialized'}",
        "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':1}}",
        "{'jsonrpc':'2.0','method':'notifications/nobody/knows','params':[1]}",
        "{'jsonrpc':'2.0','method':'tools/list'}",
        "{'jsonrpc':'2.0','id':4,'result':{}}",
        "{'jsonrpc':'2.0','id':4,'error':{'code':1,'message':'x'}}",
    };
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    for (size_t i = 0; i < COUNT(silent); i++)
        assert_null(say(&client, silent[i]));
    client_close(&client);
}

static void test_deep_nesting_is_refused(void **state)
{
    struct client client;
    struct str message;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    str_init(&message, MCP_MAX_LINE);
    str_adds(&message, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":");
    for (int i = 0; i < 100000; i++)
        str_addc(&message, '[');
    client_send(&client, str_view(&message));
    assert_failure(json_array_get(client.replies, 0), -32700);
    str_release(&message);
    client_close(&client);
}

/* ---- the legacy era -------------------------------------------------------------------------- */

static void test_versions_are_echoed_and_unknown_ones_answered_with_the_latest(void **state)
{
    static const char *const pairs[][2] = {
        {"2024-11-05", "2024-11-05"}, {"2025-03-26", "2025-03-26"}, {"2025-06-18", "2025-06-18"},
        {"2025-11-25", "2025-11-25"}, {"2026-07-28", "2025-11-25"}, {"1999-01-01", "2025-11-25"},
        {"", "2025-11-25"},
    };
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char params[128];
        snprintf(params, sizeof params, "{'protocolVersion':'%s','capabilities':{}}", pairs[i][0]);
        const json_t *reply = ask(&client, "initialize", params);
        assert_string_equal(text_at(reply, "result.protocolVersion"), pairs[i][1]);
        assert_string_equal(text_at(reply, "result.serverInfo.name"), "ethos");
        assert_string_equal(text_at(reply, "result.serverInfo.version"), ethos_version());
        assert_true(strlen(text_at(reply, "result.instructions")) < 1500);
        assert_null(at(reply, "result.resultType"));
    }
    client_close(&client);
}

static void test_before_initialize_only_ping_is_served(void **state)
{
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    assert_failure(ask(&client, "tools/list", "{}"), -32600);
    assert_non_null(at(ask(&client, "ping", "{}"), "result"));
    initialize(&client, "2025-06-18");
    assert_non_null(at(ask(&client, "tools/list", "{}"), "result.tools"));
    assert_failure(ask(&client, "no/such", "{}"), -32601);
    assert_failure(ask(&client, "resources/subscribe", "{'uri':'ethos://memory/MEMORY.md'}"),
                   -32601);
    assert_failure(ask(&client, "completion/complete", "{}"), -32601);
    client_close(&client);
}

static void test_a_failed_initialize_settles_nothing(void **state)
{
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    assert_failure(ask(&client, "initialize", "{}"), -32602);
    assert_failure(ask(&client, "tools/list", "{}"), -32600);
    client_close(&client);
}

static void test_each_version_has_its_fields_and_no_others(void **state)
{
    static const struct {
        const char *version;
        bool annotations, titles, output;
    } rows[] = {
        {"2024-11-05", false, false, false},
        {"2025-03-26", true, false, false},
        {"2025-06-18", true, true, true},
        {"2025-11-25", true, true, true},
    };
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    for (size_t i = 0; i < COUNT(rows); i++) {
        initialize(&client, rows[i].version);
        const json_t *tool = at(ask(&client, "tools/list", "{}"), "result.tools.0");
        assert_int_equal(at(tool, "annotations") != NULL, rows[i].annotations);
        assert_int_equal(at(tool, "title") != NULL, rows[i].titles);
        assert_int_equal(at(tool, "outputSchema") != NULL, rows[i].output);
        const json_t *prompt = at(ask(&client, "prompts/list", "{}"), "result.prompts.0");
        assert_int_equal(at(prompt, "title") != NULL, rows[i].titles);
        const json_t *result = call(&client, "memory_read", "{}");
        assert_int_equal(at(result, "structuredContent") != NULL, rows[i].output);
        assert_null(at(result, "resultType"));
    }
    client_close(&client);
}

/* ---- the modern era -------------------------------------------------------------------------- */

static void test_discover_lists_every_version(void **state)
{
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    const json_t *result = at(ask(&client, "server/discover", "{" MODERN "}"), "result");
    assert_int_equal(json_array_size(at(result, "supportedVersions")), 5);
    assert_string_equal(text_at(result, "supportedVersions.0"), "2026-07-28");
    assert_string_equal(text_at(result, "supportedVersions.4"), "2024-11-05");
    assert_true(json_is_object(at(result, "capabilities.tools")));
    assert_null(at(result, "capabilities.resources.subscribe"));
    assert_non_null(at(result, "instructions"));
    client_close(&client);
}

static void test_modern_results_are_complete(void **state)
{
    static const struct {
        const char *method, *params;
        const char *cache; /* NULL: says nothing about keeping it */
    } rows[] = {
        {"server/discover", "{" MODERN "}", "public"},
        {"tools/list", "{" MODERN "}", "public"},
        {"prompts/list", "{" MODERN "}", "public"},
        {"resources/list", "{" MODERN "}", "private"},
        {"resources/templates/list", "{" MODERN "}", "private"},
        {"resources/read", "{'uri':'ethos://memory/MEMORY.md'," MODERN "}", "private"},
        {"tools/call", "{'name':'memory_read'," MODERN "}", NULL},
        {"prompts/get", "{'name':'recall'," MODERN "}", NULL},
    };
    struct client client;
    world_turn(*state, NULL);
    assert_int_equal(world_sync(*state, "{\"action\":\"add\",\"content\":\"tea\"}"), ETHOS_OK);
    client_open(&client, *state, OP_RIGHTS_AGENT);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const json_t *result = at(ask(&client, rows[i].method, rows[i].params), "result");
        if (!result)
            fail_msg("%s failed", rows[i].method);
        assert_string_equal(text_at(result, "resultType"), "complete");
        const json_t *info = json_object_get(at(result, "_meta"),
                                             "io.modelcontextprotocol/serverInfo");
        assert_string_equal(text_at(info, "name"), "ethos");
        assert_int_equal(json_is_integer(at(result, "ttlMs")), rows[i].cache != NULL);
        if (rows[i].cache)
            assert_string_equal(text_at(result, "cacheScope"), rows[i].cache);
    }
    client_close(&client);
}

static void test_a_modern_request_needs_its_envelope(void **state)
{
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    assert_failure(ask(&client, "tools/list",
                       "{'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}"),
                   -32602);
    assert_failure(ask(&client, "tools/list",
                       "{'_meta':{'io.modelcontextprotocol/protocolVersion':20260728,"
                       "'io.modelcontextprotocol/clientCapabilities':{}}}"),
                   -32602);
    const json_t *reply = ask(&client, "tools/list",
                              "{'_meta':{'io.modelcontextprotocol/protocolVersion':'2025-06-18',"
                              "'io.modelcontextprotocol/clientCapabilities':{}}}");
    assert_failure(reply, -32022);
    assert_int_equal(json_array_size(at(reply, "error.data.supported")), 1);
    assert_string_equal(text_at(reply, "error.data.supported.0"), "2026-07-28");
    assert_string_equal(text_at(reply, "error.data.requested"), "2025-06-18");
    client_close(&client);
}

static void test_what_the_modern_era_dropped_is_unknown_there(void **state)
{
    static const char *const gone[] = {"initialize",           "ping",
                                       "logging/setLevel",     "resources/subscribe",
                                       "subscriptions/listen", "resources/unsubscribe"};
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    for (size_t i = 0; i < COUNT(gone); i++)
        assert_failure(ask(&client, gone[i], "{" MODERN "}"), -32601);
    client_close(&client);
}

static void test_the_eras_share_nothing(void **state)
{
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    assert_non_null(at(ask(&client, "tools/list", "{" MODERN "}"), "result"));
    assert_failure(ask(&client, "tools/list", "{}"), -32600); // nothing was initialized by that
    initialize(&client, "2024-11-05");
    const json_t *modern = at(ask(&client, "tools/list", "{" MODERN "}"), "result.tools.0");
    assert_non_null(at(modern, "outputSchema"));
    const json_t *legacy = at(ask(&client, "tools/list", "{}"), "result.tools.0");
    assert_null(at(legacy, "outputSchema"));
    client_close(&client);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void test_batches_are_of_one_version_alone(void **state)
{
    static const char batch[] = "[{'jsonrpc':'2.0','id':1,'method':'ping'},"
                                "{'jsonrpc':'2.0','method':'notifications/initialized'},"
                                "{'jsonrpc':'2.0','id':'2','method':'no/such'},5,"
                                "{'jsonrpc':'2.0','id':3,'method':'initialize',"
                                "'params':{'protocolVersion':'2025-06-18'}},"
                                "{'jsonrpc':'2.0','id':4,'method':'tools/list','params':{" MODERN
                                "}}]";
    static const char *const others[] = {"2024-11-05", "2025-06-18", "2025-11-25"};
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    for (size_t i = 0; i < COUNT(others); i++) {
        initialize(&client, others[i]);
        assert_failure(say(&client, batch), -32600);
    }
    initialize(&client, "2025-03-26");
    const json_t *replies = say(&client, batch);
    assert_int_equal(json_array_size(replies), 5);
    assert_int_equal(json_integer_value(at(replies, "0.id")), 1);
    assert_non_null(at(replies, "0.result"));
    assert_failure(at(replies, "1"), -32601);
    assert_failure(at(replies, "2"), -32600);
    assert_failure(at(replies, "3"), -32600);
    assert_failure(at(replies, "4"), -32600);
    assert_failure(say(&client, "[]"), -32600);
    assert_null(say(&client, "[{'jsonrpc':'2.0','method':'notifications/initialized'}]"));
    client_close(&client);
}

static void test_a_batch_has_its_limit(void **state)
{
    for (int extra = 0; extra <= 1; extra++) {
        struct client client;
        struct str batch;
        client_open(&client, *state, OP_RIGHTS_AGENT);
        initialize(&client, "2025-03-26");
        str_init(&batch, MCP_MAX_LINE);
        for (int i = 0; i < MCP_MAX_BATCH + extra; i++)
            str_printf(&batch, "%c{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}",
                       i ? ',' : '[', i);
        str_addc(&batch, ']');
        client_send(&client, str_view(&batch));
        const json_t *reply = json_array_get(client.replies, 0);
        if (extra)
            assert_failure(reply, -32600);
        else
            assert_int_equal(json_array_size(reply), MCP_MAX_BATCH);
        str_release(&batch);
        client_close(&client);
    }
}

/* ---- logging --------------------------------------------------------------------------------- */

static int run_and_log(void *arg, const struct op *op, struct op_call *call,
                       struct op_result *result, struct ethos_error *error)
{
    struct client *client = arg;
    mcp_log(&client->session, ETHOS_LOG_WARN, "something is odd");
    return client_run(arg, op, call, result, error);
}

static void test_logs_are_sent_to_those_who_asked(void **state)
{
    struct client client;
    client_open(&client, *state, OP_RIGHTS_AGENT);
    client.mcp.run = run_and_log;
    initialize(&client, "2025-06-18");
    call(&client, "memory_read", "{}");
    assert_int_equal(json_array_size(client.replies), 1);
    assert_failure(ask(&client, "logging/setLevel", "{'level':'loud'}"), -32602);
    assert_non_null(at(ask(&client, "logging/setLevel", "{'level':'warning'}"), "result"));
    call(&client, "memory_read", "{}");
    assert_int_equal(json_array_size(client.replies), 2);
    assert_string_equal(text_at(client.replies, "0.method"), "notifications/message");
    assert_string_equal(text_at(client.replies, "0.params.level"), "warning");
    assert_non_null(at(ask(&client, "logging/setLevel", "{'level':'error'}"), "result"));
    call(&client, "memory_read", "{}");
    assert_int_equal(json_array_size(client.replies), 1);
    ask(&client, "tools/call", "{'name':'memory_read'," MODERN "}"); // its own level: none
    assert_int_equal(json_array_size(client.replies), 1);
    client_close(&client);
}

static void test_what_is_not_logged_is_not_announced(void **state)
{
    static const char *const meta = "{'io.modelcontextprotocol/logLevel':'debug',"
                                    "'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
                                    "'io.modelcontextprotocol/clientCapabilities':{}}";
    struct client client;
    char params[512];
    client_open(&client, *state, OP_RIGHTS_AGENT);
    client.mcp.run = run_and_log;
    for (int i = 0; i < 2; i++) {
        client.mcp.no_log = i > 0;
        snprintf(params, sizeof params, "{'_meta':%s}", meta);
        const json_t *reply = ask(&client, "server/discover", params);
        assert_int_equal(at(reply, "result.capabilities.logging") == NULL, i > 0);
        snprintf(params, sizeof params, "{'name':'memory_read','_meta':%s}", meta);
        ask(&client, "tools/call", params);
        assert_int_equal(json_array_size(client.replies), i > 0 ? 1 : 2);
    }
    client_close(&client);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Without memory there is an error or nothing at all, never half a line; then all is as before. */
static void test_no_memory_breaks_no_line(void **state)
{
    struct client client;
    char *sent = quoted("{'jsonrpc':'2.0','id':7,'method':'tools/list','params':{" MODERN "}}");
    client_open(&client, *state, OP_RIGHTS_AGENT);
    client_send(&client, view_str(sent));
    assert_int_equal(json_array_size(client.replies), 1);
    for (unsigned long n = 1; n < 4000; n += n < 60 ? 1 : 37) {
        str_clear(&client.out);
        alloc_fail_at(n);
        mcp_message(&client.session, view_str(sent), &client.out);
        bool failed = alloc_count() >= n;
        alloc_fail_at(0);
        if (!failed)
            break;
        if (str_code(&client.out) == ETHOS_OK)
            json_decref(read_replies(str_view(&client.out)));
    }
    client_send(&client, view_str(sent));
    assert_non_null(at(client.replies, "0.result.tools"));
    free(sent);
    client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(test_malformed_messages_get_their_error_and_the_next_is_served),
        CLIENT_TEST(test_an_error_names_the_id_when_there_is_one),
        CLIENT_TEST(test_ids_come_back_as_they_were),
        CLIENT_TEST(test_what_asks_for_nothing_gets_nothing),
        CLIENT_TEST(test_deep_nesting_is_refused),
        CLIENT_TEST(test_versions_are_echoed_and_unknown_ones_answered_with_the_latest),
        CLIENT_TEST(test_before_initialize_only_ping_is_served),
        CLIENT_TEST(test_a_failed_initialize_settles_nothing),
        CLIENT_TEST(test_each_version_has_its_fields_and_no_others),
        CLIENT_TEST(test_discover_lists_every_version),
        CLIENT_TEST(test_modern_results_are_complete),
        CLIENT_TEST(test_a_modern_request_needs_its_envelope),
        CLIENT_TEST(test_what_the_modern_era_dropped_is_unknown_there),
        CLIENT_TEST(test_the_eras_share_nothing),
        CLIENT_TEST(test_batches_are_of_one_version_alone),
        CLIENT_TEST(test_a_batch_has_its_limit),
        CLIENT_TEST(test_logs_are_sent_to_those_who_asked),
        CLIENT_TEST(test_what_is_not_logged_is_not_announced),
        CLIENT_TEST(test_no_memory_breaks_no_line),
    };

    return cmocka_run_group_tests_name("mcp/message", tests, NULL, NULL);
}
