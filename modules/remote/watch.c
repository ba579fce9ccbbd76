/*
 * watch.c: what changed, by the events of the server, on a connection of their own.
 *
 * The stream is read whenever the host asks; its socket is what the host waits for. When it ends, or
 * nothing was heard for three heartbeats, it is opened again with the last event's id, and the server
 * tells what was missed, or "reset" when it does not know: then anything may have changed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/formats/server_sent_events.h"
#include "core/memory/wire.h"
#include "remote.h"

#define AGAIN_MS 1000    /* before the stream is opened again */
#define REFUSED_MS 30000 /* the same when the key was refused */
#define LOOK_MS 15000    /* the host comes by to see whether it is silent */

struct remote_watch {
    const struct remote_link *link;
    CURLM *multi;
    CURL *curl;
    struct curl_slist *headers; /* of the stream that is open, or NULL: none is */
    struct event_stream events; /* what has come of it */
    struct str scopes;          /* to be told, each terminated */
    bool greeted;               /* by the stream that is open */
    bool any;                   /* anything may have changed */
    int64_t heard;              /* when, by os_monotonic_ms */
    int64_t again;              /* when it may be opened again */
    int refused;                /* ETHOS_DENIED: the server said so, and it was not told yet */
};

/* ---- what is heard --------------------------------------------------------------------------------- */

static bool is_noted(const struct remote_watch *self, const char *scope)
{
    for (size_t at = 0; at < self->scopes.size; at += strlen(self->scopes.data + at) + 1)
        if (strcmp(self->scopes.data + at, scope) == 0)
            return true;
    return false;
}

/* An event that is too long is one that is not known. */
static void hear_event(void *arg, struct ethos_view data)
{
    struct remote_watch *self = arg;
    bool ok = true;
    json_t *event = NULL;
    if (!data.data || json_parse(data, "event", &event, NULL) != ETHOS_OK)
        self->any = true;
    const char *type = wire_string(event, "type", &ok), *scope = wire_string(event, "scope", &ok);
    if (type && strcmp(type, "hello") == 0)
        self->greeted = true;
    else if (type && strcmp(type, "reset") == 0)
        self->any = true;
    else if (ok && scope && strlen(scope) < ETHOS_MAX_SCOPE && !is_noted(self, scope))
        str_add(&self->scopes, view_of(scope, strlen(scope) + 1));
    if (str_code(&self->scopes) != ETHOS_OK) {
        str_clear(&self->scopes);
        self->any = true;
    }
    json_decref(event);
}

static size_t read_stream_part(char *data, size_t size, size_t count, void *arg)
{
    struct remote_watch *self = arg;
    self->heard = os_monotonic_ms();
    event_stream_feed(&self->events, view_of(data, size * count));
    return size * count;
}

/* ---- the stream -------------------------------------------------------------------------------------- */

static void shut(struct remote_watch *self, int64_t pause)
{
    if (self->headers) {
        curl_multi_remove_handle(self->multi, self->curl);
        curl_slist_free_all(self->headers);
    }
    self->headers = NULL;
    self->greeted = false;
    self->again = os_monotonic_ms() + pause;
    event_stream_restart(&self->events);
}

/* Without an id to go on from, what happens until the greeting is not known. */
static int start_stream(struct remote_watch *self, struct ethos_error *error)
{
    char line[EVENT_ID_SIZE + 32];
    CURLcode code = link_prepare(self->link, self->curl, "/events", &self->headers);
    if (*self->events.id) {
        snprintf(line, sizeof line, "Last-Event-ID: %s", self->events.id);
        struct curl_slist *longer = curl_slist_append(self->headers, line);
        self->headers = longer ? longer : self->headers;
        code = longer ? code : CURLE_OUT_OF_MEMORY;
    }
    curl_easy_setopt(self->curl, CURLOPT_HTTPHEADER, self->headers);
    curl_easy_setopt(self->curl, CURLOPT_WRITEFUNCTION, read_stream_part);
    curl_easy_setopt(self->curl, CURLOPT_WRITEDATA, self);
    curl_easy_setopt(self->curl, CURLOPT_FRESH_CONNECT, 1L);
    self->heard = os_monotonic_ms();
    if (code == CURLE_OK && curl_multi_add_handle(self->multi, self->curl) == CURLM_OK)
        return ETHOS_OK;
    curl_slist_free_all(self->headers);
    self->headers = NULL;
    self->again = os_monotonic_ms() + AGAIN_MS;
    return err_nomem(error);
}

