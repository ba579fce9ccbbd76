/*
 * redis.h: what the parts of the Redis store share.
 *
 *   module.c         options, open, close, the table
 *   address.c        where the server is, from memory.options.url
 *   request.c        commands as bytes
 *   connection.c     one connection: bytes out, replies in, never past the deadline
 *   retry.c          a request and its answer, over as many connections as it takes
 *   server_errors.c  what a server's error means to us
 *   server_info.c    what a server says of itself, and what may be promised of it
 *   texts.c          read, gather, list, scopes, fetch
 *   commit.c         commit; script.c is the part of it that runs in the server
 *   rows.c           rows, copies
 *   watch.c          watch, over a connection of its own
 *   check.c          check
 *
 * Everything of a scope is in keys named <prefix>:{<scope>}:<table>:
 *
 *   meta     hash    version, token of the last commit
 *   text:<key>       string
 *   stamps   hash    key -> "<time> <bytes> <revision>"
 *   rows     stream  <number>-0 -> the members of struct ethos_row by name, and token
 *   index    sorted  "<key> NUL <number, 20 digits>": the rows of one key
 *   ops      hash    operation id -> record
 *   times    sorted  operation id by the time it was done
 *   copies   hash    id -> "<time> <bytes of key>\n<key><text>"
 *   draft    stream  only while the script runs
 *
 * and of all of them <prefix>:scopes (set) and <prefix>:changes (stream, the newest only).
 */
#ifndef ETHOS_MODULES_REDIS_H
#define ETHOS_MODULES_REDIS_H

#include <stdbool.h>

#include <ethos/provider.h>
#include <hiredis/hiredis.h>

#include "base/str.h"
#include "base/system/connect_timeout.h"
#include "base/view.h"

#define REDIS_MAX_PREFIX 64                                                      /* bytes */
#define REDIS_KEY_SIZE (REDIS_MAX_PREFIX + ETHOS_MAX_SCOPE + ETHOS_MAX_KEY + 16) /* bytes */
#define REDIS_MAX_REQUEST ETHOS_MAX_HISTORY_BYTES /* bytes; a server takes 1 GB by default */
#define REDIS_MAX_WORDS 1048576                   /* of one command, the limit of Redis 6 */
#define REDIS_MAX_CHANGES                                                                          \
    10000 /* entries of <prefix>:changes; a reader that is further behind reads everything */

/* ---- where the server is ------------------------------------------------------------------- */

struct redis_place {
    char host[256]; /* "" for a socket file */
    char port[6];
    char path[108];
    char db[12];
    char shown[288]; /* for messages */
};

/* redis://host[:port][/db] or unix:/path[?db=n]; contains no secret. */
int place_parse(const char *url, struct redis_place *out_place, struct ethos_error *error);

/* ---- what it says of itself ---------------------------------------------------------------- */

enum server_known { SERVER_UNKNOWN, SERVER_NO, SERVER_YES };

struct server {
    unsigned version; /* the first number of it; 0: unknown */
    unsigned replicas;
    bool clustered;
    enum server_known primary;    /* role:master */
    enum server_known appends;    /* appendonly yes */
    enum server_known syncs;      /* appendfsync always */
    enum server_known syncs_ever; /* no-appendfsync-on-rewrite no */
    enum server_known keeps;      /* evicts nothing */
    enum server_known writes;     /* the last write to the append-only file succeeded */
};

/* config is the reply to CONFIG GET *append*; either may be an error or NULL. */
void server_learn(struct server *self, const redisReply *info, const redisReply *config);

/* Whether acknowledged writes survive a power failure. */
bool server_durable(const struct server *self);

/* ---- scripts ------------------------------------------------------------------------------- */

/*
 * What must be atomic runs in the server. SCRIPT_READ takes commands that only read, each preceded
 * by its number of words, and returns all their replies; script.c describes SCRIPT_COMMIT.
 */
enum script { SCRIPT_READ, SCRIPT_COMMIT, SCRIPTS };
extern const char *const script_texts[SCRIPTS];

#define SCRIPT_TABLES 10 /* keys that a commit is given; those of texts follow */
extern const char *const script_tables[SCRIPT_TABLES];

/* ---- the store ----------------------------------------------------------------------------- */

struct redis_link {
    int fd; /* -1: not connected */
    redisReader *reader;
};

struct redis_watch {
    struct redis_link link;
    bool begun;
    bool missed;     /* a notification was missed: anything may have changed */
    char after[48];  /* id of the last entry seen */
    uint64_t number; /* and its number */
    int64_t asked;   /* monotonic ms */
    unsigned pause;  /* ms until the next attempt to connect */
};

struct redis {
    struct ethos_store store;
    const struct ethos_host *host;
    struct redis_place place;
    char *user, *password; /* or NULL */
    char prefix[REDIS_MAX_PREFIX + 1];
    char shas[SCRIPTS][41];          /* the server's hashes of the scripts */
    uint32_t connect_ms, timeout_ms; /* of a connection, an answer */
    int64_t began, deadline;         /* of the current call, monotonic ms */
    struct backend_reach reach;
    struct redis_link link;
    struct server server;
    struct redis_watch watch;
};

/* Every slot begins with this: starts the deadline; for reading texts it may be a shorter one. */
void redis_begin(struct redis *self);
void redis_begin_texts(struct redis *self);
int64_t redis_left_ms(const struct redis *self);

/* "<prefix>:{<scope>}:<table><key>", or without a scope "<prefix>:<table>". */
void redis_key(const struct redis *self, const char *scope, const char *table, const char *key,
               char out[REDIS_KEY_SIZE]);

