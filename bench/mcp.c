/*
 * mcp.c: one client, two servers: ethos mcp, and @modelcontextprotocol/server-memory from npm.
 *
 * Both are asked the same: to start and list their tools; to read one note of many, from a server that
 * has just begun and from one that has long been there. What is not timed: its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define REPLY_BYTES 262144 /* more than any answer here */
#define STRIDE 7           /* from one note that is read to the next */

static const struct {
    bool peer;
    enum bench_shelf_name shelf; /* of ours */
    unsigned notes;
} servers[SERVERS] = {
    [SERVER_10] = {false, SHELF_10, 10},
    [SERVER_10000] = {false, SHELF_QUIET, 10000},
    [PEER_10] = {true, 0, 10},
    [PEER_10000] = {true, 0, 10000},
};

/* ---- starting -------------------------------------------------------------------------------- */

/* What the other program keeps: the same facts, a line for each note. */
static void fill_peer(const struct bench *bench, const char *path, unsigned notes)
{
    FILE *file = fopen(path, "w");
    if (!file)
        bench_die(bench, path);
    for (unsigned i = 0; i < notes; i++)
        fprintf(file,
                "{\"type\":\"entity\",\"name\":\"fact-%05u\",\"entityType\":\"project\","
                "\"observations\":[\"When the queue moves: where its address stands.\","
                "\"created: 2026-03-12\",\"verified: 2026-03-12\","
                "\"The address of the queue stands in the deployment notes.\"]}\n",
                i);
    if (fclose(file) != 0)
        bench_die(bench, path);
}

static void set_environment(struct bench *bench, int which)
{
    char path[PATH_MAX];
    if (!servers[which].peer) {
        if (setenv("ETHOS_HOME", shelf_home(bench, servers[which].shelf), 1) != 0)
            bench_die(bench, "setenv");
        return;
    }
    snprintf(path, sizeof path, "%s/peer-%u.jsonl", bench->root, servers[which].notes);
    if (access(path, F_OK) != 0)
        fill_peer(bench, path, servers[which].notes);
    if (setenv("MEMORY_FILE_PATH", path, 1) != 0)
        bench_die(bench, "setenv");
}

/* The command of a server; the peer runs in the Node that came with it. */
static void set_command(const struct bench *bench, int which, char paths[2][PATH_MAX],
                        char *argv[3])
{
    const char *peers = getenv("BENCH_PEERS");
    snprintf(paths[0], PATH_MAX, "%s/%s", servers[which].peer ? peers : bench->build,
             servers[which].peer ? "bin/node" : "bench/bin/ethos");
    snprintf(paths[1], PATH_MAX,
             "%s/node_modules/@modelcontextprotocol/server-memory/dist/index.js",
             peers ? peers : "");
    if (!servers[which].peer)
        snprintf(paths[1], PATH_MAX, "mcp");
    argv[0] = paths[0];
    argv[1] = paths[1];
    argv[2] = NULL;
}

static void spawn(struct bench *bench, int which, struct bench_server *server)
{
    char paths[2][PATH_MAX], *argv[3];
    int in[2], out[2];
    posix_spawn_file_actions_t actions;
    set_environment(bench, which);
    set_command(bench, which, paths, argv);
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        bench_die(bench, "pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    errno = posix_spawn(&server->pid, argv[0], &actions, NULL, argv, environ);
    if (errno)
        bench_die(bench, argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    server->in = in[1];
    server->out = out[0];
    server->reads = 0;
}

static void stop(struct bench_server *server)
{
    if (!server->pid)
        return;
    close(server->in);
    close(server->out);
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
}

/* ---- talking --------------------------------------------------------------------------------- */

static void tell(const struct bench *bench, const struct bench_server *server, const char *method,
                 const char *id, const char *params)
{
    char line[1024];
    int size = snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\"%s%s}\n", id,
                        method, *params ? ",\"params\":" : "", params);
    if (write(server->in, line, (size_t)size) != size)
        bench_die(bench, method);
}

/* Waits for the answer, which is one line and no error. */
static void hear(struct bench *bench, const struct bench_server *server, const char *method,
                 const char *expected)
{
    size_t size = 0;
    while (size == 0 || bench->buffer[size - 1] != '\n') {
        ssize_t got = read(server->out, bench->buffer + size, REPLY_BYTES - size);
        if (got <= 0)
            bench_die(bench, method);
        size += (size_t)got;
    }
    bench->buffer[size - 1] = 0;
    if (!strstr(bench->buffer, "\"result\"") || !strstr(bench->buffer, expected)) {
        errno = EBADMSG;
        bench_die(bench, bench->buffer);
    }
}

static void open_server(struct bench *bench, int which, struct bench_server *server)
{
    spawn(bench, which, server);
    tell(bench, server, "initialize", "\"id\":0,",
         "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
         "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}");
    hear(bench, server, "initialize", "protocolVersion");
    tell(bench, server, "notifications/initialized", "", "");
    tell(bench, server, "tools/list", "\"id\":1,", "");
    hear(bench, server, "tools/list", "inputSchema");
}

/* ---- operations ------------------------------------------------------------------------------ */

void servers_reap(struct bench *bench)
{
    stop(&bench->started);
}

void start_server(struct bench *bench, int arg, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        servers_reap(bench);
        open_server(bench, arg, &bench->started);
    }
}

/* One note after the other, so that nobody gains by keeping what he said last. */
static void read_notes(struct bench *bench, int arg, struct bench_server *server, unsigned count)
{
    char params[128];
    for (unsigned i = 0; i < count; i++) {
        unsigned which = server->reads++ * STRIDE % servers[arg].notes;
        snprintf(params, sizeof params,
                 servers[arg].peer
                     ? "{\"name\":\"open_nodes\",\"arguments\":{\"names\":[\"fact-%05u\"]}}"
                     : "{\"name\":\"note_read\",\"arguments\":{\"name\":\"fact-%05u\"}}",
                 which);
        tell(bench, server, "tools/call", "\"id\":2,", params);
        hear(bench, server, "tools/call", "The address of the queue");
    }
}

void read_note(struct bench *bench, int arg, unsigned count)
{
    struct bench_server *server = &bench->servers[arg];
    if (!server->pid)
        open_server(bench, arg, server);
    read_notes(bench, arg, server, count);
}

void read_fresh(struct bench *bench, int arg, unsigned count)
{
    read_notes(bench, arg, &bench->started, count);
}

void servers_close(struct bench *bench)
{
    servers_reap(bench);
    for (int i = 0; i < SERVERS; i++)
        stop(&bench->servers[i]);
}
