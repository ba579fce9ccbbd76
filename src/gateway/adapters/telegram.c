/*
 * telegram.c: bots of Telegram, by long polling.
 *
 * getMe, deleteWebhook, then getUpdates again and again: the offset of a poll acknowledges all updates before it, so
 * a poll begins only when those of the last one are recorded. The next update's id may be smaller than the last one
 * after a quiet week: nothing is dropped for its id, messages are told apart by chat and number. Texts go out plain:
 * with a parse mode one lone underscore fails the message.
 */
#include "gateway/adapters/telegram.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/models/endpoint.h"
#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"

#define PLATFORM "telegram"
#define API_ROOT "https://api.telegram.org"
#define POLL_SECONDS 50 /* that the platform waits for an update */
#define POLL_MS 65000   /* that we wait for its answer */
#define CALL_MS 30000   /* for any other call */
#define EMPTY_MS 1000   /* between two polls that bring nothing */
#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 60000
#define RIVAL_MIN_MS 5000 /* after another program has polled with our token */
#define MAX_UPDATES 100   /* of one answer, as the platform has it */
#define MAX_WAIT_S 604800 /* that we believe of retry_after */
#define MAX_BODY 1048576  /* bytes of a request */
#define MAX_SENDING 64    /* calls under way that send */
#define TOKEN_MAX 256     /* bytes */
#define CURSOR "offset"

enum phase { PHASE_ME, PHASE_WEBHOOK, PHASE_POLL, PHASE_FATAL };

struct telegram;

/* A send or an edit under way. */
struct sending {
    struct telegram *telegram;
    int64_t row;
    uint64_t exchange; /* 0: free */
    bool edits;
    char chat[CHANNEL_MAX_ID];
};

struct telegram {
    struct channel_adapter adapter;
    const struct channel_host *host;
    struct endpoint endpoint;
    char *token;
    enum phase phase;
    uint64_t call; /* of the phase, under way; 0: none */
    int64_t due_ms, began_ms, now_ms;
    unsigned failures; /* in a row */
    bool has_offset, rival_logged;
    bool
        is_troubled; /* the last poll failed: the next one does not wait, so that its end tells soon */
    int64_t offset;
    struct sending sendings[MAX_SENDING];
};

/* ---- requests ---------------------------------------------------------------------------------- */

/* Takes args. */
static int call_method(struct telegram *self, const char *method, json_t *args, int64_t timeout_ms,
                       bool fresh, http_client_fn *each, void *arg, uint64_t *out_id)
{
    char url[ENDPOINT_MAX_URL + TOKEN_MAX + 64];
    struct str body;
    str_init(&body, MAX_BODY);
    int size = snprintf(url, sizeof url, "%s/bot%s/%s", self->endpoint.url, self->token, method);
    int code = args && size > 0 && (size_t)size < sizeof url
                   ? json_print(args, JSON_STYLE_LINE, &body)
                   : ETHOS_NOMEM;
    const struct http_client_request request = {.url = url,
                                                .body = str_view(&body),
                                                .timeout_ms = timeout_ms,
                                                .is_loopback = self->endpoint.is_loopback,
                                                .fresh = fresh};
    if (code == ETHOS_OK)
        code = self->host->http->ops->start(self->host->http, &request, each, arg, out_id, NULL);
    explicit_bzero(url, sizeof url);
    str_release(&body);
    json_decref(args);
    return code;
}

/* What an answer says: result, or the error. Release it. */
struct reply {
    json_t *json;
    const json_t *result; /* NULL: it failed */
    int64_t error;        /* the platform's; 0: this is not an answer of the platform */
    int64_t wait_ms;
    const char *description;
    char moved_to[32]; /* the chat has this id now, or "" */
};

static void read_reply(const struct http_client_answer *answer, struct reply *out)
{
    *out = (struct reply){.description = ""};
    if (answer->status == 0 ||
        json_parse_most(answer->body, HTTP_CLIENT_MAX_BODY, "answer", &out->json, NULL) != ETHOS_OK)
        return;
    const json_t *parameters = json_object_get(out->json, "parameters");
    int64_t seconds = json_integer_value(json_object_get(parameters, "retry_after"));
    int64_t moved = json_integer_value(json_object_get(parameters, "migrate_to_chat_id"));
    if (json_is_true(json_object_get(out->json, "ok"))) {
        out->result = json_object_get(out->json, "result");
        return;
    }
    out->error = json_integer_value(json_object_get(out->json, "error_code"));
    out->wait_ms = 1000 * (seconds < 0 ? 0 : seconds > MAX_WAIT_S ? MAX_WAIT_S : seconds);
    if (moved != 0)
        snprintf(out->moved_to, sizeof out->moved_to, "%" PRId64, moved);
    const char *text = json_string_value(json_object_get(out->json, "description"));
    out->description = text ? text : "";
}

