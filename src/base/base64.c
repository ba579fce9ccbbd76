/*
 * base64.c: bytes as letters.
 */
#include "base/base64.h"

#include <stdint.h>

#include "base/str.h"

static const char letters_of[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_encode(struct ethos_view bytes, struct str *out)
{
    const unsigned char *from = (const unsigned char *)bytes.data;
    size_t groups = bytes.size / 3, left = bytes.size % 3;
    str_reserve(out, (bytes.size + 2) / 3 * 4);
    for (size_t i = 0; i <= groups && str_code(out) == ETHOS_OK; i++) {
        size_t count = i < groups ? 3 : left;
        uint32_t bits = 0;
        char four[4];
        for (size_t j = 0; j < 3; j++)
            bits = bits << 8 | (j < count ? from[3 * i + j] : 0u);
        for (size_t j = 0; j < 4; j++)
            four[j] = j <= count ? letters_of[bits >> (18 - 6 * j) & 63] : '=';
        if (count > 0)
            str_add(out, (struct ethos_view){four, 4});
    }
    return str_code(out);
}

/* The value of a letter, -1 when it is none. */
static int letter_value(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

int base64_decode(struct ethos_view letters, struct str *out)
{
    uint32_t bits = 0;
    unsigned held = 0;
    for (int pads = 0; pads < 2 && letters.size > 0 && letters.data[letters.size - 1] == '=';
         pads++)
        letters.size--;
    if (letters.size % 4 == 1)
        return ETHOS_INVALID;
    str_reserve(out, letters.size / 4 * 3 + letters.size % 4 * 3 / 4);
    for (size_t i = 0; i < letters.size; i++) {
        int value = letter_value(letters.data[i]);
        if (value < 0)
            return ETHOS_INVALID;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held < 8)
            continue;
        held -= 8;
        str_addc(out, (char)(bits >> held & 0xFF));
    }
    return str_code(out);
}
