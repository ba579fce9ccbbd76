/*
 * login.h: one-time links and codes that sign a browser in.
 *
 * A link carries 256 random bits and works once, within LOGIN_MS. A code has six digits, for browsers that cannot open a
 * link; it is void after LOGIN_TRIES wrong codes. Both belong to a home and work at all its servers. Only hashes are
 * stored, in <home>/.mem/logins (0600); deleting that file voids them. A browser that signed in gets its own secret:
 * http/auth.h. The file web-token, which other programs store in a home, is not used.
 */
#ifndef ETHOS_OPS_ADMIN_LOGIN_H
#define ETHOS_OPS_ADMIN_LOGIN_H

#include <stdbool.h>

#include "base/hash.h"

#define LOGIN_MS 600000                /* a link or a code is valid for 10 minutes */
#define LOGIN_DAYS_MS 2592000000       /* a browser is signed in for 30 days */
#define LOGIN_TRIES 5                  /* wrong codes until the code is void */
#define LOGIN_TOKEN_SIZE HASH_HEX_SIZE /* 64 hex digits and the terminator */
#define LOGIN_CODE_SIZE 7              /* six digits and the terminator */
#define LOGIN_PLACE_SIZE 17            /* 16 hex digits and the terminator */

struct login;

/* home as in struct ethos_options; it is created if it does not exist. */
int login_open(const char *home, struct login **out, struct ethos_error *error);
void login_close(struct login *self);

/* A public id of the home, made from its path. */
const char *login_home_id(const struct login *self);

/* A new secret of 256 bits. */
int login_secret(char out[LOGIN_TOKEN_SIZE], struct ethos_error *error);

/* The token of a new link; earlier links stay valid. */
int login_add_link(struct login *self, int64_t now_ms, char out[LOGIN_TOKEN_SIZE],
                   struct ethos_error *error);

/* A new code, which replaces the previous one. */
int login_add_code(struct login *self, int64_t now_ms, char out[LOGIN_CODE_SIZE],
                   struct ethos_error *error);

/*
 * Uses up the token of a link, or a code; *out_good is whether it was valid. If several callers use the same one, in any
 * process, it is valid for one of them only.
 */
int login_use(struct login *self, struct ethos_view given, int64_t now_ms, bool *out_good,
              struct ethos_error *error);

/* Makes a used link or code valid again, because the login failed. */
int login_restore(struct login *self, struct ethos_view given, int64_t now_ms,
                  struct ethos_error *error);

/* ---- where the server is ------------------------------------------------------------------------ */

/* "http://localhost:3000" of the server that started last, for `ethos serve --link`. */
int login_record_server(struct login *self, const char *url, long pid, struct ethos_error *error);
int login_server(struct login *self, char *out_url, size_t size, long *out_pid,
                 struct ethos_error *error);

#endif
