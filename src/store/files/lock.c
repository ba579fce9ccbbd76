/*
 * lock.c: a scope's directory held for writing.
 *
 * The lock is an flock on .mem/lock, which is made together with its directory by the first write
 * and stays. Only a call that made it and then wrote nothing takes it away again, while holding it;
 * hence whoever gets a lock looks whether the file still has a name, and begins again if not.
 *
 * Before it stands .mem/gate, held only while waiting for the lock: first come, first served.
 *
 * Also here: the lock on a directory outside the scope whose file is replaced through a link. It is
 * that directory's own .mem/lock when it has one, else the directory itself. Two scopes with links
 * into each other may wait for one another until the deadline; that is ETHOS_BUSY, not a deadlock.
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

static int busy(const struct files *self, int fd, const char *path, const char *file,
                struct ethos_error *error)
{
    char buffer[PATH_MAX], holder[LOCK_HOLDER_SIZE];
    lock_holder(fd, holder);
    int code = err_set(error, ETHOS_BUSY, "%s%s is locked by %s", files_show(self, path, buffer),
                       file, holder);
    return err_hint(error, code, "try again when it is done");
}

/* Locks fd, the file (or "") below path. FILES_MOVED when it was taken away before we got it. */
static int lock_fd(const struct files *self, int fd, unsigned longest_ms, const char *path,
                   const char *file, struct ethos_error *error)
{
    struct stat st;
    if (lock_wait(fd, self->lock_ms, longest_ms) != 0)
        return errno == EAGAIN ? busy(self, fd, path, file, error)
                               : files_errno(self, errno, path, error);
    if (os_fstat(fd, &st) != 0)
        return files_errno(self, errno, path, error);
    return st.st_nlink > 0 ? ETHOS_OK : FILES_MOVED;
}

