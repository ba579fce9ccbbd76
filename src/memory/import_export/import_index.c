/*
 * import_index.c: the index lines of imported notes, written in the same update as the notes.
 *
 * An import that is killed leaves some of the notes, each with its line. If the source's index may
 * replace ours, or the two can be merged, the final text is known before the first note: every
 * update writes that text without the lines of notes that are still missing. Otherwise, and when
 * somebody else changes the index meanwhile, each update adds the lines of its own notes.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/merge.h"
#include "core/memory/update.h"
#include "core/notes/index.h"
#include "memory/import_export/import_internal.h"

static bool is_in_names(const json_t *names, struct ethos_view name)
{
    return json_object_getn(names, name.data, name.size) != NULL;
}

static int add_to_names(json_t *names, struct ethos_view name)
{
    return json_object_setn_new_nocheck(names, name.data, name.size, json_true()) == 0
               ? ETHOS_OK
               : ETHOS_NOMEM;
}

static struct ethos_view text_here(const struct import_index *index)
{
    return view_of(index->meeting.old.data, index->meeting.old.size);
}

/* ---- what becomes of the index ---------------------------------------------------------------- */

/* Whether every line of ours is one of theirs: a killed import leaves such an index. */
static int is_part_of(struct ethos_view ours, struct ethos_view theirs, bool *out)
{
    struct ethos_view line;
    json_t *lines = json_object();
    int code = lines ? ETHOS_OK : ETHOS_NOMEM;
    while (code == ETHOS_OK && view_line(&theirs, &line))
        code = add_to_names(lines, view_trim_end(line));
    *out = true;
    while (code == ETHOS_OK && *out && view_line(&ours, &line))
        *out = view_blank(line) || is_in_names(lines, view_trim_end(line));
    json_decref(lines);
    return code;
}

static int merge_target(struct import *import, struct import_index *index)
{
    struct ethos_text base = {0};
    struct merge_report report = {0};
    const struct ethos_host *host = import->turn->ethos->host;
    if (import_base(import, &index->meeting, &base) != ETHOS_OK)
        return ETHOS_OK;
    int code = merge_texts(view_of(base.data, base.size), text_here(index), index->meeting.text,
                           &index->target, &report);
    index->has_target = index->merged = code == ETHOS_OK && report.conflicts == 0;
    host->resize(host->arg, base.data, 0);
    return code == ETHOS_LIMIT ? ETHOS_OK : code;
}

static int choose_target(struct import *import, struct import_index *index)
{
    struct meeting *meeting = &index->meeting;
    enum meeting_way way = import_way(meeting);
    bool part = false;
    int code = way == MEET_BOTH && !meeting->seen
                   ? is_part_of(text_here(index), meeting->text, &part)
                   : ETHOS_OK;
    index->has_target = way == MEET_PUT || part;
    if (code == ETHOS_OK && index->has_target)
        return str_add(&index->target, meeting->text);
    return code == ETHOS_OK && way == MEET_BOTH ? merge_target(import, index) : code;
}

static int list_names(struct import *import, struct import_index *index)
{
    struct index_entry entry;
    size_t offset = 0;
    int code = index->listed && index->waiting ? ETHOS_OK : ETHOS_NOMEM;
    while (code == ETHOS_OK && index_next(text_here(index), &offset, &entry))
        code = add_to_names(index->listed, entry.file);
    for (size_t i = 0; code == ETHOS_OK && i < import->source.count; i++) {
        const struct source_item *item = &import->source.items[i];
        if (item->item.kind == FOREIGN_INDEX && !index->item)
            index->item = item;
        else if (item->item.kind == FOREIGN_NOTE || item->item.kind == FOREIGN_FACT)
            code = add_to_names(index->waiting, view_str(item->key));
    }
    return code;
}

