/*
 * spread.c: clients of two servers, on one PostgreSQL, while everything is cut and restarted.
 *
 *     spread [--long] [--only seen|faults|naive]
 *
 *   seen    what is changed through one server is seen through the others (spread_seen.c)
 *   faults  clients add and read through either server; meanwhile connections of the database are
 *           terminated, the database is restarted as after a crash, a server is stopped and goes on
 *   naive   the control: the provider that selects, then upserts, in the place of ours, and nothing
 *           else going wrong; the same checker must find what it loses
 *
 * Each memory only ever grows by lines "e-<number>", so the whole history of what the clients saw can
 * be judged by the text at the end (check_scope): an addition that was acknowledged stands in it once;
 * one that was refused for certain does not; what was added later than another was acknowledged stands
 * behind it; every text that was read is a beginning of the last one, and holds all that was
 * acknowledged before it was asked for. That takes time as sorting does, whatever their number.
 *
 * --adds, --clients, --scopes and --naive are how many; after --minutes no more are begun, which fails.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spread.h"

#define SERVERS 2
#define MOST_CLIENTS 64
#define MOST_SCOPES 64
#define MOST_ADDS 200000 /* of a run */
#define MOST_READS 100000
#define TRIES 600 /* of one addition whose fate is not known; a pause before each */
#define PAUSE_US 20000

/* One addition. Times are monotonic, the same clock for all. */
struct add {
    unsigned scope;
    int64_t asked, answered; /* answered 0: never */
    bool refused;            /* for certain */
};

/* One text that was read: its size and print say whether it was a beginning of the last one. */
struct seen {
    unsigned scope;
    int64_t asked;
    size_t size;
    uint64_t print;
};

/* Shared by all clients. */
struct load {
    struct server servers[SERVERS];
    unsigned scopes, goal;
    int64_t began, ended, until;
    unsigned next_add, next_seen;
    unsigned unknown; /* additions whose fate nobody could tell */
    struct add adds[MOST_ADDS];
    struct seen seen[MOST_READS];
};

struct client {
    struct load *load;
    unsigned number;
};

/* ---- prints --------------------------------------------------------------------------------- */

/* FNV-1a: that of a text goes on from that of its beginning. */
#define NO_PRINT UINT64_C(0xcbf29ce484222325)

