/*
 * test_gateway.c: the gateway with a platform that is a C function, a model that is one, and a clock that the test
 * turns: what becomes of each end that a send can have; and an hour of Telegram with its server faked.
 */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "../support/temp.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "channel/contacts.h"
#include "channel/outbox.h"
#include "gateway/adapters/telegram.h"
#include "gateway/gateway.h"

#define BEGIN_MS 1763200000000
#define MAX_SENT 512
#define MAX_ANSWERS 16

/* ---- a model ----------------------------------------------------------------------------------- */

static void ask(struct model *model, const struct model_request *request, model_event_fn *each,
                void *arg)
{
    struct ethos_view text = request->messages[request->message_count - 1].text;
    char answer[256];
    (void)model;
    int size = snprintf(answer, sizeof answer, "re: %.*s", (int)(text.size < 200 ? text.size : 200),
                        text.data);
    each(arg, &(struct model_event){.kind = MODEL_START});
    each(arg, &(struct model_event){.kind = MODEL_TEXT, .text = view_of(answer, (size_t)size)});
    each(arg, &(struct model_event){.kind = MODEL_DONE, .stop = MODEL_STOP_END});
}

static void close_model(struct model *model)
{
    (void)model;
}

static const struct model_ops model_ops = {ask, close_model};
static struct model model = {&model_ops, "test", "echo", 0, true};

static int open_model(void *arg, struct ethos *ethos, const char *personality, const char *override,
                      struct model **out, struct ethos_error *error)
{
    (void)arg, (void)ethos, (void)personality, (void) override, (void)error;
    *out = &model;
    return ETHOS_OK;
}

/* ---- a platform -------------------------------------------------------------------------------- */

/* What the next sends end with; CHANNEL_SENT when there are no more. */
static struct {
    enum channel_result results[MAX_ANSWERS];
    size_t count, at;
    int64_t wait_ms, answer_ms; /* which the platform took for its answer */
} script;

static struct {
    char chat[32], text[256];
    int64_t at_ms;
} sent[MAX_SENT];
static size_t sent_count;

static struct gateway *gateway;
static struct channel_adapter *opened;
static const struct channel_host *host;
static int64_t now_ms, clock_ms;

static int open_platform(const struct channel_setup *setup, struct channel_adapter **out,
                         struct ethos_error *error)
{
    (void)error;
    opened = calloc(1, sizeof *opened);
    assert_non_null(opened);
    host = setup->host;
    snprintf(opened->bot, sizeof opened->bot, "1");
    *out = opened;
    return ETHOS_OK;
}

static void close_platform(struct channel_adapter *self)
{
    free(self);
}

static int64_t step_platform(struct channel_adapter *self, int64_t now)
{
    (void)self, (void)now;
    host->state(host->arg, CHANNEL_UP, NULL);
    return INT64_MAX;
}

static void end_send(const struct channel_outgoing *outgoing)
{
    char remote[32];
    enum channel_result result = script.at < script.count ? script.results[script.at++]
                                                          : CHANNEL_SENT;
    if (sent_count < MAX_SENT) {
        snprintf(sent[sent_count].chat, sizeof sent->chat, "%s", outgoing->chat);
        snprintf(sent[sent_count].text, sizeof sent->text, "%.*s", VIEW_ARG(outgoing->text));
        sent[sent_count++].at_ms = clock_ms;
    }
    snprintf(remote, sizeof remote, "%zu", sent_count);
    now_ms += script.answer_ms;
    clock_ms += script.answer_ms;
    gateway_set_time(gateway, now_ms, clock_ms);
    host->sent(host->arg, outgoing->row,
               &(struct channel_sent){.result = result,
                                      .remote = remote,
                                      .wait_ms = result == CHANNEL_LATER ? script.wait_ms : 0});
}

static void send_platform(struct channel_adapter *self, const struct channel_outgoing *outgoing)
{
    (void)self;
    end_send(outgoing);
}

static void wake_platform(struct channel_adapter *self)
{
    (void)self;
}

/* What the next questions whether something has arrived are answered with. */
static struct {
    enum channel_result results[MAX_ANSWERS];
    size_t count;
} probes;

