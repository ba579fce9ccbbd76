/*
 * hash.h: SHA-256, and the revision of a text made from it.
 */
#ifndef ETHOS_BASE_HASH_H
#define ETHOS_BASE_HASH_H

#include <ethos/limits.h>
#include <ethos/types.h>

#define HASH_HEX_SIZE 65 /* 64 lower-case hex digits and the terminator */

void hash_hex(struct ethos_view v, char out[HASH_HEX_SIZE]);

/* "sha256:<hex>" */
void hash_revision(struct ethos_view v, char out[ETHOS_REVISION_SIZE]);

#endif
