/*
 * test_handover.c: a connection begins in ethos and goes on in ethos-db when a tool needs the session
 * store: nothing is answered twice, lost or forgotten, whatever stands around the call.
 */
#include <sys/mman.h>

#include "base/system/process.h"
#include "process.h"

#define REQUEST(id, method, params)                                                                \
    "{'jsonrpc':'2.0','id':" id ",'method':'" method "','params':{" params "}}"
#define CALL(id, name, arguments)                                                                  \
    REQUEST(id, "tools/call", "'name':'" name "','arguments':{" arguments "}")
#define MODERN_CALL(id, name, arguments)                                                           \
    REQUEST(id, "tools/call", "'name':'" name "','arguments':{" arguments "}," MODERN)
#define ADD(id, text) CALL(id, "memory_write", "'action':'add','content':'" text "'")
#define SESSIONS(id) CALL(id, "session_list_by_date", "")
#define READ(id) CALL(id, "memory_read", "")
#define PING(id) "{'jsonrpc':'2.0','id':" id ",'method':'ping'}"
#define CANCEL(id)                                                                                 \
    "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':" id "}}"
#define INITIALIZE(version)                                                                        \
    REQUEST("'i'", "initialize",                                                                   \
            "'protocolVersion':'" version                                                          \
            "','capabilities':{},'clientInfo':{'name':'legacy-agent','version':'1'}")

#define MEMORY "home/personalities/default/MEMORY.md"

/* ---- helpers --------------------------------------------------------------------------------- */

static bool is_handed_over(const struct process *self)
{
    char path[64], program[1024];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)self->pid);
    ssize_t size = readlink(path, program, sizeof program - 1);
    assert_true(size > 0);
    program[size] = 0;
    return strcmp(strrchr(program, '/'), "/ethos-db") == 0;
}

/* All in one write, so that what stands behind a call has been read before it runs. */
static void tell_text(struct process *self, const char *text)
{
    char *bytes = quoted(text);
    put(self, view_str(bytes));
    free(bytes);
}

static void tell_lines(struct process *self, const char *const messages[])
{
    struct str text;
    str_init(&text, MCP_MAX_LINE);
    for (size_t i = 0; messages[i]; i++)
        str_printf(&text, "%s\n", messages[i]);
    tell_text(self, text.data);
    str_release(&text);
}

#define TELL(self, ...) tell_lines(self, (const char *const[]){__VA_ARGS__, NULL})

/* The next answers have these ids, in this order, and are results of tools that went well. */
static void assert_answers(struct process *self, const char *ids)
{
    for (; *ids; ids++) {
        json_t *reply = next_reply(self);
        assert_int_equal(json_integer_value(at(reply, "id")), *ids - '0');
        assert_non_null(at(reply, "result"));
        assert_false(json_is_true(at(reply, "result.isError")));
        json_decref(reply);
    }
}

/* Nothing more is said until its end. */
static void assert_done(struct process *self)
{
    char rest;
    shut(&self->in);
    assert_int_equal(self->read.size, 0);
    assert_int_equal(read(self->out, &rest, 1), 0);
    assert_int_equal(ended(self), 0);
}

static void begin_legacy(struct process *self, const char *initialize)
{
    tell(self, initialize);
    json_decref(next_reply(self));
}

/* A copy of ethos without, or with the wrong, program beside it. */
static void copy_program(struct world *world, const char *path, char out[1024])
{
    char command[4096], program[1024];
    find_program(program);
    snprintf(out, 1024, "%s/%s", world->temp.path, path);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\" && cp '%s' '%s'", out, program,
             out);
    assert_int_equal(system(command), 0);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void test_a_stream_of_the_legacy_era_goes_on(void **state)
{
    struct process self;
    start(&self, *state, NULL);
    begin_legacy(&self, INITIALIZE("2024-11-05"));
    assert_alive(&self);
    assert_false(is_handed_over(&self));
    TELL(&self, ADD("1", "one"), SESSIONS("2"), ADD("3", "two"), SESSIONS("4"), PING("5"));
    assert_answers(&self, "12345");
    assert_true(is_handed_over(&self));
    tell(&self, READ("6"));
    json_t *reply = next_reply(&self);
    assert_non_null(strstr(text_at(reply, "result.content.0.text"), "one\\n\\ntwo\\n"));
    assert_null(at(reply, "result.structuredContent")); // the version that was settled
    json_decref(reply);
    assert_done(&self);
    assert_file(*state, MEMORY, "one\n\ntwo\n");
}

