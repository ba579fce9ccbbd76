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

#include "agent/models/endpoint.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "gateway/adapters/slack_message.h"
#include "gateway/adapters/webhook.h"

#define PLATFORM "slack"
#define API_ROOT "https://slack.com/api"
#define DOMAIN "slack.com"
#define EVENTS_PORT 3100
#define CALL_MS 30000
#define HELLO_MS 30000 /* from a connection to its greeting */
#define NAME_MS 1500   /* that a message waits for the name of who wrote it */
#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 60000
#define CROWD_MS 60000 /* after there were too many sockets */
#define MAX_SENDING 64
#define MAX_PENDING 512       /* events that wait for a name; what comes then is not acknowledged */
#define MAX_NAMES 128         /* that are remembered */
#define MAX_MISSED 256        /* places that are read after a time without a socket */
#define MISSED_LIMIT 200      /* messages of each */
#define THREADS_MS 86400000LL /* threads that were spoken in since then are read, too */
#define MAX_BODY 1048576
#define MAX_ID 64
#define TOKEN_MAX 1024

enum phase { PHASE_TEST, PHASE_OPEN, PHASE_RUN, PHASE_FATAL };
enum secret { SECRET_BOT, SECRET_APP, SECRET_SIGNING, SECRETS };

struct slack;

struct sending {
    struct slack *slack;
    int64_t row;
    uint64_t exchange; /* 0: free */
    enum { SENDS, EDITS, PROBES } kind;
    char id[24]; /* of the metadata */
};

/* An event that is not recorded yet. */
struct unacknowledged {
    struct unacknowledged *next;
    json_t *event;
    char team[MAX_ID];
    unsigned socket, request; /* where it is acknowledged; 0: nowhere */
    char envelope[128];
    int64_t deadline_ms; /* for the name; 0: it was not asked for */
};

struct name {
    char user[SLACK_MAX_ID], name[CHANNEL_MAX_ID];
};

/* Where messages may have been missed: of a chat, or of a thread in it. */
struct missed {
    char chat[SLACK_MAX_ID], thread[SLACK_MAX_ID], since[SLACK_MAX_ID];
};

struct slack {
    struct channel_adapter adapter;
    const struct channel_host *host;
    struct endpoint endpoint;
    char *secrets[SECRETS];
    struct slack_bot bot;
    struct websockets *websockets;
    struct webhook *webhook;
    enum phase phase;
    uint64_t call; /* of the phase */
    int64_t due_ms, now_ms;
    unsigned failures;
    unsigned current, next; /* sockets; 0: none */
    int64_t hello_ms;       /* until which the next one must have been greeted */
    bool greeted;           /* the current one */

    struct unacknowledged *first, **last;
    size_t pending_count;
    struct name names[MAX_NAMES];
    size_t name_at;
    char asked[SLACK_MAX_ID]; /* user whose name is being asked for */
    uint64_t name_call;

    struct missed missed[MAX_MISSED];
    size_t missed_count, missed_at;
    uint64_t missed_call;
    int64_t missed_ms;
    struct sending sendings[MAX_SENDING];
};

/* ---- requests ---------------------------------------------------------------------------------- */

/* Takes args. */
static int call_method(struct slack *self, enum secret secret, const char *method, json_t *args,
                       bool fresh, http_client_fn *each, void *arg, uint64_t *out_id)
{
    char url[ENDPOINT_MAX_URL + 64], authorization[TOKEN_MAX + 16];
    struct str body;
    str_init(&body, MAX_BODY);
    snprintf(url, sizeof url, "%s/%s", self->endpoint.url, method);
    snprintf(authorization, sizeof authorization, "Bearer %s", self->secrets[secret]);
    const struct http_client *http = self->host->http;
    int code = args ? json_print(args, JSON_STYLE_LINE, &body) : ETHOS_NOMEM;
    const struct http_client_request request = {.url = url,
                                                .authorization = authorization,
                                                .body = str_view(&body),
                                                .timeout_ms = CALL_MS,
                                                .is_loopback = self->endpoint.is_loopback,
                                                .fresh = fresh};
    if (code == ETHOS_OK)
        code = http->ops->start(self->host->http, &request, each, arg, out_id, NULL);
    explicit_bzero(authorization, sizeof authorization);
    str_release(&body);
    json_decref(args);
    return code;
}

