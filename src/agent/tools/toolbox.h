/*
 * toolbox.h: the tools of a turn, and the one gate that every call passes.
 *
 * The gate: the tool is known and allowed here, its arguments are a JSON object that fits its schema; then it runs,
 * and its result is cut at TOOLBOX_MAX_RESULT with a note where the rest is. A call that fails gives a result that
 * says why, which the model can act on.
 *
 *   memory.c   the tools of MCP by the same names (ops/tools); memory_write is queued (agent/tools/updates.h)
 *   updates.c  memory updates of a turn: checked at once, applied together at its end
 *   files.c    read_file, list_files, search_files beneath their roots
 */
#ifndef ETHOS_AGENT_TOOLS_TOOLBOX_H
#define ETHOS_AGENT_TOOLS_TOOLBOX_H

#include <ethos/ethos.h>

#include "agent/models/model.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "core/approval/trust.h"

#define TOOLBOX_MAX_RESULT 32768 /* bytes: a result as a model gets it */
#define TOOLBOX_MAX_TOOLS 64
#define TOOLBOX_MAX_ROOTS 8

struct updates;

struct toolbox_setup {
    struct ethos *ethos;
    const struct ethos_request *request;
    unsigned rights;
    const char *only; /* limits of the caller's key; NULL: none */
    const char *via;
    const char *actor;   /* who writes */
    enum trust trust;    /* of what is written, at first */
    bool proposes;       /* only what proposes is there, and tells nothing (op_call.blind) */
    const char *turn_id; /* operation ids of tools that write at once begin with it */
    bool dry_run;
    struct updates *updates; /* where memory_write queues */
    /* The revision of a file that the prompt showed whole, for a replace that names none; NULL: it did not. */
    const char *(*shown_revision)(void *arg, const char *store, const char *key);
    void *shown_arg;
    /* Directories that may be read, absolute; the first is where relative paths begin. May be none. */
    const char *roots[TOOLBOX_MAX_ROOTS];
    size_t root_count;
    const json_t *allowed; /* names; NULL: all */
};

/* What a result is, for the model. */
enum toolbox_text {
    TOOLBOX_PLAIN,
    TOOLBOX_OWN,    /* text that stands in memory: fenced as data */
    TOOLBOX_FOREIGN /* somebody else's: fenced, and the turn is untrusted from now on */
};

struct toolbox {
    struct toolbox_setup setup;
    enum trust trust; /* of what is written from now on */
    json_t *pending;  /* what waits for approval: [{"id", "scope", "key"}] */
    struct arena arena;
    struct model_tool tools[TOOLBOX_MAX_TOOLS];
    size_t count;
};

/* The setup is copied; what it points to outlives the toolbox. Release in any case. */
int toolbox_init(struct toolbox *self, const struct toolbox_setup *setup,
                 struct ethos_error *error);
void toolbox_release(struct toolbox *self);

/* Appends the result of a call for the model. False: the tool failed, and the text says why. */
bool toolbox_call(struct toolbox *self, struct ethos_view name, struct ethos_view arguments,
                  const char *call_id, struct str *out, enum toolbox_text *out_text);

/* Somebody else's text was read. */
void toolbox_distrust(struct toolbox *self);

/* Whether what a tool gives is somebody else's text, which the model gets fenced as data. */
bool toolbox_is_foreign(struct ethos_view name);

/* Whether the model is offered a tool. */
bool toolbox_has_tool(const struct toolbox *self, struct ethos_view name);

#endif
