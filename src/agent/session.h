/*
 * session.h: what a turn knows of its session.
 */
#ifndef ETHOS_AGENT_SESSION_H
#define ETHOS_AGENT_SESSION_H

#include <ethos/ethos.h>

#include "base/str.h"

#define SESSION_MAX_METADATA 65536            /* bytes */
#define SESSION_NOT_APPLIED "ethosNotApplied" /* in the metadata: what became of the last updates */

struct agent_session {
    char key[512];
    char personality[ETHOS_MAX_ID + 1]; /* the one that is active in it, or "" */
    char model[256], provider[64];      /* of the last turn */
    char folder[4096];                  /* it was begun in, or "" */
    struct str metadata;                /* JSON, or empty */
    struct str not_applied;
    int64_t turns;
};

/* Release in any case. */
int agent_session_read(struct ethos *ethos, const char *id, struct agent_session *out,
                       struct ethos_error *error);
void agent_session_release(struct agent_session *self);

/*
 * Appends the key of a chat: "platform:bot:chat", with a thread "platform:bot:chat%2Fthread", and ":moment" when that
 * is not 0: one that was begun anew. Returns str_code.
 */
int agent_session_chat_key(const char *platform, const char *bot, const char *chat,
                           const char *thread, int64_t moment, struct str *out);

/*
 * The session of a key (core/sessions/key.h), made when there is none: as the person and the personality of the
 * request, on its platform.
 */
int agent_session_open(struct ethos *ethos, const struct ethos_request *request, const char *key,
                       char out_id[ETHOS_UUID_SIZE], struct ethos_error *error);

/* The session goes on with this personality. */
int agent_session_set_personality(struct ethos *ethos, const char *id, const char *personality,
                                  struct ethos_error *error);

#endif
