/*
 * owners.h: whose a session is. Private to src/session.
 *
 * session_users(session_id, user_id) in a database of our own beside sessions.db, which others share
 * and whose tables stay as they are. A session without a row is the owner's, so that a home of one
 * person has no such file. Written under the lock of sessions.db, with its settings. A row is there
 * before its session, and gone after it: what a dead process leaves is a row of no session.
 */
#ifndef ETHOS_SESSION_OWNERS_H
#define ETHOS_SESSION_OWNERS_H

#include <stdbool.h>

#include <ethos/session.h>

struct arena;
struct db;

#define PEOPLE_FILE "session-users.db"

/* Which sessions are shown: all, those that are listed, or all but those. */
struct people_set {
    bool all, except;
    const char **ids; /* sorted */
    size_t count;
};

/* Opens the file if there is one. sessions.db is open. */
int people_open(struct db *self, struct ethos_error *error);

/* Opens, too. The sessions of these people (NULL: of everybody), in the arena. */
int people_find(struct db *self, const struct ethos_people *people, struct arena *arena,
                struct people_set *out, struct ethos_error *error);

bool people_has(const struct people_set *self, const char *session);

/* Once open: sets session->user, which lives until the next call. */
int people_fill(struct db *self, struct ethos_session *session, struct ethos_error *error);

/* Within a write of sessions.db, before it is committed. user NULL: the owner's, nothing is written. */
int people_put(struct db *self, const char *session, const char *user, struct ethos_error *error);

/* Within a write: the copy is of whom the session is. */
int people_copy(struct db *self, const char *session, const char *copy, struct ethos_error *error);

/* After a removal (NULL: of many): rows whose sessions are gone. What fails is left to the next. */
void people_drop(struct db *self, const char *session);

/* Registers the function owned(id) for statements: whether self->people has it. */
int people_function(struct db *self);

void people_close(struct db *self);

#endif
