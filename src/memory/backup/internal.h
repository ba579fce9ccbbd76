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

/* The scope of a directory below the home; the tree of the memory tool is a scope of its own. */
bool backup_scope(const char *path, char out[ETHOS_MAX_SCOPE]);

/* ---- writer.c ------------------------------------------------------------------------ */

/* The destination of files. fd or dir is -1; if both are, files are only counted. */
struct backup_target {
    const struct backup_stop *stop; /* called for every piece; or NULL */
    int fd;                         /* of an archive */
    int dir;                        /* of a folder */
    bool fleeting;                  /* temporary: nothing is synced */
    uint64_t end;                   /* of the archive: where the current entry begins */
    json_t *files;                  /* path: SHA-256 */
    uint64_t count, bytes;
    int file;      /* the current file in the folder, or -1 */
    uint64_t room; /* bytes that the current entry still needs */
    struct tar_entry entry;
    struct digest digest;
};

/*
 * Creates and locks a folder. An existing one that is not locked was left by a killed process and
 * is removed. ETHOS_BUSY if it is locked. Other failures set errno.
 */
int backup_make_folder(const char *path, int *out, struct ethos_error *error);

/*
 * Writes one file: begin, its bytes in pieces, end. drop removes one that was begun. ETHOS_IO if
 * stopped.
 */
int backup_begin(struct backup_target *target, const char *path, uint64_t size, unsigned mode,
                 int64_t mtime_s, struct ethos_error *error);
int backup_data(struct backup_target *target, const void *data, size_t size,
                struct ethos_error *error);
int backup_end(struct backup_target *target, struct ethos_error *error);
int backup_drop(struct backup_target *target, struct ethos_error *error);

/* Writes the list itself, which it does not list, and then the end of the archive. */
int backup_finish(struct backup_target *target, int64_t now_ms, struct ethos_error *error);

/* Syncs every directory below. 0, or -1 and errno. */
int backup_sync_tree(int dir);

/* ---- reader.c ------------------------------------------------------------------------ */

struct backup_found {
    char created[32]; /* "" when it does not say */
    uint64_t files, bytes;
};

/*
 * Reads a whole backup, checks every path and compares every file with the list. into receives the
 * files. ETHOS_CORRUPT or ETHOS_DENIED; ETHOS_NOTFOUND if it does not exist.
 */
int backup_read(const char *path, struct backup_target *into, struct backup_found *out,
                struct ethos_error *error);

/* Runs integrity_check on every database below the folder, given by its absolute path. */
int backup_check_databases(const char *path, const json_t *files, struct ethos_error *error);

/* ---- restore_merge.c ------------------------------------------------------------------------ */

/* Merges the home that was unpacked at `from` into the home of the handle; adds to rows. */
int restore_merge(struct ethos *ethos, const char *from, const json_t *files,
                  const struct restore_how *how, json_t **rows, struct ethos_error *error);

#endif
