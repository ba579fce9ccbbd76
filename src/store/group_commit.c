/*
 * group_commit.c: writes the updates of many threads in one batch.
 *
 * An update is a request on its caller's stack. The group lists the leaders: requests whose
 * threads are writing now, one per scope; each has the queue of those who wait for that scope. A
 * leader takes the requests that wait when it starts, runs them with its own inner store without
 * holding the mutex, hands out the answers, makes the first of the requests that came meanwhile
 * the next leader, and returns: nobody works for others longer than one write takes.
 *
 *     WAITING --> TAKEN --> DONE      in the batch of another request
 *        |  \
 *        |   `--> LEADS --> DONE      in its own batch
 *        `------> leaves              its deadline came first
 *
 * Apart from base/system/resolve_host and src/http, the only code that uses threads.
 */
#include "store/group_commit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/system/os.h"
#include "store/decorator.h"
#include "store/store.h"

enum request_stage { WAITING, TAKEN, LEADS, DONE };

struct group_request {
    struct group_request *next; /* in a queue, a batch, or among the leaders */
    const struct grouped_store *store;
    const char *scope;
    struct ethos_edit_call *call;
    enum request_stage stage;
    pthread_cond_t moved;               /* signalled when the stage changes */
    struct group_request *queue, **end; /* of a leader: the waiting requests, in order of arrival */
};

struct group {
    atomic_bool told;      /* group_set_reported */
    pthread_mutex_t mutex; /* of everything here and of every request */
    struct group_request *leaders;
};

struct grouped_store {
    struct store_wrapper wrap;
    struct group *group;
    uint32_t deadline_ms;
    char *name;
};

/* ---- under the mutex ------------------------------------------------------------------------ */

static bool is_same_scope(const struct group_request *a, const struct group_request *b)
{
    return a->store->wrap.host == b->store->wrap.host && strcmp(a->scope, b->scope) == 0 &&
           strcmp(a->store->name, b->store->name) == 0;
}

/* The link to the leader of this request's scope; to NULL when there is none. */
static struct group_request **find_leader(struct group *group, const struct group_request *request)
{
    struct group_request **link = &group->leaders;
    while (*link && !is_same_scope(*link, request))
        link = &(*link)->next;
    return link;
}

static void set_stage(struct group_request *request, enum request_stage stage)
{
    request->stage = stage;
    pthread_cond_signal(&request->moved);
}

/* Removes a waiting request from its queue. */
static void leave_queue(struct group *group, struct group_request *request)
{
    struct group_request *leader = *find_leader(group, request);
    struct group_request **link = &leader->queue;
    while (*link != request)
        link = &(*link)->next;
    *link = request->next;
    if (!*link)
        leader->end = link;
}

/* Takes waiting requests off the queue, up to one batch; *out_count includes the leader. */
static struct group_request *take_batch(struct group_request *leader, size_t *out_count)
{
    struct group_request *first = leader->queue, *last = NULL;
    size_t count = 1, edits = leader->call->count;
    for (struct group_request *next = first; next && count < GROUP_CALLS; next = next->next) {
        edits += next->call->count;
        if (edits > GROUP_EDITS)
            break;
        next->stage = TAKEN;
        last = next;
        count++;
    }
    *out_count = count;
    if (!last)
        return NULL;
    leader->queue = last->next;
    if (!leader->queue)
        leader->end = &leader->queue;
    last->next = NULL;
    return first;
}

/* Makes the first waiting request the leader; without any, the scope has none. */
static void pass_lead(struct group *group, struct group_request *leader)
{
    struct group_request **link = find_leader(group, leader);
    struct group_request *next = leader->queue;
    if (!next) {
        *link = leader->next;
        return;
    }
    next->queue = next->next;
    next->end = next->queue ? leader->end : &next->queue;
    next->next = leader->next;
    *link = next;
    set_stage(next, LEADS);
}

/* ---- leading -------------------------------------------------------------------------------- */

/*
 * Runs the updates of a batch with the leader's store. Without memory for it, one after the other.
 */
static void run_batch(const struct group_request *leader, const struct group_request *batch,
                      size_t count)
{
    struct ethos_store *inner = leader->store->wrap.inner;
    struct ethos_edit_call *calls = count > 1 ? calloc(count, sizeof *calls) : NULL;
    const struct group_request *request = batch;
    if (!calls) {
        store_batch(inner, leader->scope, leader->call, 1);
        for (; request; request = request->next)
            store_batch(inner, leader->scope, request->call, 1);
        return;
    }
    calls[0] = *leader->call;
    for (size_t i = 1; i < count; i++, request = request->next)
        calls[i] = *request->call;
    store_batch(inner, leader->scope, calls, count);
    leader->call->code = calls[0].code;
    request = batch;
    for (size_t i = 1; i < count; i++, request = request->next)
        request->call->code = calls[i].code;
    free(calls);
}

/*
 * Called with the mutex held, which it releases meanwhile; the request is the leader of its scope.
 */
static void lead_batch(struct group *group, struct group_request *leader)
{
    size_t count;
    struct group_request *batch = take_batch(leader, &count);
    pthread_mutex_unlock(&group->mutex);
    run_batch(leader, batch, count);
    pthread_mutex_lock(&group->mutex);
    pass_lead(group, leader);
    while (batch) {
        struct group_request *next = batch->next; // its owner may be gone once it is done
        set_stage(batch, DONE);
        batch = next;
    }
}

