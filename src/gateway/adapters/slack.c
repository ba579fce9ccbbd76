/*
 * slack.c: bots of Slack, by Socket Mode, by the Events API, or by both.
 *
 * auth.test, then apps.connections.open gives the address of a socket, once. Slack refreshes sockets every few hours:
 * the next one is opened and greeted before the old one is closed, so that nothing is missed between them. Every event
 * comes over one of the sockets and is acknowledged there, when it is recorded; one that is not comes again, three
 * times at most, so what was said while there was no socket is read from the history. The name of somebody new is
 * asked for before the message is recorded, but not for long.
 */
#include "gateway/adapters/slack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "gateway/adapters/platform_api.h"
#include "gateway/adapters/slack_message.h"
#include "gateway/adapters/webhook.h"

#define PLATFORM "slack"
#define API_ROOT "https://slack.com/api"
#define DOMAIN "slack.com"
#define EVENTS_PORT 3100
#define HELLO_MS 30000        /* from a connection to its greeting */
#define NAME_MS 1500          /* that a message waits for the name of who wrote it */
#define CROWD_MS 60000        /* after there were too many sockets */
#define MAX_PENDING 512       /* events that wait for a name; what comes then is not acknowledged */
#define MAX_NAMES 128         /* that are remembered */
#define MAX_MISSED 256        /* places that are read after a time without a socket */
#define MISSED_LIMIT 200      /* messages of each */
#define THREADS_MS 86400000LL /* threads that were spoken in since then are read, too */
#define MAX_ID 64
#define TOKEN_MAX 1024

enum slack_phase { PHASE_TEST, PHASE_OPEN, PHASE_RUN, PHASE_FATAL };
enum slack_secret { SECRET_BOT, SECRET_APP, SECRET_SIGNING, SECRETS };

/* An event that is not recorded yet. */
struct unacknowledged {
    struct unacknowledged *next;
    json_t *event;
    char team[MAX_ID];
    unsigned socket, request; /* where it is acknowledged; 0: nowhere */
    char envelope[128];
    int64_t deadline_ms; /* for the name; 0: it was not asked for */
};

struct slack_name {
    char user[SLACK_MAX_ID], name[CHANNEL_MAX_ID];
};

/* Where messages may have been missed: of a chat, or of a thread in it. */
struct missed_thread {
    char chat[SLACK_MAX_ID], thread[SLACK_MAX_ID], since[SLACK_MAX_ID];
};

struct slack {
    struct platform_api api;
    char *secrets[SECRETS]; /* SECRET_BOT is in api */
    struct slack_bot bot;
    struct websockets *websockets;
    struct webhook *webhook;
    enum slack_phase phase;
    unsigned current, next; /* sockets; 0: none */
    int64_t hello_ms;       /* until which the next one must have been greeted */
    bool greeted;           /* the current one */

    struct unacknowledged *first, **last;
    size_t pending_count;
    struct slack_name names[MAX_NAMES];
    size_t name_at;
    char asked[SLACK_MAX_ID]; /* user whose name is being asked for */
    uint64_t name_call;

    struct missed_thread missed[MAX_MISSED];
    size_t missed_count, missed_at;
    uint64_t missed_call;
    int64_t missed_ms;
};

/* ---- requests ---------------------------------------------------------------------------------- */

/* What an answer says. Release it. */
struct slack_reply {
    json_t *json;
    bool ok;
    const char *error; /* "": this is not an answer of Slack */
    int64_t wait_ms;   /* of a limit; 0: there is none */
};

static void read_slack_reply(const struct http_client_answer *answer, struct slack_reply *out)
{
    char number[24];
    struct ethos_view after = http_client_header(answer, "retry-after");
    *out = (struct slack_reply){.error = ""};
    if (answer->status == 429) {
        snprintf(number, sizeof number, "%.*s", (int)(after.size < 16 ? after.size : 16),
                 after.data ? after.data : "");
        int64_t seconds = strtoll(number, NULL, 10);
        out->wait_ms = 1000 * (seconds < 1 ? 1 : seconds > 86400 ? 86400 : seconds);
        out->error = "ratelimited";
    }
    if (answer->status == 0 ||
        json_parse_most(answer->body, HTTP_CLIENT_MAX_BODY, "answer", &out->json, NULL) != ETHOS_OK)
        return;
    out->ok = json_is_true(json_object_get(out->json, "ok"));
    const char *error = json_string_value(json_object_get(out->json, "error"));
    if (!out->ok && error && !*out->error)
        out->error = error;
    if (strcmp(out->error, "ratelimited") == 0 && out->wait_ms == 0)
        out->wait_ms = API_BACKOFF_MIN_MS;
}

static bool is_listed(const char *error, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(error, *list) == 0)
            return true;
    return false;
}

