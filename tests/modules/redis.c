/*
 * redis.c: a Redis server for tests, and stores over it.
 */
#include "redis.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/os.h"
#include "module.h"

#define START_MS 20000 /* until it must answer */

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- the server ----------------------------------------------------------------------------- */

/*
 * The server and its tool are one program, which looks at its name; the tool's package starts no
 * service.
 */
#define SERVER_PROGRAM "redis-check-rdb"

const char *redis_server_missing(void)
{
    const char *path = getenv("PATH");
    char name[512];
    while (path && *path) {
        size_t size = strcspn(path, ":");
        snprintf(name, sizeof name, "%.*s/" SERVER_PROGRAM, (int)size, path);
        if (access(name, X_OK) == 0)
            return NULL;
        path += size + (path[size] == ':');
    }
    return SERVER_PROGRAM " (redis-tools) is not installed";
}

unsigned redis_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        give_up("a free port");
    close(fd);
    return ntohs(address.sin_port);
}

static _Noreturn void become_server(const struct redis_server *self)
{
    char port[8];
    const char *words[48] = {"redis-server",
                             "--port",
                             port,
                             "--bind",
                             "127.0.0.1",
                             "--unixsocket",
                             self->socket,
                             "--dir",
                             self->temp.path,
                             "--appendonly",
                             "yes",
                             "--appendfsync",
                             "always",
                             "--save",
                             "",
                             "--rdbcompression",
                             "no",
                             "--aof-use-rdb-preamble",
                             "no",
                             "--logfile",
                             "server.log",
                             "--repl-diskless-sync-delay",
                             "0",
                             "--daemonize",
                             "no"};
    size_t count = 0;
    snprintf(port, sizeof port, "%u", self->port);
    while (words[count])
        count++;
    for (size_t i = 0; self->options[i] && count < 47; i++)
        words[count++] = self->options[i];
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(SERVER_PROGRAM, (char *const *)words);
    give_up(SERVER_PROGRAM);
}

static int connect_socket(const struct redis_server *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", self->socket);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Whether a reply of plain lines is complete: as many as there were commands. */
static bool is_complete(const char *line, const char *reply)
{
    size_t commands = 1, lines = 0;
    for (const char *at = line; (at = strstr(at, "\r\n")); at++)
        commands++;
    for (const char *at = reply; (at = strstr(at, "\r\n")); at++)
        lines++;
    return strchr("+-:", reply[0]) && lines == commands;
}

/* False when the server hung up, or is not there. */
static bool say(const struct redis_server *self, const char *line, char *out, size_t size)
{
    int fd = connect_socket(self);
    size_t got = 0;
    char command[512];
    snprintf(command, sizeof command, "%s\r\n", line);
    bool fine = fd >= 0 && send(fd, command, strlen(command), MSG_NOSIGNAL) > 0;
    while (fine && got + 1 < size) {
        struct pollfd poll_fd = {fd, POLLIN, 0};
        if (poll(&poll_fd, 1, got ? 20 : START_MS) <= 0) // what follows, follows at once
            break;
        ssize_t n = read(fd, out + got, size - 1 - got);
        if (n <= 0)
            break;
        got += (size_t)n;
        out[got] = 0;
        if (is_complete(line, out))
            break;
    }
    out[got] = 0;
    if (fd >= 0)
        close(fd);
    return got > 0;
}

void redis_server_say(const struct redis_server *self, const char *line, char *out, size_t size)
{
    if (!say(self, line, out, size))
        give_up(line);
}

void redis_server_again(struct redis_server *self)
{
    char reply[128];
    self->pid = fork();
    if (self->pid < 0)
        give_up("fork");
    if (self->pid == 0)
        become_server(self);
    for (int64_t end = os_monotonic_ms() + START_MS; os_monotonic_ms() < end; os_sleep_ms(10)) {
        if (waitpid(self->pid, NULL, WNOHANG) != 0)
            give_up("redis-server ended");
        if (say(self, "ECHO up", reply, sizeof reply) && strstr(reply, "up"))
            return;
    }
    give_up("redis-server does not answer");
}

void redis_server_start(struct redis_server *self)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    temp_make(&self->temp);
    self->port = redis_free_port();
    snprintf(self->socket, sizeof self->socket, "%s/socket", self->temp.path);
    snprintf(self->url, sizeof self->url, "unix:%s", self->socket);
    redis_server_again(self);
}

/* With the child that may be rewriting its file, which would come back into the directory. */
void redis_server_kill(struct redis_server *self)
{
    if (self->pid > 0) {
        kill(-self->pid, SIGKILL);
        while (waitpid(-self->pid, NULL, 0) > 0)
            continue;
    }
    self->pid = 0;
}

void redis_server_stop(struct redis_server *self)
{
    redis_server_kill(self);
    temp_remove(&self->temp);
}

/* ---- stores --------------------------------------------------------------------------------- */

const struct ethos_store_ops *redis_ops(void)
{
    return module_load("redis")->store;
}

int redis_open(const struct ethos_host *host, const struct ethos_setting *settings,
               uint32_t deadline_ms, struct ethos_store **out_store, struct ethos_error *error)
{
    return module_open("redis", host, settings, deadline_ms, out_store, error);
}

int redis_open_rows(const struct ethos_host *host, const char *url, uint32_t deadline_ms,
                    struct ethos_store **out_store, struct ethos_error *error)
{
    char patience[16];
    const struct ethos_setting settings[] = {{"url", url}, {"timeoutMs", patience}, {NULL, NULL}};
    snprintf(patience, sizeof patience, "%u", deadline_ms);
    return module_open_rows("redis", host, settings, deadline_ms, out_store, error);
}
