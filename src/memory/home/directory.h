/*
 * directory.h: the home directory and the small files in it that are not memory.
 *
 * config.yaml and identity-map.json are read whole, and replaced under a lock by a synced temporary
 * and a rename; a reader sees the old or the new file. Nothing is made before the first write. A home
 * that others can write to is refused: whoever can write it decides what the agent believes.
 */
#ifndef ETHOS_MEMORY_HOME_DIRECTORY_H
#define ETHOS_MEMORY_HOME_DIRECTORY_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

#include "base/json.h"

struct str;

/* Tells whether a file is still the one that was read. All zero: absent. */
struct home_stamp {
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
    uint64_t exposed; /* 1: others than its owner may read it, or we are not its owner */
};

/* The directory of the user, which .ethos stands in by default; NULL when nobody knows. */
const char *home_of_user(void);

/* The absolute path by the rules: given, $ETHOS_HOME, $ETHOS_STATE_DIR, ~/.ethos. Free with free(). */
int home_path(const char *given, char **out_path, struct ethos_error *error);

/* A descriptor of the directory. ETHOS_NOTFOUND when it does not exist; create makes it, 0700. */
int home_open(const char *path, bool create, int *out_dir, struct ethos_error *error);

/* Appends the file beneath dir. ETHOS_NOTFOUND when absent; out_stamp may be NULL. */
int home_read(int dir, const char *name, size_t limit, struct str *out,
              struct home_stamp *out_stamp, struct ethos_error *error);

/* One JSON document of at most ETHOS_MAX_MAP_BYTES. ETHOS_CORRUPT when it does not parse. */
int home_read_json(int dir, const char *name, json_t **out, struct ethos_error *error);

/* The same, of at most so many bytes. */
int home_read_json_most(int dir, const char *name, size_t most, json_t **out,
                        struct ethos_error *error);

/* The stamp of a file, all zero when absent or unreadable. */
void home_stamp(int dir, const char *name, struct home_stamp *out);

/* Replaces dir/folder/name durably; folder ("" for none) is made when missing. New files are 0600. */
int home_replace(int dir, const char *folder, const char *name, struct ethos_view text,
                 struct ethos_error *error);

/*
 * Where what is known about a scope beside its memory is recorded: <kind>-<scope>.json in HOME_RECORDS,
 * the colon as a hyphen. All of it may be deleted.
 */
#define HOME_RECORDS ".mem"
#define HOME_RECORD_SIZE (ETHOS_MAX_SCOPE + 32)
void home_record_name(const char *kind, const char *scope, char out[HOME_RECORD_SIZE]);

/* An exclusive lock .mem/<name>.lock, released by closing the descriptor. ETHOS_BUSY at the deadline. */
int home_lock(int dir, const char *name, int *out_lock, struct ethos_error *error);
int home_lock_within(int dir, const char *name, uint32_t wait_ms, int *out_lock,
                     struct ethos_error *error);

#endif