/* No other answer comes before there is another token, or another setting of the app. */
static bool is_fatal(const char *error)
{
    static const char *const errors[] = {"invalid_auth",
                                         "not_authed",
                                         "account_inactive",
                                         "token_revoked",
                                         "token_expired",
                                         "no_permission",
                                         "missing_scope",
                                         "not_allowed_token_type",
                                         "access_denied",
                                         "org_login_required",
                                         NULL};
    return is_listed(error, errors);
}

/* ---- waiting ----------------------------------------------------------------------------------- */

static void close_sockets(struct slack *self)
{
    if (self->current)
        self->websockets->ops->close(self->websockets, self->current, 1000);
    if (self->next)
        self->websockets->ops->close(self->websockets, self->next, 1000);
    self->current = self->next = 0;
    self->greeted = false;
}

static void stop_slack(struct slack *self, const char *why)
{
    self->phase = PHASE_FATAL;
    close_sockets(self);
    api_set_state(&self->api, CHANNEL_FATAL, why);
}

/* Whatever the call was for. */
static void handle_slack_failure(struct slack *self, enum slack_secret secret,
                                 const struct http_client_answer *answer,
                                 const struct slack_reply *reply)
{
    char why[256];
    const char *token = secret == SECRET_APP ? "SLACK_APP_TOKEN" : "SLACK_BOT_TOKEN";
    if (is_fatal(reply->error)) {
        snprintf(why, sizeof why,
                 "Slack does not accept %s (%.40s); put the right one into keys.yaml, "
                 "docs/channels.md says where it is",
                 token, reply->error);
        stop_slack(self, why);
        return;
    }
    snprintf(why, sizeof why, "Slack does not answer as it should%s%.80s",
             *reply->error     ? ": "
             : answer->problem ? ": "
                               : "",
             *reply->error     ? reply->error
             : answer->problem ? answer->problem
                               : "");
    if (!self->greeted)
        api_set_state(&self->api, CHANNEL_DOWN, why);
    api_retry_later(&self->api, reply->wait_ms);
}

/* ---- names ------------------------------------------------------------------------------------- */

static const char *find_user_name(const struct slack *self, const char *user)
{
    for (size_t i = 0; i < MAX_NAMES; i++)
        if (strcmp(self->names[i].user, user) == 0)
            return self->names[i].name;
    return NULL;
}

static void remember_user_name(struct slack *self, const char *user, struct ethos_view name)
{
    struct slack_name *row = &self->names[self->name_at++ % MAX_NAMES];
    snprintf(row->user, sizeof row->user, "%s", user);
    name.size = utf8_head(name, CHANNEL_MAX_ID / 4);
    snprintf(row->name, sizeof row->name, "%.*s", VIEW_ARG(name));
}

/* A name that cannot be had is the id. */
static void receive_name(void *arg, const struct http_client_answer *answer)
{
    struct slack *self = arg;
    struct slack_reply reply;
    self->name_call = 0;
    read_slack_reply(answer, &reply);
    const json_t *user = json_object_get(reply.json, "user");
    const json_t *profile = json_object_get(user, "profile");
    struct ethos_view name = json_view(profile, "display_name");
    if (name.size == 0)
        name = json_view(user, "real_name");
    if (name.size == 0)
        name = json_view(user, "name");
    remember_user_name(self, self->asked,
                       name.size > 0 && name.data ? name : view_str(self->asked));
    json_decref(reply.json);
}

static void request_user_name(struct slack *self, const char *user)
{
    snprintf(self->asked, sizeof self->asked, "%s", user);
    if (api_start(
            &self->api,
            &(struct api_call){.path = "/users.info", .body = json_pack("{s:s}", "user", user)},
            receive_name, self, &self->name_call) != ETHOS_OK)
        remember_user_name(self, user, view_str(user));
}

/* ---- events ------------------------------------------------------------------------------------ */

static void free_unacknowledged(struct unacknowledged *pending)
{
    json_decref(pending->event);
    free(pending);
}

static void acknowledge_envelope(struct slack *self, unsigned socket, const char *envelope)
{
    struct str text;
    str_init(&text, 1024);
    str_adds(&text, "{\"envelope_id\":");
    json_quote(view_str(envelope), &text);
    str_adds(&text, "}");
    if (str_code(&text) == ETHOS_OK)
        self->websockets->ops->send(self->websockets, socket, str_view(&text));
    str_release(&text);
}

static void acknowledge(struct slack *self, const struct unacknowledged *pending, bool recorded)
{
    if (pending->request)
        webhook_answer(self->webhook, pending->request, recorded ? 200 : 503, NULL);
    else if (pending->socket && recorded)
        acknowledge_envelope(self, pending->socket, pending->envelope);
}

