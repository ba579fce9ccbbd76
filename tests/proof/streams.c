/*
 * streams.c: a thousand clients follow the events of a home while others write to it.
 *
 * The server is the real one. Every client must see the number of every change, once and in order; some
 * drop their connection in the middle, some of them in the middle of an event, and come back with the
 * last id they have. What the server needs for all of this in memory is part of the statement.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/server.h"

#define WRITERS 8
#define MOST_RSS_KB 65536
#define PATIENCE_US 120000000 /* before a client that waits in vain is given up */
#define RETRY_US 200000       /* after which a client that was refused comes back */
#define LINE_SIZE 4096
#define PIECE                                                                                      \
    512 /* bytes at most that one who will leave reads at a time, so as to stop anywhere */

/* A text as large as they get before their oldest entries are put elsewhere, and what is done to it. */
#define LARGE 20000 /* entries */
#define LARGE_ADDS 20
#define LARGE_RSS_KB 32768

/* What writers and the parent share. */
struct count {
    unsigned acknowledged[WRITERS], refused[WRITERS];
};

/* A client takes its stream apart as bytes come: head, chunks, lines. */
enum part { PART_HEAD, PART_SIZE, PART_DATA, PART_AFTER };

struct client {
    int fd;
    enum part part;
    size_t chunk; /* bytes left of it */
    char line[LINE_SIZE];
    size_t used;
    char id[64], pending[64]; /* of the last whole event; of the one that is being read */
    bool greeted;
    bool refused;     /* the answer is no stream */
    int64_t back_us;  /* when it comes back; 0: it is here */
    unsigned number;  /* of the last change */
    unsigned coming;  /* of the one in the event that is being read; 0: none */
    unsigned drop_at; /* the change after which it leaves; 0: never (again) */
    unsigned drops, gaps, resets, torn, refusals;
};

struct load {
    struct home home;
    struct server server;
    struct client *clients;
    unsigned count, greeted, reached, goal;
    int poll;
};

/* ---- the server -------------------------------------------------------------------------------- */

static int connect_to(const struct server *server)
{
    int fd = server_connect(server);
    if (fd < 0)
        proof_die("connect");
    return fd;
}

static void send_all(int fd, const char *text)
{
    size_t size = strlen(text);
    if (send(fd, text, size, MSG_NOSIGNAL) != (ssize_t)size)
        proof_die("send");
}

/* A member of /proc/PID/status in kB. */
static unsigned memory_of(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    char *status = path_read(path, NULL);
    const char *at = status ? strstr(status, name) : NULL;
    unsigned kb = at ? (unsigned)strtoul(at + strlen(name) + 1, NULL, 10) : 0;
    free(status);
    return kb;
}

/* ---- writing ----------------------------------------------------------------------------------- */

struct writer {
    const struct load *load;
    struct count *count;
    unsigned number, adds, every_us;
};

/* A process that was forked holds the streams too: a client that leaves would not have closed its own. */
static void forget_streams(const struct load *load)
{
    for (unsigned i = 0; i < load->count; i++)
        if (!load->clients[i].back_us)
            close(load->clients[i].fd);
}

static int write_entries(void *arg)
{
    struct writer *self = arg;
    const struct server *server = &self->load->server;
    forget_streams(self->load);
    int fd = connect_to(server);
    int64_t next = proof_us();
    for (unsigned i = 0; i < self->adds; i++) {
        char *body = text_format("{\"json\":{\"content\":\"agent-%u-%u\"}}", self->number, i);
        bool done = server_post(server, fd, "/rpc/memory/add", body, NULL) == 200;
        self->count->acknowledged[self->number] += done;
        self->count->refused[self->number] += !done;
        free(body);
        next += self->every_us;
        int64_t rest = next - proof_us();
        if (rest > 0)
            proof_sleep_us((unsigned)rest);
    }
    return 0;
}

/* ---- following --------------------------------------------------------------------------------- */

