/*
 * thread.h: starting threads that leave signals to the main thread.
 */
#ifndef ETHOS_BASE_SYSTEM_THREAD_H
#define ETHOS_BASE_SYSTEM_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Starts a thread with all signals blocked. stack_bytes: 0 for the default. out: NULL for a detached thread. Returns 0
 * or an errno.
 */
int thread_start(pthread_t *out, size_t stack_bytes, void *(*run)(void *arg), void *arg);

#endif
