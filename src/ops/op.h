/*
 * op.h: what an operation is, and how a surface calls one.
 *
 * Arguments are a JSON object, whatever the surface. op_run checks them against the row (unknown names, types, choices,
 * required ones), so that no operation checks a type itself. Results are JSON; some operations also return raw bytes.
 */
#ifndef ETHOS_OPS_OP_H
#define ETHOS_OPS_OP_H

#include "base/json.h"
#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/str.h"
#include "core/approval/trust.h"

enum op_type {
    OP_TEXT,
    OP_INTEGER,
    OP_FLAG,
    OP_CHOICE,
    OP_TIME, /* clock_parse */
    OP_VALUE /* any JSON, which the operation checks itself; only in rows without a command */
};

enum {
    OP_REQUIRED = 1,
    OP_POSITIONAL = 2, /* on the command line: by position, in table order */
    OP_STDIN = 4,      /* on the command line: "-" or nothing reads standard input */
    OP_FILE = 8,       /* on the command line: names a file whose content is the argument */
    OP_NULL = 16,      /* may be null, which differs from leaving it out */
    OP_REST = 32,      /* on the command line: the last one takes all further words */
    OP_MANY = 64,      /* an array of such values; on the command line: the option repeated */
    OP_JSON = 128,     /* the text is JSON; surfaces that use JSON may accept the value itself */
};

struct op_arg {
    const char *name; /* camelCase in JSON; --kebab-case on the command line */
    enum op_type type;
    unsigned flags;
    /* "a|b" for OP_CHOICE; "min|max" for OP_INTEGER, or NULL; for OP_FLAG its letter, or NULL */
    const char *choices;
    const char *placeholder; /* for help: TEXT, REV, ... */
    const char *help;
};

/* Who may run an operation: callers with a scope, or only the owner on the machine itself. */
enum op_right {
    OP_MEMORY_READ,
    OP_MEMORY_WRITE,
    OP_SESSIONS_READ,
    OP_SESSIONS_WRITE,
    OP_PERSONALITIES_READ,
    OP_CHAT_SEND,
    OP_STORE, /* all texts: another machine that stores its memory here */
    OP_OWNER,
    OP_ANYBODY /* every authenticated caller */
};

/* A set of rights: a bit for each. */
#define OP_RIGHT(right) (1u << (right))
#define OP_RIGHTS_READ                                                                             \
    (OP_RIGHT(OP_MEMORY_READ) | OP_RIGHT(OP_SESSIONS_READ) | OP_RIGHT(OP_PERSONALITIES_READ))
#define OP_RIGHTS_AGENT                                                                            \
    (OP_RIGHTS_READ | OP_RIGHT(OP_MEMORY_WRITE) | OP_RIGHT(OP_SESSIONS_WRITE) | OP_AGENT)

#define OP_RIGHTS_NEVER_AGENT OP_RIGHT(OP_STORE) /* ignored in the key of an agent */

/* In a set of rights: the caller is an agent, which cannot make a person's decisions. */
#define OP_AGENT (1u << 31)

/* In a set of rights: limited to some personalities, users or workspaces (ops/key_limits.h). */
#define OP_LIMITED (1u << 30)

/* The rights in both sets; an agent's if either is, and limited if either is. */
static inline unsigned op_rights_both(unsigned a, unsigned b)
{
    return (a & b) | ((a | b) & (OP_AGENT | OP_LIMITED));
}

/* What an operation does, for confirmations, dry runs and tool hints. */
enum {
    OP_WRITES = 1,
    OP_DESTRUCTIVE = 2, /* may remove or overwrite text */
    OP_IDEMPOTENT = 4,
    OP_LOCAL = 8, /* uses a path of the machine or changes its configuration: command line only */
    OP_SHORTHAND = 16, /* a command for people; other surfaces use the operation behind it */
    OP_NO_HOME = 32,   /* needs no home: the call has no ethos */
    OP_DATABASE = 64,  /* needs the session store, which not every program has: op_is_in_program */
    OP_QUICK = 128,    /* reads little and waits for no lock */
    OP_PRINTS = 256,   /* can return its JSON as text */
    OP_LARGE = 512,    /* its arguments contain whole texts */
    OP_ASKS = 4096,  /* searches if there is a `query`: then not quick, and in conversations, too */
    OP_FINAL = 2048, /* cannot be undone, or changes other programs: confirmed, see cli/confirm.c */
    OP_PERSON = 1024, /* a person's decision: not for agents, whatever their rights */
    OP_NEVER_AGENT = OP_PERSON | OP_FINAL
};

/* Reports the progress of a long operation; called often. */
typedef void op_progress_fn(void *arg, uint64_t done, uint64_t total);

