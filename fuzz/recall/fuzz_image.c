/*
 * fuzz_image.c: an image that is damaged in any way does not open, or is searched within its bounds.
 *
 * Input: the bytes of an image. Checksums are not checked, as by a hook.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/search/query.h"
#include "memory/recall/near_words.h"
#include "recall/every_term.h"
#include "recall/ranker.h"

#define HITS 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of the tree, opened once: without it words alone rank. */
static struct recall_model *model;

static int count_stem(void *arg, struct ethos_view stem, size_t bytes)
{
    size_t *sum = arg;
    *sum += stem.size + bytes;
    return 0;
}

static void search(const struct image *image, const char *question, double evidence)
{
    struct ranker_hit hits[HITS];
    struct str words;
    size_t count = 0;
    const struct ranker_scope scope = {
        .images = image, .count = 1, .evidence = evidence, .meaning = {model, NULL}};
    if (ranker_rank(&scope, view_str(question), HITS, hits, &count, NULL) != ETHOS_OK)
        return;
    assert(count <= HITS);
    for (size_t i = 0; i < count; i++)
        assert(hits[i].unit < image->counts.units);
    str_init(&words, 10000);
    near_words_add(image, 1, view_str(question), &words);
    str_release(&words);
}

static void search_every_term(const struct image *image, const char *typed)
{
    struct arena arena;
    uint64_t *units;
    arena_init(&arena);
    struct query *query = arena_alloc(&arena, sizeof *query);
    if (query && query_parse(view_str(typed), &arena, query) == ETHOS_OK)
        every_term_find(image, query, &arena, &units);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool opened;
    struct image image;
    size_t sum = 0;
    if (!opened)
        recall_model_open("data/recall", &model, NULL);
    opened = true;
    char *bytes = malloc(size + 1); // aligned as a mapped file is
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    if (image_open_quick(view_of(bytes, size), &image, NULL) == ETHOS_OK) {
        image_each_stem(&image, count_stem, &sum);
        image_each_stem_from(&image, VIEW("ov"), count_stem, &sum);
        for (uint32_t d = 0; d < image.counts.documents; d++)
            sum += image_document_name(&image, d).size;
        search(&image, "Who keeps the oven of the lighthouse?", 0);
        search(&image, "When was the oven first hot in March 2026", 0.6);
        search(&image, "ovne lighthose", 0);
        search_every_term(&image, "\"the oven\" light \xE7\x81\xAF");
    }
    free(bytes);
    return 0;
}
