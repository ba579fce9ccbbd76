/*
 * test_surfaces.c: who may do what, asked of every surface about every row of the operation table: for each
 * scope that a key can have, /rpc, /api, /mcp and `ethos mcp` agree with op_allowed; the command line has
 * everything. And a program with a route or a tool that has no row does not start.
 *
 * Requests are wrong in their arguments, so that they are judged and nothing is run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/handlers/stable_calls.h"
#include "mcp/internal.h"
#include "ops/tables.h"
#include "raw_client.h"

#define MAX_ROWS 512
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define AGENT_SCOPES                                                                               \
    "memory:read memory:write sessions:read sessions:write personalities:read chat:send"
#define ALL_SCOPES AGENT_SCOPES " store"

const struct http_parts http_parts;

/* The rows of the server, where a test can change them. */
static struct op rows[MAX_ROWS];
const struct op *const op_tables[] = {rows, NULL};

/* ---- who asks ---------------------------------------------------------------------------------- */

static struct caller {
    const char *scopes; /* of a key; NULL: the browser */
    unsigned rights;
    char key[128];
    bool agent;
} callers[] = {
    {"memory:read", OP_RIGHT(OP_MEMORY_READ), "", false},
    {"memory:write", OP_RIGHT(OP_MEMORY_WRITE), "", false},
    {"sessions:read", OP_RIGHT(OP_SESSIONS_READ), "", false},
    {"sessions:write", OP_RIGHT(OP_SESSIONS_WRITE), "", false},
    {"personalities:read", OP_RIGHT(OP_PERSONALITIES_READ), "", false},
    {"chat:send", OP_RIGHT(OP_CHAT_SEND), "", false},
    {"store", OP_RIGHT(OP_STORE), "", false},
    {ALL_SCOPES, OP_RIGHT(OP_OWNER) - 1, "", false},
    {"personalities:write tools:approve events:subscribe metrics:read", 0, "",
     false}, /* for later */
    {AGENT_SCOPES, ((OP_RIGHT(OP_OWNER) - 1) & ~OP_RIGHTS_NEVER_AGENT) | OP_AGENT, "", true},
    {NULL, (OP_RIGHT(OP_OWNER) << 1) - 1, "", false},
};

static void make_key(struct caller *caller)
{
    if (caller->agent)
        drive_agent_key(&drive, caller->scopes, caller->key);
    else
        drive_key(&drive, caller->scopes, NULL, caller->key);
}

static int start(void **state)
{
    static const struct op *const tables[] = {OP_TABLES, ops_markdown};
    size_t count = 0;
    (void)state;
    for (size_t i = 0; i < COUNT(tables); i++) {
        for (const struct op *op = tables[i]; op->name; op++) {
            assert_true(count + 1 < MAX_ROWS);
            rows[count++] = *op;
        }
    }
    drive_start(&drive, (const char *const[]){"--workspace", "/", NULL});
    drive_login(&drive);
    for (size_t i = 0; i < COUNT(callers); i++)
        if (callers[i].scopes)
            make_key(&callers[i]);
    return 0;
}

/* ---- requests ---------------------------------------------------------------------------------- */

static void ask(const struct caller *caller, struct reply *out, const char *line, const char *more,
                const char *body)
{
    char who[256];
    if (caller->scopes)
        snprintf(who, sizeof who, "Authorization: Bearer %s", caller->key);
    else
        snprintf(who, sizeof who, "Cookie: ethos_auth=%s\r\nOrigin: http://localhost:%u",
                 drive.cookie, drive.port);
    drive_ask(&drive, out,
              "%s HTTP/1.1\r\nHost: localhost:%u\r\n%s\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
              line, drive.port, who, *body ? "Content-Type: application/json\r\n" : "", more,
              *more ? "\r\n" : "", strlen(body), body);
}

static int status_of(const struct caller *caller, const char *method, const char *place,
                     const struct op *op, const char *query, const char *body)
{
    struct reply reply;
    char line[256];
    int size = snprintf(line, sizeof line, "%s %s", method, place);
    snprintf(line + size, sizeof line - (size_t)size, "%s%s", op->name, query);
    for (char *dot = line; (dot = strchr(dot, '.'));)
        *dot = '/';
    ask(caller, &reply, line, "", body);
    raw_reply_release(&reply);
    return reply.status;
}

