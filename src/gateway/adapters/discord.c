/*
 * discord.c: bots of Discord, by its gateway.
 *
 * A session is begun (IDENTIFY) and gone on with (RESUME) over one socket after another: what happened in between is
 * told again, from the number on that was recorded last, which stands in the same commit as the messages. Sessions are
 * begun rarely: Discord takes the token away from who begins a thousand in a day. What was said while there was no
 * session is read from the history of each chat. A socket is alive as long as it answers its heartbeats.
 */
#include "gateway/adapters/discord.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "gateway/adapters/discord_message.h"
#include "gateway/adapters/platform_api.h"

#define PLATFORM "discord"
#define API_ROOT "https://discord.com/api/v10"
#define DOMAIN "discord.gg"
#define AGENT "DiscordBot (ethos, " ETHOS_VERSION ")"
#define HELLO_MS 30000 /* from a connection to its greeting */
#define READY_MS 60000 /* from there to a session */
#define HOUR_MS 3600000
#define MAX_IDENTIFIES 30 /* in an hour */
#define MIN_REMAINING 50  /* sessions that may still be begun today; the rest is left alone */
#define MAX_RESUMES 3     /* that fail; then a session is begun */
#define SAME_MS 120000    /* for which Discord knows a nonce */
#define PROBE_SKEW_MS 10000
#define MAX_MISSED 200
#define HISTORY_LIMIT 100
#define MAX_BODY 1048576
#define MAX_SESSION 128 /* bytes with terminator: the id of a session, and of its address */
#define MAX_URL 256
#define CLOSE_RESUMABLE 4000

#define INTENT_CONTENT 32768
#define INTENTS                                                                                    \
    (1 | 512 | 4096 | INTENT_CONTENT) /* guilds, their messages, direct ones, contents */

enum discord_phase { PHASE_ME, PHASE_ADDRESS, PHASE_WAIT, PHASE_CONNECT, PHASE_RUN, PHASE_FATAL };
enum {
    OP_DISPATCH,
    OP_BEAT,
    OP_BEGIN,
    OP_RESUME = 6,
    OP_RECONNECT,
    OP_INVALID = 9,
    OP_HELLO,
    OP_ACK
};

/* A chat in which messages may have been missed. */
struct missed_chat {
    char chat[DISCORD_MAX_ID], since[DISCORD_MAX_ID], guild[DISCORD_MAX_ID];
    bool direct, known; /* where it is */
};

struct discord {
    struct platform_api api;
    char *token;
    struct discord_bot bot;
    struct websockets *websockets;
    enum discord_phase phase;

    unsigned socket;  /* 0: none */
    int64_t hello_ms; /* until which it must have been greeted; 0: it was */
    int64_t ready_ms; /* until which there must be a session */
    int64_t beat_ms, interval_ms;
    bool beat_open;       /* one is not answered yet */
    bool without_content; /* the intent is not granted */
    bool is_ready;

    char address[MAX_URL], resume_address[MAX_URL], session[MAX_SESSION];
    int64_t seq, recorded_seq; /* -1: none */
    unsigned resumes;          /* that failed in a row */
    bool resuming;
    int64_t identifies, hour_ms; /* since then, in wall time */

    struct missed_chat missed[MAX_MISSED];
    size_t missed_count, missed_at;
    uint64_t missed_call;
    int64_t missed_ms;
};

/* ---- requests ---------------------------------------------------------------------------------- */

static int start_get(struct discord *self, const char *path, http_client_fn *each, uint64_t *out_id)
{
    const struct api_call call = {.method = "GET", .path = path};
    return api_start(&self->api, &call, each, self, out_id);
}

/* What an answer says. Release it. */
struct discord_reply {
    json_t *json;
    int64_t error;   /* Discord's; 0: none, or not of Discord */
    int64_t wait_ms; /* of a limit; or before the next request of its bucket */
    bool all;        /* the limit is for all requests */
    const char *message;
};

static int64_t seconds_ms(double seconds)
{
    return seconds <= 0 ? 0 : seconds > 86400 ? 86400000 : (int64_t)(seconds * 1000) + 1;
}

static double header_number(const struct http_client_answer *answer, const char *name)
{
    char number[32];
    struct ethos_view value = http_client_header(answer, name);
    if (value.size == 0 || value.size >= sizeof number)
        return -1;
    snprintf(number, sizeof number, "%.*s", VIEW_ARG(value));
    return strtod(number, NULL);
}

