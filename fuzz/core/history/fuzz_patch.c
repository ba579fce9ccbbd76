/*
 * fuzz_patch.c: a diff that fits leads back as well.
 *
 * Input: a diff and a text, separated by byte 0x1e.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/str.h"
#include "base/view.h"
#include "core/history/patch.h"

#define CEILING ((size_t)1 << 24)
#define SEPARATOR 0x1e

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct ethos_view diff, struct ethos_view text, bool reverse)
{
    struct str there, back;

    str_init(&there, CEILING);
    str_init(&back, CEILING);
    int code = patch_apply(diff, text, reverse, &there);
    assert(code == ETHOS_OK || code == ETHOS_INVALID || code == ETHOS_CONFLICT);
    if (code == ETHOS_OK) {
        assert(patch_apply(diff, str_view(&there), !reverse, &back) == ETHOS_OK);
        assert(view_eq(str_view(&back), text));
    }
    str_release(&there);
    str_release(&back);
}

/* The lines of a hunk add up to it. */
static void check_lines(struct ethos_view diff)
{
    struct patch_hunk hunk;
    struct patch_line line;

    while (patch_next(&diff, &hunk) == ETHOS_OK) {
        while (patch_line(&hunk.lines, &line)) {
            assert(line.text.size > 0);
            hunk.old_count -= line.marker != '+';
            hunk.new_count -= line.marker != '-';
        }
        assert(hunk.lines.size == 0 && hunk.old_count == 0 && hunk.new_count == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view input = view_of((const char *)data, size);
    const char *end = size > 0 ? memchr(data, SEPARATOR, size) : NULL;

    if (!end)
        return 0;
    struct ethos_view diff = view_of(input.data, (size_t)(end - input.data));
    struct ethos_view text = view_from(input, diff.size + 1);
    check_lines(diff);
    check(diff, text, false);
    check(diff, text, true);
    return 0;
}
