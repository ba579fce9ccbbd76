/*
 * test_stdio.c: ethos mcp as a process: what it was started with, how it ends, what it survives.
 */
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "client.h"

#define PATIENCE_MS 60000 /* a hang is a failure, slowness is none */

struct process {
    pid_t pid;
    int in, out; /* our ends; -1: closed */
    struct str read;
};

/* ---- starting and ending --------------------------------------------------------------------- */

/* <build>/bin/ethos, for this program <build>/tests/mcp/test_stdio. */
static void find_program(char out[1024])
{
    ssize_t size = readlink("/proc/self/exe", out, 900);
    assert_true(size > 0);
    out[size] = 0;
    for (int up = 0; up < 3; up++)
        *strrchr(out, '/') = 0;
    snprintf(out + strlen(out), 1024 - strlen(out), "/bin/ethos");
}

static void start(struct process *self, struct world *world, const char *const options[])
{
    char program[1024];
    const char *argv[16] = {program, "mcp"};
    posix_spawn_file_actions_t actions;
    int in[2], out[2];
    find_program(program);
    for (size_t i = 0; options && options[i]; i++)
        argv[i + 2] = options[i];
    setenv("ETHOS_HOME", world->home, 1);
    setenv("ASAN_OPTIONS", "detect_leaks=1", 1);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    assert_int_equal(posix_spawn(&self->pid, program, &actions, NULL, (char **)argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    self->in = in[1];
    self->out = out[0];
    str_init(&self->read, 2 * (size_t)MCP_MAX_REPLY);
}

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Its exit status; a process that goes on is ended and is a failure. */
static int ended(struct process *self)
{
    int status = 0;
    for (int waited = 0; waitpid(self->pid, &status, WNOHANG) == 0; waited += 5) {
        if (waited > PATIENCE_MS) {
            kill(self->pid, SIGKILL);
            waitpid(self->pid, &status, 0);
            fail_msg("it did not end");
        }
        usleep(5000);
    }
    shut(&self->in);
    shut(&self->out);
    str_release(&self->read);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int finish(struct process *self)
{
    shut(&self->in);
    return ended(self);
}

/* ---- talking --------------------------------------------------------------------------------- */

static void put(struct process *self, struct ethos_view bytes)
{
    assert_int_equal(os_write_all(self->in, bytes.data, bytes.size), 0);
}

static void tell(struct process *self, const char *message)
{
    char *text = quoted(message);
    put(self, view_str(text));
    put(self, VIEW("\n"));
    free(text);
}

/* The next line as JSON, free it. */
static json_t *next_reply(struct process *self)
{
    char *newline;
    while (!(newline = memchr(self->read.data, '\n', self->read.size))) {
        char chunk[4096];
        struct pollfd fd = {self->out, POLLIN, 0};
        assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
        ssize_t size = read(self->out, chunk, sizeof chunk);
        assert_true(size > 0);
        str_add(&self->read, view_of(chunk, (size_t)size));
    }
    size_t size = (size_t)(newline - self->read.data) + 1;
    json_t *reply = json_loadb(self->read.data, size, 0, NULL);
    assert_non_null(reply);
    check_envelope(reply);
    memmove(self->read.data, self->read.data + size, self->read.size - size);
    str_truncate(&self->read, self->read.size - size);
    return reply;
}

static json_t *asked(struct process *self, const char *method, const char *params)
{
    char message[1024];
    snprintf(message, sizeof message,
             "{'jsonrpc':'2.0','id':1,'method':'%s','params':{%s%s" MODERN "}}", method, params,
             *params ? "," : "");
    tell(self, message);
    return next_reply(self);
}

static void assert_content(struct process *self, const char *expected)
{
    json_t *reply = asked(self, "tools/call", "'name':'memory_read'");
    assert_string_equal(text_at(reply, "result.structuredContent.content"), expected);
    json_decref(reply);
}

static void assert_alive(struct process *self)
{
    tell(self, "{'jsonrpc':'2.0','id':'alive','method':'ping'}");
    json_t *reply = next_reply(self);
    assert_string_equal(text_at(reply, "id"), "alive");
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
    assert_int_equal(all % 100, 2);
    size_t reading = count_tools(*state, OPTIONS("--read-only"));
    assert_int_equal(reading, all - 202);
    assert_int_equal(count_tools(*state, OPTIONS("--scope", "memory:write")), 202);
    assert_int_equal(count_tools(*state, OPTIONS("--scope", "memory:write", "--read-only")), 0);
    assert_int_equal(
        count_tools(*state, OPTIONS("--scope", "memory:read", "--scope=memory:write")) % 100, 2);
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
        CLIENT_TEST(test_a_signal_ends_it_though_nobody_takes_its_answer),
        CLIENT_TEST(test_a_slow_reader_gets_it_all),
        CLIENT_TEST(test_hostile_input_is_survived),
        CLIENT_TEST(test_settings_are_seen_between_calls),
        CLIENT_TEST(test_options_narrow_what_is_offered),
        CLIENT_TEST(test_a_dry_run_changes_nothing),
        CLIENT_TEST(test_wrong_options_are_told_at_once),
    };

    return cmocka_run_group_tests_name("mcp/stdio", tests, NULL, NULL);
}