/* A key does not learn which routes there are. */
static int expected(const struct caller *caller, const struct op *op, bool routed)
{
    if (!routed)
        return caller->scopes ? 403 : 404;
    return op_allowed(op, caller->rights) ? 400 : 403;
}

static void check(const struct caller *caller, const struct op *op, const char *where, int is,
                  int should)
{
    if (is != should)
        fail_msg("%s on %s with %s: %d, not %d", op->name, where,
                 caller->scopes ? caller->scopes : "the cookie", is, should);
}

static void test_every_operation_for_every_scope_over_http(void **state)
{
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        bool routed = op->run && !(op->effect & OP_LOCAL);
        bool writes = op->effect & OP_WRITES, people = op->effect & OP_SHORTHAND;
        for (size_t i = 0; i < COUNT(callers); i++) {
            const struct caller *caller = &callers[i];
            check(caller, op, "/rpc", status_of(caller, "POST", "/rpc/", op, "", "{"),
                  expected(caller, op, routed));
            check(caller, op, "/api",
                  writes ? status_of(caller, "POST", "/api/", op, "", "{")
                         : status_of(caller, "GET", "/api/", op, "?nonsense=1", ""),
                  expected(caller, op, routed && !people));
        }
    }
}

/* Approval is a person's act, whatever else the key of an agent may. */
static void test_an_agent_decides_nothing_that_waits_for_a_person(void **state)
{
    static const char *const names[] = {"memory.pendingApprove", "memory.pendingReject"};
    (void)state;
    for (size_t i = 0; i < COUNT(callers); i++) {
        bool may = (callers[i].rights & OP_RIGHT(OP_MEMORY_WRITE)) && !callers[i].agent;
        for (size_t n = 0; n < COUNT(names); n++)
            assert_int_equal(status_of(&callers[i], "POST", "/rpc/", op_find(names[n]), "",
                                       "{\"json\":{\"personalityId\":\"p\",\"id\":\"x\"}}"),
                             may ? 404 : 403);
    }
}

/* In earnest, what only reads. */
static void test_what_is_allowed_is_run_and_nothing_else(void **state)
{
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        for (size_t i = 0; i < COUNT(callers) && op->run && !(op->effect & OP_WRITES); i++) {
            int status = status_of(&callers[i], "POST", "/rpc/", op, "", "{}");
            bool allowed = op_allowed(op, callers[i].rights);
            bool refused = status == 403 || (status == 404 && (op->effect & OP_LOCAL));
            if (refused == allowed || status >= 500)
                fail_msg("%s with %s: %d", op->name,
                         callers[i].scopes ? callers[i].scopes : "the cookie", status);
        }
    }
}

static void test_what_is_local_is_for_nobody_else(void **state)
{
    size_t local = 0;
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        if (!(op->effect & OP_LOCAL))
            continue;
        local++;
        for (size_t i = 0; i < COUNT(callers); i++)
            assert_false(op_allowed(op, callers[i].rights));
        for (const struct tool *tool = tools_table; tool->name; tool++)
            for (size_t i = 0; i < TOOL_MAX_WAYS && tool->ways[i].op; i++)
                assert_string_not_equal(tool->ways[i].op, op->name);
    }
    assert_true(local > 10);
}

/* ---- MCP --------------------------------------------------------------------------------------- */

#define ID_LIST 1000 /* of tools/list; calls are numbered from 0 */

/* One request: the list, or way number id in a form that cannot be run. */
static void write_request(int id, char out[512])
{
    int number = 0;
    snprintf(out, 512, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}", id);
    for (const struct tool *tool = tools_table; tool->name; tool++) {
        for (size_t i = 0; i < TOOL_MAX_WAYS && tool->ways[i].op; i++, number++) {
            const char *action = tool->ways[i].action;
            if (number == id)
                snprintf(out, 512,
                         "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":"
                         "{\"name\":\"%s\",\"arguments\":{%s%s%s\"nonsense\":1}}}",
                         id, tool->name, action ? "\"action\":\"" : "", action ? action : "",
                         action ? "\"," : "");
        }
    }
}

