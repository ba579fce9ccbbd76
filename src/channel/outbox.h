/*
 * outbox.h: what is sent: a row first, and a doubtful send is never repeated blindly.
 *
 *     queued → sending → sent                  a part of an answer, a line
 *     queued → sending → live → sent           the first part, shown while it is being written and edited at the end
 *              sending → queued | sent           where the platform can be asked whether it has arrived
 *                      → unknown               it may have arrived: the owner is told, and may send it again
 *                      → failed                it did not, and will not
 *
 * A row that is not final is a preview: text is what is shown so far. Texts of rows that were sent are forgotten.
 */
#ifndef ETHOS_CHANNEL_OUTBOX_H
#define ETHOS_CHANNEL_OUTBOX_H

#include "base/str.h"
#include "channel/database.h"
#include "channel/message.h"

#define OUTBOX_MAX_TURN                                                                            \
    80 /* bytes with terminator: turn ids, and names of lines that answer nothing */

struct outbox_row {
    int64_t id, part, attempts, not_before_ms, created_ms;
    int64_t sent_ms; /* when it was tried first; 0: never */
    char turn[OUTBOX_MAX_TURN], adapter[CHANNEL_MAX_NAME];
    char chat[CHANNEL_MAX_ID], thread[CHANNEL_MAX_ID], reply_to[CHANNEL_MAX_ID];
    char remote[CHANNEL_MAX_ID], subject[CHANNEL_MAX_ID], state[16];
    bool direct, final, sends_preview;
    bool is_shown; /* what was sent last is the text */
    struct str text;
};

void outbox_row_release(struct outbox_row *self);

struct outbox_entry {
    const char *turn;
    int64_t part;
    const char *adapter, *chat, *thread, *reply_to;
    const char *subject; /* or NULL */
    bool direct, final;
    struct ethos_view text;
    int64_t now_ms;
};

/*
 * A new row. Where the turn has one of this part, a preview becomes final and takes the text, and one that is final
 * stays as it is: a repeat of a turn sends nothing twice.
 */
int outbox_add(struct channel_db *db, const struct outbox_entry *entry, struct ethos_error *error);

/* What a preview shows next. */
int outbox_set_preview(struct channel_db *db, const char *turn, struct ethos_view text,
                       struct ethos_error *error);

/* Rows that are not at their end, in order. */
typedef int outbox_each_fn(void *arg, const struct outbox_row *row);
int outbox_each_open(struct channel_db *db, outbox_each_fn *each, void *arg,
                     struct ethos_error *error);

/* Rows that are unknown or failed since a time, in order. */
int outbox_each_unsent(struct channel_db *db, int64_t since_ms, outbox_each_fn *each, void *arg,
                       struct ethos_error *error);

/* ETHOS_NOTFOUND. Release the row when it was found. */
int outbox_read(struct channel_db *db, int64_t id, struct outbox_row *out,
                struct ethos_error *error);

/* Before the adapter is asked to send it. */
int outbox_set_sending(struct channel_db *db, const struct outbox_row *row, int64_t now_ms,
                       struct ethos_error *error);

/* The platform has this text under this id. */
int outbox_set_shown(struct channel_db *db, int64_t id, struct ethos_view text, const char *remote,
                     int64_t now_ms, struct ethos_error *error);

/* It stays sending: the platform is asked for it, not before a time. */
int outbox_set_doubtful(struct channel_db *db, int64_t id, int64_t not_before_ms,
                        struct ethos_error *error);

/* The platform does not have it: it is sent as if for the first time, not before a time. */
int outbox_send_anew(struct channel_db *db, int64_t id, int64_t not_before_ms,
                     struct ethos_error *error);

/* Not before a time; in the state in which it was tried, and of a send that did not happen: queued. */
int outbox_postpone(struct channel_db *db, int64_t id, int64_t not_before_ms,
                    struct ethos_error *error);

/* unknown, failed or queued: unknown keeps the text, so that it can be sent again. */
int outbox_set_state(struct channel_db *db, int64_t id, const char *state, int64_t now_ms,
                     struct ethos_error *error);

/* A preview of which nobody knows whether it arrived: it is forgotten, or its answer becomes a new message. */
int outbox_drop_preview(struct channel_db *db, int64_t id, struct ethos_error *error);

/* The message is gone on the platform, or its id is not known: the text goes out as a new one. */
int outbox_begin_anew(struct channel_db *db, int64_t id, struct ethos_error *error);

/*
 * After a start, the rows of an adapter. Sends that were under way are unknown, or stay sending where the platform
 * can be asked (probes); previews whose id is not known are forgotten, and their answers will be new messages.
 */
int outbox_recover(struct channel_db *db, const char *adapter, bool probes, int64_t now_ms,
                   struct ethos_error *error);

/* The chat has another id now. */
int outbox_rename_chat(struct channel_db *db, const char *adapter, const char *from, const char *to,
                       struct ethos_error *error);

/* An unknown or failed row is sent again. ETHOS_NOTFOUND when there is none of this id. */
int outbox_resend(struct channel_db *db, int64_t id, struct ethos_error *error);

#endif
