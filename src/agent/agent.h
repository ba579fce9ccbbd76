/*
 * agent.h: one turn of a conversation: a person says something, a model answers, and memory learns from it.
 *
 *   turn.c           the stages of a turn, in order
 *   conversation.c   the messages of a session as a model gets them, and recording new ones
 *   prompt.c         the system prompt: stable parts first
 *   project.c        what the prompt takes from the project: its instructions and skills
 *   answer.c          one answer of a model, collected from its events
 *   turn_record.c    what a turn has recorded, for going on after a crash
 *   describe.c       what a prompt is made of
 *   input_history.c  what people typed in a folder
 *   event_json.c     events in the form of the SDK
 *   tools/           the tools of a turn, and the gate that every call passes
 *   models/          language models
 *
 * A turn that reads somebody else's text (a file of the project, what is attached, instructions that nobody has
 * accepted) is untrusted until it ends: what its tools write waits for approval.
 *
 * A turn is synchronous; whoever runs several at a time gives each a thread, a handle and a model. Nothing here
 * reads a terminal or prints.
 */
#ifndef ETHOS_AGENT_AGENT_H
#define ETHOS_AGENT_AGENT_H

#include <ethos/ethos.h>

#include "agent/models/model.h"
#include "base/json.h"
#include "base/str.h"
#include "core/approval/trust.h"

#define AGENT_MAX_REPLY 67108864    /* bytes: what a turn says in all its answers */
#define AGENT_MAX_CALLS 64          /* tool calls of one answer */
#define AGENT_MAX_HISTORY 200       /* messages of a session that a model gets */
#define AGENT_DEFAULT_WINDOW 128000 /* tokens, of a model that does not say */

/* ---- events ----------------------------------------------------------------------------------- */

enum agent_event_kind {
    AGENT_START,      /* id: of the turn; provider, model */
    AGENT_CONTEXT,    /* prompt: what the model is about to get */
    AGENT_TEXT,       /* text, as it arrives */
    AGENT_THINKING,   /* text */
    AGENT_RESTART,    /* the text since the last tool or message is void: the answer starts over */
    AGENT_STATUS,     /* text: what happens meanwhile, for a person */
    AGENT_TOOL_START, /* id, name, text: the arguments as JSON */
    AGENT_TOOL_END,   /* id, name, ok, duration_ms, text: the result */
    AGENT_MESSAGE,    /* id, name: a message of this role was recorded */
    AGENT_USAGE,      /* usage: of the whole turn */
    AGENT_DONE,       /* id: of the turn; text: the whole reply; turns */
    AGENT_ERROR,   /* id: of the turn; name: a short code such as "aborted" or "llm_error"; text */
    AGENT_PENDING, /* changes: what the turn has proposed and waits; before AGENT_DONE */
    AGENT_REMEMBERED /* changes; comes after AGENT_DONE or AGENT_ERROR, and only if memory changed */
};

struct agent_event {
    enum agent_event_kind kind;
    struct ethos_view id, name, text;
    const char *provider, *model;
    bool ok;
    bool remembers; /* of AGENT_DONE: an AGENT_REMEMBERED follows */
    int64_t duration_ms;
    int64_t turns; /* of the session */
    struct model_usage usage;
    /* [{"store", "scope", "key", "added": [lines], "removed": [lines]}]; of AGENT_PENDING [{"id", "scope", "key"}] */
    const json_t *changes;
    const json_t *prompt; /* as agent_describe gives it */
};

/* Views of the event live as long as the call. */
typedef void agent_event_fn(void *arg, const struct agent_event *event);

/* The event as an object of the SDK's stream; NULL: the stream has no such event, or no memory. */
json_t *agent_event_json(const struct agent_event *event);

/* "remembered 2 lines in MEMORY.md, removed 1 line in USER.md", for AGENT_REMEMBERED. Returns str_code. */
int agent_describe_changes(const json_t *changes, struct str *out);

/* "2 changes wait for approval", for AGENT_PENDING. Returns str_code. */
int agent_describe_pending(const json_t *pending, struct str *out);

/* ---- turns ------------------------------------------------------------------------------------- */

struct agent_setup {
    struct ethos *ethos;
    const struct ethos_request *request; /* personality NULL: that of the session */
    struct model *model;
    const char *via;    /* the surface, for history: "ask", "chat" */
    unsigned rights;    /* of the tools: OP_RIGHTS_AGENT or less */
    const char *only;   /* limits of the caller\'s key (ops/key_limits.h); NULL: none */
    unsigned max_steps; /* 0: agent.maxSteps of the settings */
    const char *folder; /* where files are read and project instructions found; NULL: nowhere */
    const char *actor;  /* who the tools write as, for history; NULL: "agent" */
    enum trust trust;   /* of what they write; an agent's at most */
    bool no_tools;
    bool no_memory; /* neither memory in the prompt nor what a question recalls, and no tools */
    /* With no_memory: remember and memory_write are there to propose with, and tell nothing. For guests. */
    bool proposes;
    bool dry_run; /* tools that change something say what they would do; memory stays */
};

struct agent_question {
    const char *session; /* id */
    struct ethos_view text;
    const char *turn_id; /* or NULL; a repeat of a turn's id remembers nothing twice */
    /*
     * A process that died may have begun this turn: it goes on from the messages that carry its id. A tool that
     * was running then is not called again; the model is told that it was interrupted.
     */
    bool resumes;
    int abort_fd; /* the turn is aborted once this descriptor is readable; -1: never */
};

/*
 * Runs a turn. Events come in the order of the enumeration's comments, and exactly one of them is AGENT_DONE or
 * AGENT_ERROR. Returns ETHOS_OK with AGENT_DONE; ETHOS_MODEL when the model failed or somebody aborted. Whatever
 * happens, the session stays one that a model accepts, and what the person said is recorded.
 */
int agent_turn(const struct agent_setup *setup, const struct agent_question *question,
               agent_event_fn *each, void *arg, struct ethos_error *error);

/* Appends a file to a message, which a model gets as data (core/sessions/attachment.h). Returns str_code. */
int agent_attach(struct ethos_view name, struct ethos_view text, struct str *out);

/* After a turn, for who waits for a person: what recall would index before the next question is indexed now. */
void agent_index_conversation(struct ethos *ethos);

/*
 * What the prompt of the next turn in a session would be made of, without asking or recording anything:
 *
 *     {"parts": [{"name", "bytes"}], "tools": [{"name", "description"}], "toolBytes", "window",
 *      "messages", "left": messages that do not fit, "messageBytes",
 *      "omitted": [{"scope", "key", "chars", "reason"}] of the memory block}
 */
int agent_describe(const struct agent_setup *setup, const char *session, json_t **out,
                   struct ethos_error *error);

#endif
