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

#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "gateway/adapters/platform_api.h"

#define PLATFORM "telegram"
#define API_ROOT "https://api.telegram.org"
#define POLL_SECONDS 50   /* that the platform waits for an update */
#define POLL_MS 65000     /* that we wait for its answer */
#define EMPTY_MS 1000     /* between two polls that bring nothing */
#define RIVAL_MIN_MS 5000 /* after another program has polled with our token */
#define RIVAL_FAILURES 6  /* the longest back-off */
#define MAX_UPDATES 100   /* of one answer, as the platform has it */
#define MAX_WAIT_S 604800 /* that we believe of retry_after */
#define CURSOR "offset"

enum telegram_phase { PHASE_ME, PHASE_WEBHOOK, PHASE_POLL, PHASE_FATAL };

struct telegram {
    struct platform_api api;
    enum telegram_phase phase;
    int64_t began_ms;
    bool has_offset, rival_logged;
    bool is_troubled; /* the last poll failed; the next one returns at once, to test it */
    int64_t offset;
};

/* ---- requests ---------------------------------------------------------------------------------- */

/* What an answer says: result, or the error. Release it. */
struct telegram_reply {
    json_t *json;
    const json_t *result; /* NULL: it failed */
    int64_t error;        /* the platform's; 0: this is not an answer of the platform */
    int64_t wait_ms;
    const char *description;
    char moved_to[32]; /* the chat has this id now, or "" */
};

