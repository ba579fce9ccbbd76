/*
 * model_server.c: runs a command beside a server on loopback that speaks chat completions.
 *
 *     model_server SCRIPT COMMAND [ARGUMENT...]
 *
 * The command finds the server in $MODEL_URL. Each line of SCRIPT is the answer to one request:
 *
 *     {"text": "...", "calls": [{"id", "name", "arguments": {...}}]}
 *     {"status": 401, "body": {...}}     an error
 *     {"text": "...", "then": "cut"}     the connection is closed in the middle
 *     {"then": "hang"}                   nothing comes until the client closes
 *     {"pieces": ["...", "..."]}         text; before each piece but the first, SCRIPT.go is awaited and removed
 *     {"remembers": true}                a question is remembered by memory_write, a result answered "Noted."
 *
 * After the last line the last one is the answer again. Requests are appended to SCRIPT.requests, a line each. A
 * request that lists models is answered with "stub-model". The exit status is that of the command.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_REQUEST 16777216 /* bytes */

static json_t *script; /* an array */
static char go[4096];  /* path of SCRIPT.go */
static FILE *requests;

static void die(const char *what)
{
    perror(what);
    exit(125);
}

static void read_script(const char *path)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        die(path);
    script = json_array();
    while (getline(&line, &size, file) > 0) {
        json_error_t error;
        json_t *row = json_loads(line, 0, &error);
        if (!row) {
            fprintf(stderr, "%s: %s\n", path, error.text);
            exit(125);
        }
        json_array_append_new(script, row);
    }
    free(line);
    fclose(file);
}

static void send_all(int fd, const char *text)
{
    for (size_t size = strlen(text); size > 0;) {
        ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        text += sent;
        size -= (size_t)sent;
    }
}

/* Takes the value. */
static void send_event(int fd, json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    send_all(fd, "data: ");
    send_all(fd, text);
    send_all(fd, "\n\n");
    free(text);
    json_decref(value);
}

static json_t *delta(json_t *value)
{
    return json_pack("{s:[{s:i, s:o}]}", "choices", "index", 0, "delta", value);
}

/* Word by word, as a model would. */
static void send_text(int fd, const char *text)
{
    while (*text) {
        size_t size = strcspn(text, " ");
        size += strspn(text + size, " ");
        send_event(fd, delta(json_pack("{s:s%}", "content", text, size)));
        text += size;
    }
}

static void send_pieces(int fd, const json_t *pieces)
{
    size_t index;
    json_t *piece;
    json_array_foreach ((json_t *)pieces, index, piece) {
        while (index > 0 && unlink(go) != 0)
            usleep(2000);
        send_text(fd, json_string_value(piece));
    }
}

static void send_calls(int fd, const json_t *calls)
{
    size_t index;
    json_t *call;
    json_array_foreach ((json_t *)calls, index, call) {
        json_t *given = json_object_get(call, "arguments");
        char *text = json_is_string(given) ? strdup(json_string_value(given))
                                           : json_dumps(given, JSON_COMPACT);
        send_event(fd, delta(json_pack("{s:[{s:i, s:O, s:{s:O, s:s}}]}", "tool_calls", "index",
                                       (int)index, "id", json_object_get(call, "id"), "function",
                                       "name", json_object_get(call, "name"), "arguments", text)));
        free(text);
    }
}

/* A rule in place of a script: for clients of which nobody knows how often they will ask. */
static json_t *answer_by_rule(const char *body)
{
    json_t *request = json_loads(body, 0, NULL);
    const json_t *messages = json_object_get(request, "messages");
    json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    const char *role = json_string_value(json_object_get(last, "role"));
    json_t *answer = role && strcmp(role, "user") == 0
                         ? json_pack("{s:[{s:s, s:s, s:{s:s, s:O}}]}", "calls", "id", "c1", "name",
                                     "memory_write", "arguments", "action", "add", "content",
                                     json_object_get(last, "content"))
                         : json_pack("{s:s}", "text", "Noted.");
    json_decref(request);
    return answer;
}

