/*
 * hash.c: SHA-256, and the revision of a text made from it.
 */
#include "base/hash.h"

#include <nettle/sha2.h>
#include <string.h>

void hash_hex(struct ethos_view v, char out[HASH_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];

    sha256_init(&context);
    sha256_update(&context, v.size, (const uint8_t *)v.data);
    sha256_digest(&context, sizeof(digest), digest);
    for (size_t i = 0; i < sizeof(digest); i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 0xF];
    }
    out[HASH_HEX_SIZE - 1] = '\0';
}

void hash_revision(struct ethos_view v, char out[ETHOS_REVISION_SIZE])
{
    static const char prefix[] = "sha256:";

    _Static_assert(sizeof(prefix) - 1 + HASH_HEX_SIZE <= ETHOS_REVISION_SIZE, "revision fits");
    memcpy(out, prefix, sizeof(prefix) - 1);
    hash_hex(v, out + sizeof(prefix) - 1);
}
