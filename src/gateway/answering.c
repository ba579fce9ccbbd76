/*
 * answering.c: messages become turns, and outcomes rows of the outbox.
 *
 * A message is running from before its turn begins until its answer is in the outbox, so that a crash in between
 * starts the turn again under the same id.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/session.h"
#include "base/err.h"
#include "base/view.h"
#include "gateway/internal.h"
#include "gateway/split.h"

#define PREVIEW_MS 1500 /* after which the beginning of an answer is shown */
#define NEVER INT64_MAX
#define MAX_LINE 1024 /* bytes of a line of ours */
#define CUT_NOTE "\n\n[The answer is longer than a chat takes; the rest is in the conversation.]"

/* A turn that runs. */
struct running_turn {
    int64_t row; /* 0: free */
    struct channel *channel;
    char chat[CHANNEL_MAX_ID], thread[CHANNEL_MAX_ID], turn[CHANNEL_TURN_SIZE], msg[CHANNEL_MAX_ID];
    bool direct, is_command, has_preview;
    bool is_owner;                 /* who may know why something failed */
    int64_t preview_ms, typing_ms; /* when the next one is due */
    struct str text;
};

struct answering {
    struct running_turn running[TURN_THREADS];
};

int answering_open(struct gateway *self, struct ethos_error *error)
{
    self->answering = calloc(1, sizeof *self->answering);
    return self->answering ? ETHOS_OK : err_nomem(error);
}

static void release_running(struct running_turn *running)
{
    str_release(&running->text);
    *running = (struct running_turn){0};
}

void answering_close(struct gateway *self)
{
    for (size_t i = 0; self->answering && i < TURN_THREADS; i++)
        release_running(&self->answering->running[i]);
    free(self->answering);
}

static struct running_turn *find_running(struct gateway *self, int64_t row)
{
    for (size_t i = 0; i < TURN_THREADS; i++)
        if (self->answering->running[i].row == row)
            return &self->answering->running[i];
    return NULL;
}

void answering_abort(struct gateway *self, const char *adapter, const char *chat,
                     const char *thread)
{
    for (size_t i = 0; i < TURN_THREADS; i++) {
        const struct running_turn *running = &self->answering->running[i];
        if (running->row != 0 && strcmp(running->channel->ops->platform, adapter) == 0 &&
            strcmp(running->chat, chat) == 0 && strcmp(running->thread, thread) == 0)
            turn_threads_abort(self->turns, running->row);
    }
}

/* ---- what the chat has ------------------------------------------------------------------------- */

/* The chat that a conversation began in, should the platform have given it another id. */
static void find_original_chat(struct gateway *self, const struct inbox_row *row,
                               char out[CHANNEL_MAX_ID])
{
    char name[CHANNEL_MAX_ID + 16], before[CHANNEL_MAX_CURSOR] = "";
    snprintf(name, sizeof name, "alias:%s", row->chat);
    channel_db_cursor_read(self->db, row->adapter, name, before, NULL);
    snprintf(out, CHANNEL_MAX_ID, "%s", *before ? before : row->chat);
}

/* A value that is kept for a chat: the moment its conversation began, its model. */
static void read_chat_value(struct gateway *self, const char *kind, const struct inbox_row *row,
                            char out[CHANNEL_MAX_CURSOR])
{
    char chat[CHANNEL_MAX_ID], name[2 * CHANNEL_MAX_ID + 32];
    find_original_chat(self, row, chat);
    snprintf(name, sizeof name, "%s:%s/%s", kind, chat, row->thread);
    channel_db_cursor_read(self->db, row->adapter, name, out, NULL);
}

static int store_chat_value(struct gateway *self, const char *kind, const struct inbox_row *row,
                            const char *value, struct ethos_error *error)
{
    char chat[CHANNEL_MAX_ID], name[2 * CHANNEL_MAX_ID + 32];
    find_original_chat(self, row, chat);
    snprintf(name, sizeof name, "%s:%s/%s", kind, chat, row->thread);
    return channel_db_cursor_store(self->db, row->adapter, name, value, error);
}