static void test_a_stream_of_the_modern_era_goes_on(void **state)
{
    struct process self;
    start(&self, *state, NULL);
    TELL(&self, MODERN_CALL("1", "memory_write", "'action':'add','content':'one'"),
         MODERN_CALL("2", "session_search", "'query':'one'"),
         MODERN_CALL("3", "memory_write", "'action':'add','content':'two'"),
         MODERN_CALL("4", "memory_read", ""), READ("5"));
    assert_answers(&self, "1234");
    json_t *reply = next_reply(&self);
    assert_failure(reply, -32600); // nobody said initialize
    json_decref(reply);
    assert_true(is_handed_over(&self));
    assert_done(&self);
    assert_file(*state, MEMORY, "one\n\ntwo\n");
}

static void test_of_a_batch_nothing_is_run_twice(void **state)
{
    struct process self;
    start(&self, *state, NULL);
    begin_legacy(&self, INITIALIZE("2025-03-26"));
    TELL(&self, "[" ADD("1", "one") "," SESSIONS("2") "," READ("3") "]", PING("4"));
    json_t *batch = next_line(&self);
    assert_int_equal(json_array_size(batch), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *reply = json_array_get(batch, i);
        assert_int_equal(json_integer_value(at(reply, "id")), i + 1);
        assert_true(json_is_false(at(reply, "result.isError")));
    }
    json_decref(batch);
    assert_answers(&self, "4");
    assert_done(&self);
    assert_file(*state, MEMORY, "one\n");
}

static void test_its_input_may_have_ended(void **state)
{
    static const char *const endings[] = {SESSIONS("1"), SESSIONS("1") "\n",
                                          SESSIONS("1") "\n" SESSIONS("2") "\n" ADD("3", "x")};
    for (size_t i = 0; i < COUNT(endings); i++) {
        struct process self;
        start(&self, *state, NULL);
        begin_legacy(&self, INITIALIZE("2025-06-18"));
        tell_text(&self, endings[i]);
        shut(&self.in);
        assert_answers(&self, i == 2 ? "123" : "1");
        assert_done(&self);
    }
    assert_file(*state, MEMORY, "x\n");
}

/* More than a pipe holds: what was read and what was not yet meet without a seam. */
static void test_a_long_input_has_no_seam(void **state)
{
    struct process self;
    struct str said;
    char *first = quoted(SESSIONS("9") "\n");
    start(&self, *state, NULL);
    str_init(&said, MCP_MAX_LINE);
    str_adds(&said, first);
    for (int i = 0; i < 2000; i++)
        str_printf(&said, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n", i);
    begin_legacy(&self, INITIALIZE("2025-06-18"));
    pid_t writer = fork();
    if (writer == 0) {
        put(&self, str_view(&said));
        _exit(0);
    }
    assert_answers(&self, "9");
    for (int i = 0; i < 2000; i++) {
        json_t *reply = next_reply(&self);
        assert_int_equal(json_integer_value(at(reply, "id")), i);
        json_decref(reply);
    }
    waitpid(writer, NULL, 0);
    free(first);
    str_release(&said);
    assert_done(&self);
}

static void test_what_was_cancelled_stays_so(void **state)
{
    struct process self;
    start(&self, *state, NULL);
    begin_legacy(&self, INITIALIZE("2025-06-18"));
    TELL(&self, SESSIONS("1"), SESSIONS("2"), ADD("3", "x"), PING("4"), CANCEL("2"), CANCEL("3"),
         PING("5"));
    assert_answers(&self, "145");
    assert_done(&self);
    assert_false(world_exists(*state, MEMORY));
}

static void test_who_asks_is_not_forgotten(void **state)
{
    struct process self;
    struct str history;
    start(&self, *state, NULL);
    begin_legacy(&self, INITIALIZE("2025-06-18"));
    TELL(&self, SESSIONS("1"), ADD("2", "x"));
    assert_answers(&self, "12");
    assert_done(&self);
    char program[1024];
    find_program(program);
    str_init(&history, 65536);
    const char *const argv[] = {program, "memory", "history", "--json", NULL};
    assert_int_equal(process_run(argv, &history), 0);
    assert_non_null(strstr(history.data, "\"actor\":\"legacy-agent\""));
    str_release(&history);
}

static void test_rights_stay_as_they_were(void **state)
{
    struct process self;
    start(&self, *state, (const char *const[]){"--read-only", "--team", "crew", NULL});
    begin_legacy(&self, INITIALIZE("2025-06-18"));
    TELL(&self, SESSIONS("1"), CALL("2", "team_memory_read", ""), ADD("3", "x"));
    assert_answers(&self, "12");
    json_t *reply = next_reply(&self);
    assert_failure(reply, -32602);
    json_decref(reply);
    assert_done(&self);
}

static void test_throwaway_memory_is_not_lost(void **state)
{
    struct process self;
    start(&self, *state, (const char *const[]){"--ephemeral-memory", NULL});
    begin_legacy(&self, INITIALIZE("2025-06-18"));
    TELL(&self, ADD("1", "one"), SESSIONS("2"), READ("3"));
    assert_answers(&self, "12");
    json_t *reply = next_reply(&self);
    assert_string_equal(text_at(reply, "result.structuredContent.content"), "one\n");
    json_decref(reply);
    assert_done(&self);
    assert_false(world_exists(*state, "home"));
}

static void test_a_signal_ends_it_afterwards(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < COUNT(signals); i++) {
        struct process self;
        start(&self, *state, NULL);
        json_decref(asked(&self, "tools/call", "'name':'session_list_by_date'"));
        assert_true(is_handed_over(&self));
        kill(self.pid, signals[i]);
        assert_int_equal(ended(&self), 128 + signals[i]);
    }
}

