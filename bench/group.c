/*
 * group.c: many threads, a handle each, add to one file: with group commit, and each on its own.
 *
 * The handles stay open from one sample to the next, as those of a server do; the threads are made
 * anew, which costs little beside a durable write.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench.h"
#include "memory/handle.h"
#include "store/group_commit.h"

struct bench_crew {
    struct group *group; /* NULL: they share nothing */
    struct ethos *ethos[CREW];
    struct ethos_turn *turns[CREW];
    atomic_int left; /* adds */
};

struct hand {
    struct bench_crew *crew;
    struct ethos_turn *turn;
    int code;
};

static struct bench_crew *crew_of(struct bench *bench, int which)
{
    struct ethos_error error;
    struct bench_crew *crew = bench->crews[which];
    const struct ethos_options options = {.home = bench->homes[PLACE_WRITE].path};
    if (crew)
        return crew;
    crew = bench->crews[which] = calloc(1, sizeof *crew);
    if (!crew)
        bench_die(bench, "crew");
    if (which == CREW_GROUP && group_new(&crew->group, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    for (int i = 0; i < CREW; i++) {
        if (service_open(&options, crew->group, &crew->ethos[i], &error) != ETHOS_OK ||
            ethos_turn_new(crew->ethos[i], NULL, &crew->turns[i], &error) != ETHOS_OK)
            bench_die_of(bench, &error);
    }
    return crew;
}

static void *add_some(void *arg)
{
    struct hand *hand = arg;
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD,
                                        .text = {BENCH_NOTE, sizeof BENCH_NOTE - 1}};
    while (hand->code == ETHOS_OK && atomic_fetch_sub(&hand->crew->left, 1) > 0)
        hand->code = ethos_sync(hand->turn, &update, 1, NULL, NULL);
    return NULL;
}

void add_by_crew(struct bench *bench, int arg, unsigned count)
{
    struct bench_crew *crew = crew_of(bench, arg);
    struct hand hands[CREW];
    pthread_t threads[CREW];
    atomic_store(&crew->left, (int)count);
    for (int i = 0; i < CREW; i++) {
        hands[i] = (struct hand){crew, crew->turns[i], ETHOS_OK};
        if (pthread_create(&threads[i], NULL, add_some, &hands[i]) != 0)
            bench_die(bench, "thread");
    }
    for (int i = 0; i < CREW; i++) {
        pthread_join(threads[i], NULL);
        if (hands[i].code != ETHOS_OK)
            bench_die(bench, "add by a crew");
    }
}

void crews_close(struct bench *bench)
{
    for (int which = 0; which < CREWS; which++) {
        struct bench_crew *crew = bench->crews[which];
        for (int i = 0; crew && i < CREW; i++) {
            ethos_turn_free(crew->turns[i]);
            ethos_close(crew->ethos[i]);
        }
        if (crew)
            group_free(crew->group);
        free(crew);
    }
}