static void open_stream(struct load *load, struct client *client)
{
    struct epoll_event event = {EPOLLIN, {.ptr = client}};
    client->fd = connect_to(&load->server);
    client->part = PART_HEAD;
    client->used = client->chunk = 0;
    client->pending[0] = 0;
    client->coming = 0;
    client->refused = false;
    char *last = *client->id ? text_format("Last-Event-ID: %s\r\n", client->id) : strdup("");
    char *request = text_format("GET /events HTTP/1.1\r\nHost: localhost:%u\r\n"
                                "Authorization: Bearer %s\r\n%s\r\n",
                                load->server.port, load->server.key, last);
    send_all(client->fd, request);
    free(request);
    free(last);
    fcntl(client->fd, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(load->poll, EPOLL_CTL_ADD, client->fd, &event) != 0)
        proof_die("epoll_ctl");
}

/* Leaves without a word, to come back at once; where there was no room, later. */
static void leave(struct client *client)
{
    client->torn += !client->refused && (client->used > 0 || *client->pending);
    client->drops += !client->refused;
    client->refusals += client->refused;
    client->back_us = proof_us() + (client->refused ? RETRY_US : 0);
    close(client->fd);
}

static void come_back(struct load *load)
{
    int64_t now = proof_us();
    for (unsigned i = 0; i < load->count; i++) {
        struct client *client = &load->clients[i];
        if (!client->back_us || client->back_us > now)
            continue;
        client->back_us = 0;
        open_stream(load, client);
    }
}

static void take_change(struct load *load, struct client *client)
{
    client->gaps += client->coming != client->number + 1;
    client->number = client->coming;
    client->coming = 0;
    load->reached += client->number == load->goal && load->goal;
}

/* One line of an event. */
static void take_line(struct load *load, struct client *client)
{
    char *line = client->line;
    line[client->used] = 0;
    client->used = 0;
    const char *number = strstr(line, "\"number\":");
    if (strncmp(line, "id: ", 4) == 0) {
        snprintf(client->pending, sizeof client->pending, "%.60s", line + 4);
    } else if (strncmp(line, "data: ", 6) == 0 && strstr(line, "\"type\":\"hello\"")) {
        load->greeted += !client->greeted;
        client->greeted = true;
    } else if (strncmp(line, "data: ", 6) == 0 && strstr(line, "\"type\":\"reset\"")) {
        client->resets++;
    } else if (strstr(line, "\"type\":\"memory.changed\"") && number) {
        client->coming = (unsigned)strtoul(number + 9, NULL, 10);
    } else if (!*line && *client->pending) {
        memcpy(client->id, client->pending, sizeof client->id);
        client->pending[0] = 0;
        if (client->coming)
            take_change(load, client);
    }
}

static void take_text(struct load *load, struct client *client, char c)
{
    if (c == '\n')
        take_line(load, client);
    else if (client->used + 1 < LINE_SIZE)
        client->line[client->used++] = c;
}

/* Head and sizes of chunks end with CR LF. True: the line is whole, in client->line. */
static bool take_frame_line(struct client *client, char c)
{
    if (c != '\n') {
        if (client->used + 1 < LINE_SIZE)
            client->line[client->used++] = c;
        return false;
    }
    if (client->used > 0 && client->line[client->used - 1] == '\r')
        client->used--;
    client->line[client->used] = 0;
    return true;
}

/* What is left of an event's line while the size of the next chunk is read is kept beside it. */
struct cut {
    char line[LINE_SIZE];
    size_t used;
};