/* What an answer says. Release it. */
struct reply {
    json_t *json;
    bool ok;
    const char *error; /* "": this is not an answer of Slack */
    int64_t wait_ms;   /* of a limit; 0: there is none */
};

static void read_reply(const struct http_client_answer *answer, struct reply *out)
{
    char number[24];
    struct ethos_view after = http_client_header(answer, "retry-after");
    *out = (struct reply){.error = ""};
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
        out->wait_ms = BACKOFF_MIN_MS;
}

static bool is_one_of(const char *error, const char *const *list)
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
    return is_one_of(error, errors);
}

/* ---- waiting ----------------------------------------------------------------------------------- */

static void wait_and_retry(struct slack *self, int64_t least_ms)
{
    uint32_t random = 0;
    unsigned power = self->failures < 6 ? self->failures : 6;
    int64_t most = (int64_t)BACKOFF_MIN_MS << power;
    most = most > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : most;
    os_random(&random, sizeof random);
    self->failures++;
    self->due_ms = self->now_ms + least_ms + random % (most + 1);
}

static void close_sockets(struct slack *self)
{
    if (self->current)
        self->websockets->ops->close(self->websockets, self->current, 1000);
    if (self->next)
        self->websockets->ops->close(self->websockets, self->next, 1000);
    self->current = self->next = 0;
    self->greeted = false;
}

static void end_for_good(struct slack *self, const char *why)
{
    self->phase = PHASE_FATAL;
    close_sockets(self);
    self->host->state(self->host->arg, CHANNEL_FATAL, why);
}

