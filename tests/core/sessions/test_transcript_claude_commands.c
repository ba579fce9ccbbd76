/*
 * test_transcript_claude_commands.c: what programs write in the name of others is no part of what was said;
 * what looks like it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/sessions/transcript.h"

#define OTHER "a line that is no message was left out\n"
#define PROGRAM "a line of the program to itself was left out\n"

struct read {
    struct arena arena;
    struct transcript_about about;
    struct str messages, notes;
    int code;
};

/* u|text, with its tokens behind it, if there are some */
static int keep_message(void *arg, const struct ethos_message *message)
{
    struct read *read = arg;
    str_addc(&read->messages, message->role[0]);
    str_addc(&read->messages, '|');
    str_add(&read->messages, message->content);
    if (message->has_usage)
        str_printf(&read->messages, "|%lld", (long long)message->usage.output_tokens);
    str_addc(&read->messages, '\n');
    return 0;
}

static void keep_note(void *arg, size_t line, const char *what)
{
    struct read *read = arg;
    str_printf(&read->notes, "%zu: %s\n", line, what);
}

static void read_text(struct read *read, const char *text)
{
    *read = (struct read){0};
    arena_init(&read->arena);
    str_init(&read->messages, SIZE_MAX);
    str_init(&read->notes, SIZE_MAX);
    read->code = transcript_read(view_str(text), NULL, &read->arena, &read->about, keep_message,
                                 keep_note, read, NULL);
}

static void end(struct read *read)
{
    arena_release(&read->arena);
    str_release(&read->messages);
    str_release(&read->notes);
}

/* notes: NULL does not matter. */
static void assert_read(const char *text, const char *messages, const char *notes)
{
    struct read read;
    read_text(&read, text);
    assert_int_equal(read.code, ETHOS_OK);
    assert_string_equal(read.messages.data, messages);
    if (notes)
        assert_string_equal(read.notes.data, notes);
    end(&read);
}

static bool is_taken_back(const char *text)
{
    struct read read;
    read_text(&read, text);
    bool taken_back = read.about.taken_back;
    end(&read);
    return taken_back;
}

/* ---- Claude Code ----------------------------------------------------------------------------- */

#define LINE(type, n, up, more, text)                                                              \
    "{\"type\":\"" type "\",\"uuid\":\"" n "\",\"parentUuid\":\"" up                               \
    "\",\"sessionId\":\"s\"," more "\"message\":{\"role\":\"" type "\",\"content\":\"" text        \
    "\"}}\n"
#define USER(n, up, text) LINE("user", n, up, "", text)
#define MODEL(n, up, text) LINE("assistant", n, up, "", text)
#define START USER("1", "0", "ask") MODEL("2", "1", "say")
#define COMMAND(name, args)                                                                        \
    "<command-name>" name "</command-name>\\n            <command-message>c</command-message>"     \
    "\\n            <command-args>" args "</command-args>"
#define OUTPUT "<local-command-stdout>Done (ctrl+o)\\n{}</local-command-stdout>"

static void test_a_command_that_the_program_answers_is_left_out_with_the_answer(void **state)
{
    static const char text[] = START USER("3", "2",
                                          "<local-command-caveat>x</local-command-caveat>")
        USER("4", "3", COMMAND("/compact", "")) USER("5", "4", OUTPUT) USER("6", "5", "again")
            MODEL("7", "6", "yes");
    (void)state;
    assert_read(text, "u|ask\na|say\nu|again\na|yes\n",
                "3: " PROGRAM "4: a command that the program answered itself was left out\n"
                "5: " PROGRAM);
    assert_true(is_taken_back(text));
    assert_read(START USER("3", "2", COMMAND("/x", "y"))
                    USER("4", "3", "<local-command-stderr>no</local-command-stderr>")
                        USER("5", "4", "go on"),
                "u|ask\na|say\nu|go on\n", NULL);
    assert_read(START USER("3", "2", "  <local-command-stdout></local-command-stdout>\\n"),
                "u|ask\na|say\n", "3: " PROGRAM);
}

static void test_a_command_to_the_model_is_what_was_typed(void **state)
{
    (void)state;
    assert_read(USER("1", "0", COMMAND("/review", " the last\\ncommit ")) MODEL("2", "1", "fine"),
                "u|/review the last\ncommit\na|fine\n", "");
    assert_read(USER("1", "0",
                     "<command-message>review is running</command-message>\\n"
                     "<command-name>/review</command-name>") MODEL("2", "1", "fine"),
                "u|/review\na|fine\n", "");
    assert_read(USER("1", "0", COMMAND("/x", "a</command-args> <command-name>b"))
                    MODEL("2", "1", "fine"),
                "u|/x a</command-args> <command-name>b\na|fine\n", "");
    assert_read(USER("1", "0", COMMAND("/x", "y")) MODEL("2", "1", "fine") USER("3", "2", OUTPUT),
                "u|/x y\na|fine\n", NULL);
    assert_read(USER("1", "0", COMMAND("/x", "y")) USER("2", "1", "or not") MODEL("3", "2", "fine"),
                "u|/x y\n\nor not\na|fine\n", NULL);
}

