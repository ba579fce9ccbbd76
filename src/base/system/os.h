/*
 * os.h: the only door to the operating system.
 *
 * Every file, lock, sync, rename and stat call of the library, and its clock, sleep and randomness,
 * goes through here, so that a test can fail, shorten or kill the nth one. Functions behave like
 * the system call they are named after: -1 and errno, or the value. EINTR is retried where the call
 * can be repeated safely.
 *
 * In test builds (ETHOS_TEST_HOOKS) the environment variable
 *     ETHOS_FAULT=<call|any>:<n>:<errno name|short=k|eintr|kill-before|kill-after|stop|skip>
 * acts on the nth call (n/m: on the nth of every m; skip: says it was done and does nothing), ETHOS_FAULT_LOG=FILE appends one line "<n> <call>" per call, and os_hook
 * does the same from within a test; ETHOS_BOOT_MS stands for the start of the machine;
 * while there is a file named by ETHOS_MONOTONIC_MS, the number in it is what os_monotonic_ms says. A call bears the name of its function without os_; only
 * os_open_beneath is "openat2", and os_list makes "lseek" and "getdents". Release builds contain
 * none of it.
 */
#ifndef ETHOS_BASE_SYSTEM_OS_H
#define ETHOS_BASE_SYSTEM_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

/*
 * openat2 with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS and O_CLOEXEC: the path may not leave dir by
 * any route; EXDEV when it would. With O_NOFOLLOW no part of the path may be a symbolic link (ELOOP),
 * so that ENOENT means there is nothing. Kernels without openat2 answer by walking component by component
 * with O_NOFOLLOW, where every symbolic link is EXDEV.
 *
 * O_NOATIME is a wish: what belongs to somebody else is opened without it.
 */
int os_open_beneath(int dir, const char *path, int flags, mode_t mode);
int os_openat(int dir, const char *path, int flags, mode_t mode); /* adds O_CLOEXEC */
/* Both: with O_CREAT | O_EXCL the file has exactly this mode, whatever the umask. */
int os_close(int fd);

/* CLEANUP_FD int fd: closed at the end of its block, unless it is negative. errno is preserved. */
void os_close_at_end(const int *fd);
#define CLEANUP_FD __attribute__((cleanup(os_close_at_end)))

ssize_t os_read(int fd, void *data, size_t size);
ssize_t os_pread(int fd, void *data, size_t size, uint64_t offset);
ssize_t os_write(int fd, const void *data, size_t size);
ssize_t os_pwrite(int fd, const void *data, size_t size, uint64_t offset);
int os_fstat(int fd, struct stat *out);
int os_fstatvfs(int fd, struct statvfs *out); /* of the file system that it is on */
int os_fstatat(int dir, const char *path, struct stat *out, int flags);
int os_faccessat(int dir, const char *path, int mode); /* as the effective user */
int os_fsync(int fd);
int os_fdatasync(int fd);
int os_ftruncate(int fd, uint64_t size);
int os_fchmod(int fd, mode_t mode);
int os_fchown(int fd, uid_t uid, gid_t gid);
int os_renameat(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int os_exchange(int a_dir, const char *a, int b_dir, const char *b); /* the two names swap files */
int os_linkat(int from_dir, const char *from, int to_dir, const char *to);
int os_unlinkat(int dir, const char *path, int flags);
int os_mkdirat(int dir, const char *path, mode_t mode); /* exact mode, whatever the umask */
ssize_t os_readlinkat(int dir, const char *path, char *out, size_t size);
int os_realpath(const char *path, char *out); /* out has PATH_MAX bytes; 0, or -1 and errno */
int os_flock(int fd, int operation);
int os_fstatfs(int fd, uint64_t *out_type); /* the number that tells a file system's kind */
int os_futime(int fd, int64_t mtime_ns);    /* sets the time of the last change */

/* Maps the first `size` bytes of a file, more than 0, privately. NULL and errno. */
const char *os_map(int fd, size_t size);
void os_unmap(const char *map, size_t size);

/* inotify(7), never blocking: a descriptor, a watch. And poll(2), which may be interrupted. */
struct pollfd;
int os_watch(void);
int os_watch_add(int fd, const char *path, uint32_t mask);
int os_watch_remove(int fd, int watch);
int os_poll(struct pollfd *fds, unsigned long count, int timeout_ms);

/* A byte that is 1 in this process and 0 in processes forked from it. NULL: not available. */
const char *os_mine(void);
void os_mine_free(const char *mine);

/*
 * epoll(7) over a few descriptors: readable while one of them is; returns the bits of those that
 * are ready. A closed descriptor is removed from it.
 */
int os_ready(void);
int os_ready_add(int self, int fd, uint32_t events, uint32_t bit);
int os_ready_remove(int self, int fd);
int os_ready_now(int self, uint32_t *out_bits);

/* Identity of a directory, independent of its name; links are followed. */
struct os_identity {
    uint64_t device, inode;
    int64_t birth_ns; /* 0 where the file system keeps none */
};
int os_identify(const char *path, struct os_identity *out); /* ENOTDIR for a file */

/*
 * Entries of a directory without "." and "..", in the kernel's order. The callback returns 0 to
 * continue; any other value ends the iteration and is returned by it.
 */
typedef int os_dir_fn(void *arg, const char *name);
int os_list(int dir, os_dir_fn *each, void *arg);

int64_t os_now_ms(void); /* wall time */
int64_t os_monotonic_ms(void);
int64_t os_tick_ms(void); /* the time of the kernel's last tick, which is cheaper */
int64_t os_boot_ms(void); /* wall time at which the machine started */
void os_sleep_ms(unsigned ms);
int os_random(void *data, size_t size);

/* ---- small compositions of the above, still nothing but I/O -------------------------------- */

struct str;

/*
 * Appends the rest of the file. 0, or -1 and errno with out unchanged; EFBIG beyond `limit` bytes.
 */
int os_read_all(int fd, struct str *out, size_t limit);

/* Writes everything or fails. */
int os_write_all(int fd, const void *data, size_t size);

/*
 * Gives fd owner, group and mode of the file it will replace; calls only for differences. 0, or -1
 * and errno.
 */
int os_adopt(int fd, const struct stat *like);

/*
 * Copies the extended attributes of another file to fd, including access lists. 0, or -1 and errno.
 */
int os_copy_xattrs(int from, int to);

/*
 * Whether any process has the file of fd, which is open for reading, open for writing: 1, 0, or -1
 * and errno if this cannot be determined (another owner's file, a file system without leases).
 */
int os_has_writer(int fd);

/*
 * Creates every missing directory of a relative path below dir, mode 0700, and syncs each parent.
 */
int os_mkdirs(int dir, const char *path);

#ifdef ETHOS_TEST_HOOKS
/*
 * Called before each call with its name and its number, from 1 since os_hook; a non-zero return is
 * the errno to fail with. NULL removes the hook.
 */
typedef int os_hook_fn(void *arg, const char *call, unsigned long number);
void os_hook(os_hook_fn *hook, void *arg);

/*
 * While on, a sleep returns at once and the monotonic clocks advance by its length: for tests with
 * one thread and no other process, in which nothing can happen during a sleep.
 */
void os_skip_sleep(bool skip);
#endif

#endif
