/*
 * merge_lines.c: texts as lines, and joining what two sides added at the same place.
 *
 * What was added is taken apart as a reader would: sections by their headings, outermost first, then
 * entries. So two sides that append to the same list, or both begin a section, do not end up with
 * an item under the wrong heading.
 */
#include "core/history/merge_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t run_of(struct ethos_view v, const char *set)
{
    size_t n = 0;

    while (n < v.size && v.data[n] && strchr(set, v.data[n]))
        n++;
    return n;
}

/* "# Heading": its level, or 0. */
static unsigned heading_level(struct ethos_view line)
{
    size_t level = run_of(line, "#");
    bool ends = level == line.size || line.data[level] == ' ' || line.data[level] == '\t';

    return level <= 6 && ends ? (unsigned)level : 0;
}

/* "- item" or "1. item", not indented. */
static bool is_list_item(struct ethos_view line)
{
    size_t digits = run_of(line, "0123456789");
    struct ethos_view mark = view_from(line, digits);

    return mark.size > 1 && strchr(digits ? ".)" : "-*+", mark.data[0]) && mark.data[0] &&
           (mark.data[1] == ' ' || mark.data[1] == '\t');
}

/* *fence: the character of the code fence that is open, or 0. */
static unsigned line_kind(struct ethos_view line, char *fence)
{
    struct ethos_view text = view_trim_start(line);
    bool marks = view_starts(text, VIEW("```")) || view_starts(text, VIEW("~~~"));

    if (marks && (!*fence || *fence == text.data[0])) {
        *fence = *fence ? 0 : text.data[0];
        return MERGE_PLAIN;
    }
    if (*fence)
        return MERGE_PLAIN;
    if (heading_level(line))
        return MERGE_HEADING + heading_level(line);
    return is_list_item(line) ? MERGE_ITEM : MERGE_PLAIN;
}

struct ethos_view merge_raw(const struct merge_text *text, size_t line)
{
    const struct merge_line *at = &text->lines[line];
    size_t end = line + 1 < text->count ? at[1].raw_at : text->raw.size;
    return view_of(text->raw.data + at->raw_at, end - at->raw_at);
}

struct ethos_view merge_line_plain(const struct merge_text *text, size_t line)
{
    const struct merge_line *at = &text->lines[line];
    size_t end = line + 1 < text->count ? at[1].plain_at : text->plain.size;
    return view_of(text->plain.data + at->plain_at, end - at->plain_at);
}

/* The next line that is not blank, or the end; *rest goes on behind it. The bytes of blank ones before it. */
static size_t read_filled_line(struct ethos_view *rest, struct ethos_view *out_text)
{
    struct ethos_view all = *rest, line = VIEW("");
    size_t gap = 0;

    *out_text = VIEW("");
    while (out_text->size == 0 && (gap = all.size - rest->size, view_line(rest, &line)))
        *out_text = view_trim_end(line);
    return gap;
}

bool merge_strip(struct arena *arena, struct ethos_view text, struct merge_text *out)
{
    struct ethos_view line, rest = text.data ? text : VIEW("");
    char *plain = arena_alloc(arena, rest.size + 2);

    *out = (struct merge_text){.raw = rest, .plain = view_of(plain, 0)};
    if (!plain || rest.size > MERGE_MOST_BYTES)
        return false;
    do {
        read_filled_line(&rest, &line);
        memcpy(plain + out->plain.size, line.data, line.size);
        plain[out->plain.size + line.size] = '\n';
        out->plain.size += line.size + 1;
        out->count++;
    } while (line.size > 0);
    return true;
}

bool merge_read_lines(struct arena *arena, struct merge_text *text)
{
    struct ethos_view line, rest = text->raw;
    size_t plain_at = 0;
    char fence = 0;

    text->lines = arena_array(arena, text->count, sizeof(*text->lines));
    for (size_t i = 0; text->lines && i < text->count; i++) {
        struct merge_line *to = &text->lines[i];

        to->raw_at = (text->raw.size - rest.size) & (2 * MERGE_MOST_BYTES - 1);
        to->plain_at = (uint32_t)plain_at;
        to->apart = (read_filled_line(&rest, &line) > 0 || i == 0) && !fence;
        to->kind = line_kind(line, &fence) & 15u;
        plain_at += line.size + 1;
    }
    return text->lines;
}

