/*
 * postgres.h: memory in PostgreSQL, and what the parts of the module share.
 *
 *   module      the tables of functions and options, open and close
 *   settings    what the options say about the connection
 *   address     where hosts are, found out within the deadline
 *   connection  one connection: had when it is needed, had again when it breaks, within a deadline
 *   query       one statement and its answer; what an error of the server means
 *   binary      parameters and arrays in the binary format, values out of answers
 *   schema      the tables: made and brought up to date, and what is asked when a connection is new
 *   texts       read, gather, list, scopes, fetch
 *   commit      commit
 *   rows        rows and copies
 *   watch       watch
 *   check       what doctor is told
 *
 *   sessions*  conversations: sessions.h
 *
 * Every call of the store is one statement, hence one round trip and one transaction: there is no time
 * between two messages in which a stopped program could hold a lock.
 */
#ifndef ETHOS_MODULES_POSTGRES_H
#define ETHOS_MODULES_POSTGRES_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <sys/types.h>

#include <ethos/provider.h>

#include "base/str.h"
#include "base/system/connect_timeout.h"

#define PG_LEAST_SERVER 130000     /* server_version_num */
#define PG_MAX_SCHEMA 48           /* bytes of the name of the schema, also used for the channel */
#define PG_MAX_PASSWORD 1024       /* bytes */
#define PG_MAX_STATEMENT 8192      /* bytes of SQL */
#define PG_MAX_MESSAGE 1000000000  /* bytes of one statement, a little below the server's limit */
#define PG_LARGE 1048576           /* bytes from which a commit takes time to send */
#define PG_SLOWEST 4096            /* bytes per ms: timeouts assume at least this speed */
#define PG_KEYWORDS 48             /* parameters of a connection */
#define PG_PARAMS 28               /* of a statement */
#define PG_FEW 5                   /* texts up to which a separate statement is used */
#define PG_SHAPES 512              /* of a commit */
#define PG_LEAST_TIMEOUT_MS 10     /* of both timeouts */
#define PG_MOST_TIMEOUT_MS 3600000 /* likewise */
#define PG_FIRST_PAUSE_MS 10       /* before connecting again; */
#define PG_LONGEST_PAUSE_MS 500    /* doubled each time, up to this */
#define PG_RESOLVE_MS 2000         /* at least this long to find out whether a commit happened */
#define PG_POLL_MS 2000            /* between two polls without notifications, */
#define PG_LOOK_MS 10000           /* and with them */
#define PG_POLL_PATIENCE_MS 1000   /* for such a poll */
#define PG_CLOCK_MS 2000           /* clocks may differ by this much */

/* Types of the server, by their fixed numbers. */
enum {
    PG_BOOL = 16,
    PG_BYTEA = 17,
    PG_INT8 = 20,
    PG_TEXT = 25,
    PG_FLOAT8 = 701,
    PG_BOOLS = 1000,
    PG_BYTEAS = 1001,
    PG_TEXTS = 1009,
    PG_INT8S = 1016,
    PG_FLOAT8S = 1022,
    PG_TSQUERY = 3615
};

/* A column of every change's result: the result only counts if the server waits for the disk. */
#define PG_DURABLE                                                                                 \
    ", CASE WHEN current_setting('synchronous_commit') = 'off'"                                    \
    " THEN set_config('synchronous_commit', 'on', true) END"

/* ---- settings -------------------------------------------------------------------------------- */

/* Parameters as for PQconnectStartParams, terminated by NULL. */
struct pg_target {
    const char *keywords[PG_KEYWORDS + 1];
    const char *values[PG_KEYWORDS + 1];
    size_t count;
};

struct pg_settings {
    char schema[PG_MAX_SCHEMA + 1];
    char password[PG_MAX_PASSWORD + 1]; /* "": not set */
    struct pg_target target, direct;    /* direct.count is 0 without directUrl */
    uint32_t statement_ms, connect_ms, deadline_ms;
    bool pooled; /* as set; a pooler is detected in any case */
    bool fast;
    struct backend_reach reach; /* to begin with */
};

int pg_settings_read(struct pg_settings *self, const struct ethos_setup *setup,
                     struct ethos_error *error);
void pg_settings_release(struct pg_settings *self);

/* ---- link ------------------------------------------------------------------------------------ */

