/*
 * reception.c: a message that was received: who wrote it, and what becomes of it.
 *
 * All of a batch is recorded in one transaction, with how far the adapter has read. Nothing of somebody who may not
 * talk is kept but the number of the message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "gateway/internal.h"

#define OLD_MS 86400000 /* a message that is older is not answered by itself */
#define HOUR_MS 3600000
#define MAX_NAME 64   /* units of a speaker's name in a group */
#define MAX_LINE 1024 /* bytes of a line of ours */
#define FILE_NOTE "[A file came with this message. It cannot be read here.]"

struct reception {
    struct channel *channel;
    struct gateway *gateway;
    struct channel_db *db;
    const struct channel_message *message;
    char turn[CHANNEL_TURN_SIZE];
    struct contact contact; /* role "": nobody who may talk */
    struct ethos_error *error;
};

/* ---- what is recorded -------------------------------------------------------------------------- */

static int record_message(struct reception *self, const char *state, struct ethos_view text)
{
    const struct inbox_entry entry = {.adapter = self->channel->ops->platform,
                                      .turn = self->turn,
                                      .role = self->contact.role,
                                      .state = state,
                                      .message = self->message,
                                      .text = text,
                                      .now_ms = self->gateway->now_ms};
    return inbox_add(self->db, &entry, self->error);
}

static int refuse_message(struct reception *self)
{
    return record_message(self, "refused", (struct ethos_view){0});
}

static int queue_line(struct reception *self, const char *kind, const char *text)
{
    char name[OUTBOX_MAX_TURN];
    const struct channel_message *message = self->message;
    const struct channel_place place = {
        .adapter = self->channel->ops->platform,
        .chat = message->chat,
        .thread = message->thread,
        .direct = message->direct,
        .reply_to = self->channel->ops->limits->replies ? message->msg : NULL,
        .subject = message->subject};
    snprintf(name, sizeof name, "%s:%s", kind, self->turn);
    return gateway_queue_line(self->gateway, &place, name, view_str(text), self->error);
}

/* Who speaks, in a group; further lines are indented, so that nobody speaks for somebody else. */
static void append_speaker(const struct channel_message *message, struct str *out)
{
    struct ethos_view name = view_str(message->name);
    name.size = utf8_head(name, MAX_NAME);
    for (size_t i = 0; i < name.size; i++)
        if ((unsigned char)name.data[i] >= ' ' && !strchr("():\x7F", name.data[i]))
            str_addc(out, name.data[i]);
    str_printf(out, " (%s): ", message->sender);
}

static void append_message_lines(struct ethos_view text, bool indents, struct str *out)
{
    struct ethos_view line;
    for (bool first = true; view_line(&text, &line); first = false) {
        str_adds(out, first ? "" : indents ? "\n    " : "\n");
        str_add(out, line);
    }
}

/* The message as the model gets it. */
static int make_inbox_text(const struct channel_message *message, struct str *out)
{
    struct ethos_view text = view_trim(view_str(message->text));
    bool commands = text.size > 0 && *text.data == '/';
    text.size = utf8_head(text, CHANNEL_MAX_TEXT / 4);
    if (!message->direct && !commands)
        append_speaker(message, out);
    if (message->begins && !commands && message->subject && *message->subject)
        str_printf(out, "Subject: %s\n\n", message->subject);
    append_message_lines(text, !message->direct, out);
    if (message->has_files)
        str_printf(out, "%s" FILE_NOTE, text.size > 0 ? "\n\n" : "");
    return str_code(out);
}

/* ---- strangers --------------------------------------------------------------------------------- */

/* One more wrong code; they are counted for an hour. */
static void count_wrong_code(struct reception *self)
{
    struct contact *contact = &self->contact;
    if (contact->tries_ms + CODE_MS <= self->gateway->now_ms) {
        contact->tries = 0;
        contact->tries_ms = self->gateway->now_ms;
    }
    contact->tries++;
}

static bool has_tries_left(const struct reception *self)
{
    return self->contact.tries < CODE_MAX_TRIES ||
           self->contact.tries_ms + CODE_MS <= self->gateway->now_ms;
}

/* "CODE", or "/start CODE", which a link brings. */
static bool read_code(const char *text, char out[CODE_SIZE])
{
    struct ethos_view view = view_trim(view_str(text));
    if (view_starts(view, VIEW("/start ")))
        view = view_from(view, 7);
    return code_parse(view, out);
}

