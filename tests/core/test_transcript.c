/*
 * test_transcript.c: which message may come next, and how transcripts of other programs are read.
 */
#include "core/transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"

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
    assert_refused("uu", 1, "role user after a user's message");
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
    assert_refused("uAx.rxtu", 4, "role user after a steer");
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
    assert_string_equal(error.text, "'robot' is no role of a message");
    assert_int_equal(next_after_user(NULL, NULL, NULL, NULL), ETHOS_INVALID);
    assert_int_equal(next_after_user("tool_result", NULL, NULL, &error), ETHOS_INVALID);
    assert_string_equal(error.text, "a tool result without the id of its call");
}

static char *many_calls(int count)
{
    struct str out;
    str_init(&out, (size_t)1 << 20);
    for (int i = 0; i < count; i++)
        str_printf(&out, "%c{\"id\":\"c%d\"}", i ? ',' : '[', i);
    str_addc(&out, ']');
    return str_steal(&out, NULL);
}

static void test_too_many_calls_are_a_limit(void **state)
{
    struct ethos_error error;
    char *most = many_calls(TRANSCRIPT_MAX_CALLS), *more = many_calls(300);
    (void)state;
    assert_int_equal(next_after_user("assistant", most, NULL, &error), ETHOS_OK);
    assert_int_equal(next_after_user("assistant", more, NULL, &error), ETHOS_LIMIT);
    assert_string_equal(error.text, "300 tool calls in one message, at most 256 can be kept");
    free(most);
    free(more);
}

/*
 * ---- reading ----------------------------------------------------------------------------------
 */

struct read {
    struct str messages, notes;
    struct transcript check;
    char ids[64][ETHOS_UUID_SIZE];
    size_t count;
    const char *last_time;
    bool show_times, quiet;
    int stop_after;
};

/* user|text, assistant|text|x:name:{...}, tool_result|x|text */
static int keep_message(void *arg, const struct ethos_message *message)
{
    struct read *read = arg;
    struct ethos_error error;
    if (transcript_next(&read->check, message, &error) != ETHOS_OK)
        fail_msg("not accepted: %s", error.text);
    assert_int_equal(strlen(message->id), ETHOS_UUID_SIZE - 1);
    for (size_t i = 0; i < read->count && i < 64; i++)
        assert_string_not_equal(read->ids[i], message->id);
    if (read->count < 64)
        memcpy(read->ids[read->count], message->id, ETHOS_UUID_SIZE);
    read->count++;
    assert_true(!read->last_time || strcmp(read->last_time, message->timestamp) <= 0);
    read->last_time = message->timestamp;
    assert_non_null(message->content.data);
    if (read->quiet)
        return 0;
    str_printf(&read->messages, "%s", message->role);
    if (read->show_times)
        str_printf(&read->messages, " %s", message->timestamp ? message->timestamp : "-");
    if (message->tool_call_id)
        str_printf(&read->messages, "|%s:%s", message->tool_call_id, message->tool_name);
    str_addc(&read->messages, '|');
    str_add(&read->messages, message->content);
    if (message->tool_calls)
        str_printf(&read->messages, "|%s", message->tool_calls);
    if (message->has_usage)
        str_printf(&read->messages, "|%lld+%lld", (long long)message->usage.input_tokens,
                   (long long)message->usage.output_tokens);
    str_addc(&read->messages, '\n');
    return read->stop_after && --read->stop_after == 0 ? 42 : 0;
}

static void keep_note(void *arg, size_t line, const char *what)
{
    struct read *read = arg;
    assert_int_equal(read->count, 0);
    assert_true(line > 0);
    str_printf(&read->notes, "%zu: %s\n", line, what);
}

static int read_view(struct read *read, struct ethos_view text, const char *format,
                     struct ethos_error *error)
{
    struct arena arena, check;
    arena_init(&arena);
    arena_init(&check);
    str_init(&read->messages, (size_t)1 << 26);
    str_init(&read->notes, (size_t)1 << 26);
    read->check = (struct transcript){.arena = &check};
    read->count = 0;
    read->last_time = NULL;
    int code = transcript_read(text, format, &arena, keep_message, keep_note, read, error);
    arena_release(&arena);
    arena_release(&check);
    return code;
}

static void release(struct read *read)
{
    str_release(&read->messages);
    str_release(&read->notes);
}