/* The statements prepared on every connection; `@` in their text is the schema (pg_sql). */
enum pg_statement {
    PG_GATHER,                           /* of one text; up to PG_FEW follow, */
    PG_GATHER_MANY = PG_GATHER + PG_FEW, /* and of any number */
    PG_LIST,
    PG_SCOPES,
    PG_FETCH,
    PG_ROWS,
    PG_ROWS_OF_KEY,
    PG_COPIES,
    PG_SEEN,
    PG_VERSIONS,
    PG_TELL,
    PG_OF_SESSIONS, /* those of conversations: sessions_sql.c */
    PG_S_CREATE = PG_OF_SESSIONS,
    PG_S_GET,
    PG_S_GET_BY_KEY,
    PG_S_UPDATE,
    PG_S_REMOVE,
    PG_S_CALL,
    PG_S_FORGET,
    PG_S_SAY,
    PG_S_TAIL,
    PG_S_MESSAGES,
    PG_S_TAKEN,
    PG_S_LIST,
    PG_S_LIST_ON,
    PG_S_FORK,
    PG_S_COUNT_OLD,
    PG_S_PRUNE,
    PG_S_KEYS,
    PG_S_KEY_ADD,
    PG_S_KEY_REVOKE,
    PG_S_KEY_USED,
    PG_S_KEYS_VERSION,
    PG_S_SEARCH,
    PG_S_FOLLOW,
    PG_S_SEQUENCES,
    PG_S_TERMS,
    PG_S_TERMS_FIX,
    PG_S_SCAN_SESSIONS,
    PG_S_SCAN_MESSAGES,
    PG_S_SCAN_KEYS,
    PG_S_PURGE_KEY,
    PG_S_PURGE_SESSION,
    PG_S_PURGE_MESSAGE,
    PG_STATEMENTS
};

extern const char *const pg_session_statements[PG_STATEMENTS - PG_OF_SESSIONS];

/* Tables that a commit writes: their row types, and the arrays of these. */
enum pg_table { PG_TABLE_TEXT, PG_TABLE_HISTORY, PG_TABLE_OPERATION, PG_TABLE_COPY, PG_TABLES };

/* What the server reports about itself on a new connection. */
struct pg_facts {
    int64_t server;                            /* server_version_num */
    bool fsync, full_page_writes, sync_commit; /* on, or anything but off */
    bool standby, read_only;
    bool pooled; /* the connection goes through a pooler */
    Oid rows[PG_TABLES], arrays[PG_TABLES];
};

enum pg_state {
    PG_DOWN,
    PG_CONNECTING,
    PG_UP,   /* connected, */
    PG_READY /* and introduced */
};

struct pg_link {
    const struct ethos_host *host;
    const struct pg_settings *settings;
    const struct pg_target *target;
    PGconn *conn;
    pid_t pid; /* that opened it */
    enum pg_state state;
    PostgresPollingStatusType wants; /* while connecting */
    unsigned pause_ms;               /* before the next attempt */
    struct backend_reach reach;
    struct pg_facts facts;
    bool dismissed; /* the server has announced that it closes the connection */
    /* statements prepared on this connection */
    bool prepared[PG_STATEMENTS];
    bool shapes[PG_SHAPES];
    /* the last error or loss */
    char sqlstate[6]; /* "" if the server sent none */
    char message[384];
};

void pg_link_init(struct pg_link *self, const struct ethos_host *host,
                  const struct pg_settings *settings, const struct pg_target *target);

/* Closes the connection, if there is one. */
void pg_link_drop(struct pg_link *self);

int64_t pg_until(uint32_t ms); /* from now, by the monotonic clock */

/*
 * A connection that is up and has a schema of this version. ETHOS_BUSY if there is none by then, or
 * earlier (base/system/connect_timeout.h); for any other code, retrying does not help.
 */
int pg_link_ready(struct pg_link *self, int64_t until, struct ethos_error *error);

/* The same for a caller that must know whether something happened: tries until then. */
int pg_link_wait(struct pg_link *self, int64_t until, struct ethos_error *error);

/*
 * One step of connecting: ETHOS_OK if self->state is PG_CONNECTING or PG_UP. Only the first step
 * may block, until then, to resolve a host name.
 */
