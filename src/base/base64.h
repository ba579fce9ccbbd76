/*
 * base64.h: base64 encoding (RFC 4648, section 4).
 */
#ifndef ETHOS_BASE_BASE64_H
#define ETHOS_BASE_BASE64_H

#include <ethos/types.h>

struct str;

/* Appends the encoded bytes, with padding. Returns str_code. */
int base64_encode(struct ethos_view bytes, struct str *out);

/* Appends the decoded bytes; padding may be missing. ETHOS_INVALID if it is not base64. */
int base64_decode(struct ethos_view letters, struct str *out);

#endif
