/*
 * update.c: read, ask the callback, swap if nothing moved; else again, from what the swap met.
 *
 * Every swap has an operation id: the caller's, or one made here, the same for the whole call. An answer that
 * is lost is asked for again, and whichever of the attempts was carried out, the others are told so.
 * Only when no answer is to be had in time is it unknown whether the update happened (ETHOS_IO).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/wire.h"
#include "remote.h"
#include "store/operation_id.h"
#include "store/update_steps.h"

struct updating {
    struct remote *remote;
    const char *scope;
    struct ethos_edit *edits;
    size_t count;
    struct ethos_origin origin;
    bool made;   /* the operation id is one of ours, and the caller need not know */
    bool looked; /* the server was asked about the caller's */
    char id[REMOTE_OP_SIZE];
    int64_t deadline;
};

/* ---- reading -------------------------------------------------------------------------------------- */

static int read_olds(struct updating *self, struct ethos_error *error)
{
    struct spot *spots = calloc(self->count + 1, sizeof *spots);
    if (!spots)
        return err_nomem(error);
    for (size_t i = 0; i < self->count; i++)
        spots[i] = (struct spot){
            .scope = self->scope, .key = self->edits[i].key, .text = &self->edits[i].old};
    int code = texts_fetch(self->remote, spots, self->count, 0, self->deadline, error);
    for (size_t i = 0; code == ETHOS_OK && i < self->count; i++) {
        if (spots[i].code == ETHOS_NOTFOUND)
            edit_free_text(self->remote->host, &self->edits[i].old);
        else if ((code = spots[i].code) != ETHOS_OK && error)
            *error = spots[i].error;
    }
    free(spots);
    return code;
}

static struct ethos_edit *edit_of(struct updating *self, struct ethos_view key)
{
    for (size_t i = 0; i < self->count; i++)
        if (key.data && view_eq_str(key, self->edits[i].key))
            return &self->edits[i];
    return NULL;
}

/* The texts that the swap met in place of those that were read. */
static int take_moved(struct updating *self, const json_t *answer, struct ethos_error *error)
{
    const struct remote *remote = self->remote;
    const json_t *rows = json_object_get(answer, "moved");
    size_t index;
    json_t *row;
    int code = ETHOS_OK;
    if (json_array_size(rows) == 0)
        return read_olds(self, error);
    json_array_foreach (rows, index, row) {
        struct ethos_edit *edit = edit_of(self, json_view(row, "key"));
        if (code != ETHOS_OK)
            break;
        if (!edit)
            code = remote_unexpected_answer(
                &remote->link, "it answered something else than what was asked", error);
        else if (json_object_get(row, "text"))
            code = texts_take(self->remote, row, &edit->old, error);
        else
            edit_free_text(remote->host, &edit->old);
    }
    return code;
}

/* ---- swapping ------------------------------------------------------------------------------------- */

static bool set_object_member(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

/* What is known of a text, for a look: "?" is what no text has. */
static const char *known_revision(const struct updating *self, const struct ethos_edit *edit)
{
    const struct ethos_text *text = cache_find(&self->remote->cache, self->scope, edit->key, 0);
    return !text ? "?" : text->data ? text->revision : "absent";
}

static json_t *edit_json(const struct updating *self, const struct ethos_edit *edit, bool looking)
{
    const char *expect = looking          ? known_revision(self, edit)
                         : edit->old.data ? edit->old.revision
                                          : "absent";
    json_t *json = json_pack("{s:s, s:s}", "key", edit->key, "expect", expect);
    bool whole = json;
    if (whole && !looking && edit->verdict == ETHOS_EDIT_PUT)
        whole = set_object_member(json, "text", wire_bytes(edit->text));
    if (whole && !looking && edit->verdict == ETHOS_EDIT_DROP)
        whole = set_object_member(json, "drop", json_true());
    if (whole && !looking && edit->actions)
        whole = set_object_member(json, "actions", json_text(view_str(edit->actions)));
    if (whole && !looking && *edit->receipt)
        whole = set_object_member(json, "receipt", json_text(view_str(edit->receipt)));
    if (whole)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *swap_args(const struct updating *self, bool looking)
{
    json_t *edits = json_array(), *args = NULL;
    bool whole = edits;
    for (size_t i = 0; whole && i < self->count; i++)
        whole = json_array_append_new(edits, edit_json(self, &self->edits[i], looking)) == 0;
    if (whole)
        args = texts_args(self->scope, NULL, "edits", edits);
    else
        json_decref(edits);
    if (args && !set_object_member(args, "origin", wire_origin(&self->origin))) {
        json_decref(args);
        args = NULL;
    }
    return args;
}

static int check_update_size(const struct updating *self, struct ethos_error *error)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < self->count; i++)
        bytes += self->edits[i].verdict == ETHOS_EDIT_PUT ? self->edits[i].text.size : 0;
    return bytes <= WIRE_MAX_BYTES
               ? ETHOS_OK
               : err_set(error, ETHOS_LIMIT, "remote: more than %d bytes in one update",
                         WIRE_MAX_BYTES);
}

