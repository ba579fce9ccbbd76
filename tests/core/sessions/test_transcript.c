/*
 * test_transcript.c: how transcripts of other programs are read.
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
#include "base/str.h"
#include "base/view.h"
#include "calls.h"

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
    struct transcript_about about;
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
    int code = transcript_read(text, format, &arena, &read->about, keep_message, keep_note, read,
                               error);
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
                "2: adjacent messages with the same role were joined\n4: adjacent messages with "
                "the same role were joined\n"
                "5: adjacent messages with the same role were joined\n6: adjacent messages with "
                "the same role were joined\n");
}

static void test_a_call_without_result_is_answered(void **state)
{
    (void)state;
    assert_read(
        U("a") CALL("x") U("b") CALL("y"),
        "user|a\nassistant||" CALLED("x") "\ntool_result|x:f|(no result was recorded)\n"
                                          "user|b\nassistant||" CALLED(
                                              "y") "\ntool_result|y:f|(no result was recorded)\n",
        "2: a tool call without a result got an empty result\n4: a tool call without a result got "
        "an empty result\n");
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
                "4: adjacent messages with the same role were joined\n2: a tool result was moved "
                "to its call\n");
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
                "3: adjacent messages with the same role were joined\n"
                "3: a second tool call with the same id was left out\n");
}

static void test_what_cannot_stand_where_it_is_changes(void **state)
{
    (void)state;
    assert_read(A("hello") U("b"),
                "user|(what came before was not recorded)\nassistant|hello\nuser|b\n",
                "1: a missing question was added\n");
    assert_read(
        "{\"role\":\"user_steer\",\"content\":\"s\"}\n" A("b")
            CALL("x") "{\"role\":\"user_steer\",\"content\":\"t\"}\n" R(
                "x", "1") "{\"role\":\"system\",\"content\":\"z\"}\n",
        "user|s\nassistant|b|" CALLED("x") "\ntool_result|x:f|1\nuser_steer|t\n",
        "1: a steer became a user's message\n3: adjacent messages with the same role were joined\n"
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
    assert_int_equal(count_of(read.notes.data, "2: a tool call beyond the maximum"), 44);
    assert_int_equal(count_of(read.notes.data, "answers no call"), 44);
    release(&read);
    str_clear(&text);
    str_adds(&text, U("a"));
    for (int i = 0; i < 300; i++) // one line each: two messages
        str_printf(&text, "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c%d\"}]}\n", i);
    assert_int_equal(read_view(&read, str_view(&text), NULL, NULL), ETHOS_OK);
    assert_int_equal(read.count, 3 + 300);
    release(&read);
    str_clear(&text); // words before them are in the same message
    str_printf(&text, U("a") A("words") "{\"role\":\"assistant\",\"tool_calls\":%s}\n", calls);
    assert_int_equal(read_view(&read, str_view(&text), NULL, NULL), ETHOS_OK);
    assert_int_equal(read.count, 2 + TRANSCRIPT_MAX_CALLS);
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

#define TWIN(role, text) "{\"id\":\"1\",\"role\":\"" role "\",\"content\":\"" text "\"}\n"

static void test_lines_of_one_id_that_say_something_else_are_kept(void **state)
{
    (void)state;
    assert_read(TWIN("user", "a") TWIN("assistant", "b") TWIN("user", "a") TWIN("user", "c"),
                "user|a\nassistant|b\nuser|c\n", "3: a line that was there before was left out\n");
}

static void test_a_mark_of_byte_order_is_no_part_of_the_text(void **state)
{
    (void)state;
    assert_read("\xef\xbb\xbf" U("a") A("b"), "user|a\nassistant|b\n", "");
}

static void test_lines_with_odd_bytes_tell_the_format(void **state)
{
    (void)state;
    assert_read(U("\xff") A("\xfe"), "user|\xef\xbf\xbd\nassistant|\xef\xbf\xbd\n",
                "1: bytes that are no text were replaced\n"
                "2: bytes that are no text were replaced\n");
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
                                 "1: a missing time was copied from the next message\n"
                                 "5: a time earlier than the previous message's was corrected\n"
                                 "6: a missing time was copied from the next message\n"
                                 "8: a missing time was copied from the next message\n"
                                 "9: a missing time was copied from the next message\n");
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
        "4: reasoning was left out\n6: adjacent messages with the same role were joined\n");
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

#define AFTER(up) "\"parentUuid\":" up ","
#define LEAF(n) "\"" UUID n "\""
#define ASKED_ANEW(up, n, text) CC("user", n, AFTER(up) SAID("user", "\"" text "\""))
#define SAID_AFTER(up, n, text)                                                                    \
    CC("assistant", n, AFTER(up) SAID("assistant", "[{\"type\":\"text\",\"text\":\"" text "\"}]"))
#define CALL_AFTER(up, n)                                                                          \
    CC("assistant", n,                                                                             \
       AFTER(up) SAID("assistant",                                                                 \
                      "[{\"type\":\"tool_use\",\"id\":\"t" n "\",\"name\":\"f\",\"input\":{}}]"))
#define RESULT_AFTER(up, n, call)                                                                  \
    CC("user", n,                                                                                  \
       AFTER(up) SAID("user", "[{\"type\":\"tool_result\",\"tool_use_id\":\"t" call                \
                              "\",\"content\":\"r" call "\"}]"))
#define LEFT(n) n ": a message that was taken back was left out\n"

static void test_a_question_that_was_asked_anew_is_left_out_with_its_answer(void **state)
{
    (void)state;
    assert_read(ASKED_ANEW("null", "1", "a") SAID_AFTER(LEAF("1"), "2", "b")
                    ASKED_ANEW(LEAF("2"), "3", "old") CALL_AFTER(LEAF("3"), "4")
                        RESULT_AFTER(LEAF("4"), "5", "4") ASKED_ANEW(LEAF("5"), "6", "older")
                            ASKED_ANEW(LEAF("2"), "7", "new") SAID_AFTER(LEAF("7"), "8", "c"),
                "user|a\nassistant|b\nuser|new\nassistant|c\n",
                LEFT("3") LEFT("4") LEFT("5") LEFT("6"));
}

static void test_results_of_calls_at_the_same_time_are_no_other_branch(void **state)
{
    (void)state;
    assert_read(ASKED_ANEW("null", "1", "a") CALL_AFTER(LEAF("1"), "2") CALL_AFTER(LEAF("2"), "3")
                    RESULT_AFTER(LEAF("2"), "4", "2") RESULT_AFTER(LEAF("3"), "5", "3")
                        SAID_AFTER(LEAF("5"), "6", "b"),
                "user|a\nassistant||[{\"id\":\"t2\",\"name\":\"f\",\"input\":{}},{\"id\":\"t3\","
                "\"name\":\"f\",\"input\":{}}]\ntool_result|t2:f|r2\ntool_result|t3:f|r3\n"
                "assistant|b\n",
                "3: adjacent messages with the same role were joined\n");
}

/* A steer beside the branch, a parent that is not there, a second beginning, one that is summed up. */
static void test_what_is_not_plainly_taken_back_stays(void **state)
{
    (void)state;
    assert_read(ASKED_ANEW("null", "1", "a") CALL_AFTER(LEAF("1"), "2")
                    RESULT_AFTER(LEAF("2"), "3", "2") ASKED_ANEW(LEAF("2"), "4", "steer")
                        SAID_AFTER(LEAF("3"), "5", "b"),
                "user|a\nassistant||[{\"id\":\"t2\",\"name\":\"f\",\"input\":{}}]\n"
                "tool_result|t2:f|r2\nuser|steer\nassistant|b\n",
                "");
    assert_read(ASKED_ANEW("null", "1", "a") SAID_AFTER("\"gone\"", "2", "b")
                    ASKED_ANEW("null", "3", "c") SAID_AFTER(LEAF("3"), "4", "d"),
                "user|a\nassistant|b\nuser|c\nassistant|d\n", "");
    assert_read(ASKED_ANEW("null", "1", "a") SAID_AFTER(LEAF("1"), "2", "b")
                    ASKED_ANEW(LEAF("2"), "3", "old")
                        CC("system", "4", "\"parentUuid\":null,\"logicalParentUuid\":" LEAF("2"))
                            ASKED_ANEW(LEAF("4"), "5", "new"),
                "user|a\nassistant|b\nuser|new\n",
                "4: a line that is no message was left out\n" LEFT("3"));
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
                "3: adjacent messages with the same role were joined\n"
                "4: a time earlier than the previous message's was corrected\n");
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
        "9: adjacent messages with the same role were joined\n");
}

