/*
 * delivery.c: rows of the outbox are sent, one after the other in each chat, as fast as the platform allows.
 *
 * A row is sending before the adapter is asked, and what cannot be known afterwards is unknown: it is told to the
 * owner and not repeated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "gateway/adapters/platform_api.h"
#include "gateway/internal.h"

#define LONG_WAIT_MS 60000    /* a wait after which there are no previews for a while */
#define NO_PREVIEW_MS 3600000 /* that while */
#define PACE_MS 3600000       /* for which an idle chat is remembered */
#define MAX_SENDS 16          /* begun in one step */
#define PROBE_MS 5000         /* until the platform is asked whether something has arrived */
#define NEVER INT64_MAX

/* When something may be sent to a chat. */
struct chat_pace {
    struct chat_pace *next;
    const struct channel *channel;
    char chat[CHANNEL_MAX_ID];
    int64_t send_ms, edit_ms, preview_ms, used_ms;
    unsigned sending;
    bool is_blocked; /* in this step: an earlier row waits */
};

/* ---- chats ------------------------------------------------------------------------------------- */

static struct chat_pace *find_or_add_pace(struct gateway *self, const struct channel *channel,
                                          const char *chat)
{
    for (struct chat_pace *pace = self->paces; pace; pace = pace->next)
        if (pace->channel == channel && strcmp(pace->chat, chat) == 0)
            return pace;
    struct chat_pace *pace = calloc(1, sizeof *pace);
    if (!pace)
        return NULL;
    pace->channel = channel;
    pace->used_ms = self->clock_ms;
    snprintf(pace->chat, sizeof pace->chat, "%s", chat);
    pace->next = self->paces;
    self->paces = pace;
    return pace;
}

static void drop_idle_paces(struct gateway *self, bool all)
{
    for (struct chat_pace **at = &self->paces; *at;) {
        struct chat_pace *pace = *at;
        bool idle = pace->sending == 0 && pace->used_ms + PACE_MS < self->clock_ms &&
                    pace->preview_ms < self->clock_ms;
        pace->is_blocked = false;
        if (all || idle) {
            *at = pace->next;
            free(pace);
        } else {
            at = &pace->next;
        }
    }
}

bool delivery_may_preview(struct gateway *self, const struct channel *channel, const char *chat)
{
    const struct chat_pace *pace = find_or_add_pace(self, channel, chat);
    return pace && gateway_can_send(channel) && self->clock_ms >= pace->preview_ms;
}

bool delivery_is_idle(const struct gateway *self)
{
    for (size_t i = 0; i < GATEWAY_MAX_SENDING; i++)
        if (self->tries[i].row != 0)
            return false;
    return true;
}

void delivery_close(struct gateway *self)
{
    for (size_t i = 0; i < GATEWAY_MAX_SENDING; i++)
        str_release(&self->tries[i].text);
    drop_idle_paces(self, true);
}

/* ---- tries ------------------------------------------------------------------------------------- */

static struct delivery_try *find_try(struct gateway *self, int64_t row)
{
    for (size_t i = 0; i < GATEWAY_MAX_SENDING; i++)
        if (self->tries[i].row == row)
            return &self->tries[i];
    return NULL;
}

static int64_t backoff_ms(int64_t attempts)
{
    return API_BACKOFF_MIN_MS / 2 + api_backoff_ms((unsigned)attempts);
}

void delivery_report_unsent(struct gateway *self, const struct outbox_row *row)
{
    char name[OUTBOX_MAX_TURN], line[512], when[CLOCK_ISO_SIZE];
    if (strncmp(row->turn, "unsent:", 7) == 0)
        return; // a line of this kind itself
    bool failed = strcmp(row->state, "failed") == 0;
    clock_iso(row->created_ms, when);
    snprintf(name, sizeof name, "unsent:%lld:%lld", (long long)row->id, (long long)row->attempts);
    snprintf(line, sizeof line,
             "A message to the %s chat %s of %.16sZ %s. Send it again: ethos gateway resend %lld",
             row->adapter, row->chat, when, failed ? "was not accepted" : "may not have arrived",
             (long long)row->id);
    gateway_notify_owner(self, row->adapter, name, line);
}

/* The end of a row that is not sent. */
static int end_unsent_row(struct gateway *self, const struct outbox_row *row, const char *state)
{
    struct outbox_row now;
    int code = outbox_set_state(self->db, row->id, state, self->now_ms, NULL);
    if (code == ETHOS_OK && outbox_read(self->db, row->id, &now, NULL) == ETHOS_OK) {
        delivery_report_unsent(self, &now);
        outbox_row_release(&now);
    }
    return code;
}

static int postpone_row(struct gateway *self, const struct outbox_row *row, int64_t wait_ms)
{
    return outbox_postpone(self->db, row->id, self->now_ms + wait_ms, NULL);
}

