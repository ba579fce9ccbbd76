/*
 * reindex.c: repairs the index: one line per note.
 *
 * Problems are found without a lock, then checked again under it: the update has the affected files
 * as keys beside MEMORY.md, and only problems that remain are fixed. Lines added meanwhile are not
 * touched. Many files are processed in parts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/notes/index.h"
#include "core/notes/note.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"

#define PART 256 /* files checked in one update */

static const char *const problem_names[] = {"unlisted", "missing", "double"};

/* One pass: problems found before the lock was taken. */
struct reindex_pass {
    struct notes notes;
    struct problem {
        enum index_problem problem;
        const char *key;
        uint64_t line;
    } * problems;
    size_t count, capacity;
    struct str index;
    bool adds;   /* only add missing lines */
    bool failed; /* out of memory while collecting */
};

static void add_index_problem(void *arg, enum index_problem problem, struct ethos_view file,
                              size_t line)
{
    struct reindex_pass *pass = arg;
    if (pass->adds && problem != INDEX_UNLISTED)
        return;
    struct problem *problems = arena_grow(&pass->notes.arena, pass->problems, pass->count,
                                          &pass->capacity, sizeof *problems);
    const char *key = arena_copy(&pass->notes.arena, file);
    pass->failed = pass->failed || !problems || !key;
    if (pass->failed)
        return;
    pass->problems = problems;
    pass->problems[pass->count++] = (struct problem){problem, key, line};
}

static int find_problems(struct ethos_turn *turn, const char *scope, struct reindex_pass *pass,
                         struct ethos_error *error)
{
    int code = notes_load(turn, scope, &pass->notes, error);
    if (code != ETHOS_OK)
        return code;
    const struct notes *notes = &pass->notes;
    struct index_note *known = arena_array(&pass->notes.arena, notes->count + 1, sizeof *known);
    for (size_t i = 0; known && i < notes->count; i++)
        known[i].file = view_str(notes->rows[i].key);
    if (known)
        code = index_reconcile(view_of(notes->index.data, notes->index.size), known, notes->count,
                               NULL, add_index_problem, pass);
    return known && code == ETHOS_OK && !pass->failed ? ETHOS_OK : err_nomem(error);
}

/* ---- under the lock --------------------------------------------------------------------------- */

