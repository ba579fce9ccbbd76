/*
 * key_directories.c: the directories between a scope's directory and a file, for keys that are
 * paths.
 *
 * Only keys of trees have slashes; for other scopes everything here is about the scope's directory.
 *
 * A directory exists for the files in it: the first file creates it, the last one removes it, and
 * an empty directory counts as none. Whoever creates one has a temporary of the key it is for, and
 * whoever removes that temporary removes the directories that are empty first: so a dead writer
 * leaves none behind.
 *
 * Directories are opened one after the other, following no link, and stay open while the scope is
 * locked: moving one meanwhile makes the call fail, and never leads it elsewhere.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/scope.h"

/*
 * ---- names ------------------------------------------------------------------------------------
 */

void files_key_to_name(const char *key, char out[ETHOS_MAX_KEY + 1])
{
    snprintf(out, ETHOS_MAX_KEY + 1, "%s", key);
    for (char *at = out; (at = strchr(at, '/'));)
        *at = '\\';
}

void files_name_to_key(char *name)
{
    for (; (name = strchr(name, '\\'));)
        *name = '/';
}

/*
 * ---- directories ------------------------------------------------------------------------------
 */

static struct files_dir *find_open_dir(const struct files_lock *lock, const char *path, size_t size)
{
    for (size_t i = 0; i < lock->dir_count; i++) {
        const char *known = lock->dirs[i].path;
        if (strncmp(known, path, size) == 0 && known[size] == 0)
            return &lock->dirs[i];
    }
    return NULL;
}

static int add_open_dir(struct files_lock *lock, const char *path, size_t size, int fd,
                        const struct stat *st, struct ethos_error *error)
{
    struct files_dir *dirs = realloc(lock->dirs, (lock->dir_count + 1) * sizeof *dirs);
    if (!dirs)
        return err_nomem(error);
    lock->dirs = dirs;
    struct files_dir *dir = &dirs[lock->dir_count++];
    *dir = (struct files_dir){.fd = fd, .device = st->st_dev, .inode = st->st_ino};
    snprintf(dir->path, sizeof dir->path, "%.*s", (int)size, path);
    return ETHOS_OK;
}