/* ---- waiting -------------------------------------------------------------------------------- */

static struct timespec request_deadline(const struct grouped_store *store)
{
    int64_t at_ms = os_monotonic_ms() + store->deadline_ms;
    return (struct timespec){at_ms / 1000, at_ms % 1000 * 1000000};
}

/* Waits until the request is done or leads. False when its deadline came first. */
static bool wait_turn(struct group *group, struct group_request *request)
{
    const struct timespec deadline = request_deadline(request->store);
    while (request->stage == WAITING) {
        if (pthread_cond_clockwait(&request->moved, &group->mutex, CLOCK_MONOTONIC, &deadline) ==
                ETIMEDOUT &&
            request->stage == WAITING) {
            leave_queue(group, request);
            return false;
        }
    }
    while (request->stage == TAKEN)
        pthread_cond_wait(&request->moved, &group->mutex);
    return true;
}

static int too_many_waiting(const char *scope, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_BUSY, "%s: too many updates are waiting", scope);
    return err_hint(error, code, "try again");
}

static int group_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                        size_t count, ethos_edit_fn *edit, void *arg,
                        const struct ethos_origin *origin, struct ethos_error *error)
{
    const struct grouped_store *grouped = (const struct grouped_store *)self;
    struct group *group = grouped->group;
    struct ethos_edit_call call = {edits, count, edit, arg, origin, error, ETHOS_INTERNAL};
    struct group_request request = {.store = grouped,
                                    .scope = scope,
                                    .call = &call,
                                    .stage = WAITING,
                                    .moved = PTHREAD_COND_INITIALIZER};
    request.end = &request.queue;
    bool stays = true;
    pthread_mutex_lock(&group->mutex);
    struct group_request **leader = find_leader(group, &request);
    if (*leader) {
        request.next = NULL;
        *(*leader)->end = &request;
        (*leader)->end = &request.next;
        stays = wait_turn(group, &request);
    } else {
        *leader = &request;
        request.stage = LEADS;
    }
    if (stays && request.stage == LEADS)
        lead_batch(group, &request);
    pthread_mutex_unlock(&group->mutex);
    pthread_cond_destroy(&request.moved);
    return stays ? call.code : too_many_waiting(scope, error);
}

/* ---- the rest goes through ------------------------------------------------------------------ */

static void group_batch(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                        size_t count)
{
    store_batch(wrap_inner(self), scope, calls, count);
}

static int group_read(struct ethos_store *self, const char *scope, const char *key,
                      const struct ethos_read_how *how, struct ethos_text *out_text,
                      struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->read(inner, scope, key, how, out_text, error);
}

static int group_write(struct ethos_store *self, const char *scope, const char *key,
                       const char *expect, struct ethos_view text,
                       const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
                       struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->write(inner, scope, key, expect, text, origin, out_revision, error);
}

static int group_remove(struct ethos_store *self, const char *scope, const char *key,
                        const char *expect, const struct ethos_origin *origin,
                        struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->remove(inner, scope, key, expect, origin, error);
}

static int group_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
                      struct ethos_error *error)
{
    struct ethos_store *inner = wrap_inner(self);
    return inner->ops->list(inner, scope, each, arg, error);
}

/* ---- life ----------------------------------------------------------------------------------- */

static void group_close(struct ethos_store *self)
{
    if (!self)
        return;
    free(((struct grouped_store *)self)->name);
    wrap_close(self);
}

static const struct ethos_store_ops group_ops = {
    .abi = ETHOS_ABI,
    .name = "group",
    .close = group_close,
    .read = group_read,
    .write = group_write,
    .remove = group_remove,
    .list = group_list,
    .update = group_update,
    .batch = group_batch,
    .locate = wrap_locate,
    .check = wrap_check,
};

int store_group_new(const struct ethos_host *host, struct ethos_store *inner, struct group *group,
                    const char *name, uint32_t deadline_ms, struct ethos_store **out_store,
                    struct ethos_error *error)
{
    struct store_wrapper *wrap;
    TRY(wrap_new(host, &group_ops, sizeof(struct grouped_store), inner, &wrap, error));
    struct grouped_store *grouped = (struct grouped_store *)wrap;
    grouped->group = group;
    grouped->deadline_ms = deadline_ms;
    grouped->name = strdup(name);
    if (!grouped->name) {
        group_close(&wrap->store);
        return err_nomem(error);
    }
    *out_store = &wrap->store;
    return ETHOS_OK;
}

int group_new(struct group **out_group, struct ethos_error *error)
{
    struct group *group = calloc(1, sizeof *group);
    if (!group)
        return err_nomem(error);
    pthread_mutex_init(&group->mutex, NULL); // cannot fail without attributes
    *out_group = group;
    return ETHOS_OK;
}

void group_free(struct group *group)
{
    if (!group)
        return;
    pthread_mutex_destroy(&group->mutex);
    free(group);
}

size_t group_count_waiting(struct group *group)
{
    size_t count = 0;
    pthread_mutex_lock(&group->mutex);
    for (const struct group_request *leader = group->leaders; leader; leader = leader->next) {
        for (const struct group_request *waiting = leader->queue; waiting; waiting = waiting->next)
            count++;
    }
    pthread_mutex_unlock(&group->mutex);
    return count;
}

bool group_set_reported(struct group *self, bool told)
{
    return atomic_exchange(&self->told, told);
}