/* Takes pending. */
static void queue_pending(struct slack *self, struct unacknowledged *pending)
{
    if (self->pending_count >= MAX_PENDING) {
        acknowledge(self, pending, false);
        free_unacknowledged(pending);
        return;
    }
    *self->last = pending;
    self->last = &pending->next;
    self->pending_count++;
}

static struct unacknowledged *make_pending(json_t *event, struct ethos_view team)
{
    struct unacknowledged *pending = calloc(1, sizeof *pending);
    if (!pending)
        return NULL;
    pending->event = json_incref(event);
    snprintf(pending->team, sizeof pending->team, "%.*s", (int)(team.size < MAX_ID ? team.size : 0),
             team.data ? team.data : "");
    return pending;
}

/* False: the name of the sender is still to come. */
static bool find_sender_name(struct slack *self, struct unacknowledged *pending,
                             struct slack_message *message)
{
    const char *name = find_user_name(self, message->user);
    if (name) {
        message->message.name = name;
        return true;
    }
    if (pending->deadline_ms == 0)
        pending->deadline_ms = self->api.now_ms + NAME_MS;
    if (self->api.now_ms >= pending->deadline_ms)
        return true;
    if (self->name_call == 0)
        request_user_name(self, message->user);
    return find_user_name(self, message->user) != NULL && find_sender_name(self, pending, message);
}

/* False: it waits. */
static bool record_pending(struct slack *self, struct unacknowledged *pending)
{
    struct slack_message message;
    if (!slack_message_read(pending->event, pending->team, &self->bot, &message)) {
        acknowledge(self, pending, true);
        return true;
    }
    bool ready = find_sender_name(self, pending, &message);
    if (ready) {
        const struct channel_batch batch = {&message.message, 1, NULL, NULL};
        acknowledge(self, pending,
                    self->api.host->received(self->api.host->arg, &batch) == ETHOS_OK);
    }
    str_release(&message.text);
    return ready;
}

/* In order: what follows waits with it. Returns when the first is due anyway. */
static int64_t record_all(struct slack *self)
{
    while (self->first) {
        struct unacknowledged *pending = self->first;
        if (!record_pending(self, pending))
            return pending->deadline_ms;
        self->first = pending->next;
        if (!self->first)
            self->last = &self->first;
        self->pending_count--;
        free_unacknowledged(pending);
    }
    return INT64_MAX;
}

/* ---- what was missed --------------------------------------------------------------------------- */

static struct missed_thread *find_missed(struct slack *self, const char *chat, const char *thread)
{
    for (size_t i = 0; i < self->missed_count; i++)
        if (strcmp(self->missed[i].chat, chat) == 0 && strcmp(self->missed[i].thread, thread) == 0)
            return &self->missed[i];
    if (self->missed_count == MAX_MISSED)
        return NULL;
    struct missed_thread *missed = &self->missed[self->missed_count++];
    *missed = (struct missed_thread){0};
    snprintf(missed->chat, sizeof missed->chat, "%s", chat);
    snprintf(missed->thread, sizeof missed->thread, "%s", thread);
    return missed;
}

/* The later of two ts, which have as many digits. */
static void move_since(struct missed_thread *missed, const char *msg)
{
    if (missed && strcmp(msg, missed->since) > 0)
        snprintf(missed->since, sizeof missed->since, "%.63s", msg);
}

static int add_missed_place(void *arg, const struct inbox_place *place)
{
    struct slack *self = arg;
    if (strlen(place->chat) >= SLACK_MAX_ID || strlen(place->thread) >= SLACK_MAX_ID)
        return ETHOS_OK;
    move_since(find_missed(self, place->chat, ""), place->msg);
    if (*place->thread && place->received_ms + THREADS_MS > os_now_ms())
        move_since(find_missed(self, place->chat, place->thread), place->msg);
    return ETHOS_OK;
}

/*
 * What was being read when the process died, or the socket, is read again from there: messages that came meanwhile say
 * nothing about those before them.
 */
static void start_reading_missed(struct slack *self)
{
    char since[CHANNEL_MAX_CURSOR] = "", latest[SLACK_MAX_ID] = "";
    self->api.host->http->ops->cancel(self->api.host->http, self->missed_call);
    self->missed_call = 0;
    self->missed_count = self->missed_at = 0;
    self->missed_ms = self->api.now_ms;
    self->api.host->places(self->api.host->arg, add_missed_place, self);
    self->api.host->cursor(self->api.host->arg, "missed", since);
    for (size_t i = 0; i < self->missed_count; i++) {
        struct missed_thread *missed = &self->missed[i];
        if (strcmp(missed->since, latest) > 0)
            memcpy(latest, missed->since, sizeof latest);
        if (*since && strcmp(since, missed->since) < 0)
            snprintf(missed->since, sizeof missed->since, "%.63s", since);
    }
    if (!*since && *latest)
        api_store_cursor(&self->api, "missed", latest);
}