int pg_link_step(struct pg_link *self, int64_t until, struct ethos_error *error);

/*
 * Lists as for libpq; empty if libpq should resolve names itself. Release it also after a failure.
 */
struct pg_addresses {
    struct str host, address, port;
    size_t count;
};
int pg_addresses_find(struct pg_addresses *self, struct pg_link *link, int64_t until,
                      struct ethos_error *error);
void pg_addresses_release(struct pg_addresses *self);

/* Waits a little longer than last time; false if there is no time left. */
bool pg_link_pause(struct pg_link *self, int64_t until);

/* ---- ask ------------------------------------------------------------------------------------- */

struct pg_params {
    int count;
    Oid types[PG_PARAMS];
    const char *values[PG_PARAMS];
    int lengths[PG_PARAMS];
    int formats[PG_PARAMS];
    char numbers[PG_PARAMS][8];
};

/*
 * SQL with parameters; results are binary. With a name it is prepared under it on the connection's
 * first use, in the same round trip. A script is several commands without parameters.
 */
struct pg_query {
    const char *sql;
    const char *name; /* or NULL */
    bool *prepared;   /* whether this connection has prepared it */
    bool alone;       /* only prepare it */
    bool script;
    const struct pg_params *params; /* or NULL */
    /*
     * NULL, or a query sent in the same round trip as a separate transaction. Its result is
     * ignored, but the next statement runs after it.
     */
    const struct pg_query *also;
};

enum pg_answer {
    PG_ANSWERED,
    PG_REFUSED, /* an error: nothing was done */
    PG_LOST     /* no answer: it may or may not have been done; the connection is closed */
};

/*
 * Runs one statement on a connection that is up. *out_result belongs to the caller only if there
 * was an answer.
 */
enum pg_answer pg_exchange(struct pg_link *self, const struct pg_query *query, int64_t until,
                           PGresult **out_result);

/* The same for large parameters. */
enum pg_answer pg_exchange_large(struct pg_link *self, struct pg_query *query, int64_t until,
                                 PGresult **out_result);

/* How many ms to wait for the answer to that many bytes. */
uint32_t pg_patience(const struct pg_settings *settings, size_t size);

/* A statement of the table. Its SQL is written only if the connection has not prepared it yet. */
struct pg_written {
    char name[24];
    char sql[PG_MAX_STATEMENT];
};
int pg_query_of(struct pg_link *self, enum pg_statement which, const struct pg_params *params,
                struct pg_written *room, struct pg_query *out);

/* The same for a statement of the table. */
enum pg_answer pg_say(struct pg_link *self, enum pg_statement which, const struct pg_params *params,
                      int64_t until, PGresult **out_result);

/* The same with that many bytes of parameters, within the time that they take. */
enum pg_answer pg_say_sized(struct pg_link *self, enum pg_statement which,
                            const struct pg_params *params, size_t size, PGresult **out_result);

/* The same including connecting and retrying, for statements that may be repeated. */
int pg_ask(struct pg_link *self, enum pg_statement which, const struct pg_params *params,
           uint32_t ms, PGresult **out_result, struct ethos_error *error);

/* Whether what was refused may work when it is tried again. */
bool pg_may_pass(const struct pg_link *self);

/* What a caller hears when an answer was lost and nobody can tell what became of it. */
int pg_not_known(const char *subject, const char *reason, struct ethos_error *error);

/* What the last refusal or loss means to a caller. */
int pg_error(const struct pg_link *self, struct ethos_error *error);

/* The same for a connection that could not be had. */
int pg_connect_error(struct pg_link *self, struct ethos_error *error);

/* Remembers what libpq says; nothing of the password. */
void pg_note(struct pg_link *self, const char *sqlstate, const char *message);

/* SQL with the schema, quoted, in the place of each `@`, plain where it is a string: '@'; `@@` is the operator. */
int pg_sql(const struct pg_settings *settings, const char *template, char out[PG_MAX_STATEMENT]);

/* ---- pack ------------------------------------------------------------------------------------ */

void pg_add_text(struct pg_params *self, const char *text); /* NULL: null */
void pg_add_number(struct pg_params *self, int64_t number);
void pg_add_double(struct pg_params *self, double number);
void pg_add_bool(struct pg_params *self, bool value);
/* A value as the server writes it, NULL: null. */
void pg_add_written(struct pg_params *self, Oid type, const char *text);
void pg_add_bytes(struct pg_params *self, Oid type, struct ethos_view bytes); /* or absent: null */

