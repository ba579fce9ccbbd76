/*
 * stable_calls.h: the forms of the wire: what a call may send, and how an answer looks.
 *
 * A shape is one stable call of the reference: names, types and limits of its input, the operation that
 * it is, and how the operation's result is told. Operations without a shape take their own arguments and
 * give their own JSON. Private to src/http.
 */
#ifndef ETHOS_HTTP_HANDLERS_STABLE_CALLS_H
#define ETHOS_HTTP_HANDLERS_STABLE_CALLS_H

#include "http/internal.h"

/* ---- what a call may send -------------------------------------------------------------------- */

enum shape_type {
    SHAPE_TEXT,
    SHAPE_TIME, /* a text that clock_parse reads */
    SHAPE_INTEGER,
    SHAPE_NUMBER, /* any, without limits */
    SHAPE_FLAG,
    SHAPE_CHOICE,
    SHAPE_OBJECT, /* fields says which members it has; NULL: any */
    SHAPE_MODEL,  /* a text, or an object of texts */
    SHAPE_JSON,   /* anything */
};

enum {
    SHAPE_REQUIRED = 1,
    SHAPE_NULL = 2,  /* null may be said */
    SHAPE_MANY = 4,  /* an array of such values */
    SHAPE_SLUG = 8,  /* ^[a-z0-9_-]+$ */
    SHAPE_KEEP = 16, /* checked, but no argument of the operation */
};

struct shape_field {
    const char *name;
    enum shape_type type;
    unsigned flags;
    int64_t min, max;    /* of an integer, or of the UTF-16 units of a text; max 0: none */
    const char *choices; /* "a|b" */
    const char *arg;     /* of the operation; NULL: of the same name */
    const struct shape_field *fields; /* of an object */
    const char *unless;               /* required, unless this member is there */
};

/* ---- a stable call --------------------------------------------------------------------------- */

/* Further arguments made of the checked input; op_json_put. */
typedef int shape_ask(const json_t *input, json_t **args, struct ethos_error *error);

/* The answer made of the result, which is an object or array of the operation. */
typedef int shape_give(const json_t *input, const json_t *result, json_t **out,
                       struct ethos_error *error);

struct shape {
    const char *name;                 /* "memory.listUsers" */
    const char *op;                   /* NULL: of the same name */
    const struct shape_field *fields; /* ends with name NULL; or NULL */
    shape_ask *ask;                   /* or NULL */
    shape_give *give;                 /* or NULL: the result as it is */
    const char *source;               /* of history; NULL: "tool" */
    const char *within;               /* the member of an object that the result is; or NULL */
};

/* All of them; ends with name NULL. */
extern const struct shape shapes[];
const struct shape *shape_find(const char *name);

/* Whether each is a row of the operation table; nothing is served before. ETHOS_INTERNAL: which is not. */
int shapes_check(struct ethos_error *error);

/*
 * The arguments of an operation from the input of a call (an object). shape may be NULL. What nobody
 * knows is left out, what the operation knows and the shape does not name is checked by the
 * operation's row. ETHOS_INVALID with *out_issues (owned) when the input is wrong.
 */
int shape_args(const struct shape *shape, const struct op *op, const json_t *input,
               json_t **out_args, json_t **out_issues, struct ethos_error *error);

/* Appends what is wrong with the members of an object: [{code, path, message}]. */
void shape_check(const struct shape_field *field, const json_t *object, json_t *path,
                 json_t **issues);

/* The field that a row's argument is. */
struct shape_field shape_field_of(const struct op_arg *arg);

/* personalityId, userId, workspaceId, sessionId, dryRun: of every call; ends with name NULL. */
extern const struct shape_field shape_common[];

/* ---- answers: stable_calls_output.c ------------------------------------------------------------------- */

shape_give give_ok, give_session, give_session_page, give_transcript, give_files, give_history,
    give_users, give_restored, give_blob, give_personality, give_personality_whole,
    give_personality_page;

/* ---- the envelope: rpc.c ----------------------------------------------------------------------- */

/* The input that a body holds; an object, unless somebody sent something else. Owned. */
int rpc_decode(struct ethos_view body, json_t **out_input, struct ethos_error *error);

/* The operation of a path behind /rpc/ ("memory/get", one slash more is no harm); or NULL. */
const struct op *rpc_find_op(const char *rest, const struct shape **out_shape);

/* The same behind /api/, where every operation has its own form. */
const struct op *api_op(const char *rest);

/* The answer when there is none (op NULL), or not for this caller. Keys are not told what there is. */
void rpc_refuse(struct http_call *call, const struct op *op);

/* What belongs to an error, from the result beside it (NULL: none): what was done, or the nearest entry. */
json_t *http_error_data(const json_t *report);

/* Whether an operation is to be had through HTTP at all. */
bool shape_served(const struct op *op);

/* The error object of the wire: defined, code, status, message and, if there is any, data (taken). */
json_t *http_error_json(const struct http_call *call, const struct http_error *error, json_t *data);

#endif
