/*
 * crowd.c: a client that behaves, alone and among a thousand that do not.
 *
 * The crowd opens connections and says nothing, half a line, half of its headers or half of a body; asks for
 * a large answer and reads a byte now and then; follows the events and reads nothing; sends a body byte by
 * byte. Whoever is put out comes back. The statement is what the one that behaves notices: whether it is
 * answered, and how much longer the slowest of a hundred of its answers take.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/server.h"

#define LARGE 400000      /* bytes of the file that slow readers ask for */
#define SMALL_WINDOW 2048 /* bytes that they take at once */
#define PAUSE_US 100000   /* between two bytes */
#define EVERY_US 1000     /* between two requests of the one that behaves */
#define ROUNDS 3          /* of measuring, alone and in the crowd in turn */
#define MOST_RATIO 5      /* of the 99th percentiles, in the long form */

/* What parent and crowd share. */
struct crowd {
    struct server server;
    unsigned half, slow; /* how many there are of each */
    volatile unsigned here, put_out;
};

/* ---- the crowd --------------------------------------------------------------------------------- */

struct member {
    int fd;
    unsigned kind; /* what it says */
};

#define JSON_BODY "Content-Type: application/json\r\nContent-Length: 90000\r\n\r\n{"

/* What each kind says: a line, who it is, and the rest. Those from HALF_KINDS on are heard. */
static const struct {
    const char *line;
    bool named;
    const char *rest;
} says[] = {
    {"", false, ""},
    {"GET /api/mem", false, ""},
    {"GET /api/memory/get HTTP/1.1\r\n", true, "X-"},
    {"POST /rpc/memory/get HTTP/1.1\r\n", true, JSON_BODY},
    {"GET /api/memory/get?store=user HTTP/1.1\r\n", true, "\r\n"},
    {"GET /events HTTP/1.1\r\n", true, "\r\n"},
    {"POST /rpc/memory/get HTTP/1.1\r\n", true, JSON_BODY},
};

static char *text_of(const struct crowd *crowd, unsigned kind)
{
    char *who = says[kind].named ? text_format("Host: 127.0.0.1:%u\r\nAuthorization: Bearer %s\r\n",
                                               crowd->server.port, crowd->server.key)
                                 : NULL;
    char *text = text_format("%s%s%s", says[kind].line, who ? who : "", says[kind].rest);
    free(who);
    return text;
}
#define HALF_KINDS 4
#define SLOW_KINDS 3 /* after those */

static bool is_dripping(const struct member *member)
{
    return member->kind == HALF_KINDS + 2;
}

