/*
 * index_edit.c: entries of an index added, refreshed, moved and taken out.
 *
 * Every function copies the text from left to right and leaves off or puts in what must change, so
 * whatever is no entry passes through untouched.
 */
#include <stdlib.h>

#include "base/str.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "core/notes/index.h"

#define DASH "\xE2\x80\x94"
#define TICK_FILE "(file: `"

/* A text on its way into out. */
struct index_copy {
    struct ethos_view text;
    size_t done; /* bytes that have been dealt with */
    struct str *out;
};

static struct index_copy copy_start(struct ethos_view text, struct str *out)
{
    str_clear(out);
    return (struct index_copy){text.data ? text : VIEW(""), 0, out};
}

/* Copies up to a place of the text. */
static void copy_to(struct index_copy *copy, size_t place)
{
    str_add(copy->out, view_of(copy->text.data + copy->done, place - copy->done));
    copy->done = place;
}

static void copy_to_view(struct index_copy *copy, struct ethos_view part)
{
    copy_to(copy, (size_t)(part.data - copy->text.data));
}

static int copy_rest(struct index_copy *copy)
{
    copy_to(copy, copy->text.size);
    return str_code(copy->out);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Adds the line of a note behind what out has, which ends with the line before it. */
static void add_note_line(const struct index_note *note, struct ethos_view end, struct str *out)
{
    struct ethos_view title = note->title;

    if (line_blank(title))
        title = view_of(note->file.data, note->file.size - 3);
    if (out->size > 0 && out->data[out->size - 1] != '\n')
        str_add(out, end);
    index_format(title, note->file, note->hook, out);
    str_add(out, end);
}

/* Copies a text that has no entry the way `add` begins. */
static void copy_for_add(struct index_copy *copy)
{
    struct ethos_view end = line_end(copy->text, copy->text.size);

    copy_to(copy, view_trim_end(copy->text).size);
    if (copy->text.size > 0) {
        str_add(copy->out, end);
        str_add(copy->out, end);
    }
    copy->done = copy->text.size;
}

/* Between the link and the end of the line, or between the title and the file. */
static struct ethos_view hook_gap(const struct index_entry *entry)
{
    const char *link_end = entry->file.data + entry->file.size + 1;
    const char *title_end = entry->title.data + entry->title.size + 1;
    struct ethos_view line = view_trim_end(entry->line);

    if (!entry->ticked)
        return view_of(link_end, (size_t)(line.data + line.size - link_end));
    return view_of(title_end, (size_t)(entry->file.data - (sizeof(TICK_FILE) - 1) - title_end));
}

static void copy_with_hook(struct index_copy *copy, const struct index_entry *entry,
                           struct ethos_view hook)
{
    struct ethos_view old = entry->hook.size > 0 ? entry->hook : hook_gap(entry);

    copy_to_view(copy, old);
    if (entry->hook.size == 0)
        str_adds(copy->out, " " DASH " ");
    line_cut(hook, INDEX_MAX_HOOK, copy->out);
    if (entry->hook.size == 0 && entry->ticked)
        str_addc(copy->out, ' ');
    copy->done += old.size;
}

/* Behind the line of the last entry; 0 when there is none. */
static size_t after_last(struct ethos_view text)
{
    struct ethos_view rest = text, line;
    struct index_entry entry;
    size_t end = text.size;

    while (view_last_line(&rest, &line)) {
        if (index_line(line, &entry))
            return end;
        end = rest.size;
    }
    return 0;
}

int index_put(struct ethos_view text, struct ethos_view title, struct ethos_view file,
              struct ethos_view hook, struct str *out)
{
    const struct index_note note = {file, title, hook};
    struct index_copy copy = copy_start(text, out);
    struct index_entry entry;

    if (index_find(text, file, &entry)) {
        if (!line_blank(hook))
            copy_with_hook(&copy, &entry, hook);
        return copy_rest(&copy);
    }
    size_t last = after_last(text);
    if (last > 0)
        copy_to(&copy, last);
    else
        copy_for_add(&copy);
    add_note_line(&note, line_end(text, last > 0 ? last : text.size), out);
    return copy_rest(&copy);
}

int index_drop(struct ethos_view text, struct ethos_view file, struct str *out)
{
    struct index_copy copy = copy_start(text, out);
    struct index_entry entry;
    size_t offset = 0;

    while (index_next(text, &offset, &entry)) {
        if (!view_eq(entry.file, file))
            continue;
        copy_to(&copy, entry.offset);
        copy.done = offset;
    }
    return copy_rest(&copy);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Appends an entry with another file and title in its own form. */
static void add_moved(const struct index_entry *entry, struct ethos_view file,
                      struct ethos_view title, struct str *out)
{
    struct index_copy copy = {entry->line, 0, out};

    if (!line_blank(title)) {
        copy_to_view(&copy, entry->title);
        if (entry->ticked)
            line_collapse(title, out);
        else
            index_add_title(title, out);
        copy.done += entry->title.size;
    }
    copy_to_view(&copy, entry->file);
    str_add(out, file);
    copy.done += entry->file.size;
    copy_rest(&copy);
}

static void copy_moved(struct index_copy *copy, const struct index_entry *entry,
                       struct ethos_view file, struct ethos_view title)
{
    struct index_entry moved;
    struct str *out = copy->out;

    copy_to(copy, entry->offset);
    size_t start = out->size;
    add_moved(entry, file, title, out);
    struct ethos_view line = view_from(str_view(out), start);
    bool told = index_line(line, &moved) && view_eq(moved.file, file) &&
                (line_blank(title) || index_has_title(&moved, title));
    if (!told && entry->ticked && !str_code(out)) {
        str_truncate(out, start);
        index_format(line_blank(title) ? entry->title : title, file, entry->hook, out);
        str_adds(out, view_ends(entry->line, VIEW("\r")) ? "\r" : "");
    }
    copy->done += entry->line.size;
}

int index_move(struct ethos_view text, struct ethos_view file, struct ethos_view new_file,
               struct ethos_view new_title, struct str *out)
{
    struct index_copy copy = copy_start(text, out);
    struct index_entry entry;
    size_t offset = 0;

    while (index_next(text, &offset, &entry)) {
        if (view_eq(entry.file, file))
            copy_moved(&copy, &entry, new_file, new_title);
    }
    return copy_rest(&copy);
}

/* ---- reconciling ----------------------------------------------------------------------------- */

enum { TOLD = 1, COPIED = 2 };

struct reconcile {
    struct ethos_view text;
    const struct index_note *notes;
    size_t count;
    unsigned char *seen; /* for each note: which pass met its entry */
    index_problem_fn *each;
    void *arg;
};

static int compare_titles(struct ethos_view a, struct ethos_view b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* The place of a file among the notes; count when it is none. */
static size_t find_note(const struct reconcile *all, struct ethos_view file)
{
    size_t low = 0, high = all->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_titles(file, all->notes[middle].file);

        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return all->count;
}

/* Whether an entry stays, and why not. Each pass has a bit of its own. */
static bool stays(const struct reconcile *all, const struct index_entry *entry, unsigned char pass,
                  enum index_problem *out_problem)
{
    size_t note = find_note(all, entry->file);

    *out_problem = note == all->count ? INDEX_MISSING : INDEX_DOUBLE;
    if (note == all->count || (all->seen[note] & pass))
        return false;
    all->seen[note] |= pass;
    return true;
}

/* Tells all problems. Where new lines go: behind the last entry that stays, else the last; 0: none. */
static size_t report_problems(struct reconcile *all)
{
    struct index_entry entry;
    enum index_problem problem;
    size_t offset = 0, line = 1, counted = 0, kept = 0, dropped = 0;

    while (index_next(all->text, &offset, &entry)) {
        line += view_newlines(view_of(all->text.data + counted, entry.offset - counted));
        counted = entry.offset;
        if (stays(all, &entry, TOLD, &problem)) {
            kept = offset;
            continue;
        }
        dropped = offset;
        if (all->each)
            all->each(all->arg, problem, entry.file, line);
    }
    for (size_t i = 0; all->each && i < all->count; i++) {
        if (!all->seen[i])
            all->each(all->arg, INDEX_UNLISTED, all->notes[i].file, 0);
    }
    return kept > 0 ? kept : dropped;
}

static void add_unlisted(const struct reconcile *all, struct ethos_view end, struct str *out)
{
    for (size_t i = 0; i < all->count; i++) {
        if (!(all->seen[i] & TOLD))
            add_note_line(&all->notes[i], end, out);
    }
}

static bool any_unlisted(const struct reconcile *all)
{
    size_t i = 0;

    while (i < all->count && (all->seen[i] & TOLD))
        i++;
    return i < all->count;
}

/* Copies the entries that stay; the new ones come in at `place`. */
static int rewrite(struct reconcile *all, size_t place, struct str *out)
{
    struct index_copy copy = copy_start(all->text, out);
    struct index_entry entry;
    enum index_problem problem;
    size_t offset = 0;

    if (place == 0 && any_unlisted(all)) {
        copy_for_add(&copy);
        add_unlisted(all, line_end(all->text, all->text.size), out);
        return copy_rest(&copy);
    }
    while (index_next(all->text, &offset, &entry)) {
        if (!stays(all, &entry, COPIED, &problem)) {
            copy_to(&copy, entry.offset);
            copy.done = offset;
        }
        if (offset != place)
            continue;
        copy_to(&copy, offset);
        add_unlisted(all, line_end(all->text, offset), out);
    }
    return copy_rest(&copy);
}

int index_reconcile(struct ethos_view text, const struct index_note *notes, size_t count,
                    struct str *out, index_problem_fn *each, void *arg)
{
    struct reconcile all = {.text = text, .notes = notes, .count = count, .each = each, .arg = arg};

    all.seen = calloc(count + 1, 1);
    if (!all.seen)
        return ETHOS_NOMEM;
    size_t place = report_problems(&all);
    int code = out ? rewrite(&all, place, out) : ETHOS_OK;
    free(all.seen);
    return code;
}
