/*
 * store_swap.c: the operation store.swap: replaces several keys of a scope atomically if their revisions match.
 *
 *     edits  [{"key", "expect": revision, "absent" or null for any,
 *              "text": bytes, or "drop": true, or neither to leave it, "actions", "receipt"}]
 *     result {"edits": [{"key", "verdict": "keep|put|drop|repeated", "revision", "receipt"}]}
 *
 * The other machine has run the update's callback on the texts that it read, so the callback here only compares
 * revisions and applies the outcome. If a text has changed, the result is the conflict with the current texts:
 * {"error", "moved": [{"key", text or nothing}]}.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/update.h"
#include "core/memory/wire.h"
#include "ops/memory/store.h"
#include "store/store.h"

struct wanted_edit {
    const char *expect; /* or NULL */
    enum ethos_verdict verdict;
    struct str decoded;
    struct ethos_view text;
    const char *actions, *receipt;
};

struct swap_call {
    struct store_call served;
    struct ethos_origin origin;
    bool dry_run;
    struct ethos_edit *edits;
    struct wanted_edit *wishes;
    size_t count;
};

/* ---- arguments --------------------------------------------------------------------------------- */

static int read_wanted_edit(struct swap_call *self, const json_t *value, struct ethos_edit *edit,
                            struct wanted_edit *wish, uint64_t *room)
{
    bool ok = json_is_object(value);
    const json_t *text = json_object_get(value, "text");
    struct ethos_error *error = &self->served.error;
    edit->key = wire_string(value, "key", &ok);
    wish->expect = wire_string(value, "expect", &ok);
    wish->actions = wire_string(value, "actions", &ok);
    wish->receipt = wire_string(value, "receipt", &ok);
    wish->verdict = text                                           ? ETHOS_EDIT_PUT
                    : json_is_true(json_object_get(value, "drop")) ? ETHOS_EDIT_DROP
                                                                   : ETHOS_EDIT_KEEP;
    int code = text ? wire_take_bytes(text, &wish->decoded, &wish->text) : ETHOS_OK;
    if (code == ETHOS_NOMEM)
        return code;
    if (!ok || code != ETHOS_OK || !edit->key ||
        (wish->receipt && strlen(wish->receipt) >= ETHOS_RECEIPT_SIZE))
        return err_set(error, ETHOS_INVALID, "edits: must be {key, expect, text or drop, ...}");
    if (wish->text.size > *room)
        return err_set(error, ETHOS_LIMIT, "edits: more than %d bytes in one update",
                       WIRE_MAX_BYTES);
    *room -= wish->text.size;
    return served_store_check_key(self->served.scope, edit->key, error);
}

static int read_wanted_edits(struct swap_call *self, const json_t *edits)
{
    size_t index;
    json_t *value;
    uint64_t room = WIRE_MAX_BYTES;
    if (!json_is_array(edits))
        return err_set(&self->served.error, ETHOS_INVALID, "edits: must be an array");
    if (json_array_size(edits) > WIRE_MAX_SPOTS)
        return err_set(&self->served.error, ETHOS_LIMIT, "edits: more than %d", WIRE_MAX_SPOTS);
    self->edits = calloc(json_array_size(edits) + 1, sizeof *self->edits);
    self->wishes = calloc(json_array_size(edits) + 1, sizeof *self->wishes);
    if (!self->edits || !self->wishes)
        return ETHOS_NOMEM;
    self->count = json_array_size(edits);
    for (size_t i = 0; i < self->count; i++)
        str_init(&self->wishes[i].decoded, WIRE_MAX_BYTES);
    json_array_foreach (edits, index, value)
        TRY(read_wanted_edit(self, value, &self->edits[index], &self->wishes[index], &room));
    return ETHOS_OK;
}

/* ---- the swap ---------------------------------------------------------------------------------- */

static const char *found_revision(const struct ethos_edit *edit)
{
    return edit->old.data ? edit->old.revision : "absent";
}

static bool has_moved(const struct ethos_edit *edit, const struct wanted_edit *wish)
{
    return wish->expect && strcmp(wish->expect, found_revision(edit)) != 0;
}

static int apply_wishes(void *arg, struct ethos_edit *edits, size_t count,
                        struct ethos_error *error)
{
    const struct swap_call *self = arg;
    for (size_t i = 0; i < count; i++)
        if (has_moved(&edits[i], &self->wishes[i]))
            return update_moved(edits[i].key, found_revision(&edits[i]), error);
    for (size_t i = 0; i < count && !self->dry_run; i++) {
        const struct wanted_edit *wish = &self->wishes[i];
        edits[i].verdict = wish->verdict;
        edits[i].text = wish->text;
        edits[i].actions = wish->actions;
        if (wish->receipt)
            memcpy(edits[i].receipt, wish->receipt, strlen(wish->receipt) + 1);
    }
    return ETHOS_OK;
}

static json_t *done_json(const struct swap_call *self)
{
    static const char *const verdicts[] = {"keep", "put", "drop", "repeated"};
    json_t *list = json_array();
    for (size_t i = 0; i < self->count; i++) {
        const struct ethos_edit *edit = &self->edits[i];
        op_json_push(&list,
                     json_pack("{s:o, s:s, s:s, s:o}", "key", json_text(view_str(edit->key)),
                               "verdict", verdicts[edit->verdict], "revision", edit->revision,
                               "receipt", json_text(view_str(edit->receipt))));
    }
    return json_pack("{s:o}", "edits", list);
}

/* The current texts of keys that changed, so that the caller need not read them again. */
static json_t *moved_json(const struct swap_call *self)
{
    json_t *list = json_array();
    for (size_t i = 0; i < self->count; i++) {
        const struct ethos_edit *edit = &self->edits[i];
        if (!has_moved(edit, &self->wishes[i]))
            continue;
        json_t *row = edit->old.data ? wire_text(&edit->old) : json_object();
        op_json_put(&row, "key", json_text(view_str(edit->key)));
        op_json_push(&list, row);
    }
    return list;
}

static bool has_any_moved(const struct swap_call *self)
{
    for (size_t i = 0; i < self->count; i++)
        if (has_moved(&self->edits[i], &self->wishes[i]))
            return true;
    return false;
}

static void release_swap(struct swap_call *self)
{
    for (size_t i = 0; i < self->count; i++) {
        store_call_free_text(&self->served, &self->edits[i].old);
        str_release(&self->wishes[i].decoded);
    }
    free(self->edits);
    free(self->wishes);
}

int store_run_swap(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct swap_call self = {.dry_run = call->dry_run};
    json_t *json = NULL, *moved = NULL;
    int code = store_call_begin(call, &self.served);
    if (code == ETHOS_OK)
        code = store_call_origin(&self.served, call, &self.origin);
    if (code == ETHOS_OK)
        code = read_wanted_edits(&self, json_object_get(call->args, "edits"));
    if (code == ETHOS_OK)
        code = store_update(self.served.store, self.served.scope, self.edits, self.count,
                            apply_wishes, &self, &self.origin, &self.served.error);
    if (code == ETHOS_OK)
        json = done_json(&self);
    if (code == ETHOS_CONFLICT && has_any_moved(&self) && !(moved = moved_json(&self)))
        code = ETHOS_NOMEM;
    release_swap(&self);
    code = store_call_end(&self.served, code, json, result, error);
    if (code == ETHOS_OK && result->code == ETHOS_CONFLICT && moved)
        op_json_put(&result->json, "moved", moved);
    else
        json_decref(moved);
    return code == ETHOS_OK && !result->json ? err_nomem(error) : code;
}
