/*
 * platform_api.c: the JSON API of a platform: calls, back-off, and the messages that are being sent.
 */
#include "gateway/adapters/platform_api.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"

#define MAX_URL 4096     /* bytes */
#define MAX_BODY 1048576 /* bytes of a request */
#define MAX_TOKEN 1024   /* bytes with terminator */

/* ---- opening ----------------------------------------------------------------------------------- */

bool api_is_token(const char *token, const char *start, const char *marks)
{
    size_t size = strlen(token);
    if (size == 0 || size >= MAX_TOKEN || strncmp(token, start, strlen(start)) != 0)
        return false;
    for (const char *c = token; *c; c++)
        if (!(*c >= '0' && *c <= '9') && !(*c >= 'A' && *c <= 'Z') && !(*c >= 'a' && *c <= 'z') &&
            !strchr(marks, *c))
            return false;
    return true;
}

int api_open(struct platform_api *self, const struct api_settings *settings,
             const struct channel_setup *setup, struct ethos_error *error)
{
    const char *own_root = setup->settings ? setup->settings->api_root : "";
    const char *token = setup->secrets[0];
    self->adapter.ops = settings->ops;
    self->host = setup->host;
    self->user_agent = settings->user_agent;
    TRY(endpoint_parse(*own_root ? own_root : settings->root, 443, NULL, &self->endpoint, error));
    if (asprintf(&self->root, "%s%s%s", self->endpoint.url,
                 settings->path_prefix ? settings->path_prefix : "",
                 settings->path_prefix ? token : "") < 0)
        self->root = NULL;
    if (settings->authorization_prefix &&
        asprintf(&self->authorization, "%s%s", settings->authorization_prefix, token) < 0)
        self->authorization = NULL;
    bool is_complete = self->root && (self->authorization || !settings->authorization_prefix);
    return is_complete ? ETHOS_OK : err_nomem(error);
}

static void free_secret(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

void api_close(struct platform_api *self)
{
    struct http_client *http = self->host->http;
    http->ops->cancel(http, self->call);
    for (size_t i = 0; i < API_MAX_SENDS; i++)
        http->ops->cancel(http, self->sends[i].exchange);
    free_secret(self->root);
    free_secret(self->authorization);
}

/* ---- calls ------------------------------------------------------------------------------------- */

int api_start(struct platform_api *self, const struct api_call *call, http_client_fn *each,
              void *arg, uint64_t *out_id)
{
    struct http_client *http = self->host->http;
    struct str url, body;
    str_init(&url, MAX_URL);
    str_init(&body, MAX_BODY);
    int code = str_printf(&url, "%s%s", self->root, call->path);
    if (code == ETHOS_OK && call->body)
        code = json_print(call->body, JSON_STYLE_LINE, &body);
    else if (code == ETHOS_OK && !call->method)
        code = ETHOS_NOMEM; // the body could not be made
    if (code == ETHOS_OK) {
        const struct http_client_request request = {
            .url = url.data,
            .method = call->method,
            .authorization = call->authorization ? call->authorization : self->authorization,
            .user_agent = self->user_agent,
            .body = str_view(&body),
            .timeout_ms = call->timeout_ms > 0 ? call->timeout_ms : API_CALL_MS,
            .is_loopback = self->endpoint.is_loopback,
            .fresh = call->fresh};
        code = http->ops->start(http, &request, each, arg, out_id, NULL);
    }
    explicit_bzero(url.data, url.size);
    str_release(&url);
    str_release(&body);
    json_decref(call->body);
    return code;
}

void api_ignore_answer(void *arg, const struct http_client_answer *answer)
{
    (void)arg, (void)answer;
}

int64_t api_backoff_ms(unsigned failures)
{
    uint32_t random = 0;
    int64_t most = (int64_t)API_BACKOFF_MIN_MS << (failures < 6 ? failures : 6);
    most = most > API_BACKOFF_MAX_MS ? API_BACKOFF_MAX_MS : most;
    os_random(&random, sizeof random);
    return random % (most + 1);
}

void api_retry_later(struct platform_api *self, int64_t least_ms)
{
    self->due_ms = self->now_ms + least_ms + api_backoff_ms(self->failures++);
}

void api_restart(struct platform_api *self)
{
    self->host->http->ops->cancel(self->host->http, self->call);
    self->call = 0;
    self->failures = 0;
    self->due_ms = self->now_ms;
}

/* ---- the host ---------------------------------------------------------------------------------- */

void api_set_state(struct platform_api *self, enum channel_state state, const char *why)
{
    self->host->state(self->host->arg, state, why);
}

void api_store_cursor(struct platform_api *self, const char *name, const char *value)
{
    const struct channel_batch batch = {NULL, 0, name, value};
    self->host->received(self->host->arg, &batch);
}

/* ---- sending ----------------------------------------------------------------------------------- */

void api_message_id(const struct channel_outgoing *outgoing, char out[API_MESSAGE_ID_SIZE])
{
    char text[CHANNEL_TURN_SIZE + 160], hash[HASH_HEX_SIZE];
    snprintf(text, sizeof text, "%.100s/%" PRId64 "/%d", outgoing->turn, outgoing->part,
             outgoing->preview);
    hash_hex(view_str(text), hash);
    snprintf(out, API_MESSAGE_ID_SIZE, "%.20s", hash);
}

static struct api_send *find_free_send(struct platform_api *self)
{
    for (size_t i = 0; i < API_MAX_SENDS; i++)
        if (self->sends[i].exchange == 0)
            return &self->sends[i];
    return NULL;
}

void api_start_send(struct platform_api *self, const struct api_call *call,
                    const struct channel_outgoing *outgoing, enum api_send_kind kind,
                    http_client_fn *each)
{
    struct api_send *send = find_free_send(self);
    if (send) {
        *send = (struct api_send){.api = self, .row = outgoing->row, .kind = kind};
        snprintf(send->chat, sizeof send->chat, "%s", outgoing->chat);
        api_message_id(outgoing, send->id);
        hash_hex(view_trim(outgoing->text), send->text_hash);
        struct api_call fresh = *call;
        fresh.fresh = true;
        if (api_start(self, &fresh, each, send, &send->exchange) == ETHOS_OK)
            return;
    } else {
        json_decref(call->body);
    }
    const struct channel_sent sent = {.result = kind == API_PROBE ? CHANNEL_LATER
                                                                  : CHANNEL_NOT_SENT,
                                      .wait_ms = API_BACKOFF_MIN_MS,
                                      .problem = "the request cannot be made"};
    self->host->sent(self->host->arg, outgoing->row, &sent);
}

void api_finish_send(struct api_send *send, const struct channel_sent *sent)
{
    const struct channel_host *host = send->api->host;
    send->exchange = 0;
    host->sent(host->arg, send->row, sent);
}
