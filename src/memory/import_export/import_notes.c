/*
 * import_notes.c: imports files as notes, facts as notes, and the index that lists them.
 *
 * Notes are written in batches: new ones, and those that changed only in the source, are written up
 * to BATCH files per update, with their index lines. The others are merged one by one.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/update.h"
#include "core/notes/index.h"
#include "core/notes/remember.h"
#include "memory/import_export/import_internal.h"

#define BATCH 64 /* files of one update */
#define NAMES 16 /* for finding the previous note of a fact */

static bool is_note_item(const struct source_item *item)
{
    return item->item.kind == FOREIGN_NOTE || item->item.kind == FOREIGN_FACT;
}

static int read_here(struct import *import, const char *scope, const char *key,
                     struct ethos_text *out, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_provider *provider = import->turn->provider;
    int code = provider->ops->read(provider, scope, key, &whole, out, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static void free_here(struct import *import, struct ethos_text *text)
{
    const struct ethos_host *host = import->turn->ethos->host;
    host->resize(host->arg, text->data, 0);
    *text = (struct ethos_text){0};
}

/* ---- names of facts ------------------------------------------------------------------------- */

struct naming {
    struct import *import;
    json_t *used;    /* keys assigned in this run */
    struct str note; /* scratch */
};

/* Whether a fact with this title had the key before. */
static bool is_mine(const struct import *import, const char *key, const char *title)
{
    const char *seen = json_string_value(json_object_get(import->known, key));
    const char *blank = seen ? strchr(seen, ' ') : NULL;
    return blank && strcmp(blank + 1, title) == 0;
}

/* Whether a key is free. A note that equals the fact is its own: an interrupted run left it. */
static int is_free(struct naming *naming, const struct source_item *item, const char *key,
                   bool *out, struct ethos_error *error)
{
    struct ethos_text here = {0};
    struct import *import = naming->import;
    *out = false;
    if (json_object_get(naming->used, key) || json_object_get(import->known, key))
        return ETHOS_OK;
    int code = read_here(import, import->note_scope, key, &here, error);
    str_clear(&naming->note);
    if (code == ETHOS_OK && here.data &&
        foreign_note(&item->item, import->what->format, key, &naming->note) != ETHOS_OK)
        code = err_nomem(error);
    *out = !here.data || view_eq(view_of(here.data, here.size), str_view(&naming->note));
    free_here(import, &here);
    return code;
}

/* The key that a fact had before, or *out_found false. */
static int find_mine(const struct naming *naming, const struct remember *what,
                     char key[ETHOS_MAX_KEY + 1], bool *out_found)
{
    char title[ENTRY_HASH + 1];
    int code = imports_hash(what->title, title);
    *out_found = false;
    for (unsigned n = 0; code == ETHOS_OK && !*out_found && n < NAMES; n++) {
        code = remember_key(what, n, key) ? ETHOS_OK : ETHOS_NOMEM;
        *out_found = code == ETHOS_OK && is_mine(naming->import, key, title) &&
                     !json_object_get(naming->used, key);
    }
    return code;
}

static int find_free_key(struct naming *naming, const struct source_item *item,
                         const struct remember *what, char key[ETHOS_MAX_KEY + 1],
                         struct ethos_error *error)
{
    bool found = false;
    for (unsigned n = 0; !found; n++) {
        if (n == REMEMBER_NAMES)
            return err_set(error, ETHOS_EXISTS, "%.*s: no file name is left for it",
                           VIEW_ARG(what->title));
        int code = remember_key(what, n, key) ? is_free(naming, item, key, &found, error)
                                              : err_nomem(error);
        if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}

static int name_fact(struct naming *naming, struct source_item *item, struct ethos_error *error)
{
    char key[ETHOS_MAX_KEY + 1];
    const struct remember what = {.title = item->item.title, .text = item->item.text};
    bool found;
    int code = find_mine(naming, &what, key, &found);
    if (code != ETHOS_OK)
        return err_nomem(error);
    if (!found)
        code = find_free_key(naming, item, &what, key, error);
    if (code != ETHOS_OK)
        return code;
    item->key = arena_str(&naming->import->source.arena, key);
    return item->key && json_object_set_new(naming->used, key, json_true()) == 0 ? ETHOS_OK
                                                                                 : err_nomem(error);
}

/* From here on the generated note is compared. */
static int write_fact(struct naming *naming, struct source_item *item, struct ethos_error *error)
{
    struct import *import = naming->import;
    str_clear(&naming->note);
    int code = foreign_note(&item->item, import->what->format, item->key, &naming->note);
    const char *copy = code == ETHOS_OK ? arena_copy(&import->source.arena, str_view(&naming->note))
                                        : NULL;
    if (!copy)
        return err_nomem(error);
    item->note = view_of(copy, naming->note.size);
    return ETHOS_OK;
}

int import_name(struct import *import, struct ethos_error *error)
{
    struct naming naming = {.import = import, .used = json_object()};
    int code = naming.used ? ETHOS_OK : err_nomem(error);
    str_init(&naming.note, ETHOS_MAX_STORE_BYTES);
    for (size_t i = 0; code == ETHOS_OK && i < import->source.count; i++) {
        struct source_item *item = &import->source.items[i];
        if (item->item.kind != FOREIGN_FACT)
            continue;
        code = name_fact(&naming, item, error);
        if (code == ETHOS_OK)
            code = write_fact(&naming, item, error);
    }
    str_release(&naming.note);
    json_decref(naming.used);
    return code;
}

/* ---- lines of the index --------------------------------------------------------------------- */

/* Whether a line's note was imported for the first time and exists here. */
static bool is_fresh(void *arg, struct ethos_view file)
{
    const struct import *import = arg;
    return json_object_getn(import->fresh, file.data, file.size);
}

/* The callback of the update that adds lines; theirs is an index. */
struct joining {
    struct import *import;
    struct ethos_view theirs;
    struct str text;
    size_t added;
    const struct source_item *item;
};

static int join_index_lines(void *arg, struct ethos_edit *edits, size_t count,
                            struct ethos_error *error)
{
    struct joining *joining = arg;
    (void)count;
    struct ethos_view ours = view_of(edits->old.data, edits->old.size);
    int code = foreign_join(ours, joining->theirs, is_fresh, joining->import, &joining->text,
                            &joining->added);
    edits->verdict = joining->added > 0 ? ETHOS_EDIT_PUT : ETHOS_EDIT_KEEP;
    edits->text = str_view(&joining->text);
    edits->actions = "add";
    return code == ETHOS_OK ? ETHOS_OK : err_set(error, code, "%s: too large", edits->key);
}

static void report_joined(void *arg, const struct ethos_outcome *outcome)
{
    struct joining *joining = arg;
    char why[64];
    bool written = outcome->kind == ETHOS_OUTCOME_WRITTEN;
    size_t before = joining->import->index ? joining->import->index->added : 0;
    size_t added = joining->added + before;
    written = written || before > 0;
    snprintf(why, sizeof why, "%zu line%s added to the index", added, added == 1 ? "" : "s");
    import_report(joining->import, joining->item, outcome->scope, outcome->key,
                  written ? "merged" : "unchanged",
                  written ? why : "the index here has its own lines", outcome->diff);
}

/* ---- what of an index stays there ----------------------------------------------------------- */

/* Collects the lines of a text and the files they link to, as names of an object. */
static int collect_index_lines(json_t *lines, struct ethos_view text)
{
    struct ethos_view line;
    struct index_entry entry;
    int failed = 0;
    while (!failed && view_line(&text, &line)) {
        line = view_trim_end(line);
        if (index_line(line, &entry))
            line = entry.file;
        failed = json_object_setn_new_nocheck(lines, line.data, line.size, json_true());
    }
    return failed ? ETHOS_NOMEM : ETHOS_OK;
}

static void report_skipped_line(const struct joining *joining, size_t number, const char *why)
{
    char file[64];
    snprintf(file, sizeof file, "%s:%zu", TRANSFER_INDEX, number);
    const struct transfer_row row = {.what = "skipped", .file = file, .why = why};
    joining->import->what->each(joining->import->what->arg, &row);
}

/* Reports entries whose notes were not imported one by one; headings and prose together. */
static void report_skipped_lines(const struct joining *joining, const json_t *ours)
{
    struct ethos_view rest = joining->theirs, line;
    struct index_entry entry;
    size_t first = 0, count = 0;
    char why[ETHOS_MAX_KEY + 64];
    for (size_t number = 1; view_line(&rest, &line); number++) {
        line = view_trim_end(line);
        bool is = index_line(line, &entry);
        struct ethos_view name = is ? entry.file : line;
        if (view_blank(line) || json_object_getn(ours, name.data, name.size))
            continue;
        if (is && !json_object_getn(joining->import->known, name.data, name.size)) {
            snprintf(why, sizeof why, "links to %.*s, which was not imported",
                     (int)(name.size < ETHOS_MAX_KEY ? name.size : ETHOS_MAX_KEY), name.data);
            report_skipped_line(joining, number, why);
        }
        first = is || first > 0 ? first : number;
        count += !is;
    }
    snprintf(why, sizeof why, "%zu line%s of headings and prose: the index here has its own", count,
             count == 1 ? "" : "s");
    if (count > 0)
        report_skipped_line(joining, first, why);
}

static int report_unjoined(const struct joining *joining, struct ethos_error *error)
{
    json_t *ours = json_object();
    int code = ours ? collect_index_lines(ours, str_view(&joining->text)) : ETHOS_NOMEM;
    if (code == ETHOS_OK)
        report_skipped_lines(joining, ours);
    json_decref(ours);
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int join_index(struct import *import, const struct source_item *item,
                      struct ethos_view theirs, struct ethos_error *error)
{
    struct joining joining = {.import = import, .theirs = theirs, .item = item};
    struct ethos_edit edit = {.key = TRANSFER_INDEX};
    const struct ethos_sync_how how = {
        .origin = &import->origin, .flags = import->flags, .each = report_joined, .arg = &joining};
    str_init(&joining.text, ETHOS_MAX_STORE_BYTES);
    int code = handle_update(import->turn, import->note_scope, &edit, 1, join_index_lines, &joining,
                             &how, error);
    if (code == ETHOS_OK && item->item.kind == FOREIGN_INDEX)
        code = report_unjoined(&joining, error);
    str_release(&joining.text);
    return code;
}

/* ---- many at a time ------------------------------------------------------------------------- */

struct batch {
    struct import *import;
    struct meeting meetings[BATCH];
    size_t count, told;
};

/* Replaces only texts that are unchanged since they were read. */
static int write_unchanged_notes(void *arg, struct ethos_edit *edits, size_t count,
                                 struct ethos_error *error)
{
    const struct batch *batch = arg;
    for (size_t i = 0; i < batch->count; i++) {
        const struct meeting *meeting = &batch->meetings[i];
        const struct ethos_text *old = &meeting->old;
        bool same = old->data
                        ? edits[i].old.data && strcmp(edits[i].old.revision, old->revision) == 0
                        : !edits[i].old.data;
        edits[i].verdict = same ? ETHOS_EDIT_PUT : ETHOS_EDIT_KEEP;
        edits[i].text = meeting->text;
    }
    return count > batch->count
               ? import_index_edit(batch->import, batch->meetings, edits, batch->count, error)
               : ETHOS_OK;
}

/* Outcomes come in the order of the edits. */
static void report_written_note(void *arg, const struct ethos_outcome *outcome)
{
    struct batch *batch = arg;
    if (batch->told == batch->count)
        return; // the index is reported at the end
    struct meeting *meeting = &batch->meetings[batch->told++];
    bool written = outcome->kind == ETHOS_OUTCOME_WRITTEN;
    import_report(batch->import, meeting->item, meeting->scope, meeting->key,
                  !written            ? "skipped"
                  : meeting->old.data ? "updated"
                                      : "taken",
                  written ? NULL : "changed here during the import; run it again", outcome->diff);
    if (!written)
        meeting->item = NULL; // not to be recorded
}

static int record_imported_notes(struct batch *batch, struct ethos_error *error)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->meetings[i].item &&
            import_remember(batch->import, &batch->meetings[i]) != ETHOS_OK)
            return err_nomem(error);
    return ETHOS_OK;
}

/*
 * Writes the notes, and in the same update their index lines; the final index is written at the
 * end.
 */
static int write_batch(struct batch *batch, struct ethos_error *error)
{
    struct ethos_edit edits[BATCH + 1] = {0};
    struct import *import = batch->import;
    const struct ethos_sync_how how = {.origin = &import->origin,
                                       .flags = import->flags,
                                       .each = report_written_note,
                                       .arg = batch};
    bool listed = import->index && batch->meetings[0].item->item.kind != FOREIGN_INDEX;
    for (size_t i = 0; i < batch->count; i++)
        edits[i].key = batch->meetings[i].key;
    edits[batch->count].key = TRANSFER_INDEX;
    batch->told = 0;
    int code = handle_update(import->turn, batch->meetings[0].scope, edits, batch->count + listed,
                             write_unchanged_notes, batch, &how, error);
    if (code == ETHOS_OK && listed)
        import_index_done(import, batch->meetings, edits, batch->count);
    return code == ETHOS_OK ? record_imported_notes(batch, error) : code;
}

static int flush_batch(struct batch *batch, struct ethos_error *error)
{
    int code = batch->count == 0 ? ETHOS_OK : write_batch(batch, error);
    for (size_t i = 0; i < batch->count; i++)
        free_here(batch->import, &batch->meetings[i].old);
    batch->count = 0;
    return code;
}

/* Why a text is too large for one file of memory, or NULL. */
static const char *refuse_text(const struct source_item *item, struct ethos_view text)
{
    bool index = item->item.kind == FOREIGN_INDEX;
    if (text.size > ETHOS_MAX_READ_BYTES)
        return "larger than 64 MiB";
    return !index && update_ceiling(text) > 0 ? "more than 524,288 characters" : NULL;
}

/* Without a known base, indexes are joined by lines, and a note becomes a conflict copy. */
static int merge_without_base(struct import *import, const struct meeting *meeting,
                              struct ethos_error *error)
{
    bool joined = import->index && import->index->added > 0; // a merge might duplicate lines
    bool index = meeting->item->item.kind == FOREIGN_INDEX;
    int code = joined && index ? ETHOS_NOTFOUND : import_merge(import, meeting, error);
    if (code != ETHOS_NOTFOUND)
        return code;
    return index ? join_index(import, meeting->item, meeting->text, error)
                 : import_aside(import, meeting, error);
}

static int import_item(struct batch *batch, const struct source_item *item,
                       struct ethos_error *error)
{
    struct import *import = batch->import;
    struct meeting *meeting = &batch->meetings[batch->count];
    const char *why = refuse_text(item, item->note);
    *meeting = (struct meeting){
        .item = item,
        .scope = import->note_scope,
        .key = item->key,
        .text = item->note,
        .seen = json_string_value(json_object_get(import->known, item->key)),
    };
    import_step(import);
    if (why) {
        import_report(import, item, NULL, NULL, "skipped", why, NULL);
        return ETHOS_OK;
    }
    int code = read_here(import, meeting->scope, meeting->key, &meeting->old, error);
    enum meeting_way way = code == ETHOS_OK ? import_decide(import, meeting) : MEET_DONE;
    if (code == ETHOS_OK && way == MEET_PUT) {
        batch->count++;
        return ETHOS_OK;
    }
    if (import->index)
        json_object_del(import->index->waiting, meeting->key);
    if (way == MEET_BOTH)
        code = merge_without_base(import, meeting, error);
    if (code == ETHOS_OK && import_remember(import, meeting) != ETHOS_OK)
        code = err_nomem(error);
    free_here(import, &meeting->old);
    return code;
}

/* Imports all items of one kind of file. */
static int import_items(struct batch *batch, bool index, struct ethos_error *error)
{
    struct import *import = batch->import;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < import->source.count; i++) {
        const struct source_item *item = &import->source.items[i];
        if (index ? item->item.kind != FOREIGN_INDEX : !is_note_item(item))
            continue;
        code = import_item(batch, item, error);
        if (code == ETHOS_OK && batch->count == BATCH)
            code = flush_batch(batch, error);
    }
    if (code == ETHOS_OK)
        return flush_batch(batch, error);
    for (size_t i = 0; i < batch->count; i++)
        free_here(import, &batch->meetings[i].old);
    return code;
}

/* Facts have no index: their lines are generated. */
static int list_facts(struct import *import, struct ethos_error *error)
{
    static const struct source_item lines = {.file = TRANSFER_INDEX};
    CLEANUP_STR struct str theirs;
    int code = ETHOS_OK;
    bool any = false;
    str_init(&theirs, ETHOS_MAX_STORE_BYTES);
    for (size_t i = 0; code == ETHOS_OK && i < import->source.count; i++) {
        const struct source_item *item = &import->source.items[i];
        if (item->item.kind != FOREIGN_FACT || !json_object_get(import->fresh, item->key))
            continue;
        code = foreign_line(&item->item, item->key, &theirs);
        any = true;
    }
    if (code != ETHOS_OK)
        err_set(error, code, "%s: too large", TRANSFER_INDEX);
    else if (any)
        code = join_index(import, &lines, str_view(&theirs), error);
    return code;
}

static int import_batches(struct import *import, struct batch *batch, struct ethos_error *error)
{
    int code = import_dry(import) ? ETHOS_OK : import_index_open(import, error);
    if (code == ETHOS_OK)
        code = import_items(batch, false, error);
    if (code == ETHOS_OK)
        code = list_facts(import, error);
    if (code == ETHOS_OK)
        code = import_index_finish(import, error);
    return code == ETHOS_NOTFOUND ? import_items(batch, true, error) : code;
}

int import_notes(struct import *import, struct ethos_error *error)
{
    struct batch *batch = arena_alloc(&import->source.arena, sizeof *batch);
    if (!batch)
        return err_nomem(error);
    batch->import = import;
    int code = import_batches(import, batch, error);
    import_index_release(import);
    return code;
}