/* When all is read, and recorded. */
static void finish_reading_missed(struct slack *self)
{
    if (self->missed_count == 0 || self->missed_at < self->missed_count || self->first)
        return;
    self->missed_count = self->missed_at = 0;
    api_store_cursor(&self->api, "missed", "");
}

static void add_missed(struct slack *self, const struct missed_thread *missed, json_t *message)
{
    const char *ts = json_string_value(json_object_get(message, "ts"));
    if (!ts || strcmp(ts, missed->since) <= 0 || json_object_get(message, "channel"))
        return;
    json_object_set_new(message, "channel", json_string(missed->chat));
    struct unacknowledged *pending = make_pending(message, view_str(self->bot.team));
    if (pending)
        queue_pending(self, pending);
}

/* History comes with the newest first, replies with the oldest. */
static void receive_missed(void *arg, const struct http_client_answer *answer)
{
    struct slack *self = arg;
    struct slack_reply reply;
    const struct missed_thread *missed = &self->missed[self->missed_at];
    self->missed_call = 0;
    read_slack_reply(answer, &reply);
    const json_t *messages = json_object_get(reply.json, "messages");
    size_t count = json_array_size(messages);
    for (size_t i = 0; reply.ok && i < count; i++)
        add_missed(self, missed, json_array_get(messages, *missed->thread ? i : count - 1 - i));
    bool again = reply.wait_ms > 0 || answer->status == 0 || answer->status >= 500;
    if (again)
        self->missed_ms = self->api.now_ms +
                          (reply.wait_ms > 0 ? reply.wait_ms : API_BACKOFF_MAX_MS / 4);
    else
        self->missed_at++; // also when it is refused: there is nothing to read
    json_decref(reply.json);
}

static int64_t read_missed(struct slack *self)
{
    if (self->missed_at >= self->missed_count || self->missed_call != 0)
        return INT64_MAX;
    if (self->api.now_ms < self->missed_ms)
        return self->missed_ms;
    const struct missed_thread *missed = &self->missed[self->missed_at];
    json_t *args = json_pack("{s:s, s:s, s:i}", "channel", missed->chat, "oldest", missed->since,
                             "limit", MISSED_LIMIT);
    if (*missed->thread && args)
        json_object_set_new(args, "ts", json_string(missed->thread));
    const struct api_call call = {.path = *missed->thread ? "/conversations.replies"
                                                          : "/conversations.history",
                                  .body = args};
    if (api_start(&self->api, &call, receive_missed, self, &self->missed_call) != ETHOS_OK)
        self->missed_at++;
    return INT64_MAX;
}

/* ---- sockets ----------------------------------------------------------------------------------- */

static void receive_hello(struct slack *self, unsigned socket, const json_t *json)
{
    char why[128] = "";
    int64_t connections = json_integer_value(json_object_get(json, "num_connections"));
    bool refreshes = self->greeted;
    if (socket != self->next)
        return;
    if (self->current)
        self->websockets->ops->close(self->websockets, self->current, 1000);
    self->current = socket;
    self->next = 0;
    self->greeted = true;
    self->api.failures = 0;
    if (connections > (refreshes ? 2 : 1)) // the old one is counted, too
        snprintf(why, sizeof why,
                 "another program is connected with this SLACK_APP_TOKEN and gets some of the "
                 "messages; end it");
    api_set_state(&self->api, CHANNEL_UP, why);
    if (!refreshes)
        start_reading_missed(self);
}

/* Another socket takes its place, while this one goes on. */
static void receive_disconnect(struct slack *self, unsigned socket, const json_t *json)
{
    struct ethos_view reason = json_view(json, "reason");
    if (view_eq_str(reason, "link_disabled")) {
        stop_slack(self, "Socket Mode is switched off for this app; switch it on in the app's "
                         "settings, then change keys.yaml");
    } else if (view_eq_str(reason, "too_many_websockets")) {
        self->api.due_ms = self->api.now_ms + CROWD_MS;
        api_set_state(&self->api, self->greeted ? CHANNEL_UP : CHANNEL_DOWN,
                      "too many programs are connected with this SLACK_APP_TOKEN; end them");
    } else if (socket == self->current && !self->next) {
        self->phase = PHASE_OPEN;
        self->api.due_ms = self->api.now_ms;
    }
}

static void receive_envelope(struct slack *self, unsigned socket, json_t *json)
{
    struct ethos_view envelope = json_view(json, "envelope_id"), type = json_view(json, "type");
    json_t *payload = json_object_get(json, "payload");
    json_t *event = json_object_get(payload, "event");
    if (envelope.size == 0 || envelope.size >= sizeof((struct unacknowledged *)0)->envelope)
        return;
    struct unacknowledged *pending = make_pending(event, json_view(payload, "team_id"));
    if (!pending)
        return;
    pending->socket = socket;
    snprintf(pending->envelope, sizeof pending->envelope, "%.*s", VIEW_ARG(envelope));
    if (view_eq_str(type, "events_api") && event) {
        queue_pending(self, pending);
    } else {
        acknowledge(self, pending, true); // whatever it is, it is nothing for us
        free_unacknowledged(pending);
    }
}