static void read_discord_reply(const struct http_client_answer *answer, struct discord_reply *out)
{
    *out = (struct discord_reply){.message = ""};
    bool parsed = answer->status != 0 && json_parse_most(answer->body, HTTP_CLIENT_MAX_BODY,
                                                         "answer", &out->json, NULL) == ETHOS_OK;
    if (answer->status == 429) {
        const json_t *after = json_object_get(out->json, "retry_after");
        double seconds = json_is_number(after) ? json_number_value(after)
                                               : header_number(answer, "retry-after");
        out->wait_ms = seconds > 0 ? seconds_ms(seconds) : API_BACKOFF_MIN_MS;
        out->all = !parsed || json_is_true(json_object_get(out->json, "global"));
    } else if (header_number(answer, "x-ratelimit-remaining") == 0) {
        out->wait_ms = seconds_ms(header_number(answer, "x-ratelimit-reset-after"));
    }
    if (answer->status >= 400)
        out->error = json_integer_value(json_object_get(out->json, "code"));
    const char *message = json_string_value(json_object_get(out->json, "message"));
    out->message = message ? message : "";
}

static bool is_success(const struct http_client_answer *answer)
{
    return answer->status >= 200 && answer->status < 300;
}

/* ---- sockets and waiting ------------------------------------------------------------------------ */

static void drop_socket(struct discord *self, int code)
{
    if (self->socket)
        self->websockets->ops->close(self->websockets, self->socket, code);
    self->socket = 0;
    self->is_ready = self->beat_open = false;
}

static void retry_phase(struct discord *self, enum discord_phase phase, int64_t least_ms)
{
    self->phase = phase;
    api_retry_later(&self->api, least_ms);
}

static void stop_discord(struct discord *self, const char *why)
{
    drop_socket(self, 1000);
    self->phase = PHASE_FATAL;
    api_set_state(&self->api, CHANNEL_FATAL, why);
}

/* With what there is of a session it is gone on with; without, one is begun. */
static void reconnect(struct discord *self, int64_t least_ms)
{
    drop_socket(self, CLOSE_RESUMABLE);
    retry_phase(self, *self->session ? PHASE_CONNECT : PHASE_ADDRESS, least_ms);
}

static void stop_with_bad_token(struct discord *self)
{
    stop_discord(self, "Discord does not accept the token; put the one that the application's "
                       "page Bot shows into DISCORD_BOT_TOKEN of keys.yaml");
}

/* Of a call of a phase. */
static void handle_discord_failure(struct discord *self, const struct http_client_answer *answer,
                                   const struct discord_reply *reply)
{
    char why[160];
    if (answer->status == 401) {
        stop_with_bad_token(self);
        return;
    }
    snprintf(why, sizeof why, "Discord does not answer as it should%s%.80s",
             *reply->message || answer->problem ? ": " : "",
             *reply->message   ? reply->message
             : answer->problem ? answer->problem
                               : "");
    api_set_state(&self->api, CHANNEL_DOWN, why);
    retry_phase(self, self->phase, reply->wait_ms);
}

/* ---- what is recorded --------------------------------------------------------------------------- */

/* "SEQ SESSION ADDRESS", with the messages of the event that has that number; "": there is none. */
static bool record_session(struct discord *self, const struct channel_message *message)
{
    char value[CHANNEL_MAX_CURSOR];
    int size = snprintf(value, sizeof value, "%" PRId64 " %s %s", self->seq, self->session,
                        self->resume_address);
    bool fits = *self->session && size > 0 && (size_t)size < sizeof value;
    const struct channel_batch batch = {message, message ? 1 : 0, "session", fits ? value : ""};
    if (self->api.host->received(self->api.host->arg, &batch) != ETHOS_OK)
        return false;
    self->recorded_seq = self->seq;
    return true;
}

/* A process after this one shall not ask for it either. */
static void forget_session(struct discord *self)
{
    *self->session = *self->resume_address = '\0';
    self->seq = -1;
    self->resumes = 0;
    record_session(self, NULL);
    self->recorded_seq = -1; // also where that failed
}

static void restore_session(struct discord *self, char *cursor)
{
    char *rest, *session, *address;
    self->seq = self->recorded_seq = -1;
    int64_t seq = strtoll(cursor, &rest, 10);
    if (*rest != ' ' || !(session = rest + 1) || !(address = strchr(session, ' ')))
        return;
    *address++ = '\0';
    if (!*session || !*address)
        return;
    self->seq = self->recorded_seq = seq;
    snprintf(self->session, sizeof self->session, "%.127s", session);
    snprintf(self->resume_address, sizeof self->resume_address, "%s", address);
}

/* Sessions that were begun in this hour, over restarts too. */
static void count_identify(struct discord *self)
{
    char value[64];
    int64_t now = os_now_ms();
    if (self->hour_ms + HOUR_MS <= now || self->hour_ms > now) {
        self->hour_ms = now;
        self->identifies = 0;
    }
    self->identifies++;
    snprintf(value, sizeof value, "%" PRId64 " %" PRId64, self->identifies, self->hour_ms);
    api_store_cursor(&self->api, "identifies", value);
}

