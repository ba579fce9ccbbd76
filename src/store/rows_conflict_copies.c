/*
 * rows_conflict_copies.c: conflict copies, and texts that were met beside a key.
 *
 * The id of a copy is the number it was kept under and its key, so that ids in byte order are in
 * order of time. A copy goes in the same commit that makes its text a version.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"
#include "core/memory/conflict_name.h"
#include "store/rows.h"
#include "store/update_steps.h"

#define ENOUGH 1 /* what our own callbacks end a walk with */

static int fetch_version(const struct rows_store *self, const char *scope,
                         struct ethos_fetch *fetch, struct ethos_error *error)
{
    struct ethos_store *inner = self->wrap.inner;
    return inner->ops->fetch(inner, scope, fetch, error);
}

/* ---- keeping copies ------------------------------------------------------------------------- */

struct copy_request {
    const struct rows_store *self;
    const char *scope, *key;
    struct ethos_view text;
    bool kept;
};

static int is_same_copy(void *arg, const struct ethos_copy *copy)
{
    struct copy_request *aside = arg;
    aside->kept = strcmp(copy->key, aside->key) == 0 && view_eq(copy->text, aside->text);
    return aside->kept ? ENOUGH : ETHOS_OK;
}

/* "000000000012-MEMORY.md", slashes turned. */
static void make_copy_id(uint64_t number, const char *key, char out[CONFLICT_NAME_SIZE])
{
    snprintf(out, CONFLICT_NAME_SIZE, "%012" PRIu64 "-%s", number, key);
    for (char *at = out; (at = strchr(at, '/'));)
        *at = '\\';
}

static int add_copy_round(void *arg, struct ethos_error *error)
{
    struct copy_request *aside = arg;
    struct ethos_store *inner = aside->self->wrap.inner;
    struct ethos_fetch fetch = {0};
    char id[CONFLICT_NAME_SIZE];
    int code = fetch_version(aside->self, aside->scope, &fetch, error);
    if (code == ETHOS_OK)
        code = inner->ops->copies(inner, aside->scope, NULL, is_same_copy, aside, error);
    if (aside->kept || code != ETHOS_OK)
        return aside->kept ? ETHOS_OK : code;
    make_copy_id(fetch.version + 1, aside->key, id);
    struct ethos_copy copy = {id, aside->key, rows_now_ms(aside->self), aside->text};
    struct ethos_commit commit = {.version = fetch.version, .copies = &copy, .copy_count = 1};
    return rows_commit(aside->self, aside->scope, &commit, error);
}

int rows_add_conflict_copy(struct ethos_store *self, const char *scope, const char *key,
                           struct ethos_view text, struct ethos_error *error)
{
    struct copy_request aside = {(const struct rows_store *)self, scope, key, text, false};
    if (!text.data)
        aside.text = VIEW("");
    return rows_retry(aside.self, scope, add_copy_round, &aside, error);
}

/* ---- looking at them ------------------------------------------------------------------------ */

/* All conflicts without their texts, copied so that their receiver may call the store. */
struct conflict_list {
    struct arena arena;
    struct ethos_conflict *list;
    size_t count, capacity;
};

static int add_to_list(void *arg, const struct ethos_copy *copy)
{
    struct conflict_list *listing = arg;
    struct ethos_conflict *list = arena_grow(&listing->arena, listing->list, listing->count,
                                             &listing->capacity, sizeof *list);
    if (!list)
        return ETHOS_NOMEM;
    listing->list = list;
    struct ethos_conflict *conflict = &list[listing->count++];
    *conflict = (struct ethos_conflict){.id = arena_str(&listing->arena, copy->id),
                                        .key = arena_str(&listing->arena, copy->key),
                                        .time_ms = copy->time_ms,
                                        .bytes = copy->text.size,
                                        .kind = "copy"};
    return conflict->id && conflict->key ? ETHOS_OK : ETHOS_NOMEM;
}

int rows_list_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each,
                        void *arg, struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct conflict_list listing = {0};
    arena_init(&listing.arena);
    int code = inner->ops->copies(inner, scope, NULL, add_to_list, &listing, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < listing.count; i++)
        code = each(arg, &listing.list[i]);
    arena_release(&listing.arena);
    return code;
}

/* ---- one of them ---------------------------------------------------------------------------- */

struct found_copy {
    struct arena *arena;
    struct ethos_copy copy; /* id NULL: not found */
};

static int copy_found(void *arg, const struct ethos_copy *copy)
{
    struct found_copy *found = arg;
    const char *text = arena_copy(found->arena, copy->text);
    found->copy = (struct ethos_copy){arena_str(found->arena, copy->id),
                                      arena_str(found->arena, copy->key), copy->time_ms,
                                      view_of(text, copy->text.size)};
    return found->copy.id && found->copy.key && text ? ENOUGH : ETHOS_NOMEM;
}

