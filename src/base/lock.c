/*
 * lock.c: waiting for a flock with a deadline.
 */
#include "base/lock.h"

#include <errno.h>
#include <sys/file.h>

#include "base/os.h"

#define WAIT_MAX_MS 50u

/* A different pause for every waiter, so that a crowd does not wake in step. */
static unsigned jitter(unsigned wait)
{
    uint32_t random = 0;
    if (os_random(&random, sizeof random) != 0)
        return wait;
    return 1 + wait / 2 + random % (wait / 2 + 1);
}

int lock_wait(int fd, int64_t deadline_ms)
{
    int64_t end = os_monotonic_ms() + deadline_ms;
    for (unsigned wait = 1;; wait = wait * 2 > WAIT_MAX_MS ? WAIT_MAX_MS : wait * 2) {
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
