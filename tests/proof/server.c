/*
 * server.c: ethos serve from outside: plain sockets, no code of ours.
 */
#include "server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER 65536 /* bytes; more is not asked for */

void server_key(struct server *server, const struct home *home)
{
    const char *const words[] = {ethos_program(), "--home",         home->path, "api-key",
                                 "create",        "proof",          "--scope",  "memory:read",
                                 "--scope",       "memory:write",   "--scope",  "sessions:read",
                                 "--scope",       "sessions:write", "--json",   NULL};
    char *out = NULL;
    if (program_run(words, NULL, &out) != 0 || !out)
        proof_die("ethos api-key create");
    const char *secret = strstr(out, "sk-ethos-");
    // The first mention may be the public prefix; the whole secret is the long one.
    while (secret && strspn(secret + 9, "0123456789abcdef") != 64)
        secret = strstr(secret + 9, "sk-ethos-");
    if (!secret)
        proof_die("no key in the answer");
    snprintf(server->key, sizeof server->key, "%.73s", secret);
    free(out);
}

/* The port in "http://localhost:PORT/...". */
static unsigned read_port(int fd)
{
    char line[512];
    size_t size = 0;
    while (size < sizeof line - 1 && read(fd, line + size, 1) == 1 && line[size] != '\n')
        size++;
    line[size] = 0;
    const char *port = strstr(line, "localhost:");
    return port ? (unsigned)strtoul(port + 10, NULL, 10) : 0;
}

void server_start(struct server *server, const struct home *home)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        proof_die("pipe");
    fflush(stdout);
    pid_t pid = fork(); // *server may be shared with children
    if (pid < 0)
        proof_die("fork");
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(null, STDIN_FILENO);
        dup2(pipes[1], STDOUT_FILENO);
        if (!getenv("PROOF_VERBOSE"))
            dup2(null, STDERR_FILENO);
        execl(ethos_program(), "ethos", "--home", home->path, "serve", "--port", "0", (char *)NULL);
        _exit(127);
    }
    server->pid = pid;
    close(pipes[1]);
    server->port = read_port(pipes[0]);
    close(pipes[0]);
    if (!server->port)
        proof_die("ethos serve says no port");
}

int server_end(struct server *server, int signal)
{
    kill(server->pid, signal);
    return child_wait(server->pid);
}

int server_connect(const struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        proof_die("socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool send_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Head and body, terminated; the body's place, or NULL when the connection broke before its end. */
static const char *receive(int fd, char answer[ANSWER])
{
    size_t size = 0;
    for (;;) {
        answer[size] = 0;
        const char *body = strstr(answer, "\r\n\r\n");
        const char *length = strcasestr(answer, "\r\nContent-Length:");
        if (body && length && size >= (size_t)(body + 4 - answer) + strtoul(length + 17, NULL, 10))
            return body + 4;
        ssize_t got = size < ANSWER - 1 ? recv(fd, answer + size, ANSWER - 1 - size, 0) : -1;
        if (got <= 0)
            return NULL;
        size += (size_t)got;
    }
}

unsigned server_post(const struct server *server, int fd, const char *path, const char *json,
                     char **out)
{
    static char answer[ANSWER];
    char *request = text_format("POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                                "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                                "Content-Length: %zu\r\n\r\n%s",
                                path, server->port, server->key, strlen(json), json);
    bool sent = send_all(fd, request, strlen(request));
    free(request);
    const char *body = sent ? receive(fd, answer) : NULL;
    if (!body)
        return 0;
    if (out)
        *out = text_format("%s", body);
    return (unsigned)strtoul(answer + strlen("HTTP/1.1 "), NULL, 10);
}