/* Otherwise what was taken in would have to be taken back. */
static void test_a_command_waits_for_an_answer(void **state)
{
    (void)state;
    assert_read(START USER("3", "2", COMMAND("/x", "")), "u|ask\na|say\n",
                "3: a command that nobody answered so far was left out\n");
    assert_false(is_taken_back(START USER("3", "2", COMMAND("/x", ""))));
    struct read read;
    read_text(&read, USER("1", "0", COMMAND("/clear", "")) USER("2", "1", OUTPUT));
    assert_int_equal(read.code, ETHOS_INVALID);
    end(&read);
}

static void test_a_summary_after_nothing_but_a_command_stays(void **state)
{
    (void)state;
    assert_read(USER("1", "0", COMMAND("/compact", ""))
                    LINE("user", "2", "1", "\"isCompactSummary\":true,", "sum")
                        USER("3", "2", "ask"),
                "u|/compact\n\nsum\n\nask\n", NULL);
}

/* A command that was none to the model is no branch of the conversation. */
static void test_commands_of_the_program_decide_no_branch(void **state)
{
    (void)state;
    assert_read(START USER("3", "2", "old") MODEL("4", "3", "b")
                    USER("5", "2", COMMAND("/cost", "")) USER("6", "5", OUTPUT),
                "u|ask\na|say\nu|old\na|b\n", NULL);
    assert_read(START USER("3", "2", "old") MODEL("4", "3", "b")
                    USER("5", "2", COMMAND("/cost", "")) USER("6", "5", OUTPUT)
                        USER("7", "6", "new"),
                "u|ask\na|say\nu|new\n", NULL);
}

static void test_what_only_looks_like_a_command_was_said(void **state)
{
    static const char *const texts[] = {
        COMMAND("/x", "y") " and why?",
        "What is " COMMAND("/x", "y"),
        "<command-name>/compact</command-name>",
        "<command-name>x</command-name><command-message>x</command-message>",
        "<command-name>/x y</command-name><command-message>x</command-message>",
        "<command-message>x</command-message>",
        "<command-name>/x</command-name><command-message>x",
        OUTPUT " why?",
        "Look: " OUTPUT,
        OUTPUT " or " OUTPUT,
        "<local-command-stdout>",
        "`<local-command-stdout></local-command-stdout>`",
        "<local-command-other>x</local-command-other>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[1024];
        struct read read;
        snprintf(text, sizeof text, USER("1", "0", "%s") MODEL("2", "1", "b"), texts[i]);
        read_text(&read, text);
        assert_int_equal(read.code, ETHOS_OK);
        assert_string_equal(read.notes.data, "");
        assert_true(strstr(read.messages.data, "<command-") ||
                    strstr(read.messages.data, "<local-command-"));
        end(&read);
    }
    assert_read(LINE("user", "1", "0", "\"promptSource\":\"typed\",",
                     "<local-command-stdout>x</local-command-stdout>") MODEL("2", "1", "b"),
                "u|<local-command-stdout>x</local-command-stdout>\na|b\n", "");
    assert_read(USER("1", "0", "a") MODEL("2", "1", OUTPUT),
                "u|a\na|<local-command-stdout>Done (ctrl+o)\n{}</local-command-stdout>\n", "");
}

/* ---- Codex ----------------------------------------------------------------------------------- */

#define ROW(type, payload) "{\"type\":\"" type "\",\"payload\":{" payload "}}\n"
#define SAID(role, text)                                                                           \
    ROW("response_item", "\"type\":\"message\",\"role\":\"" role                                   \
                         "\",\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]")
#define EVENT(type, rest) ROW("event_msg", "\"type\":\"" type "\"" rest)
#define SHOWN(text)                                                                                \
    EVENT("item_completed", ",\"item\":{\"type\":\"AgentMessage\",\"content\":[{\"type\":"         \
                            "\"Text\",\"text\":\"" text "\"}]}")
#define TYPED(text)                                                                                \
    EVENT("item_completed", ",\"item\":{\"type\":\"UserMessage\",\"content\":[{\"type\":"          \
                            "\"text\",\"text\":\"" text "\"}]}")
#define COUNTED(total)                                                                             \
    EVENT("token_count", ",\"info\":{\"total_token_usage\":{\"total_tokens\":" #total              \
                         "},\"last_token_usage\":{\"output_tokens\":5}}")
#define TASK EVENT("task_started", "")
#define COMPACTED(text) ROW("compacted", "\"message\":\"Another model:\\n" text "\"")
#define ASKED TASK SAID("user", "ask") TYPED("ask")
#define ANSWERED SHOWN("say") SAID("assistant", "say") COUNTED(10)

static void test_a_summary_is_no_answer(void **state)
{
    static const char text[] = ASKED ANSWERED TASK SAID("assistant", "sum\\nup\\n") COUNTED(20)
        COMPACTED("sum\\nup") COUNTED(20) ASKED SAID("assistant", "yes");
    (void)state;
    assert_read(text, "u|ask\na|say|10\nu|ask\na|yes\n",
                "1: " OTHER "3: " OTHER "4: " OTHER "6: " OTHER "7: " OTHER "9: " OTHER "10: " OTHER
                "8: a summary of what stands before was left out\n11: " OTHER "12: " OTHER
                "14: " OTHER);
    assert_true(is_taken_back(text));
}

