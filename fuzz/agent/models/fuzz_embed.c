/*
 * fuzz_embed.c: whatever a server answers, it is a vector of length 1 for each text, or refused.
 *
 * Input: how many texts, the dimension (0: any), the answer.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "agent/models/embed.h"
#include "base/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct embeddings found;
    struct ethos_error error = {0};
    if (size < 2)
        return 0;
    size_t count = 1 + data[0] % EMBED_MAX_TEXTS, dimension = data[1] % 8;
    int code = embed_read(view_of((const char *)data + 2, size - 2), count, dimension, &found,
                          &error);
    if (code != ETHOS_OK) {
        assert(!found.values && found.count == 0 && error.text[0]);
        return 0;
    }
    assert(found.count == count && found.dimension > 0 && found.dimension <= EMBED_MAX_DIMENSION);
    assert(dimension == 0 || found.dimension == dimension);
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t j = 0; j < found.dimension; j++)
            sum += (double)found.values[i * found.dimension + j] *
                   (double)found.values[i * found.dimension + j];
        assert(sum > 0.99 && sum < 1.01);
    }
    embeddings_release(&found);
    return 0;
}
