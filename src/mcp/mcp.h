/*
 * mcp.h: the Model Context Protocol, a thin surface over the operation table.
 *
 *   message.c       one message in, what is to be sent out: envelope, era, batches
 *   methods.c       which methods there are, and what each era has of them
 *   capabilities.c  methods of tools, resources and prompts: parameters, pages
 *   tools.c         the tools of memory (ops/tools)
 *   resources.c     memory files and notes as resources
 *   prompts.c       prompts about memory
 *   answer_cache.c  answers that serve again
 *   parse_cache.c   messages that are written like earlier ones
 *   framing.c       bytes to messages: lines, their limit, requests that were cancelled meanwhile
 *   handover.c      what another program needs to go on with a connection
 *   stdio.c         ethos mcp
 *   http.c          a message that came as a POST
 *
 * Everything but handover.c and stdio.c is free of I/O: it is given text and a function that runs
 * operations. Two eras
 * of the protocol are spoken, chosen by each message alone: the modern one remembers nothing, the
 * legacy one has a version that `initialize` settled.
 *
 * Not here, and so not announced: subscriptions, progress, completion, tasks, requests to the client.
 */
#ifndef ETHOS_MCP_MCP_H
#define ETHOS_MCP_MCP_H

#include <ethos/provider.h>

#include "ops/op.h"
#include "ops/surface.h"

#define MCP_MAX_LINE 1048576   /* bytes: one message */
#define MCP_MAX_REPLY 67108864 /* bytes of the answer to one message */
#define MCP_MAX_BATCH 256      /* messages in one batch */
#define MCP_KEPT_BYTES 2097152 /* bytes of cached answers (answer_cache.c), with their requests */
#define MCP_CLIENT_SIZE 65     /* bytes with terminator of a client's name */

enum mcp_version {
    MCP_NONE, /* not negotiated yet */
    MCP_2024_11_05,
    MCP_2025_03_26,
    MCP_2025_06_18,
    MCP_2025_11_25,
    MCP_2026_07_28, /* the modern era */
};

/* Runs an operation for a client: adds handle and request to the call, then op_run_as. */
typedef int mcp_run_fn(void *arg, const struct op *op, struct op_call *call,
                       struct op_result *result, struct ethos_error *error);

/* What a server may do, and how. */
struct mcp {
    unsigned rights;  /* OP_RIGHT(...) | ... */
    const char *team; /* scope id "team:NAME", or NULL */
    bool no_project;  /* there is no workspace, so tools for workspaces are not offered */
    bool no_log;      /* clients get no logs, and logging is not announced */
    mcp_run_fn *run;
    void *run_arg;
    /*
     * A message needs an operation that this program does not have, and nothing of it has run yet.
     * Returns if no other program has it either: then run is called. Or NULL.
     */
    void (*elsewhere)(void *run_arg);
    /* op_validator_holds, for the handle that run uses; or NULL, and no answer is cached. */
    bool (*holds)(void *run_arg, const struct op_validator *again);
};

/* Whether the client has cancelled the request with this id. */
typedef bool mcp_cancelled_fn(void *arg, const json_t *id);

/* One connection. Zero it and set mcp. */
struct mcp_session {
    const struct mcp *mcp;
    mcp_cancelled_fn *cancelled; /* or NULL */
    void *cancelled_arg;
    /* negotiated by `initialize`, only in the legacy protocol: */
    enum mcp_version version;
    char client[MCP_CLIENT_SIZE];
    int log_level;                 /* 0: no logs requested */
    struct mcp_answer_cache *kept; /* or NULL */
    struct mcp_forms *forms;       /* or NULL */
    struct str *rooms;             /* two buffers for results, reused for all requests; or NULL */
    /* while a message is handled: */
    struct str *out;
    int log_level_now;
};

/*
 * Whether every tool is a row of the operation table; checked before anything is served.
 * ETHOS_INTERNAL names the one that is not.
 */
