/*
 * adapter.h: what a platform is to the gateway, and the gateway to it.
 *
 * An adapter translates: what its platform delivers into messages, what the gateway sends into requests. It opens no
 * file, knows no role, keeps no text, and runs in the gateway's thread. A platform delivers at least once: the
 * adapter hands over what it got together with how far it has read, and acknowledges only when that is recorded.
 */
#ifndef ETHOS_GATEWAY_ADAPTER_H
#define ETHOS_GATEWAY_ADAPTER_H

#include <stdbool.h>

#include "channel/database.h"
#include "channel/inbox.h"
#include "channel/message.h"
#include "gateway/adapters/http_client.h"
#include "gateway/adapters/settings.h"
#include "gateway/adapters/websocket.h"

/* What the platform allows; sizes in UTF-16 code units, times in milliseconds. */
struct channel_limits {
    unsigned text;                   /* of a message */
    unsigned chat_ms, group_ms;      /* between two sends to a chat, to a group */
    unsigned all_ms;                 /* between two sends to anybody */
    unsigned edit_ms, group_edit_ms; /* between two edits; 0: messages cannot be edited */
    bool replies;                    /* every answer names the message that it answers */
    bool bang; /* a command may begin with ! instead of /, which the platform keeps for itself */
    unsigned
        same_ms; /* for which a send that is repeated is the same message on the platform; 0: never */
    bool no_pairing;                    /* nobody is let in by what is said here */
    unsigned person_hour, thread_10min; /* messages that are answered at most; 0: any number */
    unsigned typing_ms; /* after which a sign of typing is repeated; 0: there is none */
};

enum channel_result {
    CHANNEL_SENT,
    CHANNEL_NOT_SENT, /* nothing has left: it may be tried again */
    CHANNEL_LATER,    /* refused until wait_ms are over */
    CHANNEL_REFUSED,  /* and it will be refused again */
    CHANNEL_GONE, /* the message that was to be edited is no longer there, or nobody reads the chat any more */
    CHANNEL_UNKNOWN /* it may have arrived */
};

struct channel_sent {
    enum channel_result result;
    const char *remote;  /* of CHANNEL_SENT: the message's id */
    int64_t wait_ms;     /* of CHANNEL_LATER; else before the next one to this chat */
    bool all;            /* the wait is for every chat */
    const char *problem; /* for the log; never with content or token; or NULL */
};

/* Text to send, or to put in the place of an earlier one (remote). Borrowed for the call. */
struct channel_outgoing {
    int64_t row;
    const char *chat, *thread, *reply_to, *remote, *subject;
    const char *turn; /* with part and preview: the same whenever this is sent */
    int64_t part;
    bool preview;
    int64_t sent_ms; /* when it was tried first; wall time */
    struct ethos_view text;
};

enum channel_state {
    CHANNEL_DOWN, /* tries again by itself */
    CHANNEL_UP,
    CHANNEL_FATAL /* only another token helps */
};

/* What was received at once: recorded together, with how far was read (cursor NULL: nothing to note). */
struct channel_batch {
    const struct channel_message *messages;
    size_t count;
    const char *cursor, *value;
};

struct channel_host {
    void *arg;
    struct http_client *http;
    /* ETHOS_OK: it is recorded. */
    int (*received)(void *arg, const struct channel_batch *batch);
    /* The end of a send or an edit. */
    void (*sent)(void *arg, int64_t row, const struct channel_sent *sent);
    void (*state)(void *arg, enum channel_state state, const char *why);
    int (*cursor)(void *arg, const char *name, char out[CHANNEL_MAX_CURSOR]);
    /* Where messages came from lately. */
    int (*places)(void *arg, inbox_place_fn *each, void *each_arg);
    /* The chat has another id now. */
    void (*renamed)(void *arg, const char *from, const char *to);
    /* From another thread: step is to be called soon. */
    void (*wake)(void *arg);
    /* websockets_open, but in tests. */
    int (*open_websockets)(void (*wake)(void *arg), void *arg, bool direct, struct websockets **out,
                           struct ethos_error *error);
};

struct channel_setup {
    const struct channel_host *host; /* outlives the adapter */
    const char *const *secrets;      /* as the platform's row has them; "" where there is none */
    const struct channel_settings *settings; /* as long as the call */
};

struct channel_adapter;

struct channel_adapter_ops {
    const char *platform;
    const struct channel_limits *limits;
    int (*open)(const struct channel_setup *setup, struct channel_adapter **out,
                struct ethos_error *error);
    void (*close)(struct channel_adapter *self);
    /* Does what is due; returns when it wants to be called again. Times are of a clock that never goes back. */
    int64_t (*step)(struct channel_adapter *self, int64_t now_ms);
    /* host->sent tells the end; at once or later. */
    void (*send)(struct channel_adapter *self, const struct channel_outgoing *outgoing);
    void (*edit)(struct channel_adapter *self, const struct channel_outgoing *outgoing);
    /* Asks whether something that may have been sent has arrived: CHANNEL_SENT, NOT_SENT or UNKNOWN. NULL: it cannot. */
    void (*probe)(struct channel_adapter *self, const struct channel_outgoing *outgoing);
    /* Whether a message of a known person has words of others, quoted or forwarded. NULL: none has. */
    bool (*quotes)(struct ethos_view subject, struct ethos_view text);
    void (*typing)(struct channel_adapter *self, const char *chat, const char *thread);
    /* The machine slept: connections are dead. */
    void (*woken)(struct channel_adapter *self);
};

struct channel_adapter {
    const struct channel_adapter_ops *ops;
    char name[64];            /* of the bot, as people write it; "" where it has none */
    char bot[CHANNEL_MAX_ID]; /* its own id on the platform; "" until it is known */
};

#endif