static void assert_text(const char *found, const char *expected)
{
    if (strcmp(found, expected) != 0)
        fail_msg("found:\n%sexpected:\n%s", found, expected);
}

static void assert_read_as(const char *text, const char *format, const char *messages,
                           const char *notes)
{
    struct read read = {0};
    struct ethos_error error = {0};
    int code = read_view(&read, view_str(text), format, &error);
    if (code != ETHOS_OK)
        fail_msg("%d: %s\n%s", code, error.text, read.notes.data);
    assert_text(read.messages.data, messages);
    assert_text(read.notes.data, notes);
    release(&read);
}

static void assert_read(const char *text, const char *messages, const char *notes)
{
    assert_read_as(text, NULL, messages, notes);
}

/* ---- plain lines ----------------------------------------------------------------------------- */

static void test_plain_lines_are_messages(void **state)
{
    (void)state;
    assert_read("{\"role\":\"system\",\"content\":\"be brief\"}\n"
                "{\"role\":\"user\",\"content\":\"hi\"}\r\n"
                "\n"
                "{\"role\":\"assistant\",\"content\":\"hello\"}",
                "system|be brief\nuser|hi\nassistant|hello\n", "");
}

static void test_plain_calls_are_understood_in_both_spellings(void **state)
{
    (void)state;
    assert_read("{\"role\":\"human\",\"content\":[{\"type\":\"text\",\"text\":\"go\"}]}\n"
                "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"x\",\"type\":"
                "\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{\\\"a\\\":1}\"}}]}\n"
                "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"files\"}\n"
                "{\"role\":\"assistant\",\"content\":\"more\",\"toolCalls\":[{\"id\":\"y\","
                "\"name\":\"cat\",\"input\":{\"b\":[2]}}]}\n"
                "{\"role\":\"tool_result\",\"toolCallId\":\"y\",\"content\":\"text\"}\n",
                "user|go\n"
                "assistant||[{\"id\":\"x\",\"name\":\"ls\",\"input\":{\"a\":1}}]\n"
                "tool_result|x:ls|files\n"
                "assistant|more|[{\"id\":\"y\",\"name\":\"cat\",\"input\":{\"b\":[2]}}]\n"
                "tool_result|y:cat|text\n",
                "");
}

#define U(text) "{\"role\":\"user\",\"content\":\"" text "\"}\n"
#define A(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}\n"
#define CALL(id) "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"" id "\",\"name\":\"f\"}]}\n"
#define R(id, text)                                                                                \
    "{\"role\":\"tool_result\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}\n"
#define CALLED(id) "[{\"id\":\"" id "\",\"name\":\"f\",\"input\":{}}]"

static void test_neighbours_are_joined(void **state)
{
    (void)state;
    assert_read(U("a") U("b") A("c") A("d") CALL("x") CALL("y") R("y", "1") R("x", "2"),
                "user|a\n\nb\n"
                "assistant|c\n\nd|[{\"id\":\"x\",\"name\":\"f\",\"input\":{}},{\"id\":\"y\","
                "\"name\":\"f\",\"input\":{}}]\n"
                "tool_result|x:f|2\ntool_result|y:f|1\n",
                "2: neighbours of one role were joined\n4: neighbours of one role were joined\n"
                "5: neighbours of one role were joined\n6: neighbours of one role were joined\n");
}

static void test_a_call_without_result_is_answered(void **state)
{
    (void)state;
    assert_read(
        U("a") CALL("x") U("b") CALL("y"),
        "user|a\nassistant||" CALLED("x") "\ntool_result|x:f|(no result was recorded)\n"
                                          "user|b\nassistant||" CALLED(
                                              "y") "\ntool_result|y:f|(no result was recorded)\n",
        "2: a call without result was answered\n4: a call without result was answered\n");
}

static void test_a_result_without_call_is_left_out(void **state)
{
    (void)state;
    assert_read(U("a") R("q", "?") CALL("x") R("x", "1") R("x", "2") A("b"),
                "user|a\nassistant||" CALLED("x") "\ntool_result|x:f|1\nassistant|b\n",
                "2: a tool result that answers no call was left out\n"
                "5: a tool result that answers no call was left out\n");
}

static void test_results_are_moved_to_their_calls(void **state)
{
    (void)state;
    assert_read(U("a") CALL("x") U("b") R("x", "1") A("c"),
                "user|a\nassistant||" CALLED("x") "\ntool_result|x:f|1\nuser|b\nassistant|c\n",
                "4: a tool result was moved to its call\n");
    assert_read(U("a") R("x", "1") CALL("x") A("c"),
                "user|a\nassistant|c|" CALLED("x") "\ntool_result|x:f|1\n",
                "4: neighbours of one role were joined\n2: a tool result was moved to its call\n");
}