/* Whatever the call was for. */
static void handle_failure(struct slack *self, enum secret secret,
                           const struct http_client_answer *answer, const struct reply *reply)
{
    char why[256];
    const char *token = secret == SECRET_APP ? "SLACK_APP_TOKEN" : "SLACK_BOT_TOKEN";
    if (is_fatal(reply->error)) {
        snprintf(why, sizeof why,
                 "Slack does not accept %s (%.40s); put the right one into keys.yaml, "
                 "docs/channels.md says where it is",
                 token, reply->error);
        end_for_good(self, why);
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
        self->host->state(self->host->arg, CHANNEL_DOWN, why);
    wait_and_retry(self, reply->wait_ms);
}

/* ---- names ------------------------------------------------------------------------------------- */

static const char *find_name(const struct slack *self, const char *user)
{
    for (size_t i = 0; i < MAX_NAMES; i++)
        if (strcmp(self->names[i].user, user) == 0)
            return self->names[i].name;
    return NULL;
}

static void add_name(struct slack *self, const char *user, struct ethos_view name)
{
    struct name *row = &self->names[self->name_at++ % MAX_NAMES];
    snprintf(row->user, sizeof row->user, "%s", user);
    name.size = utf8_head(name, CHANNEL_MAX_ID / 4);
    snprintf(row->name, sizeof row->name, "%.*s", VIEW_ARG(name));
}

/* A name that cannot be had is the id. */
static void receive_name(void *arg, const struct http_client_answer *answer)
{
    struct slack *self = arg;
    struct reply reply;
    self->name_call = 0;
    read_reply(answer, &reply);
    const json_t *user = json_object_get(reply.json, "user");
    const json_t *profile = json_object_get(user, "profile");
    struct ethos_view name = json_view(profile, "display_name");
    if (name.size == 0)
        name = json_view(user, "real_name");
    if (name.size == 0)
        name = json_view(user, "name");
    add_name(self, self->asked, name.size > 0 && name.data ? name : view_str(self->asked));
    json_decref(reply.json);
}

static void ask_name(struct slack *self, const char *user)
{
    snprintf(self->asked, sizeof self->asked, "%s", user);
    if (call_method(self, SECRET_BOT, "users.info", json_pack("{s:s}", "user", user), false,
                    receive_name, self, &self->name_call) != ETHOS_OK)
        add_name(self, user, view_str(user));
}

/* ---- events ------------------------------------------------------------------------------------ */

static void free_pending(struct unacknowledged *pending)
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
        free_pending(pending);
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
static bool has_name(struct slack *self, struct unacknowledged *pending,
                     struct slack_message *message)
{
    const char *name = find_name(self, message->user);
    if (name) {
        message->message.name = name;
        return true;
    }
    if (pending->deadline_ms == 0)
        pending->deadline_ms = self->now_ms + NAME_MS;
    if (self->now_ms >= pending->deadline_ms)
        return true;
    if (self->name_call == 0)
        ask_name(self, message->user);
    return find_name(self, message->user) != NULL && has_name(self, pending, message);
}

/* False: it waits. */
static bool record_pending(struct slack *self, struct unacknowledged *pending)
{
    struct slack_message message;
    if (!slack_message_read(pending->event, pending->team, &self->bot, &message)) {
        acknowledge(self, pending, true);
        return true;
    }
    bool ready = has_name(self, pending, &message);
    if (ready) {
        const struct channel_batch batch = {&message.message, 1, NULL, NULL};
        acknowledge(self, pending, self->host->received(self->host->arg, &batch) == ETHOS_OK);
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
        free_pending(pending);
    }
    return INT64_MAX;
}

/* ---- what was missed --------------------------------------------------------------------------- */

static struct missed *find_missed(struct slack *self, const char *chat, const char *thread)
{
    for (size_t i = 0; i < self->missed_count; i++)
        if (strcmp(self->missed[i].chat, chat) == 0 && strcmp(self->missed[i].thread, thread) == 0)
            return &self->missed[i];
    if (self->missed_count == MAX_MISSED)
        return NULL;
    struct missed *missed = &self->missed[self->missed_count++];
    *missed = (struct missed){0};
    snprintf(missed->chat, sizeof missed->chat, "%s", chat);
    snprintf(missed->thread, sizeof missed->thread, "%s", thread);
    return missed;
}

/* The later of two ts, which have as many digits. */
static void note_since(struct missed *missed, const char *msg)
{
    if (missed && strcmp(msg, missed->since) > 0)
        snprintf(missed->since, sizeof missed->since, "%.63s", msg);
}

static int add_place(void *arg, const struct inbox_place *place)
{
    struct slack *self = arg;
    if (strlen(place->chat) >= SLACK_MAX_ID || strlen(place->thread) >= SLACK_MAX_ID)
        return ETHOS_OK;
    note_since(find_missed(self, place->chat, ""), place->msg);
    if (*place->thread && place->received_ms + THREADS_MS > os_now_ms())
        note_since(find_missed(self, place->chat, place->thread), place->msg);
    return ETHOS_OK;
}

static void store_missed(struct slack *self, const char *since)
{
    const struct channel_batch batch = {NULL, 0, "missed", since};
    self->host->received(self->host->arg, &batch);
}

/*
 * What was being read when the process died, or the socket, is read again from there: messages that came meanwhile say
 * nothing about those before them.
 */
static void begin_missed(struct slack *self)
{
    char since[CHANNEL_MAX_CURSOR] = "", latest[SLACK_MAX_ID] = "";
    self->host->http->ops->cancel(self->host->http, self->missed_call);
    self->missed_call = 0;
    self->missed_count = self->missed_at = 0;
    self->missed_ms = self->now_ms;
    self->host->places(self->host->arg, add_place, self);
    self->host->cursor(self->host->arg, "missed", since);
    for (size_t i = 0; i < self->missed_count; i++) {
        struct missed *missed = &self->missed[i];
        if (strcmp(missed->since, latest) > 0)
            memcpy(latest, missed->since, sizeof latest);
        if (*since && strcmp(since, missed->since) < 0)
            snprintf(missed->since, sizeof missed->since, "%.63s", since);
    }
    if (!*since && *latest)
        store_missed(self, latest);
}

/* When all is read, and recorded. */
static void end_missed(struct slack *self)
{
    if (self->missed_count == 0 || self->missed_at < self->missed_count || self->first)
        return;
    self->missed_count = self->missed_at = 0;
    store_missed(self, "");
}

static void add_missed(struct slack *self, const struct missed *missed, json_t *message)
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
    struct reply reply;
    const struct missed *missed = &self->missed[self->missed_at];
    self->missed_call = 0;
    read_reply(answer, &reply);
    const json_t *messages = json_object_get(reply.json, "messages");
    size_t count = json_array_size(messages);
    for (size_t i = 0; reply.ok && i < count; i++)
        add_missed(self, missed, json_array_get(messages, *missed->thread ? i : count - 1 - i));
    bool again = reply.wait_ms > 0 || answer->status == 0 || answer->status >= 500;
    if (again)
        self->missed_ms = self->now_ms + (reply.wait_ms > 0 ? reply.wait_ms : BACKOFF_MAX_MS / 4);
    else
        self->missed_at++; // also when it is refused: there is nothing to read
    json_decref(reply.json);
}

