/*
 * utf8.c: UTF-8 as the memory format counts it.
 *
 * Everything is built on three small pieces: the length of an ASCII prefix, taken a block of words
 * at a time; the decoder of one character; and its mirror image, the start of the character before
 * a boundary. A byte that is no continuation always starts a character, valid or not, which is why
 * going backwards finds the same characters as going forwards.
 */
#include "base/utf8.h"

#include <endian.h>
#include <string.h>

#include "base/str.h"
#include "base/view.h"

#define BLOCK 128 /* bytes looked at together for ASCII */
#define CHUNK 256 /* bytes counted together by utf8_tail */

typedef uint64_t words __attribute__((vector_size(16)));

/* Whether all bytes of the block are ASCII: bit 7 of each, folded together. */
static inline bool ascii_block(const char *data)
{
    words part[BLOCK / sizeof(words)];

    memcpy(part, data, sizeof(part));
    words folded = (part[0] | part[1] | part[2] | part[3]) |
                   (part[4] | part[5] | part[6] | part[7]);
    return ((folded[0] | folded[1]) & UINT64_C(0x8080808080808080)) == 0;
}

/* Bit 7 of every byte of a word. */
static inline uint64_t high_bits(const char *data)
{
    uint64_t word;

    memcpy(&word, data, sizeof(word));
    return le64toh(word) & UINT64_C(0x8080808080808080);
}

static inline size_t ascii_prefix(const char *data, size_t size)
{
    size_t at = 0;

    while (size - at >= BLOCK && ascii_block(data + at))
        at += BLOCK;
    for (; size - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t high = high_bits(data + at);

        if (high) // the lowest one is the first byte that is not ASCII
            return at + (size_t)__builtin_ctzll(high) / 8;
    }
    while (at < size && !((unsigned char)data[at] & 0x80))
        at++;
    return at;
}

static inline bool continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* What may follow a lead byte: how many continuation bytes, and the range of the first. */
struct lead {
    unsigned char more, low, high;
};

static inline struct lead lead_of(unsigned char byte)
{
    if (byte >= 0xC2 && byte <= 0xDF)
        return (struct lead){1, 0x80, 0xBF};
    if (byte >= 0xE0 && byte <= 0xEF)
        return (struct lead){2, byte == 0xE0 ? 0xA0 : 0x80, byte == 0xED ? 0x9F : 0xBF};
    if (byte >= 0xF0 && byte <= 0xF4)
        return (struct lead){3, byte == 0xF0 ? 0x90 : 0x80, byte == 0xF4 ? 0x8F : 0xBF};
    return (struct lead){0, 0, 0};
}

/* The general case: the maximal subpart that can begin a character, complete or not. */
static size_t decode_slowly(const unsigned char *bytes, size_t size, uint32_t *out_cp, bool *out_ok)
{
    struct lead lead = lead_of(bytes[0]);
    uint32_t cp = bytes[0] & (0x3Fu >> lead.more);
    size_t at = 1;

    for (; at <= lead.more && at < size; at++) {
        if (bytes[at] < lead.low || bytes[at] > lead.high)
            break;
        cp = cp << 6 | (bytes[at] & 0x3F);
        lead.low = 0x80;
        lead.high = 0xBF;
    }
    *out_ok = lead.more > 0 && at == (size_t)lead.more + 1;
    *out_cp = *out_ok ? cp : UTF8_REPLACEMENT;
    return at;
}

/* ASCII and three bytes, which most of the world writes in, without a call. */
static inline size_t decode(const char *data, size_t size, uint32_t *out_cp, bool *out_ok)
{
    const unsigned char *bytes = (const unsigned char *)data;

    *out_ok = true;
    *out_cp = bytes[0];
    if (bytes[0] < 0x80)
        return 1;
    if (size >= 3 && (bytes[0] & 0xF0) == 0xE0 && continues(data[1]) && continues(data[2])) {
        uint32_t cp = (bytes[0] & 0xFu) << 12 | (bytes[1] & 0x3Fu) << 6 | (bytes[2] & 0x3Fu);

        *out_cp = cp;
        if (cp >= 0x800 && (cp & 0xF800) != 0xD800)
            return 3;
    }
    return decode_slowly(bytes, size, out_cp, out_ok);
}

