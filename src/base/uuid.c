/*
 * uuid.c: names that nobody else gives.
 */
#include "base/uuid.h"

#include "base/os.h"

void uuid_text(const unsigned char random[UUID_RANDOM], char out[UUID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < UUID_RANDOM; i++) {
        unsigned byte = i == 6   ? (random[i] & 0x0Fu) | 0x40u
                        : i == 8 ? (random[i] & 0x3Fu) | 0x80u
                                 : random[i];
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    *out = 0;
}

int uuid_make(char out[UUID_SIZE])
{
    unsigned char random[UUID_RANDOM];
    if (os_random(random, sizeof random) != 0)
        return -1;
    uuid_text(random, out);
    return 0;
}
