/*
 * spread_seen.c: servers on one PostgreSQL: what is changed through one is seen through the others.
 *
 * Two have their whole memory there, the third one only that of a personality, the rest in files. A client
 * follows the events of each. Every change must come to all of them, once and in order, whichever server it
 * was made through, also when the database was restarted between as after a crash; and the timeline
 * of each shows all changes.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spread.h"

#define SERVERS 3
#define PATIENCE_US 30000000
#define TRIES 300 /* of one change, while the database is away; a pause before each */
#define PAUSE_US 100000
#define STREAM_BYTES 1048576

/* What came on a stream, as it came. */
struct stream {
    int fd;
    char text[STREAM_BYTES];
    size_t size;
};

struct scene {
    struct home homes[SERVERS];
    struct server servers[SERVERS];
    struct stream *streams; /* one of each */
    unsigned made;          /* changes of personality p so far, the number of the last one */
};

/* ---- streams -------------------------------------------------------------------------------- */

static void stream_read(struct stream *stream, int most_ms)
{
    struct pollfd ready = {stream->fd, POLLIN, 0};
    if (stream->size == STREAM_BYTES - 1 || poll(&ready, 1, most_ms) <= 0)
        return;
    ssize_t got = recv(stream->fd, stream->text + stream->size, STREAM_BYTES - 1 - stream->size, 0);
    if (got > 0)
        stream->size += (size_t)got;
    stream->text[stream->size] = 0;
}

static bool stream_open(const struct server *server, struct stream *stream)
{
    int64_t end = proof_us() + PATIENCE_US;
    char *request = text_format("GET /events HTTP/1.1\r\nHost: localhost:%u\r\n"
                                "Authorization: Bearer %s\r\n\r\n",
                                server->port, server->key);
    stream->fd = server_connect(server);
    bool sent = stream->fd >= 0 && send(stream->fd, request, strlen(request), MSG_NOSIGNAL) ==
                                       (ssize_t)strlen(request);
    free(request);
    while (sent && !strstr(stream->text, "\"hello\"") && proof_us() < end)
        stream_read(stream, 100);
    return sent && strstr(stream->text, "\"hello\"");
}

/* The number of the last change of a personality that was told; 0: none, or one is missing before it. */
static unsigned last_told(const struct stream *stream, const char *personality)
{
    unsigned long last = 0;
    char *mark = text_format("\"scope\":\"personality:%s\",\"key\":\"MEMORY.md\"", personality);
    for (const char *at = stream->text; (at = strstr(at, mark)); at += strlen(mark)) {
        const char *member = strstr(at, "\"number\":");
        unsigned long number = member ? strtoul(member + 9, NULL, 10) : 0;
        if (number == 0 || (last && number != last + 1)) {
            last = 0;
            break;
        }
        last = number;
    }
    free(mark);
    return (unsigned)last;
}

static bool await_told(struct stream *stream, const char *personality, unsigned number)
{
    int64_t end = proof_us() + PATIENCE_US;
    while (last_told(stream, personality) != number && proof_us() < end)
        stream_read(stream, 100);
    return last_told(stream, personality) == number;
}

/* ---- asking --------------------------------------------------------------------------------- */

static unsigned post(const struct server *server, const char *path, const char *json, char **out)
{
    int fd = server_connect(server);
    unsigned status = fd >= 0 ? server_post(server, fd, path, json, out) : 0;
    if (fd >= 0)
        close(fd);
    return status;
}

/* Until it is done; the operation id makes that harmless. */
static bool add(const struct server *server, const char *personality, unsigned number)
{
    char *json = text_format("{\"json\":{\"personalityId\":\"%s\",\"opId\":\"seen-%s-%u\","
                             "\"updates\":[{\"action\":\"add\",\"content\":\"e-%u\"}]}}",
                             personality, personality, number, number);
    unsigned status = 0;
    for (unsigned tries = 0; status != 200 && tries < TRIES; tries++) {
        status = post(server, "/rpc/memory/sync", json, NULL);
        if (status != 200)
            proof_sleep_us(PAUSE_US);
    }
    free(json);
    return status == 200;
}

