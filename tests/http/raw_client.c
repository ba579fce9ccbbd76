/*
 * raw_client.c: a server of its own home, and requests as bytes.
 */
#include "raw_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/dir.h"

#define WORDS 48
#define PATIENCE_SECONDS 30 /* a server that is silent for so long has failed */

/* ---- programs ---------------------------------------------------------------------------------- */

/* <build>/bin/ethos for <build>/tests/<any>. */
static void find_program(struct drive *self)
{
    ssize_t size = readlink("/proc/self/exe", self->program, sizeof self->program - 16);
    assert_true(size > 0);
    self->program[size] = 0;
    char *tests = NULL, *next = self->program;
    while ((next = strstr(next, "/tests/")) != NULL)
        tests = next++;
    assert_non_null(tests);
    *tests = 0;
    memcpy(self->program + strlen(self->program), "/bin/ethos", sizeof "/bin/ethos");
}

static pid_t spawn(const struct drive *self, const char *const *args, int *out)
{
    const char *words[WORDS] = {self->program, "--home", self->home};
    int pipes[2];
    pid_t parent = getpid();
    for (size_t i = 0; args[i]; i++)
        words[3 + i] = args[i];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit files = {self->files, self->files};
        if (self->files)
            setrlimit(RLIMIT_NOFILE, &files);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(127);
        dup2(pipes[1], STDOUT_FILENO);
        execv(self->program, (char **)words);
        _exit(127);
    }
    close(pipes[1]);
    *out = pipes[0];
    return pid;
}