static uint64_t print_on(uint64_t print, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        print = (print ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return print;
}

/* ---- clients -------------------------------------------------------------------------------- */

struct wire {
    unsigned server;
    int fd; /* -1: none */
};

static void wire_close(struct wire *wire)
{
    if (wire->fd >= 0)
        close(wire->fd);
    wire->fd = -1;
}

/* To the other server, when this one does not answer. */
static void wire_turn(struct wire *wire)
{
    wire_close(wire);
    wire->server = (wire->server + 1) % SERVERS;
    proof_sleep_us(PAUSE_US);
}

static bool wire_ready(const struct load *load, struct wire *wire)
{
    if (wire->fd < 0)
        wire->fd = server_connect(&load->servers[wire->server]);
    return wire->fd >= 0;
}

/* Whether an answer says that nothing was, or will be, done. */
static bool is_refusal(unsigned status, const char *answer)
{
    return status == 503 && answer && !strstr(answer, "indeterminate");
}

/* Asks until it is known what became of an addition; the operation id makes that harmless. */
static void add_one(struct load *load, struct wire *wire, unsigned number)
{
    struct add *add = &load->adds[number];
    char *json = text_format("{\"json\":{\"personalityId\":\"p%u\",\"opId\":\"spread-%u\","
                             "\"updates\":[{\"action\":\"add\",\"content\":\"e-%u\"}]}}",
                             add->scope, number, number);
    bool sent = false; // and not answered: it may have been done
    add->asked = proof_us();
    for (unsigned tries = 0; tries < TRIES && !add->answered && !add->refused; tries++) {
        char *answer = NULL;
        unsigned status = wire_ready(load, wire)
                              ? server_post(&load->servers[wire->server], wire->fd,
                                            "/rpc/memory/sync", json, &answer)
                              : 0;
        if (status == 200)
            add->answered = proof_us();
        else if (is_refusal(status, answer) && !sent)
            add->refused = true;
        else if (status && status != 503 && status != 500)
            proof_note("add: %u %.300s", status, answer ? answer : "");
        sent = sent || !is_refusal(status, answer);
        free(answer);
        if (!add->answered)
            wire_turn(wire);
    }
    if (!add->answered && !add->refused)
        __atomic_fetch_add(&load->unknown, 1, __ATOMIC_RELAXED);
    free(json);
}

static void read_one(struct load *load, struct wire *wire)
{
    unsigned scope = proof_random(load->scopes);
    char *path = text_format("/api/memory/memory?personality=p%u", scope), *text = NULL;
    size_t size = 0;
    int64_t asked = proof_us();
    unsigned status = wire_ready(load, wire)
                          ? server_get(&load->servers[wire->server], wire->fd, path, &text, &size)
                          : 0;
    unsigned at = status == 200 ? __atomic_fetch_add(&load->next_seen, 1, __ATOMIC_RELAXED)
                                : MOST_READS;
    if (at < MOST_READS)
        load->seen[at] = (struct seen){scope, asked, size, print_on(NO_PRINT, text, size)};
    if (status != 200 && status != 404)
        wire_turn(wire);
    free(text);
    free(path);
}

static int run_client(void *arg)
{
    const struct client *client = arg;
    struct load *load = client->load;
    struct wire wire = {client->number % SERVERS, -1};
    proof_reseed(client->number + 1);
    for (;;) {
        unsigned number = __atomic_fetch_add(&load->next_add, 1, __ATOMIC_RELAXED);
        if (number >= load->goal || proof_us() > load->until)
            break;
        load->adds[number].scope = proof_random(load->scopes);
        add_one(load, &wire, number);
        if (proof_random(4) == 0)
            read_one(load, &wire);
        if (proof_random(16) == 0)
            wire_turn(&wire);
    }
    wire_close(&wire);
    return 0;
}

/* ---- the checker ---------------------------------------------------------------------------- */

struct verdict {
    unsigned acknowledged, refused, lost, doubled, risen; /* risen: refused, yet there */
    unsigned disordered, unread, torn;
};

static void *room_for(size_t count, size_t size)
{
    void *room = calloc(count + 1, size);
    if (!room)
        proof_die("out of memory");
    return room;
}

/* A line of a memory: which addition, and where it ends in the text. */
struct line {
    const struct add *add;
    size_t end;
};

/* The lines of a text, in order; what nobody ever added there is one that was never asked for. */
static struct line *lines_of(const struct load *load, unsigned scope, const char *text,
                             unsigned *times, size_t *out_count)
{
    static const struct add nobody;
    struct line *lines = room_for(strlen(text) / 3, sizeof *lines); // "e-0"
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, "e-")); at += 2) {
        char *end;
        unsigned long number = strtoul(at + 2, &end, 10);
        bool known = number < load->goal && load->adds[number].scope == scope;
        if (known)
            times[number]++;
        lines[count++] = (struct line){known ? &load->adds[number] : &nobody, (size_t)(end - text)};
    }
    *out_count = count;
    return lines;
}

/* What was asked for after another was answered must not stand before it. */
static unsigned count_disorder(const struct line *lines, size_t count)
{
    unsigned found = 0;
    int64_t latest = 0; /* when the last asked for of those before was asked for */
    for (size_t i = 0; i < count; i++) {
        const struct add *add = lines[i].add;
        found += !add->asked || (add->answered && add->answered < latest);
        if (add->asked > latest)
            latest = add->asked;
    }
    return found;
}

static int by_answer(const void *a, const void *b)
{
    int64_t x = ((const struct line *)a)->add->answered,
            y = ((const struct line *)b)->add->answered;
    return (x > y) - (x < y);
}

/*
 * Those that were acknowledged, in that order; the end of each becomes the size that holds all up to it. Returns
 * how many.
 */
static size_t sort_by_answer(struct line *lines, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (lines[i].add->answered)
            lines[kept++] = lines[i];
    qsort(lines, kept, sizeof *lines, by_answer);
    for (size_t i = 1; i < kept; i++)
        if (lines[i].end < lines[i - 1].end)
            lines[i].end = lines[i - 1].end;
    return kept;
}

/* How much of a text holds everything that was acknowledged before a moment. */
static size_t size_needed(const struct line *lines, size_t count, int64_t moment)
{
    size_t low = 0;
    while (count > 0) { // all below `low` were answered before it, none from low + count on
        size_t half = count / 2;
        bool before = lines[low + half].add->answered < moment;
        low = before ? low + half + 1 : low;
        count = before ? count - half - 1 : half;
    }
    return low > 0 ? lines[low - 1].end : 0;
}

