/*
 * chat.c: how long ethos chat takes from Enter to the request at the model, and what it costs to show an answer.
 *
 *     chat ETHOS TEXT [ROUNDS]
 *
 * ETHOS is the program, TEXT a file of markdown; the home is that of the environment, whose settings it changes.
 * Three figures: Enter to the request, in a terminal, with the model on loopback; processor time of the rows alone, in
 * tokens of 4 bytes at 80 columns; processor time of the whole program while such tokens arrive.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "chat/live_screen.h"

#define TOKEN 4
#define MAX_TEXT 8388608
#define MAX_ROUNDS 10000
#define WAIT_MS 20000

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* Microseconds of processor per token, with a frame after so many. */
static double rows(struct ethos_view text, size_t tokens)
{
    struct live_screen screen;
    struct edit edit;
    live_screen_open(&screen, true, true);
    live_screen_resize(&screen, (struct tty_size){24, 80}, false);
    edit_init(&edit, live_screen_input_columns(&screen), &screen.widths);
    const struct live_below below = {.status = VIEW("… answering  1s  Esc stops"), .edit = &edit};
    double begin = seconds(CLOCK_PROCESS_CPUTIME_ID);
    size_t count = 0;
    for (size_t at = 0; at < text.size; at += TOKEN, count++) {
        size_t size = text.size - at < TOKEN ? text.size - at : TOKEN;
        live_screen_answer(&screen, view_of(text.data + at, size));
        if (count % tokens == 0)
            live_screen_paint(&screen, &below);
    }
    double taken = seconds(CLOCK_PROCESS_CPUTIME_ID) - begin;
    live_screen_close(&screen);
    edit_release(&edit);
    return taken * 1e6 / (double)count;
}

/* ---- the program in a terminal ------------------------------------------------------------------- */

struct place {
    int listener, terminal;
    pid_t pid;
    struct str shown;
    size_t seen;
};

static void open_model(struct place *place, char *url, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    place->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(place->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(place->listener, 16) != 0 ||
        getsockname(place->listener, (struct sockaddr *)&address, &length) != 0)
        die("a port on loopback");
    snprintf(url, size, "http://127.0.0.1:%d/v1", ntohs(address.sin_port));
}

static void set(const char *program, const char *name, const char *value)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execl(program, program, "-q", "config", "set", name, value, (char *)NULL);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) < 0 || status != 0)
        die("ethos config set");
}

static void read_terminal(struct place *place)
{
    char bytes[65536];
    ssize_t got = read(place->terminal, bytes, sizeof bytes);
    if (got <= 0)
        die("the terminal");
    str_add(&place->shown, view_of(bytes, (size_t)got));
    if (memmem(bytes, (size_t)got, "\033[6n", 4) &&
        write(place->terminal, "\033[1;3R\033[1;3R\033[1;3R", 18) < 0)
        die("the terminal");
}

static void await(struct place *place, const char *text)
{
    const char *at;
    while (!(at = strstr(place->shown.data + place->seen, text)))
        read_terminal(place);
    place->seen = (size_t)(at - place->shown.data) + strlen(text);
}

/* Reads the head of a request, and sends what comes before the tokens; the connection, or -1. */
static int accept_request(const struct place *place)
{
    static char request[1048576];
    size_t size = 0, wanted = sizeof request - 1;
    int fd = accept(place->listener, NULL, NULL);
    while (fd >= 0 && size < wanted) {
        ssize_t got = recv(fd, request + size, sizeof request - 1 - size, 0);
        if (got <= 0)
            die("the request");
        size += (size_t)got;
        request[size] = '\0';
        const char *body = strstr(request, "\r\n\r\n"),
                   *length = strcasestr(request, "content-length:");
        if (body && length)
            wanted = (size_t)(body + 4 - request) + strtoul(length + 15, NULL, 10);
    }
    return fd;
}

static void send_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);
        if (sent < 0)
            die("the answer");
        text += sent;
        size -= (size_t)sent;
    }
}

static void add_token(struct str *out, struct ethos_view token)
{
    json_t *json = json_pack("{s:[{s:i, s:{s:s%}}]}", "choices", "index", 0, "delta", "content",
                             token.data, token.size);
    char *text = json_dumps(json, JSON_COMPACT);
    str_printf(out, "data: %s\n\n", text);
    free(text);
    json_decref(json);
}

