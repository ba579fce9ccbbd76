/*
 * writer.c: writes a backup to an archive or a folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/formats/backup_manifest.h"
#include "memory/backup/internal.h"

static int fail_entry(const struct backup_target *target, struct ethos_error *error)
{
    return err_errno(error, errno, target->entry.path);
}

/* ---- a file in a folder --------------------------------------------------------------------- */

static int make_parent(int dir, const char *path)
{
    char parent[TAR_PATH_SIZE];
    const char *slash = strrchr(path, '/');
    if (!slash)
        return 0;
    memcpy(parent, path, (size_t)(slash - path));
    parent[slash - path] = 0;
    return os_mkdirs(dir, parent);
}

static int create_entry_file(struct backup_target *target, struct ethos_error *error)
{
    const char *path = target->entry.path;
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    mode_t mode = (mode_t)(target->entry.mode & 0755) | 0600; // others must not write to a home
    int fd = os_open_beneath(target->dir, path, flags, mode);
    if (fd < 0 && errno == ENOENT && make_parent(target->dir, path) == 0)
        fd = os_open_beneath(target->dir, path, flags, mode);
    if (fd < 0)
        return fail_entry(target, error);
    target->file = fd;
    return ETHOS_OK;
}

/* ---- the folder ------------------------------------------------------------------------------ */

int backup_make_folder(const char *path, int *out, struct ethos_error *error)
{
    int old = os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    bool busy = old >= 0 && os_flock(old, LOCK_EX | LOCK_NB) != 0;
    if (old >= 0 && !busy)
        dir_remove(AT_FDCWD, path);
    if (old >= 0)
        os_close(old);
    if (busy)
        return err_set(error, ETHOS_BUSY, "%s is being written", path);
    if (os_mkdirat(AT_FDCWD, path, 0700) != 0)
        return errno == EEXIST ? err_set(error, ETHOS_BUSY, "%s is being written", path)
                               : err_errno(error, errno, path);
    *out = os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return *out >= 0 && os_flock(*out, LOCK_EX | LOCK_NB) == 0 ? ETHOS_OK
                                                               : err_errno(error, errno, path);
}

/* ---- one entry ------------------------------------------------------------------------------ */

static int write_header(struct backup_target *target, struct ethos_error *error)
{
    CLEANUP_STR struct str header;
    str_init(&header, TAR_MAX_PAX * 2);
    TRY(tar_print(&target->entry, &header) == ETHOS_OK ? ETHOS_OK : err_nomem(error));
    return os_write_all(target->fd, header.data, header.size) != 0 ? fail_entry(target, error)
                                                                   : ETHOS_OK;
}

int backup_begin(struct backup_target *target, const char *path, uint64_t size, unsigned mode,
                 int64_t mtime_s, struct ethos_error *error)
{
    struct stat st;
    if (strlen(path) >= sizeof target->entry.path)
        return err_set(error, ETHOS_LIMIT, "%.100s...: the path is too long", path);
    memcpy(target->entry.path, path, strlen(path) + 1);
    target->entry.size = target->room = size;
    target->entry.mode = backup_class(path) == BACKUP_SECRET ? 0600 : mode & 0777;
    target->entry.mtime_s = mtime_s;
    target->entry.directory = false;
    target->file = -1;
    digest_init(&target->digest);
    if (target->dir >= 0)
        return create_entry_file(target, error);
    if (target->fd < 0)
        return ETHOS_OK;
    if (os_fstat(target->fd, &st) != 0)
        return fail_entry(target, error);
    target->end = (uint64_t)st.st_size;
    return write_header(target, error);
}

int backup_data(struct backup_target *target, const void *data, size_t size,
                struct ethos_error *error)
{
    int fd = target->dir >= 0 ? target->file : target->fd;
    if (target->stop && target->stop->asked && target->stop->asked(target->stop->arg))
        return err_set(error, ETHOS_IO, "interrupted");
    if (size > target->room)
        return err_set(error, ETHOS_BUSY, "%s grew while it was copied", target->entry.path);
    target->room -= size;
    digest_add(&target->digest, data, size);
    return fd >= 0 && os_write_all(fd, data, size) != 0 ? fail_entry(target, error) : ETHOS_OK;
}

