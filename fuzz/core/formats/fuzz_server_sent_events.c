/*
 * fuzz_server_sent_events.c: a stream of server-sent events, whatever comes, in pieces of any size.
 *
 * Input: one byte, the size of the pieces, then the stream. In pieces or whole it is the same events; an id
 * never holds what would end a header; data fits the limit.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/view.h"
#include "core/formats/server_sent_events.h"

#define LIMIT 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
    uint64_t count, hash;
};

static void hear(void *arg, struct ethos_view data)
{
    struct heard *heard = arg;
    assert(data.size <= LIMIT);
    heard->count++;
    heard->hash = hash_mix(heard->hash + (data.data ? 1 : 0), data.data ? data : VIEW(""));
}

static struct heard run(struct ethos_view text, size_t piece, char out_id[EVENT_ID_SIZE])
{
    struct heard heard = {0};
    struct event_stream stream;
    event_stream_init(&stream, LIMIT, hear, &heard);
    while (text.size > 0) {
        size_t size = piece < text.size ? piece : text.size;
        event_stream_feed(&stream, view_of(text.data, size));
        text = view_from(text, size);
    }
    memcpy(out_id, stream.id, sizeof stream.id);
    for (const char *at = stream.id; *at; at++)
        assert((unsigned char)*at >= 0x20);
    event_stream_release(&stream);
    return heard;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char a[EVENT_ID_SIZE], b[EVENT_ID_SIZE];
    if (size == 0)
        return 0;
    struct ethos_view text = view_of((const char *)data + 1, size - 1);
    struct heard whole = run(text, SIZE_MAX, a), pieces = run(text, (size_t)data[0] + 1, b);
    assert(whole.count == pieces.count && whole.hash == pieces.hash && strcmp(a, b) == 0);
    return 0;
}
