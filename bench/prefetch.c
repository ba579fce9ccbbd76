/*
 * prefetch.c: both files, read by hand and through the library.
 */
#include "bench.h"
#include "by_hand.h"

#define TAIL 22048 /* bytes: what the library reads for a budget of 20,000 characters */

void read_by_hand(struct bench *bench, int arg, unsigned count)
{
    const struct bench_home *home = &bench->homes[arg];
    for (unsigned i = 0; i < count; i++) {
        if (hand_read(home->files[0], bench->buffer, BENCH_BUFFER / 2) != 0 ||
            hand_read(home->files[1], bench->buffer + BENCH_BUFFER / 2, BENCH_BUFFER / 2) != 0)
            bench_die(bench, home->files[0]);
    }
}

void look_by_hand(struct bench *bench, int arg, unsigned count)
{
    const struct bench_home *home = &bench->homes[arg];
    for (unsigned i = 0; i < count; i++) {
        read_by_hand(bench, arg, 1);
        if (hand_read(home->absent, bench->buffer, BENCH_BUFFER) == 0)
            bench_die(bench, home->absent);
    }
}

void tail_by_hand(struct bench *bench, int arg, unsigned count)
{
    const struct bench_home *home = &bench->homes[arg];
    for (unsigned i = 0; i < count; i++) {
        if (hand_tail(home->files[0], bench->buffer, TAIL) != 0 ||
            hand_tail(home->files[1], bench->buffer + TAIL, TAIL) != 0)
            bench_die(bench, home->files[0]);
    }
}

static void prefetch(const struct bench *bench, struct ethos_turn *turn,
                     const struct ethos_prefetch_options *options, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct ethos_block *block;
        if (ethos_prefetch(turn, options, &block, NULL) != ETHOS_OK || !block ||
            block->code != ETHOS_OK)
            bench_die(bench, "prefetch");
        ethos_block_free(block);
    }
}

void prefetch_plain(struct bench *bench, int arg, unsigned count)
{
    const struct ethos_prefetch_options options = {.guard = ETHOS_SWITCH_OFF};
    prefetch(bench, bench->homes[arg].turn, &options, count);
}

void prefetch_default(struct bench *bench, int arg, unsigned count)
{
    const struct ethos_prefetch_options options = {.guard = ETHOS_SWITCH_OFF};
    prefetch(bench, bench->homes[arg].turn_default, &options, count);
}

void prefetch_guarded(struct bench *bench, int arg, unsigned count)
{
    const struct ethos_prefetch_options options = {.guard = ETHOS_SWITCH_ON};
    prefetch(bench, bench->homes[arg].turn, &options, count);
}

void prefetch_receipt(struct bench *bench, int arg, unsigned count)
{
    const struct ethos_prefetch_options options = {.guard = ETHOS_SWITCH_ON, .receipt = 1};
    prefetch(bench, bench->homes[arg].turn, &options, count);
}