static int close_file(struct backup_target *target, struct ethos_error *error)
{
    int code = ETHOS_OK;
    if (os_futime(target->file, target->entry.mtime_s * 1000000000) != 0 ||
        (!target->fleeting && os_fdatasync(target->file) != 0))
        code = fail_entry(target, error);
    os_close(target->file);
    target->file = -1;
    return code;
}

static int write_padding(struct backup_target *target, struct ethos_error *error)
{
    static const char zeros[TAR_BLOCK];
    size_t size = tar_padding(target->entry.size);
    return os_write_all(target->fd, zeros, size) == 0 ? ETHOS_OK : fail_entry(target, error);
}

int backup_end(struct backup_target *target, struct ethos_error *error)
{
    char hash[HASH_HEX_SIZE];
    int code = ETHOS_OK;
    if (target->room > 0)
        return err_set(error, ETHOS_BUSY, "%s shrank while it was copied", target->entry.path);
    if (target->dir >= 0)
        code = close_file(target, error);
    else if (target->fd >= 0)
        code = write_padding(target, error);
    digest_end(&target->digest, hash);
    target->count++;
    target->bytes += target->entry.size;
    return code == ETHOS_OK && target->files
               ? backup_add(target->files, target->entry.path, hash, error)
               : code;
}

int backup_drop(struct backup_target *target, struct ethos_error *error)
{
    if (target->file >= 0)
        os_close(target->file);
    target->file = -1;
    if (target->dir >= 0 && os_unlinkat(target->dir, target->entry.path, 0) != 0)
        return fail_entry(target, error);
    if (target->fd >= 0 && os_ftruncate(target->fd, target->end) != 0)
        return fail_entry(target, error);
    return ETHOS_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

int backup_finish(struct backup_target *target, int64_t now_ms, struct ethos_error *error)
{
    static const char zeros[TAR_END_BYTES];
    struct str list;
    json_t *files = target->files;
    str_init(&list, BACKUP_MAX_MANIFEST);
    int code = backup_print(files, ETHOS_VERSION, now_ms, &list);
    if (code != ETHOS_OK)
        code = code == ETHOS_LIMIT ? err_set(error, code, "there are too many files")
                                   : err_nomem(error);
    target->files = NULL; // the list does not list itself
    if (code == ETHOS_OK)
        code = backup_begin(target, BACKUP_MANIFEST, list.size, 0600, now_ms / 1000, error);
    if (code == ETHOS_OK)
        code = backup_data(target, list.data, list.size, error);
    if (code == ETHOS_OK)
        code = backup_end(target, error);
    target->files = files;
    if (code == ETHOS_OK) {
        target->count--;
        target->bytes -= list.size;
    }
    str_release(&list);
    if (code == ETHOS_OK && target->fd >= 0 &&
        (os_write_all(target->fd, zeros, sizeof zeros) != 0 || os_fsync(target->fd) != 0))
        code = fail_entry(target, error);
    if (code == ETHOS_OK && target->dir >= 0 && backup_sync_tree(target->dir) != 0)
        code = fail_entry(target, error);
    return code;
}

static int sync_below(int dir, const struct dir_names *names)
{
    struct stat st;
    for (size_t i = 0; i < names->count; i++) {
        if (os_fstatat(dir, names->list[i], &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
            continue;
        int fd = os_openat(dir, names->list[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        int failed = fd < 0 ? -1 : backup_sync_tree(fd);
        if (fd >= 0)
            os_close(fd);
        if (failed)
            return failed;
    }
    return 0;
}

int backup_sync_tree(int dir)
{
    CLEANUP_ARENA struct arena arena;
    struct dir_names names;
    arena_init(&arena);
    int failed = dir_names(dir, &arena, BACKUP_MAX_FILES, &names);
    if (failed == 0)
        failed = sync_below(dir, &names);
    return failed ? failed : os_fsync(dir);
}