/* What was read of one memory, the shortest text first. */
static void check_reads(const struct seen *seen, size_t count, const struct line *lines,
                        size_t line_count, const char *text, size_t size, struct verdict *verdict)
{
    uint64_t print = NO_PRINT;
    size_t printed = 0;
    for (size_t i = 0; i < count; i++) {
        if (seen[i].size <= size) {
            print = print_on(print, text + printed, seen[i].size - printed);
            printed = seen[i].size;
        }
        verdict->torn += seen[i].size > size || print != seen[i].print;
        verdict->unread += seen[i].size < size_needed(lines, line_count, seen[i].asked);
    }
}

/* The text of a memory as it is at the end, through a server that answers. */
static char *last_text(const struct load *load, unsigned scope, size_t *out_size)
{
    char *path = text_format("/api/memory/memory?personality=p%u", scope), *text = NULL;
    int fd = server_connect(&load->servers[0]);
    unsigned status = fd >= 0 ? server_get(&load->servers[0], fd, path, &text, out_size) : 0;
    if (fd >= 0)
        close(fd);
    if (status != 200 && status != 404)
        proof_say(false, "spread: the last read answers %u: %.300s", status, text ? text : "");
    free(path);
    if (status == 200 && text)
        return text;
    free(text);
    *out_size = 0;
    return text_format("%s", "");
}

static void check_adds(const struct load *load, const unsigned *times, struct verdict *verdict)
{
    for (unsigned i = 0; i < load->goal; i++) {
        const struct add *add = &load->adds[i];
        verdict->acknowledged += add->answered != 0;
        verdict->refused += add->refused;
        verdict->lost += add->answered && times[i] == 0;
        verdict->doubled += times[i] > 1;
        verdict->risen += add->refused && times[i] > 0;
    }
}

