/*
 * index.c: reads and writes the file of an index, which consists of frames.
 *
 * A file is a header and frames; a frame is a header, the stamps of its documents and an image,
 * each aligned to 8 bytes. Only stamps, and the stamp in the header, change in place: eight bytes
 * at a time, so that a reader sees the old or the new one.
 */
#include "recall/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "recall/image_internal.h"

#define INDEX_MAGIC "ethosrcl"
#define FRAME_MAGIC "ethosfrm"
#define INDEX_VERSION (3u << 16 | IMAGE_VERSION) /* a file of another version counts as missing */
#define FILE_MODE 0600
#define TEMPORARY ".new"
#define NAME_SIZE (ETHOS_MAX_SCOPE + 16)

#define MERGE_FACTOR 2 /* a frame is at least this many times as large as those after it together */

struct file_header {
    char magic[8];
    uint32_t version;
    uint32_t model; /* checksum of the table that its rows belong to; 0: none */
    uint64_t stamp;
    uint64_t id; /* random, chosen when the file is rewritten; 0: none */
};

struct frame_header {
    char magic[8];
    uint64_t size; /* of the frame, including this header */
    uint32_t documents, image_size;
    uint32_t replaces; /* number of previous frames that it replaces */
    uint32_t reserved;
    uint64_t checksum; /* hash_mix of everything before */
};

struct index_frame {
    struct ethos_view bytes; /* image */
    char *owned;             /* NULL: mapped */
    uint64_t *stamps;        /* current stamps of the documents */
    bool *gone;
    uint64_t offset; /* offset of the frame in the file; 0: not written */
    bool changed;    /* its stamps differ from the file */
};

struct recall_index {
    uint32_t model, written_by; /* that it was opened with; of the file */
    const char *map;
    size_t map_size;
    uint64_t device, inode; /* of the mapped file */
    bool quick;             /* of the trust */
    uint64_t trusted;       /* the file was verified up to here */
    uint64_t stamp, end;    /* end: of the last complete frame in the file */
    int64_t saved_ms;
    bool torn;         /* rewrite: there is no file, or bytes after its last frame */
    bool added;        /* the last frame is not in the file yet */
    uint32_t replaces; /* how many frames of the file it replaces */
    uint64_t replaced; /* bytes of replaced images in the file */
    struct index_frame frames[INDEX_FRAMES];
    struct recall_frame views[INDEX_FRAMES];
    size_t count;
};

/* ---- opening --------------------------------------------------------------------------------- */

static int fail_damaged_index(const char *name, struct ethos_error *error)
{
    return err_set(error, ETHOS_CORRUPT, "recall/%s: the index is damaged", name);
}

static uint64_t header_checksum(const struct frame_header *header)
{
    return hash_mix(0, view_of((const char *)header, offsetof(struct frame_header, checksum)));
}

static void release_frame(struct index_frame *frame)
{
    free(frame->owned);
    free(frame->stamps);
    free(frame->gone);
    *frame = (struct index_frame){.owned = NULL};
}

static void drop_frame(struct recall_index *index)
{
    release_frame(&index->frames[--index->count]);
    index->views[index->count] = (struct recall_frame){.stamps = NULL};
}

/* Opens the image of the next frame, and copies its stamps. */
static int open_frame(struct recall_index *index, const uint64_t *stamps, uint32_t documents,
                      struct ethos_error *error)
{
    struct index_frame *frame = &index->frames[index->count];
    struct recall_frame *view = &index->views[index->count];
    frame->stamps = calloc(documents + 1, sizeof *frame->stamps);
    frame->gone = calloc(documents + 1, sizeof *frame->gone);
    if (!frame->stamps || !frame->gone)
        return err_nomem(error);
    bool again = !frame->owned && index->end <= index->trusted;
    int code = again                           ? image_open_again(frame->bytes, &view->image, error)
               : index->quick && !frame->owned ? image_open_quick(frame->bytes, &view->image, error)
                                               : image_open(frame->bytes, &view->image, error);
    if (code != ETHOS_OK || view->image.counts.documents != documents)
        return ETHOS_CORRUPT;
    for (uint32_t i = 0; i < documents; i++) {
        frame->stamps[i] = stamps[i];
        frame->gone[i] = stamps[i] == INDEX_GONE;
        if (frame->gone[i])
            view->image.gone = frame->gone;
    }
    view->stamps = frame->stamps;
    index->count++;
    return ETHOS_OK;
}

