/*
 * op.h: what an operation is, and how a surface calls one.
 *
 * Arguments are a JSON object, whatever the surface: op_run checks them against the row (unknown
 * names, types, choices, required ones), so no operation checks a type itself. Results are JSON; some
 * operations also give raw bytes.
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
    OP_VALUE /* any JSON, for the operation to look at; of rows without a command */
};

enum {
    OP_REQUIRED = 1,
    OP_POSITIONAL = 2, /* on the command line: by place, in table order */
    OP_STDIN = 4,      /* on the command line: "-" or nothing reads standard input */
    OP_FILE = 8,       /* on the command line: names a file whose content is the argument */
    OP_NULL = 16,      /* null may be said, which is not leaving it out */
    OP_REST = 32,      /* on the command line: the last one; further words belong to it */
    OP_MANY = 64,      /* an array of such values; on the command line: the option repeated */
    OP_JSON = 128,     /* the text is JSON: a surface that speaks it may take the value itself */
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

/* Who may: the scope a key needs, or the owner at the machine. */
enum op_right {
    OP_MEMORY_READ,
    OP_MEMORY_WRITE,
    OP_SESSIONS_READ,
    OP_SESSIONS_WRITE,
    OP_PERSONALITIES_READ,
    OP_CHAT_SEND,
    OP_STORE, /* the texts themselves: another machine that keeps its memory here */
    OP_OWNER,
    OP_ANYBODY /* whoever was let in, whatever the rights */
};

/* A set of rights: a bit for each. */
#define OP_RIGHT(right) (1u << (right))
#define OP_RIGHTS_READ                                                                             \
    (OP_RIGHT(OP_MEMORY_READ) | OP_RIGHT(OP_SESSIONS_READ) | OP_RIGHT(OP_PERSONALITIES_READ))
#define OP_RIGHTS_AGENT                                                                            \
    (OP_RIGHTS_READ | OP_RIGHT(OP_MEMORY_WRITE) | OP_RIGHT(OP_SESSIONS_WRITE) | OP_AGENT)

#define OP_RIGHTS_NEVER_AGENT OP_RIGHT(OP_STORE) /* whatever an agent's key says */

/* In a set of rights: it is an agent that has them, and what a person decides is not for it. */
#define OP_AGENT (1u << 31)

/* In a set of rights: they are limited to some personalities, users or workspaces (ops/key_limits.h). */
#define OP_LIMITED (1u << 30)

/* Those that are in both; an agent's if one is, limited if one is. */
static inline unsigned op_rights_both(unsigned a, unsigned b)
{
    return (a & b) | ((a | b) & (OP_AGENT | OP_LIMITED));
}

/* What it does, for confirmations, dry runs and tool hints. */
enum {
    OP_WRITES = 1,
    OP_DESTRUCTIVE = 2, /* may remove or overwrite text */
    OP_IDEMPOTENT = 4,
    OP_LOCAL = 8, /* takes a path of the machine or changes its configuration: command line only */
    OP_SHORTHAND = 16, /* a command for people; other surfaces use the operation it stands for */
    OP_NO_HOME = 32,   /* needs no home: the call has no ethos */
    OP_DATABASE = 64,  /* needs the session store, which not every program has: op_is_in_program */
    OP_QUICK = 128,    /* only reads, and little; waits for no lock */
    OP_PRINTS = 256,   /* can give its JSON as text */
    OP_LARGE = 512,    /* its arguments hold whole texts */
    OP_ASKS =
        4096, /* with a `query` it searches: no longer quick, and what was said where that is here */
    OP_FINAL = 2048, /* cannot be undone, or changes other programs: confirmed, see cli/confirm.c */
    OP_PERSON = 1024, /* a person decides: not for an agent, whatever its rights */
    OP_NEVER_AGENT = OP_PERSON | OP_FINAL
};

/* How far a long operation is, for a display; called often. */
typedef void op_progress_fn(void *arg, uint64_t done, uint64_t total);

/* Whether somebody wants a long operation to end; one that goes on later asks between its steps. */
typedef bool op_stop_fn(void *arg);

/* What one that goes on and on has just done, or {sessionId, event} for the stream of a session. Borrowed. */
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

/* Who runs turns of conversations, for the operations chat.*. */
struct op_chat {
    void *arg;
    /* Returns before the turn runs; what becomes of it is told to the stream of the session. */
    int (*send)(void *arg, const struct op_chat_turn *turn, struct ethos_error *error);
    void (*abort)(void *arg, const char *session);
    bool (*has_model)(void *arg, struct ethos *ethos);
};

struct op_call {
    struct ethos *ethos; /* NULL for OP_NO_HOME */
    const char *home;    /* as the surface was told, for OP_NO_HOME; NULL: by the environment */
    const struct ethos_request *request;
    const json_t *args; /* object, checked */
    bool want_json;
    bool printed; /* of OP_PRINTS, with want_json: for surfaces that only pass the JSON on */
    /* with want_json: where the result is texts by name, wants op_result.members, and no path among them */
    bool members;
    bool again; /* wants op_result.again */
    bool dry_run;
    bool whole_lists;  /* a list without a limit is shown whole: at the command line */
    bool hurried;      /* for surfaces: a backend that is not there is not waited for */
    bool blind;        /* who calls may not read: the answer tells nothing of what is there */
    bool guarded;      /* a model reads the answer: secrets and instructions go, what hides shows */
    const char *via;   /* the surface, for history */
    const char *id;    /* of the request, where a surface gives one; else NULL */
    const char *actor; /* who writes, for history; NULL: the owner */
    bool no_sessions;  /* who calls may not read conversations: op_run_as */
    const char *only;  /* limits of the caller, for op_run_as (ops/key_limits.h); NULL: none */
    enum trust trust;  /* of what it writes; whoever runs as an agent is trusted as one at most */
    const char *source;         /* one of the seven of the history format; NULL: "tool" */
    op_progress_fn *progress;   /* or NULL */
    op_stop_fn *stopped;        /* or NULL */
    op_tell_fn *tell;           /* or NULL */
    void *progress_arg;         /* of all three */
    const struct op_chat *chat; /* or NULL: this program has no agent */
};

/* One of the texts by name that a result is; those of a result stand in one buffer. */
#define OP_MAX_MEMBERS 10
struct op_member {
    const char *name;
    size_t at, size;
    bool absent; /* null */
};

/*
 * Where the texts of a result come from, so that a guard can leave the lines that the owner allows in one scope:
 * nobody knows; from the scope that each object names in "scope"; a block whose sections were guarded when it was
 * made, in its members and no deeper.
 */
enum op_texts { OP_TEXTS_ANY, OP_TEXTS_SCOPED, OP_TEXTS_BLOCK };

/*
 * json is owned, and NULL when there are members; text holds raw bytes when has_text. When printed, the JSON was appended to text, and json
 * holds no more of it than what surfaces look at: the revision. code and error tell of a partial result.
 */
struct op_result {
    json_t *json;
    struct op_member members[OP_MAX_MEMBERS];
    size_t member_count;
    struct str texts; /* of the members */
    struct str text;
    bool has_text;
    bool printed;
    enum op_texts texts_of;     /* for a guarded call: whose memory they are of */
    bool withheld;              /* of a guarded call: something was taken out */
    struct op_validator *again; /* owned; NULL: whether it would be the same again cannot be told */
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

/* Who a call writes as, for history. */
struct ethos_origin op_origin(const struct op_call *call);

/* All rows, as a list of arrays so that programs may add their own; both end with NULL. */
extern const struct op *const op_tables[];

/* Walks every row; start with NULL. */
const struct op *op_next(const struct op *op);
const struct op *op_find(const char *name);

/* Whether this program can run it. The others are for libexec/ethos-db. */
bool op_is_in_program(const struct op *op);

/* Whether an operation that searches finds more in another program: conversations, forms of words. */
bool op_needs_other_program(const struct op *op);

/* "memory:read", ... */
const char *op_right_name(enum op_right right);

/* The right of a name that can be given to others; that of the owner cannot. */
bool op_right_parse(struct ethos_view name, enum op_right *out);

/* Whether somebody with these rights, who is not at the machine, may run it. The one place that knows. */
bool op_allowed(const struct op *op, unsigned rights);

/* What is said to one that op_allowed does not let in: ETHOS_DENIED, and the hint tells who may. */
#define OP_OWNER_ONLY "only the owner may, at the machine"
int op_refuse(const struct op *op, unsigned rights, struct ethos_error *error);

/* "team:NAME", checked. */
int op_team_scope(const char *name, char out[ETHOS_MAX_SCOPE], struct ethos_error *error);

/* The bounds of an OP_INTEGER. */
void op_range(const struct op_arg *arg, int64_t *out_min, int64_t *out_max);

void op_result_init(struct op_result *result);
void op_result_release(struct op_result *result);

/* Checks the arguments and runs. ETHOS_INVALID names a bad argument. */
int op_run(const struct op *op, struct op_call *call, struct op_result *result,
           struct ethos_error *error);

/* The same for somebody with these rights: ETHOS_DENIED names the one that is missing. */
int op_run_as(const struct op *op, unsigned rights, struct op_call *call, struct op_result *result,
              struct ethos_error *error);

/*
 * Whether a call would give again what it gave. Asking is cheap, and only of the handle that ran it, in a
 * process whose environment has not changed since. NULL never holds.
 */
struct op_validator;
bool op_validator_holds(const struct op_validator *self, struct ethos *ethos);
void op_validator_free(struct op_validator *self);

/* ---- for operations ------------------------------------------------------------------------ */

/* Checked arguments; absent ones are the absent view, NULL, the fallback, false. */
struct ethos_view op_text(const struct op_call *call, const char *name);
const char *op_string(const struct op_call *call, const char *name);
int64_t op_integer(const struct op_call *call, const char *name, int64_t fallback);
bool op_flag(const struct op_call *call, const char *name);
int64_t op_time(const struct op_call *call, const char *name); /* ms; absent: 0 */

/* Whether a date alone means its end: so for the argument "until". */
bool op_is_end_of_day(const char *name);

/* Sets result->json, taking the value; NULL is "out of memory". */
int op_return(struct op_result *result, json_t *value, struct ethos_error *error);

/*
 * A result that is texts by name: they are added in order, an absent view for null and invalid UTF-8 as
 * U+FFFD, and returned as the call wants them. op_member_view is one of those that were returned.
 */
void op_member(struct op_result *result, const char *name, struct ethos_view text);
int op_return_members(const struct op_call *call, struct op_result *result,
                      struct ethos_error *error);
struct ethos_view op_member_view(const struct op_result *result, const struct op_member *member);

/* The same for a writing operation: in a dry run, result->text is the diff and belongs to the answer. */
int op_return_change(const struct op_call *call, struct op_result *result, json_t *value,
                     struct ethos_error *error);

/*
 * Building a result that is whole or not at all: a step that fails frees what there is and leaves
 * NULL, which later steps keep and op_return reports. All take the value.
 */
void op_json_push(json_t **array, json_t *value);
void op_json_insert(json_t **array, size_t index, json_t *value);
void op_json_put(json_t **object, const char *name, json_t *value);

/* A string or null; the revision of an absent file is null. */
json_t *op_json_string(const char *string);
json_t *op_json_revision(const char *revision);
json_t *op_json_time(int64_t ms); /* ISO, or null for -1 */

/* To six places: of a score, what comes behind depends on the order in which an index was made. */
json_t *op_json_number(double number);

/* Where a file of memory is; null when the backend has no files. */
json_t *op_json_path(const struct ethos_turn *turn, const char *scope, const char *key);

/* The finding list of doctor. */
json_t *op_json_error(const struct ethos_error *error);

#endif
