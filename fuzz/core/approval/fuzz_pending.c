/*
 * fuzz_pending.c: a line of memory-pending.jsonl. A line that is read is made anew as one that reads the same, and an
 * edit of it has another hash.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/view.h"
#include "core/approval/pending.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void try_line(json_t *row, const struct pending *pending)
{
    struct pending again, edited;
    char hash[HASH_HEX_SIZE], fact[HASH_HEX_SIZE];
    json_t *made = pending_make(pending);
    require(made && pending_read(made, &again));
    require(again.action == pending->action && view_eq(again.text, pending->text));
    require(pending_hash(pending, NULL, hash) == ETHOS_OK && strcmp(hash, again.hash) == 0);
    require(pending_fact_hash(pending, fact) == ETHOS_OK);
    require(pending_edit(row, VIEW("another text")) == ETHOS_OK);
    require(pending_read(row, &edited));
    bool changes = again.action != ETHOS_ACTION_DELETE &&
                   !view_eq(again.text, VIEW("another text"));
    require(!changes || strcmp(edited.hash, hash) != 0);
    json_decref(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *row = NULL;
    struct pending pending;
    if (json_parse(view_of((const char *)data, size), "line", &row, NULL) != ETHOS_OK)
        return 0;
    if (pending_read(row, &pending))
        try_line(row, &pending);
    json_decref(row);
    return 0;
}
