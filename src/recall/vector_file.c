/*
 * vector_file.c: pieces of vectors, one behind the other.
 *
 * A piece is a header, the hashes, the whole vectors, where the words of each passage start, and their vectors; each
 * part is aligned to 8 bytes.
 */
#include "recall/vector_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "base/view.h"

#define FILE_MAGIC "ethosvec"
#define PIECE_MAGIC "ethospce"
#define FILE_VERSION 1
#define FILE_MODE 0600
#define TEMPORARY ".new"
#define ALIGN 8u

struct file_header {
    char magic[8];
    uint32_t version, reserved;
    uint64_t model;
};

struct piece_header {
    char magic[8];
    uint64_t size; /* of the piece, this included */
    uint64_t image;
    uint32_t first, count, words, reserved;
    uint64_t data;     /* hash_mix of what follows the header */
    uint64_t checksum; /* hash_mix of all before */
};

struct piece {
    uint64_t image;
    struct vectors vectors;
    struct ethos_view bytes; /* as they stand in a file, the header included */
    bool added;              /* bytes are our own, and not in the file */
};

/* A passage by the hash of its text. */
struct slot {
    uint32_t piece, at; /* piece + 1; 0: free */
};

struct vector_file {
    const char *map;
    size_t map_size;
    uint64_t device, inode;
    uint64_t model, end;  /* end: behind the last whole piece */
    bool torn;            /* the file is missing or not whole: it is written anew */
    struct piece *pieces; /* by image, then by passage, as soon as they are asked for */
    size_t count, capacity;
    bool sorted;
    struct vectors *views; /* of the pieces, in their order */
    struct slot *slots;    /* by hash; NULL: not made yet */
    size_t slot_count;     /* a power of two */
};

/* ---- pieces ---------------------------------------------------------------------------------- */

