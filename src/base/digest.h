/*
 * digest.h: SHA-256 of bytes added piece by piece.
 */
#ifndef ETHOS_BASE_DIGEST_H
#define ETHOS_BASE_DIGEST_H

#include <nettle/sha2.h>

#include "base/hash.h"

struct digest {
    struct sha256_ctx context;
};

void digest_init(struct digest *digest);
void digest_add(struct digest *digest, const void *data, size_t size);

/* The hash of all bytes so far; the digest starts over. */
void digest_end(struct digest *digest, char out[HASH_HEX_SIZE]);

#endif
