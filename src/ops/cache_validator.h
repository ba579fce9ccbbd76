/*
 * cache_validator.h: for operations whose results can be cached (op_validator in op.h).
 */
#ifndef ETHOS_OPS_CACHE_VALIDATOR_H
#define ETHOS_OPS_CACHE_VALIDATOR_H

#include "memory/handle.h"
#include "ops/op.h"

/*
 * A validator of a result that depends on one file and, unless day is -1, on the day (since the epoch). NULL if the
 * result cannot be cached, or when out of memory, which is not an error.
 */
struct op_validator *validator_new(const struct service_seen *seen, int64_t day);

/* The day of a time. */
static inline int64_t validator_day(int64_t ms)
{
    return ms / 86400000;
}

/*
 * Makes the result depend on the lines that the owner allows, because the guard found something in it. Call it before
 * those are read. NULL does nothing.
 */
void validator_depends_on_shown_lines(struct op_validator *self, struct ethos *ethos);

#endif
