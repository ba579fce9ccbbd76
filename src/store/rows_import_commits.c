/*
 * rows_import_commits.c: commits the changes of another store at once (the slot graft).
 *
 * Their diffs are made anew, since which texts a row stores is up to each store; everything else
 * stays as given. A row whose text before is not where the row before it ended gets it as its
 * base.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/conflict_name.h"
#include "store/rows.h"
#include "store/update_steps.h"

struct commit_import {
    const struct rows_store *self;
    const char *scope;
    const struct ethos_commit *given;
    struct arena arena;
    struct ethos_fetch fetch;
    const char **ends; /* of each key that is fetched: the revision that its rows so far lead to */
    struct ethos_row *rows;
    struct ethos_copy *copies;
    uint64_t newest;
};

static int has_other_changes(const struct commit_import *g, struct ethos_error *error)
{
    return err_set(error, ETHOS_CONFLICT, "%s: has other changes than those up to %" PRIu64,
                   g->scope, g->given->version);
}

/*
 * ---- what there is ----------------------------------------------------------------------------
 */

static int note_newest_row(void *arg, const struct ethos_row *row)
{
    struct commit_import *g = arg;
    if (row->change.number > g->newest)
        g->newest = row->change.number;
    return ETHOS_OK;
}

/*
 * Fetches the version first: if the commit succeeds, everything read after it was of the same
 * moment.
 */
static int fetch_current_state(struct commit_import *g, struct ethos_error *error)
{
    struct ethos_store *inner = g->self->wrap.inner;
    const struct ethos_commit *given = g->given;
    g->fetch.edits = arena_array(&g->arena, given->edit_count + 1, sizeof *g->fetch.edits);
    g->ends = arena_array(&g->arena, given->edit_count + 1, sizeof *g->ends);
    if (!g->fetch.edits || !g->ends)
        return err_nomem(error);
    for (; g->fetch.count < given->edit_count; g->fetch.count++)
        g->fetch.edits[g->fetch.count].key = given->edits[g->fetch.count].key;
    int code = inner->ops->fetch(inner, g->scope, &g->fetch, error);
    for (size_t i = 0; i < g->fetch.count; i++)
        g->ends[i] = g->fetch.edits[i].old.data ? g->fetch.edits[i].old.revision : "absent";
    if (code == ETHOS_OK)
        code = inner->ops->rows(inner, g->scope, NULL, 0, 1, note_newest_row, g, error);
    if (code != ETHOS_OK)
        return code;
    bool fits = given->row_count == 0 || given->rows[0].change.number > g->fetch.version;
    return g->newest == given->version && fits ? ETHOS_OK : has_other_changes(g, error);
}

/*
 * ---- rows -------------------------------------------------------------------------------------
 */

static const char **find_last_revision(const struct commit_import *g, const char *key)
{
    for (size_t i = 0; i < g->fetch.count; i++) {
        if (strcmp(g->fetch.edits[i].key, key) == 0)
            return &g->ends[i];
    }
    return NULL;
}

static bool is_known_text(struct ethos_view text, const char *revision)
{
    return text.data || strcmp(revision, "absent") == 0;
}

static int describe_imported_row(struct commit_import *g, const struct ethos_row *given,
                                 struct ethos_row *out)
{
    const char **end = find_last_revision(g, given->change.key);
    bool leads = end && strcmp(*end, given->change.before) == 0;
    *out = *given;
    out->base = leads ? (struct ethos_view){0} : given->base;
    if (end && !(given->change.via && strcmp(given->change.via, "seen") == 0))
        *end = given->change.after;
    if (!is_known_text(given->base, given->change.before) ||
        !is_known_text(given->whole, given->change.after))
        return ETHOS_OK;
    return rows_describe_row(given->base, given->whole, &g->arena, out);
}

static int make_imported_rows(struct commit_import *g, struct ethos_error *error)
{
    const struct ethos_commit *given = g->given;
    g->rows = arena_array(&g->arena, given->row_count + 1, sizeof *g->rows);
    int code = g->rows ? ETHOS_OK : ETHOS_NOMEM;
    for (size_t i = 0; code == ETHOS_OK && i < given->row_count; i++)
        code = describe_imported_row(g, &given->rows[i], &g->rows[i]);
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* Names the copies after the number of the commit and their position. */
static int make_imported_copies(struct commit_import *g, struct ethos_error *error)
{
    const struct ethos_commit *given = g->given;
    uint64_t number = given->row_count ? given->rows[given->row_count - 1].change.number
                                       : g->fetch.version + 1;
    g->copies = arena_array(&g->arena, given->copy_count + 1, sizeof *g->copies);
    for (size_t i = 0; g->copies && i < given->copy_count; i++) {
        char *id = arena_printf(&g->arena, "%012" PRIu64 ".%03zu-%s", number, i,
                                given->copies[i].key);
        if (!id)
            return err_nomem(error);
        for (char *at = id; (at = strchr(at, '/'));)
            *at = '\\';
        g->copies[i] = given->copies[i];
        g->copies[i].id = id;
    }
    return g->copies ? ETHOS_OK : err_nomem(error);
}

/*
 * ---- the whole --------------------------------------------------------------------------------
 */

static int commit_import_rows(struct commit_import *g, struct ethos_error *error)
{
    struct ethos_commit all = {
        .version = g->fetch.version,
        .edits = g->given->edits,
        .edit_count = g->given->edit_count,
        .rows = g->rows,
        .row_count = g->given->row_count,
        .copies = g->copies,
        .copy_count = g->given->copy_count,
    };
    return rows_commit(g->self, g->scope, &all, error);
}

int rows_import_commits(struct ethos_store *self, const char *scope,
                        const struct ethos_commit *given, struct ethos_error *error)
{
    struct commit_import g = {
        .self = (const struct rows_store *)self, .scope = scope, .given = given};
    arena_init(&g.arena);
    int code = fetch_current_state(&g, error);
    if (code == ETHOS_OK)
        code = make_imported_rows(&g, error);
    if (code == ETHOS_OK)
        code = make_imported_copies(&g, error);
    if (code == ETHOS_OK)
        code = commit_import_rows(&g, error);
    for (size_t i = 0; i < g.fetch.count; i++)
        edit_free_text(g.self->wrap.host, &g.fetch.edits[i].old);
    arena_release(&g.arena);
    return code;
}