static void probe_platform(struct channel_adapter *self, const struct channel_outgoing *outgoing)
{
    (void)self;
    assert_true(outgoing->sent_ms >= BEGIN_MS);
    assert_true(probes.count < MAX_ANSWERS);
    host->sent(host->arg, outgoing->row,
               &(struct channel_sent){
                   .result = probes.results[probes.count++], .remote = "77", .wait_ms = 5000});
}

static const struct channel_limits platform_limits = {.text = 4096, .chat_ms = 1000, .all_ms = 10};
static const struct channel_adapter_ops platform_ops = {.platform = "telegram",
                                                        .limits = &platform_limits,
                                                        .open = open_platform,
                                                        .close = close_platform,
                                                        .step = step_platform,
                                                        .send = send_platform,
                                                        .edit = send_platform,
                                                        .woken = wake_platform};

/* One that knows for a minute what it was sent, and can be asked afterwards. */
static const struct channel_limits knowing_limits = {
    .text = 4096, .chat_ms = 1000, .all_ms = 10, .same_ms = 60000};
static const struct channel_adapter_ops knowing_ops = {.platform = "telegram",
                                                       .limits = &knowing_limits,
                                                       .open = open_platform,
                                                       .close = close_platform,
                                                       .step = step_platform,
                                                       .send = send_platform,
                                                       .edit = send_platform,
                                                       .probe = probe_platform,
                                                       .woken = wake_platform};

/* ---- a gateway --------------------------------------------------------------------------------- */

static struct temp temp;
static struct ethos_error error;
static struct ethos_options options;
static char home[128];
static int64_t message_number;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool rang;
} bell = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static void ring(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&bell.mutex);
    bell.rang = true;
    pthread_cond_signal(&bell.cond);
    pthread_mutex_unlock(&bell.mutex);
}

static void assert_fine(int code)
{
    if (code != ETHOS_OK)
        fail_msg("%d: %s", code, error.text);
}

static void open_gateway(const struct channel_adapter_ops *ops, struct http_client *http)
{
    const struct channel_adapter_ops *const adapters[] = {ops, NULL};
    options = (struct ethos_options){.home = home, .fast = 1};
    const struct gateway_setup setup = {.options = &options,
                                        .adapters = adapters,
                                        .http = http,
                                        .open_model = open_model,
                                        .wake = ring};
    assert_fine(gateway_open(&setup, now_ms, &gateway, &error));
}

static int setup(void **state)
{
    (void)state;
    temp_make(&temp);
    snprintf(home, sizeof home, "%s/home", temp.path);
    assert_int_equal(mkdirat(temp.fd, "home", 0700), 0);
    temp_write(&temp, "home/config.yaml", "channels.telegram.enabled: on\n");
    setenv("TELEGRAM_BOT_TOKEN", "1:token", 1);
    now_ms = BEGIN_MS;
    clock_ms = 1000;
    sent_count = 0;
    memset(&script, 0, sizeof script);
    memset(&probes, 0, sizeof probes);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    gateway_close(gateway);
    gateway = NULL;
    temp_remove(&temp);
    return 0;
}

static void add_contact(const char *sender, const char *role)
{
    struct channel_db *db;
    struct contact contact = {.since_ms = now_ms};
    snprintf(contact.platform, sizeof contact.platform, "telegram");
    snprintf(contact.adapter, sizeof contact.adapter, "telegram");
    snprintf(contact.sender, sizeof contact.sender, "%s", sender);
    snprintf(contact.chat, sizeof contact.chat, "%s", sender);
    snprintf(contact.role, sizeof contact.role, "%s", role);
    assert_fine(channel_db_open(home, true, &db, &error));
    assert_fine(contact_store(db, &contact, &error));
    channel_db_close(db);
}

static int64_t step(void)
{
    int64_t wait = 0;
    assert_fine(gateway_step(gateway, now_ms, clock_ms, &wait, &error));
    return wait;
}

