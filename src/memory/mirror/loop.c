/*
 * loop.c: decides when to sync: listens to changes on both sides, and waits.
 *
 * Backends that announce changes are asked when they have some, others every WATCH_PERIOD_MS; the
 * folder is watched like a home. Changes only mark scopes; the sync finds out what to do.
 */
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "memory/mirror/internal.h"
#include "memory/provider/missing_slots.h"

/* ---- hearing --------------------------------------------------------------------------------- */

static void mark_scope(struct mirror *self, const char *scope)
{
    bool known;
    size_t at = mirror_find(self, scope, &known);
    if (known) {
        self->scopes[at]->dirty = true;
        self->scopes[at]->retry_ms = 0;
    }
}

struct backend_events {
    struct mirror *self;
    struct mirror_source *source;
};

/* Called by the backend, which must not be called meanwhile. */
static int mark_event_scope(void *arg, const char *scope)
{
    struct backend_events *hearing = arg;
    bool known = false;
    if (scope)
        mirror_find(hearing->self, scope, &known);
    if (known)
        mark_scope(hearing->self, scope);
    else
        hearing->source->any = true;
    return ETHOS_OK;
}

static bool source_is_due(const struct mirror_source *source, int64_t now)
{
    struct pollfd ready = {source->fd, POLLIN, 0};
    if (now < source->retry_ms)
        return false;
    if (source->due_ms ? source->due_ms <= now : source->fd < 0)
        return true;
    return source->fd >= 0 && os_poll(&ready, 1, 0) != 0;
}

/* Asks which scopes changed, and when to ask again. */
static void listen_to(struct mirror *self, struct mirror_source *source)
{
    struct backend_events hearing = {self, source};
    struct ethos_error error;
    unsigned wait_ms = WATCH_PERIOD_MS;
    int code = mirror_reach(source, &error);
    source->fd = -1;
    if (code == ETHOS_OK && SLOT_PROVIDER(source->behind, watch))
        code = source->behind->ops->watch(source->behind, mark_event_scope, &hearing, &source->fd,
                                          &wait_ms, &error);
    else
        source->any = true;
    if (code != ETHOS_OK) {
        mirror_lose(self, source, &error);
        return;
    }
    if (source->fd < 0 && (wait_ms == 0 || wait_ms > WATCH_PERIOD_MS))
        wait_ms = WATCH_PERIOD_MS;
    source->due_ms = wait_ms ? os_monotonic_ms() + wait_ms : 0;
}

/* Reports a conflict copy that the store itself made after an interrupted write. */
static void report_store_copy(struct mirror *self, const struct watch_event *event)
{
    char path[PATH_MAX];
    if (self->how.two_way && event->count > 0 &&
        folder_path(self, event->scope, event->key, path, NULL) == ETHOS_OK &&
        json_object_del(self->kept_here, path) != 0)
        mirror_report(self, &(struct mirror_event){.kind = MIRROR_KEPT,
                                                   .backend = self->name,
                                                   .scope = event->scope,
                                                   .key = event->key,
                                                   .path = path});
}

static void handle_folder_event(void *arg, const struct watch_event *event)
{
    struct mirror *self = arg;
    bool known = false,
         own = event->change && event->change->via && strcmp(event->change->via, MIRROR_VIA) == 0;
    if (event->kind == WATCH_CONFLICT)
        report_store_copy(self, event);
    if (own || event->kind == WATCH_SESSION || event->kind == WATCH_MESSAGE ||
        event->kind == WATCH_CONFLICT)
        return;
    if (event->scope)
        mirror_find(self, event->scope, &known);
    if (known) {
        mark_scope(self, event->scope);
        return;
    }
    self->relist = true;
    if (!event->scope)
        mirror_mark_all(self, NULL);
}

