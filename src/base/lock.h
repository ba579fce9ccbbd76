/*
 * lock.h: waiting for a flock with a deadline.
 */
#ifndef ETHOS_BASE_LOCK_H
#define ETHOS_BASE_LOCK_H

#include <ethos/types.h>

/* Takes the exclusive lock on fd, trying again after 1 to 50 ms, jittered. 0, or -1 and errno (EAGAIN at the deadline). */
int lock_wait(int fd, int64_t deadline_ms);

#endif
