/*
 * answer.h: one answer of a model, collected from its events.
 */
#ifndef ETHOS_AGENT_ANSWER_H
#define ETHOS_AGENT_ANSWER_H

#include "agent/agent.h"
#include "base/str.h"

struct answer_call {
    struct str id, name, arguments;
    bool whole;
};

struct answer {
    struct str text;
    struct answer_call calls[AGENT_MAX_CALLS];
    size_t call_count;
    struct str raw;
    struct model_usage usage;
    bool failed;
    enum model_stop stop;   /* unless it failed */
    enum model_error error; /* if it failed */
    struct str problem;     /* if it failed: one sentence */
    bool shown;             /* some text went to each */
};

void answer_init(struct answer *self);
void answer_release(struct answer *self);

/*
 * Asks the model. Text, thinking and status go to each while they arrive. After a failure the answer holds what
 * had arrived: calls that are not whole are dropped.
 */
void answer_ask(struct answer *self, struct model *model, const struct model_request *request,
                agent_event_fn *each, void *arg);

/* "llm_error", "aborted", "context_overflow", ...: the code of an AGENT_ERROR. */
const char *answer_error_code(enum model_error error);

#endif
