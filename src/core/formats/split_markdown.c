/*
 * split_markdown.c: splits a markdown file into facts (by section) or entries (by block).
 *
 * Headings are lines of one to six '#', a blank and text, outside code blocks. A file is split at its highest level of
 * headings or, if that is a single title above others, at the next level. The text before the first section is a fact of
 * its own.
 */
#include "core/formats/code_fence.h"
#include "core/formats/line_kinds.h"
#include "core/formats/memory_formats_internal.h"

#include <string.h>

#include "base/arena.h"
#include "base/view.h"
#include "core/notes/note.h"

/* ---- entries -------------------------------------------------------------------------------- */

/* The block that is being read, and its position. */
struct blocks {
    const struct format_reading *reading;
    enum foreign_target target;
    struct ethos_view heading, block; /* block.data NULL: none is open */
    size_t line, start;               /* numbers: of this line, of the block's first */
    bool first, item, gap;
};

static int close_entry(struct blocks *blocks)
{
    const struct foreign_item item = {.kind = FOREIGN_ENTRY,
                                      .target = blocks->target,
                                      .text = view_trim_end(blocks->block),
                                      .heading = blocks->heading,
                                      .first = blocks->first,
                                      .line = blocks->start};
    bool any = blocks->block.data != NULL;
    blocks->block = (struct ethos_view){0};
    blocks->item = blocks->gap = false;
    if (!any || item.text.size == 0)
        return ETHOS_OK;
    blocks->first = false;
    return blocks->reading->each(blocks->reading->arg, &item);
}

static void extend_entry(struct blocks *blocks, struct ethos_view line)
{
    if (!blocks->block.data) {
        blocks->block.data = line.data;
        blocks->start = blocks->line;
    }
    blocks->block.size = (size_t)(line.data + line.size - blocks->block.data);
    blocks->gap = false;
}

/* Whether the line continues the block. An indented line continues a list item even after a blank line. */
static bool is_entry_continued(const struct blocks *blocks, struct ethos_view line)
{
    return !markdown_is_item(line) &&
           (!blocks->gap || (blocks->item && markdown_is_indented(line)));
}

/* Headings with nothing between them count as one, such as those of a chapter and its first section. */
static void open_entry_heading(struct blocks *blocks, struct ethos_view line)
{
    if (!blocks->first)
        blocks->heading = line;
    blocks->heading.size = (size_t)(line.data + line.size - blocks->heading.data);
    blocks->first = true;
}

static int add_entry_line(struct blocks *blocks, struct ethos_view line)
{
    if (view_blank(line)) {
        blocks->gap = true;
        return ETHOS_OK;
    }
    bool heading = markdown_heading(line) > 0;
    int code = heading || !is_entry_continued(blocks, line) ? close_entry(blocks) : ETHOS_OK;
    if (heading) {
        open_entry_heading(blocks, view_trim_end(line));
        return code;
    }
    blocks->item = blocks->item || markdown_is_item(line);
    extend_entry(blocks, line);
    return code;
}

int markdown_entries(const struct format_reading *reading, enum foreign_target target)
{
    struct blocks blocks = {.reading = reading, .target = target};
    struct fence fence = {0};
    struct ethos_view rest = view_unmarked(reading->text), line;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && view_line(&rest, &line)) {
        bool inside = fence.mark != 0;
        blocks.line++;
        if (!fence_line(&fence, line)) {
            code = add_entry_line(&blocks, line);
            continue;
        }
        if (!inside && blocks.gap && !(blocks.item && markdown_is_indented(line)))
            code = close_entry(&blocks);
        extend_entry(&blocks, line);
    }
    return code == ETHOS_OK ? close_entry(&blocks) : code;
}

/* ---- sections ------------------------------------------------------------------------------- */

/* A copy with our own block blanked out, so that line numbers stay the same. */
static int blank_managed_block(const struct format_reading *reading, struct ethos_view *out)
{
    struct ethos_view rest = reading->text, line;
    bool inside = false;
    size_t number = 0;
    *out = reading->text;
    if (!view_contains(reading->text, VIEW(FOREIGN_BEGIN)))
        return ETHOS_OK;
    char *copy = arena_copy(reading->arena, reading->text);
    if (!copy)
        return ETHOS_NOMEM;
    while (view_line(&rest, &line)) {
        number++;
        if (!inside && view_eq(view_trim(line), VIEW(FOREIGN_BEGIN))) {
            inside = true;
            reading->skip(reading->arg, number, "the block that ethos wrote here");
        }
        bool ends = inside && view_eq(view_trim(line), VIEW(FOREIGN_END));
        if (inside)
            memset(copy + (line.data - reading->text.data), ' ', line.size);
        inside = inside && !ends;
    }
    out->data = copy;
    return ETHOS_OK;
}

