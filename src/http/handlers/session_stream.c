/*
 * session_stream.c: /sse/sessions/<id>: what happens in one session, in the reference's form.
 *
 * Each session that somebody follows has a hub of its own, so a sequence of its own, and keeps it for a while
 * after the last one left. When there are as many as there may be, the one that was left first makes room.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/view.h"
#include "http/handlers/events.h"
#include "ops/memory/events.h"

#define RETAINED 1024  /* events that are kept for those who come back */
#define KEPT_MS 300000 /* how long, after the last one left */
#define ID_SIZE 128    /* of a session */
#define BUCKETS 256

struct followed {
    struct followed *next;
    struct sse *sse;
    char id[ID_SIZE];
    struct hub *hub;
    size_t readers;
    int64_t left_ms; /* when the last reader left */
    uint64_t turn;   /* the same, as a number that no other has */
};

struct sse {
    pthread_mutex_t mutex; /* of all but the hubs, which have their own */
    struct followed *sessions[BUCKETS];
    size_t count;
    uint64_t turns;
};

/* ---- the table --------------------------------------------------------------------------------- */

int sse_new(struct sse **out, struct ethos_error *error)
{
    struct sse *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    pthread_mutex_init(&self->mutex, NULL);
    *out = self;
    return ETHOS_OK;
}

static struct followed **bucket_of(struct sse *self, const char *id)
{
    uint64_t print = 0xcbf29ce484222325u;
    for (; *id; id++)
        print = (print ^ (unsigned char)*id) * 0x100000001b3u;
    return &self->sessions[(print >> 32) % BUCKETS];
}

static struct followed *find_followed(struct sse *self, const char *id)
{
    struct followed *at = *bucket_of(self, id);
    while (at && strcmp(at->id, id) != 0)
        at = at->next;
    return at;
}

static void drop_followed(struct followed **at)
{
    struct followed *session = *at;
    *at = session->next;
    session->sse->count--;
    hub_free(session->hub);
    free(session);
}

/* Nobody follows it from now on. */
static void rest(struct followed *session)
{
    session->left_ms = os_monotonic_ms();
    session->turn = ++session->sse->turns;
}

/* Whether there is room for one more; the one that has rested for longest makes it. */
static bool make_stream_room(struct sse *self)
{
    struct followed **oldest = NULL;
    if (self->count < HTTP_MAX_FOLLOWED)
        return true;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct followed **at = &self->sessions[i]; *at; at = &(*at)->next)
            if (!(*at)->readers && (!oldest || (*at)->turn < (*oldest)->turn))
                oldest = at;
    if (oldest)
        drop_followed(oldest);
    return oldest;
}

/* The session of an id, made when nobody followed it yet. NULL without room or memory: *full says which. */
static struct followed *find_or_make(struct sse *self, const char *id, bool *full)
{
    struct followed *found = find_followed(self, id);
    *full = !found && !make_stream_room(self);
    if (found || *full)
        return found;
    struct followed *made = calloc(1, sizeof *made);
    if (!made || hub_new(RETAINED, HUB_BYTES, &made->hub, NULL) != ETHOS_OK) {
        free(made);
        return NULL;
    }
    struct followed **bucket = bucket_of(self, id);
    snprintf(made->id, sizeof made->id, "%s", id);
    made->sse = self;
    rest(made);
    made->next = *bucket;
    *bucket = made;
    self->count++;
    return made;
}

void sse_sweep(struct sse *self)
{
    int64_t now = os_monotonic_ms();
    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct followed **at = &self->sessions[i]; *at;) {
            if (!(*at)->readers && now - (*at)->left_ms >= KEPT_MS)
                drop_followed(at);
            else
                at = &(*at)->next;
        }
    }
    pthread_mutex_unlock(&self->mutex);
}

void sse_free(struct sse *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        while (self->sessions[i])
            drop_followed(&self->sessions[i]);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

/* ---- telling ------------------------------------------------------------------------------------- */

void sse_note(struct sse *self, const char *id, struct ethos_view json)
{
    pthread_mutex_lock(&self->mutex);
    struct followed *one = id ? find_followed(self, id) : NULL;
    if (one)
        hub_add(one->hub, "", 1, json);
    for (size_t i = 0; !id && i < BUCKETS; i++)
        for (struct followed *at = self->sessions[i]; at; at = at->next)
            hub_add(at->hub, "", 1, json);
    pthread_mutex_unlock(&self->mutex);
}

int sse_tell(struct sse *self, const char *id, struct ethos_view json)
{
    bool full;
    if (strlen(id) >= ID_SIZE)
        return ETHOS_INVALID;
    pthread_mutex_lock(&self->mutex);
    struct followed *session = find_or_make(self, id, &full);
    int code = session ? hub_add(session->hub, "", 1, json) : full ? ETHOS_LIMIT : ETHOS_NOMEM;
    pthread_mutex_unlock(&self->mutex);
    return code;
}

/* ---- following ----------------------------------------------------------------------------------- */

/* One that was told nothing has nothing to come back to. */
static void free_session_reader(struct events_reader *reader)
{
    struct followed *session = reader->owner;
    struct sse *self = session->sse;
    pthread_mutex_lock(&self->mutex);
    rest(session);
    if (--session->readers == 0 && hub_head(session->hub) == 0) {
        struct followed **at = bucket_of(self, session->id);
        while (*at != session)
            at = &(*at)->next;
        drop_followed(at);
    }
    pthread_mutex_unlock(&self->mutex);
}

/* The resume point: a number, else 0. */
static uint64_t parse_point(const char *text)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return 0;
    errno = 0;
    unsigned long long point = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 ? point : 0;
}

/* *point becomes 0 when it was never reached: it is of a run before this one, and all there is is new. */
static struct events_reader *follow_session(struct sse *self, const char *id, uint64_t *point,
                                            bool *full)
{
    struct events_reader *reader = NULL;
    pthread_mutex_lock(&self->mutex);
    struct followed *session = find_or_make(self, id, full);
    if (session) {
        *point = *point > hub_head(session->hub) ? 0 : *point;
        reader = events_reader_new(session->hub, HUB_ALL, hub_reach(session->hub, *point));
    }
    if (reader) {
        reader->owner = session;
        reader->left = free_session_reader;
        session->readers++;
    }
    pthread_mutex_unlock(&self->mutex);
    return reader;
}

void http_sse(struct http_call *call)
{
    static const struct http_error bad = {404, "NOT_FOUND", "That is not the id of a session",
                                          "List the sessions."};
    static const struct http_error crowded = {503, "SERVICE_UNAVAILABLE",
                                              "Too many sessions are followed already",
                                              "Close a stream of another session."};
    struct ethos_error error;
    bool full;
    size_t size = strlen(call->rest);
    if (op_event_check_allowed(true, call->rights, &error) != ETHOS_OK) {
        http_answer_failure(call, &error);
        return;
    }
    if (size == 0 || size >= ID_SIZE || strchr(call->rest, '/')) {
        http_answer_error(call, &bad, NULL);
        return;
    }
    uint64_t point = parse_point(events_last_id(call));
    struct events_reader *reader = follow_session(sse_of(http_events_of(call)), call->rest, &point,
                                                  &full);
    if (full) {
        http_answer_error(call, &crowded, NULL);
        return;
    }
    if (reader)
        str_printf(&reader->greeting,
                   "id: %" PRIu64 "\ndata: {\"type\":\"stream_meta\",\"requestId\":\"%s\"}\n\n",
                   point, call->request_id);
    events_answer(call, reader);
}