static int count_ways(void)
{
    int count = 0;
    for (const struct tool *tool = tools_table; tool->name; tool++)
        for (size_t i = 0; i < TOOL_MAX_WAYS && tool->ways[i].op; i++)
            count++;
    return count;
}

typedef json_t *answer_fn(const struct caller *caller, int id); /* to one request; owned */

static const json_t *listed(const json_t *list, const char *name)
{
    size_t index;
    json_t *tool;
    json_array_foreach (json_object_get(json_object_get(list, "result"), "tools"), index, tool)
        if (strcmp(json_string_value(json_object_get(tool, "name")), name) == 0)
            return tool;
    return NULL;
}

/* Whether the list shows this way of the tool. */
static bool is_shown(const json_t *list, const struct tool *tool, const struct tool_way *way)
{
    size_t index;
    json_t *word;
    const json_t *shown = listed(list, tool->name);
    const json_t *schema = json_object_get(json_object_get(shown, "inputSchema"), "properties");
    if (!way->action)
        return shown;
    json_array_foreach (json_object_get(json_object_get(schema, "action"), "enum"), index, word)
        if (strcmp(json_string_value(word), way->action) == 0)
            return true;
    return false;
}

static void check_mcp(const struct caller *caller, answer_fn *answer, bool team, const char *where)
{
    int id = 0;
    json_t *list = answer(caller, ID_LIST);
    assert_non_null(json_object_get(list, "result"));
    for (const struct tool *tool = tools_table; tool->name; tool++) {
        for (size_t i = 0; i < TOOL_MAX_WAYS && tool->ways[i].op; i++, id++) {
            const struct op *op = op_find(tool->ways[i].op);
            bool should = op_allowed(op, caller->rights & OP_RIGHTS_AGENT) &&
                          (team || tool->about != TOOL_ABOUT_TEAM);
            json_t *reply = answer(caller, id);
            json_t *failed = json_object_get(json_object_get(reply, "result"), "isError");
            check(caller, op, where, is_shown(list, tool, &tool->ways[i]), should);
            check(caller, op, where, json_is_true(failed), should); // refused for its arguments
            check(caller, op, where, json_object_get(reply, "error") == NULL, should);
            json_decref(reply);
        }
    }
    json_decref(list);
}

static json_t *answer_http(const struct caller *caller, int id)
{
    struct reply reply;
    char request[512];
    write_request(id, request);
    ask(caller, &reply, "POST /mcp", "MCP-Protocol-Version: 2025-11-25", request);
    assert_int_equal(reply.status, 200);
    json_t *json = json_loads(reply.body, 0, NULL);
    assert_non_null(json);
    raw_reply_release(&reply);
    return json;
}

static void test_every_tool_for_every_scope_over_http(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(callers); i++)
        check_mcp(&callers[i], answer_http, false, "/mcp");
}

/* All requests in one go, all answers in one array. */
static json_t *talk(const char *const *args)
{
    static char text[1 << 20];
    char request[512], *rest = text, *line;
    json_t *replies = json_array();
    FILE *in = tmpfile();
    int before = dup(STDIN_FILENO);
    fprintf(in, "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                "\"clientInfo\":{\"name\":\"a\",\"version\":\"1\"}}}\n");
    for (int id = 0; id <= count_ways(); id++) {
        write_request(id < count_ways() ? id : ID_LIST, request);
        fprintf(in, "%s\n", request);
    }
    rewind(in);
    dup2(fileno(in), STDIN_FILENO);
    assert_int_equal(drive_run(&drive, args, text, sizeof text), 0);
    dup2(before, STDIN_FILENO);
    close(before);
    fclose(in);
    while ((line = strsep(&rest, "\n")) && *line)
        json_array_append_new(replies, json_loads(line, 0, NULL));
    return replies;
}

static json_t *said; /* by the process at hand */

