/*
 * token.h: <home>/web-token, the secret by which a browser of this machine is known.
 *
 * 64 hex digits and a newline, mode 0600. One lives at a time, for all servers of a home: what a link
 * carries, and after its exchange what the cookie does.
 */
#ifndef ETHOS_OPS_TOKEN_H
#define ETHOS_OPS_TOKEN_H

#include <stdbool.h>

#include "base/hash.h"

#define TOKEN_SIZE HASH_HEX_SIZE /* with terminator; as many digits as a hash has */
#define TOKEN_PLACE_SIZE 17      /* 16 hex digits and the terminator */

struct token;

/* home as struct ethos_options has it; it is made when it is not there. */
int token_open(const char *home, struct token **out, struct ethos_error *error);
void token_close(struct token *self);

/* The name of the home, which is no secret and stays: made from its path. */
const char *token_place(const struct token *self);

/* The token as it is now, "" for none. Borrowed until the next call; reads only what was changed. */
const char *token_now(struct token *self);

/* Makes one when there is none. */
int token_make(struct token *self, struct ethos_error *error);

/* Replaces it by a fresh one, if it is this one; *out_done tells. */
int token_exchange(struct token *self, struct ethos_view given, bool *out_done,
                   struct ethos_error *error);

/* Takes the same time wherever the two differ. */
bool token_equal(struct ethos_view given, const char *token);

#endif