static int claim_ownership(struct reception *self, const char *code)
{
    char platform[CHANNEL_MAX_NAME], sender[CHANNEL_MAX_ID];
    const char *own = self->channel->ops->platform;
    int result = code_find(self->db, CODE_OWNER, code, self->gateway->now_ms, true, platform,
                           sender, self->error);
    if (result != ETHOS_OK)
        return result;
    if (strcmp(platform, own) != 0)
        return err_set(self->error, ETHOS_NOTFOUND, "the code is for %s", platform);
    result = link_owner(self->gateway->ethos, own, self->message->sender, self->error);
    snprintf(self->contact.role, sizeof self->contact.role, "%s", ROLE_OWNER);
    gateway_log(self->gateway, "%s: %s is the owner now", own, self->message->sender);
    if (result == ETHOS_OK)
        result = contact_store(self->db, &self->contact, self->error);
    if (result == ETHOS_OK)
        result = queue_line(self, "owner",
                            "You are the owner now. What you say here is answered with the "
                            "memory of this home. /help lists the commands.");
    return result == ETHOS_OK ? record_message(self, "answered", (struct ethos_view){0}) : result;
}

/* One line, then silence for a day. */
static int offer_pair_code(struct reception *self)
{
    char code[CODE_SIZE], line[MAX_LINE];
    struct contact *contact = &self->contact;
    int64_t now = self->gateway->now_ms;
    if (contact->told_ms + SILENCE_MS > now)
        return ETHOS_OK;
    int result = code_make(self->db, CODE_PAIR, contact->platform, contact->sender, now, code,
                           self->error);
    if (result == ETHOS_LIMIT)
        return ETHOS_OK; // too many strangers at once get nothing
    if (result != ETHOS_OK)
        return result;
    contact->told_ms = now;
    snprintf(line, sizeof line,
             "This is somebody's assistant, and you are not known here. Its owner can let you in "
             "with this code, within an hour: %s",
             code);
    gateway_log(self->gateway, "%s: somebody new wrote (%s); ethos gateway allow CODE lets them in",
                contact->platform, contact->sender);
    return queue_line(self, "stranger", line);
}

static int receive_stranger(struct reception *self)
{
    char code[CODE_SIZE];
    const struct channel_message *message = self->message;
    struct contact *contact = &self->contact;
    if (!message->direct || !message->verified)
        return refuse_message(self);
    snprintf(contact->adapter, sizeof contact->adapter, "%s", self->channel->ops->platform);
    snprintf(contact->chat, sizeof contact->chat, "%s", message->chat);
    if (read_code(message->text, code) && has_tries_left(self)) {
        int result = claim_ownership(self, code);
        if (result != ETHOS_NOTFOUND)
            return result;
        count_wrong_code(self);
    }
    int result = offer_pair_code(self);
    if (result == ETHOS_OK)
        result = contact_store(self->db, contact, self->error);
    return result == ETHOS_OK ? refuse_message(self) : result;
}

/* ---- people ------------------------------------------------------------------------------------ */

static int stop_turn(struct reception *self)
{
    int64_t dropped = 0;
    const struct channel_message *message = self->message;
    const char *thread = message->thread ? message->thread : "";
    int code = inbox_drop_waiting(self->db, self->channel->ops->platform, message->chat, thread,
                                  self->gateway->now_ms, &dropped, self->error);
    answering_abort(self->gateway, self->channel->ops->platform, message->chat, thread);
    if (code == ETHOS_OK)
        code = queue_line(self, "stop", "Stopped.");
    return code == ETHOS_OK ? record_message(self, "answered", (struct ethos_view){0}) : code;
}

static int allow_contact(struct reception *self, const char *code, const char *role, char *line,
                         size_t size)
{
    struct contact guest;
    int result = contact_allow(self->db, code, role, self->gateway->now_ms, &guest, self->error);
    if (result == ETHOS_OK)
        snprintf(line, size, "%s (%s %s) may talk now, as %s.", guest.name, guest.platform,
                 guest.sender, role);
    return result;
}

