/*
 * shared_handles.h: several handles of one program, for one thread each, whose updates share durable writes.
 */
#ifndef ETHOS_OPS_SHARED_HANDLES_H
#define ETHOS_OPS_SHARED_HANDLES_H

#include <ethos/ethos.h>

struct shared_handles;

int shared_handles_new(struct shared_handles **out, struct ethos_error *error);

/* After every handle of it is closed; NULL is fine. */
void shared_handles_free(struct shared_handles *self);

/* As ethos_open; without a share (NULL), a handle of its own. The host of all of them is one and the same, and can be called from any thread. */
int shared_handles_open(struct shared_handles *self, const struct ethos_options *options,
                        struct ethos **out, struct ethos_error *error);

/*
 * The same, of its own, for somebody who cannot wait: a backend that is not there is asked once, for
 * wait_ms at most.
 */
int shared_handles_open_once(const struct ethos_options *options, uint32_t wait_ms,
                             struct ethos **out, struct ethos_error *error);

/*
 * What waits for a backend of a handle in place of poll(2), told right after the handle is opened: so a
 * server serves others meanwhile. -1 from it ends the wait as though the backend had not answered.
 */
struct pollfd;
typedef int op_wait_fn(void *arg, struct pollfd *fds, unsigned long count, int timeout_ms);
void op_set_wait(struct ethos *ethos, op_wait_fn *wait, void *arg);

/* From now on no call of a handle waits longer for its backend; 0: as usual. */
void op_limit_calls(struct ethos *ethos, uint32_t call_ms);

#endif