/* Until no turn runs and nothing is due at this moment: turns take real time, which the clock does not see. */
static void settle(void)
{
    for (;;) {
        pthread_mutex_lock(&bell.mutex);
        bell.rang = false;
        pthread_mutex_unlock(&bell.mutex);
        int64_t wait = step();
        if (gateway_turns(gateway) == 0 && wait > 0)
            return;
        if (wait == 0)
            continue;
        pthread_mutex_lock(&bell.mutex);
        while (!bell.rang && gateway_turns(gateway) > 0)
            pthread_cond_wait(&bell.cond, &bell.mutex);
        pthread_mutex_unlock(&bell.mutex);
    }
}

static void pass(int64_t ms)
{
    now_ms += ms;
    clock_ms += ms;
    settle();
}

static void say(const char *sender, const char *text)
{
    char msg[32];
    snprintf(msg, sizeof msg, "%lld", (long long)++message_number);
    const struct channel_message message = {.chat = sender,
                                            .msg = msg,
                                            .sender = sender,
                                            .name = "Name",
                                            .text = text,
                                            .time_ms = now_ms,
                                            .direct = 1,
                                            .addressed = 1,
                                            .verified = 1};
    const struct channel_batch batch = {&message, 1, "offset", msg};
    assert_fine(host->received(host->arg, &batch));
    settle();
    pass(platform_limits.all_ms); // whatever was sent before
}

static size_t count_sent(const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < sent_count; i++)
        count += strcmp(sent[i].text, text) == 0;
    return count;
}

static void open_with_people_on(const struct channel_adapter_ops *ops)
{
    add_contact("7", ROLE_OWNER);
    add_contact("8", ROLE_GUEST);
    open_gateway(ops, NULL);
    settle();
}

static void open_with_people(void)
{
    open_with_people_on(&platform_ops);
}

/* ---- sends ------------------------------------------------------------------------------------- */

static void test_a_message_is_answered(void **state)
{
    (void)state;
    open_with_people();
    say("8", "hello");
    assert_int_equal(count_sent("re: hello"), 1);
    assert_string_equal(sent[0].chat, "8");
}

static void test_what_was_not_sent_is_tried_again_after_a_while(void **state)
{
    (void)state;
    open_with_people();
    script.count = 3;
    script.results[0] = script.results[1] = script.results[2] = CHANNEL_NOT_SENT;
    say("8", "hello");
    assert_int_equal(sent_count, 1);
    for (int i = 0; i < 400 && script.at < script.count; i++)
        pass(100);
    for (int i = 0; i < 400 && sent_count < 4; i++)
        pass(100);
    assert_int_equal(sent_count, 4);
    pass(600000);
    assert_int_equal(sent_count, 4);
}

static void test_a_limit_is_waited_for_and_holds_nobody_else(void **state)
{
    (void)state;
    open_with_people();
    script.count = 1;
    script.results[0] = CHANNEL_LATER;
    script.wait_ms = 4 * 3600000;
    say("8", "hello");
    say("7", "others");
    assert_int_equal(count_sent("re: others"), 1);
    pass(4 * 3600000 - 20000);
    assert_int_equal(count_sent("re: hello"), 1);
    pass(20000);
    assert_int_equal(count_sent("re: hello"), 2);
}

static void test_a_limit_counts_from_the_answer(void **state)
{
    (void)state;
    open_with_people();
    script.count = 1;
    script.results[0] = CHANNEL_LATER;
    script.wait_ms = 4000;
    script.answer_ms = 2000;
    say("8", "hello");
    script.answer_ms = 0;
    int64_t answered = clock_ms;
    for (int i = 0; i < 100 && sent_count < 2; i++)
        pass(100);
    assert_int_equal(sent_count, 2);
    assert_in_range(sent[1].at_ms - answered, 4000, 4100);
}

static void test_doubt_is_told_to_the_owner_and_nothing_is_repeated(void **state)
{
    (void)state;
    open_with_people();
    script.count = 1;
    script.results[0] = CHANNEL_UNKNOWN;
    say("8", "hello");
    pass(3600000);
    assert_int_equal(count_sent("re: hello"), 1);
    assert_int_equal(sent_count, 2);
    assert_string_equal(sent[1].chat, "7");
    assert_non_null(strstr(sent[1].text, "may not have arrived"));
    assert_null(strstr(sent[1].text, "re: hello"));
}

