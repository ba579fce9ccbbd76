/*
 * postgres.c: memory in PostgreSQL against the bare statements, on a throwaway server.
 *
 *     bench-postgres [--rounds N]
 *
 * prefetch against one prepared SELECT of the same two rows; a sync that adds a paragraph, with an
 * operation id, against the transaction that a careful hand would send: BEGIN, INSERT of the id, UPDATE
 * where the version still is, INSERT of a row of history, COMMIT, each prepared. Both sides of a case run
 * one right after the other in random order, the ratio is taken inside the round, A/A pairs come first.
 * Nothing is judged: figures of a busy machine rank, they do not promise.
 */
#include <getopt.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ethos/ethos.h>

#include "../tests/modules/postgres.h"
#include "base/system/log.h"
#include "base/view.h"
#include "text.h"

#define LEAST_ROUNDS 30
#define MOST_ROUNDS 1000
#define TEXT_BYTES 20480
#define NOTE "The queue moved; its new address is in the deployment notes."

struct run {
    struct pg_server server;
    struct temp home;
    struct ethos *ethos;
    struct ethos_turn *turn;
    const char *scopes[2];
    PGconn *bare;
    struct ethos_view text;
    unsigned long operations;
};

static _Noreturn void die(struct run *run, const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    if (run->server.pid)
        pg_server_stop(&run->server);
    exit(1);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static const char *const bare_schema =
    "CREATE SCHEMA bare;"
    "CREATE TABLE bare.text (LIKE ethos.text INCLUDING ALL, version bigint NOT NULL);"
    "CREATE TABLE bare.history (LIKE ethos.history INCLUDING ALL);"
    "CREATE TABLE bare.operation (LIKE ethos.operation INCLUDING ALL)";

static const char *const statements[][2] = {
    {"select", "SELECT key, content FROM ethos.text WHERE scope = $1 AND key = $2"
               " OR scope = $3 AND key = $4"},
    {"begin", "BEGIN"},
    {"operation", "INSERT INTO bare.operation VALUES ($1, $2, $3, 1) ON CONFLICT DO NOTHING"},
    {"update", "UPDATE bare.text SET content = $3, time_ms = 1, revision = 'sha256:...',"
               " version = version + 1 WHERE scope = $1 AND key = $2 AND version = $4::int8"},
    {"history", "INSERT INTO bare.history (scope, number, token, time_ms, key, bytes_before,"
                " bytes_after, diff, diff_whole, plain) VALUES ($1, $2::int8, '', 1, $3, 1, 1, $4,"
                " true, true)"},
    {"commit", "COMMIT"},
};

static void prepare(struct run *run)
{
    PGresult *result = PQexec(run->bare, bare_schema);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        die(run, PQerrorMessage(run->bare));
    PQclear(result);
    PQclear(PQexec(run->bare, "SET plan_cache_mode = force_generic_plan"));
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        result = PQprepare(run->bare, statements[i][0], statements[i][1], 0, NULL);
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            die(run, PQerrorMessage(run->bare));
        PQclear(result);
    }
}

static PGresult *execute(struct run *run, const char *name, const struct ethos_view *values,
                         int count)
{
    const char *data[4] = {0};
    int lengths[4] = {0}, formats[4] = {0};
    for (int i = 0; i < count; i++) {
        data[i] = values[i].data;
        lengths[i] = (int)values[i].size;
        formats[i] = values[i].size > 4096; // bytes as they are; the rest are words
    }
    PGresult *result = PQexecPrepared(run->bare, name, count, data, lengths, formats, 1);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        die(run, PQerrorMessage(run->bare));
    return result;
}

static void bare_prefetch(struct run *run)
{
    const struct ethos_view names[] = {view_str(run->scopes[0]), VIEW("USER.md"),
                                       view_str(run->scopes[1]), VIEW("MEMORY.md")};
    PGresult *result = execute(run, "select", names, 4);
    if (PQntuples(result) != 2)
        die(run, "the bare SELECT finds not both");
    PQclear(result);
}

static void bare_sync(struct run *run)
{
    char id[32], version[32], number[32];
    snprintf(id, sizeof id, "bare-%lu", run->operations);
    snprintf(version, sizeof version, "%lu", run->operations);
    snprintf(number, sizeof number, "%lu", ++run->operations);
    struct ethos_view scope = view_str(run->scopes[1]), key = VIEW("MEMORY.md");
    PQclear(execute(run, "begin", NULL, 0));
    PQclear(execute(run, "operation",
                    (struct ethos_view[]){scope, view_str(id), VIEW("{\"opId\":\"bare\"}")}, 3));
    PGresult *result = execute(run, "update",
                               (struct ethos_view[]){scope, key, run->text, view_str(version)}, 4);
    if (strcmp(PQcmdTuples(result), "1") != 0)
        die(run, "the bare UPDATE finds another version");
    PQclear(result);
    PQclear(execute(run, "history",
                    (struct ethos_view[]){scope, view_str(number), key, VIEW("+" NOTE)}, 4));
    PQclear(execute(run, "commit", NULL, 0));
}

/* ---- through the library --------------------------------------------------------------------- */

static void our_prefetch(struct run *run)
{
    const struct ethos_prefetch_options options = {.guard = ETHOS_SWITCH_OFF};
    struct ethos_block *block;
    if (ethos_prefetch(run->turn, &options, &block, NULL) != ETHOS_OK || !block ||
        block->code != ETHOS_OK)
        die(run, "prefetch");
    ethos_block_free(block);
}

