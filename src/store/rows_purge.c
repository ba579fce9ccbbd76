/*
 * rows_purge.c: removes every line that contains a text, now and from the past, in one commit.
 *
 * The version is fetched first: if the commit succeeds, everything read after it was of one
 * moment. Texts, copies and rows that contain the text are replaced. Rows are handled from the
 * oldest on: the texts before and after each are rebuilt, lose those lines, and the change between
 * them is described anew. Equal texts become equal texts, so the chain of versions stays whole; a
 * row between texts that have become equal stays too. Where a text cannot be rebuilt, what its row
 * stores of it is removed if it contains the text.
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

/* The text of a key after the rows so far. */
struct key_past {
    struct key_past *next;
    const char *key, *revision; /* "absent": none */
    struct str text;
    bool known;
};

struct rows_purge_state {
    const struct rows_store *self;
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
    struct key_past *pasts;
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
    grow_list(&(purge)->arena, (void **)&(purge)->list, (purge)->count, &(purge)->room,            \
              sizeof *(purge)->list)

static bool grow_list(struct arena *arena, void **list, size_t count, size_t *room, size_t size)
{
    void *grown = arena_grow(arena, *list, count, room, size);
    if (grown)
        *list = grown;
    return grown;
}

static bool has_purged_text(const struct rows_purge_state *purge, struct ethos_view text)
{
    return forget_holds(purge->forget, text);
}

/* Copies a text without the lines. */
static int purge_and_copy(struct rows_purge_state *purge, struct ethos_view text,
                          struct ethos_view *out, uint64_t *lines)
{
    struct ethos_view left;
    if (forget_lines(purge->forget, text, &purge->after, &left, lines) != ETHOS_OK)
        return ETHOS_NOMEM;
    *out = view_of(arena_copy(&purge->arena, left), left.size);
    return out->data ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static int add_scope_key(void *arg, const struct ethos_entry *entry)
{
    struct rows_purge_state *purge = arg;
    if (!GROW(purge, keys, key_count, key_room))
        return ETHOS_NOMEM;
    const char *key = arena_str(&purge->arena, entry->key);
    purge->keys[purge->key_count++] = key;
    return key ? ETHOS_OK : ETHOS_NOMEM;
}

/* The new name of a key, or the key itself; NULL without memory. */
static const char *renamed_key(struct rows_purge_state *purge, const char *key)
{
    char renamed[ETHOS_MAX_KEY + 1];
    if (!forget_names(purge->forget, view_str(key)))
        return key;
    forget_rename(purge->forget, view_str(key), renamed);
    return arena_str(&purge->arena, renamed);
}

/* Adds the row at which undo stops. */
static int add_purge_row(struct rows_purge_state *purge, const struct ethos_edit *edit)
{
    struct ethos_origin origin = purge->origin ? *purge->origin : (struct ethos_origin){0};
    const struct ethos_edit removal = {.key = edit->key, .actions = "remove"};
    origin.via = "purge";
    origin.op_id = NULL;
    if (!GROW(purge, added, added_count, added_room))
        return ETHOS_NOMEM;
    struct ethos_row *row = &purge->added[purge->added_count++];
    *row = (struct ethos_row){
        .change = edit_make_change(&removal, &origin, rows_now_ms(purge->self))};
    row->change.number = purge->version + purge->added_count;
    return rows_describe_row(edit->text, edit->text, &purge->arena, row);
}

static int purge_key_text(struct rows_purge_state *purge, const struct ethos_edit *fetched)
{
    struct ethos_view old = view_of(fetched->old.data, fetched->old.size);
    bool named = old.data && forget_names(purge->forget, view_str(fetched->key));
    if (!has_purged_text(purge, old) && !named)
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
    *edit = (struct ethos_edit){.key = renamed_key(purge, fetched->key), .verdict = ETHOS_EDIT_PUT};
    if (!edit->key || purge_and_copy(purge, old, &edit->text, &purge->found.lines) != ETHOS_OK)
        return ETHOS_NOMEM;
    edit_set_revisions(edit, 1);
    TRY(purge->dry_run ? forget_tell(purge->forget, fetched->key, old) : ETHOS_OK);
    return add_purge_row(purge, edit);
}

/* Purges some of the keys, from `first` on. */
static int purge_some_keys(struct rows_purge_state *purge, size_t first, struct ethos_error *error)
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
        if (code == ETHOS_OK && (code = purge_key_text(purge, &edits[i])) == ETHOS_NOMEM)
            err_nomem(error);
        edit_free_text(purge->self->wrap.host, &edits[i].old);
    }
    return code;
}

