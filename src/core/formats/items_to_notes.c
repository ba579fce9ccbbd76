/*
 * items_to_notes.c: converts imported items to notes and index lines, and merges an imported index into ours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/formats/memory_formats.h"
#include "core/memory/update.h"
#include "core/notes/index.h"
#include "core/notes/note.h"

/* ---- a fact --------------------------------------------------------------------------------- */

/* The hook of a fact, else the first line of its text without a list marker. */
static struct ethos_view choose_hook(const struct foreign_item *fact)
{
    struct ethos_view rest = view_trim(fact->text), line = {0};
    if (!view_blank(fact->hook))
        return fact->hook;
    view_line(&rest, &line);
    if (view_starts(line, VIEW("- ")) || view_starts(line, VIEW("* ")))
        line = view_from(line, 2);
    return view_trim(line);
}

/* Appends the hook as the index shows it: white space collapsed, and cut. Returns str_code. */
static int add_hook(const struct foreign_item *fact, struct str *out)
{
    struct index_entry entry;
    CLEANUP_STR struct str line;
    str_init(&line, SIZE_MAX);
    TRY(index_format(VIEW("t"), VIEW("t.md"), choose_hook(fact), &line));
    return index_line(str_view(&line), &entry) ? str_add(out, entry.hook) : ETHOS_OK;
}

int foreign_note(const struct foreign_item *fact, const char *source, const char *key,
                 struct str *out)
{
    CLEANUP_STR struct str hook;
    CLEANUP_STR struct str origin;
    str_init(&hook, SIZE_MAX);
    str_init(&origin, SIZE_MAX);
    TRY(add_hook(fact, &hook));
    TRY(str_printf(&origin, "import:%s", source));
    const struct note_head head = {.name = view_of(key, strlen(key) - strlen(".md")),
                                   .description = str_view(&hook),
                                   .type = VIEW("project"),
                                   .title = fact->title,
                                   .source = str_view(&origin)};
    return note_write(&head, fact->text, out);
}

int foreign_line(const struct foreign_item *fact, const char *key, struct str *out)
{
    index_format(fact->title, view_str(key), choose_hook(fact), out);
    return str_addc(out, '\n');
}

/* ---- merging indexes ------------------------------------------------------------------------ */

static int compare_views(const void *a, const void *b)
{
    const struct ethos_view *x = a, *y = b;
    size_t size = x->size < y->size ? x->size : y->size;
    int order = memcmp(x->data, y->data, size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

/* The files that an index links to, sorted, and where its last entry ends. */
struct listed_files {
    struct ethos_view *files;
    size_t count, end;
};

static int list_files(struct ethos_view text, struct arena *arena, struct listed_files *out)
{
    struct index_entry entry;
    size_t offset = 0, count = 0;
    while (index_next(text, &offset, &entry))
        count++;
    *out = (struct listed_files){arena_array(arena, count + 1, sizeof *out->files), 0, 0};
    if (!out->files)
        return ETHOS_NOMEM;
    for (offset = 0; index_next(text, &offset, &entry); out->end = offset)
        out->files[out->count++] = entry.file;
    qsort(out->files, out->count, sizeof *out->files, compare_views);
    return ETHOS_OK;
}

static bool is_listed(const struct listed_files *listed, struct ethos_view file)
{
    return listed->count > 0 &&
           bsearch(&file, listed->files, listed->count, sizeof file, compare_views);
}

/* Appends the lines to add, each with LF. */
static int collect_missing_lines(const struct listed_files *listed, struct ethos_view theirs,
                                 foreign_wanted_fn *wanted, void *arg, struct str *out,
                                 size_t *out_added)
{
    struct index_entry entry;
    size_t offset = 0;
    *out_added = 0;
    while (index_next(theirs, &offset, &entry)) {
        if (is_listed(listed, entry.file) || !wanted(arg, entry.file))
            continue;
        str_add(out, view_trim_end(entry.line));
        str_addc(out, '\n');
        ++*out_added;
    }
    return str_code(out);
}

static int insert_lines(struct ethos_view ours, size_t end, struct ethos_view lines,
                        struct str *out)
{
    const struct ethos_update add = {.action = ETHOS_ACTION_ADD, .text = lines};
    struct update_effect effect;
    if (end == 0)
        return update_apply(&add, 1, ours, out, &effect);
    str_add(out, view_of(ours.data, end));
    if (ours.data[end - 1] != '\n')
        str_addc(out, '\n');
    str_add(out, lines);
    return str_add(out, view_from(ours, end));
}

int foreign_join(struct ethos_view ours, struct ethos_view theirs, foreign_wanted_fn *wanted,
                 void *arg, struct str *out, size_t *out_added)
{
    struct listed_files listed;
    CLEANUP_ARENA struct arena arena;
    CLEANUP_STR struct str lines;
    arena_init(&arena);
    str_init(&lines, SIZE_MAX);
    str_clear(out);
    TRY(list_files(ours, &arena, &listed));
    TRY(collect_missing_lines(&listed, theirs, wanted, arg, &lines, out_added));
    return *out_added > 0 ? insert_lines(ours, listed.end, str_view(&lines), out)
                          : str_add(out, ours);
}