/* 0: one may be begun. */
static int64_t identify_wait_ms(const struct discord *self)
{
    int64_t left = self->hour_ms + HOUR_MS - os_now_ms();
    return self->identifies >= MAX_IDENTIFIES && left > 0 && left <= HOUR_MS ? left : 0;
}

/* ---- what was missed ---------------------------------------------------------------------------- */

/* The later of two ids, and the earlier, where "" is none. */
static void replace_if_later(char id[DISCORD_MAX_ID], const char *other)
{
    if (!*id || discord_id_is_later(other, id))
        snprintf(id, DISCORD_MAX_ID, "%.23s", other);
}

static void replace_if_earlier(char id[DISCORD_MAX_ID], const char *other)
{
    if (*other && discord_id_is_later(id, other))
        snprintf(id, DISCORD_MAX_ID, "%.23s", other);
}

static int add_missed_chat(void *arg, const struct inbox_place *place)
{
    struct discord *self = arg;
    if (self->missed_count == MAX_MISSED || strlen(place->chat) >= DISCORD_MAX_ID ||
        strlen(place->msg) >= DISCORD_MAX_ID)
        return ETHOS_OK;
    struct missed_chat *missed = &self->missed[self->missed_count++];
    *missed = (struct missed_chat){.direct = place->direct, .known = place->direct};
    snprintf(missed->chat, sizeof missed->chat, "%.23s", place->chat);
    snprintf(missed->since, sizeof missed->since, "%.23s", place->msg);
    return ETHOS_OK;
}

/*
 * What was being read when the process died, or the session, is read again: messages that came meanwhile say nothing
 * about those before them. since: from where on, then.
 */
static void start_reading_missed(struct discord *self, const char *since)
{
    char latest[DISCORD_MAX_ID] = "";
    self->api.host->http->ops->cancel(self->api.host->http, self->missed_call);
    self->missed_call = 0;
    self->missed_count = self->missed_at = 0;
    self->missed_ms = self->api.now_ms;
    self->api.host->places(self->api.host->arg, add_missed_chat, self);
    for (size_t i = 0; i < self->missed_count; i++) {
        replace_if_later(latest, self->missed[i].since);
        replace_if_earlier(self->missed[i].since, since);
    }
    if (!*since && *latest)
        api_store_cursor(&self->api, "missed", latest);
}

/* One place less; the last one ends it. */
static void finish_missed_chat(struct discord *self)
{
    if (++self->missed_at == self->missed_count)
        api_store_cursor(&self->api, "missed", "");
}

static void record_missed(struct discord *self, const struct missed_chat *missed, json_t *json)
{
    struct discord_message message;
    json_object_set_new(json, "channel_id", json_string(missed->chat));
    if (!missed->direct)
        json_object_set_new(json, "guild_id", json_string(missed->guild));
    if (!discord_message_read(json, false, &self->bot, &message))
        return;
    const struct channel_batch batch = {&message.message, 1, NULL, NULL};
    self->api.host->received(self->api.host->arg, &batch);
    str_release(&message.text);
}

/* First where the chat is, then what was said there, the newest first. */
static void receive_missed(void *arg, const struct http_client_answer *answer)
{
    struct discord *self = arg;
    struct missed_chat *missed = &self->missed[self->missed_at];
    struct discord_reply reply;
    self->missed_call = 0;
    read_discord_reply(answer, &reply);
    struct ethos_view guild = json_view(reply.json, "guild_id");
    bool again = answer->status == 0 || answer->status == 429 || answer->status >= 500;
    if (again) {
        self->missed_ms = self->api.now_ms +
                          (reply.wait_ms > 0 ? reply.wait_ms : API_BACKOFF_MAX_MS / 4);
    } else if (is_success(answer) && !missed->known && guild.size > 0 &&
               guild.size < DISCORD_MAX_ID) {
        missed->known = true;
        snprintf(missed->guild, sizeof missed->guild, "%.*s", VIEW_ARG(guild));
        self->missed_ms = self->api.now_ms + reply.wait_ms;
    } else {
        for (size_t i = json_array_size(reply.json); is_success(answer) && i > 0; i--)
            record_missed(self, missed, json_array_get(reply.json, i - 1));
        self->missed_ms = self->api.now_ms + reply.wait_ms;
        finish_missed_chat(self);
    }
    json_decref(reply.json);
}

static int64_t read_missed(struct discord *self)
{
    char path[128];
    if (self->missed_at >= self->missed_count || self->missed_call != 0 || !self->is_ready)
        return INT64_MAX;
    if (self->api.now_ms < self->missed_ms)
        return self->missed_ms;
    const struct missed_chat *missed = &self->missed[self->missed_at];
    if (missed->known)
        snprintf(path, sizeof path, "/channels/%s/messages?after=%s&limit=%d", missed->chat,
                 missed->since, HISTORY_LIMIT);
    else
        snprintf(path, sizeof path, "/channels/%s", missed->chat);
    if (start_get(self, path, receive_missed, &self->missed_call) != ETHOS_OK)
        finish_missed_chat(self);
    return INT64_MAX;
}

