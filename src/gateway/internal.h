/*
 * internal.h: structs and functions shared by the files of the gateway.
 */
#ifndef ETHOS_GATEWAY_INTERNAL_H
#define ETHOS_GATEWAY_INTERNAL_H

#include "base/hash.h"
#include "channel/contacts.h"
#include "channel/inbox.h"
#include "channel/outbox.h"
#include "gateway/adapters/settings.h"
#include "gateway/commands.h"
#include "gateway/gateway.h"

#define GATEWAY_MAX_ADAPTERS 8
#define GATEWAY_MAX_RUNNING 64 /* messages whose turns were interrupted with the last process */
#define GATEWAY_MAX_SENDING 64 /* sends under way */

/* A configured platform. */
struct channel {
    struct gateway *gateway;
    const struct channel_adapter_ops *ops;
    struct channel_adapter *adapter; /* NULL: it cannot be opened */
    struct channel_host host;
    struct channel_settings settings;
    enum channel_state state;
    char why[256];
    char bot[CHANNEL_MAX_ID];         /* id of the bot, of this or the last run */
    char secrets_hash[HASH_HEX_SIZE]; /* of the secrets it was opened with */
    int64_t next_ms;                  /* when the adapter wants to be called */
    int64_t send_ms;                  /* nothing is sent before then */
};

/* A send or an edit that an adapter was asked for. */
struct delivery_try {
    int64_t row; /* 0: free */
    struct chat_pace *pace;
    struct channel *channel;
    bool edits, is_preview;
    bool probes; /* asks whether an earlier send has arrived */
    struct str text;
};

struct gateway {
    struct gateway_setup setup;
    struct channel_db *db;
    int lock_fd;
    struct ethos *ethos; /* of this thread */
    struct turn_threads *turns;
    struct channel channels[GATEWAY_MAX_ADAPTERS];
    size_t channel_count;
    int64_t now_ms, clock_ms; /* of this step */
    bool is_draining;

    int64_t interrupted[GATEWAY_MAX_RUNNING]; /* inbox rows, to be started again */
    size_t interrupted_count;
    struct answering *answering; /* turns that run */

    struct chat_pace *paces;
    struct delivery_try tries[GATEWAY_MAX_SENDING];
    bool outbox_changed;
    int64_t delivery_ms, db_version, upkeep_ms, look_ms;
};

/* Writes a line to the log. */
void gateway_log(struct gateway *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The channel of an adapter's name, or NULL. */
struct channel *gateway_channel(struct gateway *self, const char *adapter);

/* Whether it can send, which it may even while it is not connected for receiving. */
bool gateway_can_send(const struct channel *channel);

/* In test builds, the process is killed here when ETHOS_GATEWAY_KILL names the point. */
void gateway_reach(const char *point);

/* ---- lines ------------------------------------------------------------------------------------- */

/* A chat to send a line to. */
struct channel_place {
    const char *adapter, *chat, *thread;
    bool direct;
    const char *reply_to, *subject; /* where the platform has them; or NULL */
};

/* Queues a line written by the gateway. name is its unique id: a second line with the same name is not sent. */
int gateway_queue_line(struct gateway *self, const struct channel_place *place, const char *name,
                       struct ethos_view text, struct ethos_error *error);

/* Sends a notice to the owner, and writes it to the log. */
void gateway_notify_owner(struct gateway *self, const char *platform, const char *name,
                          const char *text);

/* ---- reception.c -------------------------------------------------------------------------------- */

int reception_record(struct channel *channel, const struct channel_batch *batch,
                     struct ethos_error *error);

/* ---- answering.c -------------------------------------------------------------------------------- */

int answering_open(struct gateway *self, struct ethos_error *error);
void answering_close(struct gateway *self);

/* Collects outcomes, sends previews, starts turns. Returns when it must be called again. */
int64_t answering_step(struct gateway *self);

/* Aborts the turn that runs in a chat. */
void answering_abort(struct gateway *self, const char *adapter, const char *chat,
                     const char *thread);

/* ---- links.c ------------------------------------------------------------------------------------ */

/* Answers /link. */
int link_answer(struct gateway *self, const struct inbox_row *row, struct ethos_view rest,
                struct str *out, struct ethos_error *error);

/* Links an identity to the local user. */
int link_owner(struct ethos *ethos, const char *platform, const char *sender,
               struct ethos_error *error);

/* ---- delivery.c --------------------------------------------------------------------------------- */

int64_t delivery_step(struct gateway *self);
void delivery_ended(struct channel *channel, int64_t row, const struct channel_sent *sent);
void delivery_close(struct gateway *self);
/* Notifies the owner of a message that may not have arrived. */
void delivery_report_unsent(struct gateway *self, const struct outbox_row *row);
bool delivery_is_idle(const struct gateway *self);

/* Whether previews may be shown in the chat now. */
bool delivery_may_preview(struct gateway *self, const struct channel *channel, const char *chat);

#endif