/* ---- answers ----------------------------------------------------------------------------------- */

/* In a group an answer names its message; where that is usual, always. */
static const char *choose_reply_to(struct gateway *self, const struct inbox_row *row, int64_t part)
{
    const struct channel *channel = gateway_channel(self, row->adapter);
    bool always = channel && channel->ops->limits->replies;
    return always || (!row->direct && part == 1) ? row->msg : NULL;
}

static int queue_answer_part(struct gateway *self, const struct inbox_row *row, int64_t part,
                             struct ethos_view text, struct ethos_error *error)
{
    const struct outbox_entry entry = {.turn = row->turn,
                                       .part = part,
                                       .adapter = row->adapter,
                                       .chat = row->chat,
                                       .thread = row->thread,
                                       .reply_to = choose_reply_to(self, row, part),
                                       .subject = *row->subject ? row->subject : NULL,
                                       .direct = row->direct,
                                       .final = true,
                                       .text = text,
                                       .now_ms = self->now_ms};
    self->outbox_changed = true;
    return outbox_add(self->db, &entry, error);
}

static int queue_answer_parts(struct gateway *self, const struct channel *channel,
                              const struct inbox_row *row, struct ethos_view text,
                              struct ethos_error *error)
{
    struct splitter splitter;
    struct str part;
    int code = ETHOS_OK;
    str_init(&part, 2 * (size_t)CHANNEL_MAX_TEXT);
    splitter_init(&splitter, text, channel->ops->limits->text - (unsigned)strlen(CUT_NOTE));
    for (int64_t number = 1; code == ETHOS_OK && number <= SPLIT_MAX_PARTS; number++) {
        if (!splitter_next(&splitter, &part))
            break;
        if (number == SPLIT_MAX_PARTS && !view_blank(splitter.rest))
            str_adds(&part, CUT_NOTE);
        code = str_code(&part) == ETHOS_OK
                   ? queue_answer_part(self, row, number, str_view(&part), error)
                   : err_nomem(error);
    }
    str_release(&part);
    return code;
}

/* The answer is in the outbox, and the message answered, or neither. */
static int queue_answer(struct gateway *self, const struct channel *channel,
                        const struct inbox_row *row, struct ethos_view text, const char *state,
                        struct ethos_error *error)
{
    int code = channel_db_begin(self->db, error);
    if (code != ETHOS_OK)
        return code;
    code = queue_answer_parts(self, channel, row, view_blank(text) ? VIEW("(no answer)") : text,
                              error);
    if (code == ETHOS_OK)
        code = inbox_set_state(self->db, row->id, state, self->now_ms, error);
    return channel_db_end(self->db, code, error);
}

/* The text in the place of an answer: for an owner with the reason. */
static void append_failure(const struct turn_outcome *outcome, bool is_owner, struct str *out)
{
    const struct ethos_error *error = &outcome->error;
    if (out->size > 0)
        str_adds(out, "\n\n");
    if (outcome->is_aborted)
        str_adds(out, "[stopped]");
    else if (is_owner)
        str_printf(out, "[No answer: %s%s%s]", error->text, *error->hint ? "; " : "", error->hint);
    else
        str_adds(out, "[There is no answer now. Send it again later.]");
}