/* ---- the gateway of Discord --------------------------------------------------------------------- */

/* Takes d. */
static void send_frame(struct discord *self, int op, json_t *d)
{
    struct str text;
    json_t *frame = json_pack("{s:i, s:o}", "op", op, "d", d);
    str_init(&text, MAX_BODY);
    if (frame && json_print(frame, JSON_STYLE_LINE, &text) == ETHOS_OK)
        self->websockets->ops->send(self->websockets, self->socket, str_view(&text));
    explicit_bzero(text.data, text.size);
    str_release(&text);
    json_decref(frame);
}

static void send_heartbeat(struct discord *self)
{
    send_frame(self, OP_BEAT, self->seq >= 0 ? json_integer(self->seq) : json_null());
    self->beat_open = true;
    self->beat_ms = self->api.now_ms + self->interval_ms;
}

static void send_identify(struct discord *self)
{
    int intents = self->without_content ? INTENTS & ~INTENT_CONTENT : INTENTS;
    count_identify(self);
    self->resuming = false;
    send_frame(self, OP_BEGIN,
               json_pack("{s:s, s:i, s:{s:s, s:s, s:s}}", "token", self->token, "intents", intents,
                         "properties", "os", "linux", "browser", "ethos", "device", "ethos"));
}

static void send_resume(struct discord *self)
{
    self->resuming = true;
    send_frame(self, OP_RESUME,
               json_pack("{s:s, s:s, s:I}", "token", self->token, "session_id", self->session,
                         "seq", (json_int_t)self->seq));
}

static void receive_hello(struct discord *self, const json_t *d)
{
    uint32_t random = 0;
    int64_t interval = json_integer_value(json_object_get(d, "heartbeat_interval"));
    os_random(&random, sizeof random);
    self->hello_ms = 0;
    self->ready_ms = self->api.now_ms + READY_MS;
    self->interval_ms = interval < 1000 ? 1000 : interval > HOUR_MS ? HOUR_MS : interval;
    self->beat_ms = self->api.now_ms + (int64_t)(random % (uint64_t)self->interval_ms);
    self->beat_open = false;
    if (*self->session)
        send_resume(self);
    else
        send_identify(self);
}

static void set_ready(struct discord *self)
{
    self->is_ready = true;
    self->resuming = false;
    self->resumes = self->api.failures = 0;
    api_set_state(&self->api, CHANNEL_UP,
                  self->without_content
                      ? "it may not read messages in channels that do not mention it; switch "
                        "on Message Content Intent on the application's page Bot"
                      : NULL);
}

/* Of a session that goes on only what was not read to its end. */
static void read_history(struct discord *self, bool begins)
{
    char since[CHANNEL_MAX_CURSOR];
    if (self->api.host->cursor(self->api.host->arg, "missed", since) == ETHOS_OK &&
        (begins || *since))
        start_reading_missed(self, since);
}

static void receive_ready(struct discord *self, const json_t *d)
{
    const char *session = json_string_value(json_object_get(d, "session_id"));
    const char *address = json_string_value(json_object_get(d, "resume_gateway_url"));
    bool fits = session && address && strlen(session) < MAX_SESSION && !strchr(session, ' ') &&
                strlen(address) < MAX_URL - 32 &&
                websocket_url_is_trusted(address, DOMAIN, self->api.endpoint.is_loopback);
    snprintf(self->session, sizeof self->session, "%s", fits ? session : "");
    snprintf(self->resume_address, sizeof self->resume_address, "%s", fits ? address : "");
    set_ready(self);
    read_history(self, true);
    record_session(self, NULL);
}

/* What is not recorded is told again after a resume from the number before it. */
static void receive_message(struct discord *self, const json_t *d, bool edited)
{
    struct discord_message message;
    if (!discord_message_read(d, edited, &self->bot, &message))
        return;
    if (!record_session(self, &message.message)) {
        self->seq = self->recorded_seq;
        reconnect(self, API_BACKOFF_MIN_MS);
    }
    str_release(&message.text);
}

static void receive_dispatch(struct discord *self, const json_t *json)
{
    struct ethos_view type = json_view(json, "t");
    const json_t *d = json_object_get(json, "d"), *seq = json_object_get(json, "s");
    if (json_is_integer(seq))
        self->seq = json_integer_value(seq);
    if (view_eq_str(type, "READY")) {
        receive_ready(self, d);
    } else if (view_eq_str(type, "RESUMED")) {
        set_ready(self);
        read_history(self, false);
    } else if (view_eq_str(type, "MESSAGE_CREATE") || view_eq_str(type, "MESSAGE_UPDATE")) {
        receive_message(self, d, view_eq_str(type, "MESSAGE_UPDATE"));
    }
}

