/*
 * list.c: lists queued writes, and shows what approving one would do.
 */
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/text/quote.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"
#include "core/notes/index.h"
#include "memory/admission.h"
#include "memory/approval/pending_queue.h"
#include "memory/handle_internal.h"
#include "memory/review/internal.h"

struct pending_listing {
    struct ethos *ethos;
    int root;
    struct pending_limits limits;
    const char *actor; /* or NULL */
    json_t *rows;
    size_t count;
    struct ethos_error *error;
};

static double proposed_at(const json_t *row)
{
    return json_number_value(json_object_get(row, "proposedAt"));
}

/* Oldest first; stable for equal times. */
static int insert_row(json_t *rows, json_t *row)
{
    size_t at = json_array_size(rows);
    while (at > 0 && proposed_at(json_array_get(rows, at - 1)) > proposed_at(row))
        at--;
    return json_array_insert(rows, at, row) == 0 ? ETHOS_OK : ETHOS_NOMEM;
}

static int list_scope_queue(void *arg, const char *scope)
{
    struct pending_listing *listing = arg;
    struct pending_queue queue;
    int code = pending_queue_read(listing->root, scope, &listing->limits,
                                  service_now_ms(listing->ethos), &queue, listing->error);
    for (size_t i = 0; code == ETHOS_OK && i < queue.count; i++) {
        const struct pending_line *line = &queue.lines[i];
        const char *actor = line->pending.actor;
        if (!line->row || line->reason ||
            (listing->actor && (!actor || strcmp(actor, listing->actor) != 0)))
            continue;
        listing->count++;
        if (listing->rows && insert_row(listing->rows, line->row) != ETHOS_OK)
            code = err_nomem(listing->error);
    }
    pending_queue_release(&queue);
    return code;
}

static int walk_scopes(struct pending_listing *listing, const char *scope)
{
    enum approval_mode mode;
    int code = admission_limits(listing->ethos, &listing->limits, &mode, listing->error);
    if (code == ETHOS_OK)
        code = service_open_root(listing->ethos, false, &listing->root, listing->error);
    if (code != ETHOS_OK || listing->root < 0)
        return code;
    code = scope
               ? list_scope_queue(listing, scope)
               : pending_queue_each_scope(listing->root, list_scope_queue, listing, listing->error);
    os_close(listing->root);
    return code;
}

int review_list(struct ethos *ethos, const char *scope, const char *actor, json_t **out,
                struct ethos_error *error)
{
    struct pending_listing listing = {
        .ethos = ethos, .root = -1, .actor = actor, .rows = json_array(), .error = error};
    int code = listing.rows ? walk_scopes(&listing, scope) : err_nomem(error);
    if (code == ETHOS_OK)
        *out = listing.rows;
    else
        json_decref(listing.rows);
    return code;
}

int review_count(struct ethos *ethos, size_t *out, struct ethos_error *error)
{
    struct pending_listing listing = {.ethos = ethos, .root = -1, .error = error};
    int code = walk_scopes(&listing, NULL);
    *out = listing.count;
    return code;
}

int review_find(struct ethos *ethos, const char *scope, struct ethos_view id, json_t **out,
                struct ethos_error *error)
{
    json_t *rows, *row, *found = NULL;
    char shown[QUOTE_SIZE];
    size_t index, count = 0;
    TRY(review_list(ethos, scope, NULL, &rows, error));
    json_array_foreach (rows, index, row) {
        struct ethos_view name = json_view(row, "id");
        bool whole = view_eq(name, id);
        if (!whole && (id.size == 0 || !view_starts(name, id)))
            continue;
        count = whole ? 1 : count + 1;
        found = row;
        if (whole)
            break;
    }
    json_incref(found);
    json_decref(rows);
    quote_line(id, shown);
    if (count == 1) {
        *out = found;
        return ETHOS_OK;
    }
    json_decref(found);
    if (count > 1)
        return err_set(error, ETHOS_INVALID, "%s matches %zu waiting writes", shown, count);
    return err_hint(error,
                    err_set(error, ETHOS_NOTFOUND, "no write with the id %s is waiting", shown),
                    "ethos pending list shows waiting writes");
}

/* ---- what it would do -------------------------------------------------------------------------- */

int review_apply(const struct pending *pending, struct ethos_view before, struct str *out,
                 struct update_effect *out_effect)
{
    const struct ethos_update update = {.action = pending->action, .text = pending->text};
    return update_apply(&update, 1, before, out, out_effect);
}

int review_apply_line(const struct pending *pending, struct ethos_view index, struct str *out)
{
    struct ethos_view key = view_str(pending->key);
    if (pending->action == ETHOS_ACTION_DELETE)
        return index_drop(index, key, out);
    return index_put(index, view_str(pending->title ? pending->title : ""), key,
                     view_str(pending->hook ? pending->hook : ""), out);
}

static int read_current_text(struct ethos_turn *turn, const char *scope, const char *key,
                             struct ethos_text *out, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_provider *provider = turn->provider;
    int code = provider->ops->read(provider, scope, key, &whole, out, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int add_line_diff(struct ethos_turn *turn, const struct pending *pending, struct str *diff,
                         struct ethos_error *error)
{
    const struct ethos_host *host = turn->ethos->host;
    struct ethos_text index = {0};
    struct str after;
    str_init(&after, ETHOS_MAX_STORE_BYTES);
    int code = read_current_text(turn, pending->scope, REVIEW_INDEX, &index, error);
    struct ethos_view before = view_of(index.data, index.size);
    if (code == ETHOS_OK &&
        (review_apply_line(pending, before, &after) != ETHOS_OK ||
         diff_unified(before, str_view(&after), REVIEW_INDEX, diff) != ETHOS_OK))
        code = err_nomem(error);
    str_release(&after);
    host->resize(host->arg, index.data, 0);
    return code;
}

int review_preview(struct ethos_turn *turn, const struct pending *pending,
                   struct review_effect *out, struct ethos_error *error)
{
    const struct ethos_host *host = turn->ethos->host;
    struct ethos_text old = {0};
    struct update_effect effect;
    struct str after;
    *out = (struct review_effect){0};
    str_init(&out->diff, 2 * (size_t)ETHOS_MAX_STORE_BYTES);
    str_init(&after, ETHOS_MAX_STORE_BYTES);
    int code = read_current_text(turn, pending->scope, pending->key, &old, error);
    const char *revision = old.data ? old.revision : "absent";
    struct ethos_view before = view_of(old.data, old.size);
    if (code == ETHOS_OK) {
        out->moved = pending->base && strcmp(pending->base, revision) != 0;
        code = review_apply(pending, before, &after, &effect);
        struct ethos_view text = effect.present ? str_view(&after) : (struct ethos_view){0};
        if (code != ETHOS_OK || diff_unified(before, text, pending->key, &out->diff) != ETHOS_OK ||
            pending_hash(pending, revision, out->hash) != ETHOS_OK)
            code = err_nomem(error);
    }
    if (code == ETHOS_OK && pending->has_note)
        code = add_line_diff(turn, pending, &out->diff, error);
    str_release(&after);
    host->resize(host->arg, old.data, 0);
    return code;
}

void review_effect_release(struct review_effect *effect)
{
    str_release(&effect->diff);
}
