/*
 * test_agents.c: our entries in the settings of agents, and TOML as far as that needs it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/str.h"
#include "base/view.h"
#include "core/agents/agents.h"
#include "core/agents/toml.h"

/* ---- TOML ------------------------------------------------------------------------------------ */

static void assert_statements(const char *text, const char *expected)
{
    struct toml_statement row;
    size_t offset = 0;
    struct str out;
    int more;
    str_init(&out, SIZE_MAX);
    while ((more = toml_next(view_str(text), &offset, &row)) > 0)
        str_printf(&out, "%s%.*s|", row.table ? "T:" : "", VIEW_ARG(view_trim(row.key)));
    str_adds(&out, more < 0 ? "broken" : "");
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void statements_are_told_apart(void **state)
{
    (void)state;
    assert_statements("", "");
    assert_statements("\xef\xbb\xbf# a\n\n a = 1 # [x]\r\n[t] # [u]\n[[v]]\nb.\"c=d\" = 2",
                      "a|T:t|T:v|"
                      "b.\"c=d\"|");
    assert_statements("a = \"\"\"\n[t]\n\\\"\"\"\"\"\"\nb = '''\n[t]'''\n", "a|b|");
    assert_statements("a = [\n 1, # ]\n {x = \"]\"},\n]\nb = 'C:\\'\n", "a|b|");
    assert_statements("a = [\n", "broken");
    assert_statements("a = \"\"\"\n", "broken");
    assert_statements("a = \"x\nb = 1\n", "broken");
    assert_statements("just words\n", "just words|");
}

static void assert_room(const char *text, enum toml_room room)
{
    assert_int_equal(toml_room(view_str(text), "p", "n"), room);
}

static void a_table_may_be_added_where_it_is_not(void **state)
{
    (void)state;
    assert_room("", TOML_FREE);
    assert_room("[p]\nx = 1\n[p.m]\nn = 1\n[q]\np.n = 1\n", TOML_FREE);
    assert_room("p.m.x = 1\n", TOML_FREE);
    assert_room("[p.n]\n", TOML_TAKEN);
    assert_room("[ 'p' . \"n\" ]\n", TOML_TAKEN);
    assert_room("[p.n.env]\n", TOML_TAKEN);
    assert_room("[p]\nn.x = 1\n", TOML_TAKEN);
    assert_room("[p]\nn = {}\n", TOML_TAKEN);
    assert_room("p.n = {}\n", TOML_TAKEN);
    assert_room("p = { n = {} }\n", TOML_SHUT);
    assert_room("[[p]]\n", TOML_SHUT);
    assert_room("a = '''\n", TOML_SHUT);
}

/* ---- agents ----------------------------------------------------------------------------------- */

static const char *const two_tools[] = {"memory_read", "remember", NULL};

static struct agent_wiring wiring_of(const char *name, const char *program, const char *home)
{
    return (struct agent_wiring){.agent = agent_find(name), .program = program, .home = home};
}

static void assert_added(const struct agent_wiring *wiring, size_t file, unsigned parts,
                         const char *text, const char *before, const char *expected)
{
    struct str out;
    struct ethos_error error = {0};
    str_init(&out, SIZE_MAX);
    assert_int_equal(agent_add(wiring, &wiring->agent->files[file], parts, view_str(text),
                               view_str(before), "f", &out, &error),
                     ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void assert_removed(const char *name, size_t file, const char *text, const char *before,
                           const char *expected)
{
    struct str out;
    struct ethos_error error = {0};
    str_init(&out, SIZE_MAX);
    assert_int_equal(agent_remove(&agent_find(name)->files[file], view_str(text), view_str(before),
                                  "f", &out, &error),
                     ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

#define SERVER(command, rest)                                                                      \
    "{\"mcpServers\":{\"ethos\":{\"command\":\"" command "\",\"args\":[\"mcp\"" rest "}}}"

static void another_program_and_home_are_renewed_and_the_rest_is_not(void **state)
{
    struct agent_wiring wiring = wiring_of("cursor", "/new/ethos", "/h");
    (void)state;
    assert_added(&wiring, 0, AGENT_MCP, SERVER("/old/ethos", ",\"--read-only\"]"), "",
                 SERVER("/new/ethos", ",\"--read-only\"],\"env\":{\"ETHOS_HOME\":\"/h\"}"));
    assert_added(&wiring, 0, AGENT_MCP, SERVER("/old/ethos", "]"), NULL, SERVER("/old/ethos", "]"));
    wiring.home = NULL;
    assert_added(&wiring, 0, AGENT_MCP,
                 SERVER("ethos", "],\"env\":{\"ETHOS_HOME\":\"/h\",\"A\":\"b\"}"), "",
                 SERVER("/new/ethos", "],\"env\":{\"A\":\"b\"}"));
    assert_added(&wiring, 0, AGENT_MCP, SERVER("ethos", "],\"env\":{\"ETHOS_HOME\":\"/h\"}"), "",
                 SERVER("/new/ethos", "]"));
}

static void a_block_of_toml_is_renewed_with_what_others_put_into_it(void **state)
{
    struct agent_wiring wiring = wiring_of("codex", "/a \"b\"/ethos", "/h");
    (void)state;
    assert_added(&wiring, 0, AGENT_MCP,
                 "x = 1\r\n# BEGIN ethos\r\n[mcp_servers.ethos]\r\ncommand = \"ethos\"\r\n"
                 "[mcp_servers.ethos.env]\r\nA = 1\r\n[q]\r\ny = 1\r\n# END ethos\r\nz = 2",
                 "x = 1\r\n",
                 "x = 1\r\n# BEGIN ethos\r\n[mcp_servers.ethos]\r\n"
                 "command = \"/a \\\"b\\\"/ethos\"\r\nargs = [\"mcp\"]\r\n"
                 "env = { ETHOS_HOME = \"/h\" }\r\n[q]\r\ny = 1\r\n# END ethos\r\nz = 2");
    wiring.program = "ethos";
    wiring.home = NULL;
    assert_added(&wiring, 0, AGENT_MCP,
                 "# BEGIN ethos\n[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\", "
                 "\"--read-only\"]\nenabled = false\n# END ethos\n",
                 "",
                 "# BEGIN ethos\n[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\", "
                 "\"--read-only\"]\nenabled = false\n# END ethos\n");
}

#define OUR_BLOCK                                                                                  \
    "# BEGIN ethos\n[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\"]\n# END ethos\n"

/* A key behind our table would be one of its keys: then the block goes to the end. */
static void a_block_that_was_edited_is_brought_to_its_parts(void **state)
{
    struct agent_wiring wiring = wiring_of("codex", "ethos", NULL);
    (void)state;
    assert_added(&wiring, 0, AGENT_MCP, "# BEGIN ethos\nmcp_servers]\nurl = 1\n# END ethos\n", "",
                 "mcp_servers]\nurl = 1\n\n" OUR_BLOCK);
    assert_added(&wiring, 0, AGENT_MCP, "# BEGIN ethos\n# END ethos\nmodel = 1\n", "",
                 "model = 1\n\n" OUR_BLOCK);
    assert_added(&wiring, 0, AGENT_MCP,
                 "# BEGIN ethos\n[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\"]\n"
                 "url = \"http://x\"\n# END ethos\n",
                 "", OUR_BLOCK);
    wiring.home = "/h";
    assert_added(
        &wiring, 0, AGENT_MCP,
        "[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\"]\nenv = { A = \"1\" }\n", "",
        "[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\"]\n"
        "env = { A = \"1\", ETHOS_HOME = \"/h\" }\n");
}

static void what_others_added_to_a_table_stays(void **state)
{
    struct agent_wiring wiring = wiring_of("codex", "/n/ethos", "/h");
    (void)state;
    assert_added(&wiring, 0, AGENT_MCP,
                 "# BEGIN ethos\r\n[mcp_servers.ethos]\r\ncommand = \"ethos\"\r\n"
                 "args = [\"mcp\", \"--read-only\"]\r\nenabled = false # x\r\n# END ethos\r\n",
                 "",
                 "# BEGIN ethos\r\n[mcp_servers.ethos]\r\ncommand = \"/n/ethos\"\r\n"
                 "env = { ETHOS_HOME = \"/h\" }\r\nargs = [\"mcp\", \"--read-only\"]\r\n"
                 "enabled = false # x\r\n# END ethos\r\n");
    assert_added(&wiring, 0, AGENT_MCP,
                 "[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\"]\n"
                 "[mcp_servers.ethos.env]\nA = \"1\"\nETHOS_HOME = \"/old\"\n[b]\ncommand = 1\n",
                 "",
                 "[mcp_servers.ethos]\ncommand = \"/n/ethos\"\nargs = [\"mcp\"]\n"
                 "[mcp_servers.ethos.env]\nETHOS_HOME = \"/h\"\nA = \"1\"\n[b]\ncommand = 1\n");
    wiring.home = NULL;
    assert_added(&wiring, 0, AGENT_MCP,
                 "[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\"]\n"
                 "env = { A = \"1\", ETHOS_HOME = \"/old\", B = \"2\" }",
                 "",
                 "[mcp_servers.ethos]\ncommand = \"/n/ethos\"\nargs = [\"mcp\"]\n"
                 "env = { A = \"1\", B = \"2\" }\n");
}

static void what_was_there_before_is_neither_renewed_nor_taken_out(void **state)
{
    struct agent_wiring wiring = wiring_of("cursor", "/new/ethos", "/h");
    static const char server[] = SERVER("ethos", "],\"env\":{\"ETHOS_HOME\":\"/w\",\"A\":\"b\"}");
    static const char hooks[] =
        "{\"version\":1,\"hooks\":{\"stop\":[{\"command\":\"ethos hook x\"}]}}";
    static const char table[] = "# BEGIN ethos\n[mcp_servers.ethos]\ncommand = \"ethos\"\n"
                                "args = [\"mcp\"]\n# END ethos\n";
    (void)state;
    assert_added(&wiring, 0, AGENT_MCP, server, server, server);
    assert_removed("cursor", 0, server, server, server);
    assert_removed("cursor", 1, hooks, hooks, hooks);
    assert_removed("cursor", 1, hooks, "{\"hooks\":{\"preCompact\":[]}}",
                   "{\"version\":1,\"hooks\":{}}");
    wiring.agent = agent_find("codex");
    assert_added(&wiring, 0, AGENT_MCP, table, table, table);
    assert_added(&wiring, 0, AGENT_MCP, table, NULL, table);
    assert_removed("codex", 0, table, table, table);
}

static void assert_homes(const char *name, size_t file, const char *text, const char *expected)
{
    const struct agent *agent = agent_find(name);
    struct str out;
    str_init(&out, SIZE_MAX);
    json_t *list = agent_homes(agent, &agent->files[file], view_str(text));
    assert_int_equal(json_print(list, JSON_STYLE_LINE, &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    json_decref(list);
    str_release(&out);
}

#define TABLE "[mcp_servers.ethos]\ncommand = '/x y/ethos' # z\nargs = [\"mcp\"]\n"

static void the_memory_that_entries_use_is_told(void **state)
{
    (void)state;
    assert_homes("cursor", 0, "{}", "[]");
    assert_homes("cursor", 0, SERVER("/x/ethos", "]"), "[{\"home\":null,\"made\":true}]");
    assert_homes("cursor", 0, SERVER("ethos", "],\"env\":{\"ETHOS_HOME\":\"/h\"}"),
                 "[{\"home\":\"/h\",\"made\":true}]");
    assert_homes("cursor", 0, SERVER("ethos", "],\"env\":{\"ETHOS_HOME\":\"/h\",\"A\":\"\"}"),
                 "[{\"home\":\"/h\",\"made\":false}]");
    assert_homes("cursor", 0, SERVER("ethos", ",\"--home\",\"/h\"]"),
                 "[{\"home\":\"/h\",\"made\":false}]");
    assert_homes(
        "cursor", 1,
        "{\"hooks\":{\"stop\":[{\"command\":\"'/i t/ethos' --home '/h '\\\\'' h' hook cursor "
        "stop\"}],\"preCompact\":[{\"command\":\"ethos  hook cursor preCompact\"}]}}",
        "[{\"home\":\"/h ' h\",\"made\":true},{\"home\":null,\"made\":false}]");
    assert_homes("codex", 0, TABLE, "[{\"home\":null,\"made\":true}]");
    assert_homes("codex", 0, TABLE "env = { \"ETHOS_HOME\" = '/h,' }\n",
                 "[{\"home\":\"/h,\",\"made\":true}]");
    assert_homes("codex", 0, TABLE "env = { A = \"}\", ETHOS_HOME = \"/h\" }\n",
                 "[{\"home\":\"/h\",\"made\":false}]");
    assert_homes("codex", 0, TABLE "[mcp_servers.ethos.env]\nETHOS_HOME = \"/\\u007F\" # x\n",
                 "[{\"home\":\"/\x7f\",\"made\":true}]");
    assert_homes("codex", 0, TABLE "enabled = true\n", "[{\"home\":null,\"made\":false}]");
    assert_homes("codex", 2, "# x\n", "[]");
}

/* So that install can offer them. */
static void other_names_are_those_of_the_table(void **state)
{
    struct str names;
    (void)state;
    str_init(&names, SIZE_MAX);
    for (const struct agent *agent = agents; agent->name; agent++)
        if (agent->also)
            str_printf(&names, "%s%s", names.size ? "|" : "", agent->also);
    assert_string_equal(names.data, AGENTS_ALSO);
    str_release(&names);
}

#define HOOK(command) "{\"type\":\"command\",\"command\":\"" command "\"}"
#define OURS HOOK("'/it'\\\\''s/ethos' --home '/a hook ' hook codex Stop")

static void only_hooks_that_run_ethos_are_taken_out(void **state)
{
    (void)state;
    assert_removed("codex", 1, "{\"hooks\":{\"Stop\":[{\"hooks\":[" OURS "]}]}}", NULL, "{}");
    assert_removed("codex", 1, "{\"hooks\":{\"Stop\":[{\"matcher\":\"\",\"hooks\":[" OURS "]}]}}",
                   "{\"hooks\":{}}", "{\"hooks\":{}}");
    assert_removed("codex", 1, "{\"hooks\":{\"Stop\":[{\"hooks\":[" HOOK("x") "," OURS "]}]}}",
                   NULL, "{\"hooks\":{\"Stop\":[{\"hooks\":[" HOOK("x") "]}]}}");
    static const char others[] = "{\"hooks\":{\"Stop\":[{\"hooks\":[" HOOK(
        "echo ethos hook x") "," HOOK("notethos hook x") "," HOOK("ethos sync") "]}]}}";
    assert_removed("codex", 1, others, NULL, others);
    assert_removed("cursor", 1,
                   "{\"version\":1,\"hooks\":{\"stop\":[{\"command\":\"x\"},{\"command\":"
                   "\"\\\"/a b/ethos\\\" hook cursor stop\"}]}}",
                   NULL, "{\"version\":1,\"hooks\":{\"stop\":[{\"command\":\"x\"}]}}");
}

static void a_block_that_stood_there_comes_back(void **state)
{
    struct str out;
    struct ethos_error error;
    const struct agent_wiring wiring = wiring_of("gemini", "ethos", NULL);
    static const char was[] = "a\n<!-- BEGIN ethos -->\nexported\n<!-- END ethos -->\n";
    (void)state;
    str_init(&out, SIZE_MAX);
    assert_int_equal(agent_add(&wiring, &wiring.agent->files[1], AGENT_ALL, view_str(was),
                               (struct ethos_view){0}, "f", &out, &error),
                     ETHOS_OK);
    assert_null(strstr(out.data, "exported"));
    str_adds(&out, "later\n");
    assert_removed("gemini", 1, out.data, was,
                   "a\n<!-- BEGIN ethos -->\nexported\n<!-- END ethos -->\nlater\n");
    assert_removed("gemini", 1, out.data, NULL, "a\nlater\n");
    str_release(&out);
}

static void tools_are_allowed_and_taken_back(void **state)
{
    struct agent_wiring wiring = wiring_of("claude-code", "ethos", NULL);
    static const char was[] = "{\"permissions\":{\"allow\":[\"Bash\",\"mcp__ethos__remember\"]}}";
    static const char with[] = "{\"permissions\":{\"allow\":[\"Bash\",\"mcp__ethos__remember\","
                               "\"mcp__ethos__memory_read\"]}}";
    (void)state;
    wiring.tools = two_tools;
    assert_added(&wiring, 1, AGENT_TOOLS, was, was, with);
    assert_added(&wiring, 1, AGENT_TOOLS, with, was, with);
    assert_added(&wiring, 1, AGENT_TOOLS, "{\"permissions\":{}}", "",
                 "{\"permissions\":{\"allow\":[\"mcp__ethos__memory_read\","
                 "\"mcp__ethos__remember\"]}}");
    assert_int_equal(agent_parts(wiring.agent, &wiring.agent->files[1], view_str(with)),
                     AGENT_TOOLS);
    assert_true(agent_touched(&wiring.agent->files[1], view_str(with)));
    assert_removed("claude-code", 1, with, was, was);
    assert_removed("claude-code", 1, with, NULL, "{\"permissions\":{\"allow\":[\"Bash\"]}}");
    assert_removed("gemini", 0, "{\"tools\":{\"allowed\":[\"mcp_ethos_x\",\"y\"]}}", "{}",
                   "{\"tools\":{\"allowed\":[\"y\"]}}");
    struct str out;
    struct ethos_error error;
    str_init(&out, SIZE_MAX);
    assert_int_equal(agent_add(&wiring, &wiring.agent->files[1], AGENT_TOOLS,
                               VIEW("{\"permissions\":{\"allow\":true}}"), VIEW(""), "f", &out,
                               &error),
                     ETHOS_INVALID);
    str_release(&out);
}

static void codex_approves_all_tools_when_told(void **state)
{
    struct agent_wiring wiring = wiring_of("codex", "ethos", NULL);
    static const char asks[] = "# BEGIN ethos\n[mcp_servers.ethos]\ncommand = \"ethos\"\n"
                               "args = [\"mcp\"]\n# END ethos\n";
    (void)state;
    wiring.tools = two_tools;
    assert_added(&wiring, 0, AGENT_MCP, "", "", asks);
    wiring.all_tools = true;
    assert_added(&wiring, 0, AGENT_MCP, "", "",
                 "# BEGIN ethos\n[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\"]\n"
                 "default_tools_approval_mode = \"approve\"\n# END ethos\n");
    assert_added(&wiring, 0, AGENT_MCP, asks, "",
                 "# BEGIN ethos\n[mcp_servers.ethos]\ncommand = \"ethos\"\n"
                 "default_tools_approval_mode = \"approve\"\nargs = [\"mcp\"]\n# END ethos\n");
    assert_added(&wiring, 0, AGENT_MCP,
                 "[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\"]\n"
                 "default_tools_approval_mode = \"prompt\"\n",
                 "",
                 "[mcp_servers.ethos]\ncommand = \"ethos\"\nargs = [\"mcp\"]\n"
                 "default_tools_approval_mode = \"prompt\"\n"); // somebody decided otherwise
}

static void parts_are_seen_through_comments(void **state)
{
    const struct agent *agent = agent_find("cursor");
    (void)state;
    assert_int_equal(
        agent_parts(agent, &agent->files[0], VIEW("// x\n" SERVER("ethos", "],") "/* y */")),
        AGENT_MCP);
    assert_int_equal(agent_parts(agent, &agent->files[0], VIEW("{\"a\": \"// " SERVER("e", "]"))),
                     0);
    assert_int_equal(agent_parts(agent, &agent->files[1],
                                 VIEW("{\"hooks\":{\"stop\":[{\"command\":\"ethos hook cursor "
                                      "stop\"}]}}")),
                     0); // not all of them
    assert_true(agent_touched(&agent->files[1],
                              VIEW("{\"hooks\":{\"stop\":[{\"command\":\"ethos hook cursor "
                                   "stop\"}]},}")));
}

static void the_server_of_the_settings_is_told(void **state)
{
    const struct agent *codex = agent_find("codex");
    (void)state;
    json_t *server = agent_server(
        &codex->files[0], VIEW("[mcp_servers.ethos]\ncommand = \"/x/ethos\"\nargs = [\"mcp\"]\n"
                               "env = { ETHOS_HOME = \"/h\" }\n[other]\ncommand = \"y\"\n"));
    json_t *expected = json_pack("{s:s, s:[s], s:{s:s}}", "command", "/x/ethos", "args", "mcp",
                                 "env", "ETHOS_HOME", "/h");
    assert_true(json_equal(server, expected));
    json_decref(server);
    json_decref(expected);
    assert_null(agent_server(&codex->files[0], VIEW("[mcp_servers.ethos]\ncommand = \"x\"\n")));
    size_t group = 9, number = 9;
    assert_true(agent_hook(VIEW("{\"hooks\":{\"Stop\":[{},{\"hooks\":[{}," OURS "]}]}}"), "Stop",
                           &group, &number));
    assert_true(group == 1 && number == 1);
    struct str command, program;
    str_init(&command, SIZE_MAX);
    str_init(&program, SIZE_MAX);
    assert_int_equal(agent_hook_command(VIEW("{\"hooks\":{\"Stop\":[{\"hooks\":[" OURS "]}]}}"),
                                        "Stop", &command, &program),
                     ETHOS_OK);
    assert_string_equal(command.data, "'/it'\\''s/ethos' --home '/a hook ' hook codex Stop");
    assert_string_equal(program.data, "/it's/ethos");
    assert_int_equal(agent_hook_command(VIEW("{}"), "Stop", &command, &program), ETHOS_NOTFOUND);
    str_release(&command);
    str_release(&program);
}

static void every_failed_allocation_is_told(void **state)
{
    (void)state;
    for (const struct agent *agent = agents; agent->name; agent++) {
        const struct agent_wiring wiring = {.agent = agent,
                                            .program = "/x/ethos",
                                            .home = "/h",
                                            .tools = two_tools,
                                            .all_tools = true};
        for (const struct agent_file *file = agent->files; file->parts; file++) {
            int code = ETHOS_NOMEM;
            ALLOC_EACH(n, code == ETHOS_OK)
            {
                struct str with, without;
                struct ethos_error error;
                str_init(&with, 1 << 20);
                str_init(&without, 1 << 20);
                code = agent_add(&wiring, file, AGENT_ALL, VIEW(""), VIEW(""), "f", &with, &error);
                if (code == ETHOS_OK)
                    code = agent_remove(file, str_view(&with), VIEW("{}"), "f", &without, &error);
                json_t *homes = code == ETHOS_OK ? agent_homes(agent, file, str_view(&with)) : NULL;
                if (code == ETHOS_OK && !homes)
                    code = ETHOS_NOMEM;
                json_decref(homes);
                assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
                if (code == ETHOS_OK)
                    alloc_fail_at(0);
                assert_true(code != ETHOS_OK || agent_left_nothing(file, str_view(&without)));
                str_release(&with);
                str_release(&without);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_told_apart),
        cmocka_unit_test(a_table_may_be_added_where_it_is_not),
        cmocka_unit_test(another_program_and_home_are_renewed_and_the_rest_is_not),
        cmocka_unit_test(a_block_of_toml_is_renewed_with_what_others_put_into_it),
        cmocka_unit_test(a_block_that_was_edited_is_brought_to_its_parts),
        cmocka_unit_test(what_others_added_to_a_table_stays),
        cmocka_unit_test(what_was_there_before_is_neither_renewed_nor_taken_out),
        cmocka_unit_test(the_memory_that_entries_use_is_told),
        cmocka_unit_test(other_names_are_those_of_the_table),
        cmocka_unit_test(only_hooks_that_run_ethos_are_taken_out),
        cmocka_unit_test(a_block_that_stood_there_comes_back),
        cmocka_unit_test(tools_are_allowed_and_taken_back),
        cmocka_unit_test(codex_approves_all_tools_when_told),
        cmocka_unit_test(parts_are_seen_through_comments),
        cmocka_unit_test(the_server_of_the_settings_is_told),
        cmocka_unit_test(every_failed_allocation_is_told),
    };
    return cmocka_run_group_tests_name("core/agents", tests, NULL, NULL);
}
