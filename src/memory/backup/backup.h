/*
 * backup.h: a home as one file or one folder, and the way back.
 *
 * A backup is a tar archive, or a copy of the home in a folder. Each directory of memory is copied under its
 * lock, each database through SQLite's backup API: each is consistent in itself while everybody writes. Its
 * last file lists the SHA-256 of all others (core/formats/backup_manifest.h); the backup is read back and compared before
 * it gets its name.
 *
 * Not in it: locks, sockets, drafts, caches, the web token; keys of model providers unless asked for; memory
 * that a backend keeps elsewhere (told as notIncluded).
 */
#ifndef ETHOS_MEMORY_BACKUP_BACKUP_H
#define ETHOS_MEMORY_BACKUP_BACKUP_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/json.h"

/* Whether somebody wants it to end: it leaves nothing then, and fails with ETHOS_IO. */
struct backup_stop {
    bool (*asked)(void *arg); /* or NULL */
    void *arg;
};

struct backup_how {
    const char *path; /* a new file, or a folder: one that exists, or a name that ends in a slash */
    bool keys;        /* also keys.yaml and what else holds keys of model providers */
    bool replace;     /* a file that is there already */
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
 * Into a home that does not exist or is empty: all at once, or nothing; one that cannot be replaced (a mount
 * point, a folder that is not ours to rename, one that a server uses) is filled scope by scope. Into one with
 * memory: what it lacks is added, what differs is merged or kept beside it; nothing that is there is lost.
 * {"path", "home", "created", "files", "bytes", "merge", "login": a name without a profile or null,
 *  "rows": [{"what", "scope", "key", "why"}], "dryRun"}, what being added, updated, merged, conflict or kept.
 * ETHOS_CORRUPT or ETHOS_DENIED for a backup that is damaged or hostile: nothing was changed.
 */
int backup_restore(struct ethos *ethos, const struct restore_how *how, json_t **out_report,
                   struct ethos_error *error);

#endif
