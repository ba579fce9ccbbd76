/*
 * conversations_internal.h: a room being brought up to date. Private to src/memory/recall.
 */
#ifndef ETHOS_MEMORY_RECALL_CONVERSATIONS_INTERNAL_H
#define ETHOS_MEMORY_RECALL_CONVERSATIONS_INTERNAL_H

#include "base/str.h"
#include "memory/recall/conversations.h"

/* A session of a room that has messages which the room has not seen. */
struct said_session {
    const char *id;
    uint64_t count; /* the newest messages to be looked at; 0: all are compared */
};

/*
 * Indexes what is new of room->sessions. all: they are all sessions of the room, and what is gone leaves no byte in
 * its file.
 */
int said_room_update(struct conversations *self, struct said_room *room, bool all,
                     struct ethos_error *error);

/*
 * Whether a message is indexed, and what of it. Somebody else's text is not, as what is recalled later is told as one's
 * own: borrowed from the message or from safe. ETHOS_OK or ETHOS_NOMEM.
 */
int said_visible(const struct ethos_message *message, struct str *safe, struct ethos_view *out);

/* The number of the message of a unit. */
int64_t said_number(const struct image *image, uint32_t document, uint32_t unit);

#endif