static size_t align_up(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

/* Where the parts of a piece stand behind its header. */
struct piece_parts {
    size_t wholes, starts, tokens, end;
};

static struct piece_parts parts_of(const struct piece_header *header)
{
    struct piece_parts parts;
    parts.wholes = header->count * sizeof(uint64_t);
    parts.starts = parts.wholes + (size_t)header->count * ENCODER_WHOLE;
    parts.tokens = parts.starts + align_up(((size_t)header->count + 1) * sizeof(uint32_t));
    parts.end = parts.tokens + (size_t)header->words * ENCODER_TOKEN;
    return parts;
}

static uint64_t header_checksum(const struct piece_header *header)
{
    return hash_mix(0, view_of((const char *)header, offsetof(struct piece_header, checksum)));
}

static int add_piece(struct vector_file *self, struct ethos_view bytes, bool added)
{
    const struct piece_header *header = (const void *)bytes.data;
    const char *data = bytes.data + sizeof *header;
    struct piece_parts parts = parts_of(header);
    if (self->count == self->capacity) {
        size_t room = self->capacity ? 2 * self->capacity : 16;
        struct piece *rows = realloc(self->pieces, room * sizeof *rows);
        if (!rows)
            return ETHOS_NOMEM;
        self->pieces = rows;
        self->capacity = room;
    }
    self->pieces[self->count++] = (struct piece){
        .image = header->image,
        .vectors = {.first = header->first,
                    .count = header->count,
                    .hashes = (const uint64_t *)(const void *)data,
                    .wholes = (const int8_t *)data + parts.wholes,
                    .starts = (const uint32_t *)(const void *)(data + parts.starts),
                    .tokens = (const int8_t *)data + parts.tokens,
                    .words = header->words},
        .bytes = bytes,
        .added = added,
    };
    self->sorted = false;
    return ETHOS_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool is_piece(const struct piece_header *header, size_t left)
{
    return left >= sizeof *header &&
           memcmp(header->magic, PIECE_MAGIC, sizeof header->magic) == 0 &&
           header->checksum == header_checksum(header) && header->size <= left &&
           header->size == sizeof *header + parts_of(header).end;
}

static int read_pieces(struct vector_file *self)
{
    const struct file_header *header = (const void *)self->map;
    int code = ETHOS_OK;
    self->torn = self->map_size < sizeof *header ||
                 memcmp(header->magic, FILE_MAGIC, sizeof header->magic) != 0 ||
                 header->version != FILE_VERSION || header->model != self->model;
    if (self->torn)
        return ETHOS_OK;
    self->end = sizeof *header;
    while (code == ETHOS_OK && self->end < self->map_size) {
        const struct piece_header *piece = (const void *)(self->map + self->end);
        self->torn = !is_piece(piece, self->map_size - self->end);
        if (self->torn)
            return ETHOS_OK;
        code = add_piece(self, view_of((const char *)piece, piece->size), false);
        self->end += piece->size;
    }
    return code;
}

static int map_vector_file(struct vector_file *self, int dir, const char *name,
                           struct ethos_error *error)
{
    struct stat info;
    int code = ETHOS_OK;
    CLEANUP_FD int fd = os_open_beneath(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
                                        0);
    if (fd < 0)
        return err_errno(error, errno, name);
    if (os_fstat(fd, &info) != 0)
        code = err_errno(error, errno, name);
    if (code == ETHOS_OK && S_ISREG(info.st_mode) && info.st_size > 0) {
        self->map = os_map(fd, (size_t)info.st_size);
        self->map_size = self->map ? (size_t)info.st_size : 0;
        self->device = info.st_dev;
        self->inode = info.st_ino;
        if (!self->map)
            code = err_errno(error, errno, name);
    }
    return code;
}

int vector_file_open(int dir, const char *name, uint64_t model, struct vector_file **out,
                     struct ethos_error *error)
{
    struct vector_file *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->model = model;
    int code = dir >= 0 ? map_vector_file(self, dir, name, error) : ETHOS_NOTFOUND;
    code = code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    if (code == ETHOS_OK && read_pieces(self) != ETHOS_OK)
        code = err_nomem(error);
    if (code != ETHOS_OK) {
        vector_file_close(self);
        return code;
    }
    *out = self;
    return ETHOS_OK;
}

void vector_file_close(struct vector_file *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        if (self->pieces[i].added)
            free((void *)(uintptr_t)self->pieces[i].bytes.data);
    free(self->pieces);
    free(self->views);
    free(self->slots);
    os_unmap(self->map, self->map_size);
    free(self);
}

/* ---- finding --------------------------------------------------------------------------------- */

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    return (x->vectors.first > y->vectors.first) - (x->vectors.first < y->vectors.first);
}

/* What overlaps the piece before it, as a writer that died may leave it, is left out. */
static void drop_overlaps(struct vector_file *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->count; i++) {
        const struct piece *piece = &self->pieces[i],
                           *last = count ? &self->pieces[count - 1] : NULL;
        bool overlaps = last && last->image == piece->image &&
                        piece->vectors.first - last->vectors.first < last->vectors.count;
        if (overlaps && piece->added)
            free((void *)(uintptr_t)piece->bytes.data);
        if (!overlaps)
            self->pieces[count++] = *piece;
    }
    self->count = count;
}

static int sort_pieces(struct vector_file *self)
{
    if (self->sorted)
        return ETHOS_OK;
    struct vectors *views = realloc(self->views, (self->count + 1) * sizeof *views);
    if (!views)
        return ETHOS_NOMEM;
    self->views = views;
    if (self->count > 0)
        qsort(self->pieces, self->count, sizeof *self->pieces, compare_pieces);
    drop_overlaps(self);
    for (size_t i = 0; i < self->count; i++)
        views[i] = self->pieces[i].vectors;
    free(self->slots);
    self->slots = NULL;
    self->sorted = true;
    return ETHOS_OK;
}