/* Reads the frame at the end; ETHOS_NOTFOUND if it is incomplete. */
static int read_frame(struct recall_index *index, struct ethos_error *error)
{
    const struct frame_header *header = (const void *)(index->map + index->end);
    size_t left = index->map_size - index->end;
    if (left < sizeof *header)
        return ETHOS_NOTFOUND;
    size_t image = sizeof *header + header->documents * sizeof(uint64_t);
    if (memcmp(header->magic, FRAME_MAGIC, sizeof header->magic) != 0 ||
        header->checksum != header_checksum(header))
        return ETHOS_CORRUPT;
    if (header->size > left)
        return ETHOS_NOTFOUND;
    if (header->size % 8 != 0 || image + header->image_size > header->size ||
        header->replaces > index->count || index->count - header->replaces == INDEX_FRAMES)
        return ETHOS_CORRUPT;
    for (uint32_t i = 0; i < header->replaces; i++) {
        index->replaced += index->frames[index->count - 1].bytes.size;
        drop_frame(index);
    }
    struct index_frame *frame = &index->frames[index->count];
    frame->bytes = view_of((const char *)header + image, header->image_size);
    frame->offset = index->end;
    index->end += header->size;
    return open_frame(index, (const void *)(header + 1), header->documents, error);
}

static int read_frames(struct recall_index *index, const char *name, struct ethos_error *error)
{
    const struct file_header *header = (const void *)index->map;
    int code = ETHOS_OK;
    if (index->map_size < sizeof *header ||
        memcmp(header->magic, INDEX_MAGIC, sizeof header->magic) != 0)
        return fail_damaged_index(name, error);
    index->torn = header->version != INDEX_VERSION ||
                  (index->model != 0 && header->model != index->model);
    if (index->torn)
        return ETHOS_OK;
    index->stamp = header->stamp;
    index->written_by = header->model;
    index->end = sizeof *header;
    while (code == ETHOS_OK && index->end < index->map_size)
        code = read_frame(index, error);
    index->torn = code == ETHOS_NOTFOUND;
    if (code == ETHOS_CORRUPT)
        return fail_damaged_index(name, error);
    return index->torn ? ETHOS_OK : code;
}

static int map_index_file(struct recall_index *index, int dir, const char *name,
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
    else if (!S_ISREG(info.st_mode) || info.st_size == 0)
        code = fail_damaged_index(name, error);
    if (code == ETHOS_OK) {
        index->map = os_map(fd, (size_t)info.st_size);
        index->map_size = (size_t)info.st_size;
        index->device = info.st_dev;
        index->inode = info.st_ino;
        index->saved_ms = info.st_mtim.tv_sec * (int64_t)1000 + info.st_mtim.tv_nsec / 1000000;
        if (!index->map)
            code = err_errno(error, errno, name);
    }
    return code;
}

static const struct file_header *header_of(const struct recall_index *index)
{
    return index->map_size >= sizeof(struct file_header) ? (const void *)index->map : NULL;
}

static void read_trust(struct recall_index *index, const struct recall_trust *trust)
{
    const struct file_header *header = header_of(index);
    int64_t age = os_monotonic_ms() - trust->checked_ms;
    index->quick = trust->quick;
    if (header && header->id != 0 && header->id == trust->id && age < INDEX_TRUST_MS)
        index->trusted = trust->end;
}

static void set_trust(const struct recall_index *index, struct recall_trust *trust)
{
    const struct file_header *header = header_of(index);
    if (!header || index->end <= index->trusted || index->quick)
        return;
    if (index->trusted == 0)
        *trust = (struct recall_trust){.id = header->id, .checked_ms = os_monotonic_ms()};
    trust->end = index->end;
}

static uint32_t fold_model(uint64_t model)
{
    return (uint32_t)(model ^ model >> 32);
}

bool recall_index_is_of(const struct recall_index *index, uint64_t model)
{
    return index->count == 0 || index->written_by == fold_model(model);
}