static void receive_frame(struct slack *self, unsigned socket, struct ethos_view text)
{
    json_t *json;
    if (json_parse_most(text, WEBSOCKET_MAX_MESSAGE, "frame", &json, NULL) != ETHOS_OK)
        return;
    struct ethos_view type = json_view(json, "type");
    if (view_eq_str(type, "hello"))
        receive_hello(self, socket, json);
    else if (view_eq_str(type, "disconnect"))
        receive_disconnect(self, socket, json);
    else
        receive_envelope(self, socket, json);
    json_decref(json);
}

static void handle_lost_socket(struct slack *self, const struct websocket_event *event)
{
    char why[200];
    if (event->id == self->next) {
        self->next = 0;
    } else if (event->id == self->current) {
        self->current = 0;
        self->greeted = false;
    } else {
        return; // one that we closed
    }
    if (self->phase == PHASE_FATAL || self->next)
        return;
    snprintf(why, sizeof why, "the connection to Slack is over%s%.120s", *event->why ? ": " : "",
             event->why);
    if (!self->greeted)
        api_set_state(&self->api, CHANNEL_DOWN, why);
    self->phase = PHASE_OPEN;
    if (self->api.due_ms <= self->api.now_ms)
        api_retry_later(&self->api, 0);
}

static void handle_sockets(struct slack *self)
{
    struct websocket_event event;
    while (self->websockets && self->websockets->ops->next(self->websockets, &event)) {
        if (event.kind == WEBSOCKET_MESSAGE)
            receive_frame(self, event.id, str_view(&event.text));
        else if (event.kind == WEBSOCKET_CLOSED)
            handle_lost_socket(self, &event);
        str_release(&event.text);
    }
    if (self->next && self->api.now_ms >= self->hello_ms) {
        self->websockets->ops->close(self->websockets, self->next, 1000);
        handle_lost_socket(self,
                           &(struct websocket_event){.id = self->next, .why = "it says nothing"});
    }
}

/* ---- the Events API ---------------------------------------------------------------------------- */

static void receive_signed(struct slack *self, unsigned request, struct ethos_view body)
{
    json_t *json;
    if (json_parse_most(body, WEBHOOK_MAX_BODY, "event", &json, NULL) != ETHOS_OK) {
        webhook_answer(self->webhook, request, 400, NULL);
        return;
    }
    struct ethos_view type = json_view(json, "type");
    json_t *event = json_object_get(json, "event");
    const char *challenge = json_string_value(json_object_get(json, "challenge"));
    struct unacknowledged *pending = NULL;
    if (view_eq_str(type, "url_verification") && challenge)
        webhook_answer(self->webhook, request, 200, challenge);
    else if (!view_eq_str(type, "event_callback") || !event)
        webhook_answer(self->webhook, request, 200, NULL);
    else if (!(pending = make_pending(event, json_view(json, "team_id"))))
        webhook_answer(self->webhook, request, 503, NULL);
    if (pending) {
        pending->request = request;
        queue_pending(self, pending);
    }
    json_decref(json);
}

/* Not before it is known who we are: then nothing of ours is taken for a message. */
static void handle_requests(struct slack *self)
{
    struct webhook_request request;
    while (self->webhook && *self->bot.user && webhook_next(self->webhook, &request))
        if (slack_is_signed(self->secrets[SECRET_SIGNING], request.headers[0], request.headers[1],
                            request.body, os_now_ms()))
            receive_signed(self, request.id, request.body);
        else
            webhook_answer(self->webhook, request.id, 401, NULL);
}

/* ---- phases ------------------------------------------------------------------------------------ */

static void receive_test(void *arg, const struct http_client_answer *answer)
{
    struct slack *self = arg;
    struct slack_reply reply;
    self->api.call = 0;
    read_slack_reply(answer, &reply);
    struct ethos_view user = json_view(reply.json, "user_id"), name = json_view(reply.json, "user"),
                      team = json_view(reply.json, "team_id");
    if (reply.ok && user.size > 0 && user.size < MAX_ID && team.size > 0 && team.size < MAX_ID) {
        snprintf(self->bot.user, sizeof self->bot.user, "%.*s", VIEW_ARG(user));
        snprintf(self->bot.team, sizeof self->bot.team, "%.*s", VIEW_ARG(team));
        name.size = utf8_head(name, SLACK_MAX_ID / 4);
        snprintf(self->bot.name, sizeof self->bot.name, "%.*s", VIEW_ARG(name));
        snprintf(self->api.adapter.name, sizeof self->api.adapter.name, "%s", self->bot.name);
        snprintf(self->api.adapter.bot, sizeof self->api.adapter.bot, "%s:%s", self->bot.team,
                 self->bot.user);
        self->api.failures = 0;
        self->phase = *self->secrets[SECRET_APP] ? PHASE_OPEN : PHASE_RUN;
        self->api.due_ms = self->api.now_ms;
        if (self->phase == PHASE_RUN) {
            api_set_state(&self->api, CHANNEL_UP, NULL);
            start_reading_missed(self);
        }
    } else {
        handle_slack_failure(self, SECRET_BOT, answer, &reply);
    }
    json_decref(reply.json);
}

