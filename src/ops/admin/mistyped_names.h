/*
 * mistyped_names.h: detects mistyped names on the command line.
 *
 * The first write to a personality creates it, so a mistyped id would silently create one. Only the command line checks
 * this; the library, the server and MCP use the names that programs give.
 */
#ifndef ETHOS_OPS_ADMIN_MISTYPED_NAMES_H
#define ETHOS_OPS_ADMIN_MISTYPED_NAMES_H

#include "ops/op.h"

#define MEANT_HINT_SIZE 512 /* bytes of a hint, with terminator */

/*
 * ETHOS_NOTFOUND if the call would write to a personality that does not exist, or limit a key to it, and its id is at
 * most two edits from an existing one (`default` always exists). Otherwise ETHOS_OK, with a hint in out_hint, or "", for
 * similar ids of a personality or user, and for conversations or keys of a personality, user or workspace that does not
 * exist.
 */
int check_mistyped_names(struct op_call *call, const struct op *op, char out_hint[MEANT_HINT_SIZE],
                         struct ethos_error *error);

/* The same check for an id that will become the active personality. */
int check_mistyped_personality(struct op_call *call, const char *id, struct ethos_error *error);

#endif
