/*
 * sync.c: sync with a backend that may be unreachable, and sending the queue.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/system/uuid.h"
#include "memory/offline/internal.h"
#include "memory/provider/missing_slots.h"
#include "store/operation_id.h"

/* ---- what waits -------------------------------------------------------------------------------- */

/* Whether the backend recognises a repeated operation. */
static bool keeps_ids(struct ethos_provider *inner)
{
    const struct ethos_store *store = provider_store(inner);
    return (inner->capabilities & ETHOS_PROVIDER_ONCE) &&
           (!store || (store->capabilities & ETHOS_STORE_ONCE));
}

/* Failures that may be temporary. */
static bool is_passing(int code)
{
    return code == ETHOS_BUSY || code == ETHOS_IO || code == ETHOS_NOMEM;
}

/* Reads a text that the call would change, to find out whether the backend works. */
static int probe_backend(struct offline *self, const struct ethos_update *first)
{
    static const struct ethos_read_how how = {.tail_bytes = 1};
    const struct ethos_host *host = self->setup.host;
    struct ethos_text text = {0};
    if (!SLOT_PROVIDER(self->inner, read))
        return ETHOS_OK;
    int code = self->inner->ops->read(self->inner, first->scope, first->key, &how, &text, NULL);
    if (text.data)
        host->resize(host->arg, text.data, 0);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int do_call(struct offline *self, struct queue_call *call, struct ethos_error *error)
{
    if (!keeps_ids(self->inner))
        call->origin.op_id = NULL;
    const struct ethos_sync_how how = {.origin = &call->origin};
    return self->inner->ops->sync(self->inner, &call->context, call->updates, call->count, &how,
                                  error);
}

static int refuse_call(struct offline *self, const char *name, int code, struct ethos_error *why,
                       struct ethos_error *error)
{
    why->code = code;
    log_line(self->setup.host, ETHOS_LOG_WARN,
             "a queued change was refused and set aside: %s; see ethos doctor", why->text);
    return queue_refuse(self, name, why, error);
}

/*
 * Whether the answer to the call was lost, and lines of it were purged since: the backend then
 * knows the id with the original updates. Of several scopes, others may have failed as well.
 */
static bool was_done(const struct queue_call *call, const struct ethos_error *why)
{
    for (size_t i = 1; i < call->count; i++)
        if (strcmp(call->updates[i].scope, call->updates[0].scope) != 0)
            return false;
    return call->cleansed && opid_is_used_error(why);
}

/* Sends a call and removes it, or moves it to the refused ones. */
static int sync_call(struct offline *self, const char *name, struct ethos_error *error)
{
    struct queue_call call;
    struct ethos_error why = {0};
    int code = queue_read(self, name, &call, &why);
    bool lasting = code == ETHOS_CORRUPT;
    if (code == ETHOS_OK) {
        code = do_call(self, &call, &why);
        if (code != ETHOS_OK && was_done(&call, &why))
            code = ETHOS_OK;
        // A backend that cannot be read either refuses everything, not this call.
        lasting = code != ETHOS_OK && !is_passing(code) &&
                  probe_backend(self, call.updates) == ETHOS_OK;
        queue_release(&call);
    }
    if (code == ETHOS_OK)
        return queue_drop(self, name, error);
    if (lasting)
        return refuse_call(self, name, code, &why, error);
    if (error)
        *error = why;
    return code;
}

static int time_over(const struct offline *self, bool *out_later, struct ethos_error *error)
{
    *out_later = true;
    int code = err_set(error, ETHOS_BUSY, "%s: earlier changes are still queued", self->ops.name);
    return err_hint(error, code, "try again in a moment");
}

/* Sends the current calls; *out_left: some were left for later. */
static int sync_calls(struct offline *self, int64_t until, size_t *out_count, bool *out_left,
                      struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct dir_names names;
    arena_init(&arena);
    int code = queue_list(self, &arena, &names, error);
    size_t done = 0;
    for (; done < names.count && code == ETHOS_OK; done++) {
        if (done > 0 && os_monotonic_ms() >= until)
            break;
        code = sync_call(self, names.list[done], error);
    }
    *out_count = names.count;
    *out_left = done < names.count;
    return code;
}

static int sync_until(struct offline *self, int64_t until, bool *out_later,
                      struct ethos_error *error)
{
    size_t count;
    bool left;
    for (;;) {
        int code = sync_calls(self, until, &count, &left, error);
        if (code != ETHOS_OK)
            return code;
        if (left)
            return time_over(self, out_later, error);
        if (count == 0)
            break;
    }
    queue_leave(self);
    return ETHOS_OK;
}

int offline_drain(struct offline *self, enum offline_wish wish, bool *out_later,
                  struct ethos_error *error)
{
    uint32_t wait_ms = self->setup.deadline_ms;
    int64_t until = os_monotonic_ms() + (wish == OFFLINE_READ ? wait_ms / 2 : wait_ms);
    int lock;
    int code = queue_lock(self, wish == OFFLINE_READ ? 0 : wait_ms, &lock, error);
    if (code != ETHOS_OK)
        return code == ETHOS_BUSY ? time_over(self, out_later, error) : code;
    code = sync_until(self, until, out_later, error);
    os_close(lock);
    return code;
}

/* ---- sync -------------------------------------------------------------------------------------- */

/* What happened to an update: reported by the backend, or not reported yet. */
enum delivery_state { UNTOLD, TOLD, AWAY /* it was not done */, LOST /* it may have been done */ };

struct delivery {
    const struct ethos_update *updates;
    size_t count;
    const struct ethos_sync_how *how;
    struct ethos_origin origin; /* that of how, with an id that makes repeats recognisable */
    char made[UUID_SIZE];
    bool sent;
    bool once;                  /* the backend recognises repeats */
    enum delivery_state *marks; /* of each update */
    struct ethos_error lost;    /* the failure */
    struct ethos_error refused; /* the first update that was reported as failed */
};

/*
 * An update whose answer was lost may have been executed, so it can be queued only if repeats are
 * recognised.
 */
static enum delivery_state classify_result(const struct delivery *attempt, int code)
{
    return code == ETHOS_BUSY ? AWAY : code == ETHOS_IO && attempt->once ? LOST : TOLD;
}

static void record_delivery(void *arg, const struct ethos_outcome *outcome)
{
    struct delivery *attempt = arg;
    bool failed = outcome->kind == ETHOS_OUTCOME_FAILED && outcome->error;
    enum delivery_state mark = failed ? classify_result(attempt, outcome->error->code) : TOLD;
    for (size_t i = 0; i < attempt->count; i++)
        if (strcmp(attempt->updates[i].scope, outcome->scope) == 0)
            attempt->marks[i] = mark;
    if (mark == LOST)
        attempt->lost = *outcome->error;
    if (mark == TOLD && outcome->error && attempt->refused.code == ETHOS_OK)
        attempt->refused = *outcome->error;
    if (mark == TOLD && attempt->how->each)
        attempt->how->each(attempt->how->arg, outcome);
}

/* Reports each key once. */
static void report_each_key(const struct ethos_update *updates, size_t count,
                            const struct ethos_sync_how *how, enum ethos_outcome_kind kind,
                            const struct ethos_error *error)
{
    for (size_t i = 0; how->each && i < count; i++) {
        bool told = false;
        for (size_t j = 0; j < i && !told; j++)
            told = strcmp(updates[i].scope, updates[j].scope) == 0 &&
                   strcmp(updates[i].key, updates[j].key) == 0;
        const struct ethos_outcome outcome = {.kind = kind,
                                              .scope = updates[i].scope,
                                              .key = updates[i].key,
                                              .revision = "absent",
                                              .error = error};
        if (!told)
            how->each(how->arg, &outcome);
    }
}

/* Selects updates by their state; the caller frees them. NULL: out of memory. */
static struct ethos_update *select_marked(const struct delivery *attempt, unsigned marks,
                                          size_t *out_count)
{
    struct ethos_update *some = calloc(attempt->count, sizeof *some);
    *out_count = 0;
    for (size_t i = 0; some && i < attempt->count; i++)
        if (marks & 1u << attempt->marks[i])
            some[(*out_count)++] = attempt->updates[i];
    return some;
}

/*
 * Queues updates by their state, and reports that. `lost` ones that cannot be queued remain
 * unknown.
 */
static int queue_marked(struct offline *self, const struct ethos_context *context,
                        const struct delivery *attempt, unsigned marks, bool lost,
                        struct ethos_error *error)
{
    struct ethos_error why = {0};
    size_t count;
    struct ethos_update *rest = select_marked(attempt, marks, &count);
    int code = !rest       ? err_nomem(&why)
               : count > 0 ? queue_add(self, context, &attempt->origin, rest, count, &why)
                           : ETHOS_OK;
    if (code != ETHOS_OK && lost) {
        why = attempt->lost;
        code = ETHOS_IO;
    }
    if (rest)
        report_each_key(rest, count, attempt->how,
                        code == ETHOS_OK ? ETHOS_OUTCOME_QUEUED : ETHOS_OUTCOME_FAILED,
                        code == ETHOS_OK ? NULL : &why);
    free(rest);
    if (code != ETHOS_OK && error)
        *error = why;
    return code;
}

/* A reachable backend will not say more about them later. */
static void report_lost(struct delivery *attempt)
{
    size_t count;
    struct ethos_update *lost = select_marked(attempt, 1u << LOST, &count);
    if (lost)
        report_each_key(lost, count, attempt->how, ETHOS_OUTCOME_FAILED, &attempt->lost);
    free(lost);
    for (size_t i = 0; i < attempt->count; i++)
        if (attempt->marks[i] == LOST)
            attempt->marks[i] = TOLD;
}

static int sync_marked(struct offline *self, const struct ethos_context *context,
                       struct delivery *attempt, struct ethos_error *error)
{
    const struct ethos_sync_how how = {.origin = &attempt->origin,
                                       .flags = attempt->how->flags,
                                       .each = record_delivery,
                                       .arg = attempt};
    TRY(offline_reach(self, OFFLINE_WRITE, error));
    attempt->sent = true;
    attempt->once = keeps_ids(self->inner);
    if (!attempt->once && attempt->origin.op_id == attempt->made)
        attempt->origin.op_id = NULL;
    return self->inner->ops->sync(self->inner, context, attempt->updates, attempt->count, &how,
                                  error);
}

/* Whether the state of an update is unknown, and asking again would tell. */
static bool is_lost(struct delivery *attempt, int code, const struct ethos_error *why)
{
    bool lost = false;
    for (size_t i = 0; i < attempt->count && !lost; i++)
        lost = attempt->marks[i] == LOST;
    if (!lost && code == ETHOS_IO && attempt->once) {
        attempt->lost = *why;
        return true;
    }
    return lost;
}

static int sync_or_keep(struct offline *self, const struct ethos_context *context,
                        struct delivery *attempt, struct ethos_error *error)
{
    struct ethos_error why = {0};
    int code = sync_marked(self, context, attempt, &why);
    bool lost = is_lost(attempt, code, &why);
    bool behind = code == ETHOS_IO && !attempt->sent && self->inner; // an earlier one was lost
    bool away = code == ETHOS_BUSY ||
                ((lost || behind) && probe_backend(self, attempt->updates) == ETHOS_BUSY);
    if (lost && !away)
        report_lost(attempt);
    bool whole = away && (code == ETHOS_BUSY || code == ETHOS_IO);
    unsigned marks = 1u << AWAY | 1u << LOST | (whole ? 1u << UNTOLD : 0);
    int kept = queue_marked(self, context, attempt, marks, lost && away, whole ? &why : NULL);
    if (!whole)
        kept = code; // other failures are the result
    else if (kept == ETHOS_OK && attempt->refused.code != ETHOS_OK) { // also if they came later
        why = attempt->refused;
        kept = why.code;
    }
    if (kept != ETHOS_OK && error)
        *error = why;
    return kept;
}

/* A call without an operation id gets one before it is sent, so that a lost one can be repeated. */
static int name_attempt(struct delivery *attempt, struct ethos_error *error)
{
    if (attempt->how->origin)
        attempt->origin = *attempt->how->origin;
    if (attempt->origin.op_id)
        return ETHOS_OK;
    if (uuid_make(attempt->made) != 0)
        return err_errno(error, errno, "random numbers");
    attempt->origin.op_id = attempt->made;
    return ETHOS_OK;
}

int offline_sync(struct ethos_provider *provider, const struct ethos_context *context,
                 const struct ethos_update *updates, size_t count, const struct ethos_sync_how *how,
                 struct ethos_error *error)
{
    struct offline *self = (struct offline *)provider;
    bool dry = (how->flags & ETHOS_SYNC_DRY_RUN) != 0;
    if (!self->queues || dry) {
        int code = offline_reach(self, dry ? OFFLINE_READ : OFFLINE_WRITE, error);
        return code == ETHOS_OK
                   ? self->inner->ops->sync(self->inner, context, updates, count, how, error)
                   : code;
    }
    struct delivery attempt = {.updates = updates, .count = count, .how = how};
    TRY(name_attempt(&attempt, error));
    attempt.marks = calloc(count, sizeof *attempt.marks);
    if (!attempt.marks)
        return err_nomem(error);
    int code = sync_or_keep(self, context, &attempt, error);
    free(attempt.marks);
    return code;
}