/* The session could not be gone on with. After three times another one is begun. */
static void count_failed_resume(struct discord *self)
{
    if (self->resuming && ++self->resumes >= MAX_RESUMES)
        forget_session(self);
    self->resuming = false;
}

static void receive_invalid(struct discord *self, bool resumable)
{
    if (resumable && self->resuming)
        count_failed_resume(self);
    else
        forget_session(self);
    self->resuming = false;
    reconnect(self, API_BACKOFF_MIN_MS);
}

static void receive_frame(struct discord *self, struct ethos_view text)
{
    json_t *json;
    if (json_parse_most(text, WEBSOCKET_MAX_MESSAGE, "frame", &json, NULL) != ETHOS_OK)
        return;
    const json_t *op = json_object_get(json, "op"), *d = json_object_get(json, "d");
    switch (json_is_integer(op) ? json_integer_value(op) : -1) {
    case OP_DISPATCH:
        receive_dispatch(self, json);
        break;
    case OP_BEAT:
        if (self->hello_ms == 0)
            send_heartbeat(self);
        break;
    case OP_RECONNECT:
        drop_socket(self, CLOSE_RESUMABLE);
        self->phase = *self->session ? PHASE_CONNECT : PHASE_ADDRESS;
        self->api.due_ms = self->api.now_ms;
        break;
    case OP_INVALID:
        receive_invalid(self, json_is_true(d));
        break;
    case OP_HELLO:
        if (self->hello_ms != 0)
            receive_hello(self, d);
        break;
    case OP_ACK:
        self->beat_open = false;
        break;
    default:
        break;
    }
    json_decref(json);
}

/* What a close of Discord's means. */
static void handle_close(struct discord *self, const struct websocket_event *event)
{
    char why[240];
    switch (event->code) {
    case 4004:
        stop_with_bad_token(self);
        return;
    case 4010:
    case 4011:
    case 4012:
    case 4013:
        snprintf(why, sizeof why, "Discord refuses this program (%d); a newer version may help",
                 event->code);
        stop_discord(self, why);
        return;
    case 4014:
        if (self->without_content) {
            stop_discord(self, "Discord refuses what this bot asks for (4014); look at the "
                               "application's page Bot, then change keys.yaml");
            return;
        }
        self->without_content = true; // once more, without it
        forget_session(self);
        break;
    case 4007:
    case 4009:
        forget_session(self);
        break;
    default:
        count_failed_resume(self);
    }
    self->socket = 0;
    snprintf(why, sizeof why, "the connection to Discord is over%s%.160s", *event->why ? ": " : "",
             event->why);
    api_set_state(&self->api, CHANNEL_DOWN, why);
    reconnect(self, 0);
}

static void handle_sockets(struct discord *self)
{
    struct websocket_event event;
    while (self->websockets->ops->next(self->websockets, &event)) {
        bool ours = event.id == self->socket;
        if (ours && event.kind == WEBSOCKET_MESSAGE)
            receive_frame(self, str_view(&event.text));
        else if (ours && event.kind == WEBSOCKET_CLOSED)
            handle_close(self, &event);
        str_release(&event.text);
    }
}

/* A socket that is silent is dead, whatever the system says. */
static void check_socket(struct discord *self)
{
    bool greeted = self->hello_ms == 0;
    const char *why = !greeted && self->api.now_ms >= self->hello_ms ? "Discord says nothing"
                      : greeted && !self->is_ready && self->api.now_ms >= self->ready_ms
                          ? "Discord gives no session"
                      : greeted && self->beat_open && self->api.now_ms >= self->beat_ms
                          ? "Discord does not answer a heartbeat"
                          : NULL;
    if (!self->socket)
        return;
    if (why) {
        if (!self->is_ready)
            count_failed_resume(self);
        api_set_state(&self->api, CHANNEL_DOWN, why);
        reconnect(self, 0);
    } else if (greeted && self->api.now_ms >= self->beat_ms) {
        send_heartbeat(self);
    }
}

static int64_t next_check_ms(const struct discord *self)
{
    if (!self->socket)
        return INT64_MAX;
    if (self->hello_ms != 0)
        return self->hello_ms;
    return self->is_ready || self->beat_ms < self->ready_ms ? self->beat_ms : self->ready_ms;
}

/* ---- phases ------------------------------------------------------------------------------------- */

