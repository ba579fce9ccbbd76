/*
 * fuzz_diff.c: a diff applied to the old text gives the new one.
 *
 * Input: old and new text, separated by byte 0x1e.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "../../../tests/support/patch.h"
#include "core/history/diff.h"

#define CEILING ((size_t)1 << 24)
#define SEPARATOR 0x1e

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct ethos_view old_text, struct ethos_view new_text)
{
    struct str diff, patched;

    str_init(&diff, CEILING);
    str_init(&patched, CEILING);
    assert(diff_unified(old_text, new_text, "k.md", &diff) == ETHOS_OK);
    assert((diff.size == 0) == view_eq(old_text, new_text));
    if (diff.size > 0) {
        assert(patch_apply(old_text, str_view(&diff), "k.md", &patched));
        assert(view_eq(str_view(&patched), new_text));
    }
    str_release(&diff);
    str_release(&patched);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view input = view_of((const char *)data, size);
    const char *end = size > 0 ? memchr(data, SEPARATOR, size) : NULL;

    if (!end)
        return 0;
    struct ethos_view old_text = view_of(input.data, (size_t)(end - input.data));
    struct ethos_view new_text = view_from(input, old_text.size + 1);
    check(old_text, new_text);
    check(new_text, old_text);
    return 0;
}