/* In the middle of a turn, too: it is not shown, and said to be one. */
static void test_a_summary_in_a_turn_is_no_answer(void **state)
{
    (void)state;
    assert_read(ASKED ANSWERED SAID("assistant", "sum") COMPACTED("sum") SAID("assistant", "yes"),
                "u|ask\na|say\n\nyes|5\n", NULL);
    assert_read(ASKED SAID("assistant", "sum") COUNTED(10) COMPACTED("sum")
                    SAID("assistant", "yes"),
                "u|ask\na|yes\n", NULL);
}

static void test_an_answer_before_a_summary_stays(void **state)
{
    static const char *const texts[] = {
        ASKED ANSWERED COMPACTED("sum"),                                    // of another text
        ASKED ANSWERED COMPACTED("say"),                                    // it was shown
        ASKED ANSWERED TASK COMPACTED("say"),                               // nothing else was made
        TASK SAID("user", "ask") SAID("assistant", "say") COMPACTED("say"), // nobody tells
        SAID("user", "ask") SAID("assistant", "say") COMPACTED("say"),
        ASKED SAID("assistant", "say") EVENT("agent_message", ",\"message\":\"say\"")
            COMPACTED("say"),
        ASKED SAID("assistant", "say") COMPACTED("they say"),
        ASKED SAID("assistant", "say") ROW("compacted", "\"message\":\"\""),
        ASKED SAID("assistant", "say") ROW("compacted", "\"message\":null"),
        TASK SAID("user", "<c>x</c>") SAID("user", "ask") TYPED("ask") SHOWN("say")
            SAID("assistant", "say") TASK COMPACTED("say"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct read read;
        read_text(&read, texts[i]);
        assert_int_equal(read.code, ETHOS_OK);
        if (strncmp(read.messages.data, "u|ask\na|say", 11) != 0)
            fail_msg("%zu: %s", i, read.messages.data);
        assert_false(read.about.taken_back);
        end(&read);
    }
}

static void test_what_may_be_a_summary_waits(void **state)
{
    (void)state;
    assert_read(ASKED ANSWERED TASK SAID("assistant", "sum"), "u|ask\na|say|5\n", NULL);
    assert_read(ASKED ANSWERED TASK SAID("assistant", "more") SHOWN("more"),
                "u|ask\na|say\n\nmore|5\n", NULL);
    assert_read(ASKED ANSWERED TASK SAID("assistant", "more") SAID("user", "x"),
                "u|ask\na|say\n\nmore|5\nu|x\n", NULL);
    assert_read(ASKED SAID("assistant", "more"), "u|ask\na|more\n", NULL);
}

static void test_later_versions_tell_what_was_typed(void **state)
{
    (void)state;
    assert_read(SAID("user", "<b>x</b>") TYPED("<b>x</b>"), "u|<b>x</b>\n", "2: " OTHER);
}

/* ---- both ------------------------------------------------------------------------------------ */

static int count_message(void *arg, const struct ethos_message *message)
{
    (void)message;
    ++*(size_t *)arg;
    return 0;
}

static void ignore_note(void *arg, size_t line, const char *what)
{
    (void)arg;
    (void)line;
    (void)what;
}

static void test_reading_without_memory_is_an_error(void **state)
{
    static const char *const texts[] = {
        USER("1", "0", COMMAND("/x", "y")) MODEL("2", "1", "fine") USER("3", "2", COMMAND("/y", ""))
            USER("4", "3", OUTPUT),
        ASKED ANSWERED TASK SAID("assistant", "sum") COMPACTED("sum")};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int code = ETHOS_NOMEM;
        ALLOC_EACH(n, code == ETHOS_OK)
        {
            struct arena arena;
            struct transcript_about about;
            size_t count = 0;
            arena_init(&arena);
            code = transcript_read(view_str(texts[i]), NULL, &arena, &about, count_message,
                                   ignore_note, &count, NULL);
            assert_true(code == ETHOS_OK ? count == 2 : code == ETHOS_NOMEM);
            arena_release(&arena);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_command_that_the_program_answers_is_left_out_with_the_answer),
        cmocka_unit_test(test_a_command_to_the_model_is_what_was_typed),
        cmocka_unit_test(test_a_command_waits_for_an_answer),
        cmocka_unit_test(test_a_summary_after_nothing_but_a_command_stays),
        cmocka_unit_test(test_commands_of_the_program_decide_no_branch),
        cmocka_unit_test(test_what_only_looks_like_a_command_was_said),
        cmocka_unit_test(test_a_summary_is_no_answer),
        cmocka_unit_test(test_a_summary_in_a_turn_is_no_answer),
        cmocka_unit_test(test_an_answer_before_a_summary_stays),
        cmocka_unit_test(test_what_may_be_a_summary_waits),
        cmocka_unit_test(test_later_versions_tell_what_was_typed),
        cmocka_unit_test(test_reading_without_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
