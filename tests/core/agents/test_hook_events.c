/*
 * test_hook_events.c: what agents tell hooks, and the answers they understand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"
#include "core/agents/hook_events.h"

static const struct agent_event *event_of(const char *agent, const char *event)
{
    const struct agent *who;
    return agent_event_find(agent, event, &who);
}

static struct hook take(const char *agent, const char *event, const char *input)
{
    struct hook hook;
    assert_int_equal(
        hook_read(agent_find(agent), event_of(agent, event), view_str(input), &hook, NULL),
        ETHOS_OK);
    return hook;
}

static void assert_view(struct ethos_view view, const char *expected)
{
    assert_int_equal(view.size, strlen(expected));
    assert_memory_equal(view.data, expected, view.size);
}

static void test_every_agent_tells_the_same_things(void **state)
{
    (void)state;
    struct hook hook = take("claude-code", "Stop",
                            "{\"session_id\":\"s\",\"transcript_path\":\"/t\",\"cwd\":\"/w\","
                            "\"last_assistant_message\":\"done\"}");
    assert_string_equal(hook.session, "s");
    assert_string_equal(hook.transcript, "/t");
    assert_string_equal(hook.folder, "/w");
    assert_view(hook.reply, "done");
    hook_release(&hook);
    hook = take("gemini", "AfterAgent",
                "{\"session_id\":\"g\",\"transcript_path\":\"/t\",\"timestamp\":\"now\","
                "\"prompt\":\"q\",\"prompt_response\":\"a\"}");
    assert_string_equal(hook.transcript, "/t");
    assert_string_equal(hook.turn, "now");
    assert_view(hook.prompt, "q");
    assert_view(hook.reply, "a");
    hook_release(&hook);
    hook = take("cursor", "afterAgentResponse",
                "{\"conversation_id\":\"c\",\"generation_id\":\"g\",\"workspace_roots\":[\"/w\"],"
                "\"text\":\"a\"}");
    assert_string_equal(hook.session, "c");
    assert_string_equal(hook.turn, "g");
    assert_string_equal(hook.folder, "/w");
    assert_view(hook.reply, "a");
    hook_release(&hook);
}

static void test_what_has_another_type_was_not_told(void **state)
{
    (void)state;
    struct hook hook = take("codex", "Stop",
                            "{\"session_id\":7,\"transcript_path\":null,\"cwd\":\"relative\","
                            "\"last_assistant_message\":[1],\"workspace_roots\":[{}]}");
    assert_null(hook.session);
    assert_null(hook.transcript);
    assert_null(hook.folder);
    assert_null(hook.reply.data);
    hook_release(&hook);
    hook = take("codex", "Stop",
                "{\"session_id\":\"a\\u0000b\",\"transcript_path\":\"/a\\u0000b\"}");
    assert_null(hook.session);
    assert_null(hook.transcript);
    hook_release(&hook);
}

static void test_what_is_no_object_is_refused(void **state)
{
    static const char *const inputs[] = {"",  "null",  "[]",   "\"x\"",
                                         "{", "{} {}", "\xFF", "{\"a\":1,\"a\":2}"};
    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct hook hook;
        assert_int_equal(hook_read(agent_find("codex"), event_of("codex", "Stop"),
                                   view_str(inputs[i]), &hook, NULL),
                         ETHOS_INVALID);
        hook_release(&hook);
    }
}

static void assert_prompt(const char *given, const char *expected)
{
    struct str input;
    str_init(&input, 4096);
    str_adds(&input, "{\"prompt\":");
    json_quote(view_str(given), &input);
    str_adds(&input, "}");
    struct hook hook = take("gemini", "BeforeAgent", input.data);
    assert_view(hook.prompt, expected);
    hook_release(&hook);
    str_release(&input);
}

static void test_a_prompt_is_without_what_hooks_have_said(void **state)
{
    (void)state;
    assert_prompt("why?", "why?");
    assert_prompt("<hook_context>\nmemory\n</hook_context>\n\nwhy?", "why?");
    assert_prompt("<hook_context>a</hook_context> <hook_context>b</hook_context>why?", "why?");
    assert_prompt("what is <hook_context>x</hook_context>?",
                  "what is <hook_context>x</hook_context>?");
    assert_prompt("<hook_context>open", "<hook_context>open");
    assert_prompt("  blanks stay ", "  blanks stay ");
}

static void test_an_event_is_known_by_its_letters(void **state)
{
    (void)state;
    assert_int_equal(event_of("claude-code", "session-start")->action, AGENT_START);
    assert_int_equal(event_of("gemini-cli", "beforeagent")->action, AGENT_PROMPT);
    assert_int_equal(event_of("claude", "Stop")->action, AGENT_TURN);
    assert_int_equal(event_of("cursor", "preCompact")->action, AGENT_COMPACT);
    assert_int_equal(event_of("codex", "SESSION_END")->action, AGENT_END);
    assert_null(event_of("codex", "Sto"));
    assert_null(event_of("codex", "Stops"));
    assert_null(event_of("codex", ""));
    assert_null(agent_find("claud"));
}

static void assert_answer(const char *agent, const char *event, const char *text,
                          const char *expected)
{
    struct str out;
    str_init(&out, 4096);
    assert_int_equal(
        hook_answer(agent_find(agent), event_of(agent, event), view_str(text), NULL, &out),
        ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_each_agent_is_answered_in_its_way(void **state)
{
    (void)state;
    assert_answer("claude-code", "session-start", "a \"b\"\n\x01",
                  "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\","
                  "\"additionalContext\":\"a \\\"b\\\"\\n\\u0001\"}}\n");
    assert_answer("gemini", "BeforeAgent", "m",
                  "{\"hookSpecificOutput\":{\"hookEventName\":\"BeforeAgent\","
                  "\"additionalContext\":\"m\"}}\n");
    assert_answer("cursor", "sessionStart", "m", "{\"additional_context\":\"m\"}\n");
    assert_answer("cursor", "beforeSubmitPrompt", "m",
                  "{\"continue\":true,\"additional_context\":\"m\"}\n");
    assert_answer("codex", "Stop", "", "{}\n");
    assert_answer("cursor", "stop", "", "{}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_agent_tells_the_same_things),
        cmocka_unit_test(test_what_has_another_type_was_not_told),
        cmocka_unit_test(test_what_is_no_object_is_refused),
        cmocka_unit_test(test_a_prompt_is_without_what_hooks_have_said),
        cmocka_unit_test(test_an_event_is_known_by_its_letters),
        cmocka_unit_test(test_each_agent_is_answered_in_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