static void send_answer(int fd, const json_t *answer)
{
    const char *text = json_string_value(json_object_get(answer, "text"));
    const char *then = json_string_value(json_object_get(answer, "then"));
    const json_t *calls = json_object_get(answer, "calls");
    char rest[256];
    send_all(fd, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    if (text)
        send_text(fd, text);
    send_pieces(fd, json_object_get(answer, "pieces"));
    send_calls(fd, calls);
    if (then && strcmp(then, "hang") == 0)
        while (recv(fd, rest, sizeof rest, 0) > 0)
            continue;
    if (then)
        return;
    send_event(fd, json_pack("{s:[{s:i, s:{}, s:s}]}", "choices", "index", 0, "delta",
                             "finish_reason", json_array_size(calls) > 0 ? "tool_calls" : "stop"));
    send_event(fd, json_pack("{s:[], s:{s:i, s:i}}", "choices", "usage", "prompt_tokens", 100,
                             "completion_tokens", 10));
    send_all(fd, "data: [DONE]\n\n");
}

static void send_document(int fd, int status, const json_t *body)
{
    char head[256], *text = json_dumps(body, JSON_COMPACT);
    snprintf(head, sizeof head,
             "HTTP/1.1 %d Status\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n"
             "connection: close\r\n\r\n",
             status, strlen(text));
    send_all(fd, head);
    send_all(fd, text);
    free(text);
}

/* The whole request; its body begins at the result. NULL: the client went away. */
static const char *read_request(int fd, char *buffer)
{
    size_t size = 0, wanted = SIZE_MAX;
    char *body = NULL;
    while (!body || size < wanted) {
        ssize_t got = recv(fd, buffer + size, MAX_REQUEST - 1 - size, 0);
        if (got <= 0)
            return NULL;
        size += (size_t)got;
        buffer[size] = '\0';
        if (!body && (body = strstr(buffer, "\r\n\r\n"))) {
            const char *length = strcasestr(buffer, "content-length:");
            body += 4;
            wanted = (size_t)(body - buffer) + (length ? strtoul(length + 15, NULL, 10) : 0);
        }
    }
    return body;
}

static void answer_connection(int fd, char *buffer, size_t *answered)
{
    const char *body = read_request(fd, buffer);
    if (!body)
        return;
    if (strncmp(buffer, "GET ", 4) == 0) {
        json_t *list = json_pack("{s:[{s:s}]}", "data", "id", "stub-model");
        send_document(fd, 200, list);
        json_decref(list);
        return;
    }
    fprintf(requests, "%s\n", body);
    fflush(requests);
    size_t count = json_array_size(script);
    json_t *answer = json_array_get(script, *answered < count ? *answered : count - 1);
    answer = json_is_true(json_object_get(answer, "remembers")) ? answer_by_rule(body)
                                                                : json_incref(answer);
    const json_t *status = json_object_get(answer, "status");
    ++*answered;
    if (status)
        send_document(fd, (int)json_integer_value(status), json_object_get(answer, "body"));
    else
        send_answer(fd, answer);
    json_decref(answer);
}

static void serve(int listener)
{
    char *buffer = malloc(MAX_REQUEST);
    size_t answered = 0;
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0 || !buffer)
            exit(1);
        answer_connection(fd, buffer, &answered);
        shutdown(fd, SHUT_RDWR);
        close(fd);
    }
}

static int open_listener(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    char url[64];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, 64) != 0 || getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        die("a port on loopback");
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", ntohs(address.sin_port));
    setenv("MODEL_URL", url, 1);
    return fd;
}

int main(int argc, char **argv)
{
    char path[4096];
    int status;
    if (argc < 3) {
        fputs("usage: model_server SCRIPT COMMAND [ARGUMENT...]\n", stderr);
        return 125;
    }
    read_script(argv[1]);
    snprintf(path, sizeof path, "%s.requests", argv[1]);
    requests = fopen(path, "ae");
    snprintf(go, sizeof go, "%s.go", argv[1]);
    if (!requests)
        die(path);
    int listener = open_listener();
    pid_t server = fork();
    if (server == 0)
        serve(listener);
    close(listener);
    pid_t command = server > 0 ? fork() : -1;
    if (command == 0) {
        execvp(argv[2], argv + 2);
        die(argv[2]);
    }
    if (command < 0 || waitpid(command, &status, 0) < 0)
        die("the command");
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
