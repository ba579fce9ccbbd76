/*
 * client.c: a model behind a server: one ask is a request, and further ones while that is of use.
 *
 * A request is repeated only while its answer has shown no text and begun no call. What failed attempts used
 * counts for the ask.
 */
#include "agent/models/reply.h"
#include "agent/models/server.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"

#define NUM_CTX 32768 /* tokens */

struct client {
    struct model model;
    struct server server;
    struct wire_settings wire_settings;
    struct model_prices prices;
    bool (*wait)(void *arg, int64_t ms, int abort_fd);
    void *wait_arg;
};

/* One ask. */
struct ask_state {
    struct client *client;
    const struct model_request *request;
    model_event_fn *each;
    void *arg;
    struct str body;
    struct reply reply; /* of the attempt */
    struct model_usage spent;
    unsigned attempts;
};

/* ---- events -------------------------------------------------------------------------------------- */

/* Usage becomes that of the whole ask, with its cost. */
static void forward_event(void *arg, const struct model_event *event)
{
    struct ask_state *ask = arg;
    struct model_event changed = *event;
    if (event->kind == MODEL_USAGE) {
        cost_set(&changed.usage, &ask->client->prices, ask->client->server.is_local);
        cost_add(&changed.usage, &ask->spent);
    }
    ask->each(ask->arg, &changed);
}

static void show_event(struct ask_state *ask, enum model_event_kind kind, struct ethos_view text)
{
    const struct model_event event = {.kind = kind, .text = text};
    ask->each(ask->arg, &event);
}

static void show_wait(struct ask_state *ask, const struct failure *failure, int64_t ms)
{
    char line[FAILURE_TEXT_SIZE + 64];
    snprintf(line, sizeof line, "%s; trying again in %lld s", failure->text,
             (long long)(ms + 999) / 1000);
    show_event(ask, MODEL_STATUS, view_str(line));
}

static void report_start(void *arg)
{
    show_event(arg, MODEL_START, view_str(NULL));
}

static bool feed_reply(void *arg, struct ethos_view bytes)
{
    struct ask_state *ask = arg;
    reply_feed(&ask->reply, bytes);
    return !ask->reply.has_failed;
}

static bool is_reply_over(const void *arg)
{
    const struct ask_state *ask = arg;
    return reply_is_over(&ask->reply);
}

/* ---- attempts ------------------------------------------------------------------------------------ */

static void begin_attempt(struct ask_state *ask)
{
    struct client *client = ask->client;
    str_clear(&ask->body);
    client->server.wire->write_request(&client->wire_settings, ask->request, &ask->body);
    client->wire_settings.request_bytes = ask->body.size;
    reply_init(&ask->reply, client->server.wire, &client->wire_settings, forward_event, ask);
    ask->attempts++;
}

static void send_request(struct ask_state *ask, struct transport_result *out)
{
    const struct transport_request request = {.path = ask->client->server.wire->path,
                                              .body = str_view(&ask->body),
                                              .abort_fd = ask->request->abort_fd,
                                              .start = report_start,
                                              .read = feed_reply,
                                              .is_over = is_reply_over,
                                              .arg = ask};
    struct failure_context context = reply_context(&ask->reply);
    if (str_code(&ask->body) == ETHOS_OK) {
        transport_send(ask->client->server.transport, &request, out);
        return;
    }
    *out = (struct transport_result){.has_failed = true};
    failure_set(&out->failure, &context,
                str_code(&ask->body) == ETHOS_LIMIT ? MODEL_OVERFLOW : MODEL_REQUEST, 0,
                view_str(str_code(&ask->body) == ETHOS_LIMIT ? "the request is too large"
                                                             : "out of memory"));
}

/* What the request is without the field that the server refused. False: it refused something else. */
static bool leave_out_field(struct ask_state *ask, const struct failure *failure)
{
    const struct wire *wire = ask->client->server.wire;
    struct wire_settings *settings = &ask->client->wire_settings;
    if (failure->http != 400 || failure->error != MODEL_REQUEST || !wire->refused_field)
        return false;
    unsigned field = wire->refused_field(settings, view_str(failure->text));
    if (field == 0 || (settings->left_out & field))
        return false;
    settings->left_out |= field;
    ask->attempts--;
    return true;
}

/* Waits, when the server or the failure asks for it. False: the ask ends with *failure. */
static bool wait_for_retry(struct ask_state *ask, struct failure *failure,
                           const struct transport_result *result)
{
    struct client *client = ask->client;
    struct failure_context context = reply_context(&ask->reply);
    unsigned char random = 0;
    if (ask->attempts >= RETRY_ATTEMPTS ||
        !retry_is_useful(failure, &result->headers, result->can_connect))
        return false;
    os_random(&random, 1);
    int64_t ms = retry_wait_ms(ask->attempts, failure, random);
    show_wait(ask, failure, ms);
    if (client->wait(client->wait_arg, ms, ask->request->abort_fd))
        return true;
    failure_set(failure, &context, MODEL_ABORTED, 0, view_str(NULL));
    return false;
}