static bool reply_says(const struct reply *reply, const char *words)
{
    return strcasestr(reply->description, words) != NULL;
}

/* ---- waiting ----------------------------------------------------------------------------------- */

/* Anywhere up to most, so that many that were cut off at once do not come back at once. */
static int64_t jitter_ms(int64_t least, int64_t most)
{
    uint32_t random = 0;
    os_random(&random, sizeof random);
    return least + (int64_t)(random % (uint64_t)(most - least + 1));
}

static void wait_and_retry(struct telegram *self, int64_t least_ms)
{
    unsigned power = self->failures < 6 ? self->failures : 6;
    int64_t most = (int64_t)BACKOFF_MIN_MS << power;
    most = most > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : most;
    self->failures++;
    self->due_ms = self->now_ms + jitter_ms(least_ms, most > least_ms ? most : least_ms);
}

static void end_for_good(struct telegram *self, const char *why)
{
    self->phase = PHASE_FATAL;
    self->host->state(self->host->arg, CHANNEL_FATAL, why);
}

/* Whatever the call was for, these mean the same. */
static void handle_failure(struct telegram *self, const struct http_client_answer *answer,
                           const struct reply *reply)
{
    self->is_troubled = true;
    if (reply->error == 401 || reply->error == 404) {
        end_for_good(self, "Telegram does not accept the token; put the one that @BotFather shows "
                           "into TELEGRAM_BOT_TOKEN of keys.yaml");
    } else if (reply->error == 409 && reply_says(reply, "webhook")) {
        self->phase = PHASE_WEBHOOK;
        self->due_ms = self->now_ms;
    } else if (reply->error == 409) {
        if (!self->rival_logged)
            self->host->state(self->host->arg, CHANNEL_DOWN,
                              "another program polls with this token; end it, or revoke the token");
        self->rival_logged = true;
        self->due_ms = self->now_ms + jitter_ms(RIVAL_MIN_MS, BACKOFF_MAX_MS);
    } else if (reply->error == 429) {
        self->due_ms = self->now_ms + (reply->wait_ms > 0 ? reply->wait_ms : BACKOFF_MIN_MS);
    } else {
        char why[128];
        snprintf(why, sizeof why, "%s",
                 answer->status ? "Telegram does not answer as it should" : answer->problem);
        self->host->state(self->host->arg, CHANNEL_DOWN, why);
        wait_and_retry(self, 0);
    }
}

/* ---- messages ---------------------------------------------------------------------------------- */

/* Texts of one message, as long as the batch. */
struct held {
    char chat[32], thread[32], msg[32], sender[32], name[CHANNEL_MAX_ID];
    struct str text;
};

