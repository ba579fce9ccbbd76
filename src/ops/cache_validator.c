/*
 * cache_validator.c: what a result was made from, for surfaces that keep the answer.
 */
#include "ops/cache_validator.h"

#include <stdlib.h>

struct op_again {
    struct service_seen seen;
    int64_t day; /* -1: any */
};

struct op_again *again_new(const struct service_seen *seen, int64_t day)
{
    struct op_again *self = seen->turn ? malloc(sizeof *self) : NULL;
    if (self)
        *self = (struct op_again){*seen, day};
    return self;
}

bool op_again_holds(const struct op_again *self, struct ethos *ethos)
{
    return self && (self->day < 0 || again_day(service_now_ms(ethos)) == self->day) &&
           service_holds(ethos, &self->seen);
}

void op_again_free(struct op_again *self)
{
    free(self);
}
