/*
 * shared_handles.c: the write group that the handles of a server share.
 */
#include "ops/shared_handles.h"

#include <stdlib.h>

#include "base/err.h"
#include "memory/handle.h"
#include "store/group_commit.h"

struct shared_handles {
    struct group *group;
};

int shared_handles_new(struct shared_handles **out, struct ethos_error *error)
{
    struct shared_handles *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    int code = group_new(&self->group, error);
    if (code != ETHOS_OK) {
        free(self);
        return code;
    }
    *out = self;
    return ETHOS_OK;
}

void shared_handles_free(struct shared_handles *self)
{
    if (!self)
        return;
    group_free(self->group);
    free(self);
}

int shared_handles_open(struct shared_handles *self, const struct ethos_options *options,
                        struct ethos **out, struct ethos_error *error)
{
    return service_open(options, self ? self->group : NULL, out, error);
}

void op_set_wait(struct ethos *ethos, op_wait_fn *wait, void *arg)
{
    service_set_wait(ethos, wait, arg);
}

void op_limit_calls(struct ethos *ethos, uint32_t call_ms)
{
    service_limit_calls(ethos, call_ms);
}

int shared_handles_open_once(const struct ethos_options *options, uint32_t wait_ms,
                             struct ethos **out, struct ethos_error *error)
{
    TRY(service_open(options, NULL, out, error));
    service_disable_retries(*out, wait_ms);
    return ETHOS_OK;
}
