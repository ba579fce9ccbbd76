/*
 * shared_handles.h: the handles of a program's threads, whose updates share durable writes.
 */
#ifndef ETHOS_OPS_SHARED_HANDLES_H
#define ETHOS_OPS_SHARED_HANDLES_H

#include <ethos/ethos.h>

struct shared_handles;

int shared_handles_new(struct shared_handles **out, struct ethos_error *error);

/* Call it after all handles are closed; NULL is fine. */
void shared_handles_free(struct shared_handles *self);

/* Like ethos_open; with NULL, the handle shares nothing. All handles have the same host, which any thread may call. */
int shared_handles_open(struct shared_handles *self, const struct ethos_options *options,
                        struct ethos **out, struct ethos_error *error);

/*
 * Opens a handle for a caller that cannot wait: an unreachable backend is tried once, for wait_ms at most.
 */
int shared_handles_open_once(const struct ethos_options *options, uint32_t wait_ms,
                             struct ethos **out, struct ethos_error *error);

/*
 * Replaces poll(2) in waits for a backend, so that a server can serve others meanwhile. Set it right after opening the
 * handle. If it returns -1, the wait ends as if the backend had not answered.
 */
struct pollfd;
typedef int op_wait_fn(void *arg, struct pollfd *fds, unsigned long count, int timeout_ms);
void op_set_wait(struct ethos *ethos, op_wait_fn *wait, void *arg);

/* Limits how long each call of a handle waits for its backend; 0: the default. */
void op_limit_calls(struct ethos *ethos, uint32_t call_ms);

#endif
