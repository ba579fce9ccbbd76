/*
 * key_limits.h: keys that are limited to personalities, users and workspaces.
 *
 * Limits are a list, "personality:coach,user:u1". A kind that the list names is limited to the ids that it names;
 * a kind that it does not name is not limited. What a call reaches is decided by its request (whose memory) and
 * by arguments that name somebody else's; both are checked here, before the operation runs, and the request is
 * made definite, so that the operation can resolve it in no other way. An operation that is not in the table of
 * key_limits.c is refused.
 *
 * A limited key is stored with its limits among its scopes: "limited:memory:read,only:personality:coach". Who
 * does not know limits finds no scope there that it knows.
 */
#ifndef ETHOS_OPS_KEY_LIMITS_H
#define ETHOS_OPS_KEY_LIMITS_H

#include "ops/op.h"

#define LIMITS_SCOPE "limited:"
#define LIMITS_ONLY "only:"

/* Whether limits (NULL: none) allow an id; kind is "personality", "user" or "workspace". */
bool limits_allow(const char *only, const char *kind, const char *id);

/* Takes the rows away of which the member `name` is an id that is not allowed. */
void limits_filter(const struct op_call *call, const char *kind, const char *name, json_t *rows);

/* Whether a limited key may run it at all. */
bool limits_is_op_known(const struct op *op);

/* A call within its limits. */
struct limits {
    struct op_call call; /* the same call, its request made definite */
    struct ethos_request request;
    char personality[ETHOS_MAX_ID + 1], user[ETHOS_MAX_ID + 1], workspace[ETHOS_MAX_SCOPE];
    json_t *args; /* of the call, owned */
};

/* ETHOS_DENIED names what is outside. Release out always. */
int limits_enter(const struct op *op, const struct op_call *call, struct limits *out,
                 struct ethos_error *error);

/*
 * What came of the call, and what the key is told of it: a conversation of somebody else is not found, and
 * users that it is not for have no name.
 */
int limits_leave(const struct op *op, const struct limits *limits, int code,
                 const struct op_result *result, struct ethos_error *error);
void limits_release(struct limits *limits);

#endif