static void our_sync(struct run *run)
{
    char id[32];
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = VIEW(NOTE)};
    const struct ethos_origin origin = {.op_id = id};
    const struct ethos_sync_how how = {.origin = &origin};
    struct ethos_error error;
    static unsigned long count;
    snprintf(id, sizeof id, "ours-%lu", count++);
    if (ethos_sync(run->turn, &update, 1, &how, &error) != ETHOS_OK)
        die(run, error.text);
}

/* ---- both ------------------------------------------------------------------------------------ */

static void fill(struct run *run, const char *store)
{
    struct ethos_error error;
    if (ethos_write(run->turn, &(struct ethos_target){.store = store}, NULL, run->text, NULL,
                    &error) != ETHOS_OK)
        die(run, error.text);
}

/* Both texts as they were at first. */
static void restore(struct run *run)
{
    fill(run, "memory");
}

static void open_run(struct run *run)
{
    struct ethos_error error;
    struct ethos_store *store;
    pg_server_start(&run->server);
    temp_make(&run->home);
    temp_write(&run->home, "config.yaml", "workspaceMemory: off\n");
    run->text = text_make(TEXT_BYTES);
    if (pg_open_rows(&log_default_host, run->server.url, 10000, &store, &error) != ETHOS_OK)
        die(run, error.text);
    const struct ethos_options options = {.home = run->home.path, .store = store};
    if (ethos_open(&options, &run->ethos, &error) != ETHOS_OK ||
        ethos_turn_new(run->ethos, NULL, &run->turn, &error) != ETHOS_OK)
        die(run, error.text);
    run->scopes[0] = ethos_turn_context(run->turn)->user_scope;
    run->scopes[1] = ethos_turn_context(run->turn)->memory_scope;
    fill(run, "user");
    fill(run, "memory");
    run->bare = PQconnectdb(run->server.url);
    if (PQstatus(run->bare) != CONNECTION_OK)
        die(run, PQerrorMessage(run->bare));
    prepare(run);
    PQclear(PQexec(run->bare, "INSERT INTO bare.text SELECT *, 0 FROM ethos.text"));
}

static void close_run(struct run *run)
{
    PQfinish(run->bare);
    ethos_turn_free(run->turn);
    ethos_close(run->ethos);
    temp_remove(&run->home);
    pg_server_stop(&run->server);
}

/* ---- measuring ------------------------------------------------------------------------------- */

struct measured {
    const char *name;
    void (*floor)(struct run *run);
    void (*subject)(struct run *run);
    unsigned count;
    double target;
    double floors[MOST_ROUNDS], subjects[MOST_ROUNDS], ratios[MOST_ROUNDS];
};

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static double take(struct run *run, void (*operation)(struct run *), unsigned count)
{
    restore(run);
    double start = now();
    for (unsigned i = 0; i < count; i++)
        operation(run);
    return (now() - start) / count;
}

static void compare(struct run *run, struct measured *of, unsigned round)
{
    bool floor_first = random() & 1;
    if (floor_first)
        of->floors[round] = take(run, of->floor, of->count);
    of->subjects[round] = take(run, of->subject, of->count);
    if (!floor_first)
        of->floors[round] = take(run, of->floor, of->count);
    of->ratios[round] = of->subjects[round] / of->floors[round];
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double part(double *values, unsigned count, double at)
{
    qsort(values, count, sizeof *values, ascending);
    return values[(unsigned)(at * (count - 1) + 0.5)];
}

static void report(struct measured *of, unsigned rounds)
{
    printf("%-26s %9.1f %9.1f   %5.2f  [%.2f, %.2f]", of->name, part(of->floors, rounds, 0.5) * 1e6,
           part(of->subjects, rounds, 0.5) * 1e6, part(of->ratios, rounds, 0.5),
           part(of->ratios, rounds, 0.25), part(of->ratios, rounds, 0.75));
    if (of->target > 0)
        printf("  target %.1f", of->target);
    putchar('\n');
}

static unsigned parse(int argc, char **argv)
{
    static const struct option options[] = {{"rounds", required_argument, NULL, 'r'}, {0}};
    unsigned rounds = LEAST_ROUNDS;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option != 'r')
            exit(2);
        rounds = (unsigned)strtoul(optarg, NULL, 10);
    }
    if (rounds < LEAST_ROUNDS || rounds > MOST_ROUNDS) {
        fprintf(stderr, "bench: between %d and %d rounds\n", LEAST_ROUNDS, MOST_ROUNDS);
        exit(2);
    }
    return rounds;
}

int main(int argc, char **argv)
{
    static struct measured cases[] = {
        {"A/A: bare SELECT", bare_prefetch, bare_prefetch, 200, 0, {0}, {0}, {0}},
        {"A/A: bare transaction", bare_sync, bare_sync, 10, 0, {0}, {0}, {0}},
        {"prefetch 2 x 20 KB", bare_prefetch, our_prefetch, 200, 1.3, {0}, {0}, {0}},
        {"sync to 20 KB", bare_sync, our_sync, 10, 1.3, {0}, {0}, {0}},
    };
    size_t count = sizeof cases / sizeof *cases;
    unsigned rounds = parse(argc, argv);
    struct run run = {0};
    double load[2] = {0};
    open_run(&run);
    srandom((unsigned)time(NULL));
    getloadavg(&load[0], 1);
    for (unsigned round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++)
            compare(&run, &cases[(i + round) % count], round);
    getloadavg(&load[1], 1);
    printf("%-26s %9s %9s   %s\n", "", "bare us", "ethos us", "ratio, median [quartiles]");
    for (size_t i = 0; i < count; i++)
        report(&cases[i], rounds);
    printf("%u rounds, load %.2f to %.2f\n", rounds, load[0], load[1]);
    close_run(&run);
    return 0;
}
