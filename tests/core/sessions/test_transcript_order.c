/*
 * test_transcript_order.c: which message may come next.
 */
#include "core/sessions/transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "calls.h"

/* ---- a conversation, one letter per message ---------------------------------------------------
 *
 *     s u a t       system, user, assistant, steer
 *     A<ids>.       an assistant that calls: one letter per call
 *     r<id>         a result
 */
static const char *const roles[128] = {
    ['s'] = "system",    ['u'] = "user",        ['a'] = "assistant",
    ['A'] = "assistant", ['r'] = "tool_result", ['t'] = "user_steer"};

static const char *read_calls(const char **at, char *out)
{
    size_t size = 0;
    out[size++] = '[';
    for (++*at; **at != '.'; ++*at)
        size += (size_t)snprintf(out + size, 32, "%s{\"id\":\"%c\"}", size > 1 ? "," : "", **at);
    memcpy(out + size, "]", 2);
    return out;
}

/* How many messages of the conversation are accepted, -1: all. */
static int accepted(const char *conversation, struct ethos_error *error)
{
    struct arena arena;
    struct transcript transcript = {.arena = &arena};
    int count = 0, result = -1;
    arena_init(&arena);
    for (const char *at = conversation; *at && result < 0; at++, count++) {
        char calls[1024], id[2] = {0};
        struct ethos_message message = {.role = roles[(unsigned char)*at]};
        if (*at == 'A')
            message.tool_calls = read_calls(&at, calls);
        if (*at == 'r') {
            id[0] = *++at;
            message.tool_call_id = id;
        }
        struct transcript before = transcript;
        int code = transcript_next(&transcript, &message, error);
        if (code != ETHOS_OK) {
            assert_int_equal(code, ETHOS_INVALID);
            assert_memory_equal(&before, &transcript, sizeof(before));
            result = count;
        }
    }
    arena_release(&arena);
    return result;
}

static void assert_accepted(const char *conversation)
{
    struct ethos_error error = {0};
    int at = accepted(conversation, &error);
    if (at >= 0)
        fail_msg("'%s' stops at %d: %s", conversation, at, error.text);
}

static void assert_refused(const char *conversation, int at, const char *why)
{
    struct ethos_error error = {0};
    assert_int_equal(accepted(conversation, &error), at);
    assert_string_equal(error.text, why);
}

static void test_user_and_assistant_alternate(void **state)
{
    (void)state;
    assert_accepted("");
    assert_accepted("ua");
    assert_accepted("suaua");
    assert_refused("uu", 1, "the last message is already from the user");
    assert_refused("uaa", 2, "role assistant after an assistant's message");
    assert_refused("a", 0, "role assistant after nothing");
    assert_refused("sa", 1, "role assistant after a system message");
    assert_refused("ss", 1, "role system after a system message");
    assert_refused("uas", 2, "role system after an assistant's message");
}

static void test_results_follow_their_calls_in_any_order(void **state)
{
    (void)state;
    assert_accepted("uAx.rxaua");
    assert_accepted("uAxyz.rzrxrya");
    assert_accepted("uAx.rxAy.rya");
    assert_accepted("uAx.rxAx.rxa"); // an id may be used again
    assert_accepted("uAx.rxu");
    assert_accepted("uA.u");
}

static void test_an_unfinished_conversation_is_not_wrong(void **state)
{
    (void)state;
    assert_accepted("u");
    assert_accepted("uAxy.");
    assert_accepted("uAxy.ry");
}

static void test_every_call_is_answered_once(void **state)
{
    (void)state;
    assert_refused("uAxy.rxa", 3, "role assistant while the tool call 'y' has no result");
    assert_refused("uAxy.rxu", 3, "role user while the tool call 'y' has no result");
    assert_refused("uAx.rxrx", 3, "a second tool result for 'x'");
    assert_refused("uAx.rz", 2, "a tool result for 'z', which was not called");
    assert_refused("uAx.rxarx", 4, "a tool result for 'x', which was not called");
    assert_refused("urx", 1, "a tool result for 'x', which was not called");
    assert_refused("uAxx.", 1, "two tool calls have the id 'x'");
}

