/*
 * fuzz_chunks.c: whatever a text is, changing one entry leaves all others as they are, or is refused.
 *
 * Input: a letter and the number of an entry, NUL, the content, NUL, the text.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/formats/chunks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct walk {
    size_t count, wanted, total;
    struct chunk chunk;
};

static int note(void *arg, const struct chunk *chunk)
{
    struct walk *walk = arg;
    struct str content;
    str_init(&content, SIZE_MAX);
    assert(chunk->text.size > 0 && chunk->marker <= chunk->text.size);
    assert(chunk_content(chunk, &content) == ETHOS_OK);
    str_release(&content);
    if (walk->count++ == walk->wanted)
        walk->chunk = *chunk;
    walk->total += chunk->text.size;
    return 0;
}

static size_t count_of(struct ethos_view text)
{
    struct walk walk = {.wanted = SIZE_MAX};
    assert(chunks_each(text, note, &walk) == ETHOS_OK);
    assert(walk.total <= text.size);
    return walk.count;
}

static struct ethos_view take(struct ethos_view *rest)
{
    const char *end = memchr(rest->data, 0, rest->size);
    struct ethos_view part = view_of(rest->data, end ? (size_t)(end - rest->data) : rest->size);
    *rest = view_from(*rest, end ? part.size + 1 : rest->size);
    return part;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size);
    struct ethos_view how = take(&text), content = take(&text);
    struct walk walk = {.wanted = how.size > 1 ? (unsigned char)how.data[1] % 8 : 0};
    struct str out;
    size_t offset;
    str_init(&out, SIZE_MAX);
    assert(chunks_each(text, note, &walk) == ETHOS_OK);
    const struct chunk_new what = {content, view_str(how.size > 2 ? "Home" : NULL), view_str(NULL)};
    if (chunk_add(text, &what, &out, &offset, NULL) == ETHOS_OK)
        assert(count_of(str_view(&out)) == walk.count + 1);
    if (walk.wanted < walk.count) {
        if (chunk_update(text, &walk.chunk, content, &out, &offset, NULL) == ETHOS_OK)
            assert(count_of(str_view(&out)) == walk.count);
        if (chunk_delete(text, &walk.chunk, &out, NULL) == ETHOS_OK)
            assert(count_of(str_view(&out)) == walk.count - 1);
    }
    str_release(&out);
    return 0;
}
