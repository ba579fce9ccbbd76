/*
 * found_chunks.c: chooses and writes the entries that match a question.
 */
#include "memory/prefetch/found_chunks.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/formats/code_fence.h"
#include "core/formats/line_kinds.h"
#include "core/memory/archive_blocks.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"
#include "memory/recall/recall.h"
#include "memory/recall/scope_index.h"

#define HEADING "## Memory\n\n"
#define BLANK_LINE "\n\n"
/* The most that a first entry needs around it: the heading, and blank lines on both sides. */
#define AROUND (sizeof HEADING + 2 * (sizeof BLANK_LINE - 1) - 1)

/* A heading of a text; level 0: the start of an archived text, which has its own headings. */
struct heading {
    size_t offset;
    unsigned level;
    struct ethos_view text;
};

/* The headings above hits in a text, in order. */
struct heading_list {
    struct heading_list *next;
    const char *whole;
    struct heading *rows;
    size_t count, capacity;
};

void found_chunks_init(struct found_chunks *self, struct chunk_room room)
{
    *self = (struct found_chunks){.room = room};
    self->room.chars = room.chars > AROUND ? room.chars - AROUND : 0;
    self->room.bytes = room.bytes > AROUND ? room.bytes - AROUND : 0;
    arena_init(&self->arena);
}

void found_chunks_release(struct found_chunks *self)
{
    arena_release(&self->arena);
}

bool found_chunks_has(const struct ethos_turn *turn, const struct recall_hit *hit)
{
    return turn->settings.vector && !hit->said &&
           strcmp(hit->scope, turn->context.memory_scope) == 0 &&
           (strcmp(hit->key, NOTES_INDEX) == 0 || strcmp(hit->key, RECALL_ARCHIVE) == 0);
}

/* ---- headings -------------------------------------------------------------------------------- */