static int finish_turn(struct gateway *self, const struct running_turn *running,
                       const struct turn_outcome *outcome, struct ethos_error *error)
{
    char since[32];
    struct inbox_row row;
    struct str text;
    int code = inbox_read(self->db, running->row, &row, error);
    if (code != ETHOS_OK)
        return code;
    str_init(&text, 2 * (size_t)CHANNEL_MAX_TEXT * SPLIT_MAX_PARTS);
    str_add(&text,
            view_of(outcome->text.data,
                    outcome->text.size < text.ceiling / 2 ? outcome->text.size : text.ceiling / 2));
    if (outcome->code != ETHOS_OK)
        append_failure(outcome, running->is_owner, &text);
    code = channel_db_begin(self->db, error);
    if (code == ETHOS_OK) {
        snprintf(since, sizeof since, "%" PRId64, outcome->has_changed ? outcome->began_ms : 0);
        if (!outcome->is_aborted || running->has_preview)
            code = queue_answer(self, running->channel, &row, str_view(&text),
                                outcome->code == ETHOS_OK ? "answered" : "failed", error);
        else // "Stopped." was said, and nothing of the answer is there
            code = inbox_set_state(self->db, row.id, "failed", self->now_ms, error);
        if (code == ETHOS_OK && (outcome->has_changed || running->is_command))
            code = store_chat_value(self, "undo", &row, since, error);
        if (code == ETHOS_OK && *outcome->model)
            code = store_chat_value(self, "model", &row, outcome->model, error);
        code = channel_db_end(self->db, code, error);
    }
    gateway_reach("answered");
    gateway_log(self, "%s: %s, a message %s", row.adapter, running->turn,
                outcome->code == ETHOS_OK ? "answered" : "not answered");
    str_release(&text);
    inbox_row_release(&row);
    return code;
}

static void collect_outcomes(struct gateway *self)
{
    struct turn_outcome outcome;
    while (turn_threads_outcome(self->turns, &outcome)) {
        struct ethos_error error = {0};
        struct running_turn *running = find_running(self, outcome.row);
        gateway_reach("outcome");
        if (running && finish_turn(self, running, &outcome, &error) != ETHOS_OK)
            gateway_log(self, "an answer cannot be recorded: %s", error.text);
        if (running)
            release_running(running);
        str_release(&outcome.text);
    }
}

/* ---- while an answer is being written ---------------------------------------------------------- */

static void store_preview(struct gateway *self, struct running_turn *running)
{
    struct str shown;
    str_init(&shown, 2 * (size_t)CHANNEL_MAX_TEXT);
    if (split_preview(str_view(&running->text), running->channel->ops->limits->text, &shown) ==
        ETHOS_OK) {
        const struct outbox_entry entry = {.turn = running->turn,
                                           .part = 1,
                                           .adapter = running->channel->ops->platform,
                                           .chat = running->chat,
                                           .thread = running->thread,
                                           .reply_to = running->direct ? NULL : running->msg,
                                           .direct = running->direct,
                                           .text = str_view(&shown),
                                           .now_ms = self->now_ms};
        if (running->has_preview)
            outbox_set_preview(self->db, running->turn, str_view(&shown), NULL);
        else
            running->has_preview = outbox_add(self->db, &entry, NULL) == ETHOS_OK;
        self->outbox_changed = true;
    }
    str_release(&shown);
}

static int64_t show_progress(struct gateway *self, struct running_turn *running)
{
    const struct channel_limits *limits = running->channel->ops->limits;
    unsigned edit_ms = running->direct ? limits->edit_ms : limits->group_edit_ms;
    if (limits->typing_ms > 0 && gateway_can_send(running->channel) &&
        self->clock_ms >= running->typing_ms) {
        running->channel->ops->typing(running->channel->adapter, running->chat, running->thread);
        running->typing_ms = self->clock_ms + limits->typing_ms;
    }
    int64_t next = limits->typing_ms > 0 ? running->typing_ms : NEVER;
    if (edit_ms == 0 || running->is_command)
        return next;
    if (self->clock_ms >= running->preview_ms) {
        if (turn_threads_text(self->turns, running->row, &running->text) &&
            !view_blank(str_view(&running->text)) &&
            delivery_may_preview(self, running->channel, running->chat))
            store_preview(self, running);
        running->preview_ms = self->clock_ms + edit_ms;
    }
    return running->preview_ms < next ? running->preview_ms : next;
}

/* ---- starting ---------------------------------------------------------------------------------- */

