/*
 * directory.h: the home directory and its small files that are not memory.
 *
 * config.yaml and identity-map.json are read whole, and replaced under a lock by a synced temporary
 * and a rename; a reader sees the old or the new file. Nothing is created before the first write. A
 * home that others can write to is refused: whoever can write it decides what the agent believes.
 */
#ifndef ETHOS_MEMORY_HOME_DIRECTORY_H
#define ETHOS_MEMORY_HOME_DIRECTORY_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

#include "base/json.h"

struct str;

/* The validator of a file that was read. All zero: absent. */
struct home_stamp {
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
    uint64_t exposed; /* 1: others than its owner may read it, or we are not its owner */
};

/* The directory of the user, which contains .ethos by default; NULL if unknown. */
const char *home_of_user(void);

/*
 * The absolute path of the home: given, $ETHOS_HOME, $ETHOS_STATE_DIR, or ~/.ethos. Free with
 * free().
 */
int home_path(const char *given, char **out_path, struct ethos_error *error);

/* A descriptor of the directory. ETHOS_NOTFOUND if it does not exist; create makes it, 0700. */
int home_open(const char *path, bool create, int *out_dir, struct ethos_error *error);

/* Appends the file beneath dir. ETHOS_NOTFOUND if absent; out_stamp may be NULL. */
int home_read(int dir, const char *name, size_t limit, struct str *out,
              struct home_stamp *out_stamp, struct ethos_error *error);

/* One JSON document of at most ETHOS_MAX_MAP_BYTES. ETHOS_CORRUPT if it cannot be parsed. */
int home_read_json(int dir, const char *name, json_t **out, struct ethos_error *error);

/* Likewise, of at most so many bytes. */
int home_read_json_most(int dir, const char *name, size_t most, json_t **out,
                        struct ethos_error *error);

/* The stamp of a file, all zero if absent or unreadable. */
void home_stamp(int dir, const char *name, struct home_stamp *out);

/*
 * Replaces dir/folder/name durably; folder ("" for none) is created if missing. New files are 0600.
 */
int home_replace(int dir, const char *folder, const char *name, struct ethos_view text,
                 struct ethos_error *error);

/*
 * The file of a record about a scope: <kind>-<scope>.json in HOME_RECORDS, with the colon as a
 * hyphen. Records may be deleted at any time.
 */
#define HOME_RECORDS ".mem"
#define HOME_RECORD_SIZE (ETHOS_MAX_SCOPE + 32)
void home_record_name(const char *kind, const char *scope, char out[HOME_RECORD_SIZE]);

/*
 * Takes the exclusive lock .mem/<name>.lock; closing the descriptor releases it. ETHOS_BUSY at the
 * deadline.
 */
int home_lock(int dir, const char *name, int *out_lock, struct ethos_error *error);
int home_lock_within(int dir, const char *name, uint32_t wait_ms, int *out_lock,
                     struct ethos_error *error);

#endif
