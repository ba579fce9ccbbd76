/*
 * os.c: the only door to the operating system.
 *
 * First the calls, one function each; then opening beneath a directory; then the compositions.
 */
#include "base/system/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/system/os_fault.h"

/* ---- calls ----------------------------------------------------------------------------------- */

/* The call again and again while a signal interrupts it. */
#define RETRY(call)                                                                                \
    ({                                                                                             \
        __typeof__(call) got_;                                                                     \
        do                                                                                         \
            got_ = (call);                                                                         \
        while (got_ == -1 && errno == EINTR);                                                      \
        got_;                                                                                      \
    })

int os_close(int fd)
{
    // Linux has released the descriptor even when it answers EINTR.
    int result = CALL("close", NULL, close(fd));

    return result == -1 && errno == EINTR ? 0 : result;
}

void os_close_at_end(const int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        os_close(*fd);
    errno = saved;
}

ssize_t os_read(int fd, void *data, size_t size)
{
    return RETRY(CALL("read", &size, read(fd, data, size)));
}

ssize_t os_pread(int fd, void *data, size_t size, uint64_t offset)
{
    return RETRY(CALL("pread", &size, pread(fd, data, size, (off_t)offset)));
}

ssize_t os_write(int fd, const void *data, size_t size)
{
    return RETRY(CALL("write", &size, write(fd, data, size)));
}

ssize_t os_pwrite(int fd, const void *data, size_t size, uint64_t offset)
{
    return RETRY(CALL("pwrite", &size, pwrite(fd, data, size, (off_t)offset)));
}

int os_fstat(int fd, struct stat *out)
{
    return CALL("fstat", NULL, fstat(fd, out));
}

int os_fstatvfs(int fd, struct statvfs *out)
{
    return CALL("fstatvfs", NULL, fstatvfs(fd, out));
}

int os_fstatat(int dir, const char *path, struct stat *out, int flags)
{
    return CALL("fstatat", NULL, fstatat(dir, path, out, flags));
}

int os_faccessat(int dir, const char *path, int mode)
{
    return CALL("faccessat", NULL, faccessat(dir, path, mode, AT_EACCESS));
}

int os_fsync(int fd)
{
    return RETRY(CALL("fsync", NULL, fsync(fd)));
}

int os_fdatasync(int fd)
{
    return RETRY(CALL("fdatasync", NULL, fdatasync(fd)));
}

int os_ftruncate(int fd, uint64_t size)
{
    return RETRY(CALL("ftruncate", NULL, ftruncate(fd, (off_t)size)));
}

int os_fchmod(int fd, mode_t mode)
{
    return RETRY(CALL("fchmod", NULL, fchmod(fd, mode)));
}

int os_fchown(int fd, uid_t uid, gid_t gid)
{
    return RETRY(CALL("fchown", NULL, fchown(fd, uid, gid)));
}

int os_renameat(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    return CALL("renameat", NULL, renameat2(from_dir, from, to_dir, to, flags));
}

int os_exchange(int a_dir, const char *a, int b_dir, const char *b)
{
    return CALL("exchange", NULL, renameat2(a_dir, a, b_dir, b, RENAME_EXCHANGE));
}

int os_linkat(int from_dir, const char *from, int to_dir, const char *to)
{
    return CALL("linkat", NULL, linkat(from_dir, from, to_dir, to, 0));
}

int os_unlinkat(int dir, const char *path, int flags)
{
    return CALL("unlinkat", NULL, unlinkat(dir, path, flags));
}

ssize_t os_readlinkat(int dir, const char *path, char *out, size_t size)
{
    return CALL("readlinkat", NULL, readlinkat(dir, path, out, size));
}

int os_realpath(const char *path, char *out)
{
    return CALL("realpath", NULL, realpath(path, out) ? 0 : -1);
}

int os_futime(int fd, int64_t mtime_ns)
{
    const struct timespec times[2] = {{0, UTIME_OMIT},
                                      {mtime_ns / 1000000000, mtime_ns % 1000000000}};

    return CALL("futime", NULL, futimens(fd, times));
}

