/*
 * ethos/session.h: conversations: what was said, as memory is what was kept.
 *
 * A session is a row of facts about a conversation and its messages in order. The table of functions
 * below is what a session store implements; the default one is SQLite, in the schema that other
 * programs of this family read and write, too.
 *
 * Times are ISO-8601 with milliseconds and Z, in text, as they are stored. Strings given to callbacks are
 * borrowed for the length of the call; NULL members are absent.
 */
#ifndef ETHOS_SESSION_H
#define ETHOS_SESSION_H

#include <ethos/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ethos_setup; /* these three: provider.h */
struct ethos_option;
struct ethos_finding;

#define ETHOS_UUID_SIZE 37 /* with terminator */

/* ---- rows ---------------------------------------------------------------------------------- */

/* What a conversation has cost. */
struct ethos_usage {
    int64_t input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens;
    double cost_usd;
    int64_t api_calls, compactions;
};

struct ethos_session {
    const char *id;  /* UUID */
    const char *key; /* unique: what a surface finds it by */
    const char *platform, *model, *provider;
    const char *personality, *parent, *working_dir, *title;
    const char *metadata; /* JSON */
    struct ethos_usage usage;
    int64_t turns, last_compaction_turn;
    int pinned;
    const char *created_at, *updated_at;
    const char *user; /* whose it is; NULL: the owner's of the machine */
};

/* role: user, assistant, tool_result, system or user_steer. */
struct ethos_message {
    const char *id, *session;
    const char *role;
    struct ethos_view content;
    const char *tool_call_id, *tool_name;
    const char *tool_calls;     /* JSON array of {id, name, ...}, of an assistant */
    const char *content_blocks; /* JSON */
    const char *trace_id;
    struct ethos_usage usage; /* api_calls and compactions unused */
    int has_usage;
    const char *timestamp; /* in: NULL is now; never earlier than the session's last */
    int64_t number; /* out: of a store that has `unseen`, what `message` reads it by; else 0 */
};

/*
 * Return 0 to go on; any other value stops the walk and is returned by it. It must not call the store
 * that called it (ETHOS_INTERNAL): collect first.
 */
typedef int ethos_session_fn(void *arg, const struct ethos_session *session);
typedef int ethos_message_fn(void *arg, const struct ethos_message *message);

/* ---- asking -------------------------------------------------------------------------------- */

/* Whose sessions: those of one person, who may be known by several ids. */
struct ethos_people {
    const char *const *ids;
    size_t count;
    int owner; /* those that belong to nobody else as well */
};

/*
 * Which sessions; all zero: every one. Strings match exactly unless said otherwise. working_dir is a folder,
 * or several, one a line; one that ends in / stands for itself and all below it.
 */
struct ethos_session_query {
    const char *platform, *personality, *working_dir;
    const char *id_prefix;
    const char *text;                  /* part of title or key, case ignored */
    const char *since, *until;         /* updated within, inclusive; a date alone is a whole day */
    const char *cursor;                /* of the page before */
    unsigned limit;                    /* 0: 50 */
    const struct ethos_people *people; /* NULL: of everybody */
};

/* Room for a cursor with terminator; "" after the last page. */
#define ETHOS_CURSOR_SIZE 128

struct ethos_search {
    struct ethos_view text; /* words in any order, "a phrase"; nothing else has a meaning */
    const char *session, *role;
    const char *working_dir;           /* as in a query of sessions */
    const char *since, *until;         /* inclusive */
    unsigned limit;                    /* 0: 20 */
    int newest;                        /* by time instead of by how well it fits */
    int guarded;                       /* looks only at what a model may read: see ethos_hit */
    const struct ethos_people *people; /* NULL: of everybody */
};

/*
 * One message that fits. The snippet is a part of its content; [hit, hit_end) in it is what was found. In a
 * guarded search the content is without secrets and instruction-like lines, and fits without them: what
 * was taken out can neither be found nor be cut in two by the snippet.
 */
struct ethos_hit {
    const struct ethos_message *message;
    const struct ethos_session *session;
    struct ethos_view snippet;
    size_t hit, hit_end;
    int cut_before, cut_after; /* the snippet does not begin or end the content */
    int withheld;              /* guarded: the content is not whole */
};

typedef int ethos_hit_fn(void *arg, const struct ethos_hit *hit);

/*
 * What to change; absent members stay. title "" takes it away. usage is added to what there is, and with
 * compactions the last compaction is that of now. updated_at stays: it tells when somebody last spoke.
 */
struct ethos_session_patch {
    const char *title, *model, *provider, *personality, *metadata, *working_dir;
    const int *pinned;
    const struct ethos_usage *usage;
};

