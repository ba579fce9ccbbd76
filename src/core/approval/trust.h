/*
 * trust.h: how far a write is trusted, which the surface decides that it comes through, never its text.
 *
 *     owner      the person at the machine: command line, dashboard, an editor, a person's key
 *     agent      an agent in a turn of somebody who is allowed: MCP, hooks, a key of an agent, a model's tool
 *     untrusted  anybody else's words: a stranger on a channel, an import, or an agent that has read such text
 *
 * Every line of the history says which it was.
 */
#ifndef ETHOS_CORE_APPROVAL_TRUST_H
#define ETHOS_CORE_APPROVAL_TRUST_H

#include <ethos/types.h>

/* In order: the later, the less. */
enum trust { TRUST_OWNER, TRUST_AGENT, TRUST_UNTRUSTED };

/* "owner", "agent", "untrusted" */
const char *trust_name(enum trust trust);

/*
 * The trust of an origin: what it says; of one that does not say, the owner's where nobody else is named as the
 * actor, else an agent's. A word that is none of the three is not trusted.
 */
enum trust trust_of(const struct ethos_origin *origin);

#endif