static void receive_address(void *arg, const struct http_client_answer *answer)
{
    struct slack *self = arg;
    struct slack_reply reply;
    self->api.call = 0;
    read_slack_reply(answer, &reply);
    const char *url = json_string_value(json_object_get(reply.json, "url"));
    if (!reply.ok || !url) {
        handle_slack_failure(self, SECRET_APP, answer, &reply);
    } else if (!websocket_url_is_trusted(url, DOMAIN, self->api.endpoint.is_loopback)) {
        if (!self->greeted)
            api_set_state(&self->api, CHANNEL_DOWN, "Slack names an address that is not its own");
        api_retry_later(&self->api, API_BACKOFF_MAX_MS);
    } else {
        self->next = self->websockets->ops->connect(self->websockets, url);
        self->hello_ms = self->api.now_ms + HELLO_MS;
        self->phase = PHASE_RUN;
    }
    json_decref(reply.json);
}

/* The only call with the token of the app. */
static int call_open(struct slack *self)
{
    char authorization[TOKEN_MAX + 16];
    snprintf(authorization, sizeof authorization, "Bearer %s", self->secrets[SECRET_APP]);
    const struct api_call call = {.path = "/apps.connections.open",
                                  .body = json_object(),
                                  .authorization = authorization,
                                  .fresh = true};
    int code = api_start(&self->api, &call, receive_address, self, &self->api.call);
    explicit_bzero(authorization, sizeof authorization);
    return code;
}

static void start_phase(struct slack *self)
{
    int code = self->phase == PHASE_TEST
                   ? api_start(&self->api,
                               &(struct api_call){.path = "/auth.test", .body = json_object()},
                               receive_test, self, &self->api.call)
                   : call_open(self);
    if (code != ETHOS_OK)
        api_retry_later(&self->api, API_BACKOFF_MIN_MS);
}

static int64_t step_slack(struct channel_adapter *adapter, int64_t now_ms)
{
    struct slack *self = (struct slack *)adapter;
    int64_t next = INT64_MAX;
    self->api.now_ms = now_ms;
    handle_sockets(self);
    handle_requests(self);
    if (self->phase == PHASE_FATAL)
        return next;
    next = record_all(self);
    finish_reading_missed(self);
    bool calls = self->phase == PHASE_TEST || self->phase == PHASE_OPEN;
    if (calls && self->api.call == 0 && now_ms >= self->api.due_ms)
        start_phase(self);
    if (calls && self->api.call == 0)
        next = clock_earlier(next, self->api.due_ms);
    if (self->next)
        next = clock_earlier(next, self->hello_ms);
    return clock_earlier(next, read_missed(self));
}

static void wake_slack(struct channel_adapter *adapter)
{
    struct slack *self = (struct slack *)adapter;
    if (self->phase == PHASE_FATAL)
        return;
    api_restart(&self->api);
    close_sockets(self);
    if (self->phase == PHASE_RUN && *self->secrets[SECRET_APP])
        self->phase = PHASE_OPEN;
}

/* ---- sending ----------------------------------------------------------------------------------- */

/* Slack said no, and it will say so again; what it says is no doubt. */
static enum channel_result result_of_error(const struct api_send *send, const char *error)
{
    static const char *const gone[] = {"message_not_found", NULL};
    static const char *const doubtful[] = {"internal_error",    "fatal_error",
                                           "request_timeout",   "service_unavailable",
                                           "team_added_to_org", NULL};
    if (send->kind == API_EDIT && is_listed(error, gone))
        return CHANNEL_GONE;
    return is_listed(error, doubtful) ? CHANNEL_UNKNOWN : CHANNEL_REFUSED;
}

