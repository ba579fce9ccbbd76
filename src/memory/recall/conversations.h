/*
 * conversations.h: the indexes of conversations, and updating them.
 *
 * The conversations of one person in one folder form a room. Each room has an index of its own, so
 * that somebody without access to a room does not search it. <root>/recall/sessions.json lists the
 * rooms and the messages they have indexed; rooms are the files sessions-<hash>.idx beside it. A
 * document is a run of messages of a session, a unit is a message of the user or the assistant;
 * tool results are not indexed. Like all indexes of that folder they are written by whoever has the
 * lock "recall"; others continue in memory.
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
    struct vector_file *vectors; /* of the index; NULL: not open, or no model */
    bool damaged;                /* its file was damaged and is rebuilt */
    bool changed;
    bool emptied;                  /* deleted text must be removed from the file */
    struct said_session *sessions; /* sessions to index */
    size_t session_count, session_room;
};

/* Zero all members but the handle; release always. */
struct conversations {
    struct ethos *ethos;
    struct ethos_sessions *store; /* NULL: there are none, or they cannot be indexed */
    struct arena arena;
    struct said_room *rooms;
    size_t count, capacity;
    struct ethos_seen seen;
    bool loaded;
    bool whole;          /* index everything again */
    size_t most;         /* no update if more sessions are new; 0: any number */
    bool checking;       /* trust no file */
    bool strange;        /* the list of rooms is damaged: all files of rooms are removed */
    bool lost;           /* an opened room has lost its file */
    bool unsaved;        /* what changed could not be written */
    uint64_t indexed;    /* sessions indexed by this update */
    const char **forced; /* sessions to compare in any case */
    size_t forced_count, forced_room;
};

/*
 * Updates the rooms. A program or home without conversations has none, which is ETHOS_OK. If rooms
 * that are opened afterwards are lost, everything is compared next time.
 */
int conversations_catch_up(struct conversations *self, struct ethos_error *error);
void conversations_release(struct conversations *self);

/*
 * Reads the rooms of the last update; the store is opened when a message is read. Without a list of
 * rooms, updates them.
 */
int conversations_open(struct conversations *self, struct ethos_error *error);

/* Updates the rooms, and compares everything indexed with the messages. */
int conversations_compare(struct conversations *self, struct ethos_error *error);

/* Compares the session next time. ETHOS_OK or ETHOS_NOMEM. */
int conversations_force(struct conversations *self, struct ethos_view session);

/* Opens the index of a room; a damaged one counts as empty. */
int said_room_open(struct conversations *self, struct said_room *room, struct ethos_error *error);

/* Opens its vectors, unless they are open. ETHOS_OK or ETHOS_NOMEM. */
int said_room_open_vectors(struct conversations *self, struct said_room *room,
                           struct ethos_error *error);

/*
 * Encodes passages of an opened room, until then (os_monotonic_ms; 0: all of them). The rest is
 * left for later. ETHOS_OK or ETHOS_NOMEM.
 */
int said_room_encode(struct conversations *self, struct said_room *room, int64_t until_ms,
                     uint64_t *out_encoded, struct ethos_error *error);

/* The session of a document. */
struct ethos_view said_document_session(const struct image *image, uint32_t document);

/* A message as it is now. Its strings are in the arena. */
struct said_message {
    const char *session, *key, *id, *role; /* key: of the session */
    struct ethos_view text;                /* the part that models may read */
    int64_t time_ms;                       /* or -1 */
    bool is_untrusted;                     /* it answers text of somebody else */
};

/*
 * Reads the message of a unit. out->id is NULL if it differs from what was indexed or is no longer
 * in this room: the session should be forced.
 */
int said_message_read(struct conversations *self, const struct said_room *room,
                      const struct image *image, uint32_t document, uint32_t unit,
                      struct arena *arena, struct said_message *out, struct ethos_error *error);

/*
 * Compares every room with the messages and writes nothing. *out_same is false if a room has
 * another text of a message. ETHOS_CORRUPT if a file is damaged.
 */
int conversations_verify(struct conversations *self, bool *out_same, struct ethos_error *error);

#endif
