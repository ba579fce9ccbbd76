/*
 * image.c: opens an image, checks it, and reads its parts.
 */
#include "recall/image.h"

#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"
#include "core/search/words.h"
#include "recall/image_internal.h"

/* ---- opening --------------------------------------------------------------------------------- */

static int fail_damaged(struct ethos_error *error, const char *what)
{
    return err_set(error, ETHOS_INVALID, "index: %s: damaged", what);
}

static struct ethos_view get_section(struct ethos_view bytes, const struct image_header *header,
                                     enum image_section s)
{
    return view_of(bytes.data + header->sections[s].offset, header->sections[s].size);
}

/*
 * Whether the sections are inside the image, aligned, and the sizes of arrays match their counts.
 */
static bool has_sections(const struct image_header *header)
{
    const struct image_counts *counts = &header->counts;
    const uint64_t sizes[] = {
        [SECTION_DOCUMENTS] = counts->documents * (uint64_t)sizeof(struct image_document),
        [SECTION_UNITS] = counts->units * (uint64_t)sizeof(struct image_unit),
        [SECTION_PASSAGES] = counts->passages * (uint64_t)sizeof(struct image_passage),
        [SECTION_SPEAKERS] = counts->speakers * (uint64_t)sizeof(struct image_string),
        [SECTION_BLOCKS] = (counts->stems + (uint64_t)IMAGE_BLOCK - 1) / IMAGE_BLOCK *
                           sizeof(struct image_block),
        [SECTION_ROWS] = counts->stems * (uint64_t)sizeof(struct word_row),
    };
    for (int s = 0; s < SECTION_COUNT; s++) {
        uint64_t offset = header->sections[s].offset, size = header->sections[s].size;
        if (offset % IMAGE_ALIGN != 0 || offset < sizeof *header || offset + size > header->size)
            return false;
        if (s <= SECTION_ROWS && size != sizes[s] && !(s == SECTION_ROWS && size == 0))
            return false;
    }
    return true;
}

static bool in_strings(const struct image *image, uint32_t offset, uint32_t size)
{
    return (uint64_t)offset + size <= image->strings.size;
}

static bool check_documents(const struct image *image)
{
    if (image->counts.groups > image->counts.documents) // each has at least one
        return false;
    for (uint32_t i = 0; i < image->counts.documents; i++) {
        const struct image_document *document = &image->documents[i];
        if (document->group >= image->counts.groups ||
            !in_strings(image, document->name, document->name_size) ||
            document->first_unit > image->counts.units ||
            (i == 0 ? document->first_unit != 0
                    : document->first_unit < image->documents[i - 1].first_unit))
            return false;
    }
    return image->counts.documents > 0 || image->counts.units == 0;
}

/* Checks that units at the edge of the image have no neighbours beyond it. */
static bool has_neighbours(const struct image *image, uint32_t unit)
{
    unsigned flags = image->units[unit].flags;
    uint32_t behind = image->counts.units - 1 - unit;
    return !((flags & UNIT_HAS_PREV && unit < 1) || (flags & UNIT_HAS_PREV2 && unit < 2) ||
             (flags & UNIT_HAS_NEXT && behind < 1) || (flags & UNIT_HAS_NEXT2 && behind < 2));
}

/* Checks that every unit has passages of its own, in order. */
static bool check_units(const struct image *image)
{
    for (uint32_t i = 0; i < image->counts.units; i++) {
        const struct image_unit *unit = &image->units[i];
        uint32_t end = image_passages_end(image, i);
        if (unit->first_passage >= end || end > image->counts.passages ||
            unit->speaker >= image->counts.speakers || unit->content > image->content.size ||
            !has_neighbours(image, i) || (i == 0 && unit->first_passage != 0))
            return false;
        for (uint32_t p = unit->first_passage; p < end; p++)
            if (image->passages[p].unit != i)
                return false;
    }
    return image->counts.units > 0 || image->counts.passages == 0;
}

static bool check_strings(const struct image *image)
{
    for (uint32_t i = 0; i < image->counts.speakers; i++)
        if (!in_strings(image, image->speakers[i].offset, image->speakers[i].size))
            return false;
    uint32_t blocks = (image->counts.stems + IMAGE_BLOCK - 1) / IMAGE_BLOCK;
    for (uint32_t i = 0; i < blocks; i++)
        if (image->blocks[i].stems > image->stems.size ||
            image->blocks[i].postings > image->postings.size)
            return false;
    return true;
}

