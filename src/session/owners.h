/*
 * owners.h: the person that a session belongs to. Private to src/session.
 *
 * session_users(session_id, user_id) in a separate database beside sessions.db, whose tables other
 * programs share and which are not changed. A session without a row belongs to the owner, so a home
 * of one person has no such file. Written under the lock of sessions.db, with its settings. A row
 * is written before its session and deleted after it: a killed process can leave only a row without
 * a session.
 */
#ifndef ETHOS_SESSION_OWNERS_H
#define ETHOS_SESSION_OWNERS_H

#include <stdbool.h>

#include <ethos/session.h>

struct arena;
struct db;

#define PEOPLE_FILE "session-users.db"

/* Which sessions are shown: all, the listed ones, or all others. */
struct people_set {
    bool all, except;
    const char **ids; /* sorted */
    size_t count;
};

/* Opens the file if it exists. sessions.db is open. */
int people_open(struct db *self, struct ethos_error *error);

/* The same, and finds the sessions of these people (NULL: of everybody), in the arena. */
int people_find(struct db *self, const struct ethos_people *people, struct arena *arena,
                struct people_set *out, struct ethos_error *error);

bool people_has(const struct people_set *self, const char *session);

/* Once open: sets session->user, valid until the next call. */
int people_fill(struct db *self, struct ethos_session *session, struct ethos_error *error);

/* During a write of sessions.db, before its commit. user NULL: the owner, nothing is written. */
int people_put(struct db *self, const char *session, const char *user, struct ethos_error *error);

/* During a write: the copy belongs to the owner of the session. */
int people_copy(struct db *self, const char *session, const char *copy, struct ethos_error *error);

/*
 * After a deletion (NULL: of many): deletes rows without sessions. Failures are left to the next
 * call.
 */
void people_drop(struct db *self, const char *session);

/* Registers the function owned(id) for statements: whether self->people has it. */
int people_function(struct db *self);

void people_close(struct db *self);

#endif
