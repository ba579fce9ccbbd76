/*
 * watch.c: which scopes changed, over a connection of its own that waits for entries of
 * <prefix>:changes.
 *
 * Every commit adds an entry there with a number one above the last. The server is asked for those
 * after the last one seen and keeps the question until there is one, or for BLOCK_MS: so a
 * connection on which nothing comes for longer is a dead one. After a new connection, and after a
 * gap in the numbers (the stream keeps only the newest), anything may have changed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/system/os.h"
#include "redis.h"

#define BLOCK_MS 20000    /* how long the server waits before it answers that there is nothing */
#define SILENCE_MS 30000  /* after that long the connection is dead */
#define PAUSE_MS 250      /* before a second attempt to connect; then doubled */
#define MAX_PAUSE_MS 8000 /* between two attempts */
#define DIGITS(number) #number
#define WORD(number) DIGITS(number)

static int send_words(struct redis *self, struct redis_request *request, struct ethos_error *error)
{
    int code = link_say(self, &self->watch.link, request, error);
    request_release(request);
    return code;
}

/* Asks for what comes after the last entry seen. */
static int ask_next(struct redis *self, struct ethos_error *error)
{
    struct redis_request request;
    char name[REDIS_KEY_SIZE];
    redis_key(self, NULL, "changes", "", name);
    request_init(&request);
    request_say(&request, 6, "XREAD", "BLOCK", WORD(BLOCK_MS), "STREAMS", name, self->watch.after);
    self->watch.asked = os_monotonic_ms();
    return send_words(self, &request, error);
}

/* The value of a field of an entry; NULL when it has none. */
static const char *entry_field(const redisReply *entry, const char *name)
{
    const redisReply *fields = entry->element[1];
    for (size_t i = 0; i + 1 < fields->elements; i += 2)
        if (fields->element[i]->str && strcmp(fields->element[i]->str, name) == 0)
            return fields->element[i + 1]->str;
    return NULL;
}

static bool is_entry(const redisReply *entry)
{
    return entry->type == REDIS_REPLY_ARRAY && entry->elements == 2 && entry->element[0]->str &&
           entry->element[1]->type == REDIS_REPLY_ARRAY && entry_field(entry, "number") &&
           entry_field(entry, "scope");
}

/* Takes an entry for the last one seen. */
static void remember_entry_id(struct redis_watch *watch, const redisReply *entry)
{
    snprintf(watch->after, sizeof watch->after, "%s", entry->element[0]->str);
    watch->number = strtoull(entry_field(entry, "number"), NULL, 10);
}

/* Finds where the stream ends now, and asks for what follows. */
static int begin_stream(struct redis *self, struct ethos_error *error)
{
    struct redis_watch *watch = &self->watch;
    struct redis_request request;
    char name[REDIS_KEY_SIZE];
    redisReply *reply = NULL;
    bool again;
    int code = link_open(self, &watch->link, NULL, error);
    if (code != ETHOS_OK)
        return code;
    redis_key(self, NULL, "changes", "", name);
    request_init(&request);
    request_say(&request, 6, "XREVRANGE", name, "+", "-", "COUNT", "1");
    code = send_words(self, &request, error);
    if (code == ETHOS_OK)
        code = link_reply(self, &watch->link, &reply, error);
    if (code == ETHOS_OK && reply->type == REDIS_REPLY_ERROR)
        code = refusal_set(self, reply, &again, error);
    if (code == ETHOS_OK) {
        snprintf(watch->after, sizeof watch->after, "0-0");
        watch->number = 0;
        if (reply->type == REDIS_REPLY_ARRAY && reply->elements && is_entry(reply->element[0]))
            remember_entry_id(watch, reply->element[0]);
        code = ask_next(self, error);
    }
    freeReplyObject(reply);
    if (code != ETHOS_OK)
        link_close(&watch->link);
    return code;
}

/* ---- telling -------------------------------------------------------------------------------- */

