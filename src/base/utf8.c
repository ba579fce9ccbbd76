/*
 * utf8.c: UTF-8 as the memory format counts it.
 *
 * Everything is built on three small pieces: blocks of bytes looked at together, which tell whether
 * text is ASCII or valid and how long it is; the decoder of one character; and its mirror image, the
 * start of the character before a boundary. A byte that is no continuation always starts a
 * character, valid or not, so going backwards finds the same characters as going forwards.
 */
#include "base/utf8.h"

#include <string.h>

#include "base/str.h"
#include "base/view.h"

#define BLOCK 64  /* bytes looked at together for ASCII */
#define CHUNK 256 /* bytes counted together by utf8_tail */

#define HIGH_BITS UINT64_C(0x8080808080808080)

typedef uint64_t words __attribute__((vector_size(16)));
typedef signed char lanes __attribute__((vector_size(16)));

#define LANES sizeof(lanes)

static inline lanes load_lanes(const char *data)
{
    lanes block;

    memcpy(&block, data, sizeof(block));
    return block;
}

static inline bool any_high(lanes block)
{
    words halves = (words)block;

    return ((halves[0] | halves[1]) & HIGH_BITS) != 0;
}

/* Whether all bytes of the block are ASCII: bit 7 of each, folded together. */
static inline bool ascii_block(const char *data)
{
    return !any_high(load_lanes(data) | load_lanes(data + 16) | load_lanes(data + 32) |
                     load_lanes(data + 48));
}

/* Where the blocks of ASCII that start at `at` end. */
static inline size_t skip_ascii(struct ethos_view v, size_t at)
{
    while (v.size - at >= BLOCK && ascii_block(v.data + at))
        at += BLOCK;
    while (v.size - at >= LANES && !any_high(load_lanes(v.data + at)))
        at += LANES;
    return at;
}

static inline bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* What may follow a lead byte: how many continuation bytes, and the range of the first. */
struct lead_byte {
    unsigned char more, low, high;
};

static inline struct lead_byte lead_of(unsigned char byte)
{
    if (byte >= 0xC2 && byte <= 0xDF)
        return (struct lead_byte){1, 0x80, 0xBF};
    if (byte >= 0xE0 && byte <= 0xEF)
        return (struct lead_byte){2, byte == 0xE0 ? 0xA0 : 0x80, byte == 0xED ? 0x9F : 0xBF};
    if (byte >= 0xF0 && byte <= 0xF4)
        return (struct lead_byte){3, byte == 0xF0 ? 0x90 : 0x80, byte == 0xF4 ? 0x8F : 0xBF};
    return (struct lead_byte){0, 0, 0};
}

