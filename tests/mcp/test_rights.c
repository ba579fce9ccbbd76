/*
 * test_rights.c: every tool under every combination of --read-only, --scope and --team: what is not offered
 * cannot be called, and what is offered is served.
 *
 * What a tool needs is said here once more, by hand: the rows of the server are not asked about it.
 */
#include "process.h"

#include "mcp/internal.h"

static const char *const rights[] = {"memory:read", "memory:write", "sessions:read",
                                     "sessions:write", "personalities:read"};
enum { READ = 1, WRITE = 2, SESSIONS = 4, ALL = 31, READING = 1 + 4 + 16 };

static const struct {
    const char *name, *arguments;
    unsigned needs;
    bool team, writes;
} tools[] = {
    {"remember", "{'content':'The tests need Redis','title':'Testing'}", WRITE, false, true},
    {"memory_search", "{'query':'redis'}", READ, false, false},
    {"memory_read", "{}", READ, false, false},
    {"memory_write", "{'action':'add','content':'tea'}", WRITE, false, true},
    {"note_list", "{}", READ, false, false},
    {"note_read", "{'name':'Testing'}", READ, false, false},
    {"note_write", "{'name':'Testing','title':'Tests','if_match':'x'}", WRITE, false, true},
    {"note_remove", "{'name':'Testing','if_match':'x'}", WRITE, false, true},
    {"pending_list", "{}", READ, false, false},
    {"session_search", "{'query':'redis'}", SESSIONS, false, false},
    {"session_list_by_date", "{}", SESSIONS, false, false},
    {"session_read", "{'id':'nobody'}", SESSIONS, false, false},
    {"team_memory_read", "{}", READ, true, false},
    {"team_memory_search", "{'query':'redis'}", READ, true, false},
    {"team_memory_write", "{'action':'add','content':'tea'}", WRITE, true, true},
};

static void test_every_tool_is_tried(void **state)
{
    size_t count = 0;
    (void)state;
    for (const struct tool *tool = tools_table; tool->name; tool++, count++)
        assert_string_equal(tool->name, tools[count].name);
    assert_int_equal(count, COUNT(tools));
}

struct start {
    bool read_only, team;
    unsigned scopes; /* 0: no --scope */
};

static unsigned rights_of(const struct start *how)
{
    return (how->scopes ? how->scopes : ALL) & (how->read_only ? READING : ALL);
}

static void open_with(struct process *self, struct world *world, const struct start *how)
{
    const char *options[16];
    size_t count = 0;
    if (how->read_only)
        options[count++] = "--read-only";
    for (size_t i = 0; i < COUNT(rights); i++) {
        if (how->scopes & 1u << i) {
            options[count++] = "--scope";
            options[count++] = rights[i];
        }
    }
    if (how->team) {
        options[count++] = "--team";
        options[count++] = "crew";
    }
    options[count] = NULL;
    start(self, world, options);
}

static const json_t *listed(const json_t *reply, const char *name)
{
    size_t index;
    json_t *tool;
    json_array_foreach (at(reply, "result.tools"), index, tool)
        if (strcmp(text_at(tool, "name"), name) == 0)
            return tool;
    return NULL;
}

static void try_tool(struct process *self, size_t i, bool offered)
{
    char params[256];
    snprintf(params, sizeof params, "'name':'%s','arguments':%s", tools[i].name,
             tools[i].arguments);
    json_t *reply = asked(self, "tools/call", params);
    if (offered)
        assert_non_null(at(reply, "result.content.0.text"));
    else
        assert_failure(reply, -32602);
    json_decref(reply);
}

/* Everything is a test in the sense of the rules above; what else a connection shows follows them, too. */
static void try_start(struct world *world, const struct start *how)
{
    struct process self;
    size_t offered = 0;
    unsigned given = rights_of(how);
    open_with(&self, world, how);
    json_t *list = asked(&self, "tools/list", "");
    for (size_t i = 0; i < COUNT(tools); i++) {
        bool expected = (tools[i].needs & given) && (!tools[i].team || how->team);
        const json_t *tool = listed(list, tools[i].name);
        if (!tool != !expected)
            fail_msg("%s, scopes %x, team %d, read-only %d: offered %d", tools[i].name, how->scopes,
                     how->team, how->read_only, tool != NULL);
        assert_true(!tool ||
                    json_is_true(at(tool, "annotations.readOnlyHint")) == !tools[i].writes);
        try_tool(&self, i, expected);
        offered += expected;
    }
    assert_int_equal(json_array_size(at(list, "result.tools")), offered);
    json_decref(list);
    json_t *reply = asked(&self, "resources/read", "'uri':'ethos://memory/MEMORY.md'");
    if (!(given & READ))
        assert_failure(reply, -32602);
    json_decref(reply);
    reply = asked(&self, "server/discover", "");
    const char *advice = json_string_value(at(reply, "result.instructions"));
    for (size_t i = 0; advice && i < COUNT(tools); i++)
        assert_true((tools[i].needs & given) || !strstr(advice, tools[i].name)); // nothing in vain
    assert_int_equal(advice != NULL, (given & (READ | WRITE | SESSIONS)) != 0);
    json_decref(reply);
    assert_int_equal(finish(&self), 0);
    if (!(given & WRITE))
        assert_false(world_exists(world, "home/personalities"));
    world_remove(world, "home");
}

static void test_every_tool_under_every_combination(void **state)
{
    for (unsigned i = 0; i < 4u << COUNT(rights); i++)
        try_start(*state, &(struct start){i & 1, i & 2, i >> 2});
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tool_is_tried),
        CLIENT_TEST(test_every_tool_under_every_combination),
    };

    return cmocka_run_group_tests_name("mcp/rights", tests, NULL, NULL);
}