static void test_doubt_about_the_line_about_doubt_ends_there(void **state)
{
    (void)state;
    open_with_people();
    script.count = 2;
    script.results[0] = script.results[1] = CHANNEL_UNKNOWN;
    say("8", "hello");
    pass(3600000);
    assert_int_equal(sent_count, 2);
}

/* Doubt while the platform knows what it was sent: the same again. Afterwards it is asked. */
static void test_doubt_is_cleared_by_the_platform(void **state)
{
    static const enum channel_result asked[] = {CHANNEL_LATER, CHANNEL_NOT_SENT};
    (void)state;
    open_with_people_on(&knowing_ops);
    script.count = 2;
    script.results[0] = script.results[1] = CHANNEL_UNKNOWN;
    say("8", "hello");
    for (int i = 0; i < 100; i++)
        pass(500);
    assert_int_equal(count_sent("re: hello"), 3); // the third time it is known that it arrived
    script.count = MAX_ANSWERS;
    for (size_t i = script.at; i < MAX_ANSWERS; i++)
        script.results[i] = CHANNEL_UNKNOWN;
    memcpy(probes.results, asked, sizeof asked);
    say("8", "again");
    for (int i = 0; i < 400 && probes.count < 2; i++)
        pass(500);
    assert_int_equal(probes.count, 2);
    script.count = script.at; // it goes out now
    size_t before = count_sent("re: again");
    for (int i = 0; i < 100; i++)
        pass(500);
    assert_int_equal(count_sent("re: again"), before + 1);
    assert_int_equal(count_sent("re: hello"), 3);
    for (size_t i = 0; i < sent_count; i++)
        assert_null(strstr(sent[i].text, "may not have arrived"));
}

static void test_what_was_under_way_when_the_process_died_is_asked_for(void **state)
{
    struct channel_db *db;
    const struct outbox_entry entry = {.turn = "ch:1",
                                       .part = 1,
                                       .adapter = "telegram",
                                       .chat = "8",
                                       .direct = true,
                                       .final = true,
                                       .text = VIEW("lost"),
                                       .now_ms = BEGIN_MS};
    struct outbox_row row;
    (void)state;
    assert_fine(channel_db_open(home, true, &db, &error));
    for (int i = 0; i < 3; i++) {
        struct outbox_entry next = entry;
        next.part = i + 1;
        assert_fine(outbox_add(db, &next, &error));
        assert_fine(outbox_read(db, i + 1, &row, &error));
        assert_fine(outbox_set_sending(db, &row, BEGIN_MS, &error));
        outbox_row_release(&row);
    }
    channel_db_close(db);
    probes.results[0] = CHANNEL_SENT;
    probes.results[1] = CHANNEL_NOT_SENT;
    probes.results[2] = CHANNEL_UNKNOWN;
    open_with_people_on(&knowing_ops);
    for (int i = 0; i < 100; i++)
        pass(500);
    assert_int_equal(probes.count, 3);
    assert_int_equal(count_sent("lost"), 1);
    assert_non_null(strstr(sent[sent_count - 1].text, "may not have arrived"));
}

static void test_messages_of_a_chat_go_out_in_order_and_not_too_fast(void **state)
{
    (void)state;
    open_with_people();
    for (int i = 0; i < 5; i++) {
        char text[16];
        snprintf(text, sizeof text, "m%d", i);
        say("8", text);
    }
    for (int i = 0; i < 100; i++)
        pass(100);
    assert_int_equal(sent_count, 5);
    for (size_t i = 0; i < 5; i++) {
        char text[16];
        snprintf(text, sizeof text, "re: m%zu", i);
        assert_string_equal(sent[i].text, text);
        assert_true(i == 0 || sent[i].at_ms - sent[i - 1].at_ms >= 1000);
    }
}

/* ---- receiving --------------------------------------------------------------------------------- */

static void test_a_stranger_gets_one_line_a_day(void **state)
{
    (void)state;
    open_with_people();
    for (int i = 0; i < 10; i++) {
        say("9", "let me in");
        pass(3600000);
    }
    assert_int_equal(sent_count, 1);
    pass(86400000);
    say("9", "and now?");
    assert_int_equal(sent_count, 2);
}