int os_identify(const char *path, struct os_identity *out)
{
    struct statx info;
    int result = CALL("identify", NULL,
                      statx(AT_FDCWD, path, 0, STATX_TYPE | STATX_INO | STATX_BTIME, &info));

    if (result != 0)
        return -1;
    if (!S_ISDIR(info.stx_mode)) {
        errno = ENOTDIR;
        return -1;
    }
    out->device = makedev(info.stx_dev_major, info.stx_dev_minor);
    out->inode = info.stx_ino;
    out->birth_ns = info.stx_mask & STATX_BTIME
                        ? info.stx_btime.tv_sec * 1000000000 + info.stx_btime.tv_nsec
                        : 0;
    return 0;
}

int os_fstatfs(int fd, uint64_t *out_type)
{
    struct statfs info;
    int result = RETRY(CALL("fstatfs", NULL, fstatfs(fd, &info)));

    if (result == 0)
        *out_type = (uint32_t)info.f_type;
    return result;
}

int os_watch(void)
{
    return CALL("watch", NULL, inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
}

int os_watch_add(int fd, const char *path, uint32_t mask)
{
    return CALL("watch_add", NULL, inotify_add_watch(fd, path, mask));
}

int os_watch_remove(int fd, int watch)
{
    return CALL("watch_remove", NULL, inotify_rm_watch(fd, watch));
}

int os_poll(struct pollfd *fds, unsigned long count, int timeout_ms)
{
    return RETRY(CALL("poll", NULL, poll(fds, count, timeout_ms)));
}

const char *os_map(int fd, size_t size)
{
    void *map = MAP_FAILED;
    if (CALL("mmap", NULL, (map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0)) == MAP_FAILED) !=
        0)
        return NULL;
    return map;
}

void os_unmap(const char *map, size_t size)
{
    if (map)
        munmap((void *)(uintptr_t)map, size);
}

const char *os_mine(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *mine = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mine == MAP_FAILED)
        return NULL;
    if (madvise(mine, size, MADV_WIPEONFORK) != 0) {
        munmap(mine, size);
        return NULL;
    }
    *mine = 1;
    return mine;
}

void os_mine_free(const char *mine)
{
    if (mine)
        munmap((void *)mine, (size_t)sysconf(_SC_PAGESIZE));
}

int os_ready(void)
{
    return CALL("ready", NULL, epoll_create1(EPOLL_CLOEXEC));
}

int os_ready_add(int self, int fd, uint32_t events, uint32_t bit)
{
    struct epoll_event event = {.events = events, .data.u32 = bit};
    return CALL("ready_add", NULL, epoll_ctl(self, EPOLL_CTL_ADD, fd, &event));
}

int os_ready_remove(int self, int fd)
{
    return CALL("ready_remove", NULL, epoll_ctl(self, EPOLL_CTL_DEL, fd, NULL));
}

int os_ready_now(int self, uint32_t *out_bits)
{
    struct epoll_event events[4];
    int count = RETRY(CALL("poll", NULL, epoll_wait(self, events, 4, 0)));
    *out_bits = 0;
    for (int i = 0; i < count; i++)
        *out_bits |= events[i].data.u32;
    return count < 0 ? -1 : 0;
}

int os_flock(int fd, int operation)
{
    return RETRY(CALL("flock", NULL, flock(fd, operation)));
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now); // cannot fail for the clocks used
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t os_now_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

#ifdef ETHOS_TEST_HOOKS
static bool sleep_skipped;
static int64_t skipped_ms; /* so far */

void os_skip_sleep(bool skip)
{
    sleep_skipped = skip;
}

/* The time that a test has set; -1: none. */
static int64_t stopped_ms(void)
{
    char text[24];
    const char *path = getenv("ETHOS_MONOTONIC_MS");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return -1;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? strtoll(text, NULL, 10) : -1;
}
#else
enum { skipped_ms = 0 };

static int64_t stopped_ms(void)
{
    return -1;
}
#endif

int64_t os_monotonic_ms(void)
{
    int64_t stopped = stopped_ms();

    return stopped >= 0 ? stopped : clock_ms(CLOCK_MONOTONIC) + skipped_ms;
}

int64_t os_tick_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC_COARSE) + skipped_ms;
}