/* The general case: the maximal subpart that can begin a character, complete or not. */
static size_t decode_slowly(const unsigned char *bytes, size_t size, uint32_t *out_cp, bool *out_ok)
{
    struct lead_byte lead = lead_of(bytes[0]);
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
static inline size_t decode_character(const char *data, size_t size, uint32_t *out_cp, bool *out_ok)
{
    const unsigned char *bytes = (const unsigned char *)data;

    *out_ok = true;
    *out_cp = bytes[0];
    if (bytes[0] < 0x80)
        return 1;
    if (size >= 3 && (bytes[0] & 0xF0) == 0xE0 && is_continuation(data[1]) &&
        is_continuation(data[2])) {
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
    size_t taken = decode_character(data, size, out_cp, &ok);

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

    while (start > 0 && end - start < 4 && is_continuation(v.data[start]))
        start--;
    // Continuation bytes that no lead claims are characters of their own.
    return start + decode_character(v.data + start, end - start, &cp, &ok) == end ? start : end - 1;
}

bool utf8_ascii(struct ethos_view v)
{
    size_t at = skip_ascii(v, 0);

    while (at < v.size && !((unsigned char)v.data[at] & 0x80))
        at++;
    return at == v.size;
}

/* ---- many bytes at once ---------------------------------------------------------------------- */

/*
 * Whether text is valid is a relation between neighbours: a byte is a continuation exactly when one
 * of the three before it asks for one, and a few leads narrow what may follow. So a block of bytes
 * is judged by comparing it with the same text one, two and three bytes earlier.
 *
 * Bytes are signed here, which machines compare best: 80 is the lowest, FF is -1, ASCII above.
 */
#define BELOW(block, byte) ((lanes)((block) < (signed char)((byte)-0x100)))
#define EQUAL(block, byte) ((lanes)((block) == (signed char)((byte)-0x100)))
#define FROM(block, byte) (~BELOW(block, byte) & (block)) /* bit 7 is set from byte to FF */

#define BEFORE 3 /* bytes in front of a block that decide about it */

/* Bit 7 is set in every lane whose byte cannot stand there. */
static inline lanes wrong_bytes(const char *at)
{
    lanes byte = load_lanes(at), one = load_lanes(at - 1), two = load_lanes(at - 2),
          three = load_lanes(at - 3);
    lanes follows = BELOW(byte, 0xC0), low = BELOW(byte, 0xA0), lowest = BELOW(byte, 0x90);
    lanes asked = FROM(one, 0xC0) | FROM(two, 0xE0) | FROM(three, 0xF0);
    lanes narrow = (EQUAL(one, 0xE0) & low) | (EQUAL(one, 0xED) & ~low) |
                   (EQUAL(one, 0xF0) & lowest) | (EQUAL(one, 0xF4) & ~lowest);
    lanes never = EQUAL(byte, 0xC0) | EQUAL(byte, 0xC1) | FROM(byte, 0xF5);

    return (asked ^ follows) | narrow | never;
}

#define BETWEEN(block, low, high) (BELOW(block, (high) + 1) & ~BELOW(block, low))

/* Bit 7 is set where the second or third byte of a character is that nobody may see (text/invisible.c), or of a
 * neighbour of it. */
static inline lanes unseen_bytes(const char *at)
{
    lanes byte = load_lanes(at), one = load_lanes(at - 1), two = load_lanes(at - 2);
    lanes spaces = EQUAL(one, 0x80) & (BETWEEN(byte, 0x8B, 0x8F) | BETWEEN(byte, 0xAA, 0xAE));
    lanes joins = EQUAL(one, 0x81) & BETWEEN(byte, 0xA0, 0xA9);
    lanes fillers = (EQUAL(one, 0xE1) & (EQUAL(byte, 0x85) | EQUAL(byte, 0xA0))) |
                    (EQUAL(one, 0xE3) & EQUAL(byte, 0x85));
    lanes forms = EQUAL(one, 0xEF) & (EQUAL(byte, 0xB8) | EQUAL(byte, 0xBB) | EQUAL(byte, 0xBE));
    lanes letters = (EQUAL(one, 0xC2) & EQUAL(byte, 0xAD)) | (EQUAL(one, 0xD8) & EQUAL(byte, 0x9C));

    return (EQUAL(two, 0xE2) & (spaces | joins)) | fillers | forms | letters | EQUAL(one, 0xF3);
}

/* CH of valid bytes: one for each that is no continuation, one more for the lead of four. */
static inline uint64_t block_units(lanes byte)
{
    lanes units = 1 + BELOW(byte, 0xC0) - (~BELOW(byte, 0xF0) & BELOW(byte, 0x100));
    words halves = (words)units;

    return (halves[0] + halves[1]) * UINT64_C(0x0101010101010101) >> 56;
}

/* Copies the block at `at` and what decides about it, with NULs where there is no text. */
static const char *edge_block(struct ethos_view v, size_t at, char out[BEFORE + LANES])
{
    size_t from = at < BEFORE ? 0 : at - BEFORE;
    size_t to = at + LANES < v.size ? at + LANES : v.size;

    memset(out, 0, BEFORE + LANES);
    if (from < to)
        memcpy(out + BEFORE + from - at, v.data + from, to - from);
    return out + BEFORE;
}

/* From a block with other characters to one that ends in ASCII: no character goes on behind it. */
static bool measure_run(struct ethos_view v, size_t *at, uint64_t *units, bool *unseen)
{
    char copy[BEFORE + LANES], last;
    lanes wrong = {0}, marks = {0};

    do {
        bool edge = *at < BEFORE || *at + LANES > v.size;
        const char *here = edge ? edge_block(v, *at, copy) : v.data + *at;

        wrong |= wrong_bytes(here);
        marks |= unseen_bytes(here);
        *units += block_units(load_lanes(here));
        last = here[LANES - 1];
        *at += LANES;
    } while ((unsigned char)last & 0x80);
    *unseen |= any_high(marks);
    return !any_high(wrong);
}

bool utf8_measure(struct ethos_view v, uint64_t *out_units, bool *out_unseen)
{
    uint64_t units = 0;
    size_t at = 0;

    *out_unseen = false;
    while (at < v.size) {
        size_t next = skip_ascii(v, at);

        units += next - at;
        at = next;
        if (at < v.size && !measure_run(v, &at, &units, out_unseen))
            return false;
    }
    *out_units = units - (at - v.size); // NULs behind the end
    return true;
}

bool utf8_valid(struct ethos_view v)
{
    uint64_t units;
    bool unseen;

    return utf8_measure(v, &units, &unseen);
}

/* ---- counting -------------------------------------------------------------------------------- */

static inline uint64_t units_of(uint32_t cp)
{
    return cp > 0xFFFF ? 2 : 1;
}

uint64_t utf8_units(struct ethos_view v)
{
    uint64_t units = 0;
    bool unseen;

    if (utf8_measure(v, &units, &unseen))
        return units;
    for (size_t at = 0; at < v.size;) {
        uint32_t cp;
        bool ok;

        at += decode_character(v.data + at, v.size - at, &cp, &ok);
        units += units_of(cp);
    }
    return units;
}

/* A character start about CHUNK bytes before the character boundary `end`. */
static size_t chunk_start(struct ethos_view v, size_t end)
{
    if (end <= CHUNK + 3)
        return 0;
    for (size_t start = end - CHUNK; start >= end - CHUNK - 3; start--) {
        if (!is_continuation(v.data[start]))
            return start;
    }
    return end - CHUNK; // no lead reaches over three continuation bytes to a fourth
}

size_t utf8_head(struct ethos_view v, uint64_t units)
{
    size_t at = 0;

    while (at < v.size) {
        uint32_t cp;
        bool ok;
        size_t size = decode_character(v.data + at, v.size - at, &cp, &ok);

        if (units_of(cp) > units)
            break;
        units -= units_of(cp);
        at += size;
    }
    return at;
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

        decode_character(v.data + start, at - start, &cp, &ok);
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
        size_t taken = decode_character(v.data + at, v.size - at, &cp, &ok);

        if (!ok) {
            str_add(out, view_of(v.data + good, at - good));
            str_adds(out, "\xEF\xBF\xBD");
            good = at + taken;
        }
        at += taken;
    }
    return v.size > good ? str_add(out, view_of(v.data + good, at - good)) : str_code(out);
}

bool utf8_space(uint32_t cp)
{
    if (cp < 0x80)
        return cp == ' ' || (cp >= '\t' && cp <= '\r');
    return cp == 0x00A0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 ||
           cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000 || cp == 0xFEFF;
}
