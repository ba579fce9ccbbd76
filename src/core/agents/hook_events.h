/*
 * hook_events.h: reads the events of agents' hooks and writes their answers.
 *
 * Agents use different names for events and members, and different forms of answers; here they
 * become the same. Pure. Input is not trusted: members of a wrong type count as absent.
 */
#ifndef ETHOS_CORE_AGENTS_HOOK_EVENTS_H
#define ETHOS_CORE_AGENTS_HOOK_EVENTS_H

#include "core/agents/agents.h"

#define HOOK_MAX_CONTEXT 9500 /* bytes; agents begin to cut at 10,000 */
#define HOOK_MAX_ID 256       /* bytes: an agent's id of a conversation */

/* An event. Texts live as long as it does; absent ones were not given. */
struct hook {
    const struct agent *agent;
    const struct agent_event *event;
    json_t *input;
    const char *session;    /* the conversation, by the agent's id; or NULL */
    const char *turn;       /* identifies the turn; or NULL */
    const char *folder;     /* absolute, where the agent works; or NULL */
    const char *transcript; /* absolute path; agent->format says how to read it */
    bool compacted;         /* at a start: the agent has just compacted */
    bool resumed;           /* at a start: the conversation continues */
    bool tries;             /* stop where the session store is needed: another program has it */
    struct ethos_view prompt, reply; /* prompt: without what hooks have added before it */
};

/* Always release it. ETHOS_INVALID or ETHOS_LIMIT for an input that is not a JSON object. */
int hook_read(const struct agent *agent, const struct agent_event *event, struct ethos_view input,
              struct hook *out, struct ethos_error *error);
/* The same for parsed input; takes ownership of it in every case. */
int hook_take(const struct agent *agent, const struct agent_event *event, json_t *input,
              struct hook *out, struct ethos_error *error);
void hook_release(struct hook *self);

/*
 * Appends the answer as one line, with text for the model, or "{}" without text. message:
 * additional text for the user, if the agent shows it; or NULL. Returns str_code.
 */
int hook_answer(const struct agent *agent, const struct agent_event *event, struct ethos_view text,
                const char *message, struct str *out);

#endif