static int pair_contact(struct reception *self, struct ethos_view rest)
{
    char code[CODE_SIZE], line[MAX_LINE];
    struct ethos_error error = {0};
    size_t size = rest.size < CODE_SIZE - 1 ? rest.size : CODE_SIZE - 1;
    struct ethos_view role = view_trim(view_from(rest, size));
    const char *wanted = role.size == 0 || view_eq_str(role, ROLE_GUEST) ? ROLE_GUEST
                         : view_eq_str(role, ROLE_TRUSTED)               ? ROLE_TRUSTED
                                                                         : NULL;
    struct ethos_error *before = self->error;
    self->error = &error;
    int result = ETHOS_NOTFOUND;
    if (self->channel->ops->limits->no_pairing)
        snprintf(line, sizeof line,
                 "Not by mail. Run ethos gateway allow CODE, or say it elsewhere.");
    else if (!wanted || !code_parse(view_of(rest.data, size), code) || !self->message->direct)
        snprintf(line, sizeof line,
                 "Say it here, between the two of us: /pair CODE lets somebody "
                 "in as a guest, /pair CODE trusted with your memory.");
    else if ((result = allow_contact(self, code, wanted, line, sizeof line)) == ETHOS_NOTFOUND)
        snprintf(line, sizeof line, "%s; %s", error.text, error.hint);
    self->error = before;
    if (result != ETHOS_OK && result != ETHOS_NOTFOUND) {
        if (before)
            *before = error;
        return result;
    }
    result = queue_line(self, "pair", line);
    return result == ETHOS_OK ? record_message(self, "answered", (struct ethos_view){0}) : result;
}

/* Whether as many of a person, or in a thread, were answered as may be: two programs would never end. */
static int check_rate(struct reception *self, bool *out_over)
{
    const struct channel_limits *limits = self->channel->ops->limits;
    const char *platform = self->channel->ops->platform, *thread = self->message->thread;
    int64_t person = 0, in_thread = 0, now = self->gateway->now_ms;
    int code = ETHOS_OK;
    if (limits->person_hour > 0)
        code = channel_db_number(self->db, 0, &person, self->error,
                                 "SELECT count(*) FROM inbox WHERE adapter=?1 AND sender=?2"
                                 " AND received_ms>?3 AND state<>'refused'",
                                 "tti", platform, self->message->sender, now - HOUR_MS);
    if (code == ETHOS_OK && limits->thread_10min > 0)
        code = channel_db_number(self->db, 0, &in_thread, self->error,
                                 "SELECT count(*) FROM inbox WHERE adapter=?1 AND chat=?2"
                                 " AND thread=?3 AND received_ms>?4 AND state<>'refused'",
                                 "ttti", platform, self->message->chat, thread ? thread : "",
                                 now - HOUR_MS / 6);
    *out_over = (limits->person_hour > 0 && person >= limits->person_hour) ||
                (limits->thread_10min > 0 && in_thread >= limits->thread_10min);
    return code;
}

static int queue_message(struct reception *self)
{
    bool over;
    int limited = check_rate(self, &over);
    if (limited != ETHOS_OK || over)
        return limited == ETHOS_OK ? refuse_message(self) : limited;
    struct str text;
    int64_t waiting = 0;
    const struct channel_message *message = self->message;
    int code = inbox_waiting(self->db, self->channel->ops->platform, message->chat, message->thread,
                             &waiting, self->error);
    if (code == ETHOS_OK && waiting >= INBOX_MAX_WAITING) {
        code = queue_line(self, "busy",
                          "Too many messages wait here; this one is not answered. Send it "
                          "again later.");
        return code == ETHOS_OK ? refuse_message(self) : code;
    }
    if (code == ETHOS_OK && message->time_ms > 0 &&
        message->time_ms + OLD_MS < self->gateway->now_ms) {
        code = queue_line(self, "old",
                          "This message is more than a day old and was not answered. Send it "
                          "again if it still matters.");
        return code == ETHOS_OK ? refuse_message(self) : code;
    }
    str_init(&text, 2 * (size_t)CHANNEL_MAX_TEXT);
    if (code == ETHOS_OK && make_inbox_text(message, &text) != ETHOS_OK)
        code = err_nomem(self->error);
    if (code == ETHOS_OK)
        code = record_message(self, "new", str_view(&text));
    str_release(&text);
    return code;
}

static int receive_known(struct reception *self)
{
    const struct command *command = NULL;
    struct ethos_view rest;
    const struct channel_message *message = self->message;
    struct contact *contact = &self->contact;
    int code = ETHOS_OK;
    if (message->direct && strcmp(contact->chat, message->chat) != 0) {
        snprintf(contact->adapter, sizeof contact->adapter, "%s", self->channel->ops->platform);
        snprintf(contact->chat, sizeof contact->chat, "%s", message->chat);
        code = contact_store(self->db, contact, self->error);
    }
    if (code == ETHOS_OK && command_parse(view_str(message->text), &command, &rest) && command &&
        command->when == COMMAND_AT_ONCE && command_is_allowed(command, contact->role))
        return strcmp(command->name, "stop") == 0 ? stop_turn(self) : pair_contact(self, rest);
    return code == ETHOS_OK ? queue_message(self) : code;
}

