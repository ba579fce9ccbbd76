/*
 * conversations_internal.h: updating the index of a room. Private to src/memory/recall.
 */
#ifndef ETHOS_MEMORY_RECALL_CONVERSATIONS_INTERNAL_H
#define ETHOS_MEMORY_RECALL_CONVERSATIONS_INTERNAL_H

#include "base/str.h"
#include "memory/recall/conversations.h"

/* A session with messages that its room has not indexed. */
struct said_session {
    const char *id;
    uint64_t count; /* how many newest messages to compare; 0: all */
};

/*
 * Indexes new messages of room->sessions. all: they are all sessions of the room, and deleted text
 * is removed from its file.
 */
int said_room_update(struct conversations *self, struct said_room *room, bool all,
                     struct ethos_error *error);

/*
 * Whether a message is indexed, and which part. Text of somebody else is not, as it would later be
 * recalled as the user's own. Borrowed from the message or from safe. ETHOS_OK or ETHOS_NOMEM.
 */
int said_visible(const struct ethos_message *message, struct str *safe, struct ethos_view *out);

/* The message number of a unit. */
int64_t said_number(const struct image *image, uint32_t document, uint32_t unit);

#endif
