/*
 * lock.c: waiting for a flock with a deadline.
 */
#include "base/system/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sysmacros.h>

#include "base/str.h"
#include "base/system/os.h"

#define PROC_BYTES 1048576 /* of /proc/locks */

/* A different pause for every waiter, so that a crowd does not wake in step. */
static unsigned jitter(unsigned wait)
{
    uint32_t random = 0;
    if (os_random(&random, sizeof random) != 0)
        return wait;
    return 1 + wait / 2 + random % (wait / 2 + 1);
}

int lock_wait(int fd, int64_t deadline_ms, unsigned longest_ms)
{
    int64_t end = os_monotonic_ms() + deadline_ms;
    for (unsigned wait = 1;; wait = wait * 2 > longest_ms ? longest_ms : wait * 2) {
        if (os_flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK)
            return -1;
        if (os_monotonic_ms() >= end) {
            errno = EAGAIN;
            return -1;
        }
        os_sleep_ms(jitter(wait));
    }
}

/* ---- the holder ------------------------------------------------------------------------------ */

static int read_proc(const char *path, struct str *out)
{
    int fd = os_openat(AT_FDCWD, path, O_RDONLY, 0);
    if (fd < 0)
        return -1;
    int failed = os_read_all(fd, out, PROC_BYTES);
    os_close(fd);
    return failed;
}

/* The process that /proc/locks names for this file; 0 when it names none, or one outside. */
static int find_holder(const struct stat *st)
{
    struct str locks;
    char file[64];
    int pid = 0;
    snprintf(file, sizeof file, " %02x:%02x:%lu ", major(st->st_dev), minor(st->st_dev),
             (unsigned long)st->st_ino);
    str_init(&locks, PROC_BYTES);
    if (read_proc("/proc/locks", &locks) == 0) {
        const char *hit = strstr(locks.data, file);
        const char *line = hit;
        while (line && line > locks.data && line[-1] != '\n')
            line--;
        if (!line || sscanf(line, "%*s %*s %*s %*s %d", &pid) != 1)
            pid = 0;
    }
    str_release(&locks);
    return pid > 0 ? pid : 0;
}

void lock_holder(int fd, char out[LOCK_HOLDER_SIZE])
{
    struct stat st;
    struct str name;
    char path[64];
    int pid = os_fstat(fd, &st) == 0 ? find_holder(&st) : 0;
    snprintf(out, LOCK_HOLDER_SIZE, "another process");
    if (!pid)
        return;
    str_init(&name, PROC_BYTES);
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    if (read_proc(path, &name) == 0)
        snprintf(out, LOCK_HOLDER_SIZE, "%.*s (pid %d)", (int)strcspn(name.data, "\n"), name.data,
                 pid);
    str_release(&name);
}
