/*
 * rows_purge.c: purge: lines that hold a text go, from now and from the past, in one commit.
 *
 * First the version is fetched; what is read after it is all of one moment if the commit succeeds. Texts,
 * copies and rows that hold the needle are replaced by what is left of them. Rows are gone through from the
 * oldest on: the texts before and after each are made from what it keeps, lose those lines, and the change
 * between them is described anew. Equal texts become equal texts, so the chain of versions stays one; a row
 * between texts that have become equal stays, too. Where a text cannot be made any more, what its row keeps
 * of it goes if it holds the needle.
 */
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/history.h"
#include "core/memory/forget_text.h"
#include "store/rows.h"
#include "store/update_steps.h"

#define KEYS_AT_ONCE 64 /* texts that are in memory together */

/* The text a key had when the rows so far had happened. */
struct past {
    struct past *next;
    const char *key, *revision; /* "absent": none */
    struct str text;
    bool known;
};

struct purge {
    const struct rows *self;
    const char *scope;
    const struct forget *forget;
    const struct ethos_origin *origin;
    bool dry_run;
    struct ethos_purge found;

    /* of one round */
    struct arena arena;
    uint64_t version;
    const char **keys;
    size_t key_count, key_room;
    struct ethos_row *rows; /* every one, newest first */
    size_t row_count, row_room;
    uint64_t row_bytes;
    struct past *pasts;
    struct str before, after, spare; /* cleansed, cleansed, the text after a row */

    /* what is replaced */
    struct ethos_edit *edits;
    size_t edit_count, edit_room;
    struct ethos_row *cleansed;
    size_t cleansed_count, cleansed_room;
    struct ethos_row *added;
    size_t added_count, added_room;
    struct ethos_copy *copies;
    size_t copy_count, copy_room;
};

/* Room for one more at the end of a list; false without memory. */
#define GROW(purge, list, count, room)                                                             \
    grow(&(purge)->arena, (void **)&(purge)->list, (purge)->count, &(purge)->room,                 \
         sizeof *(purge)->list)

static bool grow(struct arena *arena, void **list, size_t count, size_t *room, size_t size)
{
    void *grown = arena_grow(arena, *list, count, room, size);
    if (grown)
        *list = grown;
    return grown;
}

static bool holds(const struct purge *purge, struct ethos_view text)
{
    return forget_holds(purge->forget, text);
}

