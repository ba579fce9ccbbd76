/*
 * lock.h: waiting for a flock with a deadline.
 */
#ifndef ETHOS_BASE_SYSTEM_LOCK_H
#define ETHOS_BASE_SYSTEM_LOCK_H

#include <ethos/types.h>

/*
 * Acquires the exclusive lock on fd, retrying after 1 to longest_ms with jitter. 0, or -1 and errno
 * (EAGAIN at the deadline). Use a long delay if many wait, a short one for a single process.
 */
#define LOCK_CROWD_MS 50u
#define LOCK_GATE_MS 10u
#define LOCK_ALONE_MS 2u
int lock_wait(int fd, int64_t deadline_ms, unsigned longest_ms);

/*
 * The holder of the lock on fd: "name (pid 42)", or "another process" if the system does not say.
 */
#define LOCK_HOLDER_SIZE 64
void lock_holder(int fd, char out[LOCK_HOLDER_SIZE]);

#endif
