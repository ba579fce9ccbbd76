/*
 * fuzz_postings.c: any bytes as a list of messages and places: the walk ends and reads no further.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "session/search/postings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct postings list = postings_of(data, size, 0);
    size_t messages = 0, places = 0;
    while (postings_next(&list)) {
        uint32_t place = 0;
        messages++;
        places += list.count;
        for (uint32_t i = 0; i < list.count; i++)
            place = postings_place(&list, place);
    }
    assert(messages + places <= size);
    return 0;
}