int drive_run(const struct drive *self, const char *const *args, char *out, size_t size)
{
    int fd, status;
    size_t used = 0;
    ssize_t count;
    pid_t pid = spawn(self, args, &fd);
    while (used + 1 < size && (count = read(fd, out + used, size - used - 1)) > 0)
        used += (size_t)count;
    out[used] = 0;
    close(fd);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void read_link(struct drive *self, int fd)
{
    char line[256];
    FILE *in = fdopen(fd, "r");
    assert_non_null(fgets(line, sizeof line, in));
    assert_int_equal(
        sscanf(line, "http://%*[^:]:%u/auth/exchange?t=%64[0-9a-f]", &self->port, self->token), 2);
    fclose(in);
}

void drive_start(struct drive *self, const char *const *args)
{
    char port[16];
    const char *words[WORDS] = {"serve", "--port", port};
    int out;
    if (!*self->home) {
        snprintf(self->home, sizeof self->home, "/tmp/ethos-http-XXXXXX");
        assert_non_null(mkdtemp(self->home));
    }
    for (size_t i = 0; args && args[i]; i++)
        words[3 + i] = args[i];
    snprintf(port, sizeof port, "%u", self->port);
    find_program(self);
    self->pid = spawn(self, words, &out);
    read_link(self, out);
}

static int end(struct drive *self, int signal)
{
    int status = 0;
    if (self->pid) {
        kill(self->pid, signal);
        waitpid(self->pid, &status, 0);
    }
    self->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int drive_stop(struct drive *self)
{
    return end(self, SIGTERM);
}

void drive_kill(struct drive *self)
{
    end(self, SIGKILL);
}

int drive_end(struct drive *self)
{
    int status = drive_stop(self);
    dir_remove(AT_FDCWD, self->home);
    return status;
}

/* more: further words, and NULL. */
static void make_key(struct drive *self, const char *scopes, const char *const *more, char out[128])
{
    char names[256], json[1024];
    const char *args[WORDS] = {"--json", "api-key", "create", "test"};
    size_t count = 4;
    snprintf(names, sizeof names, "%s", scopes);
    char *rest = names, *name;
    while ((name = strsep(&rest, " "))) {
        args[count++] = "--scope";
        args[count++] = name;
    }
    for (; *more; more++)
        args[count++] = *more;
    assert_int_equal(drive_run(self, args, json, sizeof json), 0);
    const char *key = strstr(json, "sk-ethos-");
    assert_non_null(key);
    snprintf(out, 128, "%.73s", key);
}

void drive_key(struct drive *self, const char *scopes, const char *origin, char out[128])
{
    make_key(self, scopes, (const char *const[]){origin ? "--origin" : NULL, origin, NULL}, out);
}

void drive_agent_key(struct drive *self, const char *scopes, char out[128])
{
    make_key(self, scopes, (const char *const[]){"--agent", NULL}, out);
}

/* ---- requests ---------------------------------------------------------------------------------- */

int drive_connect(const struct drive *self)
{
    const struct timeval patience = {PATIENCE_SECONDS, 0};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((in_port_t)self->port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

void drive_send(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = send(fd, bytes, size, MSG_NOSIGNAL);
        if (count <= 0)
            return; // it was refused meanwhile; the answer tells
        bytes += count;
        size -= (size_t)count;
    }
}

const char *reply_header(const struct reply *reply, const char *name)
{
    static char value[4096];
    size_t size = strlen(name);
    for (const char *at = strchr(reply->head, '\n'); at && at[1]; at = strchr(at + 1, '\n')) {
        if (strncasecmp(at + 1, name, size) != 0 || at[1 + size] != ':')
            continue;
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at + size + 3, "\r\n"), at + size + 3);
        return value;
    }
    return NULL;
}

static bool read_head(int fd, struct reply *out)
{
    size_t size = 0;
    char *end = NULL;
    while (!end && size + 1 < sizeof out->head) {
        ssize_t count = recv(fd, out->head + size, sizeof out->head - 1 - size, MSG_PEEK);
        if (count <= 0)
            return false;
        out->head[size + (size_t)count] = 0;
        end = strstr(out->head, "\r\n\r\n");
        size_t take = end ? (size_t)(end + 4 - out->head) - size : (size_t)count;
        size += (size_t)recv(fd, out->head + size, take, 0);
        out->head[size] = 0;
    }
    return end && sscanf(out->head, "HTTP/1.1 %d", &out->status) == 1;
}

void drive_read(int fd, bool head_only, struct reply *out)
{
    *out = (struct reply){0};
    if (!read_head(fd, out)) {
        out->status = 0;
        return;
    }
    const char *length = reply_header(out, "content-length");
    size_t size = length && !head_only ? strtoul(length, NULL, 10) : 0;
    out->body = calloc(1, size + 1);
    while (out->size < size) {
        ssize_t count = recv(fd, out->body + out->size, size - out->size, 0);
        if (count <= 0)
            break;
        out->size += (size_t)count;
    }
}

void raw_reply_release(struct reply *reply)
{
    free(reply->body);
    reply->body = NULL;
}

static void ask(const struct drive *self, struct reply *out, const char *format, va_list args)
{
    char *text;
    int size = vasprintf(&text, format, args);
    assert_true(size > 0);
    int fd = drive_connect(self);
    drive_send(fd, text, (size_t)size);
    drive_read(fd, strncmp(text, "HEAD ", 5) == 0, out);
    close(fd);
    free(text);
}

void drive_ask(const struct drive *self, struct reply *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ask(self, out, format, args);
    va_end(args);
}

int drive_status(const struct drive *self, const char *format, ...)
{
    struct reply reply;
    va_list args;
    va_start(args, format);
    ask(self, &reply, format, args);
    va_end(args);
    raw_reply_release(&reply);
    return reply.status;
}

void drive_login(struct drive *self)
{
    struct reply reply;
    drive_ask(self, &reply, "GET /auth/exchange?t=%s HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
              self->token, self->port);
    assert_int_equal(reply.status, 302);
    const char *cookie = reply_header(&reply, "set-cookie");
    assert_non_null(cookie);
    assert_int_equal(sscanf(cookie, "ethos_auth=%64[0-9a-f];", self->cookie), 1);
    raw_reply_release(&reply);
}

struct drive drive;

int drive_group_start(void **state)
{
    (void)state;
    drive_start(&drive, NULL);
    drive_login(&drive);
    return 0;
}

int drive_group_end(void **state)
{
    (void)state;
    return drive_end(&drive);
}