static void test_only_so_many_strangers_get_a_code(void **state)
{
    (void)state;
    open_with_people();
    for (int i = 0; i < CODE_MAX_OPEN + 10; i++) {
        char sender[16];
        snprintf(sender, sizeof sender, "%d", 1000 + i);
        say(sender, "hello");
    }
    for (int i = 0; i < 100; i++)
        pass(10);
    assert_int_equal(sent_count, CODE_MAX_OPEN);
}

static void test_guessing_the_owner_code_ends_after_a_few_tries(void **state)
{
    struct channel_db *db;
    char code[CODE_SIZE];
    (void)state;
    open_with_people();
    assert_fine(channel_db_open(home, false, &db, &error));
    assert_fine(code_make(db, CODE_OWNER, "telegram", "", now_ms, code, &error));
    channel_db_close(db);
    for (int i = 0; i < CODE_MAX_TRIES; i++)
        say("9", "ABCDEFGH");
    say("9", code); // right, but too late
    assert_null(strstr(sent[sent_count - 1].text, "now the owner"));
    pass(CODE_MS / 2);
    say("10", code); // whoever has tries left
    assert_non_null(strstr(sent[sent_count - 1].text, "now the owner"));
    say("11", code); // once
    assert_null(strstr(sent[sent_count - 1].text, "now the owner"));
}

/* The link that gateway owner prints sends it so. */
static void test_the_owner_code_may_come_behind_start(void **state)
{
    struct channel_db *db;
    char code[CODE_SIZE], text[32];
    (void)state;
    open_gateway(&platform_ops, NULL);
    settle();
    assert_fine(channel_db_open(home, false, &db, &error));
    assert_fine(code_make(db, CODE_OWNER, "telegram", "", now_ms, code, &error));
    channel_db_close(db);
    snprintf(text, sizeof text, "/start %s", code);
    say("9", text);
    assert_non_null(strstr(sent[0].text, "now the owner"));
}

static void test_who_is_not_verified_is_not_answered_even_if_known(void **state)
{
    const struct channel_message message = {.chat = "7",
                                            .msg = "forged",
                                            .sender = "7",
                                            .name = "Name",
                                            .text = "hello",
                                            .time_ms = BEGIN_MS,
                                            .direct = 1,
                                            .addressed = 1};
    const struct channel_batch batch = {&message, 1, "offset", "1"};
    (void)state;
    open_with_people();
    assert_fine(host->received(host->arg, &batch));
    settle();
    pass(1000);
    assert_int_equal(sent_count, 0);
}

/* ---- an hour of Telegram ----------------------------------------------------------------------- */

/* Its server: one poll waits at most; other calls are answered at the next moment. */
struct call {
    struct call *next;
    uint64_t id;
    http_client_fn *each;
    void *arg;
    bool polls;
    int64_t due_ms;
    char answer[512];
};

struct fake_http {
    struct http_client client;
    struct call *first;
    uint64_t last_id;
    int64_t update, message, sends;
    bool has_message;
};

static int start_call(struct http_client *client, const struct http_client_request *request,
                      http_client_fn *each, void *arg, uint64_t *out_id, struct ethos_error *out)
{
    struct fake_http *self = (struct fake_http *)client;
    struct call *call = calloc(1, sizeof *call);
    (void)out;
    assert_non_null(call);
    call->each = each;
    call->arg = arg;
    call->polls = strstr(request->url, "/getUpdates") != NULL;
    call->due_ms = clock_ms + (call->polls ? 50000 : 0);
    if (strstr(request->url, "/getMe"))
        snprintf(call->answer, sizeof call->answer,
                 "{\"ok\":true,\"result\":{\"id\":1,\"username\":\"bot\"}}");
    else if (strstr(request->url, "/sendMessage"))
        snprintf(call->answer, sizeof call->answer,
                 "{\"ok\":true,\"result\":{\"message_id\":%lld}}", (long long)++self->sends);
    else
        snprintf(call->answer, sizeof call->answer, "{\"ok\":true,\"result\":true}");
    call->id = *out_id = ++self->last_id;
    call->next = self->first;
    self->first = call;
    return ETHOS_OK;
}

static void cancel_call(struct http_client *client, uint64_t id)
{
    struct fake_http *self = (struct fake_http *)client;
    for (struct call **at = &self->first; *at; at = &(*at)->next)
        if ((*at)->id == id) {
            struct call *call = *at;
            *at = call->next;
            free(call);
            return;
        }
}

