/*
 * hash.h: SHA-256, the revision of a text made from it, and CRC-32C.
 */
#ifndef ETHOS_BASE_HASH_H
#define ETHOS_BASE_HASH_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/limits.h>
#include <ethos/types.h>

#define HASH_HEX_SIZE 65 /* 64 lower-case hex digits and the terminator */

void hash_hex(struct ethos_view v, char out[HASH_HEX_SIZE]);

/* HMAC-SHA-256: a code that only owners of the key can compute. */
void hash_hmac_hex(struct ethos_view key, struct ethos_view text, char out[HASH_HEX_SIZE]);

/* Whether v has the form that hash_hex gives: the name of a blob. */
bool hash_is_hex(struct ethos_view v);

/* Whether two secrets are equal, in a time that depends only on their sizes. */
bool hash_same_secret(struct ethos_view a, struct ethos_view b);

/* "sha256:<hex>" */
void hash_revision(struct ethos_view v, char out[ETHOS_REVISION_SIZE]);

/* A revision that can be continued: when a text grows at its end, only the new bytes are hashed. */
struct hash_growing {
    uint64_t state[16]; /* of SHA-256 */
    size_t size;        /* bytes so far */
};

void hash_begin(struct hash_growing *growing);
void hash_add(struct hash_growing *growing, struct ethos_view more);
void hash_so_far(const struct hash_growing *growing, char out[ETHOS_REVISION_SIZE]);

/* For hash tables of this process: fast, but collisions are easy to construct. */
uint64_t hash_mix(uint64_t start, struct ethos_view v);

/* The checksum of iSCSI and ext4 (Castagnoli): detects damage, not tampering. */
uint32_t hash_crc32c(struct ethos_view v);

#endif
