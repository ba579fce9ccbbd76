/*
 * import_entries.c: adds the entries of another program's memory or profile to ours.
 *
 * An entry that is already here, or was imported before, is skipped: the first is looked up in the
 * file, the second in the record. Adjacent new entries are added as one piece of text, as in the
 * source, below the heading they are under.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "memory/import_export/import_internal.h"

struct log {
    struct import *import;
    enum foreign_target target;
    struct ethos_target place; /* of our file */
    const char *scope, *key;   /* likewise, as reported */
    struct ethos_view here;
    json_t *taken, *now; /* hashes: of all runs, of this run */
    struct ethos_update *updates;
    size_t count;
    const struct source_item *first, *last; /* the current run of new entries */
    struct str diff;
};

/* Whether a text contains these lines, one after the other. */
static bool has_lines(struct ethos_view text, struct ethos_view lines)
{
    while (text.size >= lines.size && lines.size > 0) {
        const char *at = memmem(text.data, text.size, lines.data, lines.size);
        if (!at)
            return false;
        size_t before = (size_t)(at - text.data), after = before + lines.size;
        bool starts = before == 0 || at[-1] == '\n';
        bool ends = after == text.size || text.data[after] == '\n' || text.data[after] == '\r';
        if (starts && ends)
            return true;
        const char *next = memchr(at, '\n', text.size - before);
        if (!next)
            return false;
        text = view_from(text, (size_t)(next + 1 - text.data));
    }
    return false;
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* The text of the current run: its heading, unless the run includes it, and the piece. */
static int close_run(struct log *log)
{
    const struct foreign_item *first = log->first ? &log->first->item : NULL;
    if (!first)
        return ETHOS_OK;
    const struct ethos_view *last = &log->last->item.text;
    const char *from = first->first && first->heading.data ? first->heading.data : first->text.data;
    const char *to = last->data + last->size;
    struct ethos_view piece = view_of(from, (size_t)(to - from));
    struct arena *arena = &log->import->source.arena;
    if (!first->first && first->heading.data) {
        size_t size = first->heading.size + 2 + piece.size;
        char *text = arena_alloc(arena, size + 1);
        if (!text)
            return ETHOS_NOMEM;
        memcpy(text, first->heading.data, first->heading.size);
        memcpy(text + first->heading.size, "\n\n", 2);
        memcpy(text + first->heading.size + 2, piece.data, piece.size);
        piece = view_of(text, size);
    }
    log->updates[log->count++] = (struct ethos_update){.action = ETHOS_ACTION_ADD,
                                                       .store = log->place.store,
                                                       .scope = log->place.scope,
                                                       .key = log->place.key,
                                                       .text = piece};
    log->first = log->last = NULL;
    return ETHOS_OK;
}

static int add_to_run(struct log *log, const struct source_item *item)
{
    int code = item->item.apart ? close_run(log) : ETHOS_OK;
    if (!log->first)
        log->first = item;
    log->last = item;
    return code;
}

/* ---- deciding ------------------------------------------------------------------------------- */

static void report_entry(struct log *log, const struct source_item *item, const char *what,
                         const char *why)
{
    import_report(log->import, item, log->scope, log->key, what, why, NULL);
}

/* Sets *out_new; reports an entry that is not new. */
static int check_entry_new(struct log *log, const struct source_item *item, bool *out_new)
{
    char hash[ENTRY_HASH + 1];
    struct ethos_view text = item->item.text;
    *out_new = false;
    if (imports_hash(text, hash) != ETHOS_OK)
        return ETHOS_NOMEM;
    bool before = json_object_get(log->taken, hash), twice = json_object_get(log->now, hash);
    if (json_object_set_new(log->taken, hash, json_integer(1)) != 0 ||
        json_object_set_new(log->now, hash, json_integer(1)) != 0)
        return ETHOS_NOMEM;
    if (memchr(text.data, 0, text.size))
        report_entry(log, item, "skipped", "holds a NUL character");
    else if (has_lines(log->here, text))
        report_entry(log, item, "unchanged", NULL);
    else if (twice)
        report_entry(log, item, "unchanged", "comes twice");
    else if (before)
        report_entry(log, item, "skipped", "deleted or changed here since it was imported");
    else
        *out_new = true;
    return ETHOS_OK;
}

static bool is_mine(const struct log *log, const struct source_item *item)
{
    return item->item.kind == FOREIGN_ENTRY && item->item.target == log->target;
}

static int decide_all(struct log *log)
{
    const struct import_source *source = &log->import->source;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < source->count; i++) {
        bool is_new;
        if (!is_mine(log, &source->items[i]))
            continue;
        import_step(log->import);
        code = check_entry_new(log, &source->items[i], &is_new);
        if (code == ETHOS_OK)
            code = is_new ? add_to_run(log, &source->items[i]) : close_run(log);
        if (code == ETHOS_OK && is_new)
            report_entry(log, &source->items[i], log->import->waits ? "waiting" : "taken", NULL);
    }
    return code == ETHOS_OK ? close_run(log) : code;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void collect_diff(void *arg, const struct ethos_outcome *outcome)
{
    if (outcome->diff)
        str_adds(arg, outcome->diff);
}

/* The diff of a dry run covers the file, not one entry. */
static void report_file_diff(struct log *log)
{
    const struct transfer_row row = {"diff", log->key,       log->scope, log->key,
                                     NULL,   log->diff.data, ETHOS_OK};
    log->import->nomem = log->import->nomem || str_code(&log->diff) != ETHOS_OK;
    if (log->diff.size > 0)
        log->import->what->each(log->import->what->arg, &row);
}

static int write_entries(struct log *log, struct ethos_error *error)
{
    struct import *import = log->import;
    const struct ethos_sync_how how = {
        .origin = &import->origin, .flags = import->flags, .each = collect_diff, .arg = &log->diff};
    int code = ETHOS_OK;
    for (size_t at = 0; code == ETHOS_OK && at < log->count; at += ETHOS_MAX_BATCH) {
        size_t count = log->count - at < ETHOS_MAX_BATCH ? log->count - at : ETHOS_MAX_BATCH;
        code = ethos_sync(import->turn, log->updates + at, count, &how, error);
        if (code == ETHOS_PENDING && import->waits)
            code = ETHOS_OK;
    }
    if (code == ETHOS_OK)
        report_file_diff(log);
    return code;
}

static int import_entry_log(struct log *log, struct ethos_error *error)
{
    struct ethos_file *file = NULL;
    int code = ethos_read(log->import->turn, &log->place, &file, error);
    if (code != ETHOS_OK)
        return code;
    log->here = view_of(file->text, file->size);
    if (decide_all(log) != ETHOS_OK)
        code = err_nomem(error);
    log->here = (struct ethos_view){0};
    ethos_file_free(file);
    return code == ETHOS_OK ? write_entries(log, error) : code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static size_t count_mine(const struct log *log)
{
    size_t count = 0;
    for (size_t i = 0; i < log->import->source.count; i++)
        count += is_mine(log, &log->import->source.items[i]);
    return count;
}

static int run_recorded(struct log *log, struct imports *record, struct ethos_error *error)
{
    struct import *import = log->import;
    const char *const path[] = {"sources", import->source.path, "entries", log->key, NULL};
    log->taken = imports_part(record, path);
    log->now = json_object();
    int code = log->taken && log->now && log->updates ? import_entry_log(log, error)
                                                      : err_nomem(error);
    if (code == ETHOS_OK && !import_dry(import) && !import->waits)
        code = imports_save(import->turn, record, error);
    json_decref(log->now);
    return code;
}

int import_log(struct import *import, enum foreign_target target, struct ethos_error *error)
{
    struct imports record;
    bool user = target == FOREIGN_USER;
    struct log log = {.import = import,
                      .target = target,
                      .place = {user ? "user" : NULL, user ? NULL : import->memory_scope,
                                user ? NULL : TRANSFER_INDEX},
                      .scope = user ? import->turn->context.user_scope : import->memory_scope,
                      .key = user ? TRANSFER_PROFILE : TRANSFER_INDEX};
    size_t count = count_mine(&log);
    if (count == 0)
        return ETHOS_OK;
    log.updates = arena_array(&import->source.arena, count, sizeof *log.updates);
    str_init(&log.diff, ETHOS_MAX_STORE_BYTES);
    int code = imports_load(import->turn, log.scope, &record, error);
    if (code == ETHOS_OK)
        code = run_recorded(&log, &record, error);
    imports_release(&record);
    str_release(&log.diff);
    return code;
}
