/*
 * rows_history.c: makes rows of changes, lists them, and rebuilds a version from them.
 *
 * A row stores the diff from the text before it, and now and then the whole text after it. A
 * version is searched backwards by its revision until a text is found that needs no other; from
 * there the diffs are applied, and every text on the way must have the revision that its row
 * names.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/history/history.h"
#include "core/history/patch.h"
#include "store/rows.h"
#include "store/update_steps.h"

#define ENOUGH 1 /* what our own callbacks end a page with */

/* ---- describing ----------------------------------------------------------------------------- */

/*
 * Numbers are the scope's, so the rows of a key may have every other number, or every tenth.
 * Multiples of the golden ratio spread evenly over any such series, so each key gets its share of
 * whole texts.
 */
static bool is_stored_whole(uint64_t number)
{
    return number * UINT64_C(0x9E3779B97F4A7C15) >> (64 - ROWS_WHOLE_BITS) == 0;
}

static int check_diff(struct ethos_view diff, struct ethos_view before, struct ethos_view after,
                      bool *out_exact)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    int code = patch_apply(diff, before, false, &text);
    *out_exact = code == ETHOS_OK && view_eq(str_view(&text), after);
    str_release(&text);
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static const char *text_revision(struct ethos_view text, struct arena *arena)
{
    char revision[ETHOS_REVISION_SIZE];
    if (!text.data)
        return "absent";
    hash_revision(text, revision);
    return arena_str(arena, revision);
}

/* Cuts the diff of a text that is stored whole; between characters, not within one. */
static void cut_diff(struct str *diff)
{
    size_t size = HISTORY_DIFF_BYTES;
    while (size > 0 && ((unsigned char)diff->data[size] & 0xC0) == 0x80)
        size--;
    str_truncate(diff, size);
}

static int set_row_diff(struct str *diff, struct ethos_view before, struct ethos_view after,
                        struct arena *arena, struct ethos_row *row)
{
    bool exact;
    if (check_diff(str_view(diff), before, after, &exact) != ETHOS_OK)
        return ETHOS_NOMEM;
    bool whole = !exact || diff->size >= after.size || is_stored_whole(row->change.number);
    row->whole = whole ? after : (struct ethos_view){0};
    if (row->whole.data && diff->size > HISTORY_DIFF_BYTES) {
        cut_diff(diff);
        exact = false;
    }
    const char *copy = arena_copy(arena, str_view(diff));
    row->change.diff = view_of(copy, diff->size);
    row->change.diff_whole = exact;
    return copy ? ETHOS_OK : ETHOS_NOMEM;
}

int rows_describe_row(struct ethos_view before, struct ethos_view after, struct arena *arena,
                      struct ethos_row *row)
{
    struct ethos_change *change = &row->change;
    struct str diff;
    if (!change->before)
        change->before = text_revision(before, arena);
    if (!change->after)
        change->after = text_revision(after, arena);
    if (!change->before || !change->after)
        return ETHOS_NOMEM;
    change->bytes_before = before.size;
    change->bytes_after = after.size;
    str_init(&diff, SIZE_MAX);
    int code = diff_unified(before, after, change->key, &diff);
    if (code == ETHOS_OK)
        code = set_row_diff(&diff, before, after, arena, row);
    str_release(&diff);
    return code == ETHOS_OK ? ETHOS_OK : ETHOS_NOMEM;
}

