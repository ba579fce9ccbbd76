/*
 * mistyped_names.h: names that were probably mistyped, on the command line.
 *
 * A personality is made by the first write to it, so an id with a slip would silently make one. Only people type;
 * programs (the library, the server, MCP, the scopes within a sync) name what they mean.
 */
#ifndef ETHOS_OPS_ADMIN_MISTYPED_NAMES_H
#define ETHOS_OPS_ADMIN_MISTYPED_NAMES_H

#include "ops/op.h"

#define MEANT_HINT_SIZE 512 /* bytes of a hint, with terminator */

/*
 * ETHOS_NOTFOUND when the call would write to a personality that is not there and whose id is at most two edits
 * from one that is, or limit a key to it; `default` is always there. Any other call with such an id, of a
 * personality or a user, is ETHOS_OK with a line in out_hint, as is a conversation of a personality, and a key of
 * a personality, user or workspace, that is not there; else "".
 */
int check_mistyped_names(struct op_call *call, const struct op *op, char out_hint[MEANT_HINT_SIZE],
                         struct ethos_error *error);

/* The same refusal for an id that is about to be set as the active personality. */
int check_mistyped_personality(struct op_call *call, const char *id, struct ethos_error *error);

#endif
