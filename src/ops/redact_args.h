/*
 * redact_args.h: secrets in what an agent writes, before any of it reaches the disk. Private to src/ops and src/agent.
 */
#ifndef ETHOS_OPS_REDACT_ARGS_H
#define ETHOS_OPS_REDACT_ARGS_H

#include "ops/op.h"

/*
 * What secrets.onWrite says of an agent's arguments. *out is the arguments without secrets, owned, or NULL where they
 * stay as they are. ETHOS_INVALID where a secret is refused. A person's own writes are not asked about.
 */
int redact_args(const struct op *op, struct ethos *ethos, const json_t *args, json_t **out,
                struct ethos_error *error);

#endif