static struct running_turn *begin_running(struct gateway *self, struct channel *channel,
                                          const struct inbox_row *row)
{
    struct running_turn *running = find_running(self, 0);
    if (!running)
        return NULL;
    *running = (struct running_turn){.row = row->id,
                                     .channel = channel,
                                     .direct = row->direct,
                                     .preview_ms = self->clock_ms + PREVIEW_MS,
                                     .typing_ms = self->clock_ms};
    snprintf(running->chat, sizeof running->chat, "%s", row->chat);
    snprintf(running->thread, sizeof running->thread, "%s", row->thread);
    snprintf(running->turn, sizeof running->turn, "%s", row->turn);
    snprintf(running->msg, sizeof running->msg, "%s", row->msg);
    str_init(&running->text, MODEL_MAX_TEXT);
    return running;
}

static int start_turn(struct gateway *self, struct channel *channel, const struct inbox_row *row,
                      const char *role, bool is_command, bool resumes, struct ethos_error *error)
{
    char moment[CHANNEL_MAX_CURSOR] = "", model[CHANNEL_MAX_CURSOR] = "",
         undo[CHANNEL_MAX_CURSOR] = "";
    char chat[CHANNEL_MAX_ID];
    struct str key;
    const struct channel_settings *settings = &channel->settings;
    bool has_memory = strcmp(role, ROLE_GUEST) != 0 && (row->direct || settings->group_memory);
    read_chat_value(self, "session", row, moment);
    read_chat_value(self, "model", row, model);
    read_chat_value(self, "undo", row, undo);
    find_original_chat(self, row, chat);
    str_init(&key, 4 * CHANNEL_MAX_ID);
    int code = agent_session_chat_key(channel->ops->platform, channel->bot, chat, row->thread,
                                      strtoll(moment, NULL, 10), &key) == ETHOS_OK
                   ? ETHOS_OK
                   : err_nomem(error);
    const struct turn_start start = {
        .row = row->id,
        .turn = row->turn,
        .session_key = key.data,
        .platform = channel->ops->platform,
        .sender = row->sender,
        .personality = *settings->personality ? settings->personality : NULL,
        .workspace = has_memory ? settings->workspace : "",
        .model = *model ? model : NULL,
        .text = str_view(&row->text),
        .is_owner = strcmp(role, ROLE_OWNER) == 0,
        .no_memory = !has_memory,
        .proposes = row->direct && strcmp(role, ROLE_GUEST) == 0,
        .foreign = !row->direct ||
                   (channel->ops->quotes &&
                    channel->ops->quotes(view_str(row->subject), str_view(&row->text))),
        .reads_files = has_memory && settings->reads_files && *settings->workspace,
        .resumes = resumes,
        .is_command = is_command,
        .undo_ms = strtoll(undo, NULL, 10)};
    struct running_turn *running = code == ETHOS_OK ? begin_running(self, channel, row) : NULL;
    if (running) {
        running->is_command = is_command;
        running->is_owner = start.is_owner;
        code = turn_threads_start(self->turns, &start, error);
    } else if (code == ETHOS_OK) {
        code = err_set(error, ETHOS_BUSY, "as many turns run as may");
    }
    if (code != ETHOS_OK && running)
        release_running(running);
    str_release(&key);
    return code;
}

/* Commands that need only channels.db and the identity map. */
static int answer_command(struct gateway *self, const struct channel *channel,
                          const struct inbox_row *row, const char *role,
                          const struct command *command, struct ethos_view rest,
                          struct ethos_error *error)
{
    char moment[32];
    struct str text;
    struct ethos_error problem = {0};
    int code = ETHOS_OK;
    str_init(&text, 65536);
    if (!command) {
        str_adds(&text, "There is no such command. /help lists those that there are.");
    } else if (!command_is_allowed(command, role)) {
        str_printf(&text, "/%s is not for you.", command->name);
    } else if (strcmp(command->name, "new") == 0) {
        snprintf(moment, sizeof moment, "%" PRId64, self->now_ms);
        code = store_chat_value(self, "session", row, moment, error);
        str_adds(&text, "A new conversation.");
    } else if (strcmp(command->name, "link") == 0) {
        code = link_answer(self, row, rest, &text, &problem);
        if (code != ETHOS_OK)
            str_printf(&text, "%s%s%s", problem.text, *problem.hint ? "; " : "", problem.hint);
        code = ETHOS_OK;
    } else {
        command_help(role, &text);
    }
    if (code == ETHOS_OK)
        code = queue_answer(self, channel, row, str_view(&text), "answered", error);
    str_release(&text);
    return code;
}

