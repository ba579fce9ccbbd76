/*
 * hook_events.h: what an agent tells a hook, and what a hook answers.
 *
 * Agents name the same things differently: events, members, the shape of an answer. Here they become
 * the same. Pure; nothing that an agent says is trusted: members of another type count as absent.
 */
#ifndef ETHOS_CORE_AGENTS_HOOK_EVENTS_H
#define ETHOS_CORE_AGENTS_HOOK_EVENTS_H

#include "core/agents/agents.h"

#define HOOK_MAX_CONTEXT 9500 /* bytes; agents begin to cut at 10,000 */
#define HOOK_MAX_ID 256       /* bytes: an agent's id of a conversation */

/* What happened. Texts live as long as it does; absent ones were not told. */
struct hook {
    const struct agent *agent;
    const struct agent_event *event;
    json_t *input;
    const char *session;    /* the conversation, by the agent's id; or NULL */
    const char *turn;       /* what tells this turn from others; or NULL */
    const char *folder;     /* absolute, where the agent works; or NULL */
    const char *transcript; /* absolute; agent->format says whether it can be read */
    bool compacted;         /* of a start: the agent has just forgotten */
    bool resumed;           /* of a start: the conversation goes on */
    bool tries;             /* ends where the session store is needed: another program has it */
    struct ethos_view prompt, reply; /* prompt: without what hooks have put before it */
};

/* Release it always. ETHOS_INVALID or ETHOS_LIMIT for an input that is no JSON object. */
int hook_read(const struct agent *agent, const struct agent_event *event, struct ethos_view input,
              struct hook *out, struct ethos_error *error);
/* The same of an input that was read already; takes it, whatever it returns. */
int hook_take(const struct agent *agent, const struct agent_event *event, json_t *input,
              struct hook *out, struct ethos_error *error);
void hook_release(struct hook *self);

/*
 * Appends the answer, one line: the text is for the model; "{}" without one. message: what the person is to
 * see besides, where the agent shows that; or NULL. Returns str_code.
 */
int hook_answer(const struct agent *agent, const struct agent_event *event, struct ethos_view text,
                const char *message, struct str *out);

#endif