static void come(const struct crowd *crowd, struct member *member)
{
    const int window = SMALL_WINDOW;
    char *text = text_of(crowd, member->kind);
    member->fd = server_connect(&crowd->server);
    if (member->fd >= 0) {
        setsockopt(member->fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
        fcntl(member->fd, F_SETFL, O_NONBLOCK);
        (void)!send(member->fd, text, strlen(text), MSG_NOSIGNAL);
    }
    free(text);
}

/* False: it was put out. Those that read take a byte, those that send give one. */
static bool linger(struct member *member)
{
    char byte;
    if (is_dripping(member) && send(member->fd, " ", 1, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
        return false;
    int flags = member->kind == HALF_KINDS ? 0 : MSG_PEEK;
    ssize_t got = recv(member->fd, &byte, 1, flags);
    return got > 0 || (got < 0 && errno == EAGAIN);
}

static int be_a_crowd(void *arg)
{
    struct crowd *crowd = arg;
    unsigned count = crowd->half + crowd->slow;
    struct member *members = calloc(count, sizeof *members);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; members && i < count; i++) {
        members[i].kind = i < crowd->half ? i % HALF_KINDS : HALF_KINDS + i % SLOW_KINDS;
        come(crowd, &members[i]);
        crowd->here++;
    }
    while (members) {
        for (unsigned i = 0; i < count; i++) {
            if (members[i].fd >= 0 && linger(&members[i]))
                continue;
            if (members[i].fd >= 0)
                close(members[i].fd);
            crowd->put_out++;
            come(crowd, &members[i]);
        }
        proof_sleep_us(PAUSE_US);
    }
    return 0;
}

/* ---- the one that behaves ---------------------------------------------------------------------- */

struct figures {
    unsigned count, refused;
    int64_t *us;
};

static void ask(const struct server *server, unsigned count, struct figures *figures)
{
    int fd = server_connect(server);
    for (unsigned i = 0; i < count; i++) {
        int64_t start = proof_us();
        bool write = i % 50 == 49;
        unsigned status = fd < 0  ? 0
                          : write ? server_post(server, fd, "/rpc/memory/add",
                                                "{\"json\":{\"content\":\"A line.\"}}", NULL)
                                  : server_post(server, fd, "/rpc/memory/get",
                                                "{\"json\":{\"store\":\"memory\"}}", NULL);
        figures->refused += status != 200;
        if (!write)
            figures->us[figures->count++] = proof_us() - start;
        proof_sleep_us(EVERY_US);
        if (status == 0) {
            if (fd >= 0)
                close(fd);
            fd = server_connect(server);
        }
    }
    if (fd >= 0)
        close(fd);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t percentile(struct figures *figures, unsigned percent)
{
    qsort(figures->us, figures->count, sizeof *figures->us, compare);
    return figures->us[figures->count * percent / 100];
}

/* ---- both --------------------------------------------------------------------------------------- */

/* A file that slow readers need long for. */
static void fill(const struct server *server)
{
    char *line = malloc(LARGE + 1);
    int fd = server_connect(server);
    if (!line)
        proof_die("memory");
    memset(line, 'x', LARGE);
    line[LARGE] = 0;
    char *body = text_format("{\"json\":{\"store\":\"user\",\"content\":\"%s\"}}", line);
    if (server_post(server, fd, "/rpc/memory/add", body, NULL) != 200)
        proof_die("the large file");
    free(body);
    free(line);
    close(fd);
}

static pid_t start_crowd(struct crowd *crowd)
{
    crowd->here = 0;
    pid_t pid = child_start(be_a_crowd, crowd);
    while (crowd->here < crowd->half + crowd->slow)
        proof_sleep_us(PAUSE_US);
    return pid;
}

static void prove(unsigned half, unsigned slow, unsigned requests)
{
    struct home home;
    struct crowd *crowd = shared_make(sizeof *crowd);
    struct figures alone = {.us = calloc(ROUNDS * requests, sizeof(int64_t))};
    struct figures among = {.us = calloc(ROUNDS * requests, sizeof(int64_t))};
    place_make(&home, PLACE_MEMORY);
    server_key(&crowd->server, &home);
    server_start(&crowd->server, &home);
    crowd->half = half;
    crowd->slow = slow;
    fill(&crowd->server);
    for (unsigned i = 0; i < ROUNDS; i++) {
        ask(&crowd->server, requests, &alone);
        pid_t pid = start_crowd(crowd);
        ask(&crowd->server, requests, &among);
        kill(pid, SIGKILL);
        child_wait(pid);
    }
    int64_t before = percentile(&alone, 99), after = percentile(&among, 99);
    double ratio = before > 0 ? (double)after / (double)before : 0;
    proof_say(alone.refused + among.refused == 0,
              "crowd: %u requests alone, as many among %u half-open and %u slow clients (%u put "
              "out), %u refused",
              ROUNDS * requests, half, slow, crowd->put_out, alone.refused + among.refused);
    proof_say(!proof_long() || ratio <= MOST_RATIO,
              "crowd: of the reads 50 %% take %lld us alone and %lld among them, 99 %% %lld and "
              "%lld, %.2f times",
              (long long)percentile(&alone, 50), (long long)percentile(&among, 50),
              (long long)before, (long long)after, ratio);
    proof_say(server_end(&crowd->server, SIGTERM) == 0,
              "crowd: the server ends when it is told to");
    place_remove(&home);
    free(alone.us);
    free(among.us);
}

int main(int argc, char **argv)
{
    struct rlimit files = {8192, 8192};
    proof_begin(argc, argv);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    prove(proof_number("half", 200, 1000), proof_number("slow", 30, 100),
          proof_number("requests", 500, 10000));
    return proof_end();
}
