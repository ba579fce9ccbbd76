/*
 * fuzz_sanitize.c: lines stay lines, and no secret is found twice.
 *
 * Input: the text.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/str.h"
#include "base/view.h"
#include "core/memory/sanitize.h"

#define CEILING ((size_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The scanned text, or a copy when nothing matched. */
static bool scan(struct ethos_view text, unsigned what, struct str *out, struct scan_tally *tally)
{
    bool hit = scan_text(text, what, out, tally);

    if (!hit)
        str_add(out, text);
    assert(str_code(out) == ETHOS_OK);
    return hit;
}

static void check(struct ethos_view text, unsigned what)
{
    struct scan_tally tally = {0};
    struct str out, again;

    str_init(&out, CEILING);
    str_init(&again, CEILING);
    bool hit = scan(text, what, &out, &tally);
    assert(hit == (tally.guard_bytes + tally.secret_bytes > 0));
    assert(tally.guard_bytes + tally.secret_bytes <= text.size);
    assert(tally.guard_chars <= tally.guard_bytes && tally.secret_chars <= tally.secret_bytes);
    // What the guard leaves of several lines may stand together otherwise.
    assert(what != SCAN_REDACT || !scan(str_view(&out), what, &again, NULL));
    assert(view_newlines(str_view(&out)) == view_newlines(text));
    str_release(&out);
    str_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size);

    if (size == 0)
        return 0;
    for (unsigned what = 0; what <= (SCAN_GUARD | SCAN_REDACT); what++)
        check(text, what);
    return 0;
}