static void copy_id(const json_t *value, char out[32])
{
    *out = '\0';
    if (json_is_integer(value))
        snprintf(out, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

static void copy_name(const json_t *from, char *out, size_t size)
{
    struct ethos_view first = json_view(from, "first_name"), last = json_view(from, "last_name");
    size_t most = size / 2 - 2;
    snprintf(out, size, "%.*s%s%.*s", (int)utf8_head(first, most / 4), first.data ? first.data : "",
             last.size > 0 ? " " : "", (int)utf8_head(last, most / 4), last.data ? last.data : "");
}

/* The piece of a text that an entity is, which counts UTF-16 code units. */
static struct ethos_view entity_text(struct ethos_view text, const json_t *entity)
{
    int64_t offset = json_integer_value(json_object_get(entity, "offset"));
    int64_t length = json_integer_value(json_object_get(entity, "length"));
    if (offset < 0 || length <= 0 || offset > INT32_MAX || length > INT32_MAX)
        return (struct ethos_view){0};
    struct ethos_view rest = view_from(text, utf8_head(text, (uint64_t)offset));
    return view_of(rest.data, utf8_head(rest, (uint64_t)length));
}

static bool is_us(const struct telegram *self, const json_t *user)
{
    char id[32];
    copy_id(json_object_get(user, "id"), id);
    return *id && strcmp(id, self->adapter.bot) == 0;
}

static bool is_our_name(const struct telegram *self, struct ethos_view name)
{
    return view_eq_nocase(name, view_str(self->adapter.name));
}

/* A command names its bot behind an @, or is for every bot of the chat. */
static bool is_our_command(const struct telegram *self, struct ethos_view command)
{
    const char *at = command.size > 0 ? memchr(command.data, '@', command.size) : NULL;
    return !at || is_our_name(self, view_from(command, (size_t)(at - command.data) + 1));
}

static bool entity_means_us(const struct telegram *self, struct ethos_view text,
                            const json_t *entity)
{
    struct ethos_view type = json_view(entity, "type"), piece = entity_text(text, entity);
    if (view_eq_str(type, "mention"))
        return piece.size > 1 && is_our_name(self, view_from(piece, 1));
    if (view_eq_str(type, "text_mention"))
        return is_us(self, json_object_get(entity, "user"));
    return view_eq_str(type, "bot_command") && piece.size > 1 && is_our_command(self, piece);
}

static bool is_addressed(const struct telegram *self, const json_t *message, struct ethos_view text,
                         const json_t *entities)
{
    size_t index;
    json_t *entity;
    json_array_foreach ((json_t *)entities, index, entity)
        if (entity_means_us(self, text, entity))
            return true;
    return is_us(self, json_object_get(json_object_get(message, "reply_to_message"), "from"));
}

/* "/new@our_bot" is "/new"; a command of another bot is no text for us. False: that is what it is. */
static bool add_text(const struct telegram *self, struct ethos_view text, struct str *out)
{
    if (text.size > 0 && *text.data == '/') {
        size_t size = 0;
        while (size < text.size && !memchr(" \n\t", text.data[size], 3))
            size++;
        struct ethos_view command = view_of(text.data, size);
        const char *at = memchr(command.data, '@', size);
        if (!is_our_command(self, command))
            return false;
        str_add(out, view_of(text.data, at ? (size_t)(at - text.data) : size));
        text = view_from(text, size);
    }
    str_add(out, text);
    return true;
}

static bool has_files(const json_t *message)
{
    static const char *const kinds[] = {"photo", "document",   "audio",   "voice",
                                        "video", "video_note", "sticker", "animation"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (json_object_get(message, kinds[i]))
            return true;
    return false;
}

/* False: not a message that anybody could answer. */
static bool read_message(const struct telegram *self, const json_t *message, bool edited,
                         struct held *held, struct channel_message *out)
{
    const json_t *chat = json_object_get(message, "chat"), *from = json_object_get(message, "from");
    bool captioned = !json_object_get(message, "text");
    struct ethos_view text = json_view(message, captioned ? "caption" : "text");
    const json_t *entities = json_object_get(message, captioned ? "caption_entities" : "entities");
    copy_id(json_object_get(chat, "id"), held->chat);
    copy_id(json_object_get(message, "message_id"), held->msg);
    copy_id(json_object_get(from, "id"), held->sender);
    *held->thread = '\0';
    if (json_is_true(json_object_get(message, "is_topic_message")))
        copy_id(json_object_get(message, "message_thread_id"), held->thread);
    copy_name(from, held->name, sizeof held->name);
    bool files = has_files(message);
    // who writes as a group or a channel is nobody in particular
    if (!*held->chat || !*held->msg || !*held->sender || json_object_get(message, "sender_chat") ||
        (text.size == 0 && !files) || !add_text(self, text, &held->text))
        return false;
    bool direct = view_eq_str(json_view(chat, "type"), "private");
    *out = (struct channel_message){
        .chat = held->chat,
        .thread = held->thread,
        .msg = held->msg,
        .sender = held->sender,
        .name = held->name,
        .text = held->text.data,
        .time_ms = channel_time_ms(json_integer_value(json_object_get(message, "date"))),
        .direct = direct,
        .addressed = direct || is_addressed(self, message, text, entities),
        .edited = edited,
        .bot = json_is_true(json_object_get(from, "is_bot")),
        .verified = true,
        .has_files = files};
    return true;
}

static void ignore_answer(void *arg, const struct http_client_answer *answer)
{
    (void)arg, (void)answer;
}

/* Whoever pressed a button waits for a sign; we show none, but old messages may have some. */
static void answer_button(struct telegram *self, const json_t *query)
{
    uint64_t id;
    const char *name = json_string_value(json_object_get(query, "id"));
    if (name)
        call_method(self, "answerCallbackQuery", json_pack("{s:s}", "callback_query_id", name),
                    CALL_MS, true, ignore_answer, NULL, &id);
}

/* The updates are recorded together with where the next poll begins, or not at all. */
static bool record_updates(struct telegram *self, const json_t *updates)
{
    char value[32];
    size_t count = 0, index, most = json_array_size(updates);
    json_t *update;
    int64_t last = self->offset;
    struct held *held = calloc(most, sizeof *held);
    struct channel_message *messages = calloc(most, sizeof *messages);
    json_array_foreach ((json_t *)updates, index, update) {
        const json_t *message = json_object_get(update, "message");
        const json_t *edited = json_object_get(update, "edited_message");
        last = json_integer_value(json_object_get(update, "update_id")) + 1;
        if (!held || !messages)
            continue;
        str_init(&held[count].text, CHANNEL_MAX_TEXT);
        if (json_object_get(update, "callback_query"))
            answer_button(self, json_object_get(update, "callback_query"));
        if ((message || edited) && read_message(self, message ? message : edited, !message,
                                                &held[count], &messages[count]))
            count++;
        else
            str_release(&held[count].text);
    }
    snprintf(value, sizeof value, "%" PRId64, last);
    const struct channel_batch batch = {messages, count, CURSOR, value};
    bool recorded = held && messages && self->host->received(self->host->arg, &batch) == ETHOS_OK;
    for (size_t i = 0; i < count; i++)
        str_release(&held[i].text);
    free(held);
    free(messages);
    if (recorded) {
        self->has_offset = true;
        self->offset = last;
    }
    return recorded;
}

/* ---- phases ------------------------------------------------------------------------------------ */

static void receive_me(void *arg, const struct http_client_answer *answer)
{
    struct telegram *self = arg;
    struct reply reply;
    self->call = 0;
    read_reply(answer, &reply);
    const char *name = json_string_value(json_object_get(reply.result, "username"));
    if (reply.result && name) {
        copy_id(json_object_get(reply.result, "id"), self->adapter.bot);
        snprintf(self->adapter.name, sizeof self->adapter.name, "%s", name);
        self->phase = PHASE_WEBHOOK;
        self->due_ms = self->now_ms;
        self->failures = 0;
    } else {
        handle_failure(self, answer, &reply);
    }
    json_decref(reply.json);
}

static void receive_webhook(void *arg, const struct http_client_answer *answer)
{
    struct telegram *self = arg;
    struct reply reply;
    self->call = 0;
    read_reply(answer, &reply);
    if (reply.result) {
        self->phase = PHASE_POLL;
        self->due_ms = self->now_ms;
        self->host->state(self->host->arg, CHANNEL_UP, NULL);
    } else {
        handle_failure(self, answer, &reply);
    }
    json_decref(reply.json);
}

static void receive_updates(void *arg, const struct http_client_answer *answer)
{
    struct telegram *self = arg;
    struct reply reply;
    self->call = 0;
    read_reply(answer, &reply);
    if (json_is_array(reply.result)) {
        self->failures = 0;
        self->is_troubled = self->rival_logged = false;
        self->host->state(self->host->arg, CHANNEL_UP, NULL);
        self->due_ms = self->now_ms;
        if (json_array_size(reply.result) == 0 && self->due_ms < self->began_ms + EMPTY_MS)
            self->due_ms = self->began_ms + EMPTY_MS; // a server that does not wait
        if (json_array_size(reply.result) > 0 && !record_updates(self, reply.result))
            wait_and_retry(self, BACKOFF_MIN_MS); // they come again
    } else {
        handle_failure(self, answer, &reply);
    }
    json_decref(reply.json);
}

static json_t *poll_args(const struct telegram *self)
{
    json_t *args = json_pack("{s:i, s:i, s:[s,s,s,s]}", "timeout",
                             self->is_troubled ? 0 : POLL_SECONDS, "limit", MAX_UPDATES,
                             "allowed_updates", "message", "edited_message", "callback_query",
                             "my_chat_member");
    if (self->has_offset && args)
        json_object_set_new(args, "offset", json_integer(self->offset));
    return args;
}

static void begin_phase(struct telegram *self)
{
    int code = ETHOS_OK;
    self->began_ms = self->now_ms;
    switch (self->phase) {
    case PHASE_ME:
        code = call_method(self, "getMe", json_object(), CALL_MS, false, receive_me, self,
                           &self->call);
        break;
    case PHASE_WEBHOOK:
        code = call_method(self, "deleteWebhook", json_object(), CALL_MS, false, receive_webhook,
                           self, &self->call);
        break;
    case PHASE_POLL:
        code = call_method(self, "getUpdates", poll_args(self), POLL_MS, false, receive_updates,
                           self, &self->call);
        break;
    case PHASE_FATAL:
        return;
    }
    if (code != ETHOS_OK)
        wait_and_retry(self, BACKOFF_MIN_MS);
}

static int64_t step(struct channel_adapter *adapter, int64_t now_ms)
{
    struct telegram *self = (struct telegram *)adapter;
    self->now_ms = now_ms;
    if (self->call == 0 && self->phase != PHASE_FATAL && now_ms >= self->due_ms)
        begin_phase(self);
    return self->call != 0 || self->phase == PHASE_FATAL ? INT64_MAX : self->due_ms;
}

static void woken(struct channel_adapter *adapter)
{
    struct telegram *self = (struct telegram *)adapter;
    self->host->http->ops->cancel(self->host->http, self->call);
    self->call = 0;
    self->failures = 0;
    self->due_ms = self->now_ms;
}

/* ---- sending ----------------------------------------------------------------------------------- */

static void report_sent(struct sending *sending, const struct channel_sent *sent)
{
    const struct channel_host *host = sending->telegram->host;
    int64_t row = sending->row;
    sending->exchange = 0;
    host->sent(host->arg, row, sent);
}

static void move_chat(const struct sending *sending, const char *to)
{
    const struct channel_host *host = sending->telegram->host;
    host->renamed(host->arg, sending->chat, to);
}

/* What the answer of sendMessage or editMessageText says about the message. */
static void receive_sent(void *arg, const struct http_client_answer *answer)
{
    struct sending *sending = arg;
    struct channel_sent sent = {.result = CHANNEL_UNKNOWN};
    struct reply reply;
    char remote[32] = "", problem[256];
    read_reply(answer, &reply);
    copy_id(json_object_get(reply.result, "message_id"), remote);
    snprintf(problem, sizeof problem, "%.200s",
             *reply.description ? reply.description
             : answer->problem  ? answer->problem
                                : "");
    sent.problem = problem;
    if (reply.result && (*remote || sending->edits)) {
        sent.result = CHANNEL_SENT;
        sent.remote = *remote ? remote : NULL;
    } else if (!answer->has_left) {
        sent.result = CHANNEL_NOT_SENT;
    } else if (reply.error == 429) {
        sent.result = CHANNEL_LATER;
        sent.wait_ms = reply.wait_ms > 0 ? reply.wait_ms : BACKOFF_MIN_MS;
    } else if (*reply.moved_to) {
        move_chat(sending, reply.moved_to);
        sent.result = CHANNEL_NOT_SENT;
    } else if (reply.error == 400 && sending->edits && reply_says(&reply, "not modified")) {
        sent.result = CHANNEL_SENT;
    } else if (reply.error == 403 || (reply.error == 400 && sending->edits &&
                                      reply_says(&reply, "message to edit not found"))) {
        sent.result = reply.error == 403 ? CHANNEL_REFUSED : CHANNEL_GONE;
    } else if (reply.error >= 400 && reply.error < 500) {
        sent.result = CHANNEL_REFUSED;
    }
    report_sent(sending, &sent);
    json_decref(reply.json);
}

static struct sending *find_free(struct telegram *self)
{
    for (size_t i = 0; i < MAX_SENDING; i++)
        if (self->sendings[i].exchange == 0)
            return &self->sendings[i];
    return NULL;
}

/* Takes args. */
static void start_sending(struct telegram *self, const char *method, json_t *args,
                          const struct channel_outgoing *outgoing, bool edits)
{
    struct sending *sending = find_free(self);
    int code = ETHOS_LIMIT;
    if (sending) {
        *sending = (struct sending){.telegram = self, .row = outgoing->row, .edits = edits};
        snprintf(sending->chat, sizeof sending->chat, "%s", outgoing->chat);
        code = call_method(self, method, args, CALL_MS, true, receive_sent, sending,
                           &sending->exchange);
    } else {
        json_decref(args);
    }
    if (code != ETHOS_OK)
        self->host->sent(self->host->arg, outgoing->row,
                         &(struct channel_sent){.result = CHANNEL_NOT_SENT,
                                                .problem = "the request cannot be made"});
}

static void add_number(json_t *args, const char *name, const char *text)
{
    if (text && *text && args)
        json_object_set_new(args, name, json_integer(strtoll(text, NULL, 10)));
}

static void send_text(struct channel_adapter *adapter, const struct channel_outgoing *outgoing)
{
    json_t *args = json_pack("{s:o, s:{s:b}}", "text", json_text(outgoing->text),
                             "link_preview_options", "is_disabled", 1);
    add_number(args, "chat_id", outgoing->chat);
    add_number(args, "message_thread_id", outgoing->thread);
    if (outgoing->reply_to && *outgoing->reply_to && args) {
        json_t *reply = json_pack("{s:b}", "allow_sending_without_reply", 1);
        add_number(reply, "message_id", outgoing->reply_to);
        json_object_set_new(args, "reply_parameters", reply);
    }
    start_sending((struct telegram *)adapter, "sendMessage", args, outgoing, false);
}

static void edit_text(struct channel_adapter *adapter, const struct channel_outgoing *outgoing)
{
    json_t *args = json_pack("{s:o, s:{s:b}}", "text", json_text(outgoing->text),
                             "link_preview_options", "is_disabled", 1);
    add_number(args, "chat_id", outgoing->chat);
    add_number(args, "message_id", outgoing->remote);
    start_sending((struct telegram *)adapter, "editMessageText", args, outgoing, true);
}

static void show_typing(struct channel_adapter *adapter, const char *chat, const char *thread)
{
    uint64_t id;
    json_t *args = json_pack("{s:s}", "action", "typing");
    add_number(args, "chat_id", chat);
    add_number(args, "message_thread_id", thread);
    call_method((struct telegram *)adapter, "sendChatAction", args, CALL_MS, true, ignore_answer,
                NULL, &id);
}

/* ---- the adapter ------------------------------------------------------------------------------- */

static void close_adapter(struct channel_adapter *adapter)
{
    struct telegram *self = (struct telegram *)adapter;
    if (!self)
        return;
    self->host->http->ops->cancel(self->host->http, self->call);
    for (size_t i = 0; i < MAX_SENDING; i++)
        self->host->http->ops->cancel(self->host->http, self->sendings[i].exchange);
    if (self->token)
        explicit_bzero(self->token, strlen(self->token));
    free(self->token);
    free(self);
}

static bool is_token(const char *token)
{
    return *token && strlen(token) <= TOKEN_MAX &&
           strspn(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-:") ==
               strlen(token);
}

static int open_adapter(const struct channel_setup *setup, struct channel_adapter **out,
                        struct ethos_error *error)
{
    char cursor[CHANNEL_MAX_CURSOR];
    if (!is_token(setup->secrets[0])) {
        int code = err_set(error, ETHOS_DENIED, "TELEGRAM_BOT_TOKEN is not the token of a bot");
        return err_hint(error, code, "@BotFather shows it: 123456:ABC-DEF...");
    }
    struct telegram *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->adapter.ops = &telegram_ops;
    self->host = setup->host;
    self->token = strdup(setup->secrets[0]);
    int code = self->token ? endpoint_parse(setup->settings && *setup->settings->api_root
                                                ? setup->settings->api_root
                                                : API_ROOT,
                                            443, NULL, &self->endpoint, error)
                           : err_nomem(error);
    if (code == ETHOS_OK)
        code = setup->host->cursor(setup->host->arg, CURSOR, cursor);
    if (code != ETHOS_OK) {
        close_adapter(&self->adapter);
        return code;
    }
    self->has_offset = *cursor;
    self->offset = strtoll(cursor, NULL, 10);
    *out = &self->adapter;
    return ETHOS_OK;
}

static const struct channel_limits limits = {.text = 4096,
                                             .chat_ms = 1000,
                                             .group_ms = 3000,
                                             .all_ms = 40,
                                             .edit_ms = 1500,
                                             .group_edit_ms = 4000,
                                             .typing_ms = 4000};

const struct channel_adapter_ops telegram_ops = {.platform = PLATFORM,
                                                 .limits = &limits,
                                                 .open = open_adapter,
                                                 .close = close_adapter,
                                                 .step = step,
                                                 .send = send_text,
                                                 .edit = edit_text,
                                                 .typing = show_typing,
                                                 .woken = woken};