static void take_byte(struct load *load, struct client *client, struct cut *cut, char c)
{
    switch (client->part) {
    case PART_HEAD:
        if (take_frame_line(client, c)) {
            client->refused |= strncmp(client->line, "HTTP/1.1 ", 9) == 0 &&
                               strncmp(client->line, "HTTP/1.1 200", 12) != 0;
            client->part = client->used ? PART_HEAD : PART_SIZE;
            client->used = 0;
        }
        break;
    case PART_SIZE:
        if (take_frame_line(client, c)) {
            client->chunk = strtoul(client->line, NULL, 16);
            client->part = client->chunk ? PART_DATA : PART_SIZE;
            memcpy(client->line, cut->line, cut->used);
            client->used = cut->used;
        }
        break;
    case PART_DATA:
        take_text(load, client, c);
        client->part = --client->chunk ? PART_DATA : PART_AFTER;
        break;
    case PART_AFTER:
        if (c != '\n')
            break;
        memcpy(cut->line, client->line, client->used);
        cut->used = client->used;
        client->used = 0;
        client->part = PART_SIZE;
        break;
    }
}

static struct cut *cuts; /* one for each client */

static void read_stream(struct load *load, struct client *client)
{
    char bytes[65536];
    struct cut *cut = &cuts[client - load->clients];
    if (client->part == PART_HEAD && client->used == 0)
        cut->used = 0;
    if (client->back_us)
        return; // an event of the connection that it left
    size_t most = client->drop_at ? 1 + proof_random(PIECE) : sizeof bytes;
    ssize_t got = recv(client->fd, bytes, most, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    for (ssize_t i = 0; i < got; i++)
        take_byte(load, client, cut, bytes[i]);
    bool leaves = client->drop_at && client->number >= client->drop_at;
    if (leaves)
        client->drop_at = 0;
    if (got <= 0 || leaves || client->refused)
        leave(client);
}

static void run_loop(struct load *load, int64_t patience_us, bool (*done)(const struct load *load))
{
    struct epoll_event events[256];
    int64_t end = proof_us() + patience_us;
    while (!done(load) && proof_us() < end) {
        int count = epoll_wait(load->poll, events, 256, 100);
        for (int i = 0; i < count; i++)
            read_stream(load, events[i].data.ptr);
        come_back(load);
    }
}

static bool all_greeted(const struct load *load)
{
    return load->greeted == load->count;
}

static bool all_reached(const struct load *load)
{
    return load->reached >= load->count;
}

/* ---- the statement ------------------------------------------------------------------------------- */

static void make_clients(struct load *load)
{
    load->poll = epoll_create1(EPOLL_CLOEXEC);
    load->clients = calloc(load->count, sizeof *load->clients);
    cuts = calloc(load->count, sizeof *cuts);
    if (load->poll < 0 || !load->clients || !cuts)
        proof_die("clients");
}

static void drop_clients(struct load *load)
{
    for (unsigned i = 0; i < load->count; i++)
        if (!load->clients[i].back_us)
            close(load->clients[i].fd);
    close(load->poll);
    free(load->clients);
    free(cuts);
}

static bool is_told(const struct load *load)
{
    return load->clients->number > 0;
}

/* Who comes before the server watches is told to load everything: rightly, and it is not what this is about. */
static void wait_for_events(const struct server *server)
{
    static const char entry[] = "{\"json\":{\"store\":\"user\",\"content\":\"is anybody there\"}}";
    struct load load = {.server = *server, .count = 1};
    make_clients(&load);
    open_stream(&load, load.clients);
    int fd = connect_to(server);
    for (unsigned tries = 0; tries < 100 && !is_told(&load); tries++) {
        server_post(server, fd, "/rpc/memory/add", entry, NULL);
        run_loop(&load, RETRY_US, is_told);
    }
    close(fd);
    drop_clients(&load);
}

static void open_clients(struct load *load, unsigned changes)
{
    make_clients(load);
    for (unsigned i = 0; i < load->count; i++) {
        if (i % 10 == 3)
            load->clients[i].drop_at = 1 + proof_random(changes);
        open_stream(load, &load->clients[i]);
    }
    run_loop(load, PATIENCE_US, all_greeted);
}

static void say(const struct load *load, unsigned rate, double seconds, unsigned refused)
{
    unsigned whole = 0, drops = 0, resets = 0, gaps = 0, torn = 0, full = 0;
    for (unsigned i = 0; i < load->count; i++) {
        const struct client *client = &load->clients[i];
        whole += client->number == load->goal && !client->gaps;
        drops += client->drops;
        resets += client->resets;
        gaps += client->gaps;
        torn += client->torn;
        full += client->refusals;
    }
    unsigned peak = memory_of(load->server.pid, "VmHWM:");
    proof_say(whole == load->count && !gaps && !resets && !refused,
              "streams: %u clients, %u changes at %u/s in %.1f s; %u clients saw every one, "
              "%u times one came back (%u in the middle of an event, %u refusals), %u gaps, "
              "%u resets",
              load->count, load->goal, rate, seconds, whole, drops, torn, full, gaps, resets);
    proof_say(peak > 0 && peak < MOST_RSS_KB, "streams: the server had at most %u kB of memory",
              peak);
}

static void prove(unsigned clients, unsigned changes, unsigned rate)
{
    struct load load = {.count = clients, .goal = changes / WRITERS * WRITERS};
    struct count *count = shared_make(sizeof *count);
    struct writer writers[WRITERS];
    pid_t pids[WRITERS];
    unsigned refused = 0;
    place_make(&load.home, PLACE_DISK);
    server_key(&load.server, &load.home);
    server_start(&load.server, &load.home);
    wait_for_events(&load.server);
    open_clients(&load, load.goal);
    int64_t start = proof_us();
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){&load, count, i, changes / WRITERS, 1000000u * WRITERS / rate};
        pids[i] = child_start(write_entries, &writers[i]);
    }
    run_loop(&load, PATIENCE_US, all_reached);
    double seconds = (double)(proof_us() - start) / 1e6;
    for (unsigned i = 0; i < WRITERS; i++) {
        child_wait(pids[i]);
        refused += count->refused[i];
    }
    say(&load, rate, seconds, refused);
    drop_clients(&load);
    proof_say(server_end(&load.server, SIGTERM) == 0,
              "streams: the server ends when it is told to");
    place_remove(&load.home);
}