/* Sent by a process of its own: this one reads the terminal, or it would fill. */
static void answer(int fd, struct ethos_view text, bool paced)
{
    static const char head[] =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    static const char end[] =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
        "data: [DONE]\n\n";
    struct str out;
    if (fork() != 0) {
        close(fd);
        return;
    }
    str_init(&out, 67108864);
    str_adds(&out, head);
    for (size_t at = 0; at < text.size; at += TOKEN) {
        add_token(&out, view_of(text.data + at, text.size - at < TOKEN ? text.size - at : TOKEN));
        if (!paced)
            continue;
        send_all(fd, out.data, out.size);
        str_clear(&out);
        usleep(1000);
    }
    str_adds(&out, end);
    send_all(fd, out.data, out.size);
    shutdown(fd, SHUT_RDWR);
    _exit(0);
}

static void start(struct place *place, const char *program)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    place->pid = forkpty(&place->terminal, NULL, NULL, &size);
    if (place->pid < 0)
        die("a terminal");
    if (place->pid == 0) {
        setenv("TERM", "xterm-256color", 1);
        execl(program, program, "chat", (char *)NULL);
        _exit(127);
    }
    await(place, "/help");
    await(place, "> ");
}

/* Seconds from Enter to the whole request. */
static double round_trip(struct place *place, struct ethos_view text, bool paced)
{
    const char message[] = "When do we deploy?";
    if (write(place->terminal, message, sizeof message - 1) < 0)
        die("the terminal");
    await(place, message);
    usleep(50000); // nobody presses Enter sooner
    double begin = seconds(CLOCK_MONOTONIC);
    if (write(place->terminal, "\r", 1) < 0)
        die("the terminal");
    int fd = accept_request(place);
    double taken = seconds(CLOCK_MONOTONIC) - begin;
    answer(fd, text, paced);
    await(place, "tokens in");
    await(place, "> ");
    return taken;
}

static double processor_seconds(pid_t pid)
{
    clockid_t clock;
    return clock_getcpuclockid(pid, &clock) == 0 ? seconds(clock) : 0;
}

/* Microseconds of processor per token of an answer. */
static double program(struct place *place, struct ethos_view text, bool paced)
{
    double before = processor_seconds(place->pid);
    round_trip(place, text, paced);
    return (processor_seconds(place->pid) - before) * 1e6 / (double)(text.size / TOKEN);
}

int main(int argc, char **argv)
{
    struct place place = {0};
    struct str text;
    char url[64];
    static double enter[MAX_ROUNDS];
    if (argc < 3) {
        fputs("usage: chat ETHOS TEXT [ROUNDS]\n", stderr);
        return 2;
    }
    size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 50;
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    str_init(&text, MAX_TEXT);
    str_init(&place.shown, (size_t)1 << 30);
    int file = open(argv[2], O_RDONLY);
    if (file < 0 || os_read_all(file, &text, MAX_TEXT) != 0)
        die(argv[2]);
    int out = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    double one = rows(str_view(&text), 1), four = rows(str_view(&text), 4);
    dup2(out, STDOUT_FILENO);
    printf("rows: %.1f us of processor per token, %.1f with a frame for four of them\n", one, four);
    open_model(&place, url, sizeof url);
    set(argv[1], "provider", "openai-compat");
    set(argv[1], "model", "stub");
    set(argv[1], "baseUrl", url);
    start(&place, argv[1]);
    round_trip(&place, VIEW("ok"), false);
    for (size_t i = 0; i < rounds; i++)
        enter[i] = round_trip(&place, VIEW("ok"), false);
    qsort(enter, rounds, sizeof *enter, compare);
    printf("Enter to the request: median %.2f ms, p90 %.2f ms\n", enter[rounds / 2] * 1e3,
           enter[rounds * 9 / 10] * 1e3);
    double at_once = program(&place, str_view(&text), false),
           paced = program(&place, str_view(&text), true);
    printf("the program: %.1f us of processor per token that arrive at once, %.1f each for itself, "
           "%zu tokens\n",
           at_once, paced, text.size / TOKEN);
    kill(place.pid, SIGTERM);
    return 0;
}
