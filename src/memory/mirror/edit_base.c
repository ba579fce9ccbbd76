/*
 * edit_base.c: finds the base of an edited file: the text that the edit started from.
 *
 * That is the last text that both sides agreed on, unless the edit started from an older one: an
 * editor with an open file, or sed, overwrites newer changes. Such a change has left no trace in
 * the edit: none of the lines it added is there, and all lines it removed are. The edit started
 * before the newest such changes. An edit that equals an older version was restored on purpose.
 * Changes made in the folder itself do not count: whoever edits there has seen them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/view.h"
#include "memory/mirror/internal.h"
#include "memory/provider/missing_slots.h"

#define MOST_STEPS 16        /* changes to look back */
#define MOST_BYTES (1 << 20) /* maximum size of such a text */
#define LONGEST_MS 86400000  /* after this time an edit has seen a change */

/* ---- lines ----------------------------------------------------------------------------------- */

struct lines {
    struct ethos_view *at; /* sorted by bytes, without blank lines */
    size_t count;
};

static int compare_line_bytes(const void *a, const void *b)
{
    const struct ethos_view *x = a, *y = b;
    size_t size = x->size < y->size ? x->size : y->size;
    int order = size ? memcmp(x->data, y->data, size) : 0;
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static int split_sorted(struct ethos_view text, struct arena *arena, struct lines *out)
{
    struct ethos_view line;
    *out = (struct lines){.at = arena_array(arena, view_newlines(text) + 1, sizeof *out->at)};
    if (!out->at)
        return ETHOS_NOMEM;
    while (view_line(&text, &line))
        if (!view_blank(line))
            out->at[out->count++] = view_trim_end(line);
    qsort(out->at, out->count, sizeof *out->at, compare_line_bytes);
    return ETHOS_OK;
}

static bool contains_line(const struct lines *lines, const struct ethos_view *line)
{
    return bsearch(line, lines->at, lines->count, sizeof *lines->at, compare_line_bytes) != NULL;
}

/* Whether all lines that are in `a` and not in `b` are in the edit, or (wanted false) none. */
static bool edit_agrees(const struct lines *a, const struct lines *b, const struct lines *edit,
                        bool wanted, bool *out_any)
{
    for (size_t i = 0; i < a->count; i++) {
        if (contains_line(b, &a->at[i]))
            continue;
        *out_any = true;
        if (contains_line(edit, &a->at[i]) != wanted)
            return false;
    }
    return true;
}

static bool left_no_trace(const struct lines *before, const struct lines *after,
                          const struct lines *edit)
{
    bool any = false;
    return edit_agrees(after, before, edit, false, &any) &&
           edit_agrees(before, after, edit, true, &any) && any;
}

/* ---- the changes before ---------------------------------------------------------------------- */

struct base_walk {
    const char *agreed, *edit; /* revisions */
    int64_t since_ms;
    bool begun;   /* the change that led to the agreed text was found */
    bool version; /* the edit is an older version, of any age */
    bool enough;
    size_t count;
    char before[MOST_STEPS][ETHOS_REVISION_SIZE]; /* newest first */
};

static int walk_change(void *arg, const struct ethos_change *change)
{
    struct base_walk *walk = arg;
    if ((change->via && strcmp(change->via, "seen") == 0) || !change->before || !change->after)
        return 0;
    walk->begun = walk->begun || strcmp(change->after, walk->agreed) == 0;
    if (!walk->begun)
        return 0;
    if (strcmp(change->before, walk->edit) == 0)
        return walk->version = true;
    walk->enough = walk->enough || walk->count == MOST_STEPS || change->time_ms < walk->since_ms ||
                   !change->via || strcmp(change->via, MIRROR_VIA) != 0 ||
                   strcmp(change->before, MIRROR_ABSENT) == 0;
    if (!walk->enough)
        snprintf(walk->before[walk->count++], ETHOS_REVISION_SIZE, "%s", change->before);
    return 0;
}

static int load_base_text(const struct mirror *self, const struct mirror_scope *scope,
                          const char *key, const char *revision, struct ethos_text *out,
                          struct ethos_error *error)
{
    struct ethos_store *files = self->files;
    struct ethos_provider *backend = scope->source->behind;
    int code = files->ops->version(files, scope->scope, key, revision, out, error);
    bool lost = code == ETHOS_NOTFOUND || code == ETHOS_CORRUPT;
    if (lost && SLOT_PROVIDER(backend, version))
        code = backend->ops->version(backend, scope->scope, key, revision, out, error);
    return code;
}

static void drop_text(const struct mirror *self, struct ethos_text *text)
{
    const struct ethos_host *host = self->ethos->host;
    host->resize(host->arg, text->data, 0);
    *text = (struct ethos_text){0};
}

/*
 * Goes back from the text in *base over every change that left no trace; *base becomes the text
 * before them.
 */
static int go_back(const struct mirror *self, const struct mirror_scope *scope, const char *key,
                   const struct base_walk *walk, struct ethos_view edit, struct arena *arena,
                   struct ethos_text *base, bool *out_stale, struct ethos_error *error)
{
    struct lines now, after, before;
    int code = split_sorted(edit, arena, &now);
    if (code == ETHOS_OK)
        code = split_sorted(view_of(base->data, base->size), arena, &after);
    for (size_t i = 0; code == ETHOS_OK && i < walk->count; i++) {
        struct ethos_text older = {0};
        int found = load_base_text(self, scope, key, walk->before[i], &older, error);
        if (found == ETHOS_OK)
            code = split_sorted(view_of(older.data, older.size), arena, &before);
        if (found != ETHOS_OK || code != ETHOS_OK || older.size > MOST_BYTES ||
            !left_no_trace(&before, &after, &now)) {
            drop_text(self, &older);
            break;
        }
        drop_text(self, base);
        *base = older;
        after = before;
        *out_stale = true;
    }
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

int base_find(const struct mirror *self, const struct mirror_scope *scope, const char *key,
              const char *agreed, struct ethos_view edit, struct ethos_text *out, bool *out_stale,
              struct ethos_error *error)
{
    struct ethos_store *files = self->files;
    char revision[ETHOS_REVISION_SIZE];
    struct base_walk walk = {
        .agreed = agreed, .edit = revision, .since_ms = service_now_ms(self->ethos) - LONGEST_MS};
    *out_stale = false;
    if (strcmp(agreed, MIRROR_ABSENT) == 0)
        return ETHOS_OK;
    int code = load_base_text(self, scope, key, agreed, out, error);
    if (code == ETHOS_NOTFOUND || code == ETHOS_CORRUPT) { // neither history leads there
        drop_text(self, out);
        return ETHOS_OK;
    }
    if (code != ETHOS_OK || !edit.data || edit.size > MOST_BYTES || out->size > MOST_BYTES)
        return code;
    hash_revision(edit, revision);
    code = files->ops->history(files, scope->scope, key, walk_change, &walk, error);
    if ((code != ETHOS_OK && code != 1) || walk.version || walk.count == 0)
        return code == 1 ? ETHOS_OK : code;
    CLEANUP_ARENA struct arena arena;
    arena_init(&arena);
    code = go_back(self, scope, key, &walk, edit, &arena, out, out_stale, error);
    return code;
}