/* ---- a batch ----------------------------------------------------------------------------------- */

/* A group that was renamed is the one that was allowed. */
static bool is_allowed_group(const struct reception *self)
{
    char name[CHANNEL_MAX_ID + 16], before[CHANNEL_MAX_CURSOR] = "";
    const struct channel_settings *settings = &self->channel->settings;
    snprintf(name, sizeof name, "alias:%s", self->message->chat);
    channel_db_cursor_read(self->db, self->channel->ops->platform, name, before, NULL);
    return channel_settings_allow(settings, self->message->chat) ||
           (self->message->space && channel_settings_allow(settings, self->message->space)) ||
           (*before && channel_settings_allow(settings, before));
}

static int find_contact(struct reception *self)
{
    const struct channel_message *message = self->message;
    struct contact *contact = &self->contact;
    int code = contact_read(self->db, self->channel->ops->platform, message->sender, contact,
                            self->error);
    if (code != ETHOS_NOTFOUND)
        return code;
    *contact = (struct contact){.since_ms = self->gateway->now_ms};
    snprintf(contact->platform, sizeof contact->platform, "%s", self->channel->ops->platform);
    snprintf(contact->sender, sizeof contact->sender, "%s", message->sender);
    snprintf(contact->name, sizeof contact->name, "%.*s",
             (int)utf8_head(view_str(message->name), MAX_NAME), message->name);
    return ETHOS_OK;
}

static int receive_new(struct reception *self)
{
    const struct channel_message *message = self->message;
    int code = find_contact(self);
    if (code != ETHOS_OK)
        return code;
    if (message->bot || !message->verified)
        return refuse_message(self); // also of somebody known: anybody can write the name
    if (!message->direct &&
        (!message->addressed || !*self->contact.role || !is_allowed_group(self)))
        return refuse_message(self);
    return *self->contact.role ? receive_known(self) : receive_stranger(self);
}

static int receive_message(struct reception *self)
{
    struct str text;
    char state[16];
    const struct channel_message *message = self->message;
    const char *adapter = self->channel->ops->platform;
    int code = inbox_find(self->db, adapter, message->chat, message->msg, state, self->error);
    if (code != ETHOS_OK)
        return code;
    if (!*state)
        return message->edited ? ETHOS_OK : receive_new(self);
    if (!message->edited || strcmp(state, "new") != 0)
        return ETHOS_OK; // it came before
    str_init(&text, 2 * (size_t)CHANNEL_MAX_TEXT);
    code = make_inbox_text(message, &text) == ETHOS_OK
               ? inbox_edit(self->db, adapter, message->chat, message->msg, text.data, self->error)
               : err_nomem(self->error);
    str_release(&text);
    return code;
}

/* A known command that begins with !, as text with a slash; NULL: it is none. free() it. */
static char *read_bang_command(const struct channel *channel, const char *text)
{
    const struct command *command = NULL;
    struct ethos_view rest;
    char *copy = channel->ops->limits->bang && *text == '!' ? strdup(text) : NULL;
    if (copy)
        *copy = '/';
    if (copy && command_parse(view_str(copy), &command, &rest) && command)
        return copy;
    free(copy);
    return NULL;
}

int reception_record(struct channel *channel, const struct channel_batch *batch,
                     struct ethos_error *error)
{
    struct gateway *gateway = channel->gateway;
    const char *platform = channel->ops->platform;
    int code = channel_db_begin(gateway->db, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; code == ETHOS_OK && i < batch->count; i++) {
        struct channel_message message = batch->messages[i];
        char *command = read_bang_command(channel, message.text);
        message.text = command ? command : message.text;
        struct reception self = {.channel = channel,
                                 .gateway = gateway,
                                 .db = gateway->db,
                                 .message = &message,
                                 .error = error};
        channel_turn_id(platform, channel->bot, message.chat, message.msg, self.turn);
        code = receive_message(&self);
        free(command);
    }
    if (code == ETHOS_OK && batch->cursor)
        code = channel_db_cursor_store(gateway->db, platform, batch->cursor, batch->value, error);
    return channel_db_end(gateway->db, code, error);
}
