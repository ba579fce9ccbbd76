/*
 * fuzz_telegram.c: any bytes as answers of Telegram, one a line: the adapter gives out nothing that is not whole, and
 * every send it was asked for has one end.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/view.h"
#include "gateway/adapters/telegram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_CALLS 64
#define MAX_STEPS 200

struct call {
    http_client_fn *each;
    void *arg;
    uint64_t id;
};

struct fake {
    struct http_client client;
    struct call calls[MAX_CALLS];
    uint64_t last_id;
    int sends, ends;
};

static int start(struct http_client *client, const struct http_client_request *request,
                 http_client_fn *each, void *arg, uint64_t *out_id, struct ethos_error *error)
{
    struct fake *self = (struct fake *)client;
    (void)error;
    assert(utf8_valid(request->body));
    for (size_t i = 0; i < MAX_CALLS; i++)
        if (self->calls[i].id == 0) {
            self->calls[i] = (struct call){each, arg, ++self->last_id};
            *out_id = self->last_id;
            return ETHOS_OK;
        }
    return ETHOS_NOMEM;
}

static void cancel(struct http_client *client, uint64_t id)
{
    struct fake *self = (struct fake *)client;
    for (size_t i = 0; i < MAX_CALLS; i++)
        if (self->calls[i].id == id)
            self->calls[i].id = 0;
}

static const struct http_client_ops fake_ops = {start, cancel};

static int received(void *arg, const struct channel_batch *batch)
{
    (void)arg;
    for (size_t i = 0; i < batch->count; i++) {
        const struct channel_message *message = &batch->messages[i];
        assert(*message->chat && *message->msg && *message->sender);
        assert(utf8_valid(view_str(message->text)) && utf8_valid(view_str(message->name)));
        assert(strlen(message->name) < CHANNEL_MAX_ID && strlen(message->chat) < CHANNEL_MAX_ID);
    }
    return ETHOS_OK;
}

static void sent(void *arg, int64_t row, const struct channel_sent *end)
{
    struct fake *self = arg;
    assert(row > 0 && row <= self->sends);
    assert(end->result != CHANNEL_LATER || end->wait_ms > 0);
    self->ends++;
}

static void state(void *arg, enum channel_state now, const char *why)
{
    (void)arg;
    assert(now == CHANNEL_UP || (why && *why));
}

static int cursor(void *arg, const char *name, char out[CHANNEL_MAX_CURSOR])
{
    (void)arg, (void)name;
    *out = '\0';
    return ETHOS_OK;
}

static void renamed(void *arg, const char *from, const char *to)
{
    (void)arg;
    assert(from && *to);
}

/* The oldest call gets the line. */
static void answer(struct fake *self, struct ethos_view line)
{
    struct call *oldest = NULL;
    for (size_t i = 0; i < MAX_CALLS; i++)
        if (self->calls[i].id != 0 && (!oldest || self->calls[i].id < oldest->id))
            oldest = &self->calls[i];
    if (!oldest)
        return;
    struct call call = *oldest;
    oldest->id = 0;
    call.each(call.arg, &(struct http_client_answer){.status = line.size > 0 ? 200 : 0,
                                                     .has_left = line.size % 2,
                                                     .body = line,
                                                     .problem = "cut"});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fake fake = {.client = {&fake_ops}};
    const struct channel_host host = {.arg = &fake,
                                      .http = &fake.client,
                                      .received = received,
                                      .sent = sent,
                                      .state = state,
                                      .cursor = cursor,
                                      .renamed = renamed};
    const char *const secrets[] = {"1:token"};
    const struct channel_setup setup = {&host, secrets, NULL};
    struct channel_adapter *adapter;
    struct ethos_view rest = view_of((const char *)data, size), line;
    int64_t now = 1;
    assert(telegram_ops.open(&setup, &adapter, NULL) == ETHOS_OK);
    for (int i = 0; i < MAX_STEPS && view_line(&rest, &line); i++) {
        const struct channel_outgoing outgoing = {
            .row = fake.sends + 1, .chat = "7", .remote = "1", .text = VIEW("text")};
        if (i % 3 == 2 && fake.sends - fake.ends < MAX_CALLS / 2) {
            fake.sends++;
            (i % 2 ? telegram_ops.edit : telegram_ops.send)(adapter, &outgoing);
        }
        now += 1000000;
        telegram_ops.step(adapter, now);
        answer(&fake, line);
        assert(fake.ends <= fake.sends);
    }
    telegram_ops.close(adapter);
    return 0;
}