/* Takes what has come, and notices the end. */
static void pump(struct remote_watch *self)
{
    struct hush hush;
    int running = 0, left;
    long status = 0;
    link_hush(&hush);
    curl_multi_perform(self->multi, &running);
    link_unhush(&hush);
    for (CURLMsg *message; (message = curl_multi_info_read(self->multi, &left));)
        if (message->msg == CURLMSG_DONE)
            running = 0;
    if (!self->headers || running > 0)
        return;
    curl_easy_getinfo(self->curl, CURLINFO_RESPONSE_CODE, &status);
    bool refused = status == 401 || status == 403;
    self->refused = refused ? ETHOS_DENIED : ETHOS_OK;
    shut(self, refused ? REFUSED_MS : AGAIN_MS);
}

/* The first time it is waited for: what happens later is told, what was before is not. */
static void await_greeting(struct remote_watch *self)
{
    int64_t deadline = link_deadline(self->link);
    while (self->headers && !self->greeted && os_monotonic_ms() < deadline) {
        curl_multi_poll(self->multi, NULL, 0, (int)(deadline - os_monotonic_ms()) + 1, NULL);
        pump(self);
    }
    self->any = !self->greeted;
    str_clear(&self->scopes);
}

static int begin_watch(struct remote *remote, struct ethos_error *error)
{
    struct remote_watch *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->link = &remote->link;
    event_stream_init(&self->events, REMOTE_MAX_EVENT, hear_event, self);
    str_init(&self->scopes, REMOTE_MAX_EVENT);
    self->multi = curl_multi_init();
    self->curl = curl_easy_init();
    int code = self->multi && self->curl ? start_stream(self, error) : err_nomem(error);
    if (code != ETHOS_OK) {
        watch_free(self);
        return code;
    }
    remote->watch = self;
    await_greeting(self);
    return ETHOS_OK;
}

void watch_free(struct remote_watch *self)
{
    if (!self)
        return;
    if (self->multi)
        shut(self, 0);
    curl_easy_cleanup(self->curl);
    curl_multi_cleanup(self->multi);
    event_stream_release(&self->events);
    str_release(&self->scopes);
    free(self);
}

/* ---- telling ------------------------------------------------------------------------------------------ */

static int report_changed_remote_scopes(struct remote_watch *self, ethos_scope_fn *each, void *arg)
{
    int code = ETHOS_OK;
    if (self->any)
        code = each(arg, NULL);
    for (size_t at = 0; !self->any && code == ETHOS_OK && at < self->scopes.size;
         at += strlen(self->scopes.data + at) + 1)
        code = each(arg, self->scopes.data + at);
    self->any = false;
    str_clear(&self->scopes);
    return code;
}

/* The socket of the stream; -1: it has none now, or one that select(2) could not take. */
static int stream_fd(const struct remote_watch *self)
{
    fd_set reading, writing, failing;
    int most = -1;
    FD_ZERO(&reading);
    FD_ZERO(&writing);
    FD_ZERO(&failing);
    curl_multi_fdset(self->multi, &reading, &writing, &failing, &most);
    while (most >= 0 && !FD_ISSET(most, &reading))
        most--;
    return most;
}

/* What the host is to wait for. */
static void say_when(const struct remote_watch *self, int *out_fd, unsigned *out_wait_ms)
{
    int64_t until = self->again - os_monotonic_ms();
    *out_fd = self->headers && self->greeted ? stream_fd(self) : -1;
    *out_wait_ms = self->headers ? (*out_fd >= 0 ? LOOK_MS : AGAIN_MS)
                   : until > 0   ? (unsigned)until
                                 : 1;
}

int remote_watch(struct ethos_store *store, ethos_scope_fn *each, void *arg, int *out_fd,
                 unsigned *out_wait_ms, struct ethos_error *error)
{
    struct remote *remote = remote_of(store);
    bool first = !remote->watch;
    int code = first ? begin_watch(remote, error) : ETHOS_OK;
    struct remote_watch *self = remote->watch;
    if (code != ETHOS_OK)
        return code;
    if (!first && self->headers)
        pump(self);
    if (self->headers && os_monotonic_ms() - self->heard > REMOTE_SILENT_MS)
        shut(self, 0);
    if (!self->headers && os_monotonic_ms() >= self->again)
        code = start_stream(self, error);
    if (code == ETHOS_OK && !first)
        code = report_changed_remote_scopes(self, each, arg);
    say_when(self, out_fd, out_wait_ms);
    if (code == ETHOS_OK && self->refused) {
        code = err_set(error, ETHOS_DENIED, "%s: refuses the key %s", self->link->url,
                       self->link->prefix);
        self->refused = ETHOS_OK;
    }
    return code;
}
