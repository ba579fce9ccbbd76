/*
 * process.h: ethos mcp as a process: starting it, talking to it, how it ended.
 *
 * Messages are written with ' for ". Every reply is checked as an envelope before a test sees it.
 */
#ifndef TESTS_MCP_PROCESS_H
#define TESTS_MCP_PROCESS_H

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

/* <build>/bin/ethos, for this program <build>/tests/mcp/test_x. */
static inline void find_program(char out[1024])
{
    ssize_t size = readlink("/proc/self/exe", out, 900);
    assert_true(size > 0);
    out[size] = 0;
    for (int up = 0; up < 3; up++)
        *strrchr(out, '/') = 0;
    snprintf(out + strlen(out), 1024 - strlen(out), "/bin/ethos");
}

static inline void start_program(struct process *self, struct world *world, const char *program,
                                 const char *const options[])
{
    const char *argv[16] = {program, "mcp"};
    posix_spawn_file_actions_t actions;
    int in[2], out[2];
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

static inline void start(struct process *self, struct world *world, const char *const options[])
{
    char program[1024];
    find_program(program);
    start_program(self, world, program, options);
}

static inline void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Its exit status; a process that goes on is ended and is a failure. */
static inline int ended(struct process *self)
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

static inline int finish(struct process *self)
{
    shut(&self->in);
    return ended(self);
}

/* ---- talking --------------------------------------------------------------------------------- */

static inline void put(struct process *self, struct ethos_view bytes)
{
    assert_int_equal(os_write_all(self->in, bytes.data, bytes.size), 0);
}

static inline void tell(struct process *self, const char *message)
{
    char *text = quoted(message);
    put(self, view_str(text));
    put(self, VIEW("\n"));
    free(text);
}

/* The next line as JSON: a message, or an array of them; free it. */
static inline json_t *next_line(struct process *self)
{
    size_t index;
    json_t *item;
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
    json_t *reply = json_loadb(self->read.data, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                               NULL);
    assert_non_null(reply);
    if (!json_is_array(reply))
        check_envelope(reply);
    json_array_foreach (reply, index, item)
        check_envelope(item);
    memmove(self->read.data, self->read.data + size, self->read.size - size);
    str_truncate(&self->read, self->read.size - size);
    return reply;
}

static inline json_t *next_reply(struct process *self)
{
    json_t *reply = next_line(self);
    assert_true(json_is_object(reply));
    return reply;
}

static inline json_t *asked(struct process *self, const char *method, const char *params)
{
    char message[1024];
    snprintf(message, sizeof message,
             "{'jsonrpc':'2.0','id':1,'method':'%s','params':{%s%s" MODERN "}}", method, params,
             *params ? "," : "");
    tell(self, message);
    return next_reply(self);
}

static inline void assert_alive(struct process *self)
{
    tell(self, "{'jsonrpc':'2.0','id':'alive','method':'ping'}");
    json_t *reply = next_reply(self);
    assert_string_equal(text_at(reply, "id"), "alive");
    json_decref(reply);
}

#endif
