/*
 * rows_conflict_copies.c: conflict copies, and texts that were met beside a key.
 *
 * The id of a copy is the number it was kept under and its key, so that ids in byte order are in order of
 * time. A copy goes in the same commit that makes its text a version.
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

static int fetch_version(const struct rows *self, const char *scope, struct ethos_fetch *fetch,
                         struct ethos_error *error)
{
    struct ethos_store *inner = self->wrap.inner;
    return inner->ops->fetch(inner, scope, fetch, error);
}

/* ---- keeping copies ------------------------------------------------------------------------- */

struct aside {
    const struct rows *self;
    const char *scope, *key;
    struct ethos_view text;
    bool kept;
};

static int find_same(void *arg, const struct ethos_copy *copy)
{
    struct aside *aside = arg;
    aside->kept = strcmp(copy->key, aside->key) == 0 && view_eq(copy->text, aside->text);
    return aside->kept ? ENOUGH : ETHOS_OK;
}

/* "000000000012-MEMORY.md", slashes turned. */
static void name_copy(uint64_t number, const char *key, char out[CONFLICT_NAME_SIZE])
{
    snprintf(out, CONFLICT_NAME_SIZE, "%012" PRIu64 "-%s", number, key);
    for (char *at = out; (at = strchr(at, '/'));)
        *at = '\\';
}

static int keep_copy(void *arg, struct ethos_error *error)
{
    struct aside *aside = arg;
    struct ethos_store *inner = aside->self->wrap.inner;
    struct ethos_fetch fetch = {0};
    char id[CONFLICT_NAME_SIZE];
    int code = fetch_version(aside->self, aside->scope, &fetch, error);
    if (code == ETHOS_OK)
        code = inner->ops->copies(inner, aside->scope, NULL, find_same, aside, error);
    if (aside->kept || code != ETHOS_OK)
        return aside->kept ? ETHOS_OK : code;
    name_copy(fetch.version + 1, aside->key, id);
    struct ethos_copy copy = {id, aside->key, rows_now_ms(aside->self), aside->text};
    struct ethos_commit commit = {.version = fetch.version, .copies = &copy, .copy_count = 1};
    return rows_commit(aside->self, aside->scope, &commit, error);
}

int rows_set_aside(struct ethos_store *self, const char *scope, const char *key,
                   struct ethos_view text, struct ethos_error *error)
{
    struct aside aside = {(const struct rows *)self, scope, key, text, false};
    if (!text.data)
        aside.text = VIEW("");
    return rows_repeat(aside.self, scope, keep_copy, &aside, error);
}

/* ---- looking at them ------------------------------------------------------------------------ */

/* All of them, so that whoever is told may call the store; without their texts. */
struct listing {
    struct arena arena;
    struct ethos_conflict *list;
    size_t count, capacity;
};

static int list_copy(void *arg, const struct ethos_copy *copy)
{
    struct listing *listing = arg;
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

int rows_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each, void *arg,
                   struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    struct listing listing = {0};
    arena_init(&listing.arena);
    int code = inner->ops->copies(inner, scope, NULL, list_copy, &listing, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < listing.count; i++)
        code = each(arg, &listing.list[i]);
    arena_release(&listing.arena);
    return code;
}

/* ---- one of them ---------------------------------------------------------------------------- */

struct found {
    struct arena *arena;
    struct ethos_copy copy; /* id NULL: not found */
};

static int take_copy(void *arg, const struct ethos_copy *copy)
{
    struct found *found = arg;
    const char *text = arena_copy(found->arena, copy->text);
    found->copy = (struct ethos_copy){arena_str(found->arena, copy->id),
                                      arena_str(found->arena, copy->key), copy->time_ms,
                                      view_of(text, copy->text.size)};
    return found->copy.id && found->copy.key && text ? ENOUGH : ETHOS_NOMEM;
}