static int handle_later_result(struct gateway *self, struct delivery_try *try,
                               const struct outbox_row *row, int64_t wait_ms)
{
    try->pace->send_ms = try->pace->edit_ms = self->clock_ms + wait_ms;
    try->pace->preview_ms = self->clock_ms + (wait_ms > LONG_WAIT_MS ? NO_PREVIEW_MS : wait_ms);
    return try->probes ? outbox_set_doubtful(self->db, row->id, self->now_ms + wait_ms, NULL)
                       : postpone_row(self, row, wait_ms);
}

/* Nobody knows whether it arrived. The platform may know it when it comes again, or can be asked; else a person decides. */
static int handle_unknown_result(struct gateway *self, const struct delivery_try *try,
                                 const struct outbox_row *row)
{
    const struct channel_adapter_ops *ops = try->channel->ops;
    if (try->edits)
        return postpone_row(self, row, backoff_ms(row->attempts));
    if (try->is_preview)
        return outbox_drop_preview(self->db, row->id, NULL);
    if (self->now_ms < row->sent_ms + ops->limits->same_ms)
        return postpone_row(self, row, backoff_ms(row->attempts));
    return ops->probe ? outbox_set_doubtful(self->db, row->id, self->now_ms + PROBE_MS, NULL)
                      : end_unsent_row(self, row, "unknown");
}

/* What the platform says about a send that was in doubt. */
static int handle_probe_result(struct gateway *self, struct delivery_try *try,
                               const struct outbox_row *row, const struct channel_sent *sent)
{
    switch (sent->result) {
    case CHANNEL_SENT:
        return outbox_set_shown(self->db, row->id, str_view(&try->text), sent->remote, self->now_ms,
                                NULL);
    case CHANNEL_NOT_SENT:
        return outbox_send_anew(self->db, row->id, self->now_ms, NULL);
    case CHANNEL_LATER:
        return handle_later_result(self, try, row, sent->wait_ms);
    default:
        return end_unsent_row(self, row, "unknown");
    }
}

/* An edit can be repeated safely; what was not sent, too; all else that is doubtful cannot. */
static int handle_result(struct gateway *self, struct delivery_try *try,
                         const struct outbox_row *row, const struct channel_sent *sent)
{
    if (try->probes)
        return handle_probe_result(self, try, row, sent);
    switch (sent->result) {
    case CHANNEL_SENT:
        return outbox_set_shown(self->db, row->id, str_view(&try->text), sent->remote, self->now_ms,
                                NULL);
    case CHANNEL_NOT_SENT:
        return postpone_row(self, row, backoff_ms(row->attempts));
    case CHANNEL_LATER:
        return handle_later_result(self, try, row, sent->wait_ms);
    case CHANNEL_GONE:
        return try->is_preview ? outbox_drop_preview(self->db, row->id, NULL)
                               : outbox_begin_anew(self->db, row->id, NULL);
    case CHANNEL_UNKNOWN:
        return handle_unknown_result(self, try, row);
    case CHANNEL_REFUSED:
        try->pace->preview_ms = self->clock_ms + NO_PREVIEW_MS;
        if (try->is_preview)
            return try->edits ? postpone_row(self, row, API_BACKOFF_MAX_MS)
                              : outbox_drop_preview(self->db, row->id, NULL);
        return end_unsent_row(self, row, "failed");
    }
    return ETHOS_INTERNAL;
}

/* The platform wants a pause. */
static void apply_requested_pause(struct gateway *self, struct delivery_try *try,
                                  const struct channel_sent *sent)
{
    int64_t until = self->clock_ms + sent->wait_ms;
    if (sent->wait_ms <= 0)
        return;
    try->pace->send_ms = until > try->pace->send_ms ? until : try->pace->send_ms;
    try->pace->edit_ms = until > try->pace->edit_ms ? until : try->pace->edit_ms;
    if (sent->all)
        try->channel->send_ms = until;
}

void delivery_ended(struct channel *channel, int64_t id, const struct channel_sent *sent)
{
    struct gateway *self = channel->gateway;
    struct delivery_try *try = find_try(self, id);
    struct outbox_row row;
    if (!try || id == 0)
        return;
    gateway_reach("sent");
    if (outbox_read(self->db, id, &row, NULL) == ETHOS_OK) {
        if (sent->result != CHANNEL_SENT)
            gateway_log(self, "%s: message %lld: %s%s%s", channel->ops->platform, (long long)id,
                        sent->result == CHANNEL_UNKNOWN ? "it may have arrived"
                        : sent->result == CHANNEL_LATER ? "not before later"
                                                        : "not sent",
                        sent->problem && *sent->problem ? ": " : "",
                        sent->problem ? sent->problem : "");
        if (handle_result(self, try, &row, sent) != ETHOS_OK)
            gateway_log(self, "message %lld: its end cannot be recorded", (long long)id);
        outbox_row_release(&row);
    }
    gateway_reach("shown");
    apply_requested_pause(self, try, sent);
    try->pace->sending--;
    str_release(&try->text);
    *try = (struct delivery_try){0};
    self->outbox_changed = true;
}

/* ---- choosing ---------------------------------------------------------------------------------- */

