/*
 * served.c: many clients add through one server, which dies; what was acknowledged is there, once.
 *
 *     served [--long] [--only kills|rate]
 *
 *   kills  clients that add without pause; the server is killed with -9 at a random moment, started
 *          again, and so on; at the end every acknowledged entry stands in the file exactly once
 *   rate   how many adds are acknowledged in a second, from many clients and from one
 */
#include "support/ledger.h"
#include "support/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_CLIENTS 64
#define MOST_ENTRIES 60000 /* as many short lines as a file may hold */

/* Shared by all clients of a proof. */
struct load {
    struct server server;
    unsigned next; /* number of the next entry */
    volatile unsigned char acknowledged[MOST_ENTRIES];
    volatile unsigned refused;
    volatile bool stop;
};

struct client {
    struct load *load;
};

static unsigned take_number(struct load *load)
{
    return __atomic_fetch_add(&load->next, 1, __ATOMIC_RELAXED);
}

/* Adds until the server is gone or it is told to stop. */
static int add_entries(void *arg)
{
    struct load *load = ((const struct client *)arg)->load;
    int fd = server_connect(&load->server);
    while (fd >= 0 && !load->stop) {
        unsigned number = take_number(load);
        if (number >= MOST_ENTRIES)
            break;
        char *json = text_format(
            "{\"json\":{\"updates\":[{\"action\":\"add\",\"content\":\"e-%u\"}]}}", number);
        char *out = NULL;
        unsigned status = server_post(&load->server, fd, "/rpc/memory/sync", json, &out);
        if (status == 200)
            load->acknowledged[number] = 1;
        else if (status != 0 && __atomic_fetch_add(&load->refused, 1, __ATOMIC_RELAXED) == 0)
            proof_note("refused with %u: %.200s", status, out ? out : "");
        free(out);
        free(json);
        if (status == 0)
            break;
    }
    if (fd >= 0)
        close(fd);
    return 0;
}

static void start_clients(struct load *load, unsigned count, pid_t pids[])
{
    struct client client = {load};
    for (unsigned i = 0; i < count; i++)
        pids[i] = child_start(add_entries, &client);
}

static void wait_clients(unsigned count, const pid_t pids[])
{
    for (unsigned i = 0; i < count; i++)
        child_wait(pids[i]);
}

static unsigned count_acknowledged(const struct load *load)
{
    unsigned count = 0;
    for (unsigned i = 0; i < MOST_ENTRIES; i++)
        count += load->acknowledged[i];
    return count;
}

/* What the file and its archive hold of what was acknowledged. */
static void check_entries(const struct home *home, const struct load *load, const char *what)
{
    struct tokens tokens;
    size_t size = 0;
    unsigned lost = 0;
    char *text = path_read(home->memory, &size);
    tokens_make(&tokens, "e", MOST_ENTRIES);
    if (text)
        tokens_count(&tokens, text, size);
    for (unsigned i = 0; i < MOST_ENTRIES; i++)
        lost += load->acknowledged[i] && !tokens.seen[i];
    unsigned acknowledged = count_acknowledged(load), doubled = tokens_doubled(&tokens);
    proof_say(acknowledged > 0 && lost == 0 && doubled == 0 && load->refused == 0,
              "%s: %u adds acknowledged, %u lost, %u doubled, %u refused", what, acknowledged, lost,
              doubled, load->refused);
    tokens_free(&tokens);
    free(text);
}

static void prove_kills(void)
{
    struct home home;
    pid_t pids[MOST_CLIENTS];
    unsigned rounds = proof_number("rounds", 4, 100), clients = proof_number("clients", 8, 32);
    struct load *load = shared_make(sizeof *load);
    place_make(&home, PLACE_DISK);
    server_key(&load->server, &home);
    for (unsigned round = 0; round < rounds; round++) {
        server_start(&load->server, &home);
        start_clients(load, clients, pids);
        proof_sleep_us(50000 + proof_random(250000));
        if (server_end(&load->server, SIGKILL) != 128 + SIGKILL)
            proof_say(false, "served: the server ended by itself");
        wait_clients(clients, pids);
    }
    // A start settles what the last one left.
    server_start(&load->server, &home);
    int fd = server_connect(&load->server);
    unsigned status = server_post(&load->server, fd, "/rpc/memory/get",
                                  "{\"json\":{\"store\":\"memory\"}}", NULL);
    close(fd);
    int end = server_end(&load->server, SIGTERM);
    char *what = text_format("served: killed %u times under %u clients", rounds, clients);
    proof_say(status == 200 && end == 0, "served: starts again, answers %u, ends with %d", status,
              end);
    check_entries(&home, load, what);
    free(what);
    place_remove(&home);
}

static unsigned measure_rate(unsigned clients, unsigned ms)
{
    struct home home;
    pid_t pids[MOST_CLIENTS];
    struct load *load = shared_make(sizeof *load);
    place_make(&home, PLACE_DISK);
    server_key(&load->server, &home);
    server_start(&load->server, &home);
    int64_t begin = proof_us();
    start_clients(load, clients, pids);
    proof_sleep_us(ms * 1000);
    load->stop = true;
    wait_clients(clients, pids);
    double seconds = (double)(proof_us() - begin) / 1e6;
    server_end(&load->server, SIGTERM);
    unsigned rate = (unsigned)(count_acknowledged(load) / seconds);
    char *what = text_format("served: %u clients, %u adds a second", clients, rate);
    check_entries(&home, load, what);
    free(what);
    place_remove(&home);
    return rate;
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    if (proof_part("kills"))
        prove_kills();
    if (proof_part("rate")) {
        measure_rate(1, proof_number("ms", 500, 5000));
        measure_rate(MOST_CLIENTS, proof_number("ms", 500, 5000));
    }
    return proof_end();
}
