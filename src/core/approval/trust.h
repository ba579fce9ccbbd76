/*
 * trust.h: how far a write is trusted, decided by the surface it comes through, never by its text.
 *
 *     owner      the person at the machine: command line, dashboard, an editor, a person's key
 *     agent      an agent in a turn of an allowed person: MCP, hooks, an agent's key, a model's tool
 *     untrusted  text from others: a stranger on a channel, an import, or an agent that has read such text
 *
 * Every line of the history records it.
 */
#ifndef ETHOS_CORE_APPROVAL_TRUST_H
#define ETHOS_CORE_APPROVAL_TRUST_H

#include <ethos/types.h>

/* In descending order of trust. */
enum trust { TRUST_OWNER, TRUST_AGENT, TRUST_UNTRUSTED };

/* "owner", "agent", "untrusted" */
const char *trust_name(enum trust trust);

/*
 * The trust of an origin, as stated; if not stated, the owner's if no other actor is named,
 * otherwise an agent's. An unknown word is not trusted.
 */
enum trust trust_of(const struct ethos_origin *origin);

#endif