static void test_an_id_may_be_used_again(void **state)
{
    (void)state;
    assert_read(U("a") CALL("x") R("x", "1") CALL("x") R("x", "2"),
                "user|a\nassistant||" CALLED("x") "\ntool_result|x:f|1\nassistant||" CALLED(
                    "x") "\n"
                         "tool_result|x:f|2\n",
                "");
    assert_read(U("a") CALL("x") CALL("x") R("x", "1"),
                "user|a\nassistant||" CALLED("x") "\ntool_result|x:f|1\n",
                "3: neighbours of one role were joined\n"
                "3: a second call of the same id was left out\n");
}

static void test_what_cannot_stand_where_it_is_changes(void **state)
{
    (void)state;
    assert_read(A("hello") U("b"),
                "user|(what came before was not recorded)\nassistant|hello\nuser|b\n",
                "1: a question that was not recorded was put in\n");
    assert_read("{\"role\":\"user_steer\",\"content\":\"s\"}\n" A("b")
                    CALL("x") "{\"role\":\"user_steer\",\"content\":\"t\"}\n" R(
                        "x", "1") "{\"role\":\"system\",\"content\":\"z\"}\n",
                "user|s\nassistant|b|" CALLED("x") "\ntool_result|x:f|1\nuser_steer|t\n",
                "1: a steer became a user's message\n3: neighbours of one role were joined\n"
                "5: a tool result was moved to its call\n"
                "6: a system message in the middle was left out\n");
}

static void test_lines_that_cannot_be_read_are_told(void **state)
{
    (void)state;
    assert_read(
        U("a") "nonsense\n[1]\n{\"role\":\"cat\"}\n{\"role\":\"user\",\"content\":\"\"}\n"
               "{\"role\":\"assistant\",\"content\":\"\xff\"}\n"
               "{\"role\":\"user\",\"cont",
        "user|a\nassistant|\xef\xbf\xbd\n",
        "2: a line that is no JSON was left out\n3: a line that is no message was left out\n"
        "4: a line that is no message was left out\n5: an empty message was left out\n"
        "6: bytes that are no text were replaced\n"
        "7: the last line is cut off and was left out\n");
}

