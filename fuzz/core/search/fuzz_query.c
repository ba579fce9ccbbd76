/*
 * fuzz_query.c: nothing that is typed is an error, a place that was found is inside the text, and
 * whoever types a text finds it.
 *
 * Input: what was typed, LF, the text.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/view.h"
#include "core/search/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_terms(const struct query *query)
{
    assert(query->count <= QUERY_MAX_TERMS);
    for (size_t i = 0; i < query->count; i++)
        assert(query->terms[i].count > 0 && query->terms[i].count <= QUERY_MAX_WORDS);
}

static void check_place(const struct query *query, struct ethos_view text)
{
    size_t start = SIZE_MAX, end = 0;
    bool found = query_matches(query, text, &start, &end);
    assert(!found || (query->count > 0 && start < end && end <= text.size));
}

static void check_itself(struct ethos_view text, struct arena *arena)
{
    struct query query;
    assert(query_parse(text, arena, &query) == ETHOS_OK);
    check_terms(&query);
    assert(query_matches(&query, text, NULL, NULL) == (query.count > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size), typed = {0};
    struct arena arena;
    struct query query;
    view_line(&text, &typed);
    arena_init(&arena);
    assert(query_parse(typed, &arena, &query) == ETHOS_OK);
    check_terms(&query);
    check_place(&query, text);
    check_itself(typed, &arena);
    check_itself(text, &arena);
    arena_release(&arena);
    return 0;
}
