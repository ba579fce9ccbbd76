/*
 * share.h: several handles of one program, for one thread each, whose updates share durable writes.
 */
#ifndef ETHOS_OPS_SHARE_H
#define ETHOS_OPS_SHARE_H

#include <ethos/ethos.h>

struct op_share;

int op_share_new(struct op_share **out, struct ethos_error *error);

/* After every handle of it is closed; NULL is fine. */
void op_share_free(struct op_share *self);

/* As ethos_open; without a share (NULL), a handle of its own. The host of all of them is one and the same, and can be called from any thread. */
int op_share_open(struct op_share *self, const struct ethos_options *options, struct ethos **out,
                  struct ethos_error *error);

/*
 * The same, of its own, for somebody who cannot wait: a backend that is not there is asked once, for
 * wait_ms at most.
 */
int op_share_open_once(const struct ethos_options *options, uint32_t wait_ms, struct ethos **out,
                       struct ethos_error *error);

#endif