static int find_copy(const struct rows *self, const char *scope, const char *id,
                     struct arena *arena, struct ethos_copy *out, struct ethos_error *error)
{
    struct ethos_store *inner = self->wrap.inner;
    struct found found = {.arena = arena};
    int code = strlen(id) < CONFLICT_NAME_SIZE
                   ? inner->ops->copies(inner, scope, id, take_copy, &found, error)
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
    struct arena arena;
    struct ethos_copy copy;
    arena_init(&arena);
    int code = find_copy((const struct rows *)self, scope, id, &arena, &copy, error);
    if (code == ETHOS_OK)
        code = edit_give(((struct wrap *)self)->host, copy.text, NULL, copy.time_ms, out_text,
                         error);
    arena_release(&arena);
    return code;
}

/* ---- texts that were met -------------------------------------------------------------------- */

/* A text that is to be a version of its key; with `id`, the copy of it goes. */
struct meeting {
    const struct rows *self;
    const char *scope, *key, *id;
    struct ethos_view text;
    char revision[ETHOS_REVISION_SIZE];
    bool known;
    struct arena arena; /* of one round */
};

static int find_version(void *arg, const struct ethos_row *row)
{
    struct meeting *meeting = arg;
    meeting->known = strcmp(row->change.after, meeting->revision) == 0;
    return meeting->known ? ENOUGH : ETHOS_OK;
}

static int commit_meeting(struct meeting *meeting, const struct ethos_fetch *fetch,
                          struct ethos_error *error)
{
    const struct ethos_text *now = &fetch->edits->old;
    struct ethos_copy gone = {.id = meeting->id, .key = meeting->key};
    struct ethos_row row = {.change = edit_seen(meeting->key, rows_now_ms(meeting->self))};
    struct ethos_commit commit = {.version = fetch->version,
                                  .rows = &row,
                                  .row_count = meeting->known ? 0 : 1,
                                  .copies = &gone,
                                  .copy_count = meeting->id ? 1 : 0};
    row.change.number = fetch->version + 1;
    if (!meeting->known && rows_describe(view_of(now->data, now->size), meeting->text,
                                         &meeting->arena, &row) != ETHOS_OK)
        return err_nomem(error);
    return rows_commit(meeting->self, meeting->scope, &commit, error);
}

/* The key is fetched first: what its rows say then holds until the commit, or that comes too late. */
static int meet(struct meeting *meeting, struct ethos_error *error)
{
    const struct rows *self = meeting->self;
    struct ethos_edit edit = {.key = meeting->key};
    struct ethos_fetch fetch = {.edits = &edit, .count = 1};
    hash_revision(meeting->text, meeting->revision);
    meeting->known = false;
    int code = fetch_version(self, meeting->scope, &fetch, error);
    if (code == ETHOS_OK)
        code = rows_each(self, meeting->scope, meeting->key, find_version, meeting, error);
    if (code == ENOUGH)
        code = ETHOS_OK;
    if (code == ETHOS_OK && (!meeting->known || meeting->id))
        code = commit_meeting(meeting, &fetch, error);
    edit_absent(self->wrap.host, &edit.old);
    return code;
}

static int keep_round(void *arg, struct ethos_error *error)
{
    struct meeting *meeting = arg;
    arena_init(&meeting->arena);
    int code = meet(meeting, error);
    arena_release(&meeting->arena);
    return code;
}

static int drop_round(void *arg, struct ethos_error *error)
{
    struct meeting *meeting = arg;
    struct ethos_copy copy;
    arena_init(&meeting->arena);
    int code = find_copy(meeting->self, meeting->scope, meeting->id, &meeting->arena, &copy, error);
    if (code == ETHOS_OK) {
        meeting->key = copy.key;
        meeting->text = copy.text;
        code = meet(meeting, error);
    }
    arena_release(&meeting->arena);
    return code;
}

int rows_keep(struct ethos_store *self, const char *scope, const char *key, struct ethos_view text,
              struct ethos_error *error)
{
    struct meeting meeting = {.self = (const struct rows *)self,
                              .scope = scope,
                              .key = key,
                              .text = text.data ? text : VIEW("")};
    return rows_repeat(meeting.self, scope, keep_round, &meeting, error);
}

int rows_conflict_drop(struct ethos_store *self, const char *scope, const char *id,
                       struct ethos_error *error)
{
    struct meeting meeting = {.self = (const struct rows *)self, .scope = scope, .id = id};
    return rows_repeat(meeting.self, scope, drop_round, &meeting, error);
}
