/*
 * backup.h: saves a home in one file or one folder, and restores it.
 *
 * A backup is a tar archive, or a copy of the home in a folder. Each directory of memory is copied
 * under its lock, each database through SQLite's backup API, so that each is consistent while
 * others write. The last file lists the SHA-256 of all others (core/formats/backup_manifest.h); the
 * backup is read back and compared before it gets its name.
 *
 * Left out: locks, sockets, drafts, caches, the web token; keys of model providers unless
 * requested; memory in remote backends (reported as notIncluded).
 */
#ifndef ETHOS_MEMORY_BACKUP_BACKUP_H
#define ETHOS_MEMORY_BACKUP_BACKUP_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/json.h"

/*
 * Returns whether to stop: the backup or restore then leaves nothing behind and fails with
 * ETHOS_IO.
 */
struct backup_stop {
    bool (*asked)(void *arg); /* or NULL */
    void *arg;
};

struct backup_how {
    const char *path; /* a new file, an existing folder, or a name that ends in a slash */
    bool keys;        /* also keys.yaml and other files with keys of model providers */
    bool replace;     /* replace an existing file */
    bool dry_run;     /* only count */
    struct backup_stop stop;
};

/*
 * {"path", "form": "tar" | "copy", "files", "bytes", "databases", "verified",
 *  "skipped": [{"path", "reason"}], "notIncluded": [{"backend", "personality", "remedy"}]}
 * ETHOS_EXISTS when something is in the way.
 */
int backup_write(struct ethos *ethos, const struct backup_how *how, json_t **out_report,
                 struct ethos_error *error);

struct restore_how {
    const char *path;
    bool dry_run;
    struct backup_stop stop;
};

/*
 * Restores into a home that does not exist or is empty, all at once or not at all; a home that
 * cannot be replaced (a mount point, a folder of another owner, one that a server uses) is filled
 * scope by scope. Into a home with memory, missing files are added, and different ones are merged
 * or stored as conflict copies; nothing in it is lost.
 *
 * {"path", "home", "created", "files", "bytes", "merge", "login": a name without a profile or null,
 * "rows": [{"what", "scope", "key", "why"}], "dryRun"}, what being added, updated, merged, conflict
 * or kept.
 *
 * ETHOS_CORRUPT or ETHOS_DENIED if the backup is damaged or hostile: nothing was changed.
 */
int backup_restore(struct ethos *ethos, const struct restore_how *how, json_t **out_report,
                   struct ethos_error *error);

#endif
