/*
 * fuzz_wire.c: what another machine answers to the backend `remote`, or asks of the operations store.*.
 *
 * Whatever JSON it is: it is taken or refused; what was taken is made into JSON that is taken as the same.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bytes(const json_t *json, struct str *scratch)
{
    struct ethos_view bytes, again;
    struct str other;
    if (wire_take_bytes(json, scratch, &bytes) != ETHOS_OK)
        return;
    json_t *made = wire_bytes(bytes);
    str_init(&other, WIRE_MAX_BYTES);
    assert(made && wire_take_bytes(made, &other, &again) == ETHOS_OK && view_eq(bytes, again));
    json_decref(made);
    str_release(&other);
}

static void check_text(const json_t *json, struct str *scratch)
{
    struct ethos_text text = {0};
    struct ethos_view bytes;
    if (wire_take_text(json, scratch, &text, &bytes) == ETHOS_OK)
        assert(memchr(text.revision, 0, sizeof text.revision) && bytes.size <= scratch->ceiling);
}

static void check_change(const json_t *json, struct str *scratch)
{
    struct ethos_change change = {0}, again = {0};
    struct str other;
    if (wire_take_change(json, scratch, &change) != ETHOS_OK)
        return;
    json_t *made = wire_change(&change);
    str_init(&other, WIRE_MAX_BYTES);
    assert(made && wire_take_change(made, &other, &again) == ETHOS_OK);
    assert(again.number == change.number && again.time_ms == change.time_ms);
    assert(strcmp(again.key, change.key) == 0 && strcmp(again.after, change.after) == 0);
    assert(view_eq(again.diff, change.diff));
    json_decref(made);
    str_release(&other);
}

static void check_commit(const json_t *json, struct str *scratch)
{
    struct ethos_commit commit = {0};
    struct arena arena;
    arena_init(&arena);
    if (wire_take_commit(json, &arena, scratch, &commit) == ETHOS_OK)
        for (size_t i = 1; i < commit.row_count; i++)
            assert(commit.rows[i].change.number > commit.rows[i - 1].change.number);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str scratch;
    struct ethos_error error;
    struct ethos_origin origin;
    bool ok = true;
    json_t *json = NULL;
    if (json_parse(view_of((const char *)data, size), "wire", &json, NULL) != ETHOS_OK)
        return 0;
    str_init(&scratch, WIRE_MAX_BYTES);
    check_bytes(json, &scratch);
    check_text(json, &scratch);
    check_change(json, &scratch);
    check_commit(json, &scratch);
    assert(wire_take_error(json, &error) != ETHOS_OK);
    wire_take_origin(json, &origin);
    wire_string(json, "scope", &ok);
    wire_number(json, "number", 0);
    str_release(&scratch);
    json_decref(json);
    return 0;
}