static int64_t read_missed(struct slack *self)
{
    if (self->missed_at >= self->missed_count || self->missed_call != 0)
        return INT64_MAX;
    if (self->now_ms < self->missed_ms)
        return self->missed_ms;
    const struct missed *missed = &self->missed[self->missed_at];
    json_t *args = json_pack("{s:s, s:s, s:i}", "channel", missed->chat, "oldest", missed->since,
                             "limit", MISSED_LIMIT);
    if (*missed->thread && args)
        json_object_set_new(args, "ts", json_string(missed->thread));
    if (call_method(self, SECRET_BOT,
                    *missed->thread ? "conversations.replies" : "conversations.history", args,
                    false, receive_missed, self, &self->missed_call) != ETHOS_OK)
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
    self->failures = 0;
    if (connections > (refreshes ? 2 : 1)) // the old one is counted, too
        snprintf(why, sizeof why,
                 "another program is connected with this SLACK_APP_TOKEN and gets some of the "
                 "messages; end it");
    self->host->state(self->host->arg, CHANNEL_UP, why);
    if (!refreshes)
        begin_missed(self);
}

/* Another socket takes its place, while this one goes on. */
static void receive_disconnect(struct slack *self, unsigned socket, const json_t *json)
{
    struct ethos_view reason = json_view(json, "reason");
    if (view_eq_str(reason, "link_disabled")) {
        end_for_good(self, "Socket Mode is switched off for this app; switch it on in the app's "
                           "settings, then change keys.yaml");
    } else if (view_eq_str(reason, "too_many_websockets")) {
        self->due_ms = self->now_ms + CROWD_MS;
        self->host->state(self->host->arg, self->greeted ? CHANNEL_UP : CHANNEL_DOWN,
                          "too many programs are connected with this SLACK_APP_TOKEN; end them");
    } else if (socket == self->current && !self->next) {
        self->phase = PHASE_OPEN;
        self->due_ms = self->now_ms;
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
        free_pending(pending);
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

static void lose_socket(struct slack *self, const struct websocket_event *event)
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
        self->host->state(self->host->arg, CHANNEL_DOWN, why);
    self->phase = PHASE_OPEN;
    if (self->due_ms <= self->now_ms)
        wait_and_retry(self, 0);
}

static void handle_sockets(struct slack *self)
{
    struct websocket_event event;
    while (self->websockets && self->websockets->ops->next(self->websockets, &event)) {
        if (event.kind == WEBSOCKET_MESSAGE)
            receive_frame(self, event.id, str_view(&event.text));
        else if (event.kind == WEBSOCKET_CLOSED)
            lose_socket(self, &event);
        str_release(&event.text);
    }
    if (self->next && self->now_ms >= self->hello_ms) {
        self->websockets->ops->close(self->websockets, self->next, 1000);
        lose_socket(self, &(struct websocket_event){.id = self->next, .why = "it says nothing"});
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
    struct reply reply;
    self->call = 0;
    read_reply(answer, &reply);
    struct ethos_view user = json_view(reply.json, "user_id"), name = json_view(reply.json, "user"),
                      team = json_view(reply.json, "team_id");
    if (reply.ok && user.size > 0 && user.size < MAX_ID && team.size > 0 && team.size < MAX_ID) {
        snprintf(self->bot.user, sizeof self->bot.user, "%.*s", VIEW_ARG(user));
        snprintf(self->bot.team, sizeof self->bot.team, "%.*s", VIEW_ARG(team));
        name.size = utf8_head(name, SLACK_MAX_ID / 4);
        snprintf(self->bot.name, sizeof self->bot.name, "%.*s", VIEW_ARG(name));
        snprintf(self->adapter.name, sizeof self->adapter.name, "%s", self->bot.name);
        snprintf(self->adapter.bot, sizeof self->adapter.bot, "%s:%s", self->bot.team,
                 self->bot.user);
        self->failures = 0;
        self->phase = *self->secrets[SECRET_APP] ? PHASE_OPEN : PHASE_RUN;
        self->due_ms = self->now_ms;
        if (self->phase == PHASE_RUN) {
            self->host->state(self->host->arg, CHANNEL_UP, NULL);
            begin_missed(self);
        }
    } else {
        handle_failure(self, SECRET_BOT, answer, &reply);
    }
    json_decref(reply.json);
}

static void receive_address(void *arg, const struct http_client_answer *answer)
{
    struct slack *self = arg;
    struct reply reply;
    self->call = 0;
    read_reply(answer, &reply);
    const char *url = json_string_value(json_object_get(reply.json, "url"));
    if (!reply.ok || !url) {
        handle_failure(self, SECRET_APP, answer, &reply);
    } else if (!websocket_url_is_trusted(url, DOMAIN, self->endpoint.is_loopback)) {
        if (!self->greeted)
            self->host->state(self->host->arg, CHANNEL_DOWN,
                              "Slack names an address that is not its own");
        wait_and_retry(self, BACKOFF_MAX_MS);
    } else {
        self->next = self->websockets->ops->connect(self->websockets, url);
        self->hello_ms = self->now_ms + HELLO_MS;
        self->phase = PHASE_RUN;
    }
    json_decref(reply.json);
}

static void begin_phase(struct slack *self)
{
    int code = ETHOS_OK;
    if (self->phase == PHASE_TEST)
        code = call_method(self, SECRET_BOT, "auth.test", json_object(), false, receive_test, self,
                           &self->call);
    else if (self->phase == PHASE_OPEN)
        code = call_method(self, SECRET_APP, "apps.connections.open", json_object(), true,
                           receive_address, self, &self->call);
    if (code != ETHOS_OK)
        wait_and_retry(self, BACKOFF_MIN_MS);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t step(struct channel_adapter *adapter, int64_t now_ms)
{
    struct slack *self = (struct slack *)adapter;
    int64_t next = INT64_MAX;
    self->now_ms = now_ms;
    handle_sockets(self);
    handle_requests(self);
    if (self->phase == PHASE_FATAL)
        return next;
    next = record_all(self);
    end_missed(self);
    bool calls = self->phase == PHASE_TEST || self->phase == PHASE_OPEN;
    if (calls && self->call == 0 && now_ms >= self->due_ms)
        begin_phase(self);
    if (calls && self->call == 0)
        next = earlier(next, self->due_ms);
    if (self->next)
        next = earlier(next, self->hello_ms);
    return earlier(next, read_missed(self));
}

static void woken(struct channel_adapter *adapter)
{
    struct slack *self = (struct slack *)adapter;
    const struct http_client *http = self->host->http;
    if (self->phase == PHASE_FATAL)
        return;
    http->ops->cancel(self->host->http, self->call);
    self->call = 0;
    close_sockets(self);
    self->failures = 0;
    self->due_ms = self->now_ms;
    if (self->phase == PHASE_RUN && *self->secrets[SECRET_APP])
        self->phase = PHASE_OPEN;
}

/* ---- sending ----------------------------------------------------------------------------------- */

static void report_sent(struct sending *sending, const struct channel_sent *sent)
{
    const struct channel_host *host = sending->slack->host;
    int64_t row = sending->row;
    sending->exchange = 0;
    host->sent(host->arg, row, sent);
}

/* Slack said no, and it will say so again; what it says is no doubt. */
static enum channel_result result_of_error(const struct sending *sending, const char *error)
{
    static const char *const gone[] = {"message_not_found", NULL};
    static const char *const doubtful[] = {"internal_error",    "fatal_error",
                                           "request_timeout",   "service_unavailable",
                                           "team_added_to_org", NULL};
    if (sending->kind == EDITS && is_one_of(error, gone))
        return CHANNEL_GONE;
    return is_one_of(error, doubtful) ? CHANNEL_UNKNOWN : CHANNEL_REFUSED;
}

static void receive_sent(void *arg, const struct http_client_answer *answer)
{
    struct sending *sending = arg;
    struct slack *self = sending->slack;
    struct channel_sent sent = {.result = CHANNEL_UNKNOWN};
    struct reply reply;
    read_reply(answer, &reply);
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
        handle_failure(self, SECRET_BOT, answer, &reply);
    } else if (*reply.error) {
        sent.result = result_of_error(sending, reply.error);
    }
    report_sent(sending, &sent);
    json_decref(reply.json);
}

/* Whether it is among the last messages; whoever wrote it, its metadata is ours alone. */
static const char *find_sent(const json_t *messages, const char *id)
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

static void receive_probed(void *arg, const struct http_client_answer *answer)
{
    struct sending *sending = arg;
    struct channel_sent sent = {.result = CHANNEL_UNKNOWN};
    struct reply reply;
    read_reply(answer, &reply);
    const json_t *messages = json_object_get(reply.json, "messages");
    const char *ts = find_sent(messages, sending->id);
    bool whole = !json_is_true(json_object_get(reply.json, "has_more"));
    sent.problem = *reply.error ? reply.error : answer->problem;
    if (ts && strlen(ts) < SLACK_MAX_ID) {
        sent.result = CHANNEL_SENT;
        sent.remote = ts;
    } else if (reply.ok && whole) {
        sent.result = CHANNEL_NOT_SENT;
    } else if (reply.wait_ms > 0 || answer->status == 0 || answer->status >= 500) {
        sent.result = CHANNEL_LATER;
        sent.wait_ms = reply.wait_ms > 0 ? reply.wait_ms : BACKOFF_MAX_MS / 4;
    }
    report_sent(sending, &sent);
    json_decref(reply.json);
}

static struct sending *find_free(struct slack *self)
{
    for (size_t i = 0; i < MAX_SENDING; i++)
        if (self->sendings[i].exchange == 0)
            return &self->sendings[i];
    return NULL;
}

/* The same whenever this is sent: what a probe looks for. */
static void make_id(const struct channel_outgoing *outgoing, char out[24])
{
    char text[CHANNEL_TURN_SIZE + 160], hash[HASH_HEX_SIZE];
    snprintf(text, sizeof text, "%.100s/%" PRId64 "/%d", outgoing->turn, outgoing->part,
             outgoing->preview);
    hash_hex(view_str(text), hash);
    snprintf(out, 24, "%.20s", hash);
}

/* Takes args. */
static void start_sending(struct slack *self, const char *method, json_t *args,
                          const struct channel_outgoing *outgoing, int kind)
{
    struct sending *sending = find_free(self);
    int code = ETHOS_LIMIT;
    if (sending) {
        *sending = (struct sending){.slack = self, .row = outgoing->row};
        sending->kind = kind;
        make_id(outgoing, sending->id);
        code = call_method(self, SECRET_BOT, method, args, true,
                           kind == PROBES ? receive_probed : receive_sent, sending,
                           &sending->exchange);
    } else {
        json_decref(args);
    }
    if (code != ETHOS_OK)
        self->host->sent(
            self->host->arg, outgoing->row,
            &(struct channel_sent){.result = kind == PROBES ? CHANNEL_LATER : CHANNEL_NOT_SENT,
                                   .wait_ms = BACKOFF_MIN_MS,
                                   .problem = "the request cannot be made"});
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

static void send_text(struct channel_adapter *adapter, const struct channel_outgoing *outgoing)
{
    char id[24];
    json_t *args = message_args(outgoing);
    make_id(outgoing, id);
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
    start_sending((struct slack *)adapter, "chat.postMessage", args, outgoing, SENDS);
}

static void edit_text(struct channel_adapter *adapter, const struct channel_outgoing *outgoing)
{
    json_t *args = message_args(outgoing);
    if (args)
        json_object_set_new(args, "ts", json_string(outgoing->remote));
    start_sending((struct slack *)adapter, "chat.update", args, outgoing, EDITS);
}

static void probe(struct channel_adapter *adapter, const struct channel_outgoing *outgoing)
{
    char oldest[32];
    bool threaded = outgoing->thread && *outgoing->thread;
    snprintf(oldest, sizeof oldest, "%" PRId64 ".000000", outgoing->sent_ms / 1000 - 60);
    json_t *args = json_pack("{s:s, s:s, s:i, s:b}", "channel", outgoing->chat, "oldest", oldest,
                             "limit", MISSED_LIMIT, "include_all_metadata", 1);
    if (threaded && args)
        json_object_set_new(args, "ts", json_string(outgoing->thread));
    start_sending((struct slack *)adapter,
                  threaded ? "conversations.replies" : "conversations.history", args, outgoing,
                  PROBES);
}

/* ---- the adapter ------------------------------------------------------------------------------- */

static void close_adapter(struct channel_adapter *adapter)
{
    struct slack *self = (struct slack *)adapter;
    const struct http_client *http = self->host->http;
    http->ops->cancel(self->host->http, self->call);
    http->ops->cancel(self->host->http, self->name_call);
    http->ops->cancel(self->host->http, self->missed_call);
    for (size_t i = 0; i < MAX_SENDING; i++)
        http->ops->cancel(self->host->http, self->sendings[i].exchange);
    if (self->websockets) {
        close_sockets(self);
        self->websockets->ops->free(self->websockets);
    }
    webhook_close(self->webhook);
    while (self->first) {
        struct unacknowledged *pending = self->first;
        self->first = pending->next;
        free_pending(pending);
    }
    for (size_t i = 0; i < SECRETS; i++) {
        if (self->secrets[i])
            explicit_bzero(self->secrets[i], strlen(self->secrets[i]));
        free(self->secrets[i]);
    }
    free(self);
}

static bool is_token(const char *token, const char *start)
{
    return strncmp(token, start, strlen(start)) == 0 && strlen(token) < TOKEN_MAX &&
           strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") ==
               strlen(token);
}

static int check_secrets(const struct channel_setup *setup, struct ethos_error *error)
{
    int code = ETHOS_OK;
    const char *app = setup->secrets[SECRET_APP];
    bool events = setup->settings && setup->settings->events;
    if (!is_token(setup->secrets[SECRET_BOT], "xoxb-")) {
        code = err_set(error, ETHOS_DENIED, "SLACK_BOT_TOKEN is not the token of a bot");
        err_hint(error, code, "it begins with xoxb-: OAuth & Permissions of the app shows it");
    } else if (*app && !is_token(app, "xapp-")) {
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
    return webhook_open((unsigned)port, names, self->host->wake, self->host->arg, &self->webhook,
                        error);
}

static int open_adapter(const struct channel_setup *setup, struct channel_adapter **out,
                        struct ethos_error *error)
{
    int code = check_secrets(setup, error);
    struct slack *self = code == ETHOS_OK ? calloc(1, sizeof *self) : NULL;
    if (!self)
        return code == ETHOS_OK ? err_nomem(error) : code;
    self->adapter.ops = &slack_ops;
    self->host = setup->host;
    self->last = &self->first;
    for (size_t i = 0; i < SECRETS; i++)
        if (!(self->secrets[i] = strdup(setup->secrets[i])))
            code = err_nomem(error);
    if (code == ETHOS_OK)
        code = endpoint_parse(
            setup->settings && *setup->settings->api_root ? setup->settings->api_root : API_ROOT,
            443, NULL, &self->endpoint, error);
    if (code == ETHOS_OK && *self->secrets[SECRET_APP])
        code = self->host->open_websockets(self->host->wake, self->host->arg,
                                           self->endpoint.is_loopback, &self->websockets, error);
    if (code == ETHOS_OK)
        code = listen_for_events(self, setup->settings, error);
    if (code == ETHOS_OK)
        *out = &self->adapter;
    else
        close_adapter(&self->adapter);
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
                                              .open = open_adapter,
                                              .close = close_adapter,
                                              .step = step,
                                              .send = send_text,
                                              .edit = edit_text,
                                              .probe = probe,
                                              .woken = woken};