struct ethos_view merge_slice(const struct merge_text *text, struct merge_range range)
{
    if (range.from == range.to)
        return VIEW("");
    const char *start = merge_line_plain(text, range.from).data;
    struct ethos_view last = merge_line_plain(text, range.to - 1);
    return view_of(start, (size_t)(last.data + last.size - start));
}

/* ---- output ---------------------------------------------------------------------------------- */

/* A line end like the last one. */
static void add_line_end(struct str *out)
{
    const char *last = memrchr(out->data, '\n', out->size);
    bool cr = last && last > out->data && last[-1] == '\r';

    str_adds(out, cr ? "\r\n" : "\n");
}

static void complete_line(struct str *out)
{
    if (out->size > 0 && out->data[out->size - 1] != '\n')
        add_line_end(out);
}

/* A blank line between what there is and what follows. */
static void separate(struct str *out)
{
    complete_line(out);
    if (out->size > 0)
        add_line_end(out);
}

static void emit_line(struct str *out, const struct merge_text *text, size_t line)
{
    struct ethos_view shown, raw = merge_raw(text, line), rest = raw;
    size_t gap = read_filled_line(&rest, &shown);
    bool starts = out->size == 0, is_end = raw.size == gap, first = line == 0;

    if (first && !starts && gap == 0 && !is_end)
        separate(out);
    shown = starts && !first ? view_from(raw, gap) : raw;
    if (shown.size > 0)
        complete_line(out);
    str_add(out, shown);
}

void merge_emit(struct str *out, const struct merge_text *text, struct merge_range range)
{
    for (; range.from < range.to; range.from++)
        emit_line(out, text, range.from);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* A section or an entry. */
struct text_part {
    struct merge_range lines; /* up to the next part */
    struct ethos_view key;    /* of a section its heading, of an entry its text */
    bool theirs;
    struct text_part *match; /* on the other side */
};

struct part_list {
    const struct merge_text *text;
    struct merge_range head; /* lines before the first part */
    struct text_part *items;
    size_t count;
};

/* Of the outermost heading, or 0. */
static unsigned top_level(const struct merge_text *text, struct merge_range range)
{
    unsigned top = 0;

    for (; range.from < range.to; range.from++) {
        unsigned kind = text->lines[range.from].kind;

        if (kind > MERGE_HEADING && (!top || kind - MERGE_HEADING < top))
            top = kind - MERGE_HEADING;
    }
    return top;
}

/* Whether a section of this level starts here; level 0: an entry. */
static bool part_starts(const struct merge_text *text, struct merge_range range, size_t line,
                        unsigned level)
{
    unsigned kind = text->lines[line].kind;

    if (level)
        return kind == MERGE_HEADING + level;
    return kind == MERGE_ITEM || line == range.from || text->lines[line].apart;
}

static bool find_parts(struct arena *arena, const struct merge_text *text, struct merge_range range,
                       unsigned level, struct part_list *out)
{
    size_t count = 0;

    for (size_t i = range.from; i < range.to; i++)
        count += part_starts(text, range, i, level);
    *out = (struct part_list){
        .text = text, .head = range, .items = arena_array(arena, count, sizeof(struct text_part))};
    if (!out->items)
        return false;
    for (size_t i = range.to; i-- > range.from;) { // each part reaches to the one found before
        if (!part_starts(text, range, i, level))
            continue;
        struct text_part *part = &out->items[count - ++out->count];

        part->lines = (struct merge_range){i, out->head.to};
        part->key = level ? merge_line_plain(text, i) : merge_slice(text, part->lines);
        out->head.to = i;
    }
    return true;
}

static int compare_part_positions(const void *left, const void *right)
{
    const struct text_part *a = *(struct text_part *const *)left,
                           *b = *(struct text_part *const *)right;
    int order = a->key.size == b->key.size ? memcmp(a->key.data, b->key.data, a->key.size)
                                           : (a->key.size < b->key.size ? -1 : 1);

    if (order == 0)
        order = (int)a->theirs - (int)b->theirs;
    return order ? order : (a->lines.from > b->lines.from) - (a->lines.from < b->lines.from);
}

/* Matches parts of the same key, the first with the first, the second with the second. */
static bool match_parts(struct arena *arena, struct part_list *ours, struct part_list *theirs)
{
    size_t count = ours->count + theirs->count, o = 0;
    struct text_part **sorted = arena_array(arena, count, sizeof(struct text_part *));

    if (!sorted)
        return false;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = i < ours->count ? &ours->items[i] : &theirs->items[i - ours->count];
        sorted[i]->theirs = i >= ours->count;
    }
    if (count > 0)
        qsort(sorted, count, sizeof(struct text_part *), compare_part_positions);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !view_eq(sorted[i]->key, sorted[i - 1]->key))
            o = i;
        if (sorted[i]->theirs && !sorted[o]->theirs) {
            sorted[i]->match = sorted[o];
            sorted[o++]->match = sorted[i];
        }
    }
    return true;
}