size_t utf8_decode(const char *data, size_t size, uint32_t *out_cp, bool *out_ok)
{
    bool ok;
    size_t taken = decode(data, size, out_cp, &ok);

    if (out_ok)
        *out_ok = ok;
    return taken;
}

size_t utf8_put(uint32_t cp, char out[4])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    size_t size = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, cp >>= 6)
        out[i] = (char)(0x80 | (cp & 0x3F));
    out[0] = (char)((0xF00u >> size & 0xFF) | cp);
    return size;
}

size_t utf8_before(struct ethos_view v, size_t end)
{
    uint32_t cp;
    bool ok;
    size_t start = end - 1;

    while (start > 0 && end - start < 4 && continues(v.data[start]))
        start--;
    // Continuation bytes that no lead claims are characters of their own.
    return start + decode(v.data + start, end - start, &cp, &ok) == end ? start : end - 1;
}

bool utf8_ascii(struct ethos_view v)
{
    return ascii_prefix(v.data, v.size) == v.size;
}

/* Bytes of a plain two- or three-byte character, or 0: the common ones, without the decoder. */
static inline size_t common_character(const char *data, size_t size)
{
    unsigned char lead = (unsigned char)data[0];

    if (lead >= 0xC2 && lead <= 0xDF && size > 1 && continues(data[1]))
        return 2;
    if (lead >= 0xE1 && lead <= 0xEC && size > 2 && continues(data[1]) && continues(data[2]))
        return 3;
    return 0;
}

bool utf8_valid(struct ethos_view v)
{
    size_t at = 0;

    while (at < v.size) {
        if (!((unsigned char)v.data[at] & 0x80)) {
            at += ascii_prefix(v.data + at, v.size - at);
            continue;
        }
        size_t taken = common_character(v.data + at, v.size - at);
        uint32_t cp;
        bool ok = taken > 0;

        at += ok ? taken : decode(v.data + at, v.size - at, &cp, &ok);
        if (!ok)
            return false;
    }
    return true;
}

static inline uint64_t units_of(uint32_t cp)
{
    return cp > 0xFFFF ? 2 : 1;
}

uint64_t utf8_units(struct ethos_view v)
{
    uint64_t units = 0;
    size_t at = 0;

    while (at < v.size) {
        size_t run = ascii_prefix(v.data + at, v.size - at);

        units += run;
        at += run;
        while (at < v.size && ((unsigned char)v.data[at] & 0x80)) {
            uint32_t cp;
            bool ok;

            at += decode(v.data + at, v.size - at, &cp, &ok);
            units += units_of(cp);
        }
    }
    return units;
}

/* A character start about CHUNK bytes before the character boundary `end`. */
static size_t chunk_start(struct ethos_view v, size_t end)
{
    if (end <= CHUNK + 3)
        return 0;
    for (size_t start = end - CHUNK; start >= end - CHUNK - 3; start--) {
        if (!continues(v.data[start]))
            return start;
    }
    return end - CHUNK; // no lead reaches over three continuation bytes to a fourth
}

size_t utf8_tail(struct ethos_view v, uint64_t units)
{
    size_t at = v.size;

    while (at > 0) {
        size_t start = chunk_start(v, at);
        uint64_t chunk = utf8_units(view_of(v.data + start, at - start));

        if (chunk > units)
            break;
        units -= chunk;
        at = start;
    }
    while (at > 0 && units > 0) {
        uint32_t cp;
        bool ok;
        size_t start = utf8_before(v, at);

        decode(v.data + start, at - start, &cp, &ok);
        if (units_of(cp) > units)
            break;
        units -= units_of(cp);
        at = start;
    }
    return at;
}

int utf8_sanitize(struct ethos_view v, struct str *out)
{
    size_t good = 0, at = 0; // [good, at) is valid and not yet appended

    while (at < v.size) {
        uint32_t cp;
        bool ok;
        size_t taken = decode(v.data + at, v.size - at, &cp, &ok);

        if (!ok) {
            str_add(out, view_of(v.data + good, at - good));
            str_adds(out, "\xEF\xBF\xBD");
            good = at + taken;
        }
        at += taken;
    }
    return str_add(out, view_of(v.data + good, at - good));
}

bool utf8_space(uint32_t cp)
{
    if (cp < 0x80)
        return cp == ' ' || (cp >= '\t' && cp <= '\r');
    return cp == 0x00A0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 ||
           cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000 || cp == 0xFEFF;
}
