/*
 * gateway.c: opening, closing, and one step of the gateway.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/home.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "channel/platforms.h"
#include "gateway/adapters/discord.h"
#include "gateway/adapters/email.h"
#include "gateway/adapters/slack.h"
#include "gateway/adapters/telegram.h"
#include "gateway/internal.h"

#define UPKEEP_MS 3600000 /* between two times at which old rows are forgotten */
#define LOOK_MS 1000      /* between two looks at what other processes have changed */
#define MAX_LINE 65536    /* bytes of a line of ours */
#define MAX_PLACES 200    /* that are looked at for messages that were missed */

const struct channel_adapter_ops *const channel_adapters[] = {&telegram_ops, &email_ops, &slack_ops,
                                                              &discord_ops, NULL};

void gateway_log(struct gateway *self, const char *format, ...)
{
    char line[512];
    va_list args;
    if (!self->setup.log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    self->setup.log(self->setup.arg, line);
}

void gateway_reach(const char *point)
{
#ifdef ETHOS_TEST_HOOKS
    const char *wanted = getenv("ETHOS_GATEWAY_KILL");
    if (wanted && strcmp(wanted, point) == 0)
        raise(SIGKILL);
#else
    (void)point;
#endif
}

struct channel *gateway_channel(struct gateway *self, const char *adapter)
{
    for (size_t i = 0; i < self->channel_count; i++)
        if (strcmp(self->channels[i].ops->platform, adapter) == 0)
            return &self->channels[i];
    return NULL;
}

bool gateway_can_send(const struct channel *channel)
{
    return channel->adapter && *channel->adapter->bot && channel->state != CHANNEL_FATAL;
}

/* ---- lines ------------------------------------------------------------------------------------- */

int gateway_queue_line(struct gateway *self, const struct channel_place *place, const char *name,
                       struct ethos_view text, struct ethos_error *error)
{
    const struct outbox_entry entry = {.turn = name,
                                       .part = 1,
                                       .adapter = place->adapter,
                                       .chat = place->chat,
                                       .thread = place->thread,
                                       .reply_to = place->reply_to,
                                       .subject = place->subject,
                                       .direct = place->direct,
                                       .final = true,
                                       .text = text,
                                       .now_ms = self->now_ms};
    self->outbox_changed = true;
    return outbox_add(self->db, &entry, error);
}

void gateway_notify_owner(struct gateway *self, const char *platform, const char *name,
                          const char *text)
{
    struct contact owner;
    gateway_log(self, "%s", text);
    if (contact_find_owner(self->db, platform, &owner, NULL) != ETHOS_OK)
        return;
    const struct channel_place place = {
        .adapter = owner.adapter, .chat = owner.chat, .thread = "", .direct = true};
    gateway_queue_line(self, &place, name, view_str(text), NULL);
}

/* ---- what adapters call ------------------------------------------------------------------------ */

static int host_received(void *arg, const struct channel_batch *batch)
{
    struct channel *channel = arg;
    struct ethos_error error = {0};
    int code = ETHOS_BUSY;
    gateway_reach("received");
    if (!channel->gateway->is_draining)
        code = reception_record(channel, batch, &error);
    if (code != ETHOS_OK && code != ETHOS_BUSY)
        gateway_log(channel->gateway, "%s: %s", channel->ops->platform, error.text);
    gateway_reach("recorded");
    return code;
}

static void host_sent(void *arg, int64_t row, const struct channel_sent *sent)
{
    delivery_ended(arg, row, sent);
}

/* Also for status, which another process shows. */
static void store_state(struct channel *channel)
{
    static const char *const names[] = {"down", "up", "fatal"};
    char value[CHANNEL_MAX_CURSOR];
    snprintf(value, sizeof value, "%s %lld %.200s", names[channel->state],
             (long long)channel->gateway->now_ms, channel->why);
    channel_db_cursor_store(channel->gateway->db, channel->ops->platform, "state", value, NULL);
}

static void store_bot_name(struct channel *channel)
{
    const char *bot = channel->adapter ? channel->adapter->bot : "";
    if (!*bot || strcmp(bot, channel->bot) == 0)
        return;
    snprintf(channel->bot, sizeof channel->bot, "%s", bot);
    channel_db_cursor_store(channel->gateway->db, channel->ops->platform, "bot", bot, NULL);
    channel_db_cursor_store(channel->gateway->db, channel->ops->platform, "name",
                            channel->adapter->name, NULL);
}

static void host_state(void *arg, enum channel_state state, const char *why)
{
    struct channel *channel = arg;
    struct gateway *self = channel->gateway;
    store_bot_name(channel);
    self->outbox_changed = true; // what waited may go out now
    if (channel->state == state && strcmp(channel->why, why ? why : "") == 0)
        return;
    channel->state = state;
    snprintf(channel->why, sizeof channel->why, "%s", why ? why : "");
    store_state(channel);
    if (state == CHANNEL_UP)
        gateway_log(self, "%s: connected as %s", channel->ops->platform, channel->bot);
    else
        gateway_log(self, "%s: %s", channel->ops->platform, channel->why);
}

static int host_cursor(void *arg, const char *name, char out[CHANNEL_MAX_CURSOR])
{
    const struct channel *channel = arg;
    return channel_db_cursor_read(channel->gateway->db, channel->ops->platform, name, out, NULL);
}

static int host_places(void *arg, inbox_place_fn *each, void *each_arg)
{
    const struct channel *channel = arg;
    return inbox_each_place(channel->gateway->db, channel->ops->platform, MAX_PLACES, each,
                            each_arg, NULL);
}

/* The conversation goes on under its old name: what follows reads the alias. */
static void host_renamed(void *arg, const char *from, const char *to)
{
    struct channel *channel = arg;
    char name[CHANNEL_MAX_ID + 16];
    snprintf(name, sizeof name, "alias:%s", to);
    if (channel_db_begin(channel->gateway->db, NULL) != ETHOS_OK)
        return;
    int code = channel_db_cursor_store(channel->gateway->db, channel->ops->platform, name, from,
                                       NULL);
    if (code == ETHOS_OK)
        code = outbox_rename_chat(channel->gateway->db, channel->ops->platform, from, to, NULL);
    channel_db_end(channel->gateway->db, code, NULL);
}

static void host_wake(void *arg)
{
    const struct channel *channel = arg;
    channel->gateway->setup.wake(channel->gateway->setup.arg);
}

/* ---- opening ----------------------------------------------------------------------------------- */

struct secrets {
    char texts[PLATFORM_MAX_SECRETS][KEYS_MAX_KEY + 1];
    const char *list[PLATFORM_MAX_SECRETS];
};

static int read_secrets(const struct channel *channel, const struct channel_platform *platform,
                        struct secrets *out, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; i < PLATFORM_MAX_SECRETS; i++) {
        out->texts[i][0] = '\0';
        out->list[i] = out->texts[i];
        if (code == ETHOS_OK && platform->secrets[i])
            code = agent_secret(channel->gateway->ethos, platform->secrets[i], out->texts[i],
                                error);
    }
    return code;
}

