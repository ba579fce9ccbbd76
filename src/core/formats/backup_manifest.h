/*
 * backup_manifest.h: which files of a home a backup contains, and its manifest, the list of these files.
 *
 * Paths are relative to the home. The manifest has the form of sha256sum, so that `sha256sum -c` can check it:
 *
 *     # ethos-backup 1
 *     # version 0.1.0
 *     # created 2026-11-15T08:00:00.000Z
 *     <64 hex digits>  MEMORY.md
 *
 * A path with a backslash has it doubled, and its line begins with one. Pure.
 */
#ifndef ETHOS_CORE_FORMATS_BACKUP_MANIFEST_H
#define ETHOS_CORE_FORMATS_BACKUP_MANIFEST_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/clock.h"
#include "base/json.h"

struct str;

#define BACKUP_MANIFEST "ethos-backup.sha256"
#define BACKUP_MAX_FILES 2000000                /* in one backup */
#define BACKUP_MAX_MANIFEST (512 * 1024 * 1024) /* bytes */
#define BACKUP_MAX_DEPTH 32                     /* folders of one path */
#define BACKUP_MAX_PATH 1024                    /* bytes of a path */

enum backup_class {
    BACKUP_FILE,
    BACKUP_DATABASE, /* by its name an SQLite database */
    BACKUP_SECRET,   /* keys of model providers: only if requested */
    BACKUP_LOCAL     /* locks, sockets, login tokens, files that can be rebuilt: never */
};

/* The class of a file, by its path. */
enum backup_class backup_class(const char *path);

/*
 * ETHOS_DENIED, naming the path, if it could lead out of the home (absolute, "..", empty parts), contains control
 * characters, or is BACKUP_LOCAL.
 */
int backup_check_path(const char *path, struct ethos_error *error);

/* Adds a file to an object of paths and hex SHA-256 hashes. ETHOS_CORRUPT if the path is in it already. */
int backup_add(json_t *files, const char *path, const char *sha256, struct ethos_error *error);

/* Appends the manifest. Returns str_code. */
int backup_print(const json_t *files, const char *version, int64_t now_ms, struct str *out);

/* Parses a manifest; out_created is its time, or "". ETHOS_CORRUPT, or ETHOS_DENIED for a path. */
int backup_parse(struct ethos_view text, json_t **out_files, char out_created[CLOCK_ISO_SIZE],
                 struct ethos_error *error);

/* Compares the manifest with the files found: ETHOS_CORRUPT names one that is missing, differs, or is not listed. */
int backup_compare(const json_t *listed, const json_t *found, struct ethos_error *error);

#endif
