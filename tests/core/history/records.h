/*
 * records.h: records and lines for the tests of the history.
 */
#ifndef TESTS_CORE_HISTORY_RECORDS_H
#define TESTS_CORE_HISTORY_RECORDS_H

#include "base/str.h"
#include "base/view.h"
#include "core/history/history.h"

#define HASH_A "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HASH_B "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HASH_C "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define HASH_D "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
#define BLOB_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define BLOB_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define HASH_0 "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* A record with what every line has. */
static inline struct history_record record_of(const char *key)
{
    return (struct history_record){.ts_ms = 1000,
                                   .scope = VIEW("personality:p"),
                                   .key = view_str(key),
                                   .actions = VIEW("add"),
                                   .source = VIEW("tool"),
                                   .before_hash = VIEW(HASH_A),
                                   .after_hash = VIEW(HASH_B),
                                   .diff = VIEW("")};
}

/* Appends the line of a change, described as a store would. */
static inline void print_change(struct str *out, const char *key, uint64_t seq,
                                struct ethos_view before, struct ethos_view after,
                                struct arena *arena)
{
    struct history_record r = record_of(key);

    str_fail(out, history_describe(before, after, arena, &r));
    r.seq = seq;
    history_print(&r, out);
}

#endif