/* Whether they are others than those that it was opened with last. */
static bool update_secrets_hash(struct channel *channel, const struct secrets *secrets)
{
    char hash[HASH_HEX_SIZE];
    struct digest digest;
    digest_init(&digest);
    for (size_t i = 0; i < PLATFORM_MAX_SECRETS; i++)
        digest_add(&digest, secrets->list[i], strlen(secrets->list[i]) + 1);
    digest_end(&digest, hash);
    bool are_new = strcmp(hash, channel->secrets_hash) != 0;
    snprintf(channel->secrets_hash, sizeof channel->secrets_hash, "%s", hash);
    return are_new;
}

/* An adapter without a secret waits for it; the others go on. */
static void reopen_adapter(struct channel *channel)
{
    char why[256];
    struct ethos_error error = {0};
    struct secrets secrets;
    const struct channel_platform *platform = channel_platform_find(channel->ops->platform);
    int code = read_secrets(channel, platform, &secrets, &error);
    if (code == ETHOS_OK && !update_secrets_hash(channel, &secrets)) {
        explicit_bzero(&secrets, sizeof secrets);
        return;
    }
    if (channel->adapter)
        channel->ops->close(channel->adapter);
    channel->adapter = NULL;
    if (code == ETHOS_OK && !*secrets.list[0])
        code = err_set(&error, ETHOS_NOTFOUND, "no token; put %s into keys.yaml",
                       platform->secrets[0]);
    const struct channel_setup setup = {&channel->host, secrets.list, &channel->settings};
    if (code == ETHOS_OK)
        code = channel->ops->open(&setup, &channel->adapter, &error);
    explicit_bzero(&secrets, sizeof secrets);
    channel->next_ms = 0;
    snprintf(why, sizeof why, "%.120s%s%.120s", error.text, *error.hint ? "; " : "", error.hint);
    if (code != ETHOS_OK) {
        host_state(channel, CHANNEL_FATAL, why);
    } else {
        channel->state = CHANNEL_DOWN;
        *channel->why = '\0';
        store_state(channel); // what the last process noted is over
    }
}

