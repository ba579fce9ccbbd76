/*
 * git_index.c: reads the file names in a git index.
 *
 * An index is a header ("DIRC", version, number of entries) and the entries: 62 bytes of numbers, of which the last two
 * are flags; since version 3, two more bytes if a flag says so; and the name. Versions 2 and 3 pad each entry with NUL
 * bytes to a multiple of 8; version 4 stores only the part of each name that differs from the previous one.
 */
#include "core/formats/git_index.h"

#include <stdbool.h>
#include <string.h>

#include "base/view.h"

#define HEADER_BYTES 12
#define ENTRY_BYTES 62
#define FLAGS_AT 60
#define EXTENDED 0x4000

struct index_reader {
    struct ethos_view rest;
    uint32_t version;
    char name[GIT_MAX_NAME];
    size_t size; /* of the name */
};

static uint32_t number_at(struct ethos_view v, size_t at)
{
    const unsigned char *p = (const unsigned char *)v.data + at;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Reads how many bytes to strip from the previous name: a number with 7 bits per byte, in git's encoding. */
static bool read_strip(struct ethos_view *rest, size_t *out)
{
    size_t value = 0;
    for (size_t i = 0; i < 4 && rest->size > 0; i++) {
        unsigned char byte = (unsigned char)*rest->data;
        *rest = view_from(*rest, 1);
        value = i == 0 ? byte & 0x7f : (value + 1) << 7 | (byte & 0x7f);
        if (!(byte & 0x80)) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* Reads a name up to its NUL, after `keep` bytes of the previous name. */
static bool read_entry_name(struct index_reader *r, size_t keep, size_t *out_taken)
{
    const char *nul = memchr(r->rest.data, 0, r->rest.size);
    if (!nul)
        return false;
    size_t size = (size_t)(nul - r->rest.data), fits = sizeof r->name - 1 - keep;
    memcpy(r->name + keep, r->rest.data, size < fits ? size : fits);
    r->size = keep + (size < fits ? size : fits);
    r->name[r->size] = 0;
    *out_taken = size;
    return true;
}

static bool read_entry(struct index_reader *r)
{
    size_t fixed = ENTRY_BYTES, keep = 0, strip, size;
    if (r->rest.size < fixed)
        return false;
    uint32_t flags = number_at(r->rest, FLAGS_AT - 2) & 0xffff;
    fixed += flags & EXTENDED && r->version >= 3 ? 2 : 0;
    if (r->rest.size < fixed)
        return false;
    r->rest = view_from(r->rest, fixed);
    if (r->version == 4) {
        if (!read_strip(&r->rest, &strip) || strip > r->size)
            return false;
        keep = r->size - strip;
    }
    if (!read_entry_name(r, keep, &size))
        return false;
    size_t padding = r->version == 4 ? 1 : 8 - (fixed + size) % 8;
    if (r->rest.size - size < padding)
        return false;
    r->rest = view_from(r->rest, size + padding);
    return true;
}

int git_index_names(struct ethos_view index, git_index_fn *each, void *arg)
{
    struct index_reader r = {.rest = index};
    if (index.size < HEADER_BYTES || !view_starts(index, VIEW("DIRC")))
        return ETHOS_CORRUPT;
    uint32_t count = number_at(index, 8);
    r.version = number_at(index, 4);
    if (r.version < 2 || r.version > 4)
        return ETHOS_CORRUPT;
    r.rest = view_from(index, HEADER_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        if (!read_entry(&r))
            return ETHOS_CORRUPT;
        int code = r.size + 1 < sizeof r.name ? each(arg, r.name) : 0;
        if (code != 0)
            return code;
    }
    return ETHOS_OK;
}