static void receive_me(void *arg, const struct http_client_answer *answer)
{
    struct discord *self = arg;
    struct discord_reply reply;
    self->api.call = 0;
    read_discord_reply(answer, &reply);
    struct ethos_view id = json_view(reply.json, "id"), name = json_view(reply.json, "username");
    if (is_success(answer) && id.size > 0 && id.size < DISCORD_MAX_ID && name.size > 0) {
        snprintf(self->bot.id, sizeof self->bot.id, "%.*s", VIEW_ARG(id));
        name.size = utf8_head(name, sizeof self->api.adapter.name / 4);
        snprintf(self->bot.name, sizeof self->bot.name, "%.*s", VIEW_ARG(name));
        snprintf(self->api.adapter.bot, sizeof self->api.adapter.bot, "%s", self->bot.id);
        snprintf(self->api.adapter.name, sizeof self->api.adapter.name, "%.63s", self->bot.name);
        self->api.failures = 0;
        self->phase = *self->session ? PHASE_CONNECT : PHASE_ADDRESS;
        self->api.due_ms = self->api.now_ms;
    } else {
        handle_discord_failure(self, answer, &reply);
    }
    json_decref(reply.json);
}

/* Whether a session may be begun now; else it is said why not, and waited. */
static bool can_identify_now(struct discord *self, const json_t *limit)
{
    char why[200];
    const json_t *remaining = json_object_get(limit, "remaining");
    int64_t reset = json_integer_value(json_object_get(limit, "reset_after"));
    int64_t wait = identify_wait_ms(self);
    if (json_is_integer(remaining) && json_integer_value(remaining) < MIN_REMAINING)
        wait = reset > API_BACKOFF_MAX_MS ? reset : API_BACKOFF_MAX_MS;
    if (wait == 0)
        return true;
    wait = wait > 24 * (int64_t)HOUR_MS ? 24 * (int64_t)HOUR_MS : wait;
    snprintf(why, sizeof why,
             "too many sessions were begun; the next one waits for %" PRId64 " minutes, as Discord "
             "takes the token away from who begins a thousand in a day",
             wait / 60000 + 1);
    api_set_state(&self->api, CHANNEL_DOWN, why);
    self->phase = PHASE_WAIT;
    self->api.due_ms = self->api.now_ms + wait;
    return false;
}

static void receive_address(void *arg, const struct http_client_answer *answer)
{
    struct discord *self = arg;
    struct discord_reply reply;
    self->api.call = 0;
    read_discord_reply(answer, &reply);
    const char *url = json_string_value(json_object_get(reply.json, "url"));
    if (!is_success(answer) || !url) {
        handle_discord_failure(self, answer, &reply);
    } else if (strlen(url) >= MAX_URL - 32 ||
               !websocket_url_is_trusted(url, DOMAIN, self->api.endpoint.is_loopback)) {
        api_set_state(&self->api, CHANNEL_DOWN, "Discord names an address that is not its own");
        retry_phase(self, PHASE_ADDRESS, API_BACKOFF_MAX_MS);
    } else if (can_identify_now(self, json_object_get(reply.json, "session_start_limit"))) {
        snprintf(self->address, sizeof self->address, "%s", url);
        self->phase = PHASE_CONNECT;
        self->api.due_ms = self->api.now_ms;
    }
    json_decref(reply.json);
}

static void connect_socket(struct discord *self)
{
    char url[MAX_URL + 32];
    const char *address = *self->session ? self->resume_address : self->address;
    size_t size = strlen(address);
    snprintf(url, sizeof url, "%s%s?v=10&encoding=json", address,
             size > 0 && address[size - 1] == '/' ? "" : "/");
    self->socket = self->websockets->ops->connect(self->websockets, url);
    self->hello_ms = self->api.now_ms + HELLO_MS;
    self->resuming = *self->session;
    self->phase = PHASE_RUN;
}

static void start_phase(struct discord *self)
{
    int code = ETHOS_OK;
    if (self->phase == PHASE_ME)
        code = start_get(self, "/users/@me", receive_me, &self->api.call);
    else if (self->phase == PHASE_ADDRESS || self->phase == PHASE_WAIT)
        code = start_get(self, "/gateway/bot", receive_address, &self->api.call);
    else if (self->phase == PHASE_CONNECT)
        connect_socket(self);
    if (code != ETHOS_OK)
        retry_phase(self, self->phase, API_BACKOFF_MIN_MS);
}

static int64_t step_discord(struct channel_adapter *adapter, int64_t now_ms)
{
    struct discord *self = (struct discord *)adapter;
    int64_t next = INT64_MAX;
    self->api.now_ms = now_ms;
    handle_sockets(self);
    if (self->phase == PHASE_FATAL)
        return next;
    check_socket(self);
    if (self->phase != PHASE_RUN && self->api.call == 0 && now_ms >= self->api.due_ms)
        start_phase(self);
    if (self->phase != PHASE_RUN && self->phase != PHASE_FATAL && self->api.call == 0)
        next = self->api.due_ms;
    next = clock_earlier(next, next_check_ms(self));
    return clock_earlier(next, read_missed(self));
}

