/*
 * base64.h: bytes as letters, for places that take only text (RFC 4648, section 4).
 */
#ifndef ETHOS_BASE_BASE64_H
#define ETHOS_BASE_BASE64_H

#include <ethos/types.h>

struct str;

/* Appends the letters, padded. Returns str_code. */
int base64_encode(struct ethos_view bytes, struct str *out);

/* Appends what the letters stand for; padding may be missing. ETHOS_INVALID when they are none. */
int base64_decode(struct ethos_view letters, struct str *out);

#endif