static void test_parts_that_are_no_text_are_told(void **state)
{
    (void)state;
    assert_read("{\"role\":\"user\",\"content\":[\"a\",{\"type\":\"image\"},{\"type\":\"text\","
                "\"text\":\"b\"},{\"type\":\"video\"},7]}\n",
                "user|a\n\n[image]\n\nb\n",
                "1: an image was left out\n1: a part that is no text was left out\n"
                "1: a part that is no text was left out\n");
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

static void test_more_calls_than_can_be_kept_are_left_out(void **state)
{
    struct read read = {.quiet = true};
    struct str text;
    char *calls = many_calls(300);
    (void)state;
    str_init(&text, (size_t)1 << 20);
    str_printf(&text, U("a") "{\"role\":\"assistant\",\"tool_calls\":%s}\n", calls);
    for (int i = 0; i < 300; i++)
        str_printf(&text, "{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"x\"}\n", i);
    assert_int_equal(read_view(&read, str_view(&text), NULL, NULL), ETHOS_OK);
    assert_int_equal(read.count, 2 + TRANSCRIPT_MAX_CALLS);
    assert_int_equal(read.check.open_count, 0);
    assert_int_equal(count_of(read.notes.data, "2: a call beyond the number"), 44);
    assert_int_equal(count_of(read.notes.data, "answers no call"), 44);
    release(&read);
    str_clear(&text);
    str_adds(&text, U("a"));
    for (int i = 0; i < 300; i++) // one line each: two messages
        str_printf(&text, "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c%d\"}]}\n", i);
    assert_int_equal(read_view(&read, str_view(&text), NULL, NULL), ETHOS_OK);
    assert_int_equal(read.count, 3 + 300);
    release(&read);
    str_release(&text);
    free(calls);
}

/* ---- ids and times --------------------------------------------------------------------------- */

#define UUID "11111111-2222-4333-8444-55555555555"

static void test_ids_are_kept_or_always_the_same(void **state)
{
    static const char text[] = "{\"role\":\"user\",\"content\":\"a\",\"id\":\"" UUID "a\"}\n"
                               "{\"role\":\"assistant\",\"content\":\"b\",\"id\":\"msg-7\"}\n" U(
                                   "c") CALL("x") U("c");
    struct read once = {0}, again = {0};
    (void)state;
    assert_int_equal(read_view(&once, view_str(text), NULL, NULL), ETHOS_OK);
    assert_int_equal(read_view(&again, view_str(text), NULL, NULL), ETHOS_OK);
    assert_int_equal(once.count, 6);
    assert_string_equal(once.ids[0], UUID "a");
    assert_memory_equal(once.ids, again.ids, sizeof(once.ids));
    release(&once);
    release(&again);
}

static void test_a_grown_file_keeps_the_ids_of_what_was_there(void **state)
{
    static const char text[] = U("a") CALL("x") R("x", "1") A("b") U("c");
    struct read before = {0}, after = {0};
    (void)state;
    assert_int_equal(read_view(&before, view_of(text, sizeof(U("a") CALL("x")) - 1), NULL, NULL),
                     ETHOS_OK);
    assert_int_equal(read_view(&after, view_str(text), NULL, NULL), ETHOS_OK);
    assert_int_equal(before.count, 3); // the answer that is made has the id of the one to come
    assert_int_equal(after.count, 5);
    assert_memory_equal(before.ids, after.ids, 3 * sizeof(before.ids[0]));
    release(&before);
    release(&after);
}

static void test_a_line_that_comes_twice_is_taken_once(void **state)
{
    (void)state;
    assert_read("{\"role\":\"user\",\"content\":\"a\",\"id\":\"" UUID
                "a\"}\n" A("b") "{\"role\":\"user\",\"content\":\"a\",\"id\":\"" UUID "a\"}\n",
                "user|a\nassistant|b\n", "3: a line that was there before was left out\n");
    assert_read("{\"role\":\"user\",\"content\":\"a\",\"id\":\"\"}\n"
                "{\"role\":\"assistant\",\"content\":\"b\",\"id\":\"\"}\n",
                "user|a\nassistant|b\n", "");
}

static void test_times_are_kept_and_never_go_back(void **state)
{
    static const char text[] = U(
        "0") "{\"role\":\"assistant\",\"content\":\"1\",\"timestamp\":\"2026-01-02T03:04:05Z\"}\n"
             "{\"role\":\"user\",\"content\":\"2\",\"timestamp\":1767323046}\n"
             "{\"role\":\"assistant\",\"content\":\"3\",\"timestamp\":1767323047500}\n"
             "{\"role\":\"user\",\"content\":\"4\",\"timestamp\":\"2026-01-01T00:00:00.000Z\"}\n"
             "{\"role\":\"assistant\",\"content\":\"5\",\"timestamp\":\"soon\"}\n"
             "{\"role\":\"user\",\"content\":\"6\",\"timestamp\":\"2026-01-02T04:04:08+01:00\"}\n"
             "{\"role\":\"assistant\",\"content\":\"7\",\"timestamp\":-1e300}\n"
             "{\"role\":\"user\",\"content\":\"8\",\"timestamp\":\"7d\"}\n";
    struct read read = {.show_times = true};
    (void)state;
    assert_int_equal(read_view(&read, view_str(text), NULL, NULL), ETHOS_OK);
    assert_text(read.messages.data, "user 2026-01-02T03:04:05.000Z|0\n"
                                    "assistant 2026-01-02T03:04:05.000Z|1\n"
                                    "user 2026-01-02T03:04:06.000Z|2\n"
                                    "assistant 2026-01-02T03:04:07.500Z|3\n"
                                    "user 2026-01-02T03:04:07.500Z|4\n"
                                    "assistant 2026-01-02T03:04:07.500Z|5\n"
                                    "user 2026-01-02T03:04:08.000Z|6\n"
                                    "assistant 2026-01-02T03:04:08.000Z|7\n"
                                    "user 2026-01-02T03:04:08.000Z|8\n");
    assert_text(read.notes.data, "6: a time that is none was left out\n"
                                 "8: a time that is none was left out\n"
                                 "9: a time that is none was left out\n"
                                 "1: a missing time was taken from a neighbour\n"
                                 "5: a time before that of the message before was moved\n"
                                 "6: a missing time was taken from a neighbour\n"
                                 "8: a missing time was taken from a neighbour\n"
                                 "9: a missing time was taken from a neighbour\n");
    release(&read);
}

/* ---- Claude Code ----------------------------------------------------------------------------- */

#define CC(type, n, rest)                                                                          \
    "{\"type\":\"" type "\",\"uuid\":\"" UUID n "\",\"sessionId\":\"s\",\"timestamp\":"            \
    "\"2026-01-02T03:04:0" n ".123Z\"," rest "}\n"
#define SAID(role, content) "\"message\":{\"role\":\"" role "\",\"content\":" content "}"

static void test_a_claude_code_session_is_read(void **state)
{
    (void)state;
    assert_read(
        "{\"type\":\"summary\",\"summary\":\"A title\",\"leafUuid\":\"x\"}\n"
        "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{}}\n" CC(
            "user", "0", SAID("user", "\"fix it\"")) CC("assistant", "1",
                                                        "\"message\":{\"id\":\"m1\",\"role\":"
                                                        "\"assistant\",\"content\":[{\"type\":"
                                                        "\"thinking\",\"thinking\":\"hm\"}],"
                                                        "\"usage\":{\"input_tokens\":5,\"output_"
                                                        "tokens\":1}}")
            CC("assistant", "2",
               "\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"text\",\"text\":\"Reading.\"}],"
               "\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}")
                CC("assistant", "3",
                   "\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"tool_use\",\"id\":\"x\","
                   "\"name\":\"Read\",\"input\":{\"path\":\"a\"}}],\"usage\":{\"input_tokens\":5,"
                   "\"output_tokens\":9}}")
                    CC("user", "4",
                       SAID("user", "[{\"type\":\"tool_result\",\"tool_use_id\":\"x\",\"content\":"
                                    "[{\"type\":\"text\",\"text\":\"bytes\"}]},{\"type\":\"text\","
                                    "\"text\":\"and hurry\"}]"))
                        CC("assistant", "5", SAID("assistant", "\"Done.\"")),
        "user|fix it\n"
        "assistant|Reading.|[{\"id\":\"x\",\"name\":\"Read\",\"input\":{\"path\":\"a\"}}]|5+9\n"
        "tool_result|x:Read|bytes\nuser|and hurry\nassistant|Done.\n",
        "1: a line that is no message was left out\n2: a line that is no message was left out\n"
        "4: reasoning was left out\n6: neighbours of one role were joined\n");
}

static void test_side_chains_and_meta_lines_are_left_out(void **state)
{
    (void)state;
    assert_read(CC("user", "0", "\"isMeta\":true," SAID("user", "\"caveat\""))
                    CC("user", "1", "\"isSidechain\":false," SAID("user", "\"a\""))
                        CC("user", "2", "\"isSidechain\":true," SAID("user", "\"b\""))
                            CC("assistant", "3", "\"isSidechain\":true," SAID("assistant", "\"c\""))
                                CC("user", "4", "\"isCompactSummary\":true," SAID("user", "\"d\""))
                                    CC("system", "5", "\"subtype\":\"turn_duration\""),
                "user|a\n",
                "1: a line of the program to itself was left out\n3: a side chain was left out\n"
                "4: a side chain was left out\n5: a summary of what stands before was left out\n"
                "6: a line that is no message was left out\n");
    assert_read(CC("user", "4", "\"isCompactSummary\":true," SAID("user", "\"d\"")), "user|d\n",
                "");
}

static void test_lines_that_were_copied_within_a_session_are_taken_once(void **state)
{
    (void)state;
    assert_read(
        CC("user", "0", SAID("user", "\"a\"")) CC("assistant", "1", SAID("assistant", "\"b\""))
            CC("user", "0", SAID("user", "\"a\"")) CC("assistant", "1", SAID("assistant", "\"b\"")),
        "user|a\nassistant|b\n",
        "3: a line that was there before was left out\n"
        "4: a line that was there before was left out\n");
}

static void test_parallel_calls_of_claude_code_are_one_message(void **state)
{
    (void)state;
#define USE(id) "[{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"f\",\"input\":{}}]"
#define RESULT(id) "[{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"" id "!\"}]"
    assert_read(CC("user", "0", SAID("user", "\"a\""))
                    CC("assistant", "1", SAID("assistant", USE("x")))
                        CC("assistant", "2", SAID("assistant", USE("y")))
                            CC("user", "3", SAID("user", RESULT("y")))
                                CC("user", "4", SAID("user", RESULT("x"))),
                "user|a\nassistant||[{\"id\":\"x\",\"name\":\"f\",\"input\":{}},{\"id\":\"y\","
                "\"name\":\"f\",\"input\":{}}]\ntool_result|x:f|x!\ntool_result|y:f|y!\n",
                "3: neighbours of one role were joined\n"
                "4: a time before that of the message before was moved\n");
}

/* ---- Codex ----------------------------------------------------------------------------------- */

#define CX(type, payload)                                                                          \
    "{\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"type\":\"" type "\",\"payload\":" payload "}\n"
#define ITEM(payload) CX("response_item", payload)
#define TYPED(text)                                                                                \
    ITEM("{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":" \
         "\"" text "\"}]}")

static void test_a_codex_rollout_is_read(void **state)
{
    (void)state;
    assert_read(
        CX("session_meta", "{\"id\":\"s\",\"cwd\":\"/x\"}")
            ITEM("{\"type\":\"message\",\"role\":\"developer\",\"content\":[]}") TYPED(
                "<environment_context>\\n<cwd>/x</cwd>\\n</environment_context>") TYPED("fix it")
                CX("event_msg", "{\"type\":\"user_message\",\"message\":\"fix it\"}")
                    CX("turn_context", "{\"model\":\"m\"}")
                        ITEM("{\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"e\"}")
                            ITEM("{\"type\":\"function_call\",\"name\":\"shell\",\"arguments\":"
                                 "\"{\\\"cmd\\\":[\\\"ls\\\"]}\",\"call_id\":\"x\"}")
                                ITEM("{\"type\":\"custom_tool_call\",\"name\":\"apply_patch\","
                                     "\"input\":\"*** Begin\",\"call_id\":\"y\"}")
                                    ITEM("{\"type\":\"function_call_output\",\"call_id\":\"x\","
                                         "\"output\":\"files\"}")
                                        ITEM("{\"type\":\"custom_tool_call_output\","
                                             "\"call_id\":\"y\",\"output\":{\"content\":\"ok\","
                                             "\"success\":true}}")
                                            ITEM("{\"type\":\"message\",\"role\":\"assistant\","
                                                 "\"content\":[{\"type\":\"output_text\","
                                                 "\"text\":\"Done.\"}]}"),
        "user|fix it\n"
        "assistant||[{\"id\":\"x\",\"name\":\"shell\",\"input\":{\"cmd\":[\"ls\"]}},{\"id\":\"y\","
        "\"name\":\"apply_patch\",\"input\":\"*** Begin\"}]\n"
        "tool_result|x:shell|files\ntool_result|y:apply_patch|ok\nassistant|Done.\n",
        "1: a line that is no message was left out\n"
        "2: a line of the program to itself was left out\n"
        "5: a line that is no message was left out\n6: a line that is no message was left out\n"
        "7: reasoning was left out\n3: context that the program added was left out\n"
        "9: neighbours of one role were joined\n");
}

static void test_what_was_typed_stays_whatever_it_looks_like(void **state)
{
    (void)state;
    assert_read(TYPED("<b>x</b>")
                    CX("event_msg", "{\"type\":\"user_message\",\"message\":\"<b>x</b>\"}"),
                "user|<b>x</b>\n", "2: a line that is no message was left out\n");
    assert_read(TYPED("<b> is a tag") TYPED("1 < 2 > 0"), "user|<b> is a tag\n\n1 < 2 > 0\n",
                "2: neighbours of one role were joined\n");
    assert_read(TYPED("# AGENTS.md instructions for /x\\n\\nbe nice") TYPED("x"), "user|x\n",
                "1: context that the program added was left out\n");
}

static void test_early_rollouts_without_envelope_are_read(void **state)
{
    (void)state;
    assert_read(
        "{\"id\":\"s\",\"timestamp\":\"2025-05-07T17:24:21.597Z\",\"instructions\":null}\n"
        "{\"record_type\":\"state\"}\n"
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\","
        "\"text\":\"hi\"}]}\n"
        "{\"type\":\"local_shell_call\",\"call_id\":\"x\",\"action\":{\"command\":[\"ls\"]}}\n"
        "{\"type\":\"function_call_output\",\"call_id\":\"x\",\"output\":\"files\"}\n",
        "user|hi\nassistant||[{\"id\":\"x\",\"name\":\"shell\",\"input\":{\"command\":"
        "[\"ls\"]}}]\ntool_result|x:shell|files\n",
        "1: a line that is no message was left out\n"
        "2: a line that is no message was left out\n");
}

/* ---- hostile --------------------------------------------------------------------------------- */

static void test_nothing_to_read_is_invalid(void **state)
{
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "x",
                                        "{}",
                                        "[]\n1\n",
                                        "\xff\xfe",
                                        "{\"role\":\"user\",\"content\":\"\"}",
                                        R("x", "only a result")};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct read read = {0};
        assert_int_equal(read_view(&read, view_str(texts[i]), NULL, NULL), ETHOS_INVALID);
        assert_int_equal(read.count, 0);
        release(&read);
    }
    struct ethos_error error;
    struct read read = {0};
    assert_int_equal(read_view(&read, VIEW(U("a")), "word", &error), ETHOS_INVALID);
    assert_string_equal(error.text, "'word' is no format of transcripts");
    release(&read);
    assert_int_equal(read_view(&read, VIEW(U("a")), "claude-code", &error), ETHOS_INVALID);
    assert_string_equal(error.text, "no message could be read from the transcript");
    release(&read);
}