static int by_scope_and_size(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    int order = (x->scope > y->scope) - (x->scope < y->scope);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static unsigned count_reads(const struct load *load)
{
    return load->next_seen < MOST_READS ? load->next_seen : MOST_READS;
}

static void check_all(struct load *load, struct verdict *verdict)
{
    unsigned *times = room_for(load->goal, sizeof *times), reads = count_reads(load), from = 0;
    qsort(load->seen, reads, sizeof *load->seen, by_scope_and_size);
    for (unsigned scope = 0, to; scope < load->scopes; scope++, from = to) {
        size_t size, count;
        char *text = last_text(load, scope, &size);
        struct line *lines = lines_of(load, scope, text, times, &count);
        verdict->disordered += count_disorder(lines, count);
        count = sort_by_answer(lines, count);
        for (to = from; to < reads && load->seen[to].scope == scope; to++)
            continue;
        check_reads(&load->seen[from], to - from, lines, count, text, size, verdict);
        free(lines);
        free(text);
    }
    check_adds(load, times, verdict);
    free(times);
}

static unsigned anomalies(const struct verdict *v)
{
    return v->lost + v->doubled + v->risen + v->disordered + v->torn + v->unread;
}

static void say(bool ok, const char *what, const struct load *load, const struct verdict *v)
{
    double seconds = (double)(load->ended - load->began) / 1e6;
    proof_say(
        ok,
        "spread: %s: of %u additions %u acknowledged, %u lost, %u doubled; %u refused, %u of them "
        "there; %u out of order, %u of unknown fate; %u reads, %u not a beginning, %u without what "
        "was there; %.0f s, %.0f additions a second",
        what, load->goal, v->acknowledged, v->lost, v->doubled, v->refused, v->risen, v->disordered,
        load->unknown, count_reads(load), v->torn, v->unread, seconds,
        seconds > 0 ? v->acknowledged / seconds : 0);
}

/* ---- what goes wrong ------------------------------------------------------------------------ */

struct faults {
    unsigned terminations, restarts, stops;
};

static void stop_and_go(const struct load *load)
{
    pid_t pid = load->servers[proof_random(SERVERS)].pid;
    kill(pid, SIGSTOP);
    proof_sleep_us(100000 + proof_random(400000));
    kill(pid, SIGCONT);
}

static bool is_under_way(const struct load *load)
{
    return __atomic_load_n(&load->next_add, __ATOMIC_RELAXED) < load->goal &&
           proof_us() < load->until;
}

/* One after the other, as long as something is to be added. */
static void do_harm(struct pg_server *database, struct load *load, struct faults *faults)
{
    unsigned done = 0;
    // Each kind first, then any.
    for (; is_under_way(load) || done < 3; done++) {
        proof_sleep_us(50000 + proof_random(proof_long() ? 1500000 : 100000));
        switch (done < 3 ? done : proof_random(3)) {
        case 0:
            pg_server_say(database,
                          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                          " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
                          NULL, 0);
            faults->terminations++;
            break;
        case 1:
            pg_server_end(database, SIGQUIT); // pg_ctl stop -m immediate
            pg_server_again(database);
            faults->restarts++;
            break;
        default:
            stop_and_go(load);
            faults->stops++;
        }
    }
}

/* ---- the stage ------------------------------------------------------------------------------ */

void spread_configure(const char *path, const char *provider, const char *url)
{
    char *text = text_format("memory:\n  provider: %s\n  options:\n    url: \"%s\"\n", provider,
                             url);
    path_put(path, text);
    free(text);
}

static void run(struct pg_server *database, const char *provider, bool harm, struct load *load,
                struct faults *faults)
{
    struct home homes[SERVERS];
    pid_t pids[MOST_CLIENTS];
    unsigned clients = proof_number("clients", 16, 16);
    for (unsigned i = 0; i < SERVERS; i++) {
        place_make(&homes[i], PLACE_DISK);
        char *path = text_format("%s/config.yaml", homes[i].path);
        spread_configure(path, provider, database->url);
        free(path);
        server_key(&load->servers[i], &homes[i]);
        server_start(&load->servers[i], &homes[i]);
    }
    load->began = proof_us();
    load->until = load->began + proof_number("minutes", 10, 60) * INT64_C(60000000);
    for (unsigned i = 0; i < clients && i < MOST_CLIENTS; i++) {
        struct client client = {load, i};
        pids[i] = child_start(run_client, &client);
    }
    if (harm)
        do_harm(database, load, faults);
    for (unsigned i = 0; i < clients && i < MOST_CLIENTS; i++)
        child_wait(pids[i]);
    load->ended = proof_us();
    struct verdict verdict = {0};
    check_all(load, &verdict);
    bool sound = anomalies(&verdict) == 0 && verdict.acknowledged > 0 &&
                 verdict.acknowledged + verdict.refused == load->goal;
    if (harm)
        say(sound, "two servers, one database", load, &verdict);
    else
        say(anomalies(&verdict) > 0, "control, select-then-upsert", load, &verdict);
    for (unsigned i = 0; i < SERVERS; i++) {
        int end = server_end(&load->servers[i], SIGTERM);
        proof_say(end == 0, "spread: server %u ends with %d", i + 1, end);
        place_remove(&homes[i]);
    }
}

static struct load *load_make(unsigned goal, unsigned scopes)
{
    struct load *load = shared_make(sizeof *load);
    load->goal = goal < MOST_ADDS ? goal : MOST_ADDS;
    load->scopes = scopes < MOST_SCOPES ? scopes : MOST_SCOPES;
    return load;
}

int main(int argc, char **argv)
{
    // each server may have one for every client, for memory and for conversations
    struct pg_server database = {.options = {"max_connections=200"}};
    struct faults faults = {0};
    proof_begin(argc, argv);
    const char *missing = pg_server_missing();
    if (missing) {
        proof_skip("postgres", missing);
        return proof_end();
    }
    pg_server_start(&database);
    if (proof_part("seen"))
        spread_seen(&database);
    if (proof_part("faults")) {
        run(&database, "postgres", true,
            load_make(proof_number("adds", 500, 100000), proof_number("scopes", 3, 40)), &faults);
        proof_say(faults.terminations && faults.restarts && faults.stops,
                  "spread: connections terminated %u times, database restarted %u times, a server "
                  "stopped %u times",
                  faults.terminations, faults.restarts, faults.stops);
    }
    if (proof_part("naive")) {
        char *naive = program_beside("naive_postgres.so");
        run(&database, naive, false, load_make(proof_number("naive", 300, 2000), 1), &faults);
        free(naive);
    }
    pg_server_stop(&database);
    return proof_end();
}
