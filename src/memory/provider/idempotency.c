/*
 * idempotency.c: recognises a repeated sync and reproduces its first report.
 */
#include "memory/provider/idempotency.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/memory/update.h"

/* ---- digest --------------------------------------------------------------------------------- */

/* The length precedes the bytes, so that different lists of texts never look the same. */
static void add_sized_text(struct str *out, struct ethos_view text)
{
    if (text.data)
        str_printf(out, "%zu:", text.size);
    else
        str_adds(out, "-:");
    str_add(out, text);
}

int once_digest(const struct ethos_update *updates, size_t count, const char *scope,
                char out[HASH_HEX_SIZE])
{
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(updates[i].scope, scope) != 0)
            continue;
        str_printf(&text, "%d:", (int)updates[i].action);
        add_sized_text(&text, view_str(updates[i].key));
        add_sized_text(&text, updates[i].text);
        add_sized_text(&text, view_str(updates[i].if_match));
    }
    int code = str_code(&text);
    if (code == ETHOS_OK)
        hash_hex(str_view(&text), out);
    return code;
}

/* ---- receipt -------------------------------------------------------------------------------- */

/* "w 12 1 0 0": written or unchanged, then chars, applied, removals, matched. */
_Static_assert(sizeof "w" + 4 * sizeof "18446744073709551615" <= ETHOS_RECEIPT_SIZE,
               "every receipt fits");

void once_receipt(const struct update_effect *effect, uint64_t chars, char out[ETHOS_RECEIPT_SIZE])
{
    snprintf(out, ETHOS_RECEIPT_SIZE, "%c %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
             effect->changed ? 'w' : 'u', chars, effect->applied, effect->removals,
             effect->matched);
}

void once_recall(const char *receipt, struct ethos_outcome *outcome)
{
    uint64_t *numbers[] = {&outcome->chars, &outcome->applied, &outcome->removals,
                           &outcome->matched};
    char *at = (char *)receipt + (*receipt != 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = strtoull(at, &at, 10);
    outcome->kind = *receipt == 'u' ? ETHOS_OUTCOME_UNCHANGED : ETHOS_OUTCOME_WRITTEN;
    outcome->warning = outcome->diff = NULL;
}