/* Whether one of the edits is answered as repeated: so the operation was known. */
static bool was_repeated(const json_t *answer)
{
    size_t index;
    json_t *row;
    json_array_foreach (json_object_get(answer, "edits"), index, row)
        if (view_eq(json_view(row, "verdict"), VIEW("repeated")))
            return true;
    return false;
}

/* What became of one. An operation of our own that was known is one whose answer was lost on the way. */
static bool read_outcome(const json_t *row, bool repeated, struct ethos_edit *edit)
{
    bool ok = true;
    const char *revision = wire_string(row, "revision", &ok);
    const char *receipt = wire_string(row, "receipt", &ok);
    if (!ok || !revision || strlen(revision) >= sizeof edit->revision || !receipt ||
        strlen(receipt) >= sizeof edit->receipt || !view_eq_str(json_view(row, "key"), edit->key))
        return false;
    memcpy(edit->revision, revision, strlen(revision) + 1);
    if (!repeated)
        return true;
    bool was = view_eq(json_view(row, "verdict"), VIEW("repeated"));
    edit->verdict = was ? ETHOS_EDIT_REPEATED : ETHOS_EDIT_KEEP;
    memcpy(edit->receipt, receipt, strlen(receipt) + 1);
    return true;
}

static int take_done(struct updating *self, const json_t *answer, struct ethos_error *error)
{
    const json_t *rows = json_object_get(answer, "edits");
    bool repeated = !self->made && was_repeated(answer);
    bool ok = json_is_array(rows) && json_array_size(rows) == self->count;
    for (size_t i = 0; ok && i < self->count; i++)
        ok = read_outcome(json_array_get(rows, i), repeated, &self->edits[i]);
    for (size_t i = 0; repeated && i < self->count; i++)
        edit_free_text(self->remote->host, &self->edits[i].old); // it says nothing about then
    return ok ? ETHOS_OK
              : remote_unexpected_answer(&self->remote->link,
                                         "it answered something else than what was asked", error);
}

/* ETHOS_CONFLICT: *out tells what moved. Looking changes nothing. */
static int call_swap(struct updating *self, bool looking, json_t **out, struct ethos_error *error)
{
    int code = looking ? ETHOS_OK : check_update_size(self, error);
    if (code != ETHOS_OK)
        return code;
    json_t *args = swap_args(self, looking);
    const struct remote_call ask = {"swap", NULL, args, NULL,
                                    looking                        ? ASK_READ
                                    : opid_is_given(&self->origin) ? ASK_AGAIN
                                                                   : 0};
    code = args ? remote_ask(self->remote, &ask, self->deadline, out, error) : err_nomem(error);
    json_decref(args);
    for (size_t i = 0; i < self->count && !looking; i++)
        cache_forget(&self->remote->cache, self->scope, self->edits[i].key);
    return code;
}

/* ---- the update ------------------------------------------------------------------------------------ */

/* Texts that are still what was read last are those that the look did not find moved. */
static int recall_olds(struct updating *self, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < self->count; i++) {
        struct ethos_edit *edit = &self->edits[i];
        const struct ethos_text *text = cache_find(&self->remote->cache, self->scope, edit->key, 0);
        if (text && text->data)
            code = texts_give(self->remote, text, view_of(text->data, text->size), &edit->old,
                              error);
        else
            edit_free_text(self->remote->host, &edit->old);
    }
    return code;
}

