/*
 * auth.h: who is asking: browsers by their cookies, programs by their keys.
 *
 * Both are rows of the session store of which only hashes are stored. Each browser has a secret of its own,
 * which it was given for a link or a code (ops/admin/login.h). Rows are read anew when the store changed, at most
 * AUTH_LOOK_MS after it did, and at once for a credential that is not known; those who guess have
 * AUTH_FAILURES of such looks a minute. While the store does not answer, keys that were known count for
 * AUTH_KEEP_MS, so that a database may be restarted; then none is known, which is told. Browsers that were
 * known are known until it answers again, and are not held up.
 */
#ifndef ETHOS_HTTP_AUTH_H
#define ETHOS_HTTP_AUTH_H

#include "base/hash.h"
#include "http/http.h"
#include "ops/admin/login.h"

#define AUTH_COOKIE "ethos_auth"
#define AUTH_DAYS_SECONDS ((int)(LOGIN_DAYS_MS / 1000)) /* of the cookie */
#define AUTH_LOOK_MS 250
#define AUTH_KEEP_MS 10000
#define AUTH_FAILURES 10     /* a minute, and then 429 */
#define AUTH_HEADER_SIZE 128 /* more than that of a key of ours */
#define AUTH_NAME_SIZE 128
#define AUTH_PREFIX_SIZE 40
#define AUTH_ORIGINS_SIZE 512
#define AUTH_ONLY_SIZE 512

struct auth;

int auth_open(struct http *http, struct auth **out, struct ethos_error *error);
void auth_close(struct auth *self);

/* The links of the home. */
struct login *auth_login(struct auth *self);

/* Whether there may be a key that was not revoked: while they cannot be read there may. */
bool auth_has_keys(struct auth *self);

/* Who a request's headers (NULL: not sent) say is asking. */
struct auth_found {
    enum http_who who;
    unsigned rights;
    char actor[AUTH_NAME_SIZE];      /* "owner", "key:NAME" */
    char secret[HASH_HEX_SIZE];      /* hash of the credential, for auth_holds */
    char origins[AUTH_ORIGINS_SIZE]; /* of the key */
    char only[AUTH_ONLY_SIZE];       /* its limits, with OP_LIMITED (ops/key_limits.h) */
    bool throttled;                  /* wrong once too often */
    bool unread;                     /* a key, and keys cannot be read now */
    uint64_t state; /* of all credentials; another number when some may have changed */
};

/*
 * The key that a thread found last. Zeros: none. As long as keys are as they were, and were looked at
 * within AUTH_LOOK_MS, that it is the same again is all there is to ask.
 */
struct auth_last {
    char header[AUTH_HEADER_SIZE];
    struct auth_found found;
};

/* Fills in *out. last is of this thread alone; NULL: nothing is remembered. */
void auth_find(struct auth *self, struct auth_last *last, const char *cookie,
               const char *authorization, struct auth_found *out);

/*
 * Has a worker look at the keys, at most every AUTH_LOOK_MS, and tell the store which are used: it never waits
 * for the store. Whenever keys have changed, streams are woken.
 */
void auth_look(struct auth *self);

/* Whether what was found is still so, as of the last look: for requests that last. */
bool auth_holds(struct auth *self, struct auth_found *found);

/* Whether any key lists this origin: whether a page of it may ask at all. */
bool auth_lists_origin(struct auth *self, const char *origin);

/* Whether too many wrong credentials came within a minute; and one that was wrong. */
bool auth_throttled(struct auth *self);
void auth_wrong(struct auth *self, struct ethos_view secret);

/* Signs a browser in: the secret of its cookie. */
int auth_add_browser(struct http_call *call, const char *name, char out_secret[HASH_HEX_SIZE],
                     struct ethos_error *error);

/* Signs out the browser that was found. */
int auth_end_browser(struct http_call *call, const struct auth_found *found,
                     struct ethos_error *error);

#endif