static void wake_discord(struct channel_adapter *adapter)
{
    struct discord *self = (struct discord *)adapter;
    if (self->phase == PHASE_FATAL)
        return;
    api_restart(&self->api);
    drop_socket(self, CLOSE_RESUMABLE);
    self->resuming = false;
    if (self->phase != PHASE_ME)
        self->phase = *self->session ? PHASE_CONNECT : PHASE_ADDRESS;
}

/* ---- sending ------------------------------------------------------------------------------------ */

static void read_send_result(const struct api_send *send, const struct http_client_answer *answer,
                             const struct discord_reply *reply, struct channel_sent *out)
{
    const char *id = json_string_value(json_object_get(reply->json, "id"));
    out->wait_ms = reply->wait_ms;
    out->all = reply->all;
    if (is_success(answer) && id && strlen(id) < DISCORD_MAX_ID) {
        out->result = CHANNEL_SENT;
        out->remote = id;
    } else if (!answer->has_left) {
        out->result = CHANNEL_NOT_SENT;
    } else if (answer->status == 429) {
        out->result = CHANNEL_LATER;
    } else if (answer->status == 401) {
        out->result = CHANNEL_NOT_SENT;
    } else if (answer->status == 404 && send->kind == API_EDIT && reply->error == 10008) {
        out->result = CHANNEL_GONE;
    } else if (answer->status >= 400 && answer->status < 500) {
        out->result = CHANNEL_REFUSED;
    }
}

static void receive_discord_sent(void *arg, const struct http_client_answer *answer)
{
    struct api_send *send = arg;
    struct discord *self = (struct discord *)send->api;
    struct channel_sent sent = {.result = CHANNEL_UNKNOWN};
    struct discord_reply reply;
    read_discord_reply(answer, &reply);
    sent.problem = *reply.message ? reply.message : answer->problem;
    read_send_result(send, answer, &reply, &sent);
    if (answer->status == 401 && self->phase != PHASE_FATAL)
        stop_with_bad_token(self);
    api_finish_send(send, &sent);
    json_decref(reply.json);
}

/* One of ours with that text: bots cannot read nonces afterwards. */
static const char *find_message_by_text(const struct discord *self, const json_t *messages,
                                        const char *hash)
{
    size_t index;
    json_t *message;
    json_array_foreach ((json_t *)messages, index, message) {
        char found[HASH_HEX_SIZE];
        hash_hex(json_view(message, "content"), found);
        if (view_eq_str(json_view(json_object_get(message, "author"), "id"), self->bot.id) &&
            strcmp(found, hash) == 0)
            return json_string_value(json_object_get(message, "id"));
    }
    return NULL;
}

static void receive_discord_probed(void *arg, const struct http_client_answer *answer)
{
    struct api_send *send = arg;
    struct channel_sent sent = {.result = CHANNEL_UNKNOWN};
    struct discord_reply reply;
    read_discord_reply(answer, &reply);
    const char *id = is_success(answer) ? find_message_by_text((struct discord *)send->api,
                                                               reply.json, send->text_hash)
                                        : NULL;
    sent.problem = *reply.message ? reply.message : answer->problem;
    sent.wait_ms = reply.wait_ms;
    if (id && strlen(id) < DISCORD_MAX_ID) {
        sent.result = CHANNEL_SENT;
        sent.remote = id;
    } else if (is_success(answer) && json_is_array(reply.json) &&
               json_array_size(reply.json) < HISTORY_LIMIT) {
        sent.result = CHANNEL_NOT_SENT;
    } else if (answer->status == 0 || answer->status == 429 || answer->status >= 500) {
        sent.result = CHANNEL_LATER;
        sent.wait_ms = reply.wait_ms > 0 ? reply.wait_ms : API_BACKOFF_MAX_MS / 4;
    }
    api_finish_send(send, &sent);
    json_decref(reply.json);
}

/* Whoever it mentions, nobody is pinged. */
static json_t *message_body(const struct channel_outgoing *outgoing)
{
    return json_pack("{s:o, s:{s:[]}, s:i}", "content", json_text(view_trim(outgoing->text)),
                     "allowed_mentions", "parse", "flags", 4); // no previews of links
}

static void send_to_discord(struct channel_adapter *adapter,
                            const struct channel_outgoing *outgoing)
{
    char path[64], nonce[API_MESSAGE_ID_SIZE];
    json_t *body = message_body(outgoing);
    api_message_id(outgoing, nonce);
    snprintf(path, sizeof path, "/channels/%.23s/messages", outgoing->chat);
    if (body) {
        json_object_set_new(body, "nonce", json_string(nonce));
        json_object_set_new(body, "enforce_nonce", json_true());
        if (outgoing->reply_to && *outgoing->reply_to)
            json_object_set_new(
                body, "message_reference",
                json_pack("{s:s, s:b}", "message_id", outgoing->reply_to, "fail_if_not_exists", 0));
    }
    api_start_send((struct platform_api *)adapter,
                   &(struct api_call){.method = "POST", .path = path, .body = body}, outgoing,
                   API_SEND, receive_discord_sent);
}