/* Opens the directory that the first bytes of a key name, below an open one. */
static int open_key_dir(struct files *self, struct files_lock *lock, int dir, const char *name,
                        const char *key, size_t size, struct ethos_error *error)
{
    char one[ETHOS_MAX_KEY + 1], path[FILES_PATH_SIZE + ETHOS_MAX_KEY], shown[PATH_MAX];
    struct stat st;
    snprintf(one, sizeof one, "%.*s", (int)(key + size - name), name);
    int fd = os_open_beneath(dir, one, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0 && errno == ENOENT)
        return ETHOS_NOTFOUND;
    int errnum = errno;
    snprintf(path, FILES_PATH_SIZE + ETHOS_MAX_KEY, "%s/%.*s", lock->path, (int)size, key);
    bool linked = fd < 0 && os_fstatat(dir, one, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                  S_ISLNK(st.st_mode);
    if (fd < 0)
        return linked ? files_refuse_link(self, path, error)
                      : files_errno(self, errnum, path, error);
    int code = os_fstat(fd, &st) == 0 ? dir_private(&st, files_full_path(self, path, shown), error)
                                      : files_errno(self, errno, path, error);
    if (code == ETHOS_OK)
        code = add_open_dir(lock, key, size, fd, &st, error);
    if (code == ETHOS_OK)
        return fd;
    os_close(fd);
    return code;
}

int files_key_dir_find(struct files *self, struct files_lock *lock, const char *key, int *out_dir,
                       const char **out_name, struct ethos_error *error)
{
    *out_dir = lock->dir;
    *out_name = key;
    for (const char *slash = key; (slash = strchr(slash, '/')); slash++) {
        size_t size = (size_t)(slash - key);
        const struct files_dir *open = find_open_dir(lock, key, size);
        int dir = open ? open->fd : open_key_dir(self, lock, *out_dir, *out_name, key, size, error);
        if (dir == ETHOS_NOTFOUND)
            break;
        if (dir < 0)
            return dir;
        *out_dir = dir;
        *out_name = slash + 1;
    }
    return ETHOS_OK;
}

int files_key_dirs_create(struct files *self, struct files_lock *lock,
                          struct files_location *location, struct ethos_error *error)
{
    const char *rest;
    char *slash = strrchr(location->name, '/');
    if (!slash)
        return ETHOS_OK;
    *slash = 0;
    int failed = os_mkdirs(location->dir, location->name), errnum = errno;
    *slash = '/';
    if (failed)
        return files_step_error(self, errnum, location->path, error);
    int code = files_key_dir_find(self, lock, location->key, &location->dir, &rest, error);
    if (code == ETHOS_OK && strchr(rest, '/'))
        code = FILES_RETRY;
    memmove(location->name, rest, strlen(rest) + 1);
    return code;
}

void files_key_dirs_prune(struct files *self, struct files_lock *lock, const char *key)
{
    char path[ETHOS_MAX_KEY + 1];
    const char *name;
    int dir;
    snprintf(path, sizeof path, "%s", key);
    for (char *slash; (slash = strrchr(path, '/'));) {
        *slash = 0;
        if (files_key_dir_find(self, lock, path, &dir, &name, NULL) != ETHOS_OK)
            return;
        if (strchr(name, '/'))
            continue; // its parent does not exist any more
        if (os_unlinkat(dir, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
            return;
        struct files_dir *open = find_open_dir(lock, path, strlen(path));
        if (open)
            open->path[0] = 0; // locations may still use it
        lock->pruned = true;
    }
}

bool files_key_dirs_in_place(const struct files_lock *lock)
{
    struct stat st;
    for (size_t i = 0; i < lock->dir_count; i++) {
        const struct files_dir *dir = &lock->dirs[i];
        if (dir->path[0] && (os_fstatat(lock->dir, dir->path, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
                             st.st_dev != dir->device || st.st_ino != dir->inode))
            return false;
    }
    return true;
}

void files_key_dirs_close(struct files_lock *lock)
{
    for (size_t i = 0; i < lock->dir_count; i++)
        os_close(lock->dirs[i].fd);
    free(lock->dirs);
    lock->dirs = NULL;
    lock->dir_count = 0;
}

/*
 * ---- holding ----------------------------------------------------------------------------------
 */

#define TRIES 100

int files_tree_lock(struct files *self, const char *scope, struct files_lock *lock,
                    struct ethos_error *error)
{
    TRY(files_scope_path(scope, lock->path, error));
    int code = FILES_RETRY;
    for (int i = 0; code == FILES_RETRY && i < TRIES; i++) {
        code = files_lock_scope(self, lock, error);
        if (code == ETHOS_OK && lock->fd >= 0)
            code = files_recover_locked(self, lock, scope, error);
        if (code != ETHOS_OK)
            files_unlock_scope(self, lock, false);
    }
    return code;
}

/*
 * ---- listing ----------------------------------------------------------------------------------
 */

struct tree_walk {
    const struct files *self;
    const char *scope;
    struct files_names *out;
    struct ethos_error *error;
};

static int add_listed_key(struct files_names *names, const char *path)
{
    names->count++;
    return str_add(&names->bytes, view_of(path, strlen(path) + 1));
}

static int list_keys_below(struct tree_walk *w, int dir, const char *path);

static int visit_tree_name(struct tree_walk *w, int dir, const char *path, const char *name)
{
    char key[ETHOS_MAX_KEY + 2];
    struct stat st;
    int size = snprintf(key, sizeof key, "%s%s%s", path, *path ? "/" : "", name);
    if (size > ETHOS_MAX_KEY || !scope_key_shown(w->scope, key))
        return ETHOS_OK;
    if (os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(w->self, errno, key, w->error);
    if (S_ISREG(st.st_mode))
        return add_listed_key(w->out, key) == ETHOS_OK ? ETHOS_OK : err_nomem(w->error);
    if (!S_ISDIR(st.st_mode))
        return ETHOS_OK;
    CLEANUP_FD int below = os_open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (below < 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(w->self, errno, key, w->error);
    return list_keys_below(w, below, key);
}

static int list_keys_below(struct tree_walk *w, int dir, const char *path)
{
    CLEANUP_NAMES struct files_names names;
    TRY(files_names_read(w->self, dir, path, &names, w->error));
    for (size_t i = 0; i < names.count; i++)
        TRY(visit_tree_name(w, dir, path, names.sorted[i]));
    return ETHOS_OK;
}

int files_tree_list_keys(const struct files *self, int dir, const char *scope,
                         struct files_names *out_names, struct ethos_error *error)
{
    struct tree_walk w = {self, scope, out_names, error};
    *out_names = (struct files_names){0};
    str_init(&out_names->bytes, ETHOS_MAX_STORE_BYTES);
    int code = list_keys_below(&w, dir, "");
    if (code == ETHOS_OK)
        code = files_names_sort(out_names, error);
    if (code != ETHOS_OK)
        files_names_release(out_names);
    return code;
}