int64_t os_boot_ms(void)
{
#ifdef ETHOS_TEST_HOOKS
    const char *boot = getenv("ETHOS_BOOT_MS"); // a test cannot start the machine again

    if (boot)
        return strtoll(boot, NULL, 10);
#endif
    return clock_ms(CLOCK_REALTIME) - clock_ms(CLOCK_BOOTTIME);
}

void os_sleep_ms(unsigned ms)
{
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

#ifdef ETHOS_TEST_HOOKS
    if (sleep_skipped) {
        skipped_ms += ms;
        return;
    }
#endif
    while (nanosleep(&rest, &rest) == -1 && errno == EINTR)
        continue;
}

int os_random(void *data, size_t size)
{
    char *at = data;

    while (size > 0) {
        ssize_t got = RETRY(CALL("random", NULL, getrandom(at, size, 0)));

        if (got < 0)
            return -1;
        at += got;
        size -= (size_t)got;
    }
    return 0;
}

/* ---- creating with an exact mode ------------------------------------------------------------- */

/* Closes or removes on the way out of a failure without losing its errno. */
static int close_failed(int fd)
{
    int saved = errno;

    os_close(fd);
    errno = saved;
    return -1;
}

static int unlink_failed(int dir, const char *path, int flags)
{
    int saved = errno;

    os_unlinkat(dir, path, flags);
    errno = saved;
    return -1;
}

/* For a file that was just created: gives it the mode the umask may have taken from it. */
static int set_created_mode(int fd, mode_t mode)
{
    struct stat status;

    if (os_fstat(fd, &status))
        return -1;
    return (status.st_mode & 07777) == mode ? 0 : os_fchmod(fd, mode);
}

static int finish_open(int fd, int dir, const char *path, int flags, mode_t mode)
{
    if (fd < 0 || !(flags & O_CREAT) || !(flags & O_EXCL))
        return fd;
    if (set_created_mode(fd, mode) == 0)
        return fd;
    close_failed(fd);
    return unlink_failed(dir, path, 0);
}

/* Whether a file that is somebody else's was refused only because its time of access was to stay. */
static bool is_foreign(int flags)
{
    return errno == EPERM && (flags & O_NOATIME);
}

int os_openat(int dir, const char *path, int flags, mode_t mode)
{
    int fd = RETRY(CALL("openat", NULL, openat(dir, path, flags | O_CLOEXEC, mode)));

    if (fd < 0 && is_foreign(flags))
        return os_openat(dir, path, flags & ~O_NOATIME, mode);
    return finish_open(fd, dir, path, flags, mode);
}

