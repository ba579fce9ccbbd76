/*
 * lock.c: locks a scope's directory for writing, and creates it.
 *
 * The lock is an flock on .mem/lock, which the first write creates together with its directory and
 * which then stays. Only a call that created it and wrote nothing removes it, while it holds the
 * lock; so whoever gets a lock checks that the file still has a name, and starts again if not.
 *
 * .mem/gate is locked while waiting for the lock, so that writers get it in the order they came.
 *
 * files_lock_link_target locks a directory outside the scope whose file is replaced through a
 * link: that directory's own .mem/lock if it has one, else the directory itself. Two scopes with
 * links into each other may wait for one another until the deadline: that is ETHOS_BUSY, not a
 * deadlock.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/lock.h"
#include "base/system/os.h"
#include "base/view.h"

/* ---- locking -------------------------------------------------------------------------------- */

static int locked_by_error(const struct files *self, int fd, const char *path, const char *file,
                           struct ethos_error *error)
{
    char buffer[PATH_MAX], holder[LOCK_HOLDER_SIZE];
    lock_holder(fd, holder);
    int code = err_set(error, ETHOS_BUSY, "%s%s is locked by %s",
                       files_full_path(self, path, buffer), file, holder);
    return err_hint(error, code, "try again when it is done");
}

/* Locks fd, the file (or "") below path. FILES_RETRY when the file was removed meanwhile. */
static int lock_descriptor(const struct files *self, int fd, unsigned longest_ms, const char *path,
                           const char *file, struct ethos_error *error)
{
    struct stat st;
    if (lock_wait(fd, self->lock_ms, longest_ms) != 0)
        return errno == EAGAIN ? locked_by_error(self, fd, path, file, error)
                               : files_errno(self, errno, path, error);
    if (os_fstat(fd, &st) != 0)
        return files_errno(self, errno, path, error);
    return st.st_nlink > 0 ? ETHOS_OK : FILES_RETRY;
}

