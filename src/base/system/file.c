/*
 * file.c: reading a regular file whole, and replacing one at once.
 */
#include "base/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"

int file_read(int fd, const char *name, size_t limit, struct str *out, struct stat *out_info,
              struct ethos_error *error)
{
    struct stat info;
    if (os_fstat(fd, &info) != 0)
        return err_errno(error, errno, name);
    if (!S_ISREG(info.st_mode))
        return err_set(error, ETHOS_IO, "%s: not a regular file", name);
    if (os_read_all(fd, out, limit) != 0)
        return err_errno(error, errno, name);
    if (out_info)
        *out_info = info;
    return ETHOS_OK;
}

/* The draft's mode and owner follow the file it replaces. */
static int copy_mode_and_owner(int dir, const char *name, int draft)
{
    struct stat info;
    if (os_fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISREG(info.st_mode)) {
        errno = ENXIO;
        return -1;
    }
    return os_adopt(draft, &info);
}

static int write_draft(int dir, const char *name, const char *draft, struct ethos_view text,
                       mode_t mode)
{
    os_unlinkat(dir, draft, 0);
    int fd = os_openat(dir, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd < 0)
        return -1;
    int failed = copy_mode_and_owner(dir, name, fd) != 0 ||
                 os_write_all(fd, text.data, text.size) != 0 || os_fdatasync(fd) != 0;
    int saved = errno;
    os_close(fd);
    errno = saved;
    return failed ? -1 : 0;
}

int file_swap(int dir, const char *name, struct ethos_view text, mode_t mode,
              struct ethos_error *error)
{
    char draft[NAME_MAX + 1];
    snprintf(draft, sizeof draft, ".%.*s.draft", NAME_MAX - 7, name);
    if (write_draft(dir, name, draft, text, mode) != 0 ||
        os_renameat(dir, draft, dir, name, 0) != 0) {
        int code = err_errno(error, errno, name);
        os_unlinkat(dir, draft, 0);
        return code;
    }
    return ETHOS_OK;
}

int file_replace(int dir, const char *name, struct ethos_view text, mode_t mode,
                 struct ethos_error *error)
{
    int code = file_swap(dir, name, text, mode, error);
    return code == ETHOS_OK && os_fsync(dir) != 0 ? err_errno(error, errno, name) : code;
}