static void test_long_lines_are_read_and_too_long_ones_told(void **state)
{
    static const size_t sizes[] = {(size_t)10 << 20, (size_t)17 << 20};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct read read = {.quiet = true};
        struct str text;
        char *fill = malloc(sizes[i]);
        assert_non_null(fill);
        memset(fill, 'x', sizes[i]);
        str_init(&text, (size_t)1 << 26);
        str_adds(&text, U("a") "{\"role\":\"assistant\",\"content\":\"");
        str_add(&text, view_of(fill, sizes[i]));
        str_adds(&text, "\"}\n" U("b"));
        assert_int_equal(read_view(&read, str_view(&text), NULL, NULL), ETHOS_OK);
        assert_int_equal(read.count, i == 0 ? 3 : 1);
        assert_text(read.notes.data, i == 0
                                         ? ""
                                         : "2: a line that is too long or too deep was left out\n"
                                           "3: neighbours of one role were joined\n");
        release(&read);
        str_release(&text);
        free(fill);
    }
}

/* Three that can be read alone, and not as one list. */
static void test_calls_with_long_input_are_not_joined(void **state)
{
    struct read read = {.quiet = true};
    struct str text;
    size_t size = (size_t)7 << 20;
    char *fill = malloc(size);
    (void)state;
    assert_non_null(fill);
    memset(fill, 'x', size);
    str_init(&text, (size_t)1 << 26);
    str_adds(&text, U("a"));
    for (int i = 0; i < 3; i++) {
        str_printf(&text, "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"%d\",\"input\":\"", i);
        str_add(&text, view_of(fill, size));
        str_adds(&text, "\"}]}\n");
    }
    assert_int_equal(read_view(&read, str_view(&text), NULL, NULL), ETHOS_OK);
    assert_int_equal(read.count, 7);
    release(&read);
    str_release(&text);
    free(fill);
}