static int load_copy(const struct rows_store *self, const char *scope, const char *id,
                     struct arena *arena, struct ethos_copy *out, struct ethos_error *error)
{
    struct ethos_store *inner = self->wrap.inner;
    struct found_copy found = {.arena = arena};
    int code = strlen(id) < CONFLICT_NAME_SIZE
                   ? inner->ops->copies(inner, scope, id, copy_found, &found, error)
                   : ETHOS_OK;
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code == ETHOS_OK || code == ETHOS_NOTFOUND)
        return err_set(error, ETHOS_NOTFOUND, "no such conflict: %s", id);
    *out = found.copy;
    return code == ENOUGH ? ETHOS_OK : code;
}

int rows_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                       struct ethos_text *out_text, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct ethos_copy copy;
    arena_init(&arena);
    TRY(load_copy((const struct rows_store *)self, scope, id, &arena, &copy, error));
    return edit_fill_text(((struct store_wrapper *)self)->host, copy.text, NULL, copy.time_ms,
                          out_text, error);
}

/* ---- texts that were met -------------------------------------------------------------------- */

/* A text to be made a version of its key; with `id`, its conflict copy is removed. */
struct seen_text {
    const struct rows_store *self;
    const char *scope, *key, *id;
    struct ethos_view text;
    char revision[ETHOS_REVISION_SIZE];
    bool known;
    struct arena arena; /* of one round */
};

static int find_seen_version(void *arg, const struct ethos_row *row)
{
    struct seen_text *meeting = arg;
    meeting->known = strcmp(row->change.after, meeting->revision) == 0;
    return meeting->known ? ENOUGH : ETHOS_OK;
}

static int commit_seen_text(struct seen_text *meeting, const struct ethos_fetch *fetch,
                            struct ethos_error *error)
{
    const struct ethos_text *now = &fetch->edits->old;
    struct ethos_copy gone = {.id = meeting->id, .key = meeting->key};
    struct ethos_row row = {
        .change = edit_make_seen_change(meeting->key, rows_now_ms(meeting->self))};
    struct ethos_commit commit = {.version = fetch->version,
                                  .rows = &row,
                                  .row_count = meeting->known ? 0 : 1,
                                  .copies = &gone,
                                  .copy_count = meeting->id ? 1 : 0};
    row.change.number = fetch->version + 1;
    if (!meeting->known && rows_describe_row(view_of(now->data, now->size), meeting->text,
                                             &meeting->arena, &row) != ETHOS_OK)
        return err_nomem(error);
    return rows_commit(meeting->self, meeting->scope, &commit, error);
}

/* Fetches the key first: what its rows say then holds until the commit, or the commit fails. */
static int record_seen_text(struct seen_text *meeting, struct ethos_error *error)
{
    const struct rows_store *self = meeting->self;
    struct ethos_edit edit = {.key = meeting->key};
    struct ethos_fetch fetch = {.edits = &edit, .count = 1};
    hash_revision(meeting->text, meeting->revision);
    meeting->known = false;
    int code = fetch_version(self, meeting->scope, &fetch, error);
    if (code == ETHOS_OK)
        code = rows_for_each(self, meeting->scope, meeting->key, find_seen_version, meeting, error);
    if (code == ENOUGH)
        code = ETHOS_OK;
    if (code == ETHOS_OK && (!meeting->known || meeting->id))
        code = commit_seen_text(meeting, &fetch, error);
    edit_free_text(self->wrap.host, &edit.old);
    return code;
}

static int add_version_round(void *arg, struct ethos_error *error)
{
    struct seen_text *meeting = arg;
    arena_init(&meeting->arena);
    int code = record_seen_text(meeting, error);
    arena_release(&meeting->arena);
    return code;
}

static int remove_copy_round(void *arg, struct ethos_error *error)
{
    struct seen_text *meeting = arg;
    struct ethos_copy copy;
    arena_init(&meeting->arena);
    int code = load_copy(meeting->self, meeting->scope, meeting->id, &meeting->arena, &copy, error);
    if (code == ETHOS_OK) {
        meeting->key = copy.key;
        meeting->text = copy.text;
        code = record_seen_text(meeting, error);
    }
    arena_release(&meeting->arena);
    return code;
}

int rows_add_version(struct ethos_store *self, const char *scope, const char *key,
                     struct ethos_view text, struct ethos_error *error)
{
    struct seen_text meeting = {.self = (const struct rows_store *)self,
                                .scope = scope,
                                .key = key,
                                .text = text.data ? text : VIEW("")};
    return rows_retry(meeting.self, scope, add_version_round, &meeting, error);
}

int rows_conflict_remove(struct ethos_store *self, const char *scope, const char *id,
                         struct ethos_error *error)
{
    struct seen_text meeting = {.self = (const struct rows_store *)self, .scope = scope, .id = id};
    return rows_retry(meeting.self, scope, remove_copy_round, &meeting, error);
}
