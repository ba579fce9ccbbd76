/*
 * sockets.h: a platform that answers requests and speaks over sockets with the lines of an input, for adapters that use
 * both: "<" ends a socket, ">" opens the next one, "s" sends, "e" edits, "p" asks; what else there is is a frame for
 * the newest socket, or with "=" before it the answer to the oldest request.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/view.h"
#include "gateway/adapters/adapter.h"

#define MAX_CALLS 256
#define MAX_STEPS 400
#define MAX_SOCKETS 64

struct call {
    http_client_fn *each;
    void *arg;
    uint64_t id;
};

struct fake {
    struct http_client client;
    struct websockets websockets;
    struct call calls[MAX_CALLS];
    uint64_t last_id;
    struct websocket_event events[MAX_SOCKETS * 4];
    size_t first, count;
    unsigned last_socket;
    bool open[MAX_SOCKETS];
    int sends, ends;
};

static struct fake *fake_of(struct websockets *websockets)
{
    return (struct fake *)((char *)websockets - offsetof(struct fake, websockets));
}

static int start(struct http_client *client, const struct http_client_request *request,
                 http_client_fn *each, void *arg, uint64_t *out_id, struct ethos_error *error)
{
    struct fake *self = (struct fake *)client;
    (void)error;
    assert(utf8_valid(request->body) && request->authorization);
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

static const struct http_client_ops fake_http = {start, cancel};

static void push(struct fake *self, enum websocket_kind kind, unsigned id, struct ethos_view text)
{
    if (self->count == sizeof self->events / sizeof *self->events)
        return;
    struct websocket_event *event = &self->events[self->count++];
    *event = (struct websocket_event){.kind = kind, .id = id, .code = (int)(text.size % 20) + 4000};
    str_init(&event->text, WEBSOCKET_MAX_MESSAGE);
    str_add(&event->text, text);
}

static void end_socket(struct fake *self, unsigned id, struct ethos_view why)
{
    if (id == 0 || id >= MAX_SOCKETS || !self->open[id])
        return;
    self->open[id] = false;
    push(self, WEBSOCKET_CLOSED, id, why);
}

static unsigned connect_fake(struct websockets *websockets, const char *url)
{
    struct fake *self = fake_of(websockets);
    assert(websocket_url_is_trusted(url, "slack.com", true) ||
           websocket_url_is_trusted(url, "discord.gg", true));
    self->last_socket++;
    if (self->last_socket < MAX_SOCKETS)
        self->open[self->last_socket] = true;
    return self->last_socket;
}

static void send_fake(struct websockets *websockets, unsigned id, struct ethos_view text)
{
    (void)websockets;
    assert(id > 0 && utf8_valid(text) && text.size <= 4096);
}

static void close_fake(struct websockets *websockets, unsigned id, int code)
{
    assert(code >= 1000 && code < 5000);
    end_socket(fake_of(websockets), id, (struct ethos_view){0});
}

static bool next_fake(struct websockets *websockets, struct websocket_event *out)
{
    struct fake *self = fake_of(websockets);
    if (self->first == self->count)
        return false;
    *out = self->events[self->first++];
    if (self->first == self->count)
        self->first = self->count = 0;
    return true;
}

static void free_fake(struct websockets *websockets)
{
    struct websocket_event event;
    while (next_fake(websockets, &event))
        str_release(&event.text);
}

static const struct websockets_ops fake_sockets = {connect_fake, send_fake, close_fake, next_fake,
                                                   free_fake};

static struct fake *opening;

static int open_sockets(void (*wake)(void *arg), void *arg, bool direct, struct websockets **out,
                        struct ethos_error *error)
{
    (void)wake, (void)arg, (void)direct, (void)error;
    *out = &opening->websockets;
    return ETHOS_OK;
}

/* ---- the gateway ------------------------------------------------------------------------------- */

static int received(void *arg, const struct channel_batch *batch)
{
    (void)arg;
    for (size_t i = 0; i < batch->count; i++) {
        const struct channel_message *message = &batch->messages[i];
        assert(*message->chat && *message->msg && *message->sender);
        assert(utf8_valid(view_str(message->text)) && utf8_valid(view_str(message->name)));
        assert(strlen(message->name) < CHANNEL_MAX_ID && strlen(message->chat) < CHANNEL_MAX_ID);
        assert(strlen(message->sender) < CHANNEL_MAX_ID && strlen(message->msg) < CHANNEL_MAX_ID);
    }
    assert(!batch->cursor || strlen(batch->value) < CHANNEL_MAX_CURSOR);
    return ETHOS_OK;
}

