/*
 * fuzz_ceiling.c: update_ceiling and update_archive against their promises.
 *
 * The input is repeated until it passes the ceiling, so that a few bytes decide what stands at the
 * cut. A run is slow for that reason, which is why this is a target of its own.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include <ethos/limits.h>

#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/update.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_archive(struct ethos_view dropped)
{
    struct str archive;

    str_init(&archive, ETHOS_MAX_STORE_BYTES);
    str_adds(&archive, "before");
    assert(update_archive(dropped, "MEMORY.md", "<ISO>", &archive) == ETHOS_OK);
    struct ethos_view text = str_view(&archive);
    struct ethos_view head = VIEW("before\n<!-- overflow-archived <ISO> from MEMORY.md -->\n");
    struct ethos_view body = view_trim_end(dropped);
    assert(view_starts(text, head) && text.size == head.size + body.size + 1);
    assert(view_starts(view_from(text, head.size), body) && text.data[text.size - 1] == '\n');
    str_release(&archive);
}

static void check_ceiling(struct ethos_view text)
{
    size_t offset = update_ceiling(text);
    uint64_t units = utf8_units(text);

    assert(offset <= text.size);
    assert((offset == 0) == (units <= ETHOS_MAX_FILE_CH));
    if (offset == 0)
        return;
    struct ethos_view dropped = view_of(text.data, offset);
    struct ethos_view kept = view_from(text, offset);
    uint64_t kept_units = utf8_units(kept);
    assert(kept.size > 0 && kept_units <= ETHOS_MAX_FILE_CH);
    assert(utf8_units(dropped) + kept_units == units);
    assert(!view_blank(kept) || view_blank(view_from(text, utf8_tail(text, ETHOS_MAX_FILE_CH))));
    assert(update_ceiling(kept) == 0);
    check_archive(dropped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view unit = view_of((const char *)data, size);
    uint64_t times = size > 0 ? ETHOS_MAX_FILE_CH / utf8_units(unit) + 1 : 0;
    size_t full = size * times;
    struct str text;

    str_init(&text, full);
    str_reserve(&text, full);
    str_add(&text, unit);
    while (text.size < full) { /* doubles: quicker than one by one */
        size_t more = full - text.size;
        str_add(&text, view_of(text.data, more < text.size ? more : text.size));
    }
    assert(!str_code(&text));
    check_ceiling(str_view(&text));
    str_release(&text);
    return 0;
}