/* Whether a long operation should stop; asked between its steps. */
typedef bool op_stop_fn(void *arg);

/* Reports an event of a running operation, or {sessionId, event} for the stream of a session. Borrowed. */
typedef void op_tell_fn(void *arg, const json_t *event);

/* One message to the agent. Borrowed for the length of the call. */
struct op_chat_turn {
    const char *session, *turn; /* ids */
    struct ethos_view text;
    const struct ethos_request *request;
    const char *actor, *only;
    unsigned rights; /* of the tools */
    bool dry_run;
};

/* The agent that runs turns of conversations, for the operations chat.*. */
struct op_chat {
    void *arg;
    /* Returns before the turn runs; its events go to the stream of the session. */
    int (*send)(void *arg, const struct op_chat_turn *turn, struct ethos_error *error);
    void (*abort)(void *arg, const char *session);
    bool (*has_model)(void *arg, struct ethos *ethos);
};

struct op_call {
    struct ethos *ethos; /* NULL for OP_NO_HOME */
    const char *home;    /* as given to the surface, for OP_NO_HOME; NULL: by the environment */
    const struct ethos_request *request;
    const json_t *args; /* object, checked */
    bool want_json;
    bool
        printed; /* with OP_PRINTS and want_json: return JSON text, for surfaces that only forward it */
    /* with want_json: return texts by name in op_result.members, without paths, if the result is that */
    bool members;
    bool again; /* return a validator in op_result.again */
    bool dry_run;
    bool whole_lists; /* lists without a limit are complete: on the command line */
    bool hurried;     /* for surfaces: do not wait for an unreachable backend */
    bool blind;       /* the caller may not read: the result must not reveal existing text */
    bool
        guarded; /* a model reads the result: remove secrets and instructions, show hidden characters */
    const char *via;    /* the surface, for history */
    const char *id;     /* of the request, where a surface gives one; else NULL */
    const char *actor;  /* who writes, for history; NULL: the owner */
    bool no_sessions;   /* the caller may not read conversations: op_run_as */
    const char *only;   /* limits of the caller, for op_run_as (ops/key_limits.h); NULL: none */
    enum trust trust;   /* of what it writes; for an agent, at most that of an agent */
    const char *source; /* one of the seven of the history format; NULL: "tool" */
    op_progress_fn *progress;   /* or NULL */
    op_stop_fn *stopped;        /* or NULL */
    op_tell_fn *tell;           /* or NULL */
    void *progress_arg;         /* of all three */
    const struct op_chat *chat; /* or NULL: this program has no agent */
};

/* A member of a result that consists of texts by name, which share one buffer. */
#define OP_MAX_MEMBERS 10
struct op_member {
    const char *name;
    size_t at, size;
    bool absent; /* null */
};

/*
 * Where the texts of a result come from, because the guard leaves lines that the owner allows in that scope: unknown;
 * from the scope that each object names in "scope"; or from a memory block, whose direct members were guarded when it
 * was made.
 */
enum op_texts { OP_TEXTS_ANY, OP_TEXTS_SCOPED, OP_TEXTS_BLOCK };

/*
 * json is owned, and NULL if there are members; text has raw bytes if has_text. If printed, text is the JSON, and json
 * has only the member that surfaces need, the revision. code and error are those of a partial result.
 */
struct op_result {
    json_t *json;
    struct op_member members[OP_MAX_MEMBERS];
    size_t member_count;
    struct str texts; /* of the members */
    struct str text;
    bool has_text;
    bool printed;
    enum op_texts texts_of;     /* where its texts come from, for a guarded call */
    bool withheld;              /* in a guarded call: something was removed */
    struct op_validator *again; /* owned; NULL if the result cannot be cached */
    int code;
    struct ethos_error error;
};

typedef int op_fn(struct op_call *call, struct op_result *result, struct ethos_error *error);

/* CLEANUP_TURN struct ethos_turn *turn = NULL: freed when its block is left. CLEANUP_FILE, CLEANUP_BLOCK likewise. */
static inline void op_free_turn(struct ethos_turn *const *turn)
{
    ethos_turn_free(*turn);
}
static inline void op_free_file(struct ethos_file *const *file)
{
    ethos_file_free(*file);
}
static inline void op_free_block(struct ethos_block *const *block)
{
    ethos_block_free(*block);
}
#define CLEANUP_TURN __attribute__((cleanup(op_free_turn)))
#define CLEANUP_FILE __attribute__((cleanup(op_free_file)))
#define CLEANUP_BLOCK __attribute__((cleanup(op_free_block)))