/* The level of headings at which to split the file; 7 if it has no headings. */
static unsigned section_level(struct ethos_view text)
{
    size_t counts[MARKDOWN_LEVELS + 2] = {0};
    struct fence fence = {0};
    struct ethos_view line;
    while (view_line(&text, &line))
        if (!fence_line(&fence, line))
            counts[markdown_heading(line)]++;
    unsigned top = 1, next;
    while (top <= MARKDOWN_LEVELS && counts[top] == 0)
        top++;
    next = top + 1;
    while (next <= MARKDOWN_LEVELS && counts[next] == 0)
        next++;
    return top < MARKDOWN_LEVELS && counts[top] == 1 && next <= MARKDOWN_LEVELS ? next : top;
}

/* "CLAUDE" of "docs/CLAUDE.md". */
static struct ethos_view file_stem(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct ethos_view name = view_str(slash ? slash + 1 : path);
    if (view_ends(name, VIEW(".md")))
        name.size -= 3;
    return name;
}

struct sections {
    const struct format_reading *reading;
    struct ethos_view title, text;
    size_t line; /* of the heading, or of the first line */
};

static int emit_section(const struct sections *sections)
{
    const struct format_reading *reading = sections->reading;
    const struct foreign_item item = {
        .kind = FOREIGN_FACT,
        .target = FOREIGN_WORKSPACE,
        .title = view_blank(sections->title) ? file_stem(reading->path) : sections->title,
        .text = view_trim(sections->text),
        .line = sections->line};
    if (item.text.size > 0)
        return reading->each(reading->arg, &item);
    reading->skip(reading->arg, item.line, "there is no text below this heading");
    return ETHOS_OK;
}

/* Emits all sections. Text before the first section gets the title of the file. */
static int walk_sections(struct sections *sections, struct ethos_view text, unsigned level)
{
    struct fence fence = {0};
    struct ethos_view rest = text, line;
    size_t number = sections->line - 1;
    bool began = false; // a section, or text before the first one
    int code = ETHOS_OK;
    while (code == ETHOS_OK && view_line(&rest, &line)) {
        number++;
        unsigned heading = fence_line(&fence, line) ? 0 : markdown_heading(line);
        if (heading == 0 || heading > level) {
            sections->text.size = (size_t)(line.data + line.size - sections->text.data);
            began = began || !view_blank(line);
            continue;
        }
        if (began)
            code = emit_section(sections);
        began = heading == level;
        sections->title = markdown_heading_text(line);
        sections->text = view_of(rest.data, 0);
        sections->line = number;
    }
    return code == ETHOS_OK && began ? emit_section(sections) : code;
}

/*
 * Skips the frontmatter and returns its number of lines. Text between two rules without members is not frontmatter.
 */
static size_t skip_frontmatter(const struct format_reading *reading, struct ethos_view *text)
{
    struct note note;
    struct ethos_view first = {0}, rest;
    size_t lines = 0;
    note_parse(*text, &note);
    rest = note.frontmatter;
    view_line(&rest, &first);
    if (!note.has_frontmatter || !view_contains(first, VIEW(":")) || markdown_heading(first) > 0)
        return 0;
    reading->skip(reading->arg, 1, "frontmatter, which is not memory");
    rest = view_of(text->data, (size_t)(note.body.data - text->data));
    while (view_line(&rest, &first))
        lines++;
    *text = note.body;
    return lines;
}

int markdown_facts(const struct format_reading *reading)
{
    struct ethos_view text;
    int code = blank_managed_block(reading, &text);
    if (code != ETHOS_OK)
        return code;
    text = view_unmarked(text);
    size_t lines = skip_frontmatter(reading, &text);
    struct sections sections = {reading, file_stem(reading->path), view_of(text.data, 0),
                                lines + 1};
    return walk_sections(&sections, text, section_level(text));
}
