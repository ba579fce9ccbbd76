/*
 * cache_validator.h: for operations that can tell whether they would give the same again (op_again in op.h).
 */
#ifndef ETHOS_OPS_CACHE_VALIDATOR_H
#define ETHOS_OPS_CACHE_VALIDATOR_H

#include "memory/handle.h"
#include "ops/op.h"

/*
 * Of a result that is made of one file and nothing else; day: and of this one, since the epoch, or -1. NULL:
 * nobody can tell, or no memory, which is no failure.
 */
struct op_validator *validator_new(const struct service_seen *seen, int64_t day);

/* The day of a moment. */
static inline int64_t validator_day(int64_t ms)
{
    return ms / 86400000;
}

/*
 * The same, of a result in which the guard found something: it holds while the lines that the owner allows stay the
 * same. To be called before those are read. NULL does nothing.
 */
void validator_depends_on_shown_lines(struct op_validator *self, struct ethos *ethos);

#endif
