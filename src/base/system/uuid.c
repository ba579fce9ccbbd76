/*
 * uuid.c: names that nobody else gives.
 */
#include "base/system/uuid.h"

#include "base/system/os.h"

int uuid_make(char out[UUID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char random[16];
    if (os_random(random, sizeof random) != 0)
        return -1;
    for (unsigned i = 0; i < sizeof random; i++) {
        unsigned byte = i == 6   ? (random[i] & 0x0Fu) | 0x40u
                        : i == 8 ? (random[i] & 0x3Fu) | 0x80u
                                 : random[i];
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    *out = 0;
    return 0;
}
