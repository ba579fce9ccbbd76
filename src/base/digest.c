/*
 * digest.c: SHA-256 of bytes that come piece by piece.
 */
#include "base/digest.h"

void digest_init(struct digest *digest)
{
    sha256_init(&digest->context);
}

void digest_add(struct digest *digest, const void *data, size_t size)
{
    sha256_update(&digest->context, size, data);
}

void digest_end(struct digest *digest, char out[HASH_HEX_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[SHA256_DIGEST_SIZE];
    sha256_digest(&digest->context, sizeof bytes, bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 0xF];
    }
    out[HASH_HEX_SIZE - 1] = '\0';
}