int recall_index_open(int dir, const char *name, uint64_t model, struct recall_trust *trust,
                      struct recall_index **out, struct ethos_error *error)
{
    struct recall_index *index = calloc(1, sizeof *index);
    if (!index)
        return err_nomem(error);
    index->model = fold_model(model);
    index->saved_ms = os_now_ms(); // of what is added
    index->written_by = index->model;
    int code = dir >= 0 ? map_index_file(index, dir, name, error) : ETHOS_NOTFOUND;
    if (code == ETHOS_OK && trust)
        read_trust(index, trust);
    if (code == ETHOS_OK)
        code = read_frames(index, name, error);
    if (code == ETHOS_OK && trust)
        set_trust(index, trust);
    if (code == ETHOS_NOTFOUND) {
        index->torn = true;
        code = ETHOS_OK;
    }
    if (code != ETHOS_OK) {
        recall_index_close(index);
        return code;
    }
    *out = index;
    return ETHOS_OK;
}

void recall_index_close(struct recall_index *index)
{
    if (!index)
        return;
    for (size_t i = 0; i < INDEX_FRAMES; i++)
        release_frame(&index->frames[i]);
    os_unmap(index->map, index->map_size);
    free(index);
}

const struct recall_frame *recall_index_frames(const struct recall_index *index, size_t *out_count)
{
    *out_count = index->count;
    return index->views;
}

uint64_t recall_index_stamp(const struct recall_index *index)
{
    return index->stamp;
}

int64_t recall_index_saved_ms(const struct recall_index *index)
{
    return index->saved_ms;
}

/* ---- changing -------------------------------------------------------------------------------- */

static bool is_half_gone(const struct recall_index *index, size_t frame)
{
    uint32_t documents = index->views[frame].image.counts.documents, gone = 0;
    for (uint32_t d = 0; d < documents; d++)
        gone += index->frames[frame].gone[d];
    return 2 * gone > documents;
}

size_t recall_index_merge(const struct recall_index *index, uint64_t bytes)
{
    size_t from = index->count;
    for (size_t i = index->count; i > 0; i--) {
        if (is_half_gone(index, i - 1) || index->frames[i - 1].bytes.size < MERGE_FACTOR * bytes)
            from = i - 1;
        bytes += index->frames[i - 1].bytes.size;
    }
    return from < INDEX_FRAMES ? from : INDEX_FRAMES - 1;
}

int recall_index_add(struct recall_index *index, size_t from, struct str *image,
                     const uint64_t *stamps, uint32_t count, struct ethos_error *error)
{
    size_t size;
    for (index->replaces = 0; index->count > from; index->replaces++) {
        index->replaced += index->frames[index->count - 1].bytes.size;
        drop_frame(index);
    }
    struct index_frame *frame = &index->frames[index->count];
    frame->owned = str_steal(image, &size);
    if (!frame->owned)
        return err_nomem(error);
    frame->bytes = view_of(frame->owned, size);
    index->added = true;
    return open_frame(index, stamps, count, error);
}

void recall_index_restamp(struct recall_index *index, size_t frame, uint32_t document,
                          uint64_t stamp)
{
    struct index_frame *row = &index->frames[frame];
    row->changed = row->changed || row->stamps[document] != stamp;
    row->stamps[document] = stamp;
    row->gone[document] = stamp == INDEX_GONE;
    index->views[frame].image.gone = row->gone;
}

/* ---- saving ---------------------------------------------------------------------------------- */

static size_t stamps_size(const struct recall_index *index, size_t frame)
{
    return index->views[frame].image.counts.documents * sizeof(uint64_t);
}

/* Appends a frame in the format of the file. */
static void append_frame(const struct recall_index *index, size_t i, uint32_t replaces,
                         struct str *out)
{
    const struct index_frame *frame = &index->frames[i];
    struct frame_header header = {.documents = index->views[i].image.counts.documents,
                                  .image_size = (uint32_t)frame->bytes.size,
                                  .replaces = replaces};
    size_t start = out->size;
    size_t size = sizeof header + stamps_size(index, i) + frame->bytes.size;
    memcpy(header.magic, FRAME_MAGIC, sizeof header.magic);
    header.size = (size + 7) / 8 * 8;
    header.checksum = header_checksum(&header);
    str_add(out, view_of((const char *)&header, sizeof header));
    str_add(out, view_of((const char *)frame->stamps, stamps_size(index, i)));
    str_add(out, frame->bytes);
    while (out->size - start < header.size && str_addc(out, '\0') == ETHOS_OK)
        ;
}

