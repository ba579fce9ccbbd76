/*
 * fuzz_index_edit.c: editing an index changes entries and nothing else.
 *
 * Input: a line with a title, a line with a hook, then the index. The files are a.md to d.md.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/str.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "core/notes/index.h"

#define LIMIT ((size_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Appends every line that is no entry. */
static void add_other_lines(struct ethos_view text, struct str *out)
{
    struct ethos_view line;
    struct index_entry entry;

    while (view_line(&text, &line)) {
        if (index_line(line, &entry))
            continue;
        str_add(out, line);
        str_addc(out, '\n');
    }
}

static size_t count_entries(struct ethos_view text, struct ethos_view file)
{
    struct index_entry entry;
    size_t offset = 0, count = 0;

    while (index_next(text, &offset, &entry))
        count += !file.data || view_eq(entry.file, file);
    return count;
}

/* All other lines as they were. Where there was no entry, `add` may have taken blanks off the end. */
static void check_others(struct ethos_view old, struct ethos_view now)
{
    struct str before, after;

    str_init(&before, LIMIT);
    str_init(&after, LIMIT);
    add_other_lines(old, &before);
    add_other_lines(now, &after);
    if (count_entries(old, view_str(NULL)) > 0 || view_eq(old, now))
        assert(view_eq(str_view(&before), str_view(&after)));
    else
        assert(view_eq(view_trim_end(str_view(&before)), view_trim_end(str_view(&after))));
    str_release(&after);
    str_release(&before);
}

static void check_put(struct ethos_view text, struct ethos_view title, struct ethos_view hook,
                      struct str *out)
{
    const struct ethos_view file = VIEW("a.md");
    size_t listed = count_entries(text, file);
    struct index_entry entry;

    assert(index_put(text, title, file, hook, out) == ETHOS_OK);
    check_others(text, str_view(out));
    assert(count_entries(str_view(out), file) == (listed ? listed : 1));
    assert(index_find(str_view(out), file, &entry));
    assert(listed || line_blank(title) || index_has_title(&entry, title));
    assert(line_blank(hook) || entry.hook.size > 0);
}

static void check_drop_and_move(struct ethos_view text, struct ethos_view title, struct str *out)
{
    const struct ethos_view from = VIEW("a.md"), to = VIEW("new-name.md");
    size_t entries = count_entries(text, view_str(NULL)), listed = count_entries(text, from);
    size_t there = count_entries(text, to);

    assert(index_drop(text, from, out) == ETHOS_OK);
    check_others(text, str_view(out));
    assert(count_entries(str_view(out), view_str(NULL)) == entries - listed);
    assert(index_move(text, from, to, title, out) == ETHOS_OK);
    check_others(text, str_view(out));
    assert(count_entries(str_view(out), to) == there + listed);
    assert(count_entries(str_view(out), view_str(NULL)) == entries);
}

static void count_problem(void *arg, enum index_problem problem, struct ethos_view file,
                          size_t line)
{
    assert((line == 0) == (problem == INDEX_UNLISTED) && file.size > 0);
    ++*(size_t *)arg;
}

static void check_reconcile(struct ethos_view text, struct ethos_view title, struct ethos_view hook,
                            struct str *out)
{
    const struct index_note notes[] = {{VIEW("a.md"), title, hook},
                                       {VIEW("b.md"), hook, title},
                                       {VIEW("c.md"), view_str(NULL), view_str(NULL)}};
    size_t problems = 0, left = 0;
    struct str again;

    str_init(&again, LIMIT);
    assert(index_reconcile(text, notes, 3, out, count_problem, &problems) == ETHOS_OK);
    check_others(text, str_view(out));
    assert((problems == 0) == view_eq(text, str_view(out)));
    assert(count_entries(str_view(out), view_str(NULL)) == 3);
    assert(index_reconcile(str_view(out), notes, 3, &again, count_problem, &left) == ETHOS_OK);
    assert(left == 0 && view_eq(str_view(out), str_view(&again)));
    str_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size), title, hook;
    struct str out;

    if (!view_line(&text, &title) || !view_line(&text, &hook))
        return 0;
    str_init(&out, LIMIT);
    check_put(text, title, hook, &out);
    check_drop_and_move(text, title, &out);
    check_reconcile(text, title, hook, &out);
    str_release(&out);
    return 0;
}