static void add_nested(struct str *out, int depth)
{
    for (int i = 0; i < depth; i++)
        str_adds(out, "{\\\"a\\\":");
    str_adds(out, "1");
    for (int i = 0; i < depth; i++)
        str_adds(out, "}");
}

/* Arguments that are just deep enough to be read, and would not be once they stand in a list. */
static void test_deep_nesting_is_survived(void **state)
{
    struct str text;
    (void)state;
    str_init(&text, (size_t)1 << 24);
    for (int depth = 55; depth < 70; depth++) {
        struct read read = {.quiet = true};
        str_clear(&text);
        str_adds(&text, U("a") ITEM("{}") "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"x\","
                                          "\"function\":{\"name\":\"f\",\"arguments\":\"");
        add_nested(&text, depth);
        str_adds(&text, "\"}}]}\n");
        assert_int_equal(read_view(&read, str_view(&text), "jsonl", NULL), ETHOS_OK);
        assert_int_equal(read.count, 3);
        release(&read);
    }
    str_clear(&text);
    str_adds(&text, U("a"));
    for (int i = 0; i < 1000000; i++)
        str_addc(&text, '[');
    struct read read = {0};
    assert_int_equal(read_view(&read, str_view(&text), NULL, NULL), ETHOS_OK);
    assert_text(read.notes.data, "2: a line that is too long or too deep was left out\n");
    release(&read);
    str_release(&text);
}

