/*
 * bytes.h: classes of bytes, and finding the end of a run of them.
 */
#ifndef ETHOS_CORE_SCAN_BYTES_H
#define ETHOS_CORE_SCAN_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BYTE_DIGIT = 1,
    BYTE_UPPER = 2,
    BYTE_LOWER = 4,
    BYTE_UNDERSCORE = 8,
    BYTE_DASH = 16,
    BYTE_BASE64 = 32, /* + and / */
    BYTE_EQUALS = 64,
    BYTE_DOT = 128,
    BYTE_HEX_LOWER = 256, /* a to f */
    BYTE_HEX_UPPER = 512,
    BYTE_BLANK = 1024, /* space, tab */
    BYTE_QUOTE = 2048, /* " ' ` */
    BYTE_TILDE = 4096,
    BYTE_PERCENT = 8192,
    BYTE_AT = 16384,

    BYTE_LETTER = BYTE_UPPER | BYTE_LOWER,
    BYTE_ALNUM = BYTE_LETTER | BYTE_DIGIT,
    BYTE_HEX = BYTE_DIGIT | BYTE_HEX_LOWER | BYTE_HEX_UPPER,
    BYTE_WORD = BYTE_ALNUM | BYTE_UNDERSCORE,
    BYTE_TOKEN = BYTE_WORD | BYTE_DASH,
    BYTE_RUN = BYTE_TOKEN | BYTE_BASE64 | BYTE_EQUALS | BYTE_DOT | BYTE_TILDE
};

extern const uint16_t byte_classes[256];

static inline bool byte_is(char c, unsigned classes)
{
    return byte_classes[(unsigned char)c] & classes;
}

static inline char byte_lower(char c)
{
    return byte_is(c, BYTE_UPPER) ? (char)(c | 0x20) : c;
}

/* The end of the run of bytes of these classes that begins at p. */
static inline const char *byte_run(const char *p, const char *end, unsigned classes)
{
    while (p < end && byte_is(*p, classes))
        p++;
    return p;
}

/* The beginning of the run of bytes of these classes that ends at p, not before start. */
static inline const char *byte_run_back(const char *p, const char *start, unsigned classes)
{
    while (p > start && byte_is(p[-1], classes))
        p--;
    return p;
}

#endif
