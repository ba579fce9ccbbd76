/*
 * thread_context.c: each thread's own handle, opened when first needed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "http/server.h"
#include "ops/shared_handles.h"

struct http_seat {
    struct http_seat *next;
    struct ethos *ethos; /* NULL until an operation needs it */
    void *own;
    void (*release)(void *own);
    struct auth_last last;
    char name[UUID_SIZE]; /* of requests, but for the last four digits: those count */
    uint16_t names;
};

struct seats {
    struct http *http;
    pthread_key_t mine;
    pthread_mutex_t mutex;
    struct http_seat *all;
};

int seats_new(struct http *http, struct seats **out, struct ethos_error *error)
{
    struct seats *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    int number = pthread_key_create(&self->mine, NULL);
    if (number != 0) {
        free(self);
        return err_errno(error, number, "threads");
    }
    pthread_mutex_init(&self->mutex, NULL);
    self->http = http;
    *out = self;
    return ETHOS_OK;
}

void seats_free(struct seats *self)
{
    if (!self)
        return;
    while (self->all) {
        struct http_seat *seat = self->all;
        self->all = seat->next;
        if (seat->own)
            seat->release(seat->own);
        ethos_close(seat->ethos);
        explicit_bzero(&seat->last, sizeof seat->last);
        free(seat);
    }
    pthread_key_delete(self->mine);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

struct http_seat *seats_take(struct seats *self)
{
    struct http_seat *seat = pthread_getspecific(self->mine);
    if (seat)
        return seat;
    seat = calloc(1, sizeof *seat);
    if (!seat || pthread_setspecific(self->mine, seat) != 0) {
        free(seat);
        return NULL;
    }
    pthread_mutex_lock(&self->mutex);
    seat->next = self->all;
    self->all = seat;
    pthread_mutex_unlock(&self->mutex);
    return seat;
}

void seats_name(struct http_seat *seat, char out[UUID_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    out[0] = 0;
    if (!seat || (seat->names == 0 && uuid_make(seat->name) != 0))
        return; // no name is better than that of another
    memcpy(out, seat->name, UUID_SIZE);
    for (unsigned i = 0, number = seat->names; i < 4; i++, number >>= 4)
        out[UUID_SIZE - 2 - i] = digits[number & 15];
    seat->names++;
}

struct auth_last *seats_last(struct http_seat *seat)
{
    return &seat->last;
}

void *seats_own(const struct http_seat *seat)
{
    return seat->own;
}

void seats_put(struct http_seat *seat, void *own, void (*release)(void *own))
{
    seat->own = own;
    seat->release = release;
}

int http_open(struct http *http, struct ethos **out, struct ethos_error *error)
{
    return shared_handles_open(http->share, &http->options, out, error);
}

int http_ethos(struct http_call *call, struct ethos **out, struct ethos_error *error)
{
    struct http_seat *seat = call->seat;
    if (!seat)
        return err_nomem(error);
    int code = seat->ethos ? ETHOS_OK : http_open(call->http, &seat->ethos, error);
    *out = seat->ethos;
    return code;
}

void http_log(struct http *http, enum ethos_level level, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    http->options.host->log(http->options.host->arg, level, line);
}