int import_index_open(struct import *import, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_provider *provider = import->turn->provider;
    struct import_index *index = arena_alloc(&import->source.arena, sizeof *index);
    if (!index)
        return err_nomem(error);
    *index = (struct import_index){.listed = json_object(), .waiting = json_object()};
    str_init(&index->target, ETHOS_MAX_STORE_BYTES);
    str_init(&index->text, ETHOS_MAX_STORE_BYTES);
    import->index = index;
    struct meeting *meeting = &index->meeting;
    meeting->scope = import->note_scope;
    meeting->key = TRANSFER_INDEX;
    meeting->seen = json_string_value(json_object_get(import->known, TRANSFER_INDEX));
    int code = provider->ops->read(provider, meeting->scope, meeting->key, &whole, &meeting->old,
                                   error);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
        return code;
    memcpy(index->expect, meeting->old.data ? meeting->old.revision : "absent",
           meeting->old.data ? sizeof index->expect : sizeof "absent");
    code = list_names(import, index);
    meeting->item = index->item;
    meeting->text = index->item ? index->item->note : (struct ethos_view){0};
    if (code == ETHOS_OK && index->item && meeting->text.size <= ETHOS_MAX_READ_BYTES)
        code = choose_target(import, index);
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

void import_index_release(struct import *import)
{
    struct import_index *index = import->index;
    const struct ethos_host *host = import->turn->ethos->host;
    if (!index)
        return;
    host->resize(host->arg, index->meeting.old.data, 0);
    json_decref(index->listed);
    json_decref(index->waiting);
    str_release(&index->target);
    str_release(&index->text);
    import->index = NULL;
}

/* ---- in the update of some notes -------------------------------------------------------------- */

/* The target without the lines of notes that come later. */
static int filter_target(struct import_index *index, const json_t *coming)
{
    struct ethos_view rest = str_view(&index->target);
    struct index_entry entry;
    str_clear(&index->text);
    while (rest.size > 0) {
        const char *end = memchr(rest.data, '\n', rest.size);
        struct ethos_view line = view_of(rest.data,
                                         end ? (size_t)(end - rest.data) + 1 : rest.size);
        bool later = index_line(view_trim_end(line), &entry) &&
                     is_in_names(index->waiting, entry.file) && !is_in_names(coming, entry.file) &&
                     !is_in_names(index->listed, entry.file);
        if (!later)
            str_add(&index->text, line);
        rest = view_from(rest, line.size);
    }
    return str_code(&index->text);
}

static bool is_coming(void *arg, struct ethos_view file)
{
    return is_in_names(arg, file);
}

/* The lines of imported notes, as the source's index has them; those of facts are generated. */
static int join_lines(struct import_index *index, const struct meeting *meetings, json_t *coming,
                      size_t count, struct ethos_view ours)
{
    CLEANUP_STR struct str lines;
    int code = ETHOS_OK;
    str_init(&lines, ETHOS_MAX_STORE_BYTES);
    if (index->item)
        str_add(&lines, index->item->note);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        if (meetings[i].item->item.kind == FOREIGN_FACT)
            code = foreign_line(&meetings[i].item->item, meetings[i].key, &lines);
    if (code == ETHOS_OK)
        code = str_code(&lines);
    str_clear(&index->text);
    if (code == ETHOS_OK)
        code = foreign_join(ours, str_view(&lines), is_coming, coming, &index->text,
                            &index->adding);
    return code;
}

/* The files that this update creates. */
static json_t *coming_notes(const struct ethos_edit *edits, size_t count)
{
    json_t *coming = json_object();
    int code = coming ? ETHOS_OK : ETHOS_NOMEM;
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        if (edits[i].verdict == ETHOS_EDIT_PUT && !edits[i].old.data)
            code = add_to_names(coming, view_str(edits[i].key));
    if (code == ETHOS_OK)
        return coming;
    json_decref(coming);
    return NULL;
}

int import_index_edit(struct import *import, const struct meeting *meetings,
                      struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct import_index *index = import->index;
    struct ethos_edit *edit = &edits[count];
    json_t *coming = coming_notes(edits, count);
    if (!coming)
        return err_nomem(error);
    const char *found = edit->old.data ? edit->old.revision : "absent";
    index->has_target = index->has_target && strcmp(found, index->expect) == 0;
    index->adding = 0;
    int code = index->has_target ? filter_target(index, coming)
                                 : join_lines(index, meetings, coming, count,
                                              view_of(edit->old.data, edit->old.size));
    bool any = json_object_size(coming) > 0 && (index->has_target || index->adding > 0);
    json_decref(coming);
    if (code != ETHOS_OK)
        return err_set(error, code, "%s: too large", edit->key);
    edit->verdict = any ? ETHOS_EDIT_PUT : ETHOS_EDIT_KEEP;
    edit->text = view_of(index->text.data ? index->text.data : "", index->text.size);
    edit->actions = "add";
    return ETHOS_OK;
}

void import_index_done(struct import *import, const struct meeting *meetings,
                       const struct ethos_edit *edits, size_t count)
{
    struct import_index *index = import->index;
    const char *revision = *edits[count].revision ? edits[count].revision : "absent";
    memcpy(index->expect, revision, strlen(revision) + 1);
    index->added += index->adding;
    for (size_t i = 0; i < count; i++)
        json_object_del(index->waiting, meetings[i].key);
}

/* ---- in the end ------------------------------------------------------------------------------- */

static int write_index_text(void *arg, struct ethos_edit *edits, size_t count,
                            struct ethos_error *error)
{
    struct import_index *index = arg;
    (void)count, (void)error;
    const char *found = edits->old.data ? edits->old.revision : "absent";
    if (strcmp(found, index->expect) != 0) {
        index->has_target = false;
        return ETHOS_OK;
    }
    edits->verdict = ETHOS_EDIT_PUT;
    edits->text = view_of(index->target.data ? index->target.data : "", index->target.size);
    edits->actions = index->meeting.old.data ? "replace" : "add";
    return ETHOS_OK;
}

static void report_index(struct import *import, const struct import_index *index)
{
    const struct meeting *meeting = &index->meeting;
    bool same = index->merged && view_eq(str_view(&index->target), text_here(index));
    import_report(import, meeting->item, meeting->scope, meeting->key,
                  same                ? "unchanged"
                  : index->merged     ? "merged"
                  : meeting->old.data ? "updated"
                                      : "taken",
                  same ? "already included here" : NULL, NULL);
}

int import_index_finish(struct import *import, struct ethos_error *error)
{
    struct import_index *index = import->index;
    struct ethos_edit edit = {.key = TRANSFER_INDEX};
    const struct ethos_sync_how how = {.origin = &import->origin, .flags = import->flags};
    if (!index || !index->has_target)
        return ETHOS_NOTFOUND;
    int code = handle_update(import->turn, import->note_scope, &edit, 1, write_index_text, index,
                             &how, error);
    if (code != ETHOS_OK || !index->has_target)
        return code == ETHOS_OK ? ETHOS_NOTFOUND : code;
    import_step(import);
    if (index->merged)
        import_store_version(import, &index->meeting);
    report_index(import, index);
    return import_remember(import, &index->meeting) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}