int os_mkdirat(int dir, const char *path, mode_t mode)
{
    struct stat status;

    if (CALL("mkdirat", NULL, mkdirat(dir, path, mode)))
        return -1;
    if (os_fstatat(dir, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        ((status.st_mode & 07777) == mode ||
         CALL("fchmodat", NULL, fchmodat(dir, path, mode, AT_SYMLINK_NOFOLLOW)) == 0))
        return 0;
    return unlink_failed(dir, path, AT_REMOVEDIR);
}

/* ---- opening beneath a directory ------------------------------------------------------------- */

#define RACE_RETRIES 32 /* the kernel answers EAGAIN while someone renames along the path */

static int open_kernel(int dir, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .mode = flags & O_CREAT ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    if (flags & O_NOFOLLOW)
        how.resolve |= RESOLVE_NO_SYMLINKS;
    long fd = -1;

    for (int i = 0; i < RACE_RETRIES; i++) {
        fd = RETRY(CALL("openat2", NULL, syscall(SYS_openat2, dir, path, &how, sizeof(how))));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return (int)fd;
}

/* Opens one name in dir; a symbolic link is EXDEV whatever the kernel calls it. */
static int open_step(int dir, const char *name, int flags, mode_t mode)
{
    struct stat status;

    if (strcmp(name, "..") == 0) {
        errno = EXDEV;
        return -1;
    }
    int fd = os_openat(dir, name, flags | O_NOFOLLOW, mode);
    if (fd >= 0 && !(flags & O_PATH))
        return fd;
    int saved = errno;
    bool link = os_fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
    errno = link ? EXDEV : saved;
    return fd >= 0 && link ? close_failed(fd) : fd;
}

/* Cuts the next name off *rest; NULL at the end. Empty names and "." are skipped. */
static char *next_name(char **rest)
{
    char *name;

    while ((name = strsep(rest, "/"))) {
        if (*name && strcmp(name, ".") != 0)
            return name;
    }
    return NULL;
}

/* Steps down to the directory of the last name; the names are cut out of path. */
static int open_walk(int dir, char *path, int flags, mode_t mode)
{
    bool slash = path[strlen(path) - 1] == '/';
    char *name = next_name(&path), *next;
    int at = dir;

    while (name && (next = next_name(&path))) {
        int fd = open_step(at, name, O_PATH | O_DIRECTORY, 0);

        if (at != dir)
            close_failed(at);
        if (fd < 0)
            return -1;
        at = fd;
        name = next;
    }
    int fd = open_step(at, name ? name : ".", slash ? flags | O_DIRECTORY : flags, mode);
    if (at != dir)
        close_failed(at);
    return fd;
}

/* For kernels before 5.6, and sandboxes that forbid the call. */
static int open_by_walking(int dir, const char *path, int flags, mode_t mode)
{
    char copy[PATH_MAX];
    size_t size = strlen(path);

    errno = size == 0 ? ENOENT : size >= sizeof(copy) ? ENAMETOOLONG : path[0] == '/' ? EXDEV : 0;
    if (errno)
        return -1;
    memcpy(copy, path, size + 1);
    return open_walk(dir, copy, flags, mode);
}

int os_open_beneath(int dir, const char *path, int flags, mode_t mode)
{
    int fd = open_kernel(dir, path, flags, mode);

    if (fd < 0 && is_foreign(flags))
        return os_open_beneath(dir, path, flags & ~O_NOATIME, mode);
    if (fd < 0 && errno == ENOSYS)
        return open_by_walking(dir, path, flags, mode);
    return finish_open(fd, dir, path, flags, mode);
}

/* ---- compositions ---------------------------------------------------------------------------- */

static int list_block(const char *block, size_t size, os_dir_fn *each, void *arg)
{
    for (size_t at = 0; at < size;) {
        const struct dirent64 *entry = (const void *)(block + at);

        at += entry->d_reclen;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int stop = each(arg, entry->d_name);
        if (stop)
            return stop;
    }
    return 0;
}

int os_list(int dir, os_dir_fn *each, void *arg)
{
    _Alignas(struct dirent64) char block[8192];

    if (CALL("lseek", NULL, lseek(dir, 0, SEEK_SET)) < 0)
        return -1;
    for (;;) {
        ssize_t size = RETRY(CALL("getdents", NULL, getdents64(dir, block, sizeof(block))));

        if (size <= 0)
            return (int)size;
        int stop = list_block(block, (size_t)size, each, arg);
        if (stop)
            return stop;
    }
}

/* Appends what one read gives, `most` bytes at best. Returns its size, or -1 and errno. */
static ssize_t read_more(int fd, struct str *out, size_t most)
{
    size_t chunk = out->size < 4096 ? 4096 : out->size; // small files stay small, large ones double

    if (str_reserve(out, most < chunk ? most : chunk)) {
        errno = str_code(out) == ETHOS_NOMEM ? ENOMEM : EFBIG;
        return -1;
    }
    size_t room = out->capacity - out->size - 1;
    ssize_t got = os_read(fd, out->data + out->size, room < most ? room : most);
    if (got > 0)
        out->size += (size_t)got;
    out->data[out->size] = '\0';
    return got;
}

int os_read_all(int fd, struct str *out, size_t limit)
{
    size_t start = out->size;
    ssize_t got = 1;

    while (got > 0 && out->size - start < limit)
        got = read_more(fd, out, limit - (out->size - start));
    if (got > 0) { // the limit is reached: this must be the end
        char beyond;

        got = os_read(fd, &beyond, 1);
        if (got > 0) {
            errno = EFBIG;
            got = -1;
        }
    }
    if (got == 0)
        return 0;
    str_truncate(out, start);
    return -1;
}

int os_adopt(int fd, const struct stat *like)
{
    struct stat now;

    if (os_fstat(fd, &now) != 0)
        return -1;
    if ((now.st_uid != like->st_uid || now.st_gid != like->st_gid) &&
        os_fchown(fd, like->st_uid, like->st_gid) != 0)
        return -1;
    return (now.st_mode ^ like->st_mode) & 07777 ? os_fchmod(fd, like->st_mode & 07777) : 0;
}

#define XATTR_BYTES 65536 /* of names, and of one value: what Linux allows */

static int copy_xattr(int from, int to, const char *name, char *value)
{
    ssize_t size = CALL("fgetxattr", NULL, fgetxattr(from, name, value, XATTR_BYTES));

    return size < 0 ? -1 : CALL("fsetxattr", NULL, fsetxattr(to, name, value, (size_t)size, 0));
}

/* The names stand in the first half of buffer, each with its terminator. */
static int copy_named_xattrs(int from, int to, char *buffer, size_t size)
{
    for (const char *name = buffer; name < buffer + size; name += strlen(name) + 1) {
        if (copy_xattr(from, to, name, buffer + XATTR_BYTES) != 0)
            return -1;
    }
    return 0;
}

int os_copy_xattrs(int from, int to)
{
    ssize_t size = CALL("flistxattr", NULL, flistxattr(from, NULL, 0));

    if (size <= 0) // most files have none
        return size == 0 || errno == ENOTSUP ? 0 : -1;
    char *buffer = malloc((size_t)2 * XATTR_BYTES);
    if (!buffer)
        return -1;
    size = CALL("flistxattr", NULL, flistxattr(from, buffer, XATTR_BYTES));
    int failed = size < 0 ? -1 : copy_named_xattrs(from, to, buffer, (size_t)size);
    int saved = errno;
    free(buffer);
    errno = saved;
    return failed;
}

/* The signal that tells of a broken lease would end the process unless it is one that is ignored. */
int os_has_writer(int fd)
{
    if (CALL("lease", NULL, fcntl(fd, F_SETSIG, SIGURG)) != 0)
        return -1;
    if (CALL("lease", NULL, fcntl(fd, F_SETLEASE, F_RDLCK)) != 0)
        return errno == EAGAIN ? 1 : -1;
    return CALL("lease", NULL, fcntl(fd, F_SETLEASE, F_UNLCK));
}

int os_write_all(int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0) {
        ssize_t put = os_write(fd, at, size);

        if (put == 0)
            errno = EIO;
        if (put <= 0)
            return -1;
        at += put;
        size -= (size_t)put;
    }
    return 0;
}

#define DIRECTORY (O_RDONLY | O_DIRECTORY)

/*
 * Makes the directory named by the whole of path, whose parent exists. The parent is synced even
 * when another process made it a moment ago: that process may not have come to it yet.
 */
static int make_dir(int dir, char *path)
{
    char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    if (slash)
        *slash = '\0';
    int parent = os_open_beneath(dir, slash ? path : ".", DIRECTORY, 0);
    if (slash)
        *slash = '/';
    if (parent < 0)
        return -1;
    if ((os_mkdirat(parent, name, 0700) && errno != EEXIST) || os_fsync(parent))
        return close_failed(parent);
    return os_close(parent);
}

static bool dir_exists(int dir, const char *path)
{
    int fd = os_open_beneath(dir, path, O_PATH | O_DIRECTORY, 0);

    return fd >= 0 && os_close(fd) == 0;
}

int os_mkdirs(int dir, const char *path)
{
    char copy[PATH_MAX];
    size_t size = strlen(path);

    if (dir_exists(dir, path))
        return 0;
    if (errno != ENOENT)
        return -1;
    while (size > 0 && path[size - 1] == '/')
        size--;
    errno = size == 0 ? ENOENT : size >= sizeof(copy) ? ENAMETOOLONG : 0;
    if (errno)
        return -1;
    for (size_t end = 1; end <= size; end++) {
        if (end < size && (path[end] != '/' || path[end - 1] == '/'))
            continue;
        memcpy(copy, path, end);
        copy[end] = '\0';
        if (!dir_exists(dir, copy) && make_dir(dir, copy))
            return -1;
    }
    return dir_exists(dir, path) ? 0 : -1; // something else may bear the name
}