static const struct http_client_ops fake_ops = {start_call, cancel_call};

static struct call *find_due(struct fake_http *self)
{
    for (struct call *call = self->first; call; call = call->next)
        if (call->due_ms <= clock_ms || (call->polls && self->has_message))
            return call;
    return NULL;
}

/* The body of a poll's answer. */
static void print_updates(struct fake_http *self, char *out, size_t size)
{
    if (self->has_message)
        snprintf(out, size,
                 "{\"ok\":true,\"result\":[{\"update_id\":%lld,\"message\":{\"message_id\":%lld,"
                 "\"date\":%lld,\"chat\":{\"id\":%lld,\"type\":\"private\"},\"from\":{\"id\":%lld,"
                 "\"is_bot\":false,\"first_name\":\"N\"},\"text\":\"message %lld\"}}]}",
                 (long long)self->update, (long long)self->message, (long long)(now_ms / 1000),
                 (long long)(7 + self->message % 2), (long long)(7 + self->message % 2),
                 (long long)self->message);
    else
        snprintf(out, size, "{\"ok\":true,\"result\":[]}");
}

/* Answers all that is due at this moment. */
static void serve(struct fake_http *self)
{
    struct call *call;
    settle();
    while ((call = find_due(self))) {
        struct call answered = *call;
        cancel_call(&self->client, call->id);
        if (answered.polls)
            print_updates(self, answered.answer, sizeof answered.answer);
        self->has_message = self->has_message && !answered.polls;
        answered.each(answered.arg,
                      &(struct http_client_answer){
                          .status = 200, .has_left = true, .body = view_str(answered.answer)});
        int64_t wait = step();
        (void)wait;
    }
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* Seconds of the clock; somebody writes every ten. */
static void live(struct fake_http *self, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        now_ms += 1000;
        clock_ms += 1000;
        if (i % 10 == 0) {
            self->has_message = true;
            self->update++;
            self->message++;
        }
        for (int j = 0; j < 100; j++) {
            serve(self);
            if (gateway_is_idle(gateway) && !find_due(self) && step() > 0)
                break;
        }
    }
}

static void test_an_hour_leaves_memory_and_descriptors_as_they_were(void **state)
{
    enum { WARM_SECONDS = 600, HOUR_SECONDS = 3600, MOST_GROWTH = 65536 };
    struct fake_http fake = {.client = {&fake_ops}, .update = 100};
    (void)state;
    add_contact("7", ROLE_OWNER);
    add_contact("8", ROLE_GUEST);
    open_gateway(&telegram_ops, &fake.client);
    live(&fake, WARM_SECONDS);
    size_t files = count_files();
    alloc_peak_reset();
    live(&fake, HOUR_SECONDS);
    print_message("# %lld messages answered, %ld bytes more, %zu descriptors\n",
                  (long long)fake.sends, alloc_used(), count_files());
    assert_int_equal(fake.sends, fake.message);
    assert_int_equal(count_files(), files);
    assert_true(alloc_used() < MOST_GROWTH); // pages of channels.db that SQLite keeps
    gateway_close(gateway);
    gateway = NULL;
    assert_null(fake.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_message_is_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_was_not_sent_is_tried_again_after_a_while, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_limit_is_waited_for_and_holds_nobody_else, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_limit_counts_from_the_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_doubt_is_told_to_the_owner_and_nothing_is_repeated,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_doubt_about_the_line_about_doubt_ends_there, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_doubt_is_cleared_by_the_platform, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_was_under_way_when_the_process_died_is_asked_for,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_messages_of_a_chat_go_out_in_order_and_not_too_fast,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stranger_gets_one_line_a_day, setup, teardown),
        cmocka_unit_test_setup_teardown(test_only_so_many_strangers_get_a_code, setup, teardown),
        cmocka_unit_test_setup_teardown(test_guessing_the_owner_code_ends_after_a_few_tries, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_owner_code_may_come_behind_start, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_is_not_verified_is_not_answered_even_if_known,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_hour_leaves_memory_and_descriptors_as_they_were,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
