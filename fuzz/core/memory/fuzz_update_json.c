/*
 * fuzz_update_json.c: update_parse on any bytes.
 *
 * What it accepts must hold every promise of its header and must survive being written as JSON and
 * read again; what it refuses must be refused with one line of text, but for what that repeats.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include <ethos/limits.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const verbs[] = {
    [ETHOS_ACTION_ADD] = "add",
    [ETHOS_ACTION_REPLACE] = "replace",
    [ETHOS_ACTION_REMOVE] = "remove",
    [ETHOS_ACTION_DELETE] = "delete",
};

/* ---- promises ------------------------------------------------------------------------------ */

static void check_update(const struct ethos_update *update)
{
    assert(update->action >= ETHOS_ACTION_ADD && update->action <= ETHOS_ACTION_DELETE);
    assert((update->text.data == NULL) == (update->action == ETHOS_ACTION_DELETE));
    assert(!update->text.data || strlen(update->text.data) == update->text.size);
    assert(utf8_valid(update->text));
    assert(!update->store || scope_store_key(update->store));
    assert(!update->scope || update->key);
}

static void check_batch(const struct update_batch *batch)
{
    assert(batch->count <= ETHOS_MAX_BATCH);
    assert(update_check(batch->updates, batch->count, NULL) == ETHOS_OK);
    for (size_t i = 0; i < batch->count; i++)
        check_update(&batch->updates[i]);
    if (!batch->op_id)
        return;
    size_t length = strlen(batch->op_id);
    assert(length >= 1 && length <= ETHOS_MAX_OPID);
    assert(strspn(batch->op_id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789_.:-") == length);
}

static void check_refusal(int code, const struct ethos_error *error)
{
    assert(code == ETHOS_INVALID || code == ETHOS_DENIED || code == ETHOS_LIMIT);
    assert(error->code == code && error->text[0]);
    if (code == ETHOS_DENIED)
        return; // about a scope or a key, which it repeats to the byte
    for (const char *c = error->text; *c; c++)
        assert((unsigned char)*c >= 0x20 && *c != 0x7f);
}

/* ---- there and back ------------------------------------------------------------------------ */

static void put(json_t *object, const char *name, const char *value)
{
    if (value)
        json_object_set_new(object, name, json_string(value));
}

static json_t *write_update(const struct ethos_update *update)
{
    json_t *object = json_object();

    put(object, "action", verbs[update->action]);
    put(object, "store", update->store);
    put(object, "scope", update->scope);
    put(object, "key", update->key);
    put(object, "ifMatch", update->if_match);
    put(object, update->action == ETHOS_ACTION_REMOVE ? "substring_match" : "content",
        update->text.data);
    return object;
}

static void write_batch(const struct update_batch *batch, struct str *out)
{
    json_t *root = json_object();
    json_t *list = json_array();

    for (size_t i = 0; i < batch->count; i++)
        json_array_append_new(list, write_update(&batch->updates[i]));
    json_object_set_new(root, "updates", list);
    put(root, "op_id", batch->op_id);
    assert(json_print(root, JSON_STYLE_LINE, out) == ETHOS_OK);
    json_decref(root);
}

static void check_name(const char *a, const char *b)
{
    assert((a == NULL) == (b == NULL) && (!a || strcmp(a, b) == 0));
}

static void check_equal(const struct update_batch *a, const struct update_batch *b)
{
    assert(a->count == b->count);
    check_name(a->op_id, b->op_id);
    for (size_t i = 0; i < a->count; i++) {
        assert(a->updates[i].action == b->updates[i].action);
        check_name(a->updates[i].store, b->updates[i].store);
        check_name(a->updates[i].scope, b->updates[i].scope);
        check_name(a->updates[i].key, b->updates[i].key);
        check_name(a->updates[i].if_match, b->updates[i].if_match);
        check_name(a->updates[i].text.data, b->updates[i].text.data);
    }
}

static void check_round_trip(const struct update_batch *batch, struct arena *arena)
{
    struct update_batch again;
    struct ethos_error error;
    struct str json;

    str_init(&json, ETHOS_MAX_STORE_BYTES);
    write_batch(batch, &json);
    assert(update_parse(str_view(&json), arena, &again, &error) == ETHOS_OK);
    check_equal(batch, &again);
    str_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct update_batch batch;
    struct ethos_error error = {0};
    struct arena arena;

    arena_init(&arena);
    int code = update_parse(view_of((const char *)data, size), &arena, &batch, &error);
    if (code)
        check_refusal(code, &error);
    else {
        check_batch(&batch);
        check_round_trip(&batch, &arena);
    }
    arena_release(&arena);
    return 0;
}