/* How many changes of personality p the timeline of a server has. */
static unsigned count_timeline(const struct server *server)
{
    char *answer = NULL;
    unsigned count = 0;
    post(server, "/rpc/memory/timeline", "{\"json\":{}}", &answer);
    for (const char *at = answer; at && (at = strstr(at, "\"personality:p\"")); at++)
        count++;
    free(answer);
    return count;
}

/* ---- the scene ------------------------------------------------------------------------------ */

static void configure(struct pg_server *database, const struct home *home, bool whole)
{
    char *folder = text_format("%s/personalities", home->path);
    char *below = text_format("%s/p", folder);
    char *path = text_format("%s/config.yaml", whole ? home->path : below);
    if (!whole && (mkdir(folder, 0700) != 0 || mkdir(below, 0700) != 0))
        proof_die("mkdir");
    spread_configure(path, "postgres", database->url);
    free(path);
    free(below);
    free(folder);
}

/* One change through each server; every stream must have it before the next one is made. */
static void round_of(struct scene *scene, const char *when)
{
    for (unsigned writer = 0; writer < SERVERS; writer++) {
        unsigned missed = 0;
        bool done = add(&scene->servers[writer], "p", ++scene->made);
        for (unsigned i = 0; done && i < SERVERS; i++)
            missed += !await_told(&scene->streams[i], "p", scene->made);
        proof_say(done && missed == 0,
                  "spread: %s, a change through server %u is told by %u of %u servers", when,
                  writer + 1, done ? SERVERS - missed : 0, SERVERS);
    }
}

/* A server hears of what happens from some moment on after its start. */
static void warm_up(struct scene *scene)
{
    unsigned number = 0;
    for (unsigned i = 0; i < SERVERS; i++)
        while (!strstr(scene->streams[i].text, "\"personality:p\"") && number < TRIES) {
            if (!add(&scene->servers[0], "p", ++number))
                proof_die("add");
            stream_read(&scene->streams[i], 200);
        }
    scene->made = number;
}

static void open_all(struct pg_server *database, struct scene *scene)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        place_make(&scene->homes[i], PLACE_DISK);
        configure(database, &scene->homes[i], i < 2);
        server_key(&scene->servers[i], &scene->homes[i]);
        server_start(&scene->servers[i], &scene->homes[i]);
        if (!stream_open(&scene->servers[i], &scene->streams[i]))
            proof_die("no stream of events");
    }
}

static void close_all(struct scene *scene)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        close(scene->streams[i].fd);
        int end = server_end(&scene->servers[i], SIGTERM);
        proof_say(end == 0, "spread: server %u ends with %d", i + 1, end);
        place_remove(&scene->homes[i]);
    }
    free(scene->streams);
}

void spread_seen(struct pg_server *database)
{
    struct scene scene = {.streams = calloc(SERVERS, sizeof *scene.streams)};
    if (!scene.streams)
        proof_die("out of memory");
    open_all(database, &scene);
    warm_up(&scene);
    round_of(&scene, "at first");
    pg_server_end(database, SIGQUIT);
    pg_server_again(database);
    round_of(&scene, "after the database was restarted");
    for (unsigned i = 0; i < SERVERS; i++)
        proof_say(count_timeline(&scene.servers[i]) == scene.made,
                  "spread: the timeline of server %u has %u of %u changes", i + 1,
                  count_timeline(&scene.servers[i]), scene.made);
    bool own = add(&scene.servers[2], "q", 1) && await_told(&scene.streams[2], "q", 1);
    proof_say(own && last_told(&scene.streams[0], "q") == 0,
              "spread: what a server keeps in files is told by it alone");
    close_all(&scene);
}