static void sent(void *arg, int64_t row, const struct channel_sent *end)
{
    struct fake *self = arg;
    assert(row > 0 && row <= self->sends);
    assert(end->result != CHANNEL_LATER || end->wait_ms > 0);
    assert(end->result != CHANNEL_SENT || !end->remote || strlen(end->remote) < CHANNEL_MAX_ID);
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

static int places(void *arg, inbox_place_fn *each, void *each_arg)
{
    struct inbox_place place = {
        .chat = "C1", .thread = "1.2", .msg = "1.3", .received_ms = INT64_MAX / 2};
    (void)arg;
    return each(each_arg, &place);
}

static void wake(void *arg)
{
    (void)arg;
}

static void answer_oldest(struct fake *self, struct ethos_view line)
{
    struct call *oldest = NULL;
    for (size_t i = 0; i < MAX_CALLS; i++)
        if (self->calls[i].id != 0 && (!oldest || self->calls[i].id < oldest->id))
            oldest = &self->calls[i];
    if (!oldest)
        return;
    static const int statuses[] = {200, 429, 500, 404, 401, 403, 200, 200};
    struct call call = *oldest;
    oldest->id = 0;
    call.each(call.arg,
              &(struct http_client_answer){.status = line.size > 0 ? statuses[line.size % 8] : 0,
                                           .has_left = line.size % 2,
                                           .body = line,
                                           .headers = line,
                                           .problem = "cut"});
}

static void act(struct fake *self, struct channel_adapter *adapter, struct ethos_view line)
{
    char kind = line.size == 1 ? *line.data : '\0';
    const struct channel_outgoing outgoing = {.row = self->sends + 1,
                                              .chat = "C1",
                                              .thread = "1.2",
                                              .reply_to = "3",
                                              .remote = "4",
                                              .turn = "ch:1",
                                              .part = 1,
                                              .sent_ms = 1763200000123,
                                              .text = VIEW("a < b")};
    if (kind == 's' || kind == 'e' || kind == 'p') {
        self->sends++;
        if (kind == 's')
            adapter->ops->send(adapter, &outgoing);
        else if (kind == 'e')
            adapter->ops->edit(adapter, &outgoing);
        else
            adapter->ops->probe(adapter, &outgoing);
    } else if (kind == '<') {
        end_socket(self, self->last_socket, line);
    } else if (kind == 'w') {
        adapter->ops->woken(adapter);
    } else if (line.size > 0 && *line.data == '=') {
        answer_oldest(self, view_from(line, 1));
    } else if (self->last_socket > 0 && self->last_socket < MAX_SOCKETS &&
               self->open[self->last_socket]) {
        push(self, WEBSOCKET_MESSAGE, self->last_socket, line);
    }
}

static void drive(const struct channel_adapter_ops *ops, const char *const *secrets,
                  struct ethos_view rest)
{
    struct fake *fake = calloc(1, sizeof *fake);
    struct channel_adapter *adapter;
    struct channel_settings settings = {.api_root = "http://127.0.0.1:1/api"};
    struct ethos_view line;
    int64_t now = 0;
    assert(fake);
    fake->client.ops = &fake_http;
    fake->websockets.ops = &fake_sockets;
    opening = fake;
    const struct channel_host host = {.arg = fake,
                                      .http = &fake->client,
                                      .received = received,
                                      .sent = sent,
                                      .state = state,
                                      .cursor = cursor,
                                      .places = places,
                                      .wake = wake,
                                      .open_websockets = open_sockets};
    const struct channel_setup setup = {&host, secrets, &settings};
    assert(ops->open(&setup, &adapter, NULL) == ETHOS_OK);
    for (int i = 0; i < MAX_STEPS && view_line(&rest, &line); i++) {
        int64_t next = ops->step(adapter, now);
        now = next > now && next < INT64_MAX ? next : now + 1;
        act(fake, adapter, line);
    }
    ops->step(adapter, now);
    ops->close(adapter);
    assert(fake->ends <= fake->sends);
    free(fake);
}
