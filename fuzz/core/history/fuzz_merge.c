/*
 * fuzz_merge.c: what every three-way merge keeps to, whatever the texts.
 *
 * Input: base, ours and theirs, separated by byte 0x1e.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/str.h"
#include "base/view.h"
#include "core/history/merge.h"

#define CEILING ((size_t)1 << 24)
#define SEPARATOR 0x1e

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ethos_view take(struct ethos_view *rest)
{
    const char *end = rest->size > 0 ? memchr(rest->data, SEPARATOR, rest->size) : NULL;
    struct ethos_view text = view_of(rest->data, end ? (size_t)(end - rest->data) : rest->size);

    *rest = view_from(*rest, text.size + (end != NULL));
    return text;
}

static bool has_line(struct ethos_view text, struct ethos_view wanted)
{
    struct ethos_view line;

    while (view_line(&text, &line)) {
        if (view_eq(view_trim_end(line), wanted))
            return true;
    }
    return false;
}

/* Every line of text that is not blank is in one of the others. */
static void assert_within(struct ethos_view text, struct ethos_view a, struct ethos_view b)
{
    struct ethos_view line;

    while (view_line(&text, &line)) {
        line = view_trim_end(line);
        assert(line.size == 0 || has_line(a, line) || has_line(b, line));
    }
}

static struct merge_report merge(struct ethos_view base, struct ethos_view ours,
                                 struct ethos_view theirs, struct str *out)
{
    struct merge_report report;

    assert(merge_texts(base, ours, theirs, out, &report) == ETHOS_OK);
    return report;
}

/* What the hunks tell, put together. */
struct told {
    struct str base, ours, theirs, merged;
};

static bool add_hunk(void *arg, const struct merge_hunk *hunk)
{
    struct told *told = arg;

    str_add(&told->base, hunk->base);
    str_add(&told->ours, hunk->ours);
    str_add(&told->theirs, hunk->theirs);
    return str_add(&told->merged, hunk->merged) == ETHOS_OK;
}

static void check_hunks(struct ethos_view base, struct ethos_view ours, struct ethos_view theirs)
{
    struct told told;
    struct merge_report report;
    struct str out, *all[] = {&told.base, &told.ours, &told.theirs, &told.merged};

    str_init(&out, CEILING);
    for (size_t i = 0; i < 4; i++)
        str_init(all[i], CEILING);
    assert(merge_hunks(base, ours, theirs, &out, add_hunk, &told, &report) == ETHOS_OK);
    assert(view_eq(str_view(&told.base), base) && view_eq(str_view(&told.ours), ours));
    assert(view_eq(str_view(&told.theirs), theirs));
    assert(view_eq(str_view(&told.merged), str_view(&out)));
    for (size_t i = 0; i < 4; i++)
        str_release(all[i]);
    str_release(&out);
}

static void check_unchanged(struct ethos_view base, struct ethos_view x)
{
    struct str out;

    str_init(&out, CEILING);
    assert(merge(base, base, x, &out).conflicts == 0 && view_eq(str_view(&out), x));
    assert(merge(base, x, base, &out).conflicts == 0 && view_eq(str_view(&out), x));
    assert(merge(base, x, x, &out).conflicts == 0 && view_eq(str_view(&out), x));
    str_release(&out);
}

static void check_merge(struct ethos_view base, struct ethos_view ours, struct ethos_view theirs)
{
    struct str out, again;
    struct merge_report report, other;

    str_init(&out, CEILING);
    str_init(&again, CEILING);
    report = merge(base, ours, theirs, &out);
    other = merge(base, ours, theirs, &again);
    assert(view_eq(str_view(&out), str_view(&again)));
    assert_within(str_view(&out), ours, theirs);
    assert_within(ours, str_view(&out), base);
    if (report.conflicts == 0)
        assert_within(theirs, str_view(&out), base);
    other = merge(base, theirs, ours, &again);
    assert(other.conflicts == report.conflicts);
    if (report.conflicts == 0) {
        assert_within(str_view(&out), str_view(&again), VIEW(""));
        assert_within(str_view(&again), str_view(&out), VIEW(""));
    }
    str_release(&out);
    str_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view rest = view_of((const char *)data, size);
    struct ethos_view base = take(&rest), ours = take(&rest), theirs = rest;

    check_unchanged(base, ours);
    check_unchanged(base, theirs);
    check_merge(base, ours, theirs);
    check_hunks(base, ours, theirs);
    return 0;
}
