/*
 * normalize.h: checks and completes what is given to a session store, with times in their stored
 * form, and the error messages for missing rows.
 *
 * All session stores share this.
 */
#ifndef ETHOS_CORE_SESSIONS_NORMALIZE_H
#define ETHOS_CORE_SESSIONS_NORMALIZE_H

#include <ethos/session.h>

#include "base/clock.h"

#define FORM_MAX_CONTENT 33554432 /* bytes of one message */

/* ETHOS_INVALID unless each is valid UTF-8 or NULL. */
int form_texts(const char *const *texts, size_t count, struct ethos_error *error);

/* A given time in its stored form; NULL is now. ETHOS_INVALID if it is not a time. */
int form_time(const char *given, int64_t now_ms, char out[CLOCK_ISO_SIZE],
              struct ethos_error *error);

/* The bounds of a time span in their stored form; NULL: no bound. */
struct form_span {
    const char *since, *until;
    char from[CLOCK_ISO_SIZE], to[CLOCK_ISO_SIZE];
};

int form_span(const char *since, const char *until, int64_t now_ms, struct form_span *out,
              struct ethos_error *error);

/* A session to be created. Its strings are in here or in the given one. */
struct form_session {
    struct ethos_session session; /* id NULL: none was given */
    char created[CLOCK_ISO_SIZE], updated[CLOCK_ISO_SIZE];
};

int form_session(const struct ethos_session *given, int64_t now_ms, struct form_session *out,
                 struct ethos_error *error);

/* An API key to be stored, likewise. */
struct form_key {
    struct ethos_key key;
    char created[CLOCK_ISO_SIZE], used[CLOCK_ISO_SIZE], revoked[CLOCK_ISO_SIZE];
};

int form_key(const struct ethos_key *given, int64_t now_ms, struct form_key *out,
             struct ethos_error *error);

/* ETHOS_INVALID or ETHOS_LIMIT for values that no store accepts. */
int form_patch(const struct ethos_session_patch *patch, struct ethos_error *error);
int form_messages(const struct ethos_message *messages, size_t count, struct ethos_error *error);

/*
 * ETHOS_NOTFOUND: "no such session: ID", "no such message in the session: ID", "no such key: NAME"
 */
int form_no_session(const char *id, struct ethos_error *error);
int form_no_message(const char *id, struct ethos_error *error);
int form_no_key(const char *name, struct ethos_error *error);

/* ETHOS_EXISTS */
int form_session_exists(const char *key, struct ethos_error *error);
int form_message_exists(const char *id, struct ethos_error *error);
int form_key_exists(const char *prefix, struct ethos_error *error);

/* Whether a session of this folder (NULL: of none) matches the folder of a query (NULL: any). */
bool form_within(const char *wanted, const char *folder);

#endif