static int purge_key_texts(struct rows_purge_state *purge, struct ethos_error *error)
{
    struct ethos_store *inner = purge->self->wrap.inner;
    TRY(inner->ops->list(inner, purge->scope, add_scope_key, purge, error));
    for (size_t i = 0; i < purge->key_count; i += KEYS_AT_ONCE)
        TRY(purge_some_keys(purge, i, error));
    return ETHOS_OK;
}

static int purge_conflict_copy(void *arg, const struct ethos_copy *kept)
{
    struct rows_purge_state *purge = arg;
    const char *key = renamed_key(purge, kept->key);
    if (!has_purged_text(purge, kept->text) && key == kept->key)
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
    return purge_and_copy(purge, kept->text, &copy->text, NULL);
}

/* ---- one row -------------------------------------------------------------------------------- */

static struct key_past *find_or_add_past(struct rows_purge_state *purge, const char *key)
{
    for (struct key_past *past = purge->pasts; past; past = past->next) {
        if (strcmp(past->key, key) == 0)
            return past;
    }
    struct key_past *past = arena_alloc(&purge->arena, sizeof *past);
    if (!past)
        return NULL;
    *past = (struct key_past){
        .next = purge->pasts, .key = key, .revision = "absent", .known = true};
    str_init(&past->text, ETHOS_MAX_STORE_BYTES);
    return purge->pasts = past;
}

static bool is_absent_text(const char *revision)
{
    return strcmp(revision, "absent") == 0;
}

/* A change, with its texts if they are known. */
struct row_change {
    const struct ethos_row *row;
    struct ethos_view before, after;
    bool before_known, after_known;
};

/* Sets revision and size of one side of a row whose other side is lost. */
static int set_side_revision(struct rows_purge_state *purge, struct ethos_view text,
                             const char **revision, uint64_t *bytes)
{
    char name[ETHOS_REVISION_SIZE];
    if (!text.data)
        return ETHOS_OK;
    hash_revision(text, name);
    *bytes = text.size;
    *revision = arena_str(&purge->arena, name);
    return *revision ? ETHOS_OK : ETHOS_NOMEM;
}

/* Describes a row of which only one side is known, without a diff. */
static int describe_known_sides(struct rows_purge_state *purge, const struct row_change *change,
                                struct ethos_row *row)
{
    row->change.diff = VIEW("");
    row->change.diff_whole = 0;
    row->whole = change->after;
    if (set_side_revision(purge, change->before, &row->change.before, &row->change.bytes_before) !=
        ETHOS_OK)
        return ETHOS_NOMEM;
    return set_side_revision(purge, change->after, &row->change.after, &row->change.bytes_after);
}

static int describe_purged_row(struct rows_purge_state *purge, const struct row_change *change,
                               struct ethos_row *row)
{
    *row = *change->row;
    row->change.key = renamed_key(purge, row->change.key);
    if (!row->change.key)
        return ETHOS_NOMEM;
    if (has_purged_text(purge, view_str(row->change.actor))) // the name of a key
        row->change.actor = purge->forget->mark;
    if (!change->before_known || !change->after_known)
        return describe_known_sides(purge, change, row);
    row->change.before = row->change.after = NULL; // to be made
    return rows_describe_row(change->before, change->after, &purge->arena, row);
}

static int purge_row_change(struct rows_purge_state *purge, struct row_change change)
{
    if (forget_lines(purge->forget, change.before, &purge->before, &change.before, NULL) !=
            ETHOS_OK ||
        forget_lines(purge->forget, change.after, &purge->after, &change.after, NULL) != ETHOS_OK ||
        !GROW(purge, cleansed, cleansed_count, cleansed_room))
        return ETHOS_NOMEM;
    struct ethos_row *row = &purge->cleansed[purge->cleansed_count++];
    if (describe_purged_row(purge, &change, row) != ETHOS_OK)
        return ETHOS_NOMEM;
    if (row->whole.data)
        row->whole.data = arena_copy(&purge->arena, row->whole);
    if (row->base.data)
        row->base = view_of(arena_copy(&purge->arena, change.before), change.before.size);
    bool whole = row->whole.data || row->whole.size == 0;
    return whole && (row->base.data || row->base.size == 0) ? ETHOS_OK : ETHOS_NOMEM;
}

static bool is_matching_row(const struct rows_purge_state *purge, const struct row_change *change)
{
    return forget_names(purge->forget, view_str(change->row->change.key)) ||
           has_purged_text(purge, view_str(change->row->change.actor)) ||
           has_purged_text(purge, change->before) || has_purged_text(purge, change->after) ||
           has_purged_text(purge, change->row->change.diff) ||
           has_purged_text(purge, change->row->whole);
}

/*
 * Makes the text after this row the current text of the key, unless the row is only about a text
 * seen.
 */
static void advance_key_past(struct rows_purge_state *purge, struct key_past *past,
                             const struct row_change *change)
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