/* An array of strings, or of rows: pg_array_row() begins one, its fields follow in their order. */
struct pg_array {
    struct str bytes;
    uint32_t count;
    size_t row; /* where its length stands; 0: none has begun */
};

void pg_array_init(struct pg_array *self, Oid element);
void pg_array_release(struct pg_array *self);
void pg_array_text(struct pg_array *self, const char *text);
void pg_array_number(struct pg_array *self, int64_t number);
void pg_array_double(struct pg_array *self, double number);
void pg_array_bytes(struct pg_array *self, struct ethos_view bytes); /* absent: null */
void pg_array_row(struct pg_array *self, uint32_t fields);
void pg_field(struct pg_array *self, Oid type, struct ethos_view value); /* absent: null */
void pg_field_text(struct pg_array *self, const char *text);
void pg_field_number(struct pg_array *self, int64_t number);
void pg_field_bool(struct pg_array *self, bool value);
int pg_array_end(struct pg_array *self); /* of it all; str_code */

/* Values of an answer. */
int64_t pg_number(const PGresult *result, int row, int column);
double pg_double(const PGresult *result, int row, int column);
bool pg_bool(const PGresult *result, int row, int column);
const char *pg_text(const PGresult *result, int row, int column);        /* NULL for null */
struct ethos_view pg_bytes(const PGresult *result, int row, int column); /* absent for null */

/* ---- schema ---------------------------------------------------------------------------------- */

/* Introduces a connection that is up: facts, settings of the session, the schema made if need be. */
int pg_hello(struct pg_link *self, int64_t until, struct ethos_error *error);

/* ---- store ----------------------------------------------------------------------------------- */

enum pg_watching { PG_UNDECIDED, PG_LISTENS, PG_LOOKS };

struct pg_watch {
    enum pg_watching how;
    struct pg_link link; /* of one who listens */
    bool began;          /* by an earlier call */
    bool listening, told_down;
    bool asking;        /* for the versions; */
    int64_t look_ms;    /* when that is due, or when the answer is */
    int64_t next_ms;    /* no attempt to connect before */
    int64_t give_up_ms; /* the present one, when it has not come so far */
    PGresult *versions; /* of one who looks: the last ones */
};

struct pg_store {
    struct ethos_store store;
    const struct ethos_host *host;
    struct pg_settings settings;
    struct pg_link link;
    struct pg_watch watch;
};

extern const struct ethos_option pg_options[];
extern const struct ethos_store_ops pg_store_ops;

/* pg_ask of the store's connection within its deadline. */
int pg_store_ask(struct pg_store *self, enum pg_statement which, const struct pg_params *params,
                 PGresult **out_result, struct ethos_error *error);

void pg_watch_release(struct pg_watch *self);

int pg_read(struct ethos_store *self, const char *scope, const char *key,
            const struct ethos_read_how *how, struct ethos_text *out_text,
            struct ethos_error *error);
int pg_gather(struct ethos_store *self, const struct ethos_read_how *how,
              struct ethos_section *sections, size_t count, struct ethos_error *error);
int pg_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
            struct ethos_error *error);
int pg_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg, struct ethos_error *error);
int pg_fetch(struct ethos_store *self, const char *scope, struct ethos_fetch *fetch,
             struct ethos_error *error);
int pg_commit(struct ethos_store *self, const char *scope, const struct ethos_commit *commit,
              struct ethos_error *error);
int pg_rows(struct ethos_store *self, const char *scope, const char *key, uint64_t below,
            size_t limit, ethos_row_fn *each, void *arg, struct ethos_error *error);
int pg_copies(struct ethos_store *self, const char *scope, const char *id, ethos_copy_fn *each,
              void *arg, struct ethos_error *error);
int pg_store_watch(struct ethos_store *self, ethos_scope_fn *each, void *arg, int *out_fd,
                   unsigned *out_wait_ms, struct ethos_error *error);
int pg_check(struct ethos_store *self, int fix, ethos_finding_fn *each, void *arg,
             struct ethos_error *error);

#endif
