/*
 * key_limits.h: API keys that are limited to personalities, users and workspaces.
 *
 * Limits are a list, "personality:coach,user:u1". A kind in the list is limited to its ids there; other kinds are not
 * limited. A call reaches the memory that its request selects, and scopes that its arguments name. Both are checked
 * before the operation runs, and the request then names personality, user and workspace, so that the operation cannot
 * resolve them differently. Operations that are not in the table of key_limits.c are refused.
 *
 * A limited key is stored with its limits among its scopes: "limited:memory:read,only:personality:coach". Programs that
 * do not know limits find no scope that they know.
 */
#ifndef ETHOS_OPS_KEY_LIMITS_H
#define ETHOS_OPS_KEY_LIMITS_H

#include "ops/op.h"

#define LIMITS_SCOPE "limited:"
#define LIMITS_ONLY "only:"

/* Whether limits (NULL: none) allow an id; kind is "personality", "user" or "workspace". */
bool limits_allow(const char *only, const char *kind, const char *id);

/* Removes rows whose member `name` is an id that is not allowed. */
void limits_filter(const struct op_call *call, const char *kind, const char *name, json_t *rows);

/* Whether a limited key may run the operation at all. */
bool limits_is_op_known(const struct op *op);

/* A call that stays within its limits. */
struct limits {
    struct op_call call; /* the same call, whose request names everything */
    struct ethos_request request;
    char personality[ETHOS_MAX_ID + 1], user[ETHOS_MAX_ID + 1], workspace[ETHOS_MAX_SCOPE];
    json_t *args; /* of the call, owned */
};

/* Checks a call: ETHOS_DENIED names what is outside the limits. Release *out in any case. */
int limits_enter(const struct op *op, const struct op_call *call, struct limits *out,
                 struct ethos_error *error);

/*
 * Checks the result of the call (code), and removes what the key must not see: a conversation of somebody else is "not
 * found", and names of other users are removed.
 */
int limits_leave(const struct op *op, const struct limits *limits, int code,
                 const struct op_result *result, struct ethos_error *error);
void limits_release(struct limits *limits);

#endif