static void receive_slack_sent(void *arg, const struct http_client_answer *answer)
{
    struct api_send *send = arg;
    struct slack *self = (struct slack *)send->api;
    struct channel_sent sent = {.result = CHANNEL_UNKNOWN};
    struct slack_reply reply;
    read_slack_reply(answer, &reply);
    const char *ts = json_string_value(json_object_get(reply.json, "ts"));
    sent.problem = *reply.error ? reply.error : answer->problem;
    if (reply.ok && ts && strlen(ts) < SLACK_MAX_ID) {
        sent.result = CHANNEL_SENT;
        sent.remote = ts;
    } else if (!answer->has_left) {
        sent.result = CHANNEL_NOT_SENT;
    } else if (reply.wait_ms > 0) {
        sent.result = CHANNEL_LATER;
        sent.wait_ms = reply.wait_ms;
    } else if (is_fatal(reply.error)) {
        sent.result = CHANNEL_NOT_SENT;
        handle_slack_failure(self, SECRET_BOT, answer, &reply);
    } else if (*reply.error) {
        sent.result = result_of_error(send, reply.error);
    }
    api_finish_send(send, &sent);
    json_decref(reply.json);
}

/* Whether it is among the last messages; whoever wrote it, its metadata is ours alone. */
static const char *find_message_by_id(const json_t *messages, const char *id)
{
    size_t index;
    json_t *message;
    json_array_foreach ((json_t *)messages, index, message) {
        const json_t *metadata = json_object_get(message, "metadata");
        const json_t *payload = json_object_get(metadata, "event_payload");
        if (view_eq_str(json_view(payload, "id"), id))
            return json_string_value(json_object_get(message, "ts"));
    }
    return NULL;
}

static void receive_slack_probed(void *arg, const struct http_client_answer *answer)
{
    struct api_send *send = arg;
    struct channel_sent sent = {.result = CHANNEL_UNKNOWN};
    struct slack_reply reply;
    read_slack_reply(answer, &reply);
    const json_t *messages = json_object_get(reply.json, "messages");
    const char *ts = find_message_by_id(messages, send->id);
    bool whole = !json_is_true(json_object_get(reply.json, "has_more"));
    sent.problem = *reply.error ? reply.error : answer->problem;
    if (ts && strlen(ts) < SLACK_MAX_ID) {
        sent.result = CHANNEL_SENT;
        sent.remote = ts;
    } else if (reply.ok && whole) {
        sent.result = CHANNEL_NOT_SENT;
    } else if (reply.wait_ms > 0 || answer->status == 0 || answer->status >= 500) {
        sent.result = CHANNEL_LATER;
        sent.wait_ms = reply.wait_ms > 0 ? reply.wait_ms : API_BACKOFF_MAX_MS / 4;
    }
    api_finish_send(send, &sent);
    json_decref(reply.json);
}

static json_t *message_args(const struct channel_outgoing *outgoing)
{
    struct str text;
    str_init(&text, 8 * (size_t)CHANNEL_MAX_TEXT);
    json_t *args = slack_text_write(outgoing->text, &text) == ETHOS_OK
                       ? json_pack("{s:s, s:o}", "channel", outgoing->chat, "text",
                                   json_text(str_view(&text)))
                       : NULL;
    str_release(&text);
    return args;
}

static void send_to_slack(struct channel_adapter *adapter, const struct channel_outgoing *outgoing)
{
    char id[API_MESSAGE_ID_SIZE];
    json_t *args = message_args(outgoing);
    api_message_id(outgoing, id);
    json_t *metadata = json_pack("{s:s, s:{s:s}}", "event_type", "ethos_reply", "event_payload",
                                 "id", id);
    if (args && metadata) {
        json_object_set_new(args, "mrkdwn", json_false());
        json_object_set_new(args, "unfurl_links", json_false());
        json_object_set_new(args, "unfurl_media", json_false());
        json_object_set(args, "metadata", metadata);
        if (outgoing->thread && *outgoing->thread)
            json_object_set_new(args, "thread_ts", json_string(outgoing->thread));
    }
    json_decref(metadata);
    api_start_send((struct platform_api *)adapter,
                   &(struct api_call){.path = "/chat.postMessage", .body = args}, outgoing,
                   API_SEND, receive_slack_sent);
}

static void edit_in_slack(struct channel_adapter *adapter, const struct channel_outgoing *outgoing)
{
    json_t *args = message_args(outgoing);
    if (args)
        json_object_set_new(args, "ts", json_string(outgoing->remote));
    api_start_send((struct platform_api *)adapter,
                   &(struct api_call){.path = "/chat.update", .body = args}, outgoing, API_EDIT,
                   receive_slack_sent);
}

static void probe_slack(struct channel_adapter *adapter, const struct channel_outgoing *outgoing)
{
    char oldest[32];
    bool threaded = outgoing->thread && *outgoing->thread;
    snprintf(oldest, sizeof oldest, "%" PRId64 ".000000", outgoing->sent_ms / 1000 - 60);
    json_t *args = json_pack("{s:s, s:s, s:i, s:b}", "channel", outgoing->chat, "oldest", oldest,
                             "limit", MISSED_LIMIT, "include_all_metadata", 1);
    if (threaded && args)
        json_object_set_new(args, "ts", json_string(outgoing->thread));
    const struct api_call call = {
        .path = threaded ? "/conversations.replies" : "/conversations.history", .body = args};
    api_start_send((struct platform_api *)adapter, &call, outgoing, API_PROBE,
                   receive_slack_probed);
}