/* What is stored with a text. */
struct stamp {
    int64_t time_ms;
    uint64_t bytes;
    char revision[ETHOS_REVISION_SIZE];
};

/* Sets out_text to bytes, which are the end of a text. If memory runs out, it is unchanged. */
int redis_give(const struct redis *self, struct ethos_view bytes, const struct stamp *stamp,
               struct ethos_text *out_text, struct ethos_error *error);

/* Sets it to nothing and frees its memory. */
void redis_give_none(const struct redis *self, struct ethos_text *out_text);

/* ---- requests ------------------------------------------------------------------------------ */

/* One command, or the arguments of a script. */
struct redis_request {
    struct str bytes;
    size_t words; /* in bytes */
};

void request_init(struct redis_request *self);
void request_release(struct redis_request *self);
void request_word(struct redis_request *self, struct ethos_view word);
void request_string(struct redis_request *self, const char *word);
void request_number(struct redis_request *self, uint64_t number);
void request_key(struct redis_request *self, const struct redis *redis, const char *scope,
                 const char *table, const char *key);
void request_say(struct redis_request *self, size_t count, ...); /* so many strings */

/* ---- connections --------------------------------------------------------------------------- */

/*
 * ETHOS_BUSY if the server cannot be reached, ETHOS_DENIED and others if it refuses. Fills `server`
 * unless NULL.
 */
int link_open(struct redis *self, struct redis_link *link, struct server *server,
              struct ethos_error *error);
void link_close(struct redis_link *link);

/* Whether it can still be used: nothing unexpected has arrived, in particular not its end. */
bool link_idle(const struct redis_link *link);

/*
 * Sends a command: head comes before the request's own words. Unless this returns ETHOS_OK, the
 * server cannot have received it.
 */
int link_send(struct redis *self, struct redis_link *link, struct ethos_view head,
              const struct redis_request *request, struct ethos_error *error);

/* The same for a command that is all in its words. */
int link_say(struct redis *self, struct redis_link *link, const struct redis_request *request,
             struct ethos_error *error);

/*
 * ETHOS_BUSY if no reply comes: then the connection cannot be used any more. The caller frees the
 * reply.
 */
int link_reply(struct redis *self, struct redis_link *link, redisReply **out_reply,
               struct ethos_error *error);

/* The same without waiting: *out_reply is NULL if there is no reply yet. */
int link_look(struct redis *self, struct redis_link *link, redisReply **out_reply,
              struct ethos_error *error);

/* ---- asking -------------------------------------------------------------------------------- */

/*
 * The reply to a command. If the connection is lost or the server is only not ready, it is tried
 * again until the deadline, or for a shorter time (base/system/connect_timeout.h). *out_lost (or
 * NULL): it was sent at least once without a reply, so unless ETHOS_OK is returned it is unknown
 * whether it was done.
 */
int redis_ask(struct redis *self, const struct redis_request *request, redisReply **out_reply,
              struct ethos_error *error);
int ask_script(struct redis *self, enum script script, const struct redis_request *words,
               bool *out_lost, redisReply **out_reply, struct ethos_error *error);

/* Only makes sure that there is a connection. */
int ask_nothing(struct redis *self, struct ethos_error *error);

/* Sets the error for an error reply. *out_again: the same request may succeed soon. */
int refusal_set(const struct redis *self, const redisReply *reply, bool *out_again,
                struct ethos_error *error);

/* What to do about a command that the server does not know. */
#define REFUSAL_RENAMED "take its rename-command out of redis.conf"

/* How to grant a user the rights that a store needs. */
#define REFUSAL_RIGHTS_SIZE 200
void refusal_rights(const struct redis *self, char out[REFUSAL_RIGHTS_SIZE]);

/* The error for a reply that no server gives if only we write its keys. */
int refusal_odd(const struct redis *self, const char *what, struct ethos_error *error);

/* ---- rows ---------------------------------------------------------------------------------- */

#define ROW_FIELDS 24

/* The fields of a row as name and value; numbers are written to scratch. */
struct row_field {
    const char *name;
    struct ethos_view value;
};
struct row_scratch {
    char numbers[4][24];
};
size_t row_fields(const struct ethos_row *row, const char *token, struct row_scratch *scratch,
                  struct row_field out_fields[ROW_FIELDS]);

/* The index entry of a row. Returns its size. */
size_t row_index(const char *key, uint64_t number, char out[ETHOS_MAX_KEY + 24]);

/* ---- the slots ----------------------------------------------------------------------------- */

int texts_read(struct ethos_store *self, const char *scope, const char *key,
               const struct ethos_read_how *how, struct ethos_text *out_text,
               struct ethos_error *error);
int texts_gather(struct ethos_store *self, const struct ethos_read_how *how,
                 struct ethos_section *sections, size_t count, struct ethos_error *error);
int texts_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
               struct ethos_error *error);
int texts_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg,
                 struct ethos_error *error);
int texts_fetch(struct ethos_store *self, const char *scope, struct ethos_fetch *fetch,
                struct ethos_error *error);
int commit_do(struct ethos_store *self, const char *scope, const struct ethos_commit *commit,
              struct ethos_error *error);
int rows_walk(struct ethos_store *self, const char *scope, const char *key, uint64_t below,
              size_t limit, ethos_row_fn *each, void *arg, struct ethos_error *error);
int rows_copies(struct ethos_store *self, const char *scope, const char *id, ethos_copy_fn *each,
                void *arg, struct ethos_error *error);
int watch_look(struct ethos_store *self, ethos_scope_fn *each, void *arg, int *out_fd,
               unsigned *out_wait_ms, struct ethos_error *error);
int check_look(struct ethos_store *self, int fix, ethos_finding_fn *each, void *arg,
               struct ethos_error *error);

#endif