/* ---- large texts --------------------------------------------------------------------------------- */

static void write_large(const struct load *load)
{
    static const char entry[] = "- an entry like any other\\n"; // as JSON has it
    char *text = calloc(LARGE, sizeof entry);
    if (!text)
        proof_die("calloc");
    for (unsigned i = 0; i < LARGE; i++)
        memcpy(text + i * (sizeof entry - 1), entry, sizeof entry);
    char *body = text_format("{\"json\":{\"store\":\"memory\",\"content\":\"%s\"}}", text);
    int fd = connect_to(&load->server);
    if (server_post(&load->server, fd, "/rpc/memory/write", body, NULL) != 200)
        proof_die("memory/write");
    close(fd);
    free(body);
    free(text);
}

/* Many threads of the server have had a large text; when they are done, none keeps its room. */
static void prove_large(void)
{
    struct load load = {0};
    struct count *count = shared_make(sizeof *count);
    struct writer writers[WRITERS];
    pid_t pids[WRITERS];
    place_make(&load.home, PLACE_DISK);
    server_key(&load.server, &load.home);
    server_start(&load.server, &load.home);
    write_large(&load);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){&load, count, i, LARGE_ADDS, 0};
        pids[i] = child_start(write_entries, &writers[i]);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        child_wait(pids[i]);
    unsigned now = memory_of(load.server.pid, "VmRSS:");
    proof_say(now > 0 && now < LARGE_RSS_KB,
              "streams: %u clients added to a text of %u entries; the server has %u kB of memory",
              WRITERS, LARGE, now);
    server_end(&load.server, SIGTERM);
    place_remove(&load.home);
}

int main(int argc, char **argv)
{
    struct rlimit files = {8192, 8192};
    proof_begin(argc, argv);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    prove(proof_number("clients", 100, 1000), proof_number("changes", 400, 12000),
          proof_number("rate", 200, 200));
    prove_large();
    return proof_end();
}
