/*
 * test_stdio.c: ethos mcp as a process: what it was started with, how it ends, what it survives.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "process.h"

static void assert_content(struct process *self, const char *expected)
{
    json_t *reply = asked(self, "tools/call", "'name':'memory_read'");
    assert_string_equal(text_at(reply, "result.structuredContent.content"), expected);
    json_decref(reply);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void test_it_ends_with_its_input(void **state)
{
    struct process self;
    start(&self, *state, NULL);
    assert_int_equal(finish(&self), 0);
    start(&self, *state, NULL);
    assert_alive(&self);
    put(&self, VIEW("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}")); // without its newline
    shut(&self.in);
    json_decref(next_reply(&self));
    assert_int_equal(ended(&self), 0);
    assert_false(world_exists(*state, "home")); // nobody asked for anything
}

static void test_it_ends_by_a_signal(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < COUNT(signals); i++) {
        struct process self;
        start(&self, *state, NULL);
        assert_alive(&self);
        kill(self.pid, signals[i]);
        assert_int_equal(ended(&self), 128 + signals[i]);
    }
}

static void test_throwaway_memory_is_thrown_away(void **state)
{
    struct world *world = *state;
    struct process self;
    struct stat before, after;
    assert_int_equal(stat(world->temp.path, &before), 0);
    for (int way = 0; way < 2; way++) {
        start(&self, world, (const char *const[]){"--ephemeral-memory", NULL});
        json_decref(asked(&self, "tools/call",
                          "'name':'memory_write','arguments':{'action':'add','content':'x'}"));
        assert_content(&self, "x\n");
        if (way == 0)
            kill(self.pid, SIGTERM);
        assert_int_equal(way == 0 ? ended(&self) : finish(&self), way == 0 ? 128 + SIGTERM : 0);
    }
    assert_int_equal(stat(world->temp.path, &after), 0);
    assert_int_equal(before.st_nlink, after.st_nlink); // TMPDIR: no directory was left
    assert_false(world_exists(world, "home"));
}

static void test_it_ends_when_nobody_reads(void **state)
{
    struct process self;
    start(&self, *state, NULL);
    assert_alive(&self);
    shut(&self.out);
    tell(&self, "{'jsonrpc':'2.0','id':1,'method':'ping'}");
    assert_int_equal(ended(&self), 0);
}

/* A port where connections are taken by the system and nothing is ever said. */
static int listen_silently(unsigned *out_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *out_port = ntohs(address.sin_port);
    return fd;
}

/* They are answered before what was asked first, which fails in the end. */
static void test_what_needs_no_backend_does_not_wait_for_it(void **state)
{
    char config[256];
    unsigned port;
    struct process self;
    int fd = listen_silently(&port);
    snprintf(config, sizeof config,
             "memory.provider: redis\nmemory.options.url: redis://127.0.0.1:%u/0\n"
             "memory.options.timeoutMs: 300\n",
             port);
    world_put(*state, "home/config.yaml", config);
    start(&self, *state, NULL);
    assert_alive(&self);
    tell(&self,
         "{'jsonrpc':'2.0','id':11,'method':'tools/call','params':{'name':'memory_read'," MODERN
         "}}\n{'jsonrpc':'2.0','id':12,'method':'ping'}");
    tell(&self, "{'jsonrpc':'2.0','id':13,'method':'tools/list','params':{" MODERN "}}");
    static const int order[] = {12, 13, 11};
    for (size_t i = 0; i < COUNT(order); i++) {
        json_t *reply = next_reply(&self);
        assert_int_equal(json_integer_value(at(reply, "id")), order[i]);
        if (order[i] == 11)
            assert_true(json_is_true(at(reply, "result.isError")));
        json_decref(reply);
    }
    assert_int_equal(finish(&self), 0);
    close(fd);
}

/* An answer that is larger than any pipe. */
static void put_large(struct world *world)
{
    struct str text;
    str_init(&text, ETHOS_MAX_READ_BYTES);
    while (text.size < 400000)
        str_adds(&text, "a line of memory that is just long\n");
    world_put(world, "home/personalities/default/MEMORY.md", text.data);
    str_release(&text);
}

static void test_a_signal_ends_it_though_nobody_takes_its_answer(void **state)
{
    struct process self;
    put_large(*state);
    start(&self, *state, NULL);
    assert_alive(&self);
    tell(&self,
         "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'memory_read'," MODERN
         "}}");
    usleep(200000);
    kill(self.pid, SIGTERM);
    assert_int_equal(ended(&self), 128 + SIGTERM);
}

static void test_a_slow_reader_gets_it_all(void **state)
{
    struct process self;
    put_large(*state);
    start(&self, *state, NULL);
    json_t *reply = asked(&self, "tools/call", "'name':'memory_read'");
    assert_true(strlen(text_at(reply, "result.structuredContent.content")) >= 400000);
    json_decref(reply);
    assert_alive(&self);
    assert_int_equal(finish(&self), 0);
}

static void test_hostile_input_is_survived(void **state)
{
    struct process self;
    char *line = malloc(10 << 20);
    assert_non_null(line);
    memset(line, '[', 10 << 20);
    start(&self, *state, NULL);
    put(&self, view_of(line, 10 << 20));
    put(&self, VIEW("\n\xff\xfe\x00\x01\n{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\x28\"}\n"));
    for (int i = 0; i < 3; i++) {
        json_t *reply = next_reply(&self);
        assert_failure(reply, i == 0 ? -32600 : -32700);
        json_decref(reply);
    }
    line[500] = '\n';
    put(&self, view_of(line, 501)); // deep, but short
    json_t *reply = next_reply(&self);
    assert_failure(reply, -32700);
    json_decref(reply);
    assert_alive(&self);
    assert_int_equal(finish(&self), 0);
    free(line);
}

