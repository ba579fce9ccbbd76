/*
 * sessions.h: conversations in PostgreSQL: the parts of struct ethos_sessions_ops, and what they
 * share.
 *
 *   sessions              the table of functions, open and close; create, get, update, remove
 *   sessions_sql          the statements
 *   sessions_write        one change: sent until it is known what became of it
 *   sessions_rows         rows of answers as the structs of ethos/session.h
 *   sessions_messages     append, messages, undo, rewind, taken
 *   sessions_list         pages
 *   sessions_maintenance  fork, prune, vacuum, settle
 *   sessions_api_keys     keys of programs
 *   sessions_terms        the words of a text and of a query as the server takes them
 *   sessions_search       search
 *   sessions_changes      follow
 *   sessions_check        what doctor is told
 *   sessions_purge        a text goes out of them
 *
 * Every change is one statement, as everywhere in this module, and writes one row into
 * session_call: under a token that was drawn for it, what was done to which sessions. By the token
 * a change whose answer was lost is found again, so that it happens once; by the rows those who
 * follow hear of it. Rows are kept for PG_CALLS_KEPT.
 *
 * A statement that waits for another sees the session's row as that one left it, and all else as it
 * was when it began. So whatever a change to messages depends on is in that row (last_time,
 * turn_count, version), or the change is refused when the version is not the one that was seen, and
 * begun anew.
 */
#ifndef ETHOS_MODULES_POSTGRES_SESSIONS_H
#define ETHOS_MODULES_POSTGRES_SESSIONS_H

#include <ethos/session.h>

#include "postgres.h"

#define PG_CALLS_KEPT "15 minutes"
#define PG_CALLS_KEPT_MS 900000
#define PG_FORGET_CHANCE 256 /* one of so many changes forgets what is older; at most of a byte */
#define PG_FOLLOW_MS 500     /* between two looks of a follower */
#define PG_ATTEMPTS 1000     /* at a session that others change all the time */
#define PG_VACUUM_MS 3600000 /* for a VACUUM */
#define PG_MAX_TERMS 1000000 /* bytes of a tsvector, a little below the server's */
#define PG_MAX_PLACE 16382   /* of a word, likewise */
#define PG_MAX_QUERY 262144  /* bytes of a query */
#define PG_CHECKED 500       /* messages compared at once */

struct pg_sessions {
    struct ethos_sessions sessions;
    struct pg_store *store; /* the connection, its settings, and why it could not be had */
    bool giving;            /* a callback is being called */
    char *snapshot;         /* of a follower: what the last look saw; NULL before the first */
    int64_t looked_ms;      /* and when that was */
};

extern const struct ethos_sessions_ops pg_sessions_ops;

static inline struct pg_sessions *pg_sessions_of(struct ethos_sessions *sessions)
{
    return (struct pg_sessions *)sessions;
}

int64_t pg_sessions_now(const struct pg_sessions *self);

/* What a callback may not do: ETHOS_INTERNAL while one is being called. */
int pg_sessions_enter(const struct pg_sessions *self, struct ethos_error *error);

/* pg_store_ask, unless a callback asks. For statements that may be repeated. */
int pg_sessions_ask(struct pg_sessions *self, enum pg_statement which,
                    const struct pg_params *params, PGresult **out_result,
                    struct ethos_error *error);

/* ---- one change ------------------------------------------------------------------------------ */

enum pg_outcome {
    PG_DONE,
    PG_NO_SESSION,
    PG_STALE,     /* others changed it meanwhile: look again, try again */
    PG_NO_MESSAGE /* that it begins with */
};

struct pg_change {
    enum pg_statement which;
    struct pg_params params; /* the first is the token */
    size_t size;             /* bytes of large parameters */
    const char *subject;     /* what errors are about */
    char token[ETHOS_UUID_SIZE];
    /* out */
    enum pg_outcome outcome;
    int64_t count;
};

/* Draws the token and adds it. */
int pg_change_init(struct pg_change *self, enum pg_statement which, const char *subject,
                   struct ethos_error *error);

/*
 * Done once, whatever happens to connections. ETHOS_OK with an outcome; ETHOS_EXISTS, of which the
 * caller tells what, when something unique was taken.
 */
int pg_change_send(struct pg_sessions *self, struct pg_change *change, struct ethos_error *error);

/* ---- rows ------------------------------------------------------------------------------------ */

/* What the two below expect, from their first column on; s and m name the tables. */
#define PG_SESSION_COLUMNS                                                                         \
    "s.id, s.key, s.platform, s.model, s.provider, s.personality_id, s.parent_session_id,"         \
    " s.working_dir, s.title, s.metadata, s.input_tokens, s.output_tokens, s.cache_read_tokens,"   \
    " s.cache_creation_tokens, s.estimated_cost_usd, s.api_call_count, s.compaction_count,"        \
    " s.turn_count, s.last_compaction_turn, s.pinned, s.created_at, s.updated_at, s.user_id"
