/*
 * cache_validator.c: what a result was made from, for surfaces that cache it.
 */
#include "ops/cache_validator.h"

#include <stdlib.h>
#include <string.h>

#include "memory/home/directory.h"
#include "memory/shown_file.h"

struct op_validator {
    struct service_seen seen;
    int64_t day;             /* -1: any */
    bool guarded;            /* depends on the lines that the owner allows, */
    struct home_stamp shown; /* as of this stamp of their file */
};

struct op_validator *validator_new(const struct service_seen *seen, int64_t day)
{
    struct op_validator *self = seen->turn ? malloc(sizeof *self) : NULL;
    if (self)
        *self = (struct op_validator){.seen = *seen, .day = day};
    return self;
}

void validator_depends_on_shown_lines(struct op_validator *self, struct ethos *ethos)
{
    if (!self)
        return;
    self->guarded = true;
    shown_file_stamp(ethos, &self->shown);
}

static bool is_shown_same(const struct op_validator *self, struct ethos *ethos)
{
    struct home_stamp now;
    if (!self->guarded)
        return true;
    shown_file_stamp(ethos, &now);
    return memcmp(&now, &self->shown, sizeof now) == 0;
}

bool op_validator_holds(const struct op_validator *self, struct ethos *ethos)
{
    return self && (self->day < 0 || validator_day(service_now_ms(ethos)) == self->day) &&
           is_shown_same(self, ethos) && service_holds(ethos, &self->seen);
}

void op_validator_free(struct op_validator *self)
{
    free(self);
}