/* ---- joining --------------------------------------------------------------------------------- */

static void join_entries(const struct part_list *ours, struct merge_range o,
                         const struct part_list *theirs, struct str *out)
{
    const struct text_part *last = ours->count > 0 ? &ours->items[ours->count - 1] : NULL;
    bool wide = last && ours->text->lines[last->lines.from].apart;

    merge_emit(out, ours->text, o);
    for (size_t i = 0; i < theirs->count; i++) {
        const struct text_part *part = &theirs->items[i];

        if (part->match)
            continue;
        if (wide && !theirs->text->lines[part->lines.from].apart)
            separate(out);
        merge_emit(out, theirs->text, part->lines);
        wide = false;
    }
}

static struct merge_range below_heading(const struct text_part *section)
{
    return (struct merge_range){section->lines.from + 1, section->lines.to};
}

static bool join_sections(struct arena *arena, const struct part_list *ours,
                          const struct part_list *theirs, struct str *out)
{
    if (!merge_join(arena, ours->text, ours->head, theirs->text, theirs->head, out))
        return false;
    for (size_t i = 0; i < ours->count; i++) {
        const struct text_part *part = &ours->items[i];
        size_t heading = part->lines.from;

        merge_emit(out, ours->text,
                   part->match ? (struct merge_range){heading, heading + 1} : part->lines);
        if (part->match && !merge_join(arena, ours->text, below_heading(part), theirs->text,
                                       below_heading(part->match), out))
            return false;
    }
    for (size_t i = 0; i < theirs->count; i++) {
        if (!theirs->items[i].match)
            merge_emit(out, theirs->text, theirs->items[i].lines);
    }
    return true;
}

/* Sections are joined by this again; their levels go down, so this is no deeper than headings are. */
bool merge_join(struct arena *arena, const struct merge_text *ours, struct merge_range o,
                const struct merge_text *theirs, struct merge_range t, struct str *out)
{
    unsigned a = top_level(ours, o), b = top_level(theirs, t);
    unsigned level = a && (!b || a < b) ? a : b;
    struct part_list from_ours, from_theirs;

    if (view_eq(merge_slice(ours, o), merge_slice(theirs, t))) {
        merge_emit(out, ours, o);
        return true;
    }
    if (!find_parts(arena, ours, o, level, &from_ours) ||
        !find_parts(arena, theirs, t, level, &from_theirs) ||
        !match_parts(arena, &from_ours, &from_theirs))
        return false;
    if (level)
        return join_sections(arena, &from_ours, &from_theirs, out);
    join_entries(&from_ours, o, &from_theirs, out);
    return true;
}