static void edit_in_discord(struct channel_adapter *adapter,
                            const struct channel_outgoing *outgoing)
{
    char path[96];
    snprintf(path, sizeof path, "/channels/%.23s/messages/%.23s", outgoing->chat, outgoing->remote);
    api_start_send(
        (struct platform_api *)adapter,
        &(struct api_call){.method = "PATCH", .path = path, .body = message_body(outgoing)},
        outgoing, API_EDIT, receive_discord_sent);
}

static void probe_discord(struct channel_adapter *adapter, const struct channel_outgoing *outgoing)
{
    char path[128], after[DISCORD_MAX_ID];
    discord_id_at(outgoing->sent_ms - PROBE_SKEW_MS, after);
    snprintf(path, sizeof path, "/channels/%.23s/messages?after=%s&limit=%d", outgoing->chat, after,
             HISTORY_LIMIT);
    api_start_send((struct platform_api *)adapter,
                   &(struct api_call){.method = "GET", .path = path}, outgoing, API_PROBE,
                   receive_discord_probed);
}

static void show_discord_typing(struct channel_adapter *adapter, const char *chat,
                                const char *thread)
{
    char path[64];
    uint64_t id;
    (void)thread;
    snprintf(path, sizeof path, "/channels/%.23s/typing", chat);
    api_start((struct platform_api *)adapter,
              &(struct api_call){.method = "POST", .path = path, .fresh = true}, api_ignore_answer,
              NULL, &id);
}

/* ---- the adapter -------------------------------------------------------------------------------- */

static void close_discord(struct channel_adapter *adapter)
{
    struct discord *self = (struct discord *)adapter;
    self->api.host->http->ops->cancel(self->api.host->http, self->missed_call);
    api_close(&self->api);
    if (self->websockets) {
        drop_socket(self, CLOSE_RESUMABLE); // 1000 would end the session
        self->websockets->ops->free(self->websockets);
    }
    if (self->token)
        explicit_bzero(self->token, strlen(self->token));
    free(self->token);
    free(self);
}

static int read_cursors(struct discord *self)
{
    char cursor[CHANNEL_MAX_CURSOR], *rest;
    int code = self->api.host->cursor(self->api.host->arg, "session", cursor);
    if (code == ETHOS_OK)
        restore_session(self, cursor);
    if (code == ETHOS_OK && *self->session &&
        !websocket_url_is_trusted(self->resume_address, DOMAIN, self->api.endpoint.is_loopback))
        forget_session(self);
    if (code == ETHOS_OK)
        code = self->api.host->cursor(self->api.host->arg, "identifies", cursor);
    if (code == ETHOS_OK) {
        self->identifies = strtoll(cursor, &rest, 10);
        self->hour_ms = strtoll(rest, NULL, 10);
    }
    return code;
}

static const struct api_settings api_settings = {
    .ops = &discord_ops, .root = API_ROOT, .authorization_prefix = "Bot ", .user_agent = AGENT};

static int open_discord(const struct channel_setup *setup, struct channel_adapter **out,
                        struct ethos_error *error)
{
    if (!api_is_token(setup->secrets[0], "", "-_.")) {
        int code = err_set(error, ETHOS_DENIED, "DISCORD_BOT_TOKEN is not the token of a bot");
        return err_hint(error, code, "the application's page Bot shows it once, at Reset Token");
    }
    struct discord *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->seq = self->recorded_seq = -1;
    int code = api_open(&self->api, &api_settings, setup, error);
    self->token = strdup(setup->secrets[0]);
    if (code == ETHOS_OK && !self->token)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = read_cursors(self);
    if (code == ETHOS_OK)
        code = self->api.host->open_websockets(self->api.host->wake, self->api.host->arg,
                                               self->api.endpoint.is_loopback, &self->websockets,
                                               error);
    if (code == ETHOS_OK)
        *out = &self->api.adapter;
    else
        close_discord(&self->api.adapter);
    return code;
}

static const struct channel_limits limits = {.text = 2000,
                                             .chat_ms = 1000,
                                             .group_ms = 1000,
                                             .all_ms = 25,
                                             .edit_ms = 1500,
                                             .group_edit_ms = 1500,
                                             .typing_ms = 9000,
                                             .bang = true,
                                             .same_ms = SAME_MS};

const struct channel_adapter_ops discord_ops = {.platform = PLATFORM,
                                                .limits = &limits,
                                                .open = open_discord,
                                                .close = close_discord,
                                                .step = step_discord,
                                                .send = send_to_discord,
                                                .edit = edit_in_discord,
                                                .probe = probe_discord,
                                                .typing = show_discord_typing,
                                                .woken = wake_discord};