static int add_heading_row(struct found_chunks *self, struct heading_list *list, size_t offset,
                           unsigned level, struct ethos_view text)
{
    struct heading *rows = arena_grow(&self->arena, list->rows, list->count, &list->capacity,
                                      sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    list->rows = rows;
    rows[list->count++] = (struct heading){offset, level, text};
    return ETHOS_OK;
}

/* For a part of a text that begins at an offset. */
static int read_headings(struct found_chunks *self, struct heading_list *list,
                         struct ethos_view part)
{
    struct ethos_view rest = part, line;
    struct fence fence = {0};
    int code = add_heading_row(self, list, (size_t)(part.data - list->whole), 0, VIEW(""));
    while (code == ETHOS_OK && view_line(&rest, &line)) {
        unsigned level = fence_line(&fence, line) ? 0 : markdown_heading(line);
        if (level > 0)
            code = add_heading_row(self, list, (size_t)(line.data - list->whole), level,
                                   markdown_heading_text(line));
    }
    return code;
}

static struct heading_list *list_headings(struct found_chunks *self, struct ethos_view whole,
                                          bool archived)
{
    struct heading_list *list = self->headings;
    while (list && list->whole != whole.data)
        list = list->next;
    if (list)
        return list;
    list = arena_alloc(&self->arena, sizeof *list);
    if (!list)
        return NULL;
    *list = (struct heading_list){.next = self->headings, .whole = whole.data};
    self->headings = list;
    struct ethos_view rest = whole;
    struct archive_block block;
    bool blocks = archived && archive_next(&rest, &block);
    int code = read_headings(self, list, blocks ? block.body : whole);
    while (code == ETHOS_OK && blocks && archive_next(&rest, &block))
        code = read_headings(self, list, block.body);
    return code == ETHOS_OK ? list : NULL;
}

/* "[Home > Kitchen]", or nothing. */
static void write_path(const struct heading_list *list, size_t offset, struct str *out)
{
    struct ethos_view path[MARKDOWN_LEVELS];
    size_t depth = 0, i = 0;
    unsigned level = MARKDOWN_LEVELS + 1;
    while (i < list->count && list->rows[i].offset <= offset)
        i++;
    for (; i > 0 && list->rows[i - 1].level > 0; i--) {
        const struct heading *row = &list->rows[i - 1];
        if (row->level >= level)
            continue;
        level = row->level;
        if (!view_blank(row->text))
            path[depth++] = row->text;
    }
    for (size_t at = depth; at > 0; at--) {
        str_adds(out, at == depth ? "[" : " > ");
        str_add(out, path[at - 1]);
    }
    str_adds(out, depth > 0 ? "]\n" : "");
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool is_chosen(const struct found_chunks *self, struct ethos_view text)
{
    for (size_t i = 0; i < self->count; i++)
        if (view_eq(self->rows[i].text, text))
            return true;
    return false;
}

static int choose_chunk(struct found_chunks *self, const struct recall_hit *hit,
                        struct ethos_view text, bool *out_taken)
{
    uint64_t chars = utf8_units(text) + sizeof BLANK_LINE - 1,
             bytes = text.size + sizeof BLANK_LINE - 1;
    *out_taken = self->count < self->room.count && chars <= self->room.chars &&
                 bytes <= self->room.bytes;
    self->left_out += !*out_taken;
    if (!*out_taken)
        return ETHOS_OK;
    struct found_chunk *rows = arena_grow(&self->arena, self->rows, self->count, &self->capacity,
                                          sizeof *rows);
    const char *copy = rows ? arena_copy(&self->arena, text) : NULL;
    if (!copy)
        return ETHOS_NOMEM;
    self->rows = rows;
    rows[self->count++] = (struct found_chunk){.text = view_of(copy, text.size),
                                               .archived = strcmp(hit->key, RECALL_ARCHIVE) == 0,
                                               .line = hit->line};
    self->room.chars -= chars;
    self->room.bytes -= bytes;
    return ETHOS_OK;
}

int found_chunks_add(struct found_chunks *self, const struct recall_hit *hit, bool *out_taken)
{
    CLEANUP_STR struct str text;
    const struct heading_list *list = list_headings(self, hit->whole,
                                                    strcmp(hit->key, RECALL_ARCHIVE) == 0);
    *out_taken = false;
    str_init(&text, SIZE_MAX);
    if (list)
        write_path(list, (size_t)(hit->unit.data - hit->whole.data), &text);
    str_add(&text, view_trim_end(hit->unit));
    TRY(list ? str_code(&text) : ETHOS_NOMEM);
    return !is_chosen(self, str_view(&text)) ? choose_chunk(self, hit, str_view(&text), out_taken)
                                             : ETHOS_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The archive is older than the file, and text further up is older than text below. */
static int compare_age(const void *left, const void *right)
{
    const struct found_chunk *a = left, *b = right;
    if (a->archived != b->archived)
        return a->archived ? 1 : -1;
    return (a->line < b->line) - (a->line > b->line);
}

static void write_rows(struct found_chunks *self, struct str *out)
{
    qsort(self->rows, self->count, sizeof *self->rows, compare_age);
    for (size_t i = 0; i < self->count; i++) {
        str_adds(out, i > 0 ? BLANK_LINE : "");
        str_add(out, self->rows[i].text);
    }
}

/* The position before the newest entries, or where those would be. */
static size_t find_insert_offset(const struct render_result *result)
{
    const struct render_part *memory = &result->parts[ETHOS_SECTION_MEMORY];
    const struct render_part *user = &result->parts[ETHOS_SECTION_USER];
    return memory->shown ? memory->start : user->shown ? user->start + user->size : 0;
}

static int insert_text(struct str *text, size_t at, struct ethos_view what)
{
    struct str joined;
    str_init(&joined, text->ceiling);
    str_add(&joined, view_of(text->data, at));
    str_add(&joined, what);
    str_add(&joined, view_from(str_view(text), at));
    if (str_code(&joined) == ETHOS_OK) {
        str_release(text);
        *text = joined;
        return ETHOS_OK;
    }
    str_release(&joined);
    return ETHOS_NOMEM;
}

static void record_inserted_part(struct render_result *result, struct ethos_view heading, size_t at,
                                 struct ethos_view what)
{
    struct render_part *memory = &result->parts[ETHOS_SECTION_MEMORY];
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        if (result->parts[i].shown && result->parts[i].start > at)
            result->parts[i].start += what.size;
    if (memory->shown) {
        memory->size += what.size;
    } else {
        size_t before = view_starts(what, VIEW("\n")) ? sizeof BLANK_LINE - 1 : 0;
        memory->shown = true;
        memory->start = at + before + heading.size;
        memory->size = what.size - before - heading.size -
                       (view_ends(what, VIEW(BLANK_LINE)) ? sizeof BLANK_LINE - 1 : 0);
    }
    memory->chars += utf8_units(what);
}

int found_chunks_place(struct found_chunks *self, struct str *text, struct render_result *result,
                       size_t *out_size)
{
    CLEANUP_STR struct str what = {0};
    size_t at = find_insert_offset(result);
    bool shown = result->parts[ETHOS_SECTION_MEMORY].shown;
    *out_size = 0;
    if (self->count == 0)
        return ETHOS_OK;
    str_init(&what, SIZE_MAX);
    str_adds(&what, shown ? "" : at > 0 ? BLANK_LINE HEADING : HEADING);
    write_rows(self, &what);
    str_adds(&what, shown || (at == 0 && text->size > 0) ? BLANK_LINE : "");
    TRY(str_code(&what) ? ETHOS_NOMEM : insert_text(text, at, str_view(&what)));
    record_inserted_part(result, VIEW(HEADING), at, str_view(&what));
    *out_size = what.size;
    return ETHOS_OK;
}
