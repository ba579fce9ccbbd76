/*
 * history.c: history, versions, and what is kept beside keys. Purging is for the machine that keeps the texts.
 */
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/wire.h"
#include "remote.h"

/* ---- history -------------------------------------------------------------------------------------- */

/* An id that was made for the way is none of the caller's. */
static void hide_op(struct ethos_change *change)
{
    if (change->op_id && strncmp(change->op_id, WIRE_OP, sizeof WIRE_OP - 1) == 0)
        change->op_id = NULL;
}

static int tell_changes(struct remote *self, const json_t *rows, ethos_change_fn *each, void *arg,
                        struct ethos_error *error)
{
    struct str scratch;
    size_t index;
    json_t *row;
    int code = ETHOS_OK;
    str_init(&scratch, WIRE_MAX_BYTES);
    json_array_foreach (rows, index, row) {
        struct ethos_change change;
        if (code != ETHOS_OK)
            break;
        if (wire_take_change(row, &scratch, &change) != ETHOS_OK) {
            code = remote_unexpected_answer(&self->link, "a change came that is none", error);
            break;
        }
        hide_op(&change);
        code = each(arg, &change);
    }
    str_release(&scratch);
    return code;
}

int remote_history(struct ethos_store *store, const char *scope, const char *key,
                   ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    struct remote *self = remote_of(store);
    uint64_t after = 0, skip = 0;
    int code = ETHOS_OK;
    for (bool more = true; more && code == ETHOS_OK;) {
        json_t *answer = NULL;
        json_t *args = texts_args(scope, key, "after", json_integer((json_int_t)after));
        if (args)
            json_object_set_new(args, "skip", json_integer((json_int_t)skip));
        code = texts_ask(self, "history", args, ASK_READ, &answer, error);
        const json_t *next = json_object_get(answer, "next");
        more = json_is_object(next);
        after = wire_number(next, "after", 0);
        skip = wire_number(next, "skip", 0);
        if (code == ETHOS_OK)
            code = tell_changes(self, json_object_get(answer, "changes"), each, arg, error);
        json_decref(answer);
    }
    return code;
}

int remote_version(struct ethos_store *store, const char *scope, const char *key,
                   const char *revision, struct ethos_text *out_text, struct ethos_error *error)
{
    struct remote *self = remote_of(store);
    json_t *answer = NULL;
    int code = texts_ask(self, "version",
                         texts_args(scope, key, "revision", json_text(view_str(revision))),
                         ASK_READ, &answer, error);
    if (code == ETHOS_OK)
        code = texts_take(self, answer, out_text, error);
    json_decref(answer);
    return code;
}

/* When an answer was lost, a second question is a conflict: who grafts looks at what there is, and goes on. */
int remote_import_commits(struct ethos_store *store, const char *scope,
                          const struct ethos_commit *commit, struct ethos_error *error)
{
    struct remote *self = remote_of(store);
    json_t *answer = NULL;
    int code = texts_ask(self, "graft", texts_args(scope, NULL, "commit", wire_commit(commit)),
                         ASK_AGAIN, &answer, error);
    cache_release(&self->cache);
    json_decref(answer);
    return code;
}

/* ---- beside keys ------------------------------------------------------------------------------------ */

static int put_beside(struct remote *self, const char *name, const char *scope, const char *key,
                      struct ethos_view text, struct ethos_error *error)
{
    json_t *answer = NULL;
    int code = texts_ask(self, name, texts_args(scope, key, "text", wire_bytes(text)), ASK_AGAIN,
                         &answer, error);
    json_decref(answer);
    return code;
}

int remote_set_aside(struct ethos_store *self, const char *scope, const char *key,
                     struct ethos_view text, struct ethos_error *error)
{
    return put_beside(remote_of(self), "setAside", scope, key, text, error);
}

int remote_keep(struct ethos_store *self, const char *scope, const char *key,
                struct ethos_view text, struct ethos_error *error)
{
    return put_beside(remote_of(self), "keep", scope, key, text, error);
}

int remote_conflicts(struct ethos_store *store, const char *scope, ethos_conflict_fn *each,
                     void *arg, struct ethos_error *error)
{
    struct remote *self = remote_of(store);
    size_t index;
    json_t *rows, *row;
    int code = texts_list(self, "conflicts", scope, "conflicts", &rows, error);
    json_array_foreach (rows, index, row) {
        bool ok = true;
        const struct ethos_conflict conflict = {
            .id = wire_string(row, "id", &ok),
            .key = wire_string(row, "key", &ok),
            .time_ms = (int64_t)wire_number(row, "timeMs", 0),
            .bytes = wire_number(row, "bytes", 0),
            .kind = wire_string(row, "kind", &ok),
        };
        if (code == ETHOS_OK && (!ok || !conflict.id || !conflict.key || !conflict.kind))
            code = remote_unexpected_answer(&self->link, "a list came that is none", error);
        if (code == ETHOS_OK)
            code = each(arg, &conflict);
    }
    json_decref(rows);
    return code;
}

int remote_conflict_read(struct ethos_store *store, const char *scope, const char *id,
                         struct ethos_text *out_text, struct ethos_error *error)
{
    struct remote *self = remote_of(store);
    json_t *answer = NULL;
    int code = texts_ask(self, "conflictRead",
                         texts_args(scope, NULL, "id", json_text(view_str(id))), ASK_READ, &answer,
                         error);
    if (code == ETHOS_OK)
        code = texts_take(self, answer, out_text, error);
    json_decref(answer);
    return code;
}

/* A second question after a lost answer finds nothing: who asks once more is told that it is gone. */
int remote_conflict_drop(struct ethos_store *store, const char *scope, const char *id,
                         struct ethos_error *error)
{
    json_t *answer = NULL;
    int code = texts_ask(remote_of(store), "conflictDrop",
                         texts_args(scope, NULL, "id", json_text(view_str(id))), 0, &answer, error);
    json_decref(answer);
    return code;
}
