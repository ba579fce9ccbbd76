/*
 * platform_api.h: the JSON API of a platform: calls, back-off, and the messages that are being sent.
 *
 * The adapters of Slack, Discord and Telegram begin with a struct platform_api:
 *
 *     struct slack {
 *         struct platform_api api;
 *         ...
 *     };
 */
#ifndef ETHOS_GATEWAY_PLATFORM_API_H
#define ETHOS_GATEWAY_PLATFORM_API_H

#include "agent/models/endpoint.h"
#include "base/hash.h"
#include "base/json.h"
#include "gateway/adapters/adapter.h"

#define API_CALL_MS 30000 /* timeout of a call */
#define API_BACKOFF_MIN_MS 1000
#define API_BACKOFF_MAX_MS 60000
#define API_MAX_SENDS 64       /* messages that are being sent at a time */
#define API_MESSAGE_ID_SIZE 24 /* bytes with terminator */

enum api_send_kind { API_SEND, API_EDIT, API_PROBE };

struct platform_api;

/* A message that is being sent, edited or looked for. */
struct api_send {
    struct platform_api *api;
    int64_t row;
    uint64_t exchange; /* 0: the slot is free */
    enum api_send_kind kind;
    char chat[CHANNEL_MAX_ID];
    char id[API_MESSAGE_ID_SIZE];  /* api_message_id */
    char text_hash[HASH_HEX_SIZE]; /* of the trimmed text */
};

struct platform_api {
    struct channel_adapter adapter;
    const struct channel_host *host;
    struct endpoint endpoint;
    char *root;          /* what the URLs of all calls begin with */
    char *authorization; /* header of all calls; or NULL */
    const char *user_agent;
    uint64_t call;          /* the call of the current phase; 0: none is under way */
    int64_t due_ms, now_ms; /* when the next call of a phase is due; the time of this step */
    unsigned failures;      /* in a row */
    struct api_send sends[API_MAX_SENDS];
};

struct api_settings {
    const struct channel_adapter_ops *ops;
    const char *root; /* unless the settings name another one */
    const char
        *authorization_prefix; /* of the first secret in the header, such as "Bearer "; or NULL */
    const char *path_prefix;   /* of the first secret in the path, such as "/bot"; or NULL */
    const char *user_agent;    /* NULL: ours */
};

/* Whether a token begins with start and has only letters, digits and these marks. */
bool api_is_token(const char *token, const char *start, const char *marks);

/* self must be zeroed. After a failure it can be closed, too. */
int api_open(struct platform_api *self, const struct api_settings *settings,
             const struct channel_setup *setup, struct ethos_error *error);

/* Cancels all calls and wipes the secrets. Does not free self. */
void api_close(struct platform_api *self);

/* ---- calls ------------------------------------------------------------------------------------- */

struct api_call {
    const char *method;        /* NULL: POST, which must have a body */
    const char *path;          /* after the root */
    json_t *body;              /* consumed; or NULL */
    const char *authorization; /* instead of the usual one; or NULL */
    int64_t timeout_ms;        /* 0: API_CALL_MS */
    bool fresh;                /* see http_client_request */
};

int api_start(struct platform_api *self, const struct api_call *call, http_client_fn *each,
              void *arg, uint64_t *out_id);

/* For calls whose answer does not matter. */
void api_ignore_answer(void *arg, const struct http_client_answer *answer);

/* A random wait that grows with the failures before it: up to 1, 2, 4 ... 60 seconds. */
int64_t api_backoff_ms(unsigned failures);

/* The next call of a phase is due after least_ms and a back-off. */
void api_retry_later(struct platform_api *self, int64_t least_ms);

/* Cancels the call of the phase; the next one is due now. */
void api_restart(struct platform_api *self);

/* ---- the host ---------------------------------------------------------------------------------- */

void api_set_state(struct platform_api *self, enum channel_state state, const char *why);

/* Stores a cursor without messages. */
void api_store_cursor(struct platform_api *self, const char *name, const char *value);

/* ---- sending ----------------------------------------------------------------------------------- */

/* The same id whenever a message is sent again. */
void api_message_id(const struct channel_outgoing *outgoing, char out[API_MESSAGE_ID_SIZE]);

/* Starts a call for a message. each gets a struct api_send; a call that cannot be started is reported at once. */
void api_start_send(struct platform_api *self, const struct api_call *call,
                    const struct channel_outgoing *outgoing, enum api_send_kind kind,
                    http_client_fn *each);

/* Reports the result to the host and frees the slot. */
void api_finish_send(struct api_send *send, const struct channel_sent *sent);

#endif