struct op {
    const char *name;          /* "memory.get" */
    const char *command;       /* "memory get" */
    const char *summary;       /* one line, no full stop */
    const char *example;       /* one command line */
    const struct op_arg *args; /* ends with name NULL; or NULL */
    enum op_right right;
    unsigned effect;
    op_fn *run;
};

/* The origin of what a call writes, for history. */
struct ethos_origin op_origin(const struct op_call *call);

/* All rows, as a list of arrays so that programs may add their own; both end with NULL. */
extern const struct op *const op_tables[];

/* The next row of all tables; start with NULL. */
const struct op *op_next(const struct op *op);
const struct op *op_find(const char *name);

/* Whether this program can run the operation. libexec/ethos-db can run the others. */
bool op_is_in_program(const struct op *op);

/* Whether a search finds more in another program, which also searches conversations and word forms. */
bool op_needs_other_program(const struct op *op);

/* "memory:read", ... */
const char *op_right_name(enum op_right right);

/* Parses the name of a right that can be granted; that of the owner cannot. */
bool op_right_parse(struct ethos_view name, enum op_right *out);

/* Whether a remote caller with these rights may run the operation. The only place that decides this. */
bool op_allowed(const struct op *op, unsigned rights);

/* The error if op_allowed is false: ETHOS_DENIED, with a hint who may run it. */
#define OP_OWNER_ONLY "only the owner can do this, from the local machine"
int op_refuse(const struct op *op, unsigned rights, struct ethos_error *error);

/* "team:NAME", checked. */
int op_team_scope(const char *name, char out[ETHOS_MAX_SCOPE], struct ethos_error *error);

/* The bounds of an OP_INTEGER. */
void op_range(const struct op_arg *arg, int64_t *out_min, int64_t *out_max);

void op_result_init(struct op_result *result);
void op_result_release(struct op_result *result);

/* Checks the arguments and runs the operation. ETHOS_INVALID names a bad argument. */
int op_run(const struct op *op, struct op_call *call, struct op_result *result,
           struct ethos_error *error);

/* The same for a caller with these rights: ETHOS_DENIED names the missing one. */
int op_run_as(const struct op *op, unsigned rights, struct op_call *call, struct op_result *result,
              struct ethos_error *error);

/*
 * Whether a cached result is still valid. Cheap; ask only with the handle that ran the call, in a process whose
 * environment has not changed since. NULL is never valid.
 */
struct op_validator;
bool op_validator_holds(const struct op_validator *self, struct ethos *ethos);
void op_validator_free(struct op_validator *self);

/* ---- for operations ------------------------------------------------------------------------ */

/* Checked arguments. Missing ones are the absent view, NULL, the fallback, or false. */
struct ethos_view op_text(const struct op_call *call, const char *name);
const char *op_string(const struct op_call *call, const char *name);
int64_t op_integer(const struct op_call *call, const char *name, int64_t fallback);
bool op_flag(const struct op_call *call, const char *name);
int64_t op_time(const struct op_call *call, const char *name); /* ms; absent: 0 */

/* Whether a date without a time means the end of the day: in the argument "until". */
bool op_is_end_of_day(const char *name);

/* Sets result->json, taking the value; NULL is "out of memory". */
int op_return(struct op_result *result, json_t *value, struct ethos_error *error);

/*
 * A result of texts by name: add them in order (an absent view is null, invalid UTF-8 becomes U+FFFD), then return them as
 * the call wants them. op_member_view is the text of a returned member.
 */
void op_member(struct op_result *result, const char *name, struct ethos_view text);
int op_return_members(const struct op_call *call, struct op_result *result,
                      struct ethos_error *error);
struct ethos_view op_member_view(const struct op_result *result, const struct op_member *member);

/* The same for a write: in a dry run, result->text is the diff and part of the result. */
int op_return_change(const struct op_call *call, struct op_result *result, json_t *value,
                     struct ethos_error *error);

/*
 * Build JSON that is complete or NULL: a step that fails frees everything and leaves NULL, which later steps ignore and
 * op_return reports. All take the value.
 */
void op_json_push(json_t **array, json_t *value);
void op_json_insert(json_t **array, size_t index, json_t *value);
void op_json_put(json_t **object, const char *name, json_t *value);

/* A string or null; the revision of an absent file is null. */
json_t *op_json_string(const char *string);
json_t *op_json_revision(const char *revision);
json_t *op_json_time(int64_t ms); /* ISO, or null for -1 */

/* Rounded to six places: further digits of a score depend on the order in which an index was built. */
json_t *op_json_number(double number);

/* The path of a memory file; JSON null if the backend has no files. */
json_t *op_json_path(const struct ethos_turn *turn, const char *scope, const char *key);

/* {"code", "message", "hint"} */
json_t *op_json_error(const struct ethos_error *error);

#endif