static void test_what_was_typed_stays_whatever_it_looks_like(void **state)
{
    (void)state;
    assert_read(TYPED("<b>x</b>")
                    CX("event_msg", "{\"type\":\"user_message\",\"message\":\"<b>x</b>\"}"),
                "user|<b>x</b>\n", "2: a line that is no message was left out\n");
    assert_read(TYPED("<b> is a tag") TYPED("1 < 2 > 0"), "user|<b> is a tag\n\n1 < 2 > 0\n",
                "2: adjacent messages with the same role were joined\n");
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

/* ---- what a transcript tells of itself --------------------------------------------------------- */

#define LONG                                                                                       \
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "    \
    "sixteen seventeen "

/* format|id|folder|model|provider|title|start */
static void assert_about(const char *text, const char *expected)
{
    struct arena arena;
    struct transcript_about about;
    struct read read = {.quiet = true};
    struct str found;
    struct ethos_error error = {0};
    arena_init(&arena);
    str_init(&found, 4096);
    str_init(&read.notes, 4096);
    read.check = (struct transcript){.arena = &arena};
    if (transcript_read(view_str(text), NULL, &arena, &about, keep_message, keep_note, &read,
                        &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    const struct ethos_session *session = &about.session;
    const char *parts[] = {about.format,      session->id,    session->working_dir, session->model,
                           session->provider, session->title, session->created_at};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        str_printf(&found, "%s%s", i ? "|" : "", parts[i] ? parts[i] : "-");
    assert_text(found.data, expected);
    str_release(&found);
    release(&read);
    arena_release(&arena);
}

#define ANSWER(n, model)                                                                           \
    CC("assistant", n, "\"message\":{\"model\":\"" model "\",\"content\":\"b\"}")
#define ASKED CC("user", "0", "\"cwd\":\"/x y\",\"gitBranch\":\"main\"," SAID("user", "\"a\""))
#define CC_START "|2026-01-02T03:04:00.123Z"

static void test_claude_code_tells_folder_model_and_start(void **state)
{
    (void)state;
    assert_about(ASKED, "claude-code|s|/x y|-|-|-" CC_START);
    assert_about(ASKED ANSWER("1", "m-1") ANSWER("2", "m-2") ANSWER("3", "<synthetic>")
                     CC("user", "4", "\"cwd\":\"/elsewhere\"," SAID("user", "\"c\"")),
                 "claude-code|s|/x y|m-2|-|-" CC_START);
    assert_about(
        "{\"type\":\"user\",\"sessionId\":\"parent\"," SAID("user", "\"a\"") "}\n" ANSWER("1", "m"),
        "claude-code|s|-|m|-|-|2026-01-02T03:04:01.123Z");
}

static void test_the_best_title_of_claude_code_is_taken(void **state)
{
    (void)state;
#define SUMMARY(text, leaf)                                                                        \
    "{\"type\":\"summary\",\"summary\":\"" text "\",\"leafUuid\":\"" leaf "\"}\n"
#define NAMED(text) "{\"type\":\"custom-title\",\"customTitle\":\"" text "\",\"sessionId\":\"s\"}\n"
#define MADE(text) "{\"type\":\"ai-title\",\"aiTitle\":\"" text "\",\"sessionId\":\"s\"}\n"
    assert_about(SUMMARY("of another", "x") ASKED, "claude-code|s|/x y|-|-|-" CC_START);
    assert_about(SUMMARY("of this", UUID "0") SUMMARY("of another", "x") ASKED,
                 "claude-code|s|/x y|-|-|of this" CC_START);
    assert_about(SUMMARY("of this", UUID "0") MADE("first") ASKED MADE(" last \\n more"),
                 "claude-code|s|/x y|-|-|last" CC_START);
    assert_about(ASKED NAMED("mine") MADE("made"), "claude-code|s|/x y|-|-|mine" CC_START);
    assert_about(ASKED NAMED("mine") NAMED(""), "claude-code|s|/x y|-|-|mine" CC_START);
    assert_about(
        ASKED NAMED(LONG LONG),
        "claude-code|s|/x y|-|-|one two three four five six seven eight nine ten eleven" CC_START);
}

static void test_codex_tells_folder_model_provider_and_tokens(void **state)
{
    (void)state;
#define META(id, cwd)                                                                              \
    CX("session_meta", "{\"id\":\"" id "\",\"cwd\":\"" cwd                                         \
                       "\",\"originator\":\"codex_cli_rs\",\"cli_version\":\"0.65.0\","            \
                       "\"model_provider\":\"openai\"}")
    assert_about(META("own", "/x") META("parent", "/y") CX("turn_context", "{\"model\":\"m-1\"}")
                     TYPED("a") CX("turn_context", "{\"model\":\"m-2\"}"),
                 "codex|own|/x|m-2|openai|-|2026-01-02T03:04:05.678Z");
    assert_about("{\"id\":\"early\",\"timestamp\":\"2025-05-07T17:24:21.597Z\"}\n"
                 "{\"record_type\":\"state\"}\n"
                 "{\"type\":\"message\",\"role\":\"user\",\"content\":\"hi\"}\n",
                 "codex|early|-|-|-|-|-");
#define COUNTED(total, input, cached, output)                                                      \
    CX("event_msg",                                                                                \
       "{\"type\":\"token_count\",\"info\":{\"total_token_usage\":{\"total_tokens\":" #total       \
       "},\"last_token_usage\":{\"input_tokens\":" #input ",\"cached_input_tokens\":" #cached      \
       ",\"output_tokens\":" #output "}}}")
    assert_read(META("own", "/x") COUNTED(1, 1, 0, 1) TYPED("a")
                    ITEM("{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"b\"}")
                        COUNTED(110, 100, 60, 10) COUNTED(110, 100, 60, 10)
                            CX("event_msg", "{\"type\":\"token_count\",\"info\":null}")
                                COUNTED(140, 20, 0, 10),
                "user|a\nassistant|b|60+20\n",
                "1: a line that is no message was left out\n"
                "2: a line that is no message was left out\n"
                "5: a line that is no message was left out\n"
                "6: a line that is no message was left out\n"
                "7: a line that is no message was left out\n"
                "8: a line that is no message was left out\n");
}

static void test_what_is_told_may_be_hostile(void **state)
{
    (void)state;
    assert_about(
        "{\"type\":\"user\",\"sessionId\":7,\"cwd\":[],\"message\":{\"content\":\"a\"}}\n"
        "{\"type\":\"user\",\"sessionId\":\"a\\u0000b\",\"cwd\":\"\",\"message\":{\"content\":"
        "\"b\"}}\n{\"type\":\"custom-title\",\"customTitle\":{}}\n"
        "{\"type\":\"summary\",\"summary\":1,\"leafUuid\":\"x\"}\n",
        "claude-code|-|-|-|-|-|-");
}

/* ---- our own documents ------------------------------------------------------------------------- */

#define OUR_SESSION                                                                                \
    "{\"session\":{\"id\":\"" UUID "f\",\"key\":\"cli:x\",\"platform\":\"cli\",\"model\":\"m\","   \
    "\"provider\":\"p\",\"personalityId\":\"me\",\"parentSessionId\":null,\"workingDir\":\"/x\","  \
    "\"title\":\"T\",\"pinned\":true,\"usage\":{\"inputTokens\":7,\"outputTokens\":8,"             \
    "\"cacheReadTokens\":1,\"cacheCreationTokens\":2,\"estimatedCostUsd\":0.5,\"apiCallCount\":3," \
    "\"compactionCount\":4},\"createdAt\":\"2025-12-31T23:59:59.000Z\",\"turnCount\":5,"           \
    "\"lastCompactionTurn\":2,\"metadata\":{\"k\":[1]}},\"messages\":["
#define OUR(n, role, rest)                                                                         \
    "{\"id\":\"" UUID n "\",\"role\":\"" role "\",\"timestamp\":\"2026-01-02T03:04:0" n            \
    ".000Z\"," rest "}"
#define OURS                                                                                       \
    OUR_SESSION "\n" OUR("1", "user", "\"content\":\"a\"") ",\n" OUR(                              \
        "2", "assistant",                                                                          \
        "\"content\":\"\",\"toolCalls\":[{\"id\":\"x\",\"name\":"                                  \
        "\"f\",\"input\":{},\"more\":1},"                                                          \
        "{\"id\":\"y\",\"name\":\"g\",\"input\":{}}],\"usage\":{"                                  \
        "\"inputTokens\":3,\"outputTokens\":4},"                                                   \
        "\"contentBlocks\":[{\"type\":\"thinking\"}],\"traceId\":"                                 \
        "\"t\"") ",\n" OUR("3", "user_steer", "\"content\":\"hurry\"") ",\n" OUR("4",              \
                                                                                 "too"             \
                                                                                 "l_"              \
                                                                                 "res"             \
                                                                                 "ul"              \
                                                                                 "t",              \
                                                                                 "\"c"             \
                                                                                 "ont"             \
                                                                                 "ent"             \
                                                                                 "\":"             \
                                                                                 "\"r"             \
                                                                                 "\","             \
                                                                                 "\"t"             \
                                                                                 "ool"             \
                                                                                 "Cal"             \
                                                                                 "lId"             \
                                                                                 "\":"             \
                                                                                 "\"y"             \
                                                                                 "\","             \
                                                                                 "\"t"             \
                                                                                 "ool"             \
                                                                                 "Nam"             \
                                                                                 "e\""             \
                                                                                 ":\""             \
                                                                                 "oth"             \
                                                                                 "er"              \
                                                                                 "\"") "\n]}\n"
#define OURS_BROKEN                                                                                \
    OUR_SESSION OUR("1", "user", "\"content\":\"a\"") "," OUR(                                     \
        "2", "user",                                                                               \
        "\"content\":\"b\"") "," OUR("3", "robot",                                                 \
                                     "\"content\":\"c\"") "," OUR("1", "user",                     \
                                                                  "\"content\":\"d\"") ",4]}"
#define OURS_READ                                                                                  \
    "user|a\nassistant||[{\"id\":\"x\",\"name\":\"f\",\"input\":{},\"more\":1},{\"id\":\"y\","     \
    "\"name\":"                                                                                    \
    "\"g\",\"input\":{}}]|3+4\nuser_steer|hurry\ntool_result|y:other|r\n"

static void test_our_own_documents_are_read_as_they_are(void **state)
{
    (void)state;
    assert_read(OURS, OURS_READ, "");
    assert_about(OURS, "ethos|" UUID "f|/x|m|p|T|2025-12-31T23:59:59.000Z");
}

static void test_our_own_documents_may_have_a_mark_of_byte_order(void **state)
{
    (void)state;
    assert_read("\xef\xbb\xbf" OURS, OURS_READ, "");
    assert_about("\xef\xbb\xbf" OURS, "ethos|" UUID "f|/x|m|p|T|2025-12-31T23:59:59.000Z");
}

static void test_what_cannot_be_read_of_our_session_is_told(void **state)
{
    (void)state;
    assert_read("{\"session\":{\"id\":1,\"id\":2},\"messages\":[\n" OUR("1", "user",
                                                                        "\"content\":\"a\"") "\n]}",
                "user|a\n", "1: what is said of the session cannot be read and was left out\n");
    assert_about("{\"session\":{\"title\":\"\xff\"},\"messages\":[\n" OUR(
                     "1", "user", "\"content\":\"a\"") "\n]}",
                 "ethos|-|-|-|-|\xef\xbf\xbd|2026-01-02T03:04:01.000Z");
}

static void no_note(void *arg, size_t line, const char *what)
{
    (void)arg, (void)line, (void)what;
}

static int keep_whole(void *arg, const struct ethos_message *message)
{
    struct str *out = arg;
    str_printf(out, "%s %s %s\n", message->id,
               message->content_blocks ? message->content_blocks : "-",
               message->trace_id ? message->trace_id : "-");
    return ETHOS_OK;
}

static void test_our_own_documents_keep_what_others_have_not(void **state)
{
    struct arena arena;
    struct transcript_about about;
    struct str found;
    (void)state;
    arena_init(&arena);
    str_init(&found, 4096);
    assert_int_equal(
        transcript_read(VIEW(OURS), "ethos", &arena, &about, keep_whole, no_note, &found, NULL),
        ETHOS_OK);
    assert_text(found.data, UUID "1 - -\n" UUID "2 [{\"type\":\"thinking\"}] t\n" UUID
                                 "3 - -\n" UUID "4 - -\n");
    assert_string_equal(about.session.key, "cli:x");
    assert_string_equal(about.session.personality, "me");
    assert_string_equal(about.session.metadata, "{\"k\":[1]}");
    assert_null(about.session.parent);
    assert_int_equal(about.session.pinned, 1);
    assert_int_equal(about.session.last_compaction_turn, 2);
    assert_int_equal(about.session.usage.output_tokens, 8);
    assert_int_equal(about.session.usage.compactions, 4);
    assert_true(about.session.usage.cost_usd == 0.5);
    str_release(&found);
    arena_release(&arena);
}

static void test_our_own_documents_may_be_written_otherwise_or_cut_off(void **state)
{
    struct str text;
    (void)state;
    str_init(&text, 65536);
    for (const char *at = OURS; *at; at++) // in one line
        if (*at != '\n')
            str_addc(&text, *at);
    assert_read(text.data, OURS_READ, "");
    str_clear(&text);
    for (const char *at = OURS; *at; at++) { // a line for every member
        str_addc(&text, *at);
        if (*at == ',' || *at == '{')
            str_adds(&text, "\n  ");
    }
    assert_read(text.data, OURS_READ, "");
    str_clear(&text);
    str_adds(&text, OURS);
    str_truncate(&text, (size_t)(strstr(text.data, "hurry") - text.data));
    assert_read(text.data,
                "user|a\nassistant||[{\"id\":\"x\",\"name\":\"f\",\"input\":{},\"more\":1},"
                "{\"id\":\"y\",\"name\":\"g\",\"input\":{}}]|3+4\n",
                "3: a message that cannot be read was left out\n");
    str_release(&text);
}

static void test_our_own_documents_are_mended_when_no_model_would_take_them(void **state)
{
    (void)state;
    assert_read(OURS_BROKEN, "user|a\n\nb\n",
                "3: a line that is no message was left out\n"
                "4: a line that was there before was left out\n"
                "5: a line that is no message was left out\n"
                "2: adjacent messages with the same role were joined\n");
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
    assert_string_equal(error.text, "'word' is not a transcript format");
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
                                           "3: adjacent messages with the same role were joined\n");
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
                ITEM("{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"{}\"}"),
        "{\"type\":\"summary\",\"summary\":\"S\",\"leafUuid\":\"" UUID
        "0\"}\n" CC("user", "0", "\"cwd\":\"/x\"," SAID("user", "\"a\""))
            CC("assistant", "1",
               "\"message\":{\"model\":\"m\",\"content\":\"b\"}") "{\"type\":\"custom-title\","
                                                                  "\"customTitle\":\"" LONG LONG
                                                                  "\"}\n",
        OURS,
        OURS_BROKEN};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct ethos_error error;
        int code;
        ALLOC_EACH(n, code == ETHOS_OK)
        {
            struct arena arena;
            struct transcript_about about;
            size_t count = 0;
            arena_init(&arena);
            code = transcript_read(view_str(texts[i]), NULL, &arena, &about, count_message, no_note,
                                   &count, &error);
            assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
            assert_true(code != ETHOS_OK || count > 0);
            arena_release(&arena);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(test_lines_of_one_id_that_say_something_else_are_kept),
        cmocka_unit_test(test_a_mark_of_byte_order_is_no_part_of_the_text),
        cmocka_unit_test(test_lines_with_odd_bytes_tell_the_format),
        cmocka_unit_test(test_times_are_kept_and_never_go_back),
        cmocka_unit_test(test_a_claude_code_session_is_read),
        cmocka_unit_test(test_side_chains_and_meta_lines_are_left_out),
        cmocka_unit_test(test_a_question_that_was_asked_anew_is_left_out_with_its_answer),
        cmocka_unit_test(test_results_of_calls_at_the_same_time_are_no_other_branch),
        cmocka_unit_test(test_what_is_not_plainly_taken_back_stays),
        cmocka_unit_test(test_lines_that_were_copied_within_a_session_are_taken_once),
        cmocka_unit_test(test_parallel_calls_of_claude_code_are_one_message),
        cmocka_unit_test(test_a_codex_rollout_is_read),
        cmocka_unit_test(test_what_was_typed_stays_whatever_it_looks_like),
        cmocka_unit_test(test_early_rollouts_without_envelope_are_read),
        cmocka_unit_test(test_claude_code_tells_folder_model_and_start),
        cmocka_unit_test(test_the_best_title_of_claude_code_is_taken),
        cmocka_unit_test(test_codex_tells_folder_model_provider_and_tokens),
        cmocka_unit_test(test_what_is_told_may_be_hostile),
        cmocka_unit_test(test_our_own_documents_are_read_as_they_are),
        cmocka_unit_test(test_our_own_documents_may_have_a_mark_of_byte_order),
        cmocka_unit_test(test_what_cannot_be_read_of_our_session_is_told),
        cmocka_unit_test(test_our_own_documents_keep_what_others_have_not),
        cmocka_unit_test(test_our_own_documents_may_be_written_otherwise_or_cut_off),
        cmocka_unit_test(test_our_own_documents_are_mended_when_no_model_would_take_them),
        cmocka_unit_test(test_nothing_to_read_is_invalid),
        cmocka_unit_test(test_long_lines_are_read_and_too_long_ones_told),
        cmocka_unit_test(test_calls_with_long_input_are_not_joined),
        cmocka_unit_test(test_deep_nesting_is_survived),
        cmocka_unit_test(test_ids_that_are_no_strings_are_renamed_alike),
        cmocka_unit_test(test_reading_ends_where_it_is_stopped),
        cmocka_unit_test(test_reading_without_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
