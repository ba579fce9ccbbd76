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

struct model_answer {
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

void model_answer_init(struct model_answer *self);
void model_answer_release(struct model_answer *self);

/*
 * Asks the model. Text, thinking and status go to each while they arrive. After a failure the answer holds what
 * had arrived: calls that are not whole are dropped.
 */
void model_answer_ask(struct model_answer *self, struct model *model,
                      const struct model_request *request, agent_event_fn *each, void *arg);

/* "llm_error", "aborted", "context_overflow", ...: the code of an AGENT_ERROR. */
const char *model_answer_error_code(enum model_error error);

#endif
