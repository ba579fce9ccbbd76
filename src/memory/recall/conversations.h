/*
 * conversations.h: the indexes of what was said, and how they follow the messages.
 *
 * The conversations that one person had in one folder are a room. A room has an index of its own, so that who may
 * not see a room does not search it. <root>/recall/sessions.json lists the rooms and says which messages they have
 * seen; rooms are the files sessions-<hash>.idx beside it. A document is a run of messages of a session, a unit a
 * message of the user or the assistant; what tools answered is not indexed. Like every index of that folder they
 * are written by whoever has the lock "recall", and go on in memory otherwise.
 */
#ifndef ETHOS_MEMORY_RECALL_CONVERSATIONS_H
#define ETHOS_MEMORY_RECALL_CONVERSATIONS_H

#include <stdbool.h>

#include <ethos/session.h>

#include "base/arena.h"
#include "memory/recall/folder.h"
#include "recall/index.h"
#include "recall/vector_file.h"

#define CONVERSATIONS_SCOPE "sessions" /* of hits */
#define CONVERSATIONS_RUN 32           /* messages of a document */

struct said_session; /* conversations_internal.h */

struct said_room {
    const char *user, *folder; /* NULL: the owner of the home; none */
    char file[RECALL_NAME_SIZE];
    struct recall_index *index;  /* NULL: not open */
    struct vector_file *vectors; /* of the index; NULL: not open, or without a model */
    bool damaged;                /* its file was, and is made anew */
    bool changed;
    bool emptied;                  /* something is gone that must leave no byte */
    struct said_session *sessions; /* that have to be indexed */
    size_t session_count, session_room;
};

/* Start from all zero but for the handle; release always. */
struct conversations {
    struct ethos *ethos;
    struct ethos_sessions *store; /* NULL: there are none, or none that can be indexed */
    struct arena arena;
    struct said_room *rooms;
    size_t count, capacity;
    struct ethos_seen seen;
    bool loaded;
    bool whole;          /* nothing counts as seen */
    size_t most;         /* sessions that are caught up, else none is; 0: any number */
    bool checking;       /* no file counts as known */
    bool strange;        /* the list of rooms cannot be read: every file of a room is removed */
    bool lost;           /* a room that was opened has lost its file */
    bool unsaved;        /* what changed could not be written */
    uint64_t indexed;    /* sessions that were indexed now */
    const char **forced; /* sessions to be compared whatever was seen */
    size_t forced_count, forced_room;
};

/*
 * A program without conversations, or a home without any, has no rooms; that is ETHOS_OK. When rooms that were
 * opened afterwards are lost, everything is compared the next time.
 */
int conversations_catch_up(struct conversations *self, struct ethos_error *error);
void conversations_release(struct conversations *self);

/*
 * The rooms as they were caught up last: the store is opened when a message is read. Without a list of rooms, they
 * are caught up.
 */
int conversations_open(struct conversations *self, struct ethos_error *error);

/* Catches up, and compares what is indexed with every message. */
int conversations_compare(struct conversations *self, struct ethos_error *error);

/* The next time, the session is compared. ETHOS_OK or ETHOS_NOMEM. */
int conversations_force(struct conversations *self, struct ethos_view session);

/* Opens the index of a room; a damaged one counts as none. */
int said_room_open(struct conversations *self, struct said_room *room, struct ethos_error *error);

/* What is known of its passages, unless it is open. ETHOS_OK or ETHOS_NOMEM. */
int said_room_open_vectors(struct conversations *self, struct said_room *room,
                           struct ethos_error *error);

/*
 * Encodes passages of a room that was opened, until then (os_monotonic_ms; 0: all of them). What cannot be encoded now
 * is left to another time. ETHOS_OK or ETHOS_NOMEM.
 */
int said_room_encode(struct conversations *self, struct said_room *room, int64_t until_ms,
                     uint64_t *out_encoded, struct ethos_error *error);

/* The session that a document is of. */
struct ethos_view said_document_session(const struct image *image, uint32_t document);

/* A message as it is now. The arena has what it points to. */
struct said_message {
    const char *session, *key, *id, *role; /* key: of the session */
    struct ethos_view text;                /* what a model may read of it */
    int64_t time_ms;                       /* or -1 */
    bool is_untrusted;                     /* it answers somebody else's text */
};

/*
 * Reads the message of a unit. out->id is NULL when it is not what was indexed any more, or not of this room: the
 * session should be forced.
 */
int said_message_read(struct conversations *self, const struct said_room *room,
                      const struct image *image, uint32_t document, uint32_t unit,
                      struct arena *arena, struct said_message *out, struct ethos_error *error);

/*
 * Compares every room with the messages and writes nothing. *out_same false: a room knows another text of a message
 * than that has. ETHOS_CORRUPT when a file is damaged.
 */
int conversations_verify(struct conversations *self, bool *out_same, struct ethos_error *error);

#endif