static void listen_all(struct mirror *self)
{
    struct ethos_error error;
    int64_t now = os_monotonic_ms();
    watch_poll(self->watch, handle_folder_event, self,
               &error); // a failed source is retried separately
    for (struct mirror_source *source = self->sources; source; source = source->next)
        if (source_is_due(source, now))
            listen_to(self, source);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void set_earlier(int64_t *due, int64_t other)
{
    if (other > 0 && (*due < 0 || other < *due))
        *due = other;
}

static int64_t next_due(const struct mirror *self, int64_t now)
{
    int wait_ms = watch_wait_ms(self->watch);
    int64_t due = wait_ms < 0 ? -1 : now + wait_ms;
    if (self->relist)
        set_earlier(&due, now + MIRROR_SOON_MS);
    set_earlier(&due, self->again_ms);
    for (const struct mirror_source *source = self->sources; source; source = source->next) {
        if (now < source->retry_ms)
            set_earlier(&due, source->retry_ms);
        else
            set_earlier(&due, source->any ? now : source->due_ms);
    }
    for (size_t i = 0; i < self->scope_count; i++) {
        const struct mirror_scope *scope = self->scopes[i];
        if (scope->dirty && now >= scope->source->retry_ms)
            set_earlier(&due, scope->retry_ms ? scope->retry_ms : now);
    }
    return due;
}

static int wait_for_something(const struct mirror *self, struct ethos_error *error)
{
    int64_t now = os_monotonic_ms(), due = next_due(self, now);
    size_t count = 0;
    struct pollfd *fds = calloc(self->source_count + 2, sizeof *fds);
    if (!fds)
        return err_nomem(error);
    fds[count++] = (struct pollfd){self->how.stop, POLLIN, 0};
    fds[count++] = (struct pollfd){watch_fd(self->watch), POLLIN, 0};
    for (const struct mirror_source *source = self->sources; source; source = source->next)
        if (now >= source->retry_ms)
            fds[count++] = (struct pollfd){source->fd, POLLIN, 0};
    int wait_ms = due < 0 ? -1 : due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
    os_poll(fds, count, wait_ms);
    free(fds);
    return ETHOS_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static int open_watch(struct mirror *self, struct ethos_error *error)
{
    struct ethos_options options = {
        .home = self->folder, .fast = self->ethos->fast, .host = self->ethos->host};
    TRY(mirror_files(self, &options.store, error));
    TRY(ethos_open(&options, &self->view, error));
    return watch_open(self->view, &self->watch, error);
}

static bool is_in_step(const struct mirror *self)
{
    bool rest = self->again_ms != 0 || self->relist;
    for (const struct mirror_source *source = self->sources; source; source = source->next)
        rest = rest || source->any || source->away;
    for (size_t i = 0; i < self->scope_count; i++)
        rest = rest || self->scopes[i]->dirty;
    return !rest;
}

/* Also after a failure; changes are reported one by one. */
static void report_in_step(struct mirror *self, bool failed)
{
    if (failed || (!self->in_step && is_in_step(self))) {
        self->in_step = !failed;
        if (!failed)
            mirror_report(self, &(struct mirror_event){.kind = MIRROR_IN_STEP,
                                                       .backend = self->name,
                                                       .known = mirror_count(self).texts});
    }
}

/* Whether waiting will not help: refused before anything was mirrored, or the folder is missing. */
static bool failure_is_final(const struct mirror *self, int code)
{
    struct ethos_error error;
    bool met = false;
    if (folder_check(self, &error) != ETHOS_OK)
        return true;
    for (const struct mirror_source *source = self->sources; source; source = source->next)
        met = met || source->met;
    return !met && !mirror_may_come(code);
}

int mirror_run(struct mirror *self, struct ethos_error *error)
{
    int code = self->watch ? ETHOS_OK : open_watch(self, error);
    self->relist = true;
    while (code == ETHOS_OK && !mirror_stopped(self)) {
        listen_all(self);
        code = mirror_sync_marked(self, error);
        if (code != ETHOS_OK && failure_is_final(self, code))
            break;
        report_in_step(self, code != ETHOS_OK);
        code = wait_for_something(self, error);
    }
    return code;
}