static struct file_header make_header(uint32_t model, uint64_t stamp)
{
    struct file_header header = {.version = INDEX_VERSION, .model = model, .stamp = stamp};
    if (os_random(&header.id, sizeof header.id) != 0)
        header.id = 0;
    memcpy(header.magic, INDEX_MAGIC, sizeof header.magic);
    return header;
}

/* Replaces the file, if there is one. */
static int write_new(int dir, const char *name, const char *temporary, const struct str *bytes,
                     struct ethos_error *error)
{
    int fd = os_open_beneath(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, FILE_MODE);
    int code = ETHOS_OK;
    if (fd < 0)
        return err_errno(error, errno, name);
    if (os_write_all(fd, bytes->data, bytes->size) != 0 ||
        os_renameat(dir, temporary, dir, name, 0) != 0) {
        code = err_errno(error, errno, name);
        os_unlinkat(dir, temporary, 0);
    }
    os_close(fd);
    return code;
}

static int write_file(struct recall_index *index, int dir, const char *name, uint64_t stamp,
                      struct ethos_error *error)
{
    const struct file_header header = make_header(index->model, stamp);
    char temporary[NAME_SIZE + sizeof TEMPORARY];
    CLEANUP_STR struct str bytes;
    str_init(&bytes, SIZE_MAX);
    str_add(&bytes, view_of((const char *)&header, sizeof header));
    for (size_t i = 0; i < index->count; i++)
        append_frame(index, i, 0, &bytes);
    int code = str_code(&bytes) ? err_nomem(error) : ETHOS_OK;
    snprintf(temporary, sizeof temporary, "%s" TEMPORARY, name);
    if (code == ETHOS_OK)
        code = write_new(dir, name, temporary, &bytes, error);
    return code;
}

/* Whether the opened file still has that name, and nothing was appended to it. */
static bool is_index_unchanged(const struct recall_index *index, int fd)
{
    struct stat info;
    return os_fstat(fd, &info) == 0 && info.st_dev == index->device &&
           info.st_ino == index->inode && (uint64_t)info.st_size == index->map_size;
}

static int write_at(int fd, const void *data, size_t size, uint64_t offset, const char *name,
                    struct ethos_error *error)
{
    for (size_t done = 0; done < size;) {
        ssize_t count = os_pwrite(fd, (const char *)data + done, size - done, offset + done);
        if (count <= 0)
            return err_errno(error, count < 0 ? errno : ENOSPC, name);
        done += (size_t)count;
    }
    return ETHOS_OK;
}

/*
 * Writes new frames, then changed stamps, then the stamp of the index: a crash between leaves a
 * state that is recognised.
 */
static int write_changes(struct recall_index *index, int fd, const char *name, uint64_t stamp,
                         struct ethos_error *error)
{
    struct str bytes;
    int code = ETHOS_OK;
    str_init(&bytes, SIZE_MAX);
    if (index->added)
        append_frame(index, index->count - 1, index->replaces, &bytes);
    code = str_code(&bytes) ? err_nomem(error) : ETHOS_OK;
    if (code == ETHOS_OK)
        code = write_at(fd, bytes.data, bytes.size, index->end, name, error);
    str_release(&bytes);
    for (size_t i = 0; code == ETHOS_OK && i < index->count - index->added; i++)
        if (index->frames[i].changed)
            code = write_at(fd, index->frames[i].stamps, stamps_size(index, i),
                            index->frames[i].offset + sizeof(struct frame_header), name, error);
    if (code == ETHOS_OK && stamp != index->stamp)
        code = write_at(fd, &stamp, sizeof stamp, offsetof(struct file_header, stamp), name, error);
    return code;
}

uint64_t recall_index_bytes(const struct recall_index *index)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < index->count; i++)
        sum += index->frames[i].bytes.size;
    return sum;
}

int recall_index_save(struct recall_index *index, int dir, const char *name, uint64_t stamp,
                      struct ethos_error *error)
{
    bool anew = index->torn || index->replaced > recall_index_bytes(index);
    int fd = anew ? -1 : os_open_beneath(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd >= 0 && is_index_unchanged(index, fd)) {
        int code = write_changes(index, fd, name, stamp, error);
        os_close(fd);
        return code;
    }
    if (fd >= 0)
        os_close(fd);
    return write_file(index, dir, name, stamp, error);
}