#define PG_SESSION_COUNT 23

#define PG_MESSAGE_COLUMNS                                                                         \
    "m.id, m.session_id, m.role, m.content, m.tool_call_id, m.tool_name, m.tool_calls,"            \
    " m.content_blocks, m.trace_id, m.input_tokens, m.output_tokens, m.cache_read_tokens,"         \
    " m.cache_creation_tokens, m.estimated_cost_usd, m.timestamp"
#define PG_MESSAGE_COUNT 15

struct ethos_session pg_session_row(const PGresult *result, int row, int column);
struct ethos_message pg_message_row(const PGresult *result, int row, int column);

/* Whose sessions, as statements read it: NULL, or ids between commas, "*" first for the owner. */
int pg_add_people(struct pg_params *params, const struct ethos_people *people, struct str *text,
                  struct ethos_error *error);

/* Text in lower case, character by character: a part of it is looked for so. NULL stays NULL. */
int pg_fold(const char *text, struct str *out, const char **out_folded, struct ethos_error *error);

/* ---- terms ----------------------------------------------------------------------------------- */

/*
 * The words of a text as a tsvector: each as it is folded and, where it has another, by its stem
 * behind "=", at its places. *out_whole: false for a text of more words than the server takes;
 * there is no vector of it.
 */
int pg_terms(struct ethos_view text, struct str *out, bool *out_whole);

struct query;

/* What every text has that fits the query, and some others; as a tsquery. */
int pg_terms_query(const struct query *query, struct str *out);

/* What has all words next to each other, in their order, by themselves or by their stems. */
int pg_terms_whole(const struct query *query, struct str *out);

/* What has the phrases letter by letter; nothing is added when there are none. */
int pg_terms_exact(const struct query *query, struct str *out);

/* ---- maintenance ----------------------------------------------------------------------------- */

/* Statements that take their time, one after the other; the first is for a connection of our own only. */
int pg_sessions_steps(struct pg_sessions *self, const char *const *steps, size_t count,
                      struct ethos_error *error);

/* ---- the operations -------------------------------------------------------------------------- */

int pg_append(struct ethos_sessions *self, const char *id, const struct ethos_message *messages,
              size_t count, unsigned flags, struct ethos_error *error);
int pg_messages(struct ethos_sessions *self, const char *id, unsigned last, ethos_message_fn *each,
                void *arg, struct ethos_error *error);
int pg_undo(struct ethos_sessions *self, const char *id, unsigned turns, uint64_t *out_count,
            struct ethos_error *error);
int pg_rewind(struct ethos_sessions *self, const char *id, const char *message,
              const struct ethos_message *messages, size_t count, unsigned flags,
              uint64_t *out_hidden, struct ethos_error *error);
int pg_taken(struct ethos_sessions *self, const struct ethos_message *messages, size_t count,
             size_t *out_at, struct ethos_error *error);
int pg_sessions_list(struct ethos_sessions *self, const struct ethos_session_query *query,
                     ethos_session_fn *each, void *arg, char out_cursor[ETHOS_CURSOR_SIZE],
                     struct ethos_error *error);
int pg_search(struct ethos_sessions *self, const struct ethos_search *search, ethos_hit_fn *each,
              void *arg, struct ethos_error *error);
int pg_fork(struct ethos_sessions *self, const char *id, char out_id[ETHOS_UUID_SIZE],
            struct ethos_error *error);
int pg_prune(struct ethos_sessions *self, const char *before, int dry_run, uint64_t *out_count,
             struct ethos_error *error);
int pg_vacuum(struct ethos_sessions *self, struct ethos_error *error);
int pg_settle(struct ethos_sessions *self, struct ethos_error *error);
int pg_sessions_purge(struct ethos_sessions *self, const struct ethos_match *match, int dry_run,
                      struct ethos_session_purge *out_purge, struct ethos_error *error);
int pg_sessions_check(struct ethos_sessions *self, int fix, ethos_finding_fn *each, void *arg,
                      struct ethos_error *error);
int pg_follow(struct ethos_sessions *self, ethos_follow_fn *each, void *arg, unsigned *out_wait_ms,
              struct ethos_error *error);
int pg_keys(struct ethos_sessions *self, ethos_key_fn *each, void *arg, struct ethos_error *error);
int pg_key_add(struct ethos_sessions *self, const struct ethos_key *key, struct ethos_error *error);
int pg_key_revoke(struct ethos_sessions *self, const char *prefix, struct ethos_error *error);
int pg_key_used(struct ethos_sessions *self, const char *hash, struct ethos_error *error);
int pg_keys_version(struct ethos_sessions *self, uint64_t *out_version, struct ethos_error *error);

#endif
