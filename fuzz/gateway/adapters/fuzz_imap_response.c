/*
 * fuzz_imap_response.c: any bytes as what an IMAP server says, however they are cut: the same responses, and tokens
 * that lie within them.
 *
 * The first byte says how many bytes arrive at a time.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/view.h"
#include "gateway/adapters/imap_response.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tokens(struct ethos_view response)
{
    struct ethos_view rest = response;
    for (;;) {
        size_t before = rest.size;
        struct imap_token token = imap_token_next(&rest);
        if (token.kind == IMAP_END)
            break;
        assert(rest.size < before);
        assert(token.text.size <= response.size);
        assert(token.text.size == 0 ||
               (token.text.data >= response.data &&
                token.text.data + token.text.size <= response.data + response.size));
        uint32_t number;
        imap_number(token.text, &number);
    }
    assert(rest.size == 0);
}

/* What was given out, as one number. */
static uint64_t read_all(struct ethos_view bytes, size_t piece)
{
    struct imap_reader reader;
    struct ethos_view response;
    uint64_t sum = 1;
    imap_reader_init(&reader);
    for (size_t at = 0; at < bytes.size; at += piece) {
        size_t size = bytes.size - at < piece ? bytes.size - at : piece;
        assert(imap_reader_feed(&reader, view_of(bytes.data + at, size)) == 0);
        while (imap_reader_next(&reader, &response)) {
            check_tokens(response);
            sum = hash_mix(sum, response);
        }
    }
    imap_reader_release(&reader);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct ethos_view bytes = view_of((const char *)data + 1, size - 1);
    assert(read_all(bytes, 1 + data[0] % 64) == read_all(bytes, bytes.size));
    return 0;
}