static void test_ids_that_are_no_strings_are_renamed_alike(void **state)
{
    struct read read = {0};
    (void)state;
    assert_int_equal(
        read_view(&read, VIEW(U("a") CALL("x\\u0000y") R("x\\u0000y", "1")), NULL, NULL), ETHOS_OK);
    assert_int_equal(read.count, 3);
    assert_text(read.notes.data, "");
    release(&read);
}

static void test_reading_ends_where_it_is_stopped(void **state)
{
    struct read read = {.stop_after = 2};
    (void)state;
    assert_int_equal(read_view(&read, VIEW(U("a") A("b") U("c")), NULL, NULL), 42);
    assert_int_equal(read.count, 2);
    release(&read);
}

/* The checks of the callbacks need memory, too: here is one that takes none. */
static int count_message(void *arg, const struct ethos_message *message)
{
    (void)message;
    ++*(size_t *)arg;
    return 0;
}

static void no_note(void *arg, size_t line, const char *what)
{
    (void)arg, (void)line, (void)what;
}

static void test_reading_without_memory_is_an_error(void **state)
{
    static const char *const texts[] = {
        U("a") U("b") CALL("x") "{\"role\":\"user\",\"content\":\"\xff\"}\n" R("x", "1"),
        CC("user", "0", SAID("user", "\"a\"")) CC(
            "assistant", "1",
            "\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"b\"},{\"type\":"
            "\"tool_use\",\"id\":\"x\",\"name\":\"f\",\"input\":{}}],\"usage\":{}}"),
        CX("session_meta", "{\"id\":\"s\"}") TYPED("a")
            CX("event_msg", "{\"type\":\"user_message\",\"message\":\"a\"}")
                ITEM("{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"{}\"}")};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct ethos_error error;
        int code;
        ALLOC_EACH(n, code == ETHOS_OK)
        {
            struct arena arena;
            size_t count = 0;
            arena_init(&arena);
            code = transcript_read(view_str(texts[i]), NULL, &arena, count_message, no_note, &count,
                                   &error);
            assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
            assert_true(code != ETHOS_OK || count > 0);
            arena_release(&arena);
        }
    }
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
        cmocka_unit_test(test_plain_lines_are_messages),
        cmocka_unit_test(test_plain_calls_are_understood_in_both_spellings),
        cmocka_unit_test(test_neighbours_are_joined),
        cmocka_unit_test(test_a_call_without_result_is_answered),
        cmocka_unit_test(test_a_result_without_call_is_left_out),
        cmocka_unit_test(test_results_are_moved_to_their_calls),
        cmocka_unit_test(test_an_id_may_be_used_again),
        cmocka_unit_test(test_what_cannot_stand_where_it_is_changes),
        cmocka_unit_test(test_lines_that_cannot_be_read_are_told),
        cmocka_unit_test(test_parts_that_are_no_text_are_told),
        cmocka_unit_test(test_more_calls_than_can_be_kept_are_left_out),
        cmocka_unit_test(test_ids_are_kept_or_always_the_same),
        cmocka_unit_test(test_a_grown_file_keeps_the_ids_of_what_was_there),
        cmocka_unit_test(test_a_line_that_comes_twice_is_taken_once),
        cmocka_unit_test(test_times_are_kept_and_never_go_back),
        cmocka_unit_test(test_a_claude_code_session_is_read),
        cmocka_unit_test(test_side_chains_and_meta_lines_are_left_out),
        cmocka_unit_test(test_lines_that_were_copied_within_a_session_are_taken_once),
        cmocka_unit_test(test_parallel_calls_of_claude_code_are_one_message),
        cmocka_unit_test(test_a_codex_rollout_is_read),
        cmocka_unit_test(test_what_was_typed_stays_whatever_it_looks_like),
        cmocka_unit_test(test_early_rollouts_without_envelope_are_read),
        cmocka_unit_test(test_nothing_to_read_is_invalid),
        cmocka_unit_test(test_long_lines_are_read_and_too_long_ones_told),
        cmocka_unit_test(test_calls_with_long_input_are_not_joined),
        cmocka_unit_test(test_deep_nesting_is_survived),
        cmocka_unit_test(test_ids_that_are_no_strings_are_renamed_alike),
        cmocka_unit_test(test_reading_ends_where_it_is_stopped),
        cmocka_unit_test(test_reading_without_memory_is_an_error),
        cmocka_unit_test(test_the_next_message_without_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