int rows_apply_row(const struct ethos_row *row, struct ethos_view before, struct str *out,
                   bool *out_known)
{
    char revision[ETHOS_REVISION_SIZE];
    int code = ETHOS_OK;
    str_clear(out);
    if (row->whole.data)
        code = str_add(out, row->whole);
    else
        code = patch_apply(row->change.diff, before, false, out);
    hash_revision(str_view(out), revision);
    *out_known = code == ETHOS_OK && strcmp(revision, row->change.after) == 0;
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

/* ---- page by page --------------------------------------------------------------------------- */

/* The position of a walk; each is called for every row of one page. */
struct rows_page {
    const char *scope, *key;
    ethos_row_fn *each;
    void *arg;
    uint64_t below; /* 0: from the newest on */
    size_t limit;   /* 0: as many as are usual */
    size_t count;
    bool last; /* there are no rows below */
};

static int count_page_row(void *arg, const struct ethos_row *row)
{
    struct rows_page *page = arg;
    page->below = row->change.number;
    page->count++;
    return page->each(page->arg, row);
}

static int read_next_page(const struct rows_store *self, struct rows_page *page,
                          struct ethos_error *error)
{
    struct ethos_store *inner = self->wrap.inner;
    size_t limit = page->limit ? page->limit : page->below ? ROWS_PAGE : ROWS_FIRST;
    page->count = page->limit = 0;
    int code = inner->ops->rows(inner, page->scope, page->key, page->below, limit, count_page_row,
                                page, error);
    page->last = code == ETHOS_OK && (page->count < limit || page->below <= 1);
    return code;
}

int rows_for_each(const struct rows_store *self, const char *scope, const char *key,
                  ethos_row_fn *each, void *arg, struct ethos_error *error)
{
    struct rows_page page = {.scope = scope, .key = key, .each = each, .arg = arg};
    while (!page.last)
        TRY(read_next_page(self, &page, error));
    return ETHOS_OK;
}

/* ---- history -------------------------------------------------------------------------------- */

/* A copy of the changes of a page, so that their receiver may call the store. */
struct page_changes {
    struct arena arena;
    struct ethos_change changes[ROWS_PAGE];
    size_t count, bytes;
};

static int copy_page_change(void *arg, const struct ethos_row *row)
{
    struct page_changes *kept = arg;
    if (kept->count == ROWS_PAGE)
        return ENOUGH; // of a store that gives more than it was asked for
    if (history_copy(&row->change, &kept->arena, &kept->changes[kept->count]) != ETHOS_OK)
        return ETHOS_NOMEM;
    kept->count++;
    kept->bytes += row->change.diff.size;
    return kept->bytes < ROWS_PAGE_BYTES ? ETHOS_OK : ENOUGH;
}

static int report_page_changes(const struct rows_store *self, struct rows_page *page,
                               ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    struct page_changes kept = {0};
    arena_init(&kept.arena);
    page->arg = &kept;
    int code = read_next_page(self, page, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    if (code == ENOUGH)
        code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < kept.count; i++)
        code = each(arg, &kept.changes[i]);
    arena_release(&kept.arena);
    return code;
}

int rows_history(struct ethos_store *self, const char *scope, const char *key,
                 ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    struct rows_page page = {.scope = scope, .key = key, .each = copy_page_change};
    while (!page.last)
        TRY(report_page_changes((const struct rows_store *)self, &page, each, arg, error));
    return ETHOS_OK;
}

/* ---- versions ------------------------------------------------------------------------------- */

/* A row that leads to the version, oldest first. */
struct version_step {
    struct version_step *next;
    struct ethos_row row;
};

struct version_path {
    struct arena arena;
    const char *wanted; /* the revision that an older row must lead to */
    struct version_step *steps;
    struct ethos_view base; /* what the oldest step starts from, where it needs a text */
    int64_t time_ms;        /* of the row that leads to the version itself, */
    uint64_t number;        /* and its number */
    bool found, founded;    /* it is there; the base is known or not needed */
};

static int copy_into_arena(struct arena *arena, struct ethos_view *view)
{
    if (!view->data)
        return ETHOS_OK;
    view->data = arena_copy(arena, *view);
    return view->data ? ETHOS_OK : ETHOS_NOMEM;
}

static int add_version_step(struct version_path *way, const struct ethos_row *row)
{
    struct version_step *step = arena_alloc(&way->arena, sizeof *step);
    if (!step)
        return ETHOS_NOMEM;
    step->row.whole = row->whole;
    step->row.change.after = way->wanted;
    step->row.change.diff = row->whole.data ? (struct ethos_view){0} : row->change.diff;
    if (copy_into_arena(&way->arena, &step->row.whole) != ETHOS_OK ||
        copy_into_arena(&way->arena, &step->row.change.diff) != ETHOS_OK)
        return ETHOS_NOMEM;
    step->next = way->steps;
    way->steps = step;
    return ETHOS_OK;
}

static void mark_version_found(struct version_path *way, const struct ethos_row *row)
{
    if (way->found)
        return;
    way->found = true;
    way->time_ms = row->change.time_ms;
    way->number = row->change.number;
}

/* Starts from the text before a row. */
static int use_row_base(struct version_path *way, const struct ethos_row *row)
{
    way->base = row->base;
    mark_version_found(way, row);
    way->founded = true;
    return copy_into_arena(&way->arena, &way->base) == ETHOS_OK ? ENOUGH : ETHOS_NOMEM;
}

static bool is_base_wanted(const struct ethos_row *row, const char *wanted)
{
    return row->base.data && strcmp(row->change.before, wanted) == 0;
}

static int search_row(void *arg, const struct ethos_row *row)
{
    struct version_path *way = arg;
    if (strcmp(row->change.after, way->wanted) == 0) {
        mark_version_found(way, row);
        if (add_version_step(way, row) != ETHOS_OK)
            return ETHOS_NOMEM;
        way->founded = row->whole.data || strcmp(row->change.before, "absent") == 0;
        if (way->founded)
            return ENOUGH;
        way->wanted = arena_str(&way->arena, row->change.before);
        if (!way->wanted)
            return ETHOS_NOMEM;
    }
    return is_base_wanted(row, way->wanted) ? use_row_base(way, row) : ETHOS_OK;
}

/* Searches one page of rows near the last version found, at most `span` newer. */
static int search_near(const struct rows_store *self, struct rows_page *page, uint64_t span,
                       struct ethos_error *error)
{
    page->below = self->near.number + span + 1;
    page->limit = (size_t)span;
    return read_next_page(self, page, error);
}

/*
 * Versions are mostly asked for one after the other: searches near the last one first, and from
 * the newest row only if it is not there.
 */
static int search_version(const struct rows_store *self, const char *scope, const char *key,
                          struct version_path *way, struct ethos_error *error)
{
    struct rows_page page = {.scope = scope, .key = key, .each = search_row, .arg = way};
    int code = ETHOS_OK;
    if (strcmp(self->near.scope, scope) == 0) {
        code = search_near(self, &page, ROWS_FIRST, error);
        if (code == ETHOS_OK && !way->found)
            code = search_near(self, &page, ROWS_PAGE, error);
    }
    if (code == ETHOS_OK && !way->found)
        page = (struct rows_page){.scope = scope, .key = key, .each = search_row, .arg = way};
    while (code == ETHOS_OK && !page.last)
        code = read_next_page(self, &page, error);
    return code;
}

static int find_version_path(struct rows_store *self, const char *scope, const char *key,
                             struct version_path *way, struct ethos_error *error)
{
    const char *revision = way->wanted;
    int code = strcmp(revision, "absent") == 0 ? ETHOS_OK
                                               : search_version(self, scope, key, way, error);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK && code != ENOUGH)
        return code;
    if (!way->found)
        return err_set(error, ETHOS_NOTFOUND, "%s: never had the revision %s", key, revision);
    snprintf(self->near.scope, sizeof self->near.scope, "%s", scope);
    self->near.number = way->number;
    return ETHOS_OK;
}

