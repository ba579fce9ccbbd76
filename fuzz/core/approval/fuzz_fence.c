/*
 * fuzz_fence.c: no line inside a fence is one of its own lines, whatever the text is.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/view.h"
#include "core/approval/fence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char number[] = "0123456789abcdef0123456789abcdef";
    struct str out;
    struct ethos_view rest, line;
    size_t lines = 0;
    str_init(&out, SIZE_MAX);
    require(fence_text(view_of((const char *)data, size), number, "x", TRUST_UNTRUSTED, &out) ==
            ETHOS_OK);
    rest = str_view(&out);
    require(view_line(&rest, &line) && view_starts(line, VIEW("<<<ethos-data ")));
    while (view_line(&rest, &line) && rest.size > 0) {
        require(view_starts(line, VIEW("> ")));
        require(!view_contains(line, VIEW("ethos-data")) && !view_contains(line, view_str(number)));
        lines++;
    }
    require(view_starts(line, VIEW("ethos-data ")) && view_ends(line, VIEW(">>>")));
    require(lines <= size + 1);
    str_release(&out);
    return 0;
}