int mcp_check(struct ethos_error *error);

/*
 * A cache of answers (answer_cache.c), for sessions whose mcp can validate them. NULL: out of
 * memory.
 */
struct mcp_answer_cache *mcp_answer_cache_new(void);
void mcp_answer_cache_free(struct mcp_answer_cache *self);

/* Empties it; call it when the handle that run uses is closed. */
void mcp_answer_cache_clear(struct mcp_answer_cache *self);
size_t mcp_answer_cache_bytes(const struct mcp_answer_cache *self); /* its size */

/*
 * Handles one message; appends nothing, or lines that are one message each (then check str_code).
 */
void mcp_message(struct mcp_session *self, struct ethos_view text, struct str *out);

/*
 * Answers a message while another is handled, if it is a request that runs no operation and changes
 * nothing of the session. False: it has to wait; nothing was sent.
 */
bool mcp_message_early(const struct mcp_session *self, struct ethos_view text, struct str *out);

/* Appends the answer to a message that was too long to read. */
void mcp_too_long(struct str *out);

/* Logs an event during an operation; sent if the client asked for logs. */
void mcp_log(struct mcp_session *self, enum ethos_level level, const char *line);

/* ---- framing.c ------------------------------------------------------------------------------ */

#define MCP_MAX_CANCELLED 64 /* cancellations remembered in advance */

struct mcp_stream {
    struct mcp_session session;
    struct str rooms[2];
    struct str in;
    size_t begin;  /* of the current message, while nothing of it has run */
    size_t at;     /* what was handled of it */
    size_t looked; /* searched for cancellations up to here */
    size_t early;  /* searched for requests that need not wait up to here */
    bool skipping; /* inside a message that is too long */
    struct {
        json_t *id;
        size_t end; /* of its message */
    } cancelled[MCP_MAX_CANCELLED];
    size_t cancelled_count;
    /* Adds bytes that have arrived, without waiting: mcp_stream_add. Or NULL. */
    void (*more)(void *arg);
    void *more_arg;
};

void mcp_stream_init(struct mcp_stream *self, const struct mcp *mcp);
void mcp_stream_release(struct mcp_stream *self);

/* Adds bytes as they arrive. ETHOS_OK or ETHOS_NOMEM. */
int mcp_stream_add(struct mcp_stream *self, struct ethos_view bytes);

/* Handles the next complete message; at the end, the rest counts as one too. */
bool mcp_stream_next(struct mcp_stream *self, bool at_end, struct str *out);

/*
 * While a message is handled: answers later requests that need not wait, and removes them. Appends
 * to out, which is not the buffer of mcp_stream_next.
 */
void mcp_stream_early(struct mcp_stream *self, struct str *out);

/* ---- handover.c ------------------------------------------------------------------------------- */

/*
 * A descriptor inherited by executed programs, with everything needed to continue with the current
 * message. -1 and errno on failure.
 */
int mcp_state_save(const struct mcp_stream *self, bool at_end);

/*
 * Continues from there; takes ownership of the descriptor. ETHOS_CORRUPT: it is not from
 * mcp_state_save.
 */
int mcp_state_load(struct mcp_stream *self, int fd, bool *at_end, struct ethos_error *error);

/* ---- http.c -------------------------------------------------------------------------------- */

/* A request to /mcp; absent headers are NULL. */
struct mcp_post {
    struct ethos_view body;
    const char *version; /* MCP-Protocol-Version */
    const char *method;  /* Mcp-Method */
    const char *name;    /* Mcp-Name */
};

/*
 * Answers it: returns the status, and lines like mcp_message, the answer last. Use a new session
 * for each message: zero except mcp.
 */
unsigned mcp_post(struct mcp_session *session, const struct mcp_post *post, struct str *out);

/* ---- stdio.c ------------------------------------------------------------------------------- */

/* ethos mcp: serves until the end of input or a signal. */
surface_fn mcp_serve;

#endif