static void test_a_steer_comes_while_tools_run(void **state)
{
    (void)state;
    assert_accepted("uAx.trxa");
    assert_accepted("uAx.rxta");
    assert_accepted("uAxy.rxtttrya");
    assert_refused("t", 0, "role user_steer after nothing");
    assert_refused("uat", 2, "role user_steer after an assistant's message");
    assert_refused("ut", 1, "role user_steer after a user's message");
    assert_refused("uAx.rxtu", 4, "the last message is already from the user");
    assert_refused("uAx.ta", 3, "role assistant while the tool call 'x' has no result");
}

static int next_after_user(const char *role, const char *calls, const char *id,
                           struct ethos_error *error)
{
    struct arena arena;
    struct transcript transcript = {.arena = &arena};
    struct ethos_message user = {.role = "user"};
    struct ethos_message message = {.role = role, .tool_calls = calls, .tool_call_id = id};
    arena_init(&arena);
    assert_int_equal(transcript_next(&transcript, &user, error), ETHOS_OK);
    int code = transcript_next(&transcript, &message, error);
    arena_release(&arena);
    return code;
}

static void test_calls_are_a_json_array_with_ids(void **state)
{
    static const struct {
        const char *calls, *why;
    } bad[] = {{"{}", "tool calls are not a JSON array"},
               {"[1]", "tool call 1 has no id"},
               {"[{\"id\":\"a\"},{\"name\":\"x\"}]", "tool call 2 has no id"},
               {"[{\"id\":\"\"}]", "tool call 1 has no id"},
               {"[{\"id\":7}]", "tool call 1 has no id"},
               {"[{\"id\":\"a\\u0000b\"}]", "tool call 1 has no id"}};
    struct ethos_error error;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(next_after_user("assistant", bad[i].calls, NULL, &error), ETHOS_INVALID);
        assert_string_equal(error.text, bad[i].why);
    }
    assert_int_equal(next_after_user("assistant", "[", NULL, &error), ETHOS_INVALID);
    assert_int_equal(next_after_user("assistant", "null", NULL, &error), ETHOS_OK);
    assert_int_equal(next_after_user("assistant", "[]", NULL, &error), ETHOS_OK);
    assert_int_equal(next_after_user("robot", NULL, NULL, &error), ETHOS_INVALID);
    assert_string_equal(error.text, "'robot' is not a role");
    assert_int_equal(next_after_user(NULL, NULL, NULL, NULL), ETHOS_INVALID);
    assert_int_equal(next_after_user("tool_result", NULL, NULL, &error), ETHOS_INVALID);
    assert_string_equal(error.text, "a tool result without the id of its call");
}

static void test_too_many_calls_are_a_limit(void **state)
{
    struct ethos_error error;
    char *most = many_calls(TRANSCRIPT_MAX_CALLS), *more = many_calls(300);
    (void)state;
    assert_int_equal(next_after_user("assistant", most, NULL, &error), ETHOS_OK);
    assert_int_equal(next_after_user("assistant", more, NULL, &error), ETHOS_LIMIT);
    assert_string_equal(error.text, "300 tool calls in one message, the maximum is 256");
    free(most);
    free(more);
}

static void test_the_next_message_without_memory_is_an_error(void **state)
{
    int code;
    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct arena arena;
        struct transcript transcript = {.last = 'u', .arena = &arena};
        struct ethos_message message = {.role = "assistant", .tool_calls = "[{\"id\":\"x\"}]"};
        arena_init(&arena);
        code = transcript_next(&transcript, &message, NULL);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(transcript.last, code == ETHOS_OK ? 'a' : 'u');
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user_and_assistant_alternate),
        cmocka_unit_test(test_results_follow_their_calls_in_any_order),
        cmocka_unit_test(test_an_unfinished_conversation_is_not_wrong),
        cmocka_unit_test(test_every_call_is_answered_once),
        cmocka_unit_test(test_a_steer_comes_while_tools_run),
        cmocka_unit_test(test_calls_are_a_json_array_with_ids),
        cmocka_unit_test(test_too_many_calls_are_a_limit),
        cmocka_unit_test(test_the_next_message_without_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