/* After an attempt. True: another one follows. */
static bool prepare_retry(struct ask_state *ask, struct failure *failure,
                          const struct transport_result *result)
{
    struct reply *reply = &ask->reply;
    if (reply->has_shown || reply_is_whole(reply))
        return false;
    if (!leave_out_field(ask, failure) && !wait_for_retry(ask, failure, result))
        return false;
    if (reply->has_thought)
        show_event(ask, MODEL_RESTART, view_str(NULL));
    cost_set(&reply->usage, &ask->client->prices, ask->client->server.is_local);
    cost_add(&ask->spent, &reply->usage);
    return true;
}

/* Why the attempt failed, if it did: the answer's word comes before what became of the connection. */
static void find_failure(struct ask_state *ask, const struct transport_result *result,
                         struct failure *out)
{
    struct failure_context context = reply_context(&ask->reply);
    reply_end(&ask->reply, result->has_failed);
    if (ask->reply.has_failed)
        *out = ask->reply.failure;
    else if (result->has_failed)
        *out = result->failure;
    else
        failure_set(out, &context, MODEL_NETWORK, 0,
                    VIEW("it was closed before the answer was complete"));
}

static void client_ask(struct model *model, const struct model_request *request,
                       model_event_fn *each, void *arg)
{
    struct ask_state ask = {
        .client = (struct client *)model, .request = request, .each = each, .arg = arg};
    struct transport_result result;
    struct failure failure;
    str_init(&ask.body, WIRE_MAX_REQUEST);
    os_random(&ask.client->wire_settings.call_seed, sizeof ask.client->wire_settings.call_seed);
    for (;;) {
        begin_attempt(&ask);
        send_request(&ask, &result);
        find_failure(&ask, &result, &failure);
        if (!prepare_retry(&ask, &failure, &result))
            break;
        reply_release(&ask.reply);
    }
    reply_finish(&ask.reply, &failure);
    reply_release(&ask.reply);
    str_release(&ask.body);
}

/* ---- opening ------------------------------------------------------------------------------------- */

static bool wait_on_clock(void *arg, int64_t ms, int abort_fd)
{
    struct pollfd abort = {.fd = abort_fd, .events = POLLIN};
    int64_t end = os_monotonic_ms() + ms;
    (void)arg;
    while (abort.revents == 0 && (ms = end - os_monotonic_ms()) > 0)
        os_poll(&abort, abort_fd >= 0 ? 1 : 0, (int)(ms < INT_MAX ? ms : INT_MAX));
    return abort.revents == 0;
}

static void client_close(struct model *model)
{
    struct client *self = (struct client *)model;
    if (!self)
        return;
    server_close(&self->server);
    free(self);
}

static const struct model_ops client_ops = {client_ask, client_close};

int64_t model_window(const struct model_settings *settings, int64_t model)
{
    int64_t asked = settings->num_ctx > 0 ? settings->num_ctx : NUM_CTX;
    return model > 0 && model < asked ? model : asked;
}

static int init_client(struct client *self, const struct model_settings *settings,
                       struct ethos_error *error)
{
    const struct model_prices unknown = {COST_UNKNOWN, COST_UNKNOWN, COST_UNKNOWN, COST_UNKNOWN};
    const struct server *server = &self->server;
    int64_t window = model_window(settings, settings->window);
    self->wire_settings = (struct wire_settings){
        .provider = server->provider->name,
        .model = arena_str(&self->server.arena, settings->model),
        .host = server->endpoint.host,
        .key = server->key,
        .max_output = settings->max_output,
        .num_ctx = window,
        .is_openai = strcmp(server->endpoint.host, "api.openai.com:443") == 0};
    self->prices = settings->prices ? *settings->prices : unknown;
    self->wait = settings->wait ? settings->wait : wait_on_clock;
    self->wait_arg = settings->wait_arg;
    self->model = (struct model){.ops = &client_ops,
                                 .provider = server->provider->name,
                                 .name = self->wire_settings.model,
                                 .window = server->wire->sets_window ? window : settings->window,
                                 .local = server->is_local};
    return self->wire_settings.model ? ETHOS_OK : err_nomem(error);
}

int model_open(const struct model_settings *settings, struct model **out, struct ethos_error *error)
{
    struct client *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    int code = server_open(&self->server, settings, error);
    if (code == ETHOS_OK)
        code = init_client(self, settings, error);
    if (code != ETHOS_OK) {
        client_close(&self->model);
        return code;
    }
    *out = &self->model;
    return ETHOS_OK;
}
