/*
 * fuzz_archive_blocks.c: blocks cover an archive without gaps, and taking one out keeps every other byte.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/archive_blocks.h"

#define CEILING ((size_t)1 << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void restore(struct ethos_view archive, struct ethos_view slug)
{
    struct arena arena;
    struct str rest, body;

    arena_init(&arena);
    str_init(&rest, CEILING);
    str_init(&body, CEILING);
    if (!memchr(slug.data, '\0', slug.size)) {
        assert(archive_restore(archive, arena_copy(&arena, slug), &rest, &body) == ETHOS_OK);
        assert(rest.size + body.size < archive.size);
        assert(view_contains(archive, str_view(&body)));
    }
    str_release(&rest);
    str_release(&body);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view archive = view_of((const char *)data, size), rest = archive;
    struct archive_block block;
    const char *end = NULL;

    while (archive_next(&rest, &block)) {
        assert(!end || block.whole.data == end);
        end = block.whole.data + block.whole.size;
        assert(block.body.data + block.body.size == end && block.body.size < block.whole.size);
        assert(block.overflow == !block.slug.data);
        if (!block.overflow)
            restore(archive, block.slug);
    }
    assert(!end || end == archive.data + archive.size);
    return 0;
}