static json_t *answer_stdio(const struct caller *caller, int id)
{
    size_t index;
    json_t *reply;
    (void)caller;
    json_array_foreach (said, index, reply)
        if (json_integer_value(json_object_get(reply, "id")) == id)
            return json_incref(reply);
    fail_msg("no answer to %d", id);
    return NULL;
}

static void test_every_tool_for_every_scope_over_stdio(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(callers); i++) {
        const char *args[16] = {"mcp", "--team", "crew"};
        size_t count = 3;
        for (enum op_right right = 0; right < OP_OWNER; right++) {
            if ((callers[i].rights & OP_RIGHTS_AGENT) & OP_RIGHT(right)) {
                args[count++] = "--scope";
                args[count++] = op_right_name(right);
            }
        }
        if (count == 3)
            continue; // no --scope is not the same as none
        said = talk(args);
        check_mcp(&callers[i], answer_stdio, true, "ethos mcp");
        json_decref(said);
    }
}

/* ---- the command line -------------------------------------------------------------------------- */

static size_t split(char *command, const char *args[16])
{
    size_t count = 0;
    char *word;
    while ((word = strsep(&command, " ")))
        args[count++] = word;
    return count;
}

static void test_whoever_is_at_the_machine_may_do_everything(void **state)
{
    static char out[1 << 16];
    (void)state;
    for (const struct op *op = op_next(NULL); op; op = op_next(op)) {
        char command[64];
        const char *args[16] = {0};
        if (!op->command)
            continue;
        snprintf(command, sizeof command, "%s", op->command);
        args[split(command, args)] = "--help";
        if (drive_run(&drive, args, out, sizeof out) != 0)
            fail_msg("ethos %s is not there", op->command);
    }
}

/* ---- start ------------------------------------------------------------------------------------- */

static struct op *row_of(const char *name)
{
    for (struct op *op = rows; op->name; op++)
        if (strcmp(op->name, name) == 0)
            return op;
    fail_msg("no row %s", name);
    return NULL;
}

static void test_a_tool_without_a_row_does_not_start(void **state)
{
    static const struct op_arg none[] = {{0}};
    struct ethos_error error = {0};
    struct op *row = row_of("notes.remember"), before = *row;
    (void)state;
    assert_int_equal(mcp_check(&error), ETHOS_OK);
    row->name = "notes.other";
    assert_int_equal(mcp_check(&error), ETHOS_INTERNAL);
    assert_non_null(strstr(error.text, "notes.remember"));
    *row = before;
    row->effect |= OP_LOCAL;
    assert_int_equal(mcp_check(&error), ETHOS_INTERNAL);
    *row = before;
    row->args = none;
    assert_int_equal(mcp_check(&error), ETHOS_INTERNAL);
    *row = before;
    assert_int_equal(mcp_check(&error), ETHOS_OK);
}

static void test_a_route_without_a_row_does_not_start(void **state)
{
    struct ethos_error error = {0};
    struct op *row = row_of("users.list"), before = *row;
    (void)state;
    assert_int_equal(shapes_check(&error), ETHOS_OK);
    row->name = "users.other";
    assert_int_equal(shapes_check(&error), ETHOS_INTERNAL);
    assert_non_null(strstr(error.text, "memory.listUsers"));
    *row = before;
    row->effect |= OP_LOCAL;
    assert_int_equal(shapes_check(&error), ETHOS_INTERNAL);
    *row = before;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation_for_every_scope_over_http),
        cmocka_unit_test(test_an_agent_decides_nothing_that_waits_for_a_person),
        cmocka_unit_test(test_what_is_allowed_is_run_and_nothing_else),
        cmocka_unit_test(test_what_is_local_is_for_nobody_else),
        cmocka_unit_test(test_every_tool_for_every_scope_over_http),
        cmocka_unit_test(test_every_tool_for_every_scope_over_stdio),
        cmocka_unit_test(test_whoever_is_at_the_machine_may_do_everything),
        cmocka_unit_test(test_a_tool_without_a_row_does_not_start),
        cmocka_unit_test(test_a_route_without_a_row_does_not_start),
    };
    return cmocka_run_group_tests_name("http/surfaces", tests, start, drive_group_end);
}