static int by_file(const void *a, const void *b)
{
    struct ethos_view x = ((const struct index_note *)a)->file;
    struct ethos_view y = ((const struct index_note *)b)->file;
    int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

static const struct ethos_edit *find_edit(const struct ethos_edit *edits, size_t count,
                                          struct ethos_view file)
{
    for (size_t i = 1; i < count; i++)
        if (view_eq_str(file, edits[i].key))
            return &edits[i];
    return NULL;
}

/* The index entry for a note. Generated titles and hooks go into words. */
static int name_note(const struct ethos_edit *edit, struct arena *arena, struct index_note *out)
{
    struct note note;
    struct str words;
    struct ethos_view line = {0};
    note_parse(view_of(edit->old.data, edit->old.size), &note);
    struct ethos_view rest = note.body;
    while (view_line(&rest, &line) && view_blank(line))
        continue;
    str_init(&words, ETHOS_MAX_STORE_BYTES);
    note_title(&note, edit->key, &words);
    const char *title = str_code(&words) ? NULL : arena_copy(arena, str_view(&words));
    str_clear(&words);
    note_value(note.description.data ? note.description : (struct ethos_view){0}, &words);
    if (view_blank(str_view(&words)))
        str_add(&words, line);
    const char *hook = str_code(&words) ? NULL : arena_copy(arena, str_view(&words));
    str_release(&words);
    if (!title || !hook)
        return ETHOS_NOMEM;
    *out = (struct index_note){view_str(edit->key), view_str(title), view_str(hook)};
    return ETHOS_OK;
}

/* A file that the index names counts as existing unless it was checked and is missing. */
static int collect_index_notes(struct arena *arena, const struct ethos_edit *edits, size_t count,
                               struct index_note **out, size_t *out_count)
{
    struct ethos_view text = view_of(edits[0].old.data, edits[0].old.size);
    struct index_entry entry;
    size_t entries = 0, n = 0, offset = 0;
    while (index_next(text, &offset, &entry))
        entries++;
    struct index_note *notes = arena_array(arena, entries + count + 1, sizeof *notes);
    if (!notes)
        return ETHOS_NOMEM;
    for (offset = 0; index_next(text, &offset, &entry);)
        if (!find_edit(edits, count, entry.file))
            notes[n++].file = entry.file;
    for (size_t i = 1; i < count; i++)
        if (edits[i].old.data && name_note(&edits[i], arena, &notes[n++]) != ETHOS_OK)
            return ETHOS_NOMEM;
    qsort(notes, n, sizeof *notes, by_file);
    size_t kept = n > 0;
    for (size_t i = 1; i < n; i++)
        if (!view_eq(notes[i].file, notes[kept - 1].file))
            notes[kept++] = notes[i];
    *out = notes;
    *out_count = kept;
    return ETHOS_OK;
}

static int edit_index(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct reindex_pass *pass = arg;
    struct arena arena;
    struct index_note *notes;
    size_t known;
    arena_init(&arena);
    int code = collect_index_notes(&arena, edits, count, &notes, &known);
    if (code == ETHOS_OK)
        code = index_reconcile(view_of(edits[0].old.data, edits[0].old.size), notes, known,
                               &pass->index, NULL, NULL);
    arena_release(&arena);
    if (code != ETHOS_OK)
        return err_set(error, code, NOTES_INDEX ": the index would be too large");
    if (edits[0].old.data || pass->index.size > 0) {
        edits[0].verdict = ETHOS_EDIT_PUT;
        edits[0].text = str_view(&pass->index);
    }
    return ETHOS_OK;
}

/* ---- passes ----------------------------------------------------------------------------------- */

/* Reports only the index: the other files were just read. */
static void report_index_outcome(void *arg, const struct ethos_outcome *outcome)
{
    const struct ethos_sync_how *how = arg;
    if (how->each && strcmp(outcome->key, NOTES_INDEX) == 0)
        how->each(how->arg, outcome);
}

static bool named_before(const struct ethos_edit *edits, size_t count, const char *key)
{
    return find_edit(edits, count, view_str(key)) != NULL;
}

/* Fixes what fits into one update; *out_done counts the processed problems. */
static int fix_problems(struct ethos_turn *turn, struct reindex_pass *pass,
                        const struct ethos_sync_how *how, size_t *out_done,
                        struct ethos_error *error)
{
    const struct ethos_sync_how quiet = {.origin = how->origin,
                                         .flags = how->flags,
                                         .each = report_index_outcome,
                                         .arg = (void *)how};
    size_t most = how->flags & ETHOS_SYNC_DRY_RUN ? pass->count : PART, keys = 1, i = 0;
    struct ethos_edit *edits = arena_array(
        &pass->notes.arena, (most < pass->count ? most : pass->count) + 1, sizeof *edits);
    if (!edits)
        return err_nomem(error);
    edits[0].key = NOTES_INDEX;
    for (; i < pass->count && keys <= most; i++) {
        const struct problem *problem = &pass->problems[i];
        if (problem->problem != INDEX_DOUBLE && !named_before(edits, keys, problem->key))
            edits[keys++].key = problem->key;
    }
    *out_done = i;
    return handle_update(turn, pass->notes.scope, edits, keys, edit_index, pass, &quiet, error);
}

static int run_reindex_pass(struct ethos_turn *turn, const char *scope, bool adds,
                            const struct ethos_sync_how *how, ethos_mend_fn *each, void *arg,
                            bool *out_more, struct ethos_error *error)
{
    struct reindex_pass pass = {.adds = adds};
    size_t done = 0;
    str_init(&pass.index, ETHOS_MAX_STORE_BYTES);
    int code = how->flags & ETHOS_SYNC_DRY_RUN ? ETHOS_OK : notes_recover(turn, scope, error);
    if (code == ETHOS_OK)
        code = find_problems(turn, scope, &pass, error);
    if (code == ETHOS_OK && pass.count > 0)
        code = fix_problems(turn, &pass, how, &done, error);
    for (size_t i = 0; code == ETHOS_OK && each && i < done; i++)
        each(arg, problem_names[pass.problems[i].problem], pass.problems[i].key,
             pass.problems[i].line);
    *out_more = done < pass.count;
    str_release(&pass.index);
    notes_release(turn, &pass.notes);
    return code;
}

int ethos_notes_reindex(struct ethos_turn *turn, const char *scope,
                        const struct ethos_sync_how *how, ethos_mend_fn *each, void *arg,
                        struct ethos_error *error)
{
    static const struct ethos_sync_how plain_how;
    bool more = true;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && more)
        code = run_reindex_pass(turn, scope, false, how ? how : &plain_how, each, arg, &more,
                                error);
    return code;
}

int notes_list_new(struct ethos_turn *turn, const char *scope, const struct ethos_sync_how *how,
                   struct ethos_error *error)
{
    bool more;
    return run_reindex_pass(turn, scope, true, how, NULL, NULL, &more, error);
}

/* ---- looking only ----------------------------------------------------------------------------- */

static bool is_used(const struct notes *notes)
{
    bool used = strncmp(notes->scope, "workspace:", 10) == 0;
    for (size_t i = 0; !used && i < notes->count; i++)
        used = notes->rows[i].order != SIZE_MAX;
    return used;
}

int notes_disagree(struct ethos_turn *turn, const char *scope, struct notes_disagreement *out,
                   struct ethos_error *error)
{
    struct reindex_pass pass = {0};
    *out = (struct notes_disagreement){0};
    str_init(&pass.index, ETHOS_MAX_STORE_BYTES);
    int code = find_problems(turn, scope, &pass, error);
    bool used = code == ETHOS_OK && is_used(&pass.notes);
    for (size_t i = 0; used && i < pass.count; i++) {
        enum index_problem problem = pass.problems[i].problem;
        out->unlisted += problem == INDEX_UNLISTED;
        out->missing += problem == INDEX_MISSING;
        out->twice += problem == INDEX_DOUBLE;
    }
    str_release(&pass.index);
    notes_release(turn, &pass.notes);
    return code;
}
