/*
 * retry.c: a request and its answer, over as many connections as it takes until the deadline.
 */
#include <stdio.h>

#include "base/err.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "redis.h"

#define PAUSE_MS 5       /* before the second attempt; then doubled */
#define MAX_PAUSE_MS 250 /* between two attempts */

void redis_begin(struct redis *self)
{
    self->began = os_monotonic_ms();
    self->deadline = self->began + reach_call_ms(&self->reach);
}

void redis_begin_texts(struct redis *self)
{
    redis_begin(self);
    self->deadline = reach_attempt(&self->reach, self->began, self->deadline);
}

int64_t redis_left_ms(const struct redis *self)
{
    int64_t left = self->deadline - os_monotonic_ms();
    return left > 0 ? left : 0;
}

/* Makes a connection if there is none that can be used. */
static int connected(struct redis *self, struct ethos_error *error)
{
    struct server server = {0};
    int64_t deadline = self->deadline;
    if (link_idle(&self->link))
        return ETHOS_OK;
    self->deadline = reach_attempt(&self->reach, os_monotonic_ms(), deadline);
    int code = link_open(self, &self->link, &server, error);
    self->deadline = deadline;
    if (code != ETHOS_OK)
        return code;
    if (server_durable(&self->server) && !server_durable(&server))
        log_line(self->host, ETHOS_LOG_WARN,
                 "Redis at %s no longer keeps what it acknowledges; ethos doctor says why",
                 self->place.shown);
    self->server = server;
    self->store.capabilities = server_durable(&server) ? ETHOS_STORE_DURABLE : 0;
    return ETHOS_OK;
}

/* A command as it is sent: the head comes before the request's words. */
struct question {
    struct ethos_view head;
    const struct redis_request *request;
};

/* One attempt. *out_again: another one may do. *out_lost: it was sent, and no answer came. */
static int send_request_once(struct redis *self, const struct question *question, bool *out_lost,
                             bool *out_again, redisReply **out_reply, struct ethos_error *error)
{
    redisReply *reply = NULL;
    *out_again = false;
    int code = connected(self, error);
    if (code == ETHOS_OK)
        code = link_send(self, &self->link, question->head, question->request, error);
    if (code == ETHOS_OK) {
        code = link_reply(self, &self->link, &reply, error);
        *out_lost |= code != ETHOS_OK;
    }
    if (code != ETHOS_OK) {
        link_close(&self->link);
        *out_again = code == ETHOS_BUSY;
        return code;
    }
    if (reply->type != REDIS_REPLY_ERROR) {
        *out_reply = reply;
        return ETHOS_OK;
    }
    code = refusal_set(self, reply, out_again, error);
    freeReplyObject(reply);
    if (!*out_again) // where the name leads, or who we may be, can be another next time
        link_close(&self->link);
    return code;
}

/*
 * False when another attempt would have less time than was waited before it: its answer might be
 * lost for that alone. What was lost is asked for until the deadline.
 */
static bool pause_ms(const struct redis *self, bool lost, int64_t *pause)
{
    int64_t until = lost ? self->deadline : reach_again(&self->reach, self->began, self->deadline);
    if (until - os_monotonic_ms() < 2 * *pause)
        return false;
    if (!reach_sleep(&self->reach, (unsigned)*pause))
        return false;
    *pause = *pause * 2 < MAX_PAUSE_MS ? *pause * 2 : MAX_PAUSE_MS;
    return true;
}

static int check_request_size(const struct redis_request *request, struct ethos_error *error)
{
    int code = str_code(&request->bytes);
    if (code == ETHOS_LIMIT || request->words > REDIS_MAX_WORDS) {
        code = err_set(error, ETHOS_LIMIT, "larger than Redis accepts at once");
        return err_hint(error, code, "%d bytes, %d words", REDIS_MAX_REQUEST, REDIS_MAX_WORDS);
    }
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* Asked, or connected, for the last time: a server that did not answer is left alone for a while. */
static int remember_failure(struct redis *self, int code, const struct ethos_error *error)
{
    if (code == ETHOS_BUSY && self->link.fd < 0)
        reach_failed(&self->reach, self->began, os_monotonic_ms(), error);
    return code;
}

static int send_until(struct redis *self, const struct question *question, bool *out_lost,
                      redisReply **out_reply, struct ethos_error *error)
{
    int64_t pause = PAUSE_MS;
    bool again;
    struct ethos_error local = {0};
    error = error ? error : &local;
    int code = check_request_size(question->request, error);
    if (code == ETHOS_OK)
        code = reach_check(&self->reach, os_monotonic_ms(), error);
    if (code != ETHOS_OK)
        return code;
    do
        code = send_request_once(self, question, out_lost, &again, out_reply, error);
    while (code != ETHOS_OK && again && pause_ms(self, *out_lost, &pause));
    return remember_failure(self, code, error);
}

int redis_ask(struct redis *self, const struct redis_request *request, redisReply **out_reply,
              struct ethos_error *error)
{
    char head[32];
    bool lost = false;
    snprintf(head, sizeof head, "*%zu\r\n", request->words);
    const struct question question = {view_str(head), request};
    return send_until(self, &question, &lost, out_reply, error);
}

/* By its name, and whole where the server does not know it. */
int ask_script(struct redis *self, enum script script, const struct redis_request *words,
               bool *out_lost, redisReply **out_reply, struct ethos_error *error)
{
    int code = ETHOS_EXISTS;
    bool lost = false;
    for (int whole = 0; whole < 2 && code == ETHOS_EXISTS; whole++) {
        const char *name = whole ? script_texts[script] : self->shas[script];
        struct str head;
        str_init(&head, SIZE_MAX);
        str_printf(&head, "*%zu\r\n%s\r\n$%zu\r\n%s\r\n", words->words + 2,
                   whole ? "$4\r\nEVAL" : "$7\r\nEVALSHA", strlen(name), name);
        const struct question question = {str_view(&head), words};
        code = str_code(&head) ? err_nomem(error)
                               : send_until(self, &question, &lost, out_reply, error);
        str_release(&head);
    }
    if (out_lost)
        *out_lost = lost;
    return code;
}

int ask_nothing(struct redis *self, struct ethos_error *error)
{
    int64_t pause = PAUSE_MS;
    struct ethos_error local = {0};
    error = error ? error : &local;
    int code = reach_check(&self->reach, os_monotonic_ms(), error);
    if (code != ETHOS_OK)
        return code;
    do
        code = connected(self, error);
    while (code == ETHOS_BUSY && pause_ms(self, false, &pause));
    return remember_failure(self, code, error);
}
