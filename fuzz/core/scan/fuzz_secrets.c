/*
 * fuzz_secrets.c: secrets stand in their order and do not overlap, and the maps back to a text are exact.
 *
 * Input: the text.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/view.h"
#include "core/scan/normalize.h"
#include "core/scan/secrets.h"
#include "core/scan/visible.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_search(struct ethos_view text)
{
    struct secret_search search = {.text = text};
    struct secret secret;
    size_t last = 0;

    while (secret_next(&search, &secret)) {
        assert(secret.tag && secret.start >= last && secret.end > secret.start);
        assert(secret.end <= text.size);
        last = secret.end;
    }
}

static void check_visible(struct ethos_view text, enum visible_tags tags)
{
    struct visible_text copy;
    size_t last = 0;

    visible_init(&copy);
    if (visible_read(&copy, text, tags)) {
        assert(visible_differs(text) && copy.text.size < text.size);
        for (size_t at = 0; at < copy.text.size; at++) {
            size_t start = visible_start(&copy, at), end = visible_end(&copy, at + 1);

            assert(start >= last && end > start && end <= text.size);
            assert(end == start + 4 ||
                   (end == start + 1 && text.data[start] == copy.text.data[at]));
            assert(visible_find(&copy, start) == at);
            last = end;
        }
        assert(visible_start(&copy, copy.text.size) == text.size);
        check_search(str_view(&copy.text));
    }
    visible_release(&copy);
}

static void check_normal(struct ethos_view text)
{
    static struct normal_text normal;

    for (size_t at = 0; at < text.size;) {
        size_t folded = normalize(view_from(text, at), &normal);

        assert(folded > 0 && folded <= text.size - at && normal.size <= NORMAL_MAX);
        for (size_t i = 0; i < normal.size; i++)
            assert(normal.from[i] < folded && (i == 0 || normal.from[i] >= normal.from[i - 1]));
        at += folded;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size);

    if (size == 0)
        return 0;
    check_search(text);
    check_visible(text, VISIBLE_DROP_TAGS);
    check_visible(text, VISIBLE_READ_TAGS);
    check_normal(text);
    return 0;
}