static int open_lock_file(int dir, int flags)
{
    return os_open_beneath(dir, FILES_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
}

int files_lock_link_target(const struct files *self, int dir, const char *path,
                           struct ethos_error *error)
{
    const char *file = "/" FILES_LOCK;
    int fd = open_lock_file(dir, 0);
    if (fd < 0 && errno == ENOENT) {
        file = "";
        fd = os_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    }
    if (fd < 0)
        return files_errno(self, errno, path, error);
    int code = lock_descriptor(self, fd, LOCK_CROWD_MS, path, file, error);
    if (code == ETHOS_OK)
        return fd;
    if (code == FILES_RETRY)
        code = locked_by_error(self, fd, path, file, error);
    os_close(fd);
    return code;
}

/*
 * Locks the gate, which is held while waiting for the lock: a writer that returns at once queues
 * behind those that wait. The descriptor that holds it.
 */
static int lock_gate(struct files *self, const struct files_lock *lock, struct ethos_error *error)
{
    int gate = os_open_beneath(lock->dir, FILES_GATE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
                               0600);
    if (gate < 0)
        return files_step_error(self, errno, lock->path, error);
    int code = lock_descriptor(self, gate, LOCK_GATE_MS, lock->path, "/" FILES_GATE, error);
    if (code == ETHOS_OK)
        return gate;
    os_close(gate);
    return code;
}

/* Locks fd and stores it in lock, or closes it. */
static int lock_scope_file(struct files *self, struct files_lock *lock, int fd,
                           struct ethos_error *error)
{
    int gate = lock_gate(self, lock, error);
    int code = gate < 0
                   ? gate
                   : lock_descriptor(self, fd, LOCK_ALONE_MS, lock->path, "/" FILES_LOCK, error);
    if (gate >= 0)
        os_close(gate);
    if (code == ETHOS_OK)
        lock->fd = fd;
    else
        os_close(fd);
    return code;
}

/* ---- making and unmaking -------------------------------------------------------------------- */

/* Cuts the last name off a path of size bytes; returns what remains. */
static size_t cut_last_name(char *path, size_t size)
{
    while (size > 0 && path[size - 1] != '/')
        size--;
    while (size > 0 && path[size - 1] == '/')
        size--;
    path[size] = 0;
    return size;
}

/* Creates the directories of a path; *out_before is how many bytes of path existed already. */
static int create_dirs(int dir, const char *path, size_t *out_before)
{
    struct stat st;
    char prefix[FILES_PATH_SIZE];
    size_t size = strlen(path);
    memcpy(prefix, path, size + 1);
    while (size > 0 && os_fstatat(dir, prefix, &st, 0) != 0)
        size = cut_last_name(prefix, size);
    *out_before = size;
    return os_mkdirs(dir, path);
}

/* Removes the directories that create_dirs created, deepest first, while they are empty. */
static void remove_created_dirs(int dir, const char *path, size_t before)
{
    char prefix[FILES_PATH_SIZE];
    size_t size = strlen(path);
    memcpy(prefix, path, size + 1);
    while (size > before && (os_unlinkat(dir, prefix, AT_REMOVEDIR) == 0 || errno == ENOENT))
        size = cut_last_name(prefix, size);
}

/* Keeps the folder out of a git repository around it. */
static int create_ignore_file(int dir)
{
    int fd = os_open_beneath(dir, FILES_IGNORE, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return errno == EEXIST ? 0 : -1;
    int result = os_write_all(fd, "*\n", 2);
    int saved = errno;
    os_close(fd);
    errno = saved;
    return result;
}

static int create_lock_file(int dir)
{
    int fd = open_lock_file(dir, O_CREAT | O_EXCL);
    return fd < 0 && errno == EEXIST ? open_lock_file(dir, 0) : fd;
}

static int create_root(struct files *self, struct files_lock *lock, struct ethos_error *error)
{
    if (self->root >= 0)
        return ETHOS_OK;
    lock->made_root = true; // also if only its sync fails
    if (dir_make_home(self->root_path) != 0)
        return err_errno(error, errno, self->root_path);
    return files_root_open(self, error);
}

/* Creates directories below a link that leads out of the root, where that is allowed. */
static int create_linked_dirs(struct files *self, const struct files_lock *lock,
                              struct ethos_error *error)
{
    char before[FILES_PATH_SIZE];
    snprintf(before, sizeof before, "%.*s", (int)lock->path_before, lock->path);
    CLEANUP_FD int dir = files_open(self, before, O_RDONLY | O_DIRECTORY, error);
    if (dir < 0)
        return dir == ETHOS_NOTFOUND ? FILES_RETRY : dir;
    return os_mkdirs(dir, lock->path + lock->path_before + 1) == 0
               ? ETHOS_OK
               : files_step_error(self, errno, lock->path, error);
}

static int create_scope_dir(struct files *self, struct files_lock *lock, struct ethos_error *error)
{
    int code = ETHOS_OK;
    if (lock->dir >= 0)
        return ETHOS_OK;
    if (create_dirs(self->root, lock->path, &lock->path_before) != 0)
        code = errno == EXDEV && lock->path_before > 0 && lock->path[lock->path_before] == '/'
                   ? create_linked_dirs(self, lock, error)
                   : files_step_error(self, errno, lock->path, error);
    if (code != ETHOS_OK)
        return code;
    int dir = files_open(self, lock->path, O_RDONLY | O_DIRECTORY, error);
    if (dir < 0)
        return dir == ETHOS_NOTFOUND ? FILES_RETRY : dir;
    lock->dir = dir;
    return ETHOS_OK;
}

/* Removes a root that is empty but for its .gitignore; false when it stays. */
static bool remove_empty_root(struct files *self)
{
    char path[PATH_MAX];
    os_unlinkat(AT_FDCWD, files_full_path(self, DIR_IGNORE, path), 0);
    if (os_unlinkat(AT_FDCWD, self->root_path, AT_REMOVEDIR) == 0)
        return true;
    if (self->root >= 0)
        dir_ignore(self->root); // somebody else uses the root by now
    return false;
}

static void remove_created(struct files *self, struct files_lock *lock)
{
    struct stat st;
    char path[sizeof FILES_BLOBS "/.md" + 64];
    for (size_t i = 0; i + 64 <= lock->blobs.size; i += 64) {
        snprintf(path, sizeof path, FILES_BLOBS "/%.64s.md", lock->blobs.data + i);
        os_unlinkat(lock->dir, path, 0);
    }
    if (lock->blobs.size > 0)
        os_unlinkat(lock->dir, FILES_BLOBS, AT_REMOVEDIR);
    // a history means that another writer was faster
    if (lock->dir >= 0 && lock->mem_before == 0 &&
        os_fstatat(lock->dir, FILES_HISTORY, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        os_unlinkat(lock->dir, FILES_IGNORE, 0);
        os_unlinkat(lock->dir, FILES_GATE, 0);
        if (lock->fd >= 0)
            os_unlinkat(lock->dir, FILES_LOCK, 0);
    }
    if (lock->dir >= 0)
        remove_created_dirs(lock->dir, FILES_TMP, lock->mem_before);
    if (self->root >= 0)
        remove_created_dirs(self->root, lock->path, lock->path_before);
    if (lock->made_root && remove_empty_root(self))
        files_root_refresh(self);
}

/* ---- holding -------------------------------------------------------------------------------- */

int files_lock_scope(struct files *self, struct files_lock *lock, struct ethos_error *error)
{
    lock->dir = lock->fd = lock->tmp = -1;
    lock->made_root = lock->pruned = false;
    lock->dirs = NULL;
    lock->dir_count = 0;
    str_init(&lock->blobs, ETHOS_MAX_STORE_BYTES);
    lock->path_before = strlen(lock->path);
    lock->mem_before = strlen(FILES_TMP);
    files_root_refresh(self);
    int code = files_root_open(self, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    int dir = files_open(self, lock->path, O_RDONLY | O_DIRECTORY, error);
    if (dir < 0)
        return dir == ETHOS_NOTFOUND ? ETHOS_OK : dir;
    lock->dir = dir;
    int fd = open_lock_file(dir, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(self, errno, lock->path, error);
    return lock_scope_file(self, lock, fd, error);
}

int files_lock_create(struct files *self, struct files_lock *lock, struct ethos_error *error)
{
    TRY(create_root(self, lock, error));
    TRY(create_scope_dir(self, lock, error));
    if (create_dirs(lock->dir, FILES_TMP, &lock->mem_before) != 0 ||
        create_ignore_file(lock->dir) != 0)
        return files_step_error(self, errno, lock->path, error);
    int fd = create_lock_file(lock->dir);
    return fd < 0 ? files_step_error(self, errno, lock->path, error)
                  : lock_scope_file(self, lock, fd, error);
}

int files_lock_open_drafts(struct files *self, struct files_lock *lock, struct ethos_error *error)
{
    const int flags = O_RDONLY | O_DIRECTORY;
    if (lock->tmp >= 0)
        return ETHOS_OK;
    lock->tmp = os_open_beneath(lock->dir, FILES_TMP, flags, 0);
    if (lock->tmp < 0 && errno == ENOENT && os_mkdirs(lock->dir, FILES_TMP) == 0)
        lock->tmp = os_open_beneath(lock->dir, FILES_TMP, flags, 0);
    return lock->tmp < 0 ? files_step_error(self, errno, lock->path, error) : ETHOS_OK;
}

static void close_descriptor(int *fd)
{
    if (*fd >= 0)
        os_close(*fd);
    *fd = -1;
}

void files_unlock_scope(struct files *self, struct files_lock *lock, bool undo)
{
    if (undo)
        remove_created(self, lock);
    str_release(&lock->blobs);
    files_key_dirs_close(lock);
    close_descriptor(&lock->tmp);
    close_descriptor(&lock->dir);
    close_descriptor(&lock->fd);
}