int vector_file_find(struct vector_file *self, uint64_t image, struct image_vectors *out)
{
    size_t low = 0, high;
    if (sort_pieces(self) != ETHOS_OK)
        return ETHOS_NOMEM;
    for (high = self->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (self->pieces[middle].image < image)
            low = middle + 1;
        else
            high = middle;
    }
    out->pieces = self->views + low;
    for (out->count = 0; low < self->count && self->pieces[low].image == image; low++)
        out->count++;
    return ETHOS_OK;
}

/* ---- by text --------------------------------------------------------------------------------- */

static uint64_t hash_at(const struct vector_file *self, const struct slot *slot)
{
    return self->pieces[slot->piece - 1].vectors.hashes[slot->at];
}

/* The slot of a hash, or the free one where it belongs. */
static struct slot *find_hash_slot(const struct vector_file *self, uint64_t hash)
{
    for (size_t i = (size_t)hash & (self->slot_count - 1);; i = (i + 1) & (self->slot_count - 1)) {
        struct slot *slot = &self->slots[i];
        if (slot->piece == 0 || hash_at(self, slot) == hash)
            return slot;
    }
}

static bool make_slots(struct vector_file *self)
{
    size_t passages = 0;
    for (size_t i = 0; i < self->count; i++)
        passages += self->pieces[i].vectors.count;
    for (self->slot_count = 16; self->slot_count < 2 * passages; self->slot_count *= 2)
        ;
    self->slots = calloc(self->slot_count, sizeof *self->slots);
    for (uint32_t i = 0; self->slots && i < self->count; i++)
        for (uint32_t at = 0; at < self->pieces[i].vectors.count; at++) {
            struct slot *slot = find_hash_slot(self, self->pieces[i].vectors.hashes[at]);
            *slot = (struct slot){i + 1, at};
        }
    return self->slots != NULL;
}

/* Without memory for the table nothing is known. A text without a hash was not to be had. */
bool vector_file_known(void *arg, uint64_t hash, struct passage_vectors *out)
{
    struct vector_file *self = arg;
    if (hash == 0 || sort_pieces(self) != ETHOS_OK || (!self->slots && !make_slots(self)))
        return false;
    const struct slot *slot = find_hash_slot(self, hash);
    if (slot->piece == 0)
        return false;
    const struct vectors *piece = &self->views[slot->piece - 1];
    const struct image_vectors one = {piece, 1};
    return image_vectors_find(&one, piece->first + slot->at, out);
}

/* ---- adding ---------------------------------------------------------------------------------- */

int vector_file_add(struct vector_file *self, uint64_t image, uint32_t first,
                    const struct vector_builder *made, struct ethos_error *error)
{
    struct piece_header header = {.image = image,
                                  .first = first,
                                  .count = made->count,
                                  .words = (uint32_t)(made->tokens.size / ENCODER_TOKEN)};
    struct piece_parts parts = parts_of(&header);
    char *bytes = made->count ? calloc(1, sizeof header + parts.end) : NULL;
    if (!bytes)
        return made->count ? err_nomem(error) : ETHOS_OK;
    char *data = bytes + sizeof header;
    memcpy(data, made->hashes.data, made->hashes.size);
    memcpy(data + parts.wholes, made->wholes.data, made->wholes.size);
    memcpy(data + parts.starts, made->starts.data, made->starts.size);
    if (made->tokens.size > 0)
        memcpy(data + parts.tokens, made->tokens.data, made->tokens.size);
    memcpy(header.magic, PIECE_MAGIC, sizeof header.magic);
    header.size = sizeof header + parts.end;
    header.data = hash_mix(0, view_of(data, parts.end));
    header.checksum = header_checksum(&header);
    memcpy(bytes, &header, sizeof header);
    if (add_piece(self, view_of(bytes, header.size), true) == ETHOS_OK)
        return ETHOS_OK;
    free(bytes);
    return err_nomem(error);
}

/* ---- saving ---------------------------------------------------------------------------------- */

static bool is_searched(uint64_t image, const uint64_t *images, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (images[i] == image)
            return true;
    return false;
}