static int add_channel(struct gateway *self, const struct channel_adapter_ops *ops,
                       struct ethos_error *error)
{
    struct channel *channel = &self->channels[self->channel_count];
    *channel = (struct channel){.gateway = self, .ops = ops};
    int code = channel_settings_read(self->ethos, ops->platform, &channel->settings, error);
    if (code != ETHOS_OK || !channel->settings.enabled)
        return code;
    channel->host = (struct channel_host){.arg = channel,
                                          .http = self->setup.http,
                                          .received = host_received,
                                          .sent = host_sent,
                                          .state = host_state,
                                          .cursor = host_cursor,
                                          .places = host_places,
                                          .renamed = host_renamed,
                                          .wake = host_wake,
                                          .open_websockets = websockets_open};
    self->channel_count++;
    code = channel_db_cursor_read(self->db, ops->platform, "bot", channel->bot, error);
    if (code == ETHOS_OK)
        reopen_adapter(channel);
    return code;
}

static int add_channels(struct gateway *self, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && self->setup.adapters[i]; i++)
        code = add_channel(self, self->setup.adapters[i], error);
    if (code == ETHOS_OK && self->channel_count == 0) {
        code = err_set(error, ETHOS_INVALID, "no channel is enabled");
        err_hint(error, code, "for example: ethos config set channels.telegram.enabled on");
    }
    return code;
}

static int add_interrupted_row(void *arg, int64_t id)
{
    struct gateway *self = arg;
    if (self->interrupted_count < GATEWAY_MAX_RUNNING)
        self->interrupted[self->interrupted_count++] = id;
    return ETHOS_OK;
}

/* A send that was under way then. */
static int report_row(void *arg, const struct outbox_row *row)
{
    delivery_report_unsent(arg, row);
    return ETHOS_OK;
}

/* What the last process left. */
static int recover_rows(struct gateway *self, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && self->setup.adapters[i]; i++)
        code = outbox_recover(self->db, self->setup.adapters[i]->platform,
                              self->setup.adapters[i]->probe != NULL, self->now_ms, error);
    if (code == ETHOS_OK)
        code = inbox_each_running(self->db, add_interrupted_row, self, error);
    if (code == ETHOS_OK)
        code = outbox_each_unsent(self->db, self->now_ms, report_row, self, error);
    self->outbox_changed = true;
    return code;
}