/* ---- the adapter ------------------------------------------------------------------------------- */

static void close_slack(struct channel_adapter *adapter)
{
    struct slack *self = (struct slack *)adapter;
    struct http_client *http = self->api.host->http;
    http->ops->cancel(http, self->name_call);
    http->ops->cancel(http, self->missed_call);
    api_close(&self->api);
    if (self->websockets) {
        close_sockets(self);
        self->websockets->ops->free(self->websockets);
    }
    webhook_close(self->webhook);
    while (self->first) {
        struct unacknowledged *pending = self->first;
        self->first = pending->next;
        free_unacknowledged(pending);
    }
    for (size_t i = 0; i < SECRETS; i++) {
        if (self->secrets[i])
            explicit_bzero(self->secrets[i], strlen(self->secrets[i]));
        free(self->secrets[i]);
    }
    free(self);
}

static int check_secrets(const struct channel_setup *setup, struct ethos_error *error)
{
    int code = ETHOS_OK;
    const char *app = setup->secrets[SECRET_APP];
    bool events = setup->settings && setup->settings->events;
    if (!api_is_token(setup->secrets[SECRET_BOT], "xoxb-", "-_.")) {
        code = err_set(error, ETHOS_DENIED, "SLACK_BOT_TOKEN is not the token of a bot");
        err_hint(error, code, "it begins with xoxb-: OAuth & Permissions of the app shows it");
    } else if (*app && !api_is_token(app, "xapp-", "-_.")) {
        code = err_set(error, ETHOS_DENIED, "SLACK_APP_TOKEN is not the token of an app");
        err_hint(error, code, "it begins with xapp-: Basic Information of the app makes one");
    } else if (!*app && !events) {
        code = err_set(error, ETHOS_NOTFOUND, "no token; put SLACK_APP_TOKEN into keys.yaml");
        err_hint(error, code, "or set channels.slack.events on");
    } else if (events && !*setup->secrets[SECRET_SIGNING]) {
        code = err_set(error, ETHOS_NOTFOUND, "no secret; put SLACK_SIGNING_SECRET into keys.yaml");
        err_hint(error, code, "or set channels.slack.events off");
    }
    return code;
}

static int listen_for_events(struct slack *self, const struct channel_settings *settings,
                             struct ethos_error *error)
{
    static const char *const names[WEBHOOK_HEADERS] = {"X-Slack-Request-Timestamp",
                                                       "X-Slack-Signature"};
    long port = settings && *settings->events_port ? strtol(settings->events_port, NULL, 10)
                                                   : EVENTS_PORT;
    if (!settings || !settings->events)
        return ETHOS_OK;
    return webhook_open((unsigned)port, names, self->api.host->wake, self->api.host->arg,
                        &self->webhook, error);
}

static const struct api_settings api_settings = {
    .ops = &slack_ops, .root = API_ROOT, .authorization_prefix = "Bearer "};

static int open_slack(const struct channel_setup *setup, struct channel_adapter **out,
                      struct ethos_error *error)
{
    int code = check_secrets(setup, error);
    struct slack *self = code == ETHOS_OK ? calloc(1, sizeof *self) : NULL;
    if (!self)
        return code == ETHOS_OK ? err_nomem(error) : code;
    self->last = &self->first;
    code = api_open(&self->api, &api_settings, setup, error);
    for (size_t i = SECRET_APP; code == ETHOS_OK && i < SECRETS; i++)
        if (!(self->secrets[i] = strdup(setup->secrets[i])))
            code = err_nomem(error);
    if (code == ETHOS_OK && *self->secrets[SECRET_APP])
        code = self->api.host->open_websockets(self->api.host->wake, self->api.host->arg,
                                               self->api.endpoint.is_loopback, &self->websockets,
                                               error);
    if (code == ETHOS_OK)
        code = listen_for_events(self, setup->settings, error);
    if (code == ETHOS_OK)
        *out = &self->api.adapter;
    else
        close_slack(&self->api.adapter);
    return code;
}

static const struct channel_limits limits = {.text = 4000,
                                             .chat_ms = 1000,
                                             .group_ms = 1000,
                                             .all_ms = 50,
                                             .edit_ms = 1500,
                                             .group_edit_ms = 3000,
                                             .bang = true};

const struct channel_adapter_ops slack_ops = {.platform = PLATFORM,
                                              .limits = &limits,
                                              .open = open_slack,
                                              .close = close_slack,
                                              .step = step_slack,
                                              .send = send_to_slack,
                                              .edit = edit_in_slack,
                                              .probe = probe_slack,
                                              .woken = wake_slack};