/* Applies the diffs; ETHOS_CORRUPT where they do not lead to the version. */
static int follow_path(const struct version_path *way, struct str *text, struct str *spare)
{
    char revision[ETHOS_REVISION_SIZE];
    if (str_add(text, way->base) != ETHOS_OK)
        return ETHOS_NOMEM;
    hash_revision(way->base, revision);
    bool known = way->founded && (!way->base.data || strcmp(revision, way->wanted) == 0);
    for (const struct version_step *step = way->steps; known && step; step = step->next) {
        if (rows_apply_row(&step->row, str_view(text), spare, &known) != ETHOS_OK)
            return ETHOS_NOMEM;
        struct str swap = *text;
        *text = *spare;
        *spare = swap;
    }
    return known ? ETHOS_OK : ETHOS_CORRUPT;
}

static int broken_history(const char *key, const char *revision, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_CORRUPT, "%s: the history does not lead to the revision %s",
                       key, revision);
    return err_hint(error, code, "choose another version of its history");
}

static int rebuild_row_version(struct rows_store *self, const char *scope, const char *key,
                               const char *revision, struct ethos_text *out_text,
                               struct ethos_error *error)
{
    struct version_path way = {.wanted = revision};
    struct str text, spare;
    arena_init(&way.arena);
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    str_init(&spare, ETHOS_MAX_STORE_BYTES);
    int code = find_version_path(self, scope, key, &way, error);
    if (code == ETHOS_OK) {
        code = follow_path(&way, &text, &spare);
        if (code == ETHOS_OK)
            code = edit_fill_text(self->wrap.host, str_view(&text), revision, way.time_ms, out_text,
                                  error);
        else
            code = code == ETHOS_NOMEM ? err_nomem(error) : broken_history(key, revision, error);
    }
    str_release(&text);
    str_release(&spare);
    arena_release(&way.arena);
    return code;
}

int rows_version(struct ethos_store *self, const char *scope, const char *key, const char *revision,
                 struct ethos_text *out_text, struct ethos_error *error)
{
    struct rows_store *rows = (struct rows_store *)self;
    int code = rebuild_row_version(rows, scope, key, revision, out_text, error);
    if (code != ETHOS_CORRUPT)
        return code;
    // the rows may have been purged between two pages, or a newer row may lead to the version
    rows->near.scope[0] = 0;
    return rebuild_row_version(rows, scope, key, revision, out_text, error);
}
