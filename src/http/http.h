/*
 * http.h: ethos serve, a thin surface over the operation table. docs/internals/http.md has the picture.
 *
 *   serve.c                    the command: the URL that is printed, the loop of the first thread; listen.c: sockets
 *   server.c                   libmicrohttpd, connections and their time; admission.c: limits and the gate; dispatch.c: a
 *                              request from its line to its end; streams.c: answers that go on (mhd.h: these four)
 *   response_cache.c           answers that serve again
 *   request.c                  a call as handlers see it; running operations; thread_context.c: a handle for each thread
 *   workers.c                  the threads that do what may wait
 *   access_rules.c             who may come in: headers and credential in, verdict out (pure)
 *   auth.c                     who is asking: browsers and keys; handlers/login.c: /auth, signing in and out
 *   routes.c                   which handler a path has
 *   handlers/rpc.c             /rpc: the envelope of the wire; handlers/stable_calls.c: the reference's forms
 *   handlers/api.c             /api: for people and scripts; handlers/openapi.c: its description
 *   handlers/event_ring.c      events in order, for many readers; handlers/events.c, handlers/session_stream.c: the streams
 *   handlers/dashboard_page.c  the dashboard's page, with what it shows first; handlers/assets.c: its files, embedded
 */
#ifndef ETHOS_HTTP_HTTP_H
#define ETHOS_HTTP_HTTP_H

#include "ops/op.h"
#include "ops/surface.h"

#define HTTP_PORT 3000 /* what the SDK expects */
#define HTTP_MAX_CONNECTIONS 2048
#define HTTP_MAX_STREAMS 1024              /* SSE; the next one is 503 */
#define HTTP_MAX_FOLLOWED HTTP_MAX_STREAMS /* sessions whose events are kept; the same */
#define HTTP_MAX_HEADER 16384              /* bytes: all headers */
#define HTTP_MAX_LINE 8192                 /* bytes: the request line */
#define HTTP_MAX_HEADERS 100
#define HTTP_MAX_BODY 1048576 /* bytes; /rpc: HTTP_MAX_RPC_BODY */
#define HTTP_MAX_RPC_BODY 16777216
#define HTTP_MAX_LARGE_BODY 100663296 /* of OP_LARGE, for who may run it; WIRE_MAX_BODY */
#define HTTP_MAX_BODIES 268435456     /* of all that are here at a time; the next one is 503 */
#define HTTP_QUICK_BODY 65536         /* bytes; to take a larger one apart is a worker's */
#define HTTP_HEADER_SECONDS 10
#define HTTP_BODY_SECONDS 30
#define HTTP_IDLE_SECONDS 60
#define HTTP_WORKERS 64    /* threads that may wait: for a lock, the disk, a search */
#define HTTP_MAX_JOBS 4096 /* requests that wait for a worker; the next one is 503 */
#define HTTP_HEARTBEAT_MS 15000
#define HTTP_REQUEST_ID_SIZE 256

struct http;      /* the server */
struct http_seat; /* of the thread that runs a handler */

/* Who is asking, as the gate found out. */
enum http_who { HTTP_NOBODY, HTTP_BROWSER, HTTP_KEY };

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OPTIONS
};

/* One request, and its answer in the making. All in it lives until the answer is sent. */
struct http_call {
    struct http *http;
    struct http_seat *seat;
    enum http_method method;
    const char *path; /* decoded; no query */
    const char *rest; /* of the path, behind the route's prefix */
    struct ethos_view body;
    char request_id[HTTP_REQUEST_ID_SIZE];
    enum http_who who;
    unsigned rights;    /* OP_RIGHT(...) bits, OP_OWNER's for the browser */
    const char *actor;  /* for history: "owner", "key:NAME" */
    const char *only;   /* limits of a key, with OP_LIMITED in rights; else NULL */
    const char *source; /* of history, said by the handler before http_run; NULL: "tool" */
    bool raw;           /* the same: the operation gives its bytes (op_call.want_json is false) */
    bool printed; /* the same: of OP_PRINTS, its JSON is appended to out (op_result.printed) */
    bool again;   /* the same: nothing but the result and the request's line makes the answer */
    /* the answer */
    unsigned status;
    const char *type;         /* content type */
    struct str out;           /* its body */
    struct http_reply *reply; /* further headers, a stream: http_answer_* */
};