static int tell_entries(struct redis_watch *watch, const redisReply *entries, ethos_scope_fn *each,
                        void *arg)
{
    const char *told = NULL;
    int code = ETHOS_OK;
    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *entry = entries->element[i];
        uint64_t last = watch->number;
        if (!is_entry(entry)) {
            watch->missed = true;
            continue;
        }
        remember_entry_id(watch, entry);
        watch->missed |= watch->number != last + 1 || code != ETHOS_OK;
        const char *scope = entry_field(entry, "scope");
        if (code == ETHOS_OK && (!told || strcmp(told, scope) != 0))
            code = each(arg, scope);
        told = scope;
    }
    return code;
}

/* An array of streams, each a name and its entries; nil when there was nothing. */
static int report_entries(struct redis_watch *watch, const redisReply *reply, ethos_scope_fn *each,
                          void *arg)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return ETHOS_OK;
    if (reply->elements != 1 || reply->element[0]->type != REDIS_REPLY_ARRAY ||
        reply->element[0]->elements != 2 ||
        reply->element[0]->element[1]->type != REDIS_REPLY_ARRAY) {
        watch->missed = true;
        return ETHOS_OK;
    }
    return tell_entries(watch, reply->element[0]->element[1], each, arg);
}

/*
 * Tells whatever has arrived. A connection that is lost, or refused by the server, is closed;
 * *out_stop is what a callback stopped with.
 */
static void drain(struct redis *self, ethos_scope_fn *each, void *arg, int *out_stop)
{
    struct redis_watch *watch = &self->watch;
    redisReply *reply;
    struct ethos_error ignored;
    bool open = link_look(self, &watch->link, &reply, &ignored) == ETHOS_OK;
    while (open && reply) {
        open = reply->type != REDIS_REPLY_ERROR;
        if (open)
            *out_stop = report_entries(watch, reply, each, arg);
        freeReplyObject(reply);
        reply = NULL;
        open = open && ask_next(self, &ignored) == ETHOS_OK;
        if (*out_stop != ETHOS_OK)
            break;
        open = open && link_look(self, &watch->link, &reply, &ignored) == ETHOS_OK;
    }
    if (!open || os_monotonic_ms() - watch->asked > SILENCE_MS)
        link_close(&watch->link);
}

/* ---- the slot ------------------------------------------------------------------------------- */

/* While there is no connection the caller comes back after a pause. */
static int reconnect(struct redis *self, struct ethos_error *error)
{
    struct redis_watch *watch = &self->watch;
    if (watch->begun && self->connect_ms < self->reach.deadline_ms)
        self->deadline = os_monotonic_ms() + self->connect_ms; // whoever watches has more to do
    int code = begin_stream(self, error);
    if (code == ETHOS_OK) {
        watch->missed = watch->begun;
        watch->begun = true;
        watch->pause = 0;
        return ETHOS_OK;
    }
    watch->pause = watch->pause ? watch->pause * 2 : PAUSE_MS;
    if (watch->pause > MAX_PAUSE_MS)
        watch->pause = MAX_PAUSE_MS;
    return watch->begun ? ETHOS_OK : code;
}

int watch_look(struct ethos_store *store, ethos_scope_fn *each, void *arg, int *out_fd,
               unsigned *out_wait_ms, struct ethos_error *error)
{
    struct redis *self = (struct redis *)store;
    struct redis_watch *watch = &self->watch;
    int code = ETHOS_OK;
    redis_begin(self);
    if (watch->link.fd >= 0)
        drain(self, each, arg, &code);
    if (watch->link.fd < 0) {
        int failure = reconnect(self, error);
        if (failure != ETHOS_OK)
            return failure;
    }
    if (code == ETHOS_OK && watch->missed && watch->link.fd >= 0) {
        watch->missed = false;
        code = each(arg, NULL);
    }
    *out_fd = watch->link.fd;
    *out_wait_ms = watch->link.fd >= 0 ? SILENCE_MS : watch->pause;
    return code;
}