static void read_telegram_reply(const struct http_client_answer *answer, struct telegram_reply *out)
{
    *out = (struct telegram_reply){.description = ""};
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

static bool has_description(const struct telegram_reply *reply, const char *words)
{
    return strcasestr(reply->description, words) != NULL;
}

/* ---- waiting ----------------------------------------------------------------------------------- */

static void stop_telegram(struct telegram *self, const char *why)
{
    self->phase = PHASE_FATAL;
    api_set_state(&self->api, CHANNEL_FATAL, why);
}

/* Whatever the call was for, these mean the same. */
static void handle_telegram_failure(struct telegram *self, const struct http_client_answer *answer,
                                    const struct telegram_reply *reply)
{
    self->is_troubled = true;
    if (reply->error == 401 || reply->error == 404) {
        stop_telegram(self, "Telegram does not accept the token; put the one that @BotFather shows "
                            "into TELEGRAM_BOT_TOKEN of keys.yaml");
    } else if (reply->error == 409 && has_description(reply, "webhook")) {
        self->phase = PHASE_WEBHOOK;
        self->api.due_ms = self->api.now_ms;
    } else if (reply->error == 409) {
        if (!self->rival_logged)
            api_set_state(&self->api, CHANNEL_DOWN,
                          "another program polls with this token; end it, or revoke the token");
        self->rival_logged = true;
        self->api.due_ms = self->api.now_ms + RIVAL_MIN_MS + api_backoff_ms(RIVAL_FAILURES);
    } else if (reply->error == 429) {
        self->api.due_ms = self->api.now_ms +
                           (reply->wait_ms > 0 ? reply->wait_ms : API_BACKOFF_MIN_MS);
    } else {
        char why[128];
        snprintf(why, sizeof why, "%s",
                 answer->status ? "Telegram does not answer as it should" : answer->problem);
        api_set_state(&self->api, CHANNEL_DOWN, why);
        api_retry_later(&self->api, 0);
    }
}

/* ---- messages ---------------------------------------------------------------------------------- */

/* Texts of one message, as long as the batch. */
struct message_texts {
    char chat[32], thread[32], msg[32], sender[32], name[CHANNEL_MAX_ID];
    struct str text;
};

static void copy_number(const json_t *value, char out[32])
{
    *out = '\0';
    if (json_is_integer(value))
        snprintf(out, 32, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

static void copy_full_name(const json_t *from, char *out, size_t size)
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
    copy_number(json_object_get(user, "id"), id);
    return *id && strcmp(id, self->api.adapter.bot) == 0;
}

static bool is_our_name(const struct telegram *self, struct ethos_view name)
{
    return view_eq_nocase(name, view_str(self->api.adapter.name));
}

/* A command names its bot behind an @, or is for every bot of the chat. */
static bool is_our_command(const struct telegram *self, struct ethos_view command)
{
    const char *at = command.size > 0 ? memchr(command.data, '@', command.size) : NULL;
    return !at || is_our_name(self, view_from(command, (size_t)(at - command.data) + 1));
}

static bool is_entity_for_us(const struct telegram *self, struct ethos_view text,
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
        if (is_entity_for_us(self, text, entity))
            return true;
    return is_us(self, json_object_get(json_object_get(message, "reply_to_message"), "from"));
}

/* "/new@our_bot" is "/new"; a command of another bot is no text for us. False: that is what it is. */
static bool append_addressed_text(const struct telegram *self, struct ethos_view text,
                                  struct str *out)
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
static bool read_telegram_message(const struct telegram *self, const json_t *message, bool edited,
                                  struct message_texts *held, struct channel_message *out)
{
    const json_t *chat = json_object_get(message, "chat"), *from = json_object_get(message, "from");
    bool captioned = !json_object_get(message, "text");
    struct ethos_view text = json_view(message, captioned ? "caption" : "text");
    const json_t *entities = json_object_get(message, captioned ? "caption_entities" : "entities");
    copy_number(json_object_get(chat, "id"), held->chat);
    copy_number(json_object_get(message, "message_id"), held->msg);
    copy_number(json_object_get(from, "id"), held->sender);
    *held->thread = '\0';
    if (json_is_true(json_object_get(message, "is_topic_message")))
        copy_number(json_object_get(message, "message_thread_id"), held->thread);
    copy_full_name(from, held->name, sizeof held->name);
    bool files = has_files(message);
    // who writes as a group or a channel is nobody in particular
    if (!*held->chat || !*held->msg || !*held->sender || json_object_get(message, "sender_chat") ||
        (text.size == 0 && !files) || !append_addressed_text(self, text, &held->text))
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

/* Whoever pressed a button waits for a sign; we show none, but old messages may have some. */
static void answer_button(struct telegram *self, const json_t *query)
{
    uint64_t id;
    const char *name = json_string_value(json_object_get(query, "id"));
    if (name)
        api_start(&self->api,
                  &(struct api_call){.path = "/answerCallbackQuery",
                                     .body = json_pack("{s:s}", "callback_query_id", name),
                                     .fresh = true},
                  api_ignore_answer, NULL, &id);
}

/* The updates are recorded together with where the next poll begins, or not at all. */
static bool record_updates(struct telegram *self, const json_t *updates)
{
    char value[32];
    size_t count = 0, index, most = json_array_size(updates);
    json_t *update;
    int64_t last = self->offset;
    struct message_texts *held = calloc(most, sizeof *held);
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
        if ((message || edited) && read_telegram_message(self, message ? message : edited, !message,
                                                         &held[count], &messages[count]))
            count++;
        else
            str_release(&held[count].text);
    }
    snprintf(value, sizeof value, "%" PRId64, last);
    const struct channel_batch batch = {messages, count, CURSOR, value};
    bool recorded = held && messages &&
                    self->api.host->received(self->api.host->arg, &batch) == ETHOS_OK;
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
    struct telegram_reply reply;
    self->api.call = 0;
    read_telegram_reply(answer, &reply);
    const char *name = json_string_value(json_object_get(reply.result, "username"));
    if (reply.result && name) {
        copy_number(json_object_get(reply.result, "id"), self->api.adapter.bot);
        snprintf(self->api.adapter.name, sizeof self->api.adapter.name, "%s", name);
        self->phase = PHASE_WEBHOOK;
        self->api.due_ms = self->api.now_ms;
        self->api.failures = 0;
    } else {
        handle_telegram_failure(self, answer, &reply);
    }
    json_decref(reply.json);
}

static void receive_webhook(void *arg, const struct http_client_answer *answer)
{
    struct telegram *self = arg;
    struct telegram_reply reply;
    self->api.call = 0;
    read_telegram_reply(answer, &reply);
    if (reply.result) {
        self->phase = PHASE_POLL;
        self->api.due_ms = self->api.now_ms;
        api_set_state(&self->api, CHANNEL_UP, NULL);
    } else {
        handle_telegram_failure(self, answer, &reply);
    }
    json_decref(reply.json);
}

static void receive_updates(void *arg, const struct http_client_answer *answer)
{
    struct telegram *self = arg;
    struct telegram_reply reply;
    self->api.call = 0;
    read_telegram_reply(answer, &reply);
    if (json_is_array(reply.result)) {
        self->api.failures = 0;
        self->is_troubled = self->rival_logged = false;
        api_set_state(&self->api, CHANNEL_UP, NULL);
        self->api.due_ms = self->api.now_ms;
        if (json_array_size(reply.result) == 0 && self->api.due_ms < self->began_ms + EMPTY_MS)
            self->api.due_ms = self->began_ms + EMPTY_MS; // a server that does not wait
        if (json_array_size(reply.result) > 0 && !record_updates(self, reply.result))
            api_retry_later(&self->api, API_BACKOFF_MIN_MS); // they come again
    } else {
        handle_telegram_failure(self, answer, &reply);
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

static void start_phase_call(struct telegram *self)
{
    const struct {
        const char *path;
        http_client_fn *receive;
    } calls[] = {[PHASE_ME] = {"/getMe", receive_me},
                 [PHASE_WEBHOOK] = {"/deleteWebhook", receive_webhook},
                 [PHASE_POLL] = {"/getUpdates", receive_updates}};
    bool polls = self->phase == PHASE_POLL;
    const struct api_call call = {.path = calls[self->phase].path,
                                  .body = polls ? poll_args(self) : json_object(),
                                  .timeout_ms = polls ? POLL_MS : 0};
    self->began_ms = self->api.now_ms;
    if (api_start(&self->api, &call, calls[self->phase].receive, self, &self->api.call) != ETHOS_OK)
        api_retry_later(&self->api, API_BACKOFF_MIN_MS);
}

static int64_t step_telegram(struct channel_adapter *adapter, int64_t now_ms)
{
    struct telegram *self = (struct telegram *)adapter;
    self->api.now_ms = now_ms;
    if (self->api.call == 0 && self->phase != PHASE_FATAL && now_ms >= self->api.due_ms)
        start_phase_call(self);
    return self->api.call != 0 || self->phase == PHASE_FATAL ? INT64_MAX : self->api.due_ms;
}

static void wake_telegram(struct channel_adapter *adapter)
{
    api_restart((struct platform_api *)adapter);
}

/* ---- sending ----------------------------------------------------------------------------------- */

/* What the answer of sendMessage or editMessageText says about the message. */
static void receive_telegram_sent(void *arg, const struct http_client_answer *answer)
{
    struct api_send *send = arg;
    struct channel_sent sent = {.result = CHANNEL_UNKNOWN};
    struct telegram_reply reply;
    char remote[32] = "", problem[256];
    read_telegram_reply(answer, &reply);
    copy_number(json_object_get(reply.result, "message_id"), remote);
    snprintf(problem, sizeof problem, "%.200s",
             *reply.description ? reply.description
             : answer->problem  ? answer->problem
                                : "");
    sent.problem = problem;
    if (reply.result && (*remote || (send->kind == API_EDIT))) {
        sent.result = CHANNEL_SENT;
        sent.remote = *remote ? remote : NULL;
    } else if (!answer->has_left) {
        sent.result = CHANNEL_NOT_SENT;
    } else if (reply.error == 429) {
        sent.result = CHANNEL_LATER;
        sent.wait_ms = reply.wait_ms > 0 ? reply.wait_ms : API_BACKOFF_MIN_MS;
    } else if (*reply.moved_to) {
        send->api->host->renamed(send->api->host->arg, send->chat, reply.moved_to);
        sent.result = CHANNEL_NOT_SENT;
    } else if (reply.error == 400 && (send->kind == API_EDIT) &&
               has_description(&reply, "not modified")) {
        sent.result = CHANNEL_SENT;
    } else if (reply.error == 403 || (reply.error == 400 && (send->kind == API_EDIT) &&
                                      has_description(&reply, "message to edit not found"))) {
        sent.result = reply.error == 403 ? CHANNEL_REFUSED : CHANNEL_GONE;
    } else if (reply.error >= 400 && reply.error < 500) {
        sent.result = CHANNEL_REFUSED;
    }
    api_finish_send(send, &sent);
    json_decref(reply.json);
}

static void add_number_member(json_t *args, const char *name, const char *text)
{
    if (text && *text && args)
        json_object_set_new(args, name, json_integer(strtoll(text, NULL, 10)));
}

static void send_to_telegram(struct channel_adapter *adapter,
                             const struct channel_outgoing *outgoing)
{
    json_t *args = json_pack("{s:o, s:{s:b}}", "text", json_text(outgoing->text),
                             "link_preview_options", "is_disabled", 1);
    add_number_member(args, "chat_id", outgoing->chat);
    add_number_member(args, "message_thread_id", outgoing->thread);
    if (outgoing->reply_to && *outgoing->reply_to && args) {
        json_t *reply = json_pack("{s:b}", "allow_sending_without_reply", 1);
        add_number_member(reply, "message_id", outgoing->reply_to);
        json_object_set_new(args, "reply_parameters", reply);
    }
    api_start_send((struct platform_api *)adapter,
                   &(struct api_call){.path = "/sendMessage", .body = args}, outgoing, API_SEND,
                   receive_telegram_sent);
}

static void edit_in_telegram(struct channel_adapter *adapter,
                             const struct channel_outgoing *outgoing)
{
    json_t *args = json_pack("{s:o, s:{s:b}}", "text", json_text(outgoing->text),
                             "link_preview_options", "is_disabled", 1);
    add_number_member(args, "chat_id", outgoing->chat);
    add_number_member(args, "message_id", outgoing->remote);
    api_start_send((struct platform_api *)adapter,
                   &(struct api_call){.path = "/editMessageText", .body = args}, outgoing, API_EDIT,
                   receive_telegram_sent);
}

static void show_telegram_typing(struct channel_adapter *adapter, const char *chat,
                                 const char *thread)
{
    uint64_t id;
    json_t *args = json_pack("{s:s}", "action", "typing");
    add_number_member(args, "chat_id", chat);
    add_number_member(args, "message_thread_id", thread);
    api_start((struct platform_api *)adapter,
              &(struct api_call){.path = "/sendChatAction", .body = args, .fresh = true},
              api_ignore_answer, NULL, &id);
}

/* ---- the adapter ------------------------------------------------------------------------------- */

static void close_telegram(struct channel_adapter *adapter)
{
    api_close((struct platform_api *)adapter);
    free(adapter);
}

static const struct api_settings api_settings = {
    .ops = &telegram_ops, .root = API_ROOT, .path_prefix = "/bot"};

static int open_telegram(const struct channel_setup *setup, struct channel_adapter **out,
                         struct ethos_error *error)
{
    char cursor[CHANNEL_MAX_CURSOR];
    if (!api_is_token(setup->secrets[0], "", "_-:")) {
        int code = err_set(error, ETHOS_DENIED, "TELEGRAM_BOT_TOKEN is not the token of a bot");
        return err_hint(error, code, "@BotFather shows it: 123456:ABC-DEF...");
    }
    struct telegram *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    int code = api_open(&self->api, &api_settings, setup, error);
    if (code == ETHOS_OK)
        code = setup->host->cursor(setup->host->arg, CURSOR, cursor);
    if (code != ETHOS_OK) {
        close_telegram(&self->api.adapter);
        return code;
    }
    self->has_offset = *cursor;
    self->offset = strtoll(cursor, NULL, 10);
    *out = &self->api.adapter;
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
                                                 .open = open_telegram,
                                                 .close = close_telegram,
                                                 .step = step_telegram,
                                                 .send = send_to_telegram,
                                                 .edit = edit_in_telegram,
                                                 .typing = show_telegram_typing,
                                                 .woken = wake_telegram};
