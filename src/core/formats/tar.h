/*
 * tar.h: reads and writes tar archives of regular files in the POSIX format: ustar, with a pax header for a path or a
 * size that does not fit.
 *
 * Pure: the reader gets bytes from a callback. It accepts regular files and directories with any names, and refuses links,
 * devices, sparse files, other kinds, and truncated archives.
 */
#ifndef ETHOS_CORE_FORMATS_TAR_H
#define ETHOS_CORE_FORMATS_TAR_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

#define TAR_BLOCK 512          /* bytes */
#define TAR_PATH_SIZE 4096     /* bytes of a path, with its terminator */
#define TAR_MAX_PAX 65536      /* bytes of a pax header */
#define TAR_MAX_SIZE INT64_MAX /* bytes of one file */

struct tar_entry {
    char path[TAR_PATH_SIZE];
    uint64_t size;
    unsigned mode;
    int64_t mtime_s;
    bool directory;
};

/* ---- writing -------------------------------------------------------------------------------- */

/* Appends the header of a file. Returns str_code. */
int tar_print(const struct tar_entry *entry, struct str *out);

/* The number of zero bytes after a file of this size, and after the last file. */
size_t tar_padding(uint64_t size);
#define TAR_END_BYTES (2 * TAR_BLOCK)

/* ---- reading -------------------------------------------------------------------------------- */

/* Fills data with the next `size` bytes. ETHOS_OK, or a code with the error set. */
typedef int tar_read_fn(void *arg, void *data, size_t size, struct ethos_error *error);

struct tar {
    tar_read_fn *read;
    void *arg;
    uint64_t left;   /* bytes of the archive not read yet */
    uint64_t unread; /* bytes of the current file not read yet */
    size_t padding;  /* zero bytes after it */
};

/* The archive has `size` bytes. */
void tar_open(struct tar *tar, uint64_t size, tar_read_fn *read, void *arg);

/* Reads the next entry: 1, or 0 at the end; else ETHOS_CORRUPT, ETHOS_DENIED for a refused kind, or another code. */
int tar_next(struct tar *tar, struct tar_entry *out, struct ethos_error *error);

/* Reads at most `size` bytes of the current file; *out_size 0 at its end. */
int tar_data(struct tar *tar, void *data, size_t size, size_t *out_size, struct ethos_error *error);

#endif
