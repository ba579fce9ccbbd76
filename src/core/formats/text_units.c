/*
 * text_units.c: splits a markdown text into sections, paragraphs, list items and code blocks.
 */
#include "core/formats/text_units.h"

#include "base/str.h"
#include "base/view.h"
#include "core/formats/code_fence.h"
#include "core/formats/line_kinds.h"

#define DATE_SIZE 10    /* YYYY-MM-DD */
#define HEADING_MAX 400 /* bytes of a heading that are used */

struct unit_walk {
    struct ethos_view text, above;
    struct text_date date;
    text_unit_fn *each;
    void *arg;
    /* the current headings, by level from 1 */
    struct ethos_view headings[MARKDOWN_LEVELS + 1];
    struct text_date dates[MARKDOWN_LEVELS + 1];
    size_t heading; /* offset of the last heading */
    bool begun;     /* its section was reported */
    struct ethos_view block;
    bool item, gap; /* the block is a list item; a blank line follows it */
};

/* ---- dates ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static unsigned parse_digits(const char *digits, size_t count)
{
    unsigned number = 0;
    for (size_t i = 0; i < count; i++)
        number = number * 10 + (unsigned)(digits[i] - '0');
    return number;
}

/* Reads a date of DATE_SIZE bytes. */
static bool read_date(const char *at, struct text_date *out)
{
    for (size_t i = 0; i < DATE_SIZE; i++)
        if (i == 4 || i == 7 ? at[i] != '-' : !is_digit(at[i]))
            return false;
    *out = (struct text_date){parse_digits(at, 4), parse_digits(at + 5, 2),
                              parse_digits(at + 8, 2)};
    return out->year > 0 && out->month >= 1 && out->month <= 12 && out->day >= 1 && out->day <= 31;
}

bool text_date_find(struct ethos_view text, struct text_date *out)
{
    struct ethos_view rest = text;
    for (const char *hyphen;
         rest.size > 0 && (hyphen = memchr(rest.data, '-', rest.size)) != NULL;) {
        size_t at = (size_t)(hyphen - text.data);
        rest = view_from(text, at + 1);
        if (at < 4 || text.size - (at - 4) < DATE_SIZE || (at > 4 && is_digit(hyphen[-5])))
            continue;
        size_t end = at - 4 + DATE_SIZE;
        if (read_date(hyphen - 4, out) && (end == text.size || !is_digit(text.data[end])))
            return true;
    }
    *out = (struct text_date){0};
    return false;
}

static struct text_date date_above(const struct unit_walk *walk)
{
    for (unsigned level = MARKDOWN_LEVELS; level > 0; level--)
        if (walk->dates[level].year > 0)
            return walk->dates[level];
    return walk->date;
}

/* ---- sections and units ---------------------------------------------------------------------- */

static void append_heading(struct str *path, struct ethos_view heading)
{
    if (view_blank(heading))
        return;
    str_adds(path, path->size > 0 ? ". " : "");
    str_add(path, view_of(heading.data, heading.size < HEADING_MAX ? heading.size : HEADING_MAX));
}

static int begin_section(struct unit_walk *walk)
{
    struct str path;
    if (walk->begun)
        return ETHOS_OK;
    walk->begun = true;
    str_init(&path, SIZE_MAX);
    append_heading(&path, walk->above);
    for (unsigned level = 1; level <= MARKDOWN_LEVELS; level++)
        append_heading(&path, walk->headings[level]);
    const struct text_unit unit = {.section = true,
                                   .text = str_view(&path),
                                   .offset = walk->heading,
                                   .date = date_above(walk),
                                   .headings = walk->headings};
    int code = str_code(&path);
    if (code == ETHOS_OK)
        code = walk->each(walk->arg, &unit);
    str_release(&path);
    return code;
}

static int close_unit(struct unit_walk *walk)
{
    struct text_unit unit = {.text = view_trim_end(walk->block), .headings = walk->headings};
    walk->block = (struct ethos_view){0};
    walk->item = walk->gap = false;
    if (unit.text.size == 0)
        return ETHOS_OK;
    unit.offset = (size_t)(unit.text.data - walk->text.data);
    if (!text_date_find(unit.text, &unit.date))
        unit.date = date_above(walk);
    int code = begin_section(walk);
    return code ? code : walk->each(walk->arg, &unit);
}

static void extend_unit(struct unit_walk *walk, struct ethos_view line)
{
    if (!walk->block.data)
        walk->block.data = line.data;
    walk->block.size = (size_t)(line.data + line.size - walk->block.data);
    walk->gap = false;
}

static void open_heading(struct unit_walk *walk, unsigned level, struct ethos_view line)
{
    walk->headings[level] = markdown_heading_text(line);
    text_date_find(walk->headings[level], &walk->dates[level]);
    for (unsigned below = level + 1; below <= MARKDOWN_LEVELS; below++) {
        walk->headings[below] = (struct ethos_view){0};
        walk->dates[below] = (struct text_date){0};
    }
    walk->heading = (size_t)(line.data - walk->text.data);
    walk->begun = false;
}

/* Whether the line continues the block. An indented line continues a list item even after a blank line. */
static bool is_unit_continued(const struct unit_walk *walk, struct ethos_view line)
{
    if (markdown_is_item(line))
        return false;
    return !walk->gap || (walk->item && markdown_is_indented(line));
}

static int add_unit_line(struct unit_walk *walk, struct ethos_view line)
{
    if (view_blank(line)) {
        walk->gap = true;
        return ETHOS_OK;
    }
    unsigned level = markdown_heading(line);
    int code = level > 0 || !is_unit_continued(walk, line) ? close_unit(walk) : ETHOS_OK;
    if (level > 0) {
        open_heading(walk, level, line);
        return code;
    }
    walk->item = walk->item || markdown_is_item(line);
    extend_unit(walk, line);
    return code;
}

/* Adds a line of a code block. After a blank line, a fence begins a new unit unless it belongs to a list item. */
static int add_code(struct unit_walk *walk, struct ethos_view line, bool opens)
{
    int code = ETHOS_OK;
    if (opens && walk->gap && !(walk->item && markdown_is_indented(line)))
        code = close_unit(walk);
    extend_unit(walk, line);
    return code;
}

int text_units_each(struct ethos_view text, struct ethos_view above, struct text_date date,
                    text_unit_fn *each, void *arg)
{
    struct unit_walk walk = {.text = text, .above = above, .date = date, .each = each, .arg = arg};
    struct ethos_view rest = view_unmarked(text), line;
    struct fence fence = {0};
    int code = ETHOS_OK;
    while (code == ETHOS_OK && view_line(&rest, &line)) {
        bool inside = fence.mark != 0;
        code = fence_line(&fence, line) ? add_code(&walk, line, !inside)
                                        : add_unit_line(&walk, line);
    }
    return code ? code : close_unit(&walk);
}
