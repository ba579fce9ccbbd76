/*
 * fuzz_history.c: lines of a history, whatever stands in them.
 *
 * What is read is printed and read again as the same change; the end of the lines and all of them
 * agree about the last change of a key; a text that is rebuilt has the hash it was recorded with.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/history.h"

#define CEILING ((size_t)1 << 24)
#define KEY "a.md"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_and_parse(const struct history_record *record, struct arena *arena)
{
    struct history_record again;
    struct str line;

    str_init(&line, CEILING);
    assert(history_print(record, &line) == ETHOS_OK);
    assert(memchr(line.data, '\n', line.size) == line.data + line.size - 1);
    assert(history_parse(str_view(&line), arena, &again) == ETHOS_OK);
    assert(again.ts_ms == record->ts_ms && again.seq == record->seq);
    assert(view_eq(again.scope, record->scope) && view_eq(again.key, record->key));
    assert(view_eq(again.source, record->source) && view_eq(again.diff, record->diff));
    assert(view_eq(again.txn_id, record->txn_id) && again.txn_index == record->txn_index);
    assert(view_eq(again.after_hash, record->after_hash) && view_eq(again.op, record->op));
    assert(view_eq(again.blob, record->blob) && view_eq(again.undoes, record->undoes));
    assert(again.voids_first == record->voids_first && again.voids_last == record->voids_last);
    str_release(&line);
}

static int no_blob(void *arg, const char *hex, struct str *out)
{
    (void)arg;
    assert(hash_is_hex(view_str(hex)));
    str_clear(out);
    return ETHOS_NOTFOUND;
}

static void rebuild(const struct history *history, size_t index)
{
    char hash[ETHOS_REVISION_SIZE];
    struct str text;

    str_init(&text, CEILING);
    int code = history_rebuild(history, index, false, no_blob, NULL, &text);
    assert(code == ETHOS_OK || code == ETHOS_NOTFOUND || code == ETHOS_LIMIT);
    hash_revision(str_view(&text), hash);
    assert(code || view_eq_str(history->records[index].after_hash, hash));
    str_release(&text);
}

static void check_last(struct ethos_view lines, const struct history *history)
{
    struct history_last last = {0};

    assert(history_last(lines, KEY, &last) == ETHOS_OK);
    assert(last.any == (history->count > 0));
    if (last.any) {
        const struct history_record *newest = &history->records[history->count - 1];

        assert(view_starts(newest->after_hash, view_str(last.hash)));
        assert(last.absent == newest->absent_after);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view lines = view_of((const char *)data, size);
    struct history all, one;
    struct arena arena;

    arena_init(&arena);
    history_init(&all, &arena);
    history_init(&one, &arena);
    assert(history_collect(&all, lines, NULL) == ETHOS_OK);
    assert(history_collect(&one, lines, KEY) == ETHOS_OK);
    assert(one.count <= all.count && one.skipped <= all.skipped);
    check_last(lines, &one);
    for (size_t i = 0; i < all.count && i < 64; i++) {
        print_and_parse(&all.records[i], &arena);
        rebuild(&all, i);
    }
    arena_release(&arena);
    return 0;
}
