/*
 * snapshot.c: holds a scope's directory still for a backup.
 *
 * What a dead writer left is resolved first, so that the copy needs no recovery. A scope that was
 * never written has no lock: its directory then holds only files that people made.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/err.h"
#include "base/system/os.h"
#include "store/files/internal.h"
#include "store/store.h"

#define TRIES 100 /* at a directory that keeps being made or taken away */

static bool has_history_file(const struct files_lock *lock)
{
    struct stat st;
    return lock->dir >= 0 && os_fstatat(lock->dir, FILES_HISTORY, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int lock_and_recover(struct files *self, struct files_lock *lock, const char *scope,
                            struct ethos_error *error)
{
    int code = files_lock_scope(self, lock, error);
    if (code == ETHOS_OK && lock->fd < 0 && has_history_file(lock))
        code = files_lock_create(self, lock, error); // a copied home without its .mem
    if (code == ETHOS_OK && lock->fd >= 0)
        code = files_recover_locked(self, lock, scope, error);
    return code;
}

int store_files_snapshot(struct ethos_store *store, const char *scope,
                         store_files_snapshot_fn *each, void *arg, struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    struct files_lock lock = {0};
    TRY(files_scope_path(scope, lock.path, error));
    files_root_refresh(self);
    int code = files_root_open(self, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    code = FILES_RETRY;
    for (int i = 0; code == FILES_RETRY && i < TRIES; i++) {
        code = lock_and_recover(self, &lock, scope, error);
        if (code == ETHOS_OK && lock.dir >= 0)
            code = each(arg, lock.dir, lock.path, lock.fd >= 0, error);
        code = code == STORE_FILES_AGAIN ? FILES_RETRY : code;
        files_unlock_scope(self, &lock, false);
    }
    if (code == FILES_RETRY)
        code = err_set(error, ETHOS_BUSY, "%s keeps changing", lock.path);
    return code;
}
