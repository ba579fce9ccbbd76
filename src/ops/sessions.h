/*
 * sessions.h: sessions and messages as JSON, in the form of the wire. Private to src/ops.
 */
#ifndef ETHOS_OPS_SESSIONS_H
#define ETHOS_OPS_SESSIONS_H

#include <ethos/session.h>

#include "ops/op.h"

/* {"id", "key", ..., "usage": {...}, "createdAt", "updatedAt", "version": 1}; NULL without memory. */
json_t *sessions_row(const struct ethos_session *session);

/* {"id", "sessionId", "role", "content", "toolCallId", "toolName", "toolCalls", "timestamp"} */
json_t *sessions_message(const struct ethos_message *message);

#endif