/* What happened to a session, or a message of it that was appended. */
struct ethos_followed {
    const char *what;           /* created, updated, deleted; message; lost: more than is known */
    const char *id;             /* of the session; NULL: lost */
    const char *updated_at;     /* created and updated */
    const char *message, *role; /* the message */
};

typedef void ethos_follow_fn(void *arg, const struct ethos_followed *followed);

/* What an index of the messages has seen; all zero: nothing. Its members are the store's own. */
struct ethos_seen {
    int64_t last, messages, words;
    uint64_t id;
};

/* A session with messages that were not seen: the last `count` of it, or 0 when all of it has to be compared. */
typedef int ethos_unseen_fn(void *arg, const char *session, uint64_t count);

/*
 * A key with which a program asks over the network, or a browser that is signed in. Only the hash of its
 * secret is stored. Lists are separated by commas. The prefix of a browser, and of nothing else, begins with
 * ETHOS_BROWSER_PREFIX; its scopes and origins are empty.
 */
#define ETHOS_BROWSER_PREFIX "browser-"

struct ethos_key {
    const char *prefix; /* how people tell it from others; unique */
    const char *hash;   /* SHA-256 of the secret, in hex; unique */
    const char *name;
    const char *scopes;  /* rights: "memory:read,sessions:read" */
    const char *origins; /* web origins that may use it; "": any caller */
    int agent;           /* not a person's */
    const char *created_at;
    const char *last_used_at; /* about; NULL: never */
    const char *revoked_at;   /* NULL: it is valid */
};

typedef int ethos_key_fn(void *arg, const struct ethos_key *key);

/* What a purge changed: rows that held the text. */
struct ethos_session_purge {
    uint64_t sessions; /* titles and metadata */
    uint64_t messages; /* hidden ones too */
    uint64_t summaries;
    uint64_t keys; /* names of keys and browsers */
};

enum {
    ETHOS_APPEND_CHECKED = 1,   /* ETHOS_INVALID for a sequence that a model would refuse */
    ETHOS_APPEND_KEEP_TIME = 2, /* imports: the given times, even before the session's last */
    ETHOS_APPEND_REPLACE = 4 /* rewind: the message is deleted, not hidden; a store may hide it */
};

/* ---- the store ----------------------------------------------------------------------------- */

struct ethos_sessions {
    const struct ethos_sessions_ops *ops;
    uint32_t capabilities;
    uint32_t reserved;
};

/*
 * All or nothing per call, durable when it returns. ETHOS_NOTFOUND for an unknown session,
 * ETHOS_EXISTS for a key that is taken, ETHOS_BUSY when another process writes past the deadline.
 */
struct ethos_sessions_ops {
    uint32_t abi;
    const char *name;
    const struct ethos_option *options;

    int (*open)(const struct ethos_setup *setup, struct ethos_sessions **out_sessions,
                struct ethos_error *error);
    void (*close)(struct ethos_sessions *self);

    /* id, created_at, updated_at NULL: made. */
    int (*create)(struct ethos_sessions *self, const struct ethos_session *session,
                  char out_id[ETHOS_UUID_SIZE], struct ethos_error *error);
    int (*get)(struct ethos_sessions *self, const char *id, ethos_session_fn *each, void *arg,
               struct ethos_error *error);
    int (*get_by_key)(struct ethos_sessions *self, const char *key, ethos_session_fn *each,
                      void *arg, struct ethos_error *error);
    int (*update)(struct ethos_sessions *self, const char *id,
                  const struct ethos_session_patch *patch, struct ethos_error *error);
    int (*remove)(struct ethos_sessions *self, const char *id, struct ethos_error *error);

    /*
     * In order. Raises updated_at, and turns by the messages of the user. A message whose id is there
     * already is ETHOS_EXISTS.
     */
    int (*append)(struct ethos_sessions *self, const char *id, const struct ethos_message *messages,
                  size_t count, unsigned flags, struct ethos_error *error);

    /* The newest `last` of a session (0: all), oldest first. */
    int (*messages)(struct ethos_sessions *self, const char *id, unsigned last,
                    ethos_message_fn *each, void *arg, struct ethos_error *error);

    /*
     * Pinned first, then the latest. Pages go on in the order of the first one: a session that was there
     * then is shown once, even if somebody appends to it meanwhile; only a pin that is set or taken
     * away moves it. Within since and until is what was so then.
     */
    int (*list)(struct ethos_sessions *self, const struct ethos_session_query *query,
                ethos_session_fn *each, void *arg, char out_cursor[ETHOS_CURSOR_SIZE],
                struct ethos_error *error);

    int (*search)(struct ethos_sessions *self, const struct ethos_search *search,
                  ethos_hit_fn *each, void *arg, struct ethos_error *error);