/* Cleanses a text for good. */
static int cleanse_copy(struct purge *purge, struct ethos_view text, struct ethos_view *out,
                        uint64_t *lines)
{
    struct ethos_view left;
    if (forget_lines(purge->forget, text, &purge->after, &left, lines) != ETHOS_OK)
        return ETHOS_NOMEM;
    *out = view_of(arena_copy(&purge->arena, left), left.size);
    return out->data ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static int note_key(void *arg, const struct ethos_entry *entry)
{
    struct purge *purge = arg;
    if (!GROW(purge, keys, key_count, key_room))
        return ETHOS_NOMEM;
    const char *key = arena_str(&purge->arena, entry->key);
    purge->keys[purge->key_count++] = key;
    return key ? ETHOS_OK : ETHOS_NOMEM;
}

/* The key itself, or the one it gets; NULL without memory. */
static const char *key_after(struct purge *purge, const char *key)
{
    char renamed[ETHOS_MAX_KEY + 1];
    if (!forget_names(purge->forget, view_str(key)))
        return key;
    forget_rename(purge->forget, view_str(key), renamed);
    return arena_str(&purge->arena, renamed);
}

/* What undo stops at. */
static int record_purge(struct purge *purge, const struct ethos_edit *edit)
{
    struct ethos_origin origin = purge->origin ? *purge->origin : (struct ethos_origin){0};
    const struct ethos_edit removal = {.key = edit->key, .actions = "remove"};
    origin.via = "purge";
    origin.op_id = NULL;
    if (!GROW(purge, added, added_count, added_room))
        return ETHOS_NOMEM;
    struct ethos_row *row = &purge->added[purge->added_count++];
    *row = (struct ethos_row){.change = edit_change(&removal, &origin, rows_now_ms(purge->self))};
    row->change.number = purge->version + purge->added_count;
    return rows_describe(edit->text, edit->text, &purge->arena, row);
}

static int cleanse_edit(struct purge *purge, const struct ethos_edit *fetched)
{
    struct ethos_view old = view_of(fetched->old.data, fetched->old.size);
    bool named = old.data && forget_names(purge->forget, view_str(fetched->key));
    if (!holds(purge, old) && !named)
        return ETHOS_OK;
    if (named) {
        if (!GROW(purge, edits, edit_count, edit_room))
            return ETHOS_NOMEM;
        purge->edits[purge->edit_count++] = (struct ethos_edit){.key = fetched->key,
                                                                .verdict = ETHOS_EDIT_DROP};
        purge->found.names++;
    }
    if (!GROW(purge, edits, edit_count, edit_room))
        return ETHOS_NOMEM;
    struct ethos_edit *edit = &purge->edits[purge->edit_count++];
    *edit = (struct ethos_edit){.key = key_after(purge, fetched->key), .verdict = ETHOS_EDIT_PUT};
    if (!edit->key || cleanse_copy(purge, old, &edit->text, &purge->found.lines) != ETHOS_OK)
        return ETHOS_NOMEM;
    edit_finish(edit, 1);
    int code = purge->dry_run ? forget_tell(purge->forget, fetched->key, old) : ETHOS_OK;
    return code == ETHOS_OK ? record_purge(purge, edit) : code;
}

/* Some of the keys, from `first` on. */
static int cleanse_some(struct purge *purge, size_t first, struct ethos_error *error)
{
    struct ethos_store *inner = purge->self->wrap.inner;
    struct ethos_edit edits[KEYS_AT_ONCE] = {0};
    struct ethos_fetch fetch = {.edits = edits};
    while (fetch.count < KEYS_AT_ONCE && first + fetch.count < purge->key_count) {
        edits[fetch.count].key = purge->keys[first + fetch.count];
        fetch.count++;
    }
    int code = inner->ops->fetch(inner, purge->scope, &fetch, error);
    for (size_t i = 0; i < fetch.count; i++) {
        if (code == ETHOS_OK && (code = cleanse_edit(purge, &edits[i])) == ETHOS_NOMEM)
            err_nomem(error);
        edit_absent(purge->self->wrap.host, &edits[i].old);
    }
    return code;
}

static int cleanse_texts(struct purge *purge, struct ethos_error *error)
{
    struct ethos_store *inner = purge->self->wrap.inner;
    int code = inner->ops->list(inner, purge->scope, note_key, purge, error);
    for (size_t i = 0; code == ETHOS_OK && i < purge->key_count; i += KEYS_AT_ONCE)
        code = cleanse_some(purge, i, error);
    return code;
}

static int cleanse_kept(void *arg, const struct ethos_copy *kept)
{
    struct purge *purge = arg;
    const char *key = key_after(purge, kept->key);
    if (!holds(purge, kept->text) && key == kept->key)
        return ETHOS_OK;
    if (!GROW(purge, copies, copy_count, copy_room))
        return ETHOS_NOMEM;
    struct ethos_copy *copy = &purge->copies[purge->copy_count++];
    *copy = (struct ethos_copy){.id = arena_str(&purge->arena, kept->id),
                                .key = key ? arena_str(&purge->arena, key) : NULL,
                                .time_ms = kept->time_ms};
    purge->found.conflicts++;
    if (!copy->id || !copy->key)
        return ETHOS_NOMEM;
    return cleanse_copy(purge, kept->text, &copy->text, NULL);
}

/* ---- one row -------------------------------------------------------------------------------- */

static struct past *past_of(struct purge *purge, const char *key)
{
    for (struct past *past = purge->pasts; past; past = past->next) {
        if (strcmp(past->key, key) == 0)
            return past;
    }
    struct past *past = arena_alloc(&purge->arena, sizeof *past);
    if (!past)
        return NULL;
    *past = (struct past){.next = purge->pasts, .key = key, .revision = "absent", .known = true};
    str_init(&past->text, ETHOS_MAX_STORE_BYTES);
    return purge->pasts = past;
}

static bool is_absent(const char *revision)
{
    return strcmp(revision, "absent") == 0;
}

/* A change that holds the needle: its texts, absent where there was none or it is not known. */
struct change {
    const struct ethos_row *row;
    struct ethos_view before, after;
    bool before_known, after_known;
};

/* Sets the side of a row whose other side is lost. */
static int name_side(struct purge *purge, struct ethos_view text, const char **revision,
                     uint64_t *bytes)
{
    char name[ETHOS_REVISION_SIZE];
    if (!text.data)
        return ETHOS_OK;
    hash_revision(text, name);
    *bytes = text.size;
    *revision = arena_str(&purge->arena, name);
    return *revision ? ETHOS_OK : ETHOS_NOMEM;
}

/* No diff leads from one side to the other any more. */
static int describe_part(struct purge *purge, const struct change *change, struct ethos_row *row)
{
    row->change.diff = VIEW("");
    row->change.diff_whole = 0;
    row->whole = change->after;
    if (name_side(purge, change->before, &row->change.before, &row->change.bytes_before) !=
        ETHOS_OK)
        return ETHOS_NOMEM;
    return name_side(purge, change->after, &row->change.after, &row->change.bytes_after);
}

static int describe(struct purge *purge, const struct change *change, struct ethos_row *row)
{
    *row = *change->row;
    row->change.key = key_after(purge, row->change.key);
    if (!row->change.key)
        return ETHOS_NOMEM;
    if (holds(purge, view_str(row->change.actor))) // the name of a key
        row->change.actor = purge->forget->mark;
    if (!change->before_known || !change->after_known)
        return describe_part(purge, change, row);
    row->change.before = row->change.after = NULL; // to be made
    return rows_describe(change->before, change->after, &purge->arena, row);
}

static int cleanse_change(struct purge *purge, struct change change)
{
    if (forget_lines(purge->forget, change.before, &purge->before, &change.before, NULL) !=
            ETHOS_OK ||
        forget_lines(purge->forget, change.after, &purge->after, &change.after, NULL) != ETHOS_OK ||
        !GROW(purge, cleansed, cleansed_count, cleansed_room))
        return ETHOS_NOMEM;
    struct ethos_row *row = &purge->cleansed[purge->cleansed_count++];
    if (describe(purge, &change, row) != ETHOS_OK)
        return ETHOS_NOMEM;
    if (row->whole.data)
        row->whole.data = arena_copy(&purge->arena, row->whole);
    if (row->base.data)
        row->base = view_of(arena_copy(&purge->arena, change.before), change.before.size);
    bool whole = row->whole.data || row->whole.size == 0;
    return whole && (row->base.data || row->base.size == 0) ? ETHOS_OK : ETHOS_NOMEM;
}

static bool change_holds(const struct purge *purge, const struct change *change)
{
    return forget_names(purge->forget, view_str(change->row->change.key)) ||
           holds(purge, view_str(change->row->change.actor)) || holds(purge, change->before) ||
           holds(purge, change->after) || holds(purge, change->row->change.diff) ||
           holds(purge, change->row->whole);
}

/* From here on the key has the text after this row, unless that was only seen. */
static void move_on(struct purge *purge, struct past *past, const struct change *change)
{
    const struct ethos_change *told = &change->row->change;
    if (told->via && strcmp(told->via, "seen") == 0)
        return;
    struct str swap = past->text;
    past->text = purge->spare;
    purge->spare = swap;
    past->revision = told->after;
    past->known = change->after_known;
}

/* The text after a row goes into purge->spare. */
static int follow(struct purge *purge, struct change *change)
{
    const struct ethos_row *row = change->row;
    str_clear(&purge->spare);
    change->after_known = is_absent(row->change.after);
    if (change->after_known)
        return ETHOS_OK;
    if (!row->whole.data && !change->before_known)
        return ETHOS_OK;
    int code = rows_follow(row, change->before, &purge->spare, &change->after_known);
    if (change->after_known)
        change->after = str_view(&purge->spare);
    return code;
}

static int cleanse_row(struct purge *purge, const struct ethos_row *row)
{
    struct past *past = past_of(purge, row->change.key);
    struct change change = {.row = row};
    if (!past)
        return ETHOS_NOMEM;
    change.before_known = is_absent(row->change.before) || row->base.data ||
                          (past->known && strcmp(past->revision, row->change.before) == 0);
    if (change.before_known && !is_absent(row->change.before))
        change.before = row->base.data ? row->base : str_view(&past->text);
    if (follow(purge, &change) != ETHOS_OK)
        return ETHOS_NOMEM;
    if (change_holds(purge, &change)) {
        purge->found.versions++;
        purge->found.blobs += holds(purge, row->whole) ? 1 : 0;
        if (cleanse_change(purge, change) != ETHOS_OK)
            return ETHOS_NOMEM;
    }
    move_on(purge, past, &change);
    return ETHOS_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int note_row(void *arg, const struct ethos_row *row)
{
    struct purge *purge = arg;
    if (!GROW(purge, rows, row_count, row_room))
        return ETHOS_NOMEM;
    purge->row_bytes += row->change.diff.size + row->whole.size + row->base.size;
    if (purge->row_bytes > ETHOS_MAX_HISTORY_BYTES)
        return ETHOS_LIMIT;
    struct ethos_row *copy = &purge->rows[purge->row_count++];
    copy->whole = row->whole;
    copy->base = row->base;
    if (row->whole.data && !(copy->whole.data = arena_copy(&purge->arena, row->whole)))
        return ETHOS_NOMEM;
    if (row->base.data && !(copy->base.data = arena_copy(&purge->arena, row->base)))
        return ETHOS_NOMEM;
    return history_copy(&row->change, &purge->arena, &copy->change);
}

static int cleanse_rows(struct purge *purge, struct ethos_error *error)
{
    int code = rows_each(purge->self, purge->scope, NULL, note_row, purge, error);
    if (code == ETHOS_LIMIT)
        return err_set(error, code, "%s: more than %d bytes of history", purge->scope,
                       ETHOS_MAX_HISTORY_BYTES);
    for (size_t i = purge->row_count; code == ETHOS_OK && i-- > 0;)
        code = cleanse_row(purge, &purge->rows[i]);
    return code;
}

static int survey(struct purge *purge, struct ethos_error *error)
{
    struct ethos_store *inner = purge->self->wrap.inner;
    struct ethos_fetch fetch = {0};
    int code = inner->ops->fetch(inner, purge->scope, &fetch, error);
    purge->version = fetch.version;
    if (code == ETHOS_OK)
        code = cleanse_texts(purge, error);
    if (code == ETHOS_OK)
        code = cleanse_rows(purge, error);
    if (code == ETHOS_OK)
        code = inner->ops->copies(inner, purge->scope, NULL, cleanse_kept, purge, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* New rows follow those that replace others. */
static bool append_added(struct purge *purge)
{
    for (size_t i = 0; i < purge->added_count; i++) {
        if (!GROW(purge, cleansed, cleansed_count, cleansed_room))
            return false;
        purge->cleansed[purge->cleansed_count++] = purge->added[i];
    }
    return true;
}

static int replace(struct purge *purge, struct ethos_error *error)
{
    if (!append_added(purge))
        return err_nomem(error);
    struct ethos_commit commit = {
        .version = purge->version,
        .edits = purge->edits,
        .edit_count = purge->edit_count,
        .rows = purge->cleansed,
        .row_count = purge->cleansed_count,
        .copies = purge->copies,
        .copy_count = purge->copy_count,
    };
    if (purge->dry_run || purge->edit_count + purge->cleansed_count + purge->copy_count == 0)
        return ETHOS_OK;
    return rows_commit(purge->self, purge->scope, &commit, error);
}

static void release(struct purge *purge)
{
    for (struct past *past = purge->pasts; past; past = past->next)
        str_release(&past->text);
    str_release(&purge->before);
    str_release(&purge->after);
    str_release(&purge->spare);
    arena_release(&purge->arena);
}

static int purge_round(void *arg, struct ethos_error *error)
{
    struct purge *asked = arg;
    struct purge purge = {.self = asked->self,
                          .scope = asked->scope,
                          .forget = asked->forget,
                          .origin = asked->origin,
                          .dry_run = asked->dry_run};
    arena_init(&purge.arena);
    str_init(&purge.before, ETHOS_MAX_STORE_BYTES);
    str_init(&purge.after, ETHOS_MAX_STORE_BYTES);
    str_init(&purge.spare, ETHOS_MAX_STORE_BYTES);
    int code = survey(&purge, error);
    if (code == ETHOS_OK)
        code = replace(&purge, error);
    asked->found = purge.found;
    release(&purge);
    return code;
}

int rows_purge(struct ethos_store *self, const char *scope, const struct ethos_match *match,
               int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
               struct ethos_error *error)
{
    struct forget forget;
    struct purge asked = {.self = (const struct rows *)self,
                          .scope = scope,
                          .forget = &forget,
                          .origin = origin,
                          .dry_run = dry_run != 0};
    int code = forget_init(&forget, match, error);
    if (code == ETHOS_OK)
        code = rows_repeat(asked.self, scope, purge_round, &asked, error);
    if (code == ETHOS_OK)
        *out_purge = asked.found;
    return code;
}
