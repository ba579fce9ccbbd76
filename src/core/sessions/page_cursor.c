/*
 * page_cursor.c: where a page of sessions ended, as an opaque word.
 *
 *     kind 1, pinned 1, row 8, newest 8, CRC-32C 4, place, 0, latest: big-endian
 */
#include "core/sessions/page_cursor.h"

#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"

#define KIND 'k'
#define HEAD 22 /* bytes before the place, checksum included */
#define MOST (HEAD + 2 * CURSOR_PLACE_SIZE - 1)
#define MOST_DIGITS 18

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

_Static_assert((MOST + 2) / 3 * 4 < ETHOS_CURSOR_SIZE, "a cursor must fit");

/* ---- base64url ------------------------------------------------------------------------------- */

static void encode_cursor(const uint8_t *bytes, size_t size, char *out)
{
    uint32_t bits = 0;
    int held = 0;
    for (size_t i = 0; i < size; i++) {
        bits = bits << 8 | bytes[i];
        for (held += 8; held >= 6; held -= 6)
            *out++ = alphabet[bits >> (held - 6) & 63];
    }
    if (held > 0)
        *out++ = alphabet[bits << (6 - held) & 63];
    *out = 0;
}

/* The bytes written, 0 when the text is not of the alphabet or too long. Padding may follow. */
static size_t decode(const char *text, uint8_t out[MOST])
{
    uint32_t bits = 0;
    int held = 0;
    size_t size = 0;
    for (; *text && *text != '='; text++) {
        const char *digit = strchr(alphabet, *text);
        if (!digit || size >= MOST)
            return 0;
        bits = bits << 6 | (uint32_t)(digit - alphabet);
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[size++] = (uint8_t)(bits >> held);
        }
    }
    return text[strspn(text, "=")] == 0 && held < 6 ? size : 0;
}

/* ---- members --------------------------------------------------------------------------------- */

static void put_integer(uint8_t *at, int64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        at[i] = (uint8_t)(value & 0xFF);
}

static int64_t get_integer(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

/* Over all but itself, which counts as zero. */
static uint32_t checksum(const uint8_t *bytes, size_t size)
{
    uint8_t copy[MOST];
    memcpy(copy, bytes, size);
    memset(copy + HEAD - 4, 0, 4);
    return hash_crc32c(view_of((const char *)copy, size));
}

void cursor_write(const struct cursor *cursor, char out[ETHOS_CURSOR_SIZE])
{
    uint8_t bytes[MOST] = {KIND, cursor->pinned};
    size_t place = strlen(cursor->place) + 1, size = HEAD + place + strlen(cursor->latest);
    put_integer(bytes + 2, cursor->row, 8);
    put_integer(bytes + 10, cursor->newest, 8);
    memcpy(bytes + HEAD, cursor->place, place);
    memcpy(bytes + HEAD + place, cursor->latest, size - HEAD - place);
    put_integer(bytes + HEAD - 4, checksum(bytes, size), 4);
    encode_cursor(bytes, size, out);
}

static bool read_count(const uint8_t *bytes, size_t size, struct cursor *out)
{
    int64_t offset = 0;
    if (size == 0 || size > MOST_DIGITS)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] < '0' || bytes[i] > '9')
            return false;
        offset = offset * 10 + (bytes[i] - '0');
    }
    *out = (struct cursor){.counted = true, .offset = offset};
    return true;
}

static bool read_cursor_bytes(const uint8_t *bytes, size_t size, struct cursor *out)
{
    if (size <= HEAD || bytes[0] != KIND ||
        get_integer(bytes + HEAD - 4, 4) != checksum(bytes, size))
        return false;
    size_t place = strnlen((const char *)bytes + HEAD, size - HEAD), latest = HEAD + place + 1;
    if (place >= CURSOR_PLACE_SIZE || latest > size || size - latest >= CURSOR_PLACE_SIZE)
        return false;
    *out = (struct cursor){.pinned = bytes[1] != 0,
                           .row = get_integer(bytes + 2, 8),
                           .newest = get_integer(bytes + 10, 8)};
    memcpy(out->place, bytes + HEAD, place);
    memcpy(out->latest, bytes + latest, size - latest);
    return true;
}

int cursor_read(const char *text, struct cursor *out, struct ethos_error *error)
{
    uint8_t bytes[MOST];
    size_t size = decode(text, bytes);
    if (read_count(bytes, size, out) || read_cursor_bytes(bytes, size, out))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_INVALID, "cursor: not from a list of sessions");
    return err_hint(error, code, "omit it to get the first page");
}