int gateway_open(const struct gateway_setup *setup, int64_t now_ms, struct gateway **out,
                 struct ethos_error *error)
{
    char home[PATH_MAX];
    struct gateway *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->setup = *setup;
    self->lock_fd = -1;
    self->now_ms = now_ms;
    const struct turn_threads_setup threads = {setup->options, setup->open_model, setup->model_arg,
                                               setup->wake, setup->arg};
    int code = ethos_open(setup->options, &self->ethos, error);
    if (code == ETHOS_OK)
        code = agent_home(self->ethos, true, home, error);
    if (code == ETHOS_OK)
        code = channel_db_lock(home, &self->lock_fd, error);
    if (code == ETHOS_OK)
        code = channel_db_open(home, true, &self->db, error);
    if (code == ETHOS_OK)
        code = recover_rows(self, error);
    if (code == ETHOS_OK)
        code = add_channels(self, error);
    if (code == ETHOS_OK)
        code = turn_threads_new(&threads, &self->turns, error);
    if (code == ETHOS_OK)
        code = answering_open(self, error);
    if (code == ETHOS_OK)
        *out = self;
    else
        gateway_close(self);
    return code;
}

void gateway_close(struct gateway *self)
{
    if (!self)
        return;
    self->is_draining = true;
    turn_threads_free(self->turns, true);
    for (size_t i = 0; i < self->channel_count; i++)
        if (self->channels[i].adapter)
            self->channels[i].ops->close(self->channels[i].adapter);
    answering_close(self);
    delivery_close(self);
    channel_db_close(self->db);
    ethos_close(self->ethos);
    if (self->lock_fd >= 0)
        os_close(self->lock_fd);
    free(self);
}

/* ---- a step ------------------------------------------------------------------------------------ */

static int64_t step_adapters(struct gateway *self)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < self->channel_count; i++) {
        struct channel *channel = &self->channels[i];
        if (!channel->adapter)
            continue;
        channel->next_ms = channel->ops->step(channel->adapter, self->clock_ms);
        next = channel->next_ms < next ? channel->next_ms : next;
    }
    return next;
}

/* Other processes let people in, ask for a message to be sent again, and change keys.yaml. */
static void check_other_processes(struct gateway *self)
{
    int64_t version = channel_db_version(self->db);
    if (version != self->db_version)
        self->outbox_changed = true;
    self->db_version = version;
    for (size_t i = 0; i < self->channel_count; i++)
        if (self->channels[i].state == CHANNEL_FATAL)
            reopen_adapter(&self->channels[i]);
    self->look_ms = self->clock_ms + LOOK_MS;
}

static int run_maintenance(struct gateway *self, struct ethos_error *error)
{
    int code = ETHOS_OK;
    if (self->clock_ms >= self->look_ms)
        check_other_processes(self);
    if (self->clock_ms >= self->upkeep_ms) {
        code = inbox_forget(self->db, self->now_ms, error);
        self->upkeep_ms = self->clock_ms + UPKEEP_MS;
    }
    return code;
}

void gateway_set_time(struct gateway *self, int64_t now_ms, int64_t clock_ms)
{
    self->now_ms = now_ms;
    self->clock_ms = clock_ms;
}

int gateway_step(struct gateway *self, int64_t now_ms, int64_t clock_ms, int64_t *out_wait_ms,
                 struct ethos_error *error)
{
    gateway_set_time(self, now_ms, clock_ms);
    int code = run_maintenance(self, error);
    if (code != ETHOS_OK)
        return code;
    int64_t next = clock_earlier(self->look_ms, step_adapters(self));
    next = clock_earlier(next, answering_step(self));
    next = clock_earlier(next, delivery_step(self));
    *out_wait_ms = next > clock_ms ? next - clock_ms : 0;
    return ETHOS_OK;
}

void gateway_woken(struct gateway *self)
{
    gateway_log(self, "the machine slept; connecting again");
    for (size_t i = 0; i < self->channel_count; i++)
        if (self->channels[i].adapter)
            self->channels[i].ops->woken(self->channels[i].adapter);
}

void gateway_drain(struct gateway *self)
{
    self->is_draining = true;
}

unsigned gateway_turns(struct gateway *self)
{
    return turn_threads_running(self->turns);
}

bool gateway_is_idle(struct gateway *self)
{
    return turn_threads_running(self->turns) == 0 && delivery_is_idle(self);
}