static void try_without(struct world *world, const char *program, const char *expected)
{
    struct process self;
    start_program(&self, world, program, NULL);
    begin_legacy(&self, INITIALIZE("2025-03-26"));
    for (int round = 0; round < 2; round++) {
        if (round == 0)
            TELL(&self, "[" ADD("1", "one") "," SESSIONS("2") "]", READ("3"));
        else
            TELL(&self, "[" ADD("1", "two") "," SESSIONS("2") "]", READ("3"));
        json_t *batch = next_line(&self);
        assert_int_equal(json_array_size(batch), 2);
        assert_true(json_is_false(at(batch, "0.result.isError")));
        assert_true(json_is_true(at(batch, "1.result.isError")));
        assert_non_null(strstr(text_at(batch, "1.result.content.0.text"), expected));
        json_decref(batch);
        assert_answers(&self, "3");
    }
    assert_done(&self);
}

static void test_without_the_other_program_a_tool_says_so(void **state)
{
    struct world *world = *state;
    char program[1024];
    copy_program(world, "alone/bin/ethos", program);
    try_without(
        world, program,
        "/alone/libexec/ethos-db: No such file or directory; ethos consists of several programs");
    assert_file(world, MEMORY, "one\n\ntwo\n"); // once in each round
}

static void test_the_small_program_in_its_place_does_not_call_itself_for_ever(void **state)
{
    struct world *world = *state;
    char other[1024], program[1024];
    copy_program(world, "wrong/libexec/ethos-db", other);
    copy_program(world, "wrong/bin/ethos", program);
    try_without(world, program, "/wrong/libexec/ethos-db: there is another program in its place");
}

static void test_what_was_not_handed_over_is_refused(void **state)
{
    static const char *const texts[] = {"", "{}", "{}\n", "x\n",
                                        "{\"version\":\"1999-01-01\",\"client\":\"\","
                                        "\"logLevel\":0,\"atEnd\":false}\n"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct process self;
        char number[16];
        int fd = memfd_create("state", 0);
        assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        snprintf(number, sizeof number, "%d", fd);
        setenv("ETHOS_PROGRAM", number, 1);
        start(&self, *state, NULL);
        unsetenv("ETHOS_PROGRAM");
        close(fd);
        assert_true(ended(&self) > 0);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(test_a_stream_of_the_legacy_era_goes_on),
        CLIENT_TEST(test_a_stream_of_the_modern_era_goes_on),
        CLIENT_TEST(test_of_a_batch_nothing_is_run_twice),
        CLIENT_TEST(test_its_input_may_have_ended),
        CLIENT_TEST(test_a_long_input_has_no_seam),
        CLIENT_TEST(test_what_was_cancelled_stays_so),
        CLIENT_TEST(test_who_asks_is_not_forgotten),
        CLIENT_TEST(test_rights_stay_as_they_were),
        CLIENT_TEST(test_throwaway_memory_is_not_lost),
        CLIENT_TEST(test_a_signal_ends_it_afterwards),
        CLIENT_TEST(test_without_the_other_program_a_tool_says_so),
        CLIENT_TEST(test_the_small_program_in_its_place_does_not_call_itself_for_ever),
        CLIENT_TEST(test_what_was_not_handed_over_is_refused),
    };

    return cmocka_run_group_tests_name("mcp/handover", tests, NULL, NULL);
}
