/*
 * login.h: how a browser is let in: links and codes that work once.
 *
 * A link carries 256 random bits and works once, within LOGIN_MS. A code has six digits, for a browser that
 * cannot open a link; after LOGIN_TRIES wrong codes it is void. Both are of a home, for all its servers. Only
 * hashes are stored, in <home>/.mem/logins (0600); deleting the file voids them. What a browser then has is a
 * secret of its own: http/auth.h. A file web-token, which other programs keep in a home, is not looked at.
 */
#ifndef ETHOS_OPS_ADMIN_LOGIN_H
#define ETHOS_OPS_ADMIN_LOGIN_H

#include <stdbool.h>

#include "base/hash.h"

#define LOGIN_MS 600000                /* a link and a code are good for 10 minutes */
#define LOGIN_DAYS_MS 2592000000       /* a browser is signed in for 30 days */
#define LOGIN_TRIES 5                  /* wrong codes, until none is valid */
#define LOGIN_TOKEN_SIZE HASH_HEX_SIZE /* 64 hex digits and the terminator */
#define LOGIN_CODE_SIZE 7              /* six digits and the terminator */
#define LOGIN_PLACE_SIZE 17            /* 16 hex digits and the terminator */

struct login;

/* home as struct ethos_options has it; it is made when it is not there. */
int login_open(const char *home, struct login **out, struct ethos_error *error);
void login_close(struct login *self);

/* The name of the home, which is not a secret and stays the same: made from its path. */
const char *login_home_id(const struct login *self);

/* A fresh secret of 256 bits. */
int login_secret(char out[LOGIN_TOKEN_SIZE], struct ethos_error *error);

/* A new link's token; earlier ones stay good. */
int login_add_link(struct login *self, int64_t now_ms, char out[LOGIN_TOKEN_SIZE],
                   struct ethos_error *error);

/* A new code, in place of the one before. */
int login_add_code(struct login *self, int64_t now_ms, char out[LOGIN_CODE_SIZE],
                   struct ethos_error *error);

/*
 * Uses up a link's token or a code: *out_good tells whether it was valid. Of several who come with the same
 * one, in whatever process, one finds it valid.
 */
int login_use(struct login *self, struct ethos_view given, int64_t now_ms, bool *out_good,
              struct ethos_error *error);

/* Makes what was used up valid again: it let nobody in. */
int login_restore(struct login *self, struct ethos_view given, int64_t now_ms,
                  struct ethos_error *error);

/* ---- where the server is ------------------------------------------------------------------------ */

/* "http://localhost:3000" of the server that started last, for `ethos serve --link`. */
int login_record_server(struct login *self, const char *url, long pid, struct ethos_error *error);
int login_server(struct login *self, char *out_url, size_t size, long *out_pid,
                 struct ethos_error *error);

#endif