static int open_lock(int dir, int flags)
{
    return os_open_beneath(dir, FILES_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
}

int files_lock_other(const struct files *self, int dir, const char *path, struct ethos_error *error)
{
    const char *file = "/" FILES_LOCK;
    int fd = open_lock(dir, 0);
    if (fd < 0 && errno == ENOENT) {
        file = "";
        fd = os_openat(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    }
    if (fd < 0)
        return files_errno(self, errno, path, error);
    int code = lock_fd(self, fd, LOCK_CROWD_MS, path, file, error);
    if (code == ETHOS_OK)
        return fd;
    if (code == FILES_MOVED)
        code = busy(self, fd, path, file, error);
    os_close(fd);
    return code;
}

/*
 * Passes the gate: it is held while waiting for the lock, so that a writer who comes back at once
 * stands behind those who wait already. The descriptor that holds it.
 */
static int pass_gate(struct files *self, const struct files_hold *hold, struct ethos_error *error)
{
    int gate = os_open_beneath(hold->dir, FILES_GATE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
                               0600);
    if (gate < 0)
        return files_fail(self, errno, hold->path, error);
    int code = lock_fd(self, gate, LOCK_GATE_MS, hold->path, "/" FILES_GATE, error);
    if (code == ETHOS_OK)
        return gate;
    os_close(gate);
    return code;
}

/* Keeps fd, which holds the lock from here on, or closes it. */
static int lock_scope(struct files *self, struct files_hold *hold, int fd,
                      struct ethos_error *error)
{
    int gate = pass_gate(self, hold, error);
    int code = gate < 0 ? gate
                        : lock_fd(self, fd, LOCK_ALONE_MS, hold->path, "/" FILES_LOCK, error);
    if (gate >= 0)
        os_close(gate);
    if (code == ETHOS_OK)
        hold->lock = fd;
    else
        os_close(fd);
    return code;
}

/* ---- making and unmaking -------------------------------------------------------------------- */

/* Cuts the last name off a path of size bytes; returns what remains. */
static size_t cut_name(char *path, size_t size)
{
    while (size > 0 && path[size - 1] != '/')
        size--;
    while (size > 0 && path[size - 1] == '/')
        size--;
    path[size] = 0;
    return size;
}

/* os_mkdirs; *out_before is how many bytes of path named something that stood already. */
static int make_dirs(int dir, const char *path, size_t *out_before)
{
    struct stat st;
    char prefix[FILES_PATH_SIZE];
    size_t size = strlen(path);
    memcpy(prefix, path, size + 1);
    while (size > 0 && os_fstatat(dir, prefix, &st, 0) != 0)
        size = cut_name(prefix, size);
    *out_before = size;
    return os_mkdirs(dir, path);
}

/* Takes away the directories of path that make_dirs made, deepest first, while they are empty. */
static void remove_dirs(int dir, const char *path, size_t before)
{
    char prefix[FILES_PATH_SIZE];
    size_t size = strlen(path);
    memcpy(prefix, path, size + 1);
    while (size > before && (os_unlinkat(dir, prefix, AT_REMOVEDIR) == 0 || errno == ENOENT))
        size = cut_name(prefix, size);
}

/* Keeps the folder out of a person's git repository. */
static int make_ignore(int dir)
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

static int make_lock(int dir)
{
    int fd = open_lock(dir, O_CREAT | O_EXCL);
    return fd < 0 && errno == EEXIST ? open_lock(dir, 0) : fd;
}

/* The lock file comes last: where it stands, everything beside it does. */
static int make_mem(struct files *self, struct files_hold *hold, struct ethos_error *error)
{
    if (make_dirs(hold->dir, FILES_TMP, &hold->mem_before) != 0 || make_ignore(hold->dir) != 0)
        return files_fail(self, errno, hold->path, error);
    int fd = make_lock(hold->dir);
    return fd < 0 ? files_fail(self, errno, hold->path, error) : lock_scope(self, hold, fd, error);
}

static int make_root(struct files *self, struct files_hold *hold, struct ethos_error *error)
{
    if (self->root >= 0)
        return ETHOS_OK;
    hold->made_root = true; // also when only its sync fails
    if (dir_make_home(self->root_path) != 0)
        return err_errno(error, errno, self->root_path);
    return files_root(self, error);
}

/* The same where a directory on the way is a link that leads out of the root, but may be followed. */
static int make_linked(struct files *self, const struct files_hold *hold, struct ethos_error *error)
{
    char before[FILES_PATH_SIZE];
    snprintf(before, sizeof before, "%.*s", (int)hold->path_before, hold->path);
    int dir = files_open(self, before, O_RDONLY | O_DIRECTORY, error);
    if (dir < 0)
        return dir == ETHOS_NOTFOUND ? FILES_MOVED : dir;
    int code = os_mkdirs(dir, hold->path + hold->path_before + 1) == 0
                   ? ETHOS_OK
                   : files_fail(self, errno, hold->path, error);
    os_close(dir);
    return code;
}

static int make_scope(struct files *self, struct files_hold *hold, struct ethos_error *error)
{
    int code = ETHOS_OK;
    if (hold->dir >= 0)
        return ETHOS_OK;
    if (make_dirs(self->root, hold->path, &hold->path_before) != 0)
        code = errno == EXDEV && hold->path_before > 0 && hold->path[hold->path_before] == '/'
                   ? make_linked(self, hold, error)
                   : files_fail(self, errno, hold->path, error);
    if (code != ETHOS_OK)
        return code;
    int dir = files_open(self, hold->path, O_RDONLY | O_DIRECTORY, error);
    if (dir < 0)
        return dir == ETHOS_NOTFOUND ? FILES_MOVED : dir;
    hold->dir = dir;
    return ETHOS_OK;
}

/* The texts they hold are those of files that did not change. */
static void remove_blobs(const struct files_hold *hold)
{
    char path[sizeof FILES_BLOBS "/.md" + 64];
    for (size_t i = 0; i + 64 <= hold->blobs.size; i += 64) {
        snprintf(path, sizeof path, FILES_BLOBS "/%.64s.md", hold->blobs.data + i);
        os_unlinkat(hold->dir, path, 0);
    }
    if (hold->blobs.size > 0)
        os_unlinkat(hold->dir, FILES_BLOBS, AT_REMOVEDIR);
}

/* Whether it was empty but for its .gitignore, and is gone. */
static bool remove_root(struct files *self)
{
    char path[PATH_MAX];
    os_unlinkat(AT_FDCWD, files_show(self, DIR_IGNORE, path), 0);
    if (os_unlinkat(AT_FDCWD, self->root_path, AT_REMOVEDIR) == 0)
        return true;
    if (self->root >= 0)
        dir_ignore(self->root); // somebody else uses it by now
    return false;
}

static void undo_make(struct files *self, struct files_hold *hold)
{
    struct stat st;
    remove_blobs(hold);
    // A history is somebody's who was faster.
    if (hold->dir >= 0 && hold->mem_before == 0 &&
        os_fstatat(hold->dir, FILES_HISTORY, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        os_unlinkat(hold->dir, FILES_IGNORE, 0);
        os_unlinkat(hold->dir, FILES_GATE, 0);
        if (hold->lock >= 0)
            os_unlinkat(hold->dir, FILES_LOCK, 0);
    }
    if (hold->dir >= 0)
        remove_dirs(hold->dir, FILES_TMP, hold->mem_before);
    if (self->root >= 0)
        remove_dirs(self->root, hold->path, hold->path_before);
    if (hold->made_root && remove_root(self))
        files_root_moved(self);
}

/* ---- holding -------------------------------------------------------------------------------- */

int files_hold_open(struct files *self, struct files_hold *hold, struct ethos_error *error)
{
    hold->dir = hold->lock = hold->tmp = -1;
    hold->made_root = hold->pruned = false;
    hold->dirs = NULL;
    hold->dir_count = 0;
    str_init(&hold->blobs, ETHOS_MAX_STORE_BYTES);
    hold->path_before = strlen(hold->path);
    hold->mem_before = strlen(FILES_TMP);
    files_root_moved(self);
    int code = files_root(self, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    int dir = files_open(self, hold->path, O_RDONLY | O_DIRECTORY, error);
    if (dir < 0)
        return dir == ETHOS_NOTFOUND ? ETHOS_OK : dir;
    hold->dir = dir;
    int fd = open_lock(dir, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(self, errno, hold->path, error);
    return lock_scope(self, hold, fd, error);
}

int files_hold_make(struct files *self, struct files_hold *hold, struct ethos_error *error)
{
    int code = make_root(self, hold, error);
    if (code == ETHOS_OK)
        code = make_scope(self, hold, error);
    return code == ETHOS_OK ? make_mem(self, hold, error) : code;
}

int files_hold_tmp(struct files *self, struct files_hold *hold, struct ethos_error *error)
{
    const int flags = O_RDONLY | O_DIRECTORY;
    if (hold->tmp >= 0)
        return ETHOS_OK;
    hold->tmp = os_open_beneath(hold->dir, FILES_TMP, flags, 0);
    if (hold->tmp < 0 && errno == ENOENT && os_mkdirs(hold->dir, FILES_TMP) == 0)
        hold->tmp = os_open_beneath(hold->dir, FILES_TMP, flags, 0);
    return hold->tmp < 0 ? files_fail(self, errno, hold->path, error) : ETHOS_OK;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        os_close(*fd);
    *fd = -1;
}

void files_hold_close(struct files *self, struct files_hold *hold, bool undo)
{
    if (undo)
        undo_make(self, hold);
    str_release(&hold->blobs);
    files_tree_close(hold);
    close_fd(&hold->tmp);
    close_fd(&hold->dir);
    close_fd(&hold->lock);
}
