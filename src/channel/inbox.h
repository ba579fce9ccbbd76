/*
 * inbox.h: messages that were received: recorded before they are acknowledged, answered once.
 *
 *     new → running → answered | failed        a turn, or a command
 *     refused                                  recorded so that it is not looked at again; without its text
 *
 * The text is kept until the message is answered, the row for INBOX_DAYS.
 */
#ifndef ETHOS_CHANNEL_INBOX_H
#define ETHOS_CHANNEL_INBOX_H

#include "base/str.h"
#include "channel/database.h"
#include "channel/message.h"

#define INBOX_DAYS 30        /* of inbox and outbox rows */
#define INBOX_MAX_WAITING 10 /* in one chat and thread; the next one is told so */

/* A row that is read; its texts are owned. */
struct inbox_row {
    int64_t id;
    char adapter[CHANNEL_MAX_NAME], chat[CHANNEL_MAX_ID], thread[CHANNEL_MAX_ID];
    char msg[CHANNEL_MAX_ID], sender[CHANNEL_MAX_ID], name[CHANNEL_MAX_ID];
    char subject[CHANNEL_MAX_ID];
    char role[16], state[16], turn[CHANNEL_TURN_SIZE];
    bool direct;
    int64_t time_ms;
    struct str text;
};

void inbox_row_release(struct inbox_row *self);

/* Whether the message has a row; its state when it does. */
int inbox_find(struct channel_db *db, const char *adapter, const char *chat, const char *msg,
               char out_state[16], struct ethos_error *error);

/* A row of a message that has none; text absent: it is not kept. */
struct inbox_entry {
    const char *adapter, *turn, *role, *state;
    const struct channel_message *message;
    struct ethos_view text;
    int64_t now_ms;
};
int inbox_add(struct channel_db *db, const struct inbox_entry *entry, struct ethos_error *error);

/* The text of a message that is still new. */
int inbox_edit(struct channel_db *db, const char *adapter, const char *chat, const char *msg,
               const char *text, struct ethos_error *error);

/* Messages of a chat and thread that wait. */
int inbox_waiting(struct channel_db *db, const char *adapter, const char *chat, const char *thread,
                  int64_t *out, struct ethos_error *error);

/*
 * The oldest new message of a chat and thread in which nothing runs. ETHOS_NOTFOUND. Release the row when it was
 * found.
 */
int inbox_next(struct channel_db *db, struct inbox_row *out, struct ethos_error *error);

int inbox_read(struct channel_db *db, int64_t id, struct inbox_row *out, struct ethos_error *error);

/* running: the text stays. Other states are the end: the text goes. */
int inbox_set_state(struct channel_db *db, int64_t id, const char *state, int64_t now_ms,
                    struct ethos_error *error);

/* After a start: what ran when the last process ended is to be started again. Calls each with ids in order. */
typedef int inbox_each_fn(void *arg, int64_t id);
int inbox_each_running(struct channel_db *db, inbox_each_fn *each, void *arg,
                       struct ethos_error *error);

/* New messages of a chat and thread that are dropped, by /stop. */
int inbox_drop_waiting(struct channel_db *db, const char *adapter, const char *chat,
                       const char *thread, int64_t now_ms, int64_t *out_count,
                       struct ethos_error *error);

/* A message as one of a list: nothing of its text, nor of the answer's. */
struct inbox_recent {
    char adapter[CHANNEL_MAX_NAME], chat[CHANNEL_MAX_ID], sender[CHANNEL_MAX_ID];
    char name[CHANNEL_MAX_ID], role[16], state[16];
    char answer
        [16]; /* the state of the part of its answer that is least sent; "" while there is none */
    bool direct;
    int64_t received_ms, ended_ms; /* ended_ms 0: it is not over */
};

/* The last ones, the newest first. */
typedef int inbox_recent_fn(void *arg, const struct inbox_recent *recent);
int inbox_each_recent(struct channel_db *db, int64_t most, inbox_recent_fn *each, void *arg,
                      struct ethos_error *error);

/* Where somebody has written lately: what came after msg, the last one there, may have been missed. */
struct inbox_place {
    char chat[CHANNEL_MAX_ID], thread[CHANNEL_MAX_ID], msg[CHANNEL_MAX_ID];
    bool direct;
    int64_t received_ms;
};
typedef int inbox_place_fn(void *arg, const struct inbox_place *place);
int inbox_each_place(struct channel_db *db, const char *adapter, int64_t most, inbox_place_fn *each,
                     void *arg, struct ethos_error *error);

/* Messages of people who may talk, since a time. */
int inbox_count_since(struct channel_db *db, const char *adapter, int64_t since_ms, int64_t *out,
                      struct ethos_error *error);

/* Forgets rows of inbox and outbox that ended long ago, and codes that are over. */
int inbox_forget(struct channel_db *db, int64_t now_ms, struct ethos_error *error);

#endif
