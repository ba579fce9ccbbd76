/*
 * offline_sync.c: sync while the backend may be out of reach, and doing what waits.
 */
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/log.h"
#include "base/os.h"
#include "memory/offline_parts.h"

/* ---- what waits -------------------------------------------------------------------------------- */

/* Whether a repeat of an operation is known. */
static bool keeps_ids(struct ethos_provider *inner)
{
    const struct ethos_store *store = provider_store(inner);
    return (inner->capabilities & ETHOS_PROVIDER_ONCE) &&
           (!store || (store->capabilities & ETHOS_STORE_ONCE));
}

/* What may still go well when it is tried again. */
static bool is_passing(int code)
{
    return code == ETHOS_BUSY || code == ETHOS_IO || code == ETHOS_NOMEM;
}

/* Whether the backend lets itself be asked at all: then it is the call that it refuses. */
static bool answers(struct offline *self, const struct queue_call *call)
{
    static const struct ethos_read_how how = {.tail_bytes = 1};
    const struct ethos_host *host = self->setup.host;
    const struct ethos_update *first = &call->updates[0];
    struct ethos_text text = {0};
    if (!self->inner->ops->read)
        return true;
    int code = self->inner->ops->read(self->inner, first->scope, first->key, &how, &text, NULL);
    if (text.data)
        host->resize(host->arg, text.data, 0);
    return code == ETHOS_OK || code == ETHOS_NOTFOUND;
}

static int do_call(struct offline *self, struct queue_call *call, struct ethos_error *error)
{
    if (!keeps_ids(self->inner))
        call->origin.op_id = NULL;
    const struct ethos_sync_how how = {.origin = &call->origin};
    return self->inner->ops->sync(self->inner, &call->context, call->updates, call->count, &how,
                                  error);
}

static int put_aside(struct offline *self, const char *name, int code, struct ethos_error *why,
                     struct ethos_error *error)
{
    why->code = code;
    log_line(self->setup.host, ETHOS_LOG_WARN,
             "a change that waited was refused and put aside: %s; see ethos doctor", why->text);
    return queue_refuse(self, name, why, error);
}

/* Does a call and strikes it off, or puts it aside. */
static int settle_call(struct offline *self, const char *name, struct ethos_error *error)
{
    struct queue_call call;
    struct ethos_error why = {0};
    int code = queue_read(self, name, &call, &why);
    bool lasting = code == ETHOS_CORRUPT;
    if (code == ETHOS_OK) {
        code = do_call(self, &call, &why);
        lasting = code != ETHOS_OK && !is_passing(code) && answers(self, &call);
        queue_release(&call);
    }
    if (code == ETHOS_OK)
        return queue_drop(self, name, error);
    if (lasting)
        return put_aside(self, name, code, &why, error);
    if (error)
        *error = why;
    return code;
}

static int time_over(const struct offline *self, bool *out_later, struct ethos_error *error)
{
    *out_later = true;
    int code = err_set(error, ETHOS_BUSY, "%s: changes made before still wait", self->ops.name);
    return err_hint(error, code, "try again in a moment");
}

/* Those that are there now; *out_left: some were left for later. */
static int settle_calls(struct offline *self, int64_t until, size_t *out_count, bool *out_left,
                        struct ethos_error *error)
{
    struct arena arena;
    struct dir_names names;
    arena_init(&arena);
    int code = queue_list(self, &arena, &names, error);
    size_t done = 0;
    for (; done < names.count && code == ETHOS_OK; done++) {
        if (done > 0 && os_monotonic_ms() >= until)
            break;
        code = settle_call(self, names.list[done], error);
    }
    *out_count = names.count;
    *out_left = done < names.count;
    arena_release(&arena);
    return code;
}

static int settle_all(struct offline *self, int64_t until, bool *out_later,
                      struct ethos_error *error)
{
    size_t count;
    bool left;
    for (;;) {
        int code = settle_calls(self, until, &count, &left, error);
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
    code = settle_all(self, until, out_later, error);
    os_close(lock);
    return code;
}

/* ---- sync -------------------------------------------------------------------------------------- */

/* What came of the scopes of a call; those that were out of reach are not told of yet. */
struct attempt {
    const struct ethos_update *updates;
    size_t count;
    const struct ethos_sync_how *how;
    bool *answered, *held; /* of each update */
};

static void note_outcome(void *arg, const struct ethos_outcome *outcome)
{
    struct attempt *attempt = arg;
    bool held = outcome->kind == ETHOS_OUTCOME_FAILED && outcome->error &&
                outcome->error->code == ETHOS_BUSY;
    for (size_t i = 0; i < attempt->count; i++)
        if (strcmp(attempt->updates[i].scope, outcome->scope) == 0)
            (held ? attempt->held : attempt->answered)[i] = true;
    if (!held && attempt->how->each)
        attempt->how->each(attempt->how->arg, outcome);
}

/* Each key once. */
static void tell(const struct ethos_update *updates, size_t count, const struct ethos_sync_how *how,
                 enum ethos_outcome_kind kind, const struct ethos_error *error)
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

/* Keeps what was not answered, and says so. */
static int keep_rest(struct offline *self, const struct ethos_context *context,
                     const struct attempt *attempt, bool all, struct ethos_error *error)
{
    struct ethos_error why = {0};
    size_t count = 0;
    struct ethos_update *rest = calloc(attempt->count, sizeof *rest);
    for (size_t i = 0; rest && i < attempt->count; i++)
        if (!attempt->answered[i] && (all || attempt->held[i]))
            rest[count++] = attempt->updates[i];
    int code = !rest       ? err_nomem(&why)
               : count > 0 ? queue_put(self, context, attempt->how->origin, rest, count, &why)
                           : ETHOS_OK;
    if (rest)
        tell(rest, count, attempt->how,
             code == ETHOS_OK ? ETHOS_OUTCOME_QUEUED : ETHOS_OUTCOME_FAILED,
             code == ETHOS_OK ? NULL : &why);
    free(rest);
    if (code != ETHOS_OK && error)
        *error = why;
    return code;
}

static int sync_or_keep(struct offline *self, const struct ethos_context *context,
                        struct attempt *attempt, struct ethos_error *error)
{
    const struct ethos_sync_how how = {.origin = attempt->how->origin,
                                       .flags = attempt->how->flags,
                                       .each = note_outcome,
                                       .arg = attempt};
    bool held = false;
    int code = offline_reach(self, OFFLINE_WRITE, error);
    if (code == ETHOS_OK)
        code = self->inner->ops->sync(self->inner, context, attempt->updates, attempt->count, &how,
                                      error);
    for (size_t i = 0; i < attempt->count; i++)
        held = held || attempt->held[i];
    if (code == ETHOS_BUSY)
        return keep_rest(self, context, attempt, true, error);
    if (held)
        keep_rest(self, context, attempt, false, NULL); // what went wrong before is the answer
    return code;
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
    bool *marks = calloc(count, 2 * sizeof *marks);
    if (!marks)
        return err_nomem(error);
    struct attempt attempt = {updates, count, how, marks, marks + count};
    int code = sync_or_keep(self, context, &attempt, error);
    free(marks);
    return code;
}
