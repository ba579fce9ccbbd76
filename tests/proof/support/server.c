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

#define ANSWER 4096 /* bytes: room for an answer, at first */

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

/* All of an answer, in memory that grows with it. */
struct answer {
    char *data;
    size_t size, room;
    size_t body; /* where it begins */
};

/* Whether everything has come; the head says how much that is. */
static bool is_whole(struct answer *answer)
{
    const char *end = answer->size ? strstr(answer->data, "\r\n\r\n") : NULL;
    const char *length = end ? strcasestr(answer->data, "\r\nContent-Length:") : NULL;
    if (!length || length > end)
        return false;
    answer->body = (size_t)(end + 4 - answer->data);
    return answer->size >= answer->body + strtoul(length + 17, NULL, 10);
}

/* False when the connection broke before its end. */
static bool receive(int fd, struct answer *answer)
{
    while (!is_whole(answer)) {
        if (answer->room - answer->size < 2) {
            answer->room = answer->room ? 2 * answer->room : ANSWER;
            answer->data = realloc(answer->data, answer->room);
            if (!answer->data)
                proof_die("out of memory");
        }
        ssize_t got = recv(fd, answer->data + answer->size, answer->room - answer->size - 1, 0);
        if (got <= 0)
            return false;
        answer->size += (size_t)got;
        answer->data[answer->size] = 0;
    }
    return true;
}

/* The status, 0 when the connection broke; the body is the caller's. */
static unsigned ask(const struct server *server, int fd, const char *head, const char *body,
                    char **out, size_t *out_size)
{
    struct answer answer = {0};
    char *request = text_format("%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                                "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                                "Accept: text/markdown, application/json\r\n"
                                "Content-Length: %zu\r\n\r\n%s",
                                head, server->port, server->key, strlen(body), body);
    bool whole = send_all(fd, request, strlen(request)) && receive(fd, &answer);
    unsigned status = whole ? (unsigned)strtoul(answer.data + strlen("HTTP/1.1 "), NULL, 10) : 0;
    free(request);
    if (whole && out) {
        *out_size = answer.size - answer.body;
        memmove(answer.data, answer.data + answer.body, *out_size + 1);
        *out = answer.data;
        return status;
    }
    free(answer.data);
    return status;
}

unsigned server_post(const struct server *server, int fd, const char *path, const char *json,
                     char **out)
{
    size_t size;
    char *head = text_format("POST %s", path);
    unsigned status = ask(server, fd, head, json, out, &size);
    free(head);
    return status;
}

unsigned server_get(const struct server *server, int fd, const char *path, char **out,
                    size_t *out_size)
{
    char *head = text_format("GET %s", path);
    unsigned status = ask(server, fd, head, "", out, out_size);
    free(head);
    return status;
}