static void test_settings_are_seen_between_calls(void **state)
{
    struct process self;
    world_put(*state, "home/personalities/default/MEMORY.md", "of the one\n");
    world_put(*state, "home/personalities/other/MEMORY.md", "of the other\n");
    start(&self, *state, NULL);
    assert_content(&self, "of the one\n");
    world_put(*state, "home/config.yaml", "personality: other\n");
    assert_content(&self, "of the other\n");
    world_put(*state, "home/personalities/other/MEMORY.md", "edited\n");
    assert_content(&self, "edited\n");
    assert_int_equal(finish(&self), 0);
}

/* Long enough that what one call found out could be kept for the next. */
static void serve_long(struct process *self, const char *content)
{
    for (int i = 0; i < 16; i++)
        assert_content(self, content);
}

static void test_a_connection_that_has_served_long_sees_every_change(void **state)
{
    struct process self;
    world_put(*state, "home/personalities/default/MEMORY.md", "of the one\n");
    world_put(*state, "home/personalities/other/MEMORY.md", "of the other\n");
    world_put(*state, "home/MEMORY.md", "of all\n");
    start(&self, *state, NULL);
    for (int round = 0; round < 2; round++) {
        serve_long(&self, "of the one\n");
        world_put(*state, "home/config.yaml", "personality: other\n"); // appears
        serve_long(&self, "of the other\n");
        world_put(*state, "home/new", "personality: nobody\n");
        world_rename(*state, "home/new", "home/config.yaml"); // is replaced
        serve_long(&self, "");
        world_put(*state, "home/config.yaml", "personality: other \n"); // is written in place
        serve_long(&self, "of the other\n");
        world_put(*state, "home/personalities/other/config.yaml", "memoryScope: global\n");
        serve_long(&self, "of all\n");
        world_rename(*state, "home/personalities", "home/away"); // is gone with the others
        serve_long(&self, "");
        world_rename(*state, "home/away", "home/personalities");
        serve_long(&self, "of all\n");
        world_unlink(*state, "home/personalities/other/config.yaml");
        world_unlink(*state, "home/config.yaml");
    }
    assert_content(&self, "of the one\n");
    assert_int_equal(finish(&self), 0);
}

static size_t count_tools(struct world *world, const char *const options[])
{
    struct process self;
    start(&self, world, options);
    json_t *reply = asked(&self, "tools/list", "");
    size_t count = json_array_size(at(reply, "result.tools")), writing = 0, index;
    json_t *tool;
    json_array_foreach (at(reply, "result.tools"), index, tool)
        writing += json_is_false(at(tool, "annotations.readOnlyHint"));
    json_decref(reply);
    assert_int_equal(finish(&self), 0);
    return count * 100 + writing;
}

static void test_options_narrow_what_is_offered(void **state)
{
#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})
    size_t all = count_tools(*state, NULL);
    assert_int_equal(all % 100, 4);
    size_t reading = count_tools(*state, OPTIONS("--read-only"));
    assert_int_equal(reading, all - 404);
    assert_int_equal(count_tools(*state, OPTIONS("--scope", "memory:write")), 404);
    assert_int_equal(count_tools(*state, OPTIONS("--scope", "memory:write", "--read-only")), 0);
    assert_int_equal(
        count_tools(*state, OPTIONS("--scope", "memory:read", "--scope=memory:write")) % 100, 4);
    assert_int_equal(count_tools(*state, OPTIONS("--team", "crew")), all + 301);
}

static void test_a_dry_run_changes_nothing(void **state)
{
    struct process self;
    start(&self, *state, (const char *const[]){"--dry-run", NULL});
    json_t *reply = asked(&self, "tools/call",
                          "'name':'memory_write','arguments':{'action':'add','content':'x'}");
    assert_true(json_is_false(at(reply, "result.isError")));
    json_decref(reply);
    assert_content(&self, "");
    assert_int_equal(finish(&self), 0);
}

static void test_wrong_options_are_told_at_once(void **state)
{
    static const char *const wrong[][3] = {
        {"--scope", "everything", NULL}, {"--team", "../x", NULL}, {"--loud", NULL, NULL}};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct process self;
        start(&self, *state, wrong[i]);
        assert_true(ended(&self) > 0);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(test_it_ends_with_its_input),
        CLIENT_TEST(test_it_ends_by_a_signal),
        CLIENT_TEST(test_throwaway_memory_is_thrown_away),
        CLIENT_TEST(test_it_ends_when_nobody_reads),
        CLIENT_TEST(test_what_needs_no_backend_does_not_wait_for_it),
        CLIENT_TEST(test_a_signal_ends_it_though_nobody_takes_its_answer),
        CLIENT_TEST(test_a_slow_reader_gets_it_all),
        CLIENT_TEST(test_hostile_input_is_survived),
        CLIENT_TEST(test_settings_are_seen_between_calls),
        CLIENT_TEST(test_a_connection_that_has_served_long_sees_every_change),
        CLIENT_TEST(test_options_narrow_what_is_offered),
        CLIENT_TEST(test_a_dry_run_changes_nothing),
        CLIENT_TEST(test_wrong_options_are_told_at_once),
    };

    return cmocka_run_group_tests_name("mcp/stdio", tests, NULL, NULL);
}
