/*
 * fuzz_links.c: any text and its links to a note: what was moved leads there, moving back gives the text,
 * and every link that is found is one.
 */
#include <assert.h>
#include <stdint.h>

#include "base/str.h"
#include "base/view.h"
#include "core/notes/links.h"

#define LIMIT ((size_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ethos_view old = VIEW("a"), other = VIEW("another-name");
    struct ethos_view text = view_of((const char *)data, size);
    struct str moved, back;

    str_init(&moved, LIMIT);
    str_init(&back, LIMIT);
    assert(link_move(text, old, other, &moved) == ETHOS_OK);
    assert(!link_to(str_view(&moved), old));
    assert(!link_to(text, old) || link_to(str_view(&moved), other));
    if (!link_to(text, other)) {
        assert(link_move(str_view(&moved), other, old, &back) == ETHOS_OK);
        assert(view_eq(str_view(&back), text));
    }
    for (struct ethos_view rest = text, name; link_next(&rest, &name);)
        assert(link_to(text, name));
    str_release(&back);
    str_release(&moved);
    return 0;
}