static bool has_valid_checksum(const struct image_header *header, struct ethos_view bytes)
{
    return header->checksum ==
           hash_mix(0, view_of(bytes.data + IMAGE_CHECKED, header->size - IMAGE_CHECKED));
}

int image_open_again(struct ethos_view bytes, struct image *out, struct ethos_error *error)
{
    const struct image_header *header = (const void *)bytes.data;
    if (bytes.size < sizeof *header || memcmp(header->magic, IMAGE_MAGIC, 8) != 0 ||
        header->version != IMAGE_VERSION || header->size > bytes.size ||
        header->size < sizeof *header)
        return fail_damaged(error, "header");
    if (!has_sections(header))
        return fail_damaged(error, "sections");
    out->checksum = header->checksum;
    out->counts = header->counts;
    out->sums = header->sums;
    out->documents = (const void *)get_section(bytes, header, SECTION_DOCUMENTS).data;
    out->units = (const void *)get_section(bytes, header, SECTION_UNITS).data;
    out->passages = (const void *)get_section(bytes, header, SECTION_PASSAGES).data;
    out->speakers = (const void *)get_section(bytes, header, SECTION_SPEAKERS).data;
    out->blocks = (const void *)get_section(bytes, header, SECTION_BLOCKS).data;
    out->rows = header->sections[SECTION_ROWS].size > 0
                    ? (const void *)get_section(bytes, header, SECTION_ROWS).data
                    : NULL;
    out->strings = get_section(bytes, header, SECTION_STRINGS);
    out->stems = get_section(bytes, header, SECTION_STEMS);
    out->postings = get_section(bytes, header, SECTION_POSTINGS);
    out->content = get_section(bytes, header, SECTION_CONTENT);
    out->gone = NULL;
    return ETHOS_OK;
}

int image_open(struct ethos_view bytes, struct image *out, struct ethos_error *error)
{
    int code = image_open_quick(bytes, out, error);
    if (code == ETHOS_OK && !has_valid_checksum((const void *)bytes.data, bytes))
        return fail_damaged(error, "checksum");
    return code;
}

int image_open_quick(struct ethos_view bytes, struct image *out, struct ethos_error *error)
{
    TRY(image_open_again(bytes, out, error));
    if (!check_documents(out) || !check_units(out) || !check_strings(out))
        return fail_damaged(error, "numbers");
    return ETHOS_OK;
}

/* ---- stems ----------------------------------------------------------------------------------- */

/* The current stem of a block. */
struct stem_entry {
    const uint8_t *at, *end;
    char stem[WORDS_MAX];
    size_t size;
    uint32_t postings, postings_size;
};

static bool next_entry(struct stem_entry *entry)
{
    uint32_t shared, size;
    entry->postings += entry->postings_size;
    if (!varint_get(&entry->at, entry->end, &shared) || shared > entry->size ||
        !varint_get(&entry->at, entry->end, &size) || size > WORDS_MAX - shared ||
        size > (size_t)(entry->end - entry->at))
        return false;
    memcpy(entry->stem + shared, entry->at, size);
    entry->size = shared + size;
    entry->at += size;
    return varint_get(&entry->at, entry->end, &entry->postings_size);
}

/* Starts a block with its first stem. */
static bool open_block(const struct image *image, uint32_t block, struct stem_entry *out)
{
    out->at = (const uint8_t *)image->stems.data + image->blocks[block].stems;
    out->end = (const uint8_t *)image->stems.data + image->stems.size;
    out->size = 0;
    out->postings = image->blocks[block].postings;
    out->postings_size = 0;
    return next_entry(out);
}

static int compare_stem(const struct stem_entry *entry, struct ethos_view stem)
{
    size_t least = entry->size < stem.size ? entry->size : stem.size;
    int order = memcmp(entry->stem, stem.data, least);
    return order ? order : (entry->size > stem.size) - (entry->size < stem.size);
}

/* The only block that may contain a stem. False: there is none. */
static bool find_block(const struct image *image, struct ethos_view stem, uint32_t *out)
{
    struct stem_entry entry;
    uint32_t low = 0, high = (image->counts.stems + IMAGE_BLOCK - 1) / IMAGE_BLOCK;
    bool any = high > 0;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (!open_block(image, middle, &entry))
            return false;
        if (compare_stem(&entry, stem) <= 0)
            low = middle;
        else
            high = middle;
    }
    *out = low;
    return any;
}

