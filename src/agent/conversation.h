/*
 * conversation.h: the messages of a session as a model gets them, and recording new ones.
 *
 * A message reaches the model in one form, whether it was just recorded or read back: so the prompt of the next
 * turn begins with the bytes of this one.
 *
 * content_blocks of a message is a JSON array; what is ours in it:
 *
 *     {"type": "ethos_recalled", "text"}     a user's message: what recall found, sent before the text
 *     {"type": "ethos_raw", "raw"}           an assistant's: the answer as the model gave it, for echoing
 *     {"type": "ethos_aborted", "reason"}    an assistant's: the answer is not whole
 *     {"type": "ethos_failed"}               a tool result: the tool failed
 *     {"type": "ethos_own"}                  a tool result: text that stands in memory, fenced as data
 *     {"type": "ethos_foreign"}              a tool result: somebody else's text, fenced; the turn is untrusted. A user's
 *                                            message: forwarded, of a guest or a group; recall leaves it out
 */
#ifndef ETHOS_AGENT_CONVERSATION_H
#define ETHOS_AGENT_CONVERSATION_H

#include <ethos/session.h>

#include "agent/models/model.h"
#include "base/arena.h"
#include "core/approval/fence.h"
#include "core/sessions/attachment.h"
#include "core/sessions/transcript.h"

#define CONVERSATION_OWN MESSAGE_OWN
#define CONVERSATION_FOREIGN MESSAGE_FOREIGN

struct conversation {
    struct ethos_sessions *store;
    const char *session;
    struct arena arena;
    struct model_message *messages;
    size_t count, capacity;
    struct transcript transcript; /* where the session stands */
    char fence[FENCE_NUMBER_SIZE];
};

/* Reads the newest messages of a session, from a user's message on. Release in any case. */
int conversation_load(struct ethos_sessions *store, const char *session, struct conversation *out,
                      struct ethos_error *error);
void conversation_release(struct conversation *self);

/*
 * Records messages and adds them. A user's message comes after what ends an aborted turn. Ids are made where there
 * are none.
 */
int conversation_append(struct conversation *self, const struct ethos_message *message,
                        struct ethos_error *error);

/* The first message that is sent when so many tokens are there for the history: a user's. */
size_t conversation_first(const struct conversation *self, int64_t tokens);

/* A later user's message, about half way from first to the end; count: there is none. */
size_t conversation_find_middle(const struct conversation *self, size_t first);

/* Tokens of a text, estimated. */
int64_t conversation_estimate(size_t bytes);

#endif
