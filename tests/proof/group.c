/*
 * group.c: one process, many threads, one file: group commit, killed and started again.
 *
 *     killed   threads with a handle each add through one group; the process is killed at random
 *              moments and the next one sends again what was not acknowledged. After every kill
 *              everything acknowledged is in the file; in the end everything is, once
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ethos/ethos.h>

#include "memory/handle.h"
#include "store/group_commit.h"
#include "support/ledger.h"
#include "support/proof.h"

#define MOST 20000
#define THREADS 32
#define KILL_WITHIN_US 60000

struct load {
    struct home home;
    unsigned adds; /* in all; number n is sent by thread n % THREADS */
    atomic_bool acknowledged[MOST];
    atomic_uint refused;
};

struct hand {
    struct load *load;
    struct group *group;
    unsigned number;
};

/* ---- the process ---------------------------------------------------------------------------- */

static void add(struct load *load, struct ethos_turn *turn, unsigned number)
{
    char entry[32], id[32];
    struct ethos_error error = {0};
    snprintf(entry, sizeof entry, "agent-%u", number);
    snprintf(id, sizeof id, "op:%u", number);
    const struct ethos_origin origin = {.actor = "agent", .op_id = id};
    const struct ethos_sync_how how = {.origin = &origin};
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD, .text = {entry, strlen(entry)}};
    if (ethos_sync(turn, &update, 1, &how, &error) == ETHOS_OK) {
        load->acknowledged[number] = true;
    } else {
        load->refused++;
        proof_note("%s: %s", entry, error.text);
    }
}

static void *work(void *arg)
{
    struct hand *self = arg;
    struct load *load = self->load;
    const struct ethos_options options = {.home = load->home.path};
    const struct ethos_request request = {.personality = "default", .user = "me"};
    struct ethos *ethos = NULL;
    struct ethos_turn *turn = NULL;
    if (service_open(&options, self->group, &ethos, NULL) != ETHOS_OK ||
        ethos_turn_new(ethos, &request, &turn, NULL) != ETHOS_OK)
        load->refused++;
    for (unsigned i = self->number; turn && i < load->adds; i += THREADS)
        if (!load->acknowledged[i])
            add(load, turn, i);
    ethos_turn_free(turn);
    ethos_close(ethos);
    return NULL;
}

static int serve(void *arg)
{
    struct hand hands[THREADS];
    pthread_t threads[THREADS];
    struct group *group;
    if (group_new(&group, NULL) != ETHOS_OK)
        return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        hands[i] = (struct hand){arg, group, i};
        if (pthread_create(&threads[i], NULL, work, &hands[i]) != 0)
            return 1;
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    group_free(group);
    return 0;
}

/* ---- outside -------------------------------------------------------------------------------- */

static unsigned count_acknowledged(const struct load *load)
{
    unsigned count = 0;
    for (unsigned i = 0; i < load->adds; i++)
        count += load->acknowledged[i];
    return count;
}

/* How many that were acknowledged are not in the file. */
static unsigned count_lost(const struct load *load, struct tokens *tokens)
{
    unsigned lost = 0;
    size_t size;
    char *text = path_read(load->home.memory, &size);
    tokens_clear(tokens);
    if (text)
        tokens_count(tokens, text, size);
    for (unsigned i = 0; i < load->adds; i++)
        lost += load->acknowledged[i] && tokens->seen[i] == 0;
    free(text);
    return lost;
}

static void prove_killed(unsigned adds, unsigned most_kills)
{
    struct load *load = shared_make(sizeof *load);
    struct tokens tokens;
    struct ledger ledger;
    unsigned kills = 0, lost = 0, meanwhile = 0;
    place_make(&load->home, PLACE_DISK);
    load->adds = adds < MOST ? adds : MOST;
    tokens_make(&tokens, "agent", load->adds);
    while (kills < most_kills && count_acknowledged(load) < load->adds) {
        pid_t pid = child_start(serve, load);
        proof_sleep_us(proof_random(KILL_WITHIN_US));
        kill(pid, SIGKILL);
        kills += child_wait(pid) == 128 + SIGKILL;
        meanwhile = count_acknowledged(load);
        lost += count_lost(load, &tokens);
    }
    int status = child_run(serve, load);
    unsigned acknowledged = count_acknowledged(load);
    lost += count_lost(load, &tokens);
    unsigned present = tokens_present(&tokens), doubled = tokens_doubled(&tokens);
    ledger_check(&ledger, load->home.scope, 0, NULL, NULL);
    proof_say(status == 0 && kills > 0 && meanwhile > 0 && lost + doubled + ledger.errors == 0 &&
                  load->refused == 0 && acknowledged == load->adds && present == load->adds,
              "group: %u threads, %u adds, killed %u times (%u acknowledged by then), %u lost, "
              "%u of %u present, %u doubled, %u refused, %zu history lines, %u errors in it",
              THREADS, load->adds, kills, meanwhile, lost, present, load->adds, doubled,
              load->refused, ledger.count, ledger.errors);
    ledger_free(&ledger);
    tokens_free(&tokens);
    place_remove(&load->home);
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    if (proof_part("killed"))
        prove_killed(proof_number("adds", 4000, MOST), proof_number("kills", 20, 300));
    return proof_end();
}
