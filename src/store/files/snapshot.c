/*
 * snapshot.c: a scope's directory while no writer of ours changes it, for backups.
 *
 * What a dead writer left is settled first, so that what is copied needs no recovery. A scope that nobody
 * wrote to yet has no lock: its directory then holds files that people made, and nothing of ours.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/err.h"
#include "base/system/os.h"
#include "store/files/internal.h"
#include "store/store.h"

#define TRIES 100 /* at a directory that keeps being made or taken away */

static bool has_history(const struct files_hold *hold)
{
    struct stat st;
    return hold->dir >= 0 && os_fstatat(hold->dir, FILES_HISTORY, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int lock_and_recover(struct files *self, struct files_hold *hold, const char *scope,
                            struct ethos_error *error)
{
    int code = files_hold_open(self, hold, error);
    if (code == ETHOS_OK && hold->lock < 0 && has_history(hold))
        code = files_hold_make(self, hold, error); // a copied home without its .mem
    if (code == ETHOS_OK && hold->lock >= 0)
        code = files_recover_hold(self, hold, scope, error);
    return code;
}

int store_files_snapshot(struct ethos_store *store, const char *scope,
                         store_files_snapshot_fn *each, void *arg, struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    struct files_hold hold = {0};
    int code = files_scope_path(scope, hold.path, error);
    if (code != ETHOS_OK)
        return code;
    files_root_moved(self);
    code = files_root(self, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    code = FILES_MOVED;
    for (int i = 0; code == FILES_MOVED && i < TRIES; i++) {
        code = lock_and_recover(self, &hold, scope, error);
        if (code == ETHOS_OK && hold.dir >= 0)
            code = each(arg, hold.dir, hold.path, hold.lock >= 0, error);
        code = code == STORE_FILES_AGAIN ? FILES_MOVED : code;
        files_hold_close(self, &hold, false);
    }
    if (code == FILES_MOVED)
        code = err_set(error, ETHOS_BUSY, "%s keeps changing", hold.path);
    return code;
}