/*
 * With an operation id of the caller's, the server is asked first whether it was done: then no callback is
 * asked. That is a swap which keeps everything and expects what was read last; what it meets instead comes
 * with the answer. *done: it was.
 */
static int read_server_texts(struct updating *self, bool *done, struct ethos_error *error)
{
    json_t *answer = NULL;
    int code = call_swap(self, true, &answer, error);
    *done = code == ETHOS_OK && was_repeated(answer);
    if (*done)
        code = take_done(self, answer, error);
    else if (code == ETHOS_OK || code == ETHOS_CONFLICT)
        code = recall_olds(self, error);
    if (code == ETHOS_OK && json_object_get(answer, "moved"))
        code = take_moved(self, answer, error);
    json_decref(answer);
    return code;
}

/* One round. *again: something moved, and the olds are those that were met. */
static int try_once(struct updating *self, ethos_edit_fn *edit, void *arg, bool *again,
                    struct ethos_error *error)
{
    json_t *answer = NULL;
    int code = edit_run_callback(self->edits, self->count, edit, arg, error);
    if (code != ETHOS_OK)
        return code;
    bool idle = !edit_has_changes(self->edits, self->count);
    if (idle && (self->looked || !self->remote->settles || self->count == 0)) {
        edit_set_revisions(self->edits, self->count);
        return ETHOS_OK;
    }
    code = call_swap(self, false, &answer, error);
    if (code == ETHOS_OK)
        code = take_done(self, answer, error);
    *again = code == ETHOS_CONFLICT;
    if (*again)
        code = take_moved(self, answer, error);
    json_decref(answer);
    return code;
}

/* The digest of a made one says nothing: the id is new, and all attempts of this call are the same to it. */
static int make_operation_id(struct updating *self, struct ethos_error *error)
{
    unsigned char random[16];
    if (opid_is_given(&self->origin) || !self->remote->once)
        return ETHOS_OK;
    if (os_random(random, sizeof random) != 0)
        return err_set(error, ETHOS_IO, "cannot get random bytes from the system");
    memcpy(self->id, WIRE_OP, sizeof WIRE_OP);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(self->id + sizeof WIRE_OP - 1 + 2 * i, 3, "%02x", random[i]);
    self->origin.op_id = self->id;
    self->origin.op_digest = "remote";
    self->made = true;
    return ETHOS_OK;
}

int remote_update(struct ethos_store *store, const char *scope, struct ethos_edit *edits,
                  size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                  struct ethos_error *error)
{
    struct updating self = {.remote = remote_of(store),
                            .scope = scope,
                            .edits = edits,
                            .count = count,
                            .deadline = link_deadline(&remote_of(store)->link)};
    bool done = false;
    if (origin)
        self.origin = *origin;
    int code = edit_check_keys(edits, count, error);
    self.looked = opid_is_given(&self.origin);
    if (code == ETHOS_OK)
        code = self.looked ? read_server_texts(&self, &done, error) : read_olds(&self, error);
    if (code == ETHOS_OK)
        code = make_operation_id(&self, error);
    for (bool again = code == ETHOS_OK && !done; again;) {
        again = false;
        code = try_once(&self, edit, arg, &again, error);
        if (code != ETHOS_OK)
            break;
        if (again && os_monotonic_ms() >= self.deadline)
            return link_too_late(&self.remote->link, error);
    }
    return code;
}

int remote_write(struct ethos_store *self, const char *scope, const char *key, const char *expect,
                 struct ethos_view text, const struct ethos_origin *origin,
                 char out_revision[ETHOS_REVISION_SIZE], struct ethos_error *error)
{
    return edit_compare_and_swap(remote_of(self)->host, remote_update, self, scope, key, expect,
                                 &text, origin, out_revision, error);
}

int remote_remove(struct ethos_store *self, const char *scope, const char *key, const char *expect,
                  const struct ethos_origin *origin, struct ethos_error *error)
{
    return edit_compare_and_swap(remote_of(self)->host, remote_update, self, scope, key, expect,
                                 NULL, origin, NULL, error);
}
