/*
 * trust.c: how far a write is trusted.
 */
#include "core/approval/trust.h"

#include <string.h>

static const char *const names[] = {
    [TRUST_OWNER] = "owner", [TRUST_AGENT] = "agent", [TRUST_UNTRUSTED] = "untrusted"};

const char *trust_name(enum trust trust)
{
    return names[trust];
}

enum trust trust_of(const struct ethos_origin *origin)
{
    if (!origin->trust)
        return !origin->actor || strcmp(origin->actor, names[TRUST_OWNER]) == 0 ? TRUST_OWNER
                                                                                : TRUST_AGENT;
    for (enum trust trust = TRUST_OWNER; trust < TRUST_UNTRUSTED; trust++)
        if (strcmp(origin->trust, names[trust]) == 0)
            return trust;
    return TRUST_UNTRUSTED;
}