bool image_find_stem(const struct image *image, struct ethos_view stem, struct image_stem *out)
{
    struct stem_entry entry;
    uint32_t block;
    if (stem.size == 0 || stem.size > WORDS_MAX || !find_block(image, stem, &block) ||
        !open_block(image, block, &entry))
        return false;
    for (uint32_t i = block * IMAGE_BLOCK;;) {
        int order = compare_stem(&entry, stem);
        if (order == 0 && (uint64_t)entry.postings + entry.postings_size <= image->postings.size) {
            out->number = i;
            out->postings = view_of(image->postings.data + entry.postings, entry.postings_size);
            return true;
        }
        if (order >= 0 || ++i % IMAGE_BLOCK == 0 || i >= image->counts.stems || !next_entry(&entry))
            return false;
    }
}

bool image_stem_at(const struct image *image, uint32_t number, struct image_stem *out, char *text)
{
    struct stem_entry entry;
    bool read = number < image->counts.stems && open_block(image, number / IMAGE_BLOCK, &entry);
    for (uint32_t i = 0; read && i < number % IMAGE_BLOCK; i++)
        read = next_entry(&entry);
    if (!read || (uint64_t)entry.postings + entry.postings_size > image->postings.size)
        return false;
    out->number = number;
    out->postings = view_of(image->postings.data + entry.postings, entry.postings_size);
    memcpy(text, entry.stem, entry.size);
    text[entry.size] = '\0';
    return true;
}

int image_each_stem(const struct image *image, image_stem_fn *each, void *arg)
{
    struct stem_entry entry;
    for (uint32_t i = 0; i < image->counts.stems; i++) {
        bool read = i % IMAGE_BLOCK == 0 ? open_block(image, i / IMAGE_BLOCK, &entry)
                                         : next_entry(&entry);
        int code = read ? each(arg, view_of(entry.stem, entry.size), entry.postings_size) : 0;
        if (!read || code != 0)
            return code;
    }
    return 0;
}

int image_each_stem_from(const struct image *image, struct ethos_view start, image_stem_fn *each,
                         void *arg)
{
    struct stem_entry entry;
    uint32_t block;
    if (start.size == 0 || start.size > WORDS_MAX || !find_block(image, start, &block))
        return 0;
    for (uint32_t i = block * IMAGE_BLOCK; i < image->counts.stems; i++) {
        bool read = i % IMAGE_BLOCK == 0 ? open_block(image, i / IMAGE_BLOCK, &entry)
                                         : next_entry(&entry);
        struct ethos_view stem = view_of(entry.stem, entry.size);
        if (!read || (compare_stem(&entry, start) > 0 && !view_starts(stem, start)))
            return 0;
        int code = view_starts(stem, start) ? each(arg, stem, entry.postings_size) : 0;
        if (code != 0)
            return code;
    }
    return 0;
}

struct image_postings image_postings_of(const struct image *image, struct ethos_view postings)
{
    const uint8_t *at = (const uint8_t *)postings.data;
    return (struct image_postings){
        .at = at, .end = at + postings.size, .passages = image->counts.passages};
}

bool image_next_posting(struct image_postings *walk)
{
    uint32_t number;
    if (!varint_get(&walk->at, walk->end, &number))
        return false;
    uint64_t passage = (uint64_t)walk->next + (number >> 1);
    walk->count = 1;
    if (passage >= walk->passages ||
        (number & 1 && (!varint_get(&walk->at, walk->end, &walk->count) || walk->count == 0 ||
                        walk->count > UINT16_MAX)))
        return false;
    walk->passage = (uint32_t)passage;
    walk->next = walk->passage + 1;
    return true;
}

/* ---- content and names ----------------------------------------------------------------------- */

struct image_content image_content_of(const struct image *image, uint32_t unit)
{
    const uint8_t *start = (const uint8_t *)image->content.data;
    return (struct image_content){start + image->units[unit].content, start + image->content.size};
}

uint32_t image_content_number(struct image_content *walk)
{
    uint32_t number = 0;
    varint_get(&walk->at, walk->end, &number);
    return number;
}

struct ethos_view image_speaker(const struct image *image, uint32_t speaker)
{
    return view_of(image->strings.data + image->speakers[speaker].offset,
                   image->speakers[speaker].size);
}

struct ethos_view image_document_name(const struct image *image, uint32_t document)
{
    return view_of(image->strings.data + image->documents[document].name,
                   image->documents[document].name_size);
}