static int write_bytes(int fd, struct ethos_view bytes, const char *name, struct ethos_error *error)
{
    return os_write_all(fd, bytes.data, bytes.size) != 0 ? err_errno(error, errno, name) : ETHOS_OK;
}

static int write_pieces(const struct vector_file *self, int fd, const char *name,
                        const uint64_t *images, size_t count, struct ethos_error *error)
{
    struct file_header header = {.version = FILE_VERSION, .model = self->model};
    memcpy(header.magic, FILE_MAGIC, sizeof header.magic);
    int code = write_bytes(fd, view_of((const char *)&header, sizeof header), name, error);
    for (size_t i = 0; code == ETHOS_OK && i < self->count; i++)
        if (is_searched(self->pieces[i].image, images, count))
            code = write_bytes(fd, self->pieces[i].bytes, name, error);
    return code;
}

/* In the place of the file, if there is one. */
static int write_anew(const struct vector_file *self, int dir, const char *name,
                      const uint64_t *images, size_t count, struct ethos_error *error)
{
    char temporary[256];
    snprintf(temporary, sizeof temporary, "%s" TEMPORARY, name);
    CLEANUP_FD int fd = os_open_beneath(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
                                        FILE_MODE);
    if (fd < 0)
        return err_errno(error, errno, name);
    int code = write_pieces(self, fd, name, images, count, error);
    if (code == ETHOS_OK && os_renameat(dir, temporary, dir, name, 0) != 0)
        code = err_errno(error, errno, name);
    if (code != ETHOS_OK)
        os_unlinkat(dir, temporary, 0);
    return code;
}

/* Whether the file that was opened is still the one of that name, and nothing was added to it. */
static bool is_file_unchanged(const struct vector_file *self, int fd)
{
    struct stat info;
    return os_fstat(fd, &info) == 0 && info.st_dev == self->device && info.st_ino == self->inode &&
           (uint64_t)info.st_size == self->map_size;
}

static int write_added(const struct vector_file *self, int fd, const char *name,
                       struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < self->count; i++)
        if (self->pieces[i].added)
            code = write_bytes(fd, self->pieces[i].bytes, name, error);
    return code;
}

/* How many bytes of pieces are of images that are searched, and how many are not. */
static void sum_bytes(const struct vector_file *self, const uint64_t *images, size_t count,
                      uint64_t *out_used, uint64_t *out_unused)
{
    *out_used = *out_unused = 0;
    for (size_t i = 0; i < self->count; i++)
        *(is_searched(self->pieces[i].image, images, count)
              ? out_used
              : out_unused) += self->pieces[i].bytes.size;
}

int vector_file_save(struct vector_file *self, int dir, const char *name, const uint64_t *images,
                     size_t count, bool anew, struct ethos_error *error)
{
    uint64_t used, unused;
    if (sort_pieces(self) != ETHOS_OK)
        return err_nomem(error);
    sum_bytes(self, images, count, &used, &unused);
    if (used == 0) {
        os_unlinkat(dir, name, 0);
        return ETHOS_OK;
    }
    anew = anew || self->torn || unused > used;
    int fd = anew ? -1 : os_open_beneath(dir, name, O_WRONLY | O_APPEND | O_NOFOLLOW, 0);
    int code = fd >= 0 && is_file_unchanged(self, fd)
                   ? write_added(self, fd, name, error)
                   : write_anew(self, dir, name, images, count, error);
    if (fd >= 0)
        os_close(fd);
    return code;
}

uint64_t vector_file_bytes(const struct vector_file *self)
{
    uint64_t used, unused;
    sum_bytes(self, NULL, 0, &used, &unused);
    return unused;
}

bool vector_file_is_whole(const struct vector_file *self)
{
    for (size_t i = 0; i < self->count; i++) {
        const struct piece_header *header = (const void *)self->pieces[i].bytes.data;
        if (header->data != hash_mix(0, view_from(self->pieces[i].bytes, sizeof *header)))
            return false;
    }
    return true;
}
