/*
 * fuzz_keys.c: any bytes from a terminal, in any pieces, are the same keys as in one piece, as long as they arrive at
 * once; with pauses, too, every text is valid UTF-8, and silence leaves nothing undecided but a character or a paste.
 *
 * The first bytes say where the input is split and how long the pauses are.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "base/view.h"
#include "chat/terminal/keys.h"

#define MAX_LOG 67108864
#define HEAD 8 /* bytes that say how */
#define SILENCE_MS 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void log_key(void *arg, const struct key *key)
{
    struct str *log = arg;
    assert(utf8_valid(key->text));
    assert(key->kind != KEY_CHARACTER || (unsigned char)*key->text.data >= 0x20);
    assert(key->kind == KEY_PASTE || key->text.size <= 4);
    assert(key->row >= 0 && key->column >= 0);
    str_printf(log, "%d %d %d %d %d ", (int)key->kind, key->letter, key->cut, key->row,
               key->column);
    str_add(log, key->text);
    str_addc(log, '\n');
}

static void run(struct ethos_view bytes, const uint8_t *how, bool pauses, struct str *log)
{
    struct keys keys;
    int64_t now = 0;
    str_init(log, MAX_LOG);
    keys_init(&keys, how && how[0] & 1, log_key, log);
    for (size_t i = 0; bytes.size > 0; i++) {
        size_t piece = how ? 1 + (size_t)how[1 + i % (HEAD - 1)] % 7 : bytes.size;
        piece = piece < bytes.size ? piece : bytes.size;
        keys_feed(&keys, view_of(bytes.data, piece), now);
        bytes = view_from(bytes, piece);
        now += pauses ? how[1 + i % (HEAD - 1)] : 0;
    }
    assert(keys_wait(&keys, now) <= KEYS_SEQUENCE_MS);
    keys_expire(&keys, now + SILENCE_MS);
    assert(keys_wait(&keys, now + SILENCE_MS) == -1);
    assert(str_code(log) == ETHOS_OK);
    keys_release(&keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str whole, split, slow;
    if (size < HEAD)
        return 0;
    struct ethos_view bytes = view_of((const char *)data + HEAD, size - HEAD);
    run(bytes, NULL, false, &whole);
    run(bytes, data, false, &split);
    run(bytes, data, true, &slow);
    assert(view_eq(str_view(&whole), str_view(&split)));
    str_release(&whole);
    str_release(&split);
    str_release(&slow);
    return 0;
}