    /* A copy with new ids, the parent recorded; key <key>:fork:<ms>. */
    int (*fork)(struct ethos_sessions *self, const char *id, char out_id[ETHOS_UUID_SIZE],
                struct ethos_error *error);

    /* Hides the last turns, or as many as there are: from a user's message on. *out_count: messages. */
    int (*undo)(struct ethos_sessions *self, const char *id, unsigned turns, uint64_t *out_count,
                struct ethos_error *error);

    /* Deletes what was last changed before the time and is not pinned; dry_run only counts. */
    int (*prune)(struct ethos_sessions *self, const char *before, int dry_run, uint64_t *out_count,
                 struct ethos_error *error);

    /* Gives space back to the file system. */
    int (*vacuum)(struct ethos_sessions *self, struct ethos_error *error);

    /*
     * Hides a message and all after it, and appends these (count may be 0) instead. ETHOS_NOTFOUND when
     * the session shows no such message.
     */
    int (*rewind)(struct ethos_sessions *self, const char *id, const char *message,
                  const struct ethos_message *messages, size_t count, unsigned flags,
                  uint64_t *out_hidden, struct ethos_error *error);

    /*
     * Looks at everything and tells what is wrong: damage, an index that disagrees, conversations that
     * a model would refuse. fix mends what can be made anew from the messages; they are never touched.
     */
    int (*check)(struct ethos_sessions *self, int fix,
                 void (*each)(void *arg, const struct ethos_finding *finding), void *arg,
                 struct ethos_error *error);

    /* The first of these messages whose id is there already, be it hidden; *out_at is count for none. */
    int (*taken)(struct ethos_sessions *self, const struct ethos_message *messages, size_t count,
                 size_t *out_at, struct ethos_error *error);

    /* After many appends: what is derived from the messages and would else be made by the next search. */
    int (*settle)(struct ethos_sessions *self, struct ethos_error *error);

    /*
     * Optional. What happened since the last call, whoever did it; the first one only begins. Costs what
     * is new, whatever there is: of sessions that others change without a message (a title, a pin, a
     * deletion) only the newest are told. *out_wait_ms: call again after this time, though nothing
     * happens; 0: no need.
     */
    int (*follow)(struct ethos_sessions *self, ethos_follow_fn *each, void *arg,
                  unsigned *out_wait_ms, struct ethos_error *error);

    /*
     * Keys, oldest first, revoked ones too, and browsers among or after them. A store that keeps none has none of
     * these five.
     */
    int (*keys)(struct ethos_sessions *self, ethos_key_fn *each, void *arg,
                struct ethos_error *error);

    /*
     * created_at NULL: now; last_used_at and revoked_at as given, for one that comes from elsewhere.
     * ETHOS_EXISTS for a prefix or hash that is there.
     */
    int (*key_add)(struct ethos_sessions *self, const struct ethos_key *key,
                   struct ethos_error *error);

    /* For good. ETHOS_NOTFOUND for an unknown prefix; a key that was revoked stays so. */
    int (*key_revoke)(struct ethos_sessions *self, const char *prefix, struct ethos_error *error);

    /* Somebody used it just now. Not for every use. */
    int (*key_used)(struct ethos_sessions *self, const char *hash, struct ethos_error *error);

    /* A number that is another one when keys may have changed, through whomever. Quick. */
    int (*keys_version)(struct ethos_sessions *self, uint64_t *out_version,
                        struct ethos_error *error);

    /*
     * Optional, these two: for an index of what was said. The sessions that have messages which were not seen, in
     * the order of their beginnings, and what is seen then. *out_all: these are all sessions there are, and of
     * what was seen some may be gone or changed. What only hides messages is not told.
     */
    int (*unseen)(struct ethos_sessions *self, struct ethos_seen *seen, int *out_all,
                  ethos_unseen_fn *each, void *arg, struct ethos_error *error);

    /* A message by its number, unless it is hidden: ETHOS_NOTFOUND. */
    int (*message)(struct ethos_sessions *self, int64_t number, ethos_message_fn *each, void *arg,
                   struct ethos_error *error);

    /*
     * Optional. Puts a mark in the place of every line that holds a match, in messages, titles, metadata,
     * summaries and names of keys; JSON stays JSON, and every other byte stays. Nothing of it is left in files
     * or indexes of the store when it returns ETHOS_OK. With dry_run it only counts and tells match->each, with
     * the id of the session, or the prefix of the key, as the key. *out_purge is set in any case.
     */
    int (*purge)(struct ethos_sessions *self, const struct ethos_match *match, int dry_run,
                 struct ethos_session_purge *out_purge, struct ethos_error *error);
};

#ifdef __cplusplus
}
#endif
#endif