/* What is to be sent in this step; rows are only looked at, while they are read. */
struct delivery_choice {
    struct gateway *gateway;
    struct {
        int64_t row;
        struct chat_pace *pace;
    } sends[MAX_SENDS];
    size_t count;
    int64_t next_ms;
};

static void limit_wait(struct delivery_choice *choice, int64_t ms)
{
    choice->next_ms = ms < choice->next_ms ? ms : choice->next_ms;
}

/* When a row may go out, by the clock. */
static int64_t find_due_time(const struct gateway *self, const struct channel *channel,
                             const struct chat_pace *pace, const struct outbox_row *row, bool edits)
{
    int64_t due = edits && !row->final ? pace->edit_ms : pace->send_ms;
    int64_t postponed = row->not_before_ms > self->now_ms
                            ? self->clock_ms + row->not_before_ms - self->now_ms
                            : 0;
    due = postponed > due ? postponed : due;
    return channel->send_ms > due ? channel->send_ms : due;
}

static int choose_row(void *arg, const struct outbox_row *row)
{
    struct delivery_choice *choice = arg;
    struct gateway *self = choice->gateway;
    struct channel *channel = gateway_channel(self, row->adapter);
    struct chat_pace *pace = channel ? find_or_add_pace(self, channel, row->chat) : NULL;
    bool edits = strcmp(row->state, "live") == 0;
    if (!pace || !gateway_can_send(channel) || pace->is_blocked)
        return ETHOS_OK;
    if (edits && row->is_shown && !row->final)
        return ETHOS_OK; // the answer goes on
    if (pace->sending > 0) {
        pace->is_blocked = true;
        return ETHOS_OK;
    }
    if (!row->final && self->clock_ms < pace->preview_ms)
        return ETHOS_OK;
    int64_t due = find_due_time(self, channel, pace, row, edits);
    pace->is_blocked = row->final || !edits;
    if (due > self->clock_ms) {
        limit_wait(choice, due);
    } else if (choice->count < MAX_SENDS && find_try(self, 0)) {
        choice->sends[choice->count].row = row->id;
        choice->sends[choice->count++].pace = pace;
        pace->is_blocked = true;
        channel->send_ms = self->clock_ms + channel->ops->limits->all_ms;
    } else {
        limit_wait(choice, self->clock_ms);
    }
    return ETHOS_OK;
}

/* ---- sending ----------------------------------------------------------------------------------- */

static void send_row(struct gateway *self, struct chat_pace *pace, const struct outbox_row *row)
{
    struct channel *channel = gateway_channel(self, row->adapter);
    const struct channel_limits *limits = channel->ops->limits;
    struct delivery_try *try = find_try(self, 0);
    bool edits = strcmp(row->state, "live") == 0, probes = strcmp(row->state, "sending") == 0;
    if (!edits && !probes && outbox_set_sending(self->db, row, self->now_ms, NULL) != ETHOS_OK)
        return;
    gateway_reach("sending");
    *try = (struct delivery_try){.row = row->id,
                                 .pace = pace,
                                 .channel = channel,
                                 .edits = edits,
                                 .probes = probes,
                                 .is_preview = !row->final};
    str_init(&try->text, 2 * (size_t)CHANNEL_MAX_TEXT);
    str_add(&try->text, str_view(&row->text));
    pace->sending++;
    pace->used_ms = self->clock_ms;
    pace->send_ms = self->clock_ms + (row->direct ? limits->chat_ms : limits->group_ms);
    pace->edit_ms = self->clock_ms + (row->direct ? limits->edit_ms : limits->group_edit_ms);
    const struct channel_outgoing outgoing = {.row = row->id,
                                              .chat = row->chat,
                                              .thread = row->thread,
                                              .reply_to = row->reply_to,
                                              .remote = row->remote,
                                              .subject = row->subject,
                                              .turn = row->turn,
                                              .part = row->part,
                                              .preview = !row->final,
                                              .sent_ms = row->sent_ms ? row->sent_ms : self->now_ms,
                                              .text = str_view(&row->text)};
    if (probes)
        channel->ops->probe(channel->adapter, &outgoing);
    else if (edits)
        channel->ops->edit(channel->adapter, &outgoing);
    else
        channel->ops->send(channel->adapter, &outgoing);
}

int64_t delivery_step(struct gateway *self)
{
    struct delivery_choice choice = {.gateway = self, .next_ms = NEVER};
    if (!self->outbox_changed && self->clock_ms < self->delivery_ms)
        return self->delivery_ms;
    self->outbox_changed = false;
    drop_idle_paces(self, false);
    if (outbox_each_open(self->db, choose_row, &choice, NULL) != ETHOS_OK)
        return self->clock_ms + API_BACKOFF_MIN_MS;
    for (size_t i = 0; i < choice.count; i++) {
        struct outbox_row row;
        if (outbox_read(self->db, choice.sends[i].row, &row, NULL) == ETHOS_OK) {
            send_row(self, choice.sends[i].pace, &row);
            outbox_row_release(&row);
        }
    }
    self->delivery_ms = choice.next_ms;
    return self->outbox_changed ? self->clock_ms : self->delivery_ms;
}
