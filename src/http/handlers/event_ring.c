/*
 * event_ring.c: a ring of frames behind one mutex.
 */
#include "http/handlers/event_ring.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define FRAME_EXTRA 96 /* bytes: id, run and line ends */
#define RUN_SIZE 40    /* bytes at most of a run */
#define RECENT 4       /* batches that readers of the same place share */

struct ring_frame {
    unsigned kind;
    size_t size;
    char *text;
};

/* The frames after `from` up to `to`, but for those of other kinds. */
struct hub_batch {
    atomic_uint holders;
    unsigned kinds;
    uint64_t from, to;
    size_t size;
    char bytes[];
};

struct hub {
    pthread_mutex_t mutex;
    size_t most_events, most_bytes;
    struct ring_frame *frames; /* event n is at n modulo capacity */
    size_t capacity;
    uint64_t first, next; /* numbers: of the oldest that is there, and of the one to come */
    size_t bytes;
    struct hub_batch *recent[RECENT]; /* that were read last */
    size_t oldest;                    /* of them */
};

int hub_new(size_t events, size_t bytes, struct hub **out, struct ethos_error *error)
{
    struct hub *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    pthread_mutex_init(&self->mutex, NULL);
    self->most_events = events;
    self->most_bytes = bytes ? bytes : SIZE_MAX;
    self->first = self->next = 1;
    *out = self;
    return ETHOS_OK;
}

static struct ring_frame *frame_of(const struct hub *self, uint64_t number)
{
    return &self->frames[number % self->capacity];
}

static void drop_oldest(struct hub *self)
{
    struct ring_frame *frame = frame_of(self, self->first++);
    self->bytes -= frame->size;
    free(frame->text);
}

void hub_free(struct hub *self)
{
    if (!self)
        return;
    while (self->first < self->next)
        drop_oldest(self);
    for (size_t i = 0; i < RECENT; i++)
        hub_release(self->recent[i]);
    pthread_mutex_destroy(&self->mutex);
    free(self->frames);
    free(self);
}

/* Room for one more frame: the ring is made larger up to what it may be, then the oldest go. */
static bool grow_or_evict(struct hub *self, size_t size)
{
    while (self->first < self->next &&
           (self->next - self->first >= self->most_events || self->bytes + size > self->most_bytes))
        drop_oldest(self);
    if (self->next - self->first < self->capacity)
        return true;
    struct hub larger = *self;
    larger.capacity = self->capacity ? 2 * self->capacity : 16;
    larger.frames = calloc(larger.capacity, sizeof *larger.frames);
    if (!larger.frames)
        return false;
    for (uint64_t n = self->first; n < self->next; n++)
        *frame_of(&larger, n) = *frame_of(self, n);
    free(self->frames);
    self->frames = larger.frames;
    self->capacity = larger.capacity;
    return true;
}

/* Puts a frame in; false: without memory. Its number is used up either way. */
static bool append_frame(struct hub *self, const char *run, unsigned kind, struct ethos_view json)
{
    char *text = malloc(json.size + FRAME_EXTRA);
    if (!text || !grow_or_evict(self, json.size + FRAME_EXTRA)) {
        free(text);
        while (self->first < self->next)
            drop_oldest(self);
        self->first = ++self->next;
        return false;
    }
    int head = snprintf(text, FRAME_EXTRA, "id: %.*s%s%" PRIu64 "\ndata: ", RUN_SIZE, run,
                        *run ? "-" : "", self->next);
    memcpy(text + head, json.data, json.size);
    memcpy(text + head + json.size, "\n\n", 2);
    struct ring_frame *frame = frame_of(self, self->next++);
    *frame = (struct ring_frame){kind, (size_t)head + json.size + 2, text};
    self->bytes += frame->size;
    return true;
}

int hub_add(struct hub *self, const char *run, unsigned kind, struct ethos_view json)
{
    pthread_mutex_lock(&self->mutex);
    bool done = append_frame(self, run, kind, json);
    pthread_mutex_unlock(&self->mutex);
    return done ? ETHOS_OK : ETHOS_NOMEM;
}