/* Whoever lost the role meanwhile has lost it. */
static int find_role(struct gateway *self, const struct inbox_row *row, char out[16],
                     struct ethos_error *error)
{
    struct contact contact;
    int code = contact_read(self->db, row->adapter, row->sender, &contact, error);
    *out = '\0';
    if (code == ETHOS_OK)
        snprintf(out, 16, "%s", contact.role);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int begin_message(struct gateway *self, const struct inbox_row *row, bool resumes,
                         struct ethos_error *error)
{
    char role[16];
    const struct command *command = NULL;
    struct ethos_view rest;
    struct channel *channel = gateway_channel(self, row->adapter);
    int code = find_role(self, row, role, error);
    if (code != ETHOS_OK)
        return code;
    if (!channel || !*role)
        return inbox_set_state(self->db, row->id, "refused", self->now_ms, error);
    bool is_command = command_parse(str_view(&row->text), &command, &rest);
    bool in_thread = command && command->when == COMMAND_IN_THREAD &&
                     command_is_allowed(command, role);
    if (is_command && !in_thread)
        return answer_command(self, channel, row, role, command, rest, error);
    if (in_thread && resumes) // it may have been done
        return queue_answer(self, channel, row,
                            VIEW("This was interrupted. Look, and say it again."), "failed", error);
    code = inbox_set_state(self->db, row->id, "running", self->now_ms, error);
    gateway_reach("running");
    if (code != ETHOS_OK)
        return code;
    code = start_turn(self, channel, row, role, in_thread, resumes, error);
    if (code == ETHOS_NOMEM) // it waits for better times
        inbox_set_state(self->db, row->id, "new", self->now_ms, NULL);
    return code;
}

/* The next row to be answered: those that were interrupted first. */
static int find_next_row(struct gateway *self, struct inbox_row *out, bool *out_resumes,
                         struct ethos_error *error)
{
    int code = ETHOS_NOTFOUND;
    *out_resumes = true;
    while (code == ETHOS_NOTFOUND && self->interrupted_count > 0) {
        code = inbox_read(self->db, self->interrupted[0], out, error);
        self->interrupted_count--;
        memmove(self->interrupted, self->interrupted + 1,
                self->interrupted_count * sizeof *self->interrupted);
    }
    if (code != ETHOS_NOTFOUND)
        return code;
    *out_resumes = false;
    return inbox_next(self->db, out, error);
}

static void start_turns(struct gateway *self)
{
    int code = ETHOS_OK;
    while (code == ETHOS_OK && !self->is_draining && find_running(self, 0)) {
        struct inbox_row row;
        struct ethos_error error = {0};
        bool resumes;
        code = find_next_row(self, &row, &resumes, &error);
        if (code != ETHOS_OK)
            break;
        code = begin_message(self, &row, resumes, &error);
        if (code != ETHOS_OK)
            gateway_log(self, "%s: %s", row.turn, error.text);
        inbox_row_release(&row);
    }
}

int64_t answering_step(struct gateway *self)
{
    int64_t next = NEVER;
    collect_outcomes(self);
    start_turns(self);
    for (size_t i = 0; i < TURN_THREADS; i++) {
        struct running_turn *running = &self->answering->running[i];
        int64_t due = running->row != 0 ? show_progress(self, running) : NEVER;
        next = due < next ? due : next;
    }
    return next;
}
