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
#include "core/merge.h"

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
    return 0;
}
