/*
 * redact_args.h: redacts secrets in what an agent writes, before anything reaches the disk. Private to src/ops and
 * src/agent.
 */
#ifndef ETHOS_OPS_REDACT_ARGS_H
#define ETHOS_OPS_REDACT_ARGS_H

#include "ops/op.h"

/*
 * Applies secrets.onWrite to the arguments of an agent. *out is the redacted copy, owned, or NULL if nothing changes.
 * ETHOS_INVALID if the setting refuses secrets. A person's own writes are not redacted.
 */
int redact_args(const struct op *op, struct ethos *ethos, const json_t *args, json_t **out,
                struct ethos_error *error);

#endif
