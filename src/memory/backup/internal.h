/*
 * internal.h: what the files behind backup.h share.
 *
 *   backup.c         walks a home and writes it
 *   writer.c         a backup that is being written: an archive or a folder
 *   reader.c         one that is read: compared with its list, unpacked
 *   restore.c        into an empty home
 *   restore_merge.c  into one with memory
 */
#ifndef ETHOS_MEMORY_BACKUP_INTERNAL_H
#define ETHOS_MEMORY_BACKUP_INTERNAL_H

#include <sys/types.h>

#include "base/digest.h"
#include "core/formats/tar.h"
#include "memory/backup/backup.h"

#define BACKUP_BUFFER 262144 /* bytes that are read at once */

/* ---- backup.c -------------------------------------------------------------------------------- */

/* The scope whose directory this is, below the home; its tree of the memory tool is one of its own. */
bool backup_scope(const char *path, char out[ETHOS_MAX_SCOPE]);

/* ---- writer.c ------------------------------------------------------------------------ */

/* Where files go. fd or dir is -1; both: nothing is written, only counted. */
struct backup_target {
    const struct backup_stop *stop; /* asked at every piece; or NULL */
    int fd;                         /* of an archive */
    int dir;                        /* of a folder */
    bool fleeting;                  /* whoever crashes needs it no more: nothing is synced */
    uint64_t end;                   /* of the archive: where the current entry begins */
    json_t *files;                  /* path: SHA-256 */
    uint64_t count, bytes;
    int file;      /* current one in the folder, or -1 */
    uint64_t room; /* bytes that the current entry still lacks */
    struct tar_entry entry;
    struct digest digest;
};

/*
 * Makes a folder and locks it. One of that name that nobody has locked is what a killed process left, and goes.
 * ETHOS_BUSY when somebody has. Another failure leaves errno.
 */
int backup_make_folder(const char *path, int *out, struct ethos_error *error);

/* One file: begin, its bytes in pieces, end. drop takes a begun one back. ETHOS_IO when it is stopped. */
int backup_begin(struct backup_target *target, const char *path, uint64_t size, unsigned mode,
                 int64_t mtime_s, struct ethos_error *error);
int backup_data(struct backup_target *target, const void *data, size_t size,
                struct ethos_error *error);
int backup_end(struct backup_target *target, struct ethos_error *error);
int backup_drop(struct backup_target *target, struct ethos_error *error);

/* Writes a file that is not listed: the list itself. Then the end of the archive. */
int backup_finish(struct backup_target *target, int64_t now_ms, struct ethos_error *error);

/* Makes every directory below durable. 0, or -1 and errno. */
int backup_sync_tree(int dir);

/* ---- reader.c ------------------------------------------------------------------------ */

struct backup_found {
    char created[32]; /* "" when it does not say */
    uint64_t files, bytes;
};

/*
 * Reads a backup whole, checks every path and compares every file with the list. into gets the files. ETHOS_CORRUPT, ETHOS_DENIED; ETHOS_NOTFOUND when there is none.
 */
int backup_read(const char *path, struct backup_target *into, struct backup_found *out,
                struct ethos_error *error);

/* integrity_check of every database below the folder, whose absolute path this is. */
int backup_check_databases(const char *path, const json_t *files, struct ethos_error *error);

/* ---- restore_merge.c ------------------------------------------------------------------------ */

/* Merges the home that was unpacked at `from` into the home of the handle; adds to rows. */
int restore_merge(struct ethos *ethos, const char *from, const json_t *files,
                  const struct restore_how *how, json_t **rows, struct ethos_error *error);

#endif
