/*
 * again.c: what a result was made from, for surfaces that keep the answer.
 */
#include "ops/again.h"

#include <stdlib.h>

struct op_again {
    struct service_seen seen;
};

struct op_again *again_new(const struct service_seen *seen)
{
    struct op_again *self = malloc(sizeof *self);
    if (self)
        self->seen = *seen;
    return self;
}

bool op_again_holds(const struct op_again *self, struct ethos *ethos)
{
    return self && service_holds(ethos, &self->seen);
}

void op_again_free(struct op_again *self)
{
    free(self);
}
