/*
 * file.h: reads a whole regular file, and replaces one atomically.
 */
#ifndef ETHOS_BASE_SYSTEM_FILE_H
#define ETHOS_BASE_SYSTEM_FILE_H

#include <sys/stat.h>

#include <ethos/types.h>

struct str;

/*
 * Appends the file open as fd, which name denotes in errors; out is unchanged after a failure.
 * ETHOS_LIMIT beyond limit bytes. out_info may be NULL.
 */
int file_read(int fd, const char *name, size_t limit, struct str *out, struct stat *out_info,
              struct ethos_error *error);

/*
 * Replaces dir/name durably: readers see the old text or the new one. Owner and mode of the old
 * file are kept; a new file gets this mode. An existing one must be a regular file.
 */
int file_replace(int dir, const char *name, struct ethos_view text, mode_t mode,
                 struct ethos_error *error);

/* The same, durable once the caller has synced dir: for many files at a time. */
int file_swap(int dir, const char *name, struct ethos_view text, mode_t mode,
              struct ethos_error *error);

#endif
