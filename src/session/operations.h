/*
 * operations.h: the operations of the session store, one file for each group. Private to
 * src/session.
 *
 * All of them are entries of sessions_sqlite; ethos/session.h documents them.
 */
#ifndef ETHOS_SESSION_OPERATIONS_H
#define ETHOS_SESSION_OPERATIONS_H

#include "core/sessions/normalize.h"
#include "session/database.h"

/* messages.c */
int messages_append(struct ethos_sessions *self, const char *id,
                    const struct ethos_message *messages, size_t count, unsigned flags,
                    struct ethos_error *error);
int messages_read(struct ethos_sessions *self, const char *id, unsigned last,
                  ethos_message_fn *each, void *arg, struct ethos_error *error);
int messages_undo(struct ethos_sessions *self, const char *id, unsigned turns, uint64_t *out_count,
                  struct ethos_error *error);
int messages_rewind(struct ethos_sessions *self, const char *id, const char *message,
                    const struct ethos_message *messages, size_t count, unsigned flags,
                    uint64_t *out_hidden, struct ethos_error *error);
int messages_taken(struct ethos_sessions *self, const struct ethos_message *messages, size_t count,
                   size_t *out_at, struct ethos_error *error);

/* list.c */
int sessions_list(struct ethos_sessions *self, const struct ethos_session_query *query,
                  ethos_session_fn *each, void *arg, char out_cursor[ETHOS_CURSOR_SIZE],
                  struct ethos_error *error);

/* maintenance.c */
int sessions_fork(struct ethos_sessions *self, const char *id, char out_id[ETHOS_UUID_SIZE],
                  struct ethos_error *error);
int sessions_prune(struct ethos_sessions *self, const char *before, int dry_run,
                   uint64_t *out_count, struct ethos_error *error);
int sessions_vacuum(struct ethos_sessions *self, struct ethos_error *error);
int sessions_settle(struct ethos_sessions *self, struct ethos_error *error);

/* purge.c */
int sessions_purge(struct ethos_sessions *self, const struct ethos_match *match, int dry_run,
                   struct ethos_session_purge *out_purge, struct ethos_error *error);

/*
 * Called after a commit that deleted: removes all traces from files and indexes. If that fails, the
 * failure is logged, and the next deletion, or the last close, repeats it.
 */
void sessions_erase_deleted(struct db *self);

/* changes.c */
int sessions_follow(struct ethos_sessions *self, ethos_follow_fn *each, void *arg,
                    unsigned *out_wait_ms, struct ethos_error *error);
void follow_free(struct db *self);

/* unseen.c */
int messages_unseen(struct ethos_sessions *self, struct ethos_seen *seen, int *out_all,
                    ethos_unseen_fn *each, void *arg, struct ethos_error *error);
int messages_one(struct ethos_sessions *self, int64_t number, ethos_message_fn *each, void *arg,
                 struct ethos_error *error);

/* api_keys.c */
/*
 * Whether the table "api_keys" or "browsers" exists: 1 or 0, or a code. It is created with its
 * first row.
 */
int keys_present(struct db *self, const char *table, struct ethos_error *error);

int keys_each(struct ethos_sessions *self, ethos_key_fn *each, void *arg,
              struct ethos_error *error);
int keys_add(struct ethos_sessions *self, const struct ethos_key *key, struct ethos_error *error);
int keys_revoke(struct ethos_sessions *self, const char *prefix, struct ethos_error *error);
int keys_used(struct ethos_sessions *self, const char *hash, struct ethos_error *error);
int keys_version(struct ethos_sessions *self, uint64_t *out_version, struct ethos_error *error);

/* check.c */
int sessions_check(struct ethos_sessions *self, int fix, ethos_finding_fn *each, void *arg,
                   struct ethos_error *error);

/* ---- what they share (store.c) ------------------------------------------------------------ */

/* db_begin for an existing session, without creating a database. */
int session_begin(struct db *self, const char *id, struct ethos_error *error);

/* Whether a session with this id exists: 1 or 0, or a code. */
int session_exists(struct db *self, const char *id, struct ethos_error *error);

/* form_time for the current time. */
int session_time(const struct db *self, const char *given, char out[CLOCK_ISO_SIZE],
                 struct ethos_error *error);

#endif