uint64_t hub_head(struct hub *self)
{
    pthread_mutex_lock(&self->mutex);
    uint64_t head = self->next - 1;
    pthread_mutex_unlock(&self->mutex);
    return head;
}

/* ---- reading ----------------------------------------------------------------------------------- */

static bool is_gone(const struct hub *self, uint64_t at)
{
    return at + 1 < self->first;
}

/* How far a batch from `at` on goes, and how many bytes it has. */
static uint64_t measure_batch(const struct hub *self, uint64_t at, unsigned kinds, size_t *out_size)
{
    size_t size = 0;
    for (; at + 1 < self->next; at++) {
        const struct ring_frame *frame = frame_of(self, at + 1);
        if (!(frame->kind & kinds))
            continue;
        if (size > 0 && size + frame->size > HUB_BATCH)
            break;
        size += frame->size;
    }
    *out_size = size;
    return at;
}

static struct hub_batch *make_batch(const struct hub *self, uint64_t at, unsigned kinds)
{
    size_t size;
    uint64_t to = measure_batch(self, at, kinds, &size);
    struct hub_batch *batch = malloc(sizeof *batch + size);
    if (!batch)
        return NULL;
    *batch = (struct hub_batch){.from = at, .to = to, .kinds = kinds};
    atomic_init(&batch->holders, 1);
    for (; at < to; at++) {
        const struct ring_frame *frame = frame_of(self, at + 1);
        if (!(frame->kind & kinds))
            continue;
        memcpy(batch->bytes + batch->size, frame->text, frame->size);
        batch->size += frame->size;
    }
    return batch;
}

/* One that others were given, if nothing has come since that would be in it. */
static struct hub_batch *find_batch(const struct hub *self, uint64_t at, unsigned kinds)
{
    for (size_t i = 0; i < RECENT; i++) {
        struct hub_batch *batch = self->recent[i];
        if (batch && batch->from == at && batch->kinds == kinds &&
            (batch->to + 1 == self->next || batch->size >= HUB_BATCH / 2))
            return batch;
    }
    return NULL;
}

static struct hub_batch *take_batch(struct hub *self, uint64_t at, unsigned kinds)
{
    struct hub_batch *batch = find_batch(self, at, kinds);
    if (!batch && (batch = make_batch(self, at, kinds))) {
        hub_release(self->recent[self->oldest]);
        self->recent[self->oldest] = batch;
        self->oldest = (self->oldest + 1) % RECENT;
    }
    if (batch)
        atomic_fetch_add(&batch->holders, 1);
    return batch;
}

bool hub_read(struct hub *self, uint64_t *at, unsigned kinds, struct hub_batch **out)
{
    struct hub_batch *batch = NULL;
    pthread_mutex_lock(&self->mutex);
    bool gone = is_gone(self, *at), any = !gone && *at + 1 < self->next;
    if (gone)
        *at = self->first - 1;
    if (any && (batch = take_batch(self, *at, kinds)))
        *at = batch->to;
    pthread_mutex_unlock(&self->mutex);
    bool done = !gone && (batch || !any);
    if (batch && batch->size == 0) {
        hub_release(batch);
        batch = NULL;
    }
    *out = batch;
    return done;
}

struct ethos_view hub_bytes(const struct hub_batch *batch)
{
    return (struct ethos_view){batch->bytes, batch->size};
}

void hub_release(struct hub_batch *batch)
{
    if (batch && atomic_fetch_sub(&batch->holders, 1) == 1)
        free(batch);
}

uint64_t hub_reach(struct hub *self, uint64_t at)
{
    pthread_mutex_lock(&self->mutex);
    uint64_t reach = is_gone(self, at) ? self->first - 1 : at;
    pthread_mutex_unlock(&self->mutex);
    return reach;
}
