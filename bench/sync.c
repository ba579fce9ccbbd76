/*
 * sync.c: one durable paragraph, by hand and through the library.
 */
#include "bench.h"
#include "by_hand.h"

void add_by_hand(struct bench *bench, int arg, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (hand_add(bench->homes[arg].dir, BENCH_NOTE, bench->buffer, BENCH_BUFFER) != 0)
            bench_die(bench, "add by hand");
    }
}

void add_by_sync(struct bench *bench, int arg, unsigned count)
{
    const struct ethos_update update = {.action = ETHOS_ACTION_ADD,
                                        .text = {BENCH_NOTE, sizeof BENCH_NOTE - 1}};
    for (unsigned i = 0; i < count; i++) {
        if (ethos_sync(bench->homes[arg].turn, &update, 1, NULL, NULL) != ETHOS_OK)
            bench_die(bench, "sync");
    }
}