/* Fills in the answer. Never fails: a failure is an answer, too. */
typedef void http_fn(struct http_call *call);

enum {
    HTTP_OPEN = 1,  /* needs no credential */
    HTTP_EAGER = 2, /* always answered in the HTTP thread */
    HTTP_RPC = 4,   /* the large body, and errors in the form of /rpc */
};

struct http_route {
    const char *prefix; /* "/rpc/": and what follows; without a slash at the end: exactly this */
    unsigned methods;   /* 1u << HTTP_GET | ... */
    unsigned flags;
    http_fn *run;
    bool (*quick)(const struct http_call *call); /* or NULL: a worker does it, unless HTTP_EAGER */
    size_t max_body;                             /* 0: HTTP_MAX_BODY */
    /* A larger one, 0: none; or NULL. Asked when it is known who comes. */
    size_t (*larger)(const struct http_call *call);
};

/* All routes; ends with prefix NULL. */
extern const struct http_route http_routes[];
const struct http_route *http_route(const char *path);

/* ---- for handlers ---------------------------------------------------------------------------- */

/* Of the request; NULL when it was not sent. Borrowed. */
const char *http_header(const struct http_call *call, const char *name);
const char *http_query(const struct http_call *call, const char *name);
void http_each_query(const struct http_call *call,
                     void (*each)(void *arg, const char *name, const char *value), void *arg);

void http_answer_header(struct http_call *call, const char *name, const char *value);

/* Takes the value. */
void http_answer_json(struct http_call *call, unsigned status, json_t *value);

/* Bytes that outlive the server are not copied. */
void http_answer_static(struct http_call *call, const char *type, struct ethos_view bytes);

/* An error in the form of its route: problem+json, or the two-in-one of /rpc. data is taken, may be NULL. */
struct http_error {
    unsigned status;
    const char *code; /* of the wire: "SESSION_NOT_FOUND" */
    const char *message;
    const char *action; /* what to do; or NULL */
};
void http_answer_error(struct http_call *call, const struct http_error *error, json_t *data);

/* Whether the path is one that the reference has: what is said there, it says. */
bool http_is_contract(const struct http_call *call);

/* The same for what an operation answered; subject chooses the words of NOTFOUND ("SESSION_NOT_FOUND"). */
void http_answer_failure(struct http_call *call, const struct ethos_error *error);
struct http_error http_error_of(const struct op *op, const struct ethos_error *error);

/*
 * Runs an operation for this call, in a turn of the request. personalityId, userId, workspaceId and sessionId are
 * taken out of args, unless the row has an argument of that name; args is taken. ETHOS_DENIED when the
 * caller may not. Release the result always.
 */
int http_run(struct http_call *call, const struct op *op, json_t *args, struct op_result *result,
             struct ethos_error *error);

/*
 * The same for a call that another surface has prepared: handle and request are filled in. rights may be
 * fewer than those of the caller.
 */
int http_run_call(struct http_call *call, const struct op *op, unsigned rights,
                  struct op_call *inner, struct op_result *result, struct ethos_error *error);

/* Whether the server was started for a workspace. */
bool http_has_workspace(const struct http_call *call);

/* Whether it can be answered in the HTTP thread. */
bool http_quick_op(const struct op *op);

/* ---- streams --------------------------------------------------------------------------------- */

/*
 * A stream is a reader of the hub: server.c asks it for bytes, and again when the hub was rung. *out stays
 * valid until the next call. False: the stream ends.
 */
struct http_stream {
    bool (*next)(struct http_stream *self, struct ethos_view *out); /* an empty view: nothing yet */
    void (*close)(struct http_stream *self);
};

/* Answers with a stream; takes it. 503 when there are too many. */
void http_answer_stream(struct http_call *call, struct http_stream *stream);

/* Wakes the streams that wait; any thread. */
void http_ring(struct http *http);

/* ---- the program ------------------------------------------------------------------------------ */

/* What main gives besides: one message of MCP. */
struct http_parts {
    void (*mcp)(struct http_call *call);
};
extern const struct http_parts http_parts;

surface_fn http_serve;

#endif