/* Rebuilds the text after a row in purge->spare. */
static int make_text_after(struct rows_purge_state *purge, struct row_change *change)
{
    const struct ethos_row *row = change->row;
    str_clear(&purge->spare);
    change->after_known = is_absent_text(row->change.after);
    if (change->after_known)
        return ETHOS_OK;
    if (!row->whole.data && !change->before_known)
        return ETHOS_OK;
    int code = rows_apply_row(row, change->before, &purge->spare, &change->after_known);
    if (change->after_known)
        change->after = str_view(&purge->spare);
    return code;
}

static int purge_row(struct rows_purge_state *purge, const struct ethos_row *row)
{
    struct key_past *past = find_or_add_past(purge, row->change.key);
    struct row_change change = {.row = row};
    if (!past)
        return ETHOS_NOMEM;
    change.before_known = is_absent_text(row->change.before) || row->base.data ||
                          (past->known && strcmp(past->revision, row->change.before) == 0);
    if (change.before_known && !is_absent_text(row->change.before))
        change.before = row->base.data ? row->base : str_view(&past->text);
    if (make_text_after(purge, &change) != ETHOS_OK)
        return ETHOS_NOMEM;
    if (is_matching_row(purge, &change)) {
        purge->found.versions++;
        purge->found.blobs += has_purged_text(purge, row->whole) ? 1 : 0;
        if (purge_row_change(purge, change) != ETHOS_OK)
            return ETHOS_NOMEM;
    }
    advance_key_past(purge, past, &change);
    return ETHOS_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int add_scope_row(void *arg, const struct ethos_row *row)
{
    struct rows_purge_state *purge = arg;
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

static int purge_all_rows(struct rows_purge_state *purge, struct ethos_error *error)
{
    int code = rows_for_each(purge->self, purge->scope, NULL, add_scope_row, purge, error);
    if (code == ETHOS_LIMIT)
        return err_set(error, code, "%s: more than %d bytes of history", purge->scope,
                       ETHOS_MAX_HISTORY_BYTES);
    for (size_t i = purge->row_count; code == ETHOS_OK && i-- > 0;)
        code = purge_row(purge, &purge->rows[i]);
    return code;
}

static int find_purged(struct rows_purge_state *purge, struct ethos_error *error)
{
    struct ethos_store *inner = purge->self->wrap.inner;
    struct ethos_fetch fetch = {0};
    int code = inner->ops->fetch(inner, purge->scope, &fetch, error);
    purge->version = fetch.version;
    if (code == ETHOS_OK)
        code = purge_key_texts(purge, error);
    if (code == ETHOS_OK)
        code = purge_all_rows(purge, error);
    if (code == ETHOS_OK)
        code = inner->ops->copies(inner, purge->scope, NULL, purge_conflict_copy, purge, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* Appends the new rows to those that replace others. */
static bool append_added_rows(struct rows_purge_state *purge)
{
    for (size_t i = 0; i < purge->added_count; i++) {
        if (!GROW(purge, cleansed, cleansed_count, cleansed_room))
            return false;
        purge->cleansed[purge->cleansed_count++] = purge->added[i];
    }
    return true;
}

static int commit_purge(struct rows_purge_state *purge, struct ethos_error *error)
{
    if (!append_added_rows(purge))
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

static void release_purge(struct rows_purge_state *purge)
{
    for (struct key_past *past = purge->pasts; past; past = past->next)
        str_release(&past->text);
    str_release(&purge->before);
    str_release(&purge->after);
    str_release(&purge->spare);
    arena_release(&purge->arena);
}

static int purge_round(void *arg, struct ethos_error *error)
{
    struct rows_purge_state *asked = arg;
    struct rows_purge_state purge = {.self = asked->self,
                                     .scope = asked->scope,
                                     .forget = asked->forget,
                                     .origin = asked->origin,
                                     .dry_run = asked->dry_run};
    arena_init(&purge.arena);
    str_init(&purge.before, ETHOS_MAX_STORE_BYTES);
    str_init(&purge.after, ETHOS_MAX_STORE_BYTES);
    str_init(&purge.spare, ETHOS_MAX_STORE_BYTES);
    int code = find_purged(&purge, error);
    if (code == ETHOS_OK)
        code = commit_purge(&purge, error);
    asked->found = purge.found;
    release_purge(&purge);
    return code;
}

int rows_purge(struct ethos_store *self, const char *scope, const struct ethos_match *match,
               int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
               struct ethos_error *error)
{
    struct forget forget;
    struct rows_purge_state asked = {.self = (const struct rows_store *)self,
                                     .scope = scope,
                                     .forget = &forget,
                                     .origin = origin,
                                     .dry_run = dry_run != 0};
    TRY(forget_init(&forget, match, error));
    TRY(rows_retry(asked.self, scope, purge_round, &asked, error));
    *out_purge = asked.found;
    return ETHOS_OK;
}
