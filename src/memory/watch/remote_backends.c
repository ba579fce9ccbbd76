/*
 * remote_backends.c: backends whose texts are not here.
 *
 * One that can tell which scopes changed is asked when its descriptor or its time says so; another is taken to
 * have changed every WATCH_PERIOD_MS. What changed is then read from the history of the scope, from the last
 * number that was told on, so nothing is told twice, and nothing is missed while a backend is away. What
 * cannot be made up for (it was away when the watch began, or is another one now) is told as lost.
 *
 * One that fails is left alone for WATCH_RETRY_MS: its descriptor wakes nobody until then.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "memory/backends.h"
#include "memory/provider/missing_slots.h"
#include "memory/watch/internal.h"

#define AT_ONCE 256        /* scopes that are read in one take */
#define MOST_SCOPES 262144 /* of one backend; those beyond are not told of */

/* ---- scopes ---------------------------------------------------------------------------------- */

/* The place of a scope, or where it would be. */
static size_t find_scope_index(const struct remote_backend *remote, const char *scope)
{
    size_t low = 0, high = remote->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(remote->scopes[middle]->scope, scope) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct watched *insert_remote_scope(struct remote_backend *remote, size_t at,
                                           const char *scope)
{
    if (remote->count == remote->capacity) {
        size_t capacity = remote->capacity ? 2 * remote->capacity : 64;
        struct watched **scopes = realloc(remote->scopes, capacity * sizeof *scopes);
        if (!scopes)
            return NULL;
        remote->scopes = scopes;
        remote->capacity = capacity;
    }
    struct watched *added = calloc(1, sizeof *added);
    if (!added)
        return NULL;
    memmove(&remote->scopes[at + 1], &remote->scopes[at],
            (remote->count - at) * sizeof *remote->scopes);
    remote->scopes[at] = added;
    remote->count++;
    snprintf(added->scope, sizeof added->scope, "%s", scope);
    added->from = remote->provider;
    return added;
}

/* The scope, added when it is new; NULL: it is none, or there is no room for it. */
static struct watched *get_or_add_scope(struct memory_watch *self, struct remote_backend *remote,
                                        const char *scope)
{
    enum scope_kind kind;
    size_t at = find_scope_index(remote, scope);
    if (at < remote->count && strcmp(remote->scopes[at]->scope, scope) == 0)
        return remote->scopes[at];
    if (scope_parse(scope, &kind, NULL, NULL) != ETHOS_OK || remote->count == MOST_SCOPES)
        return NULL;
    struct watched *added = insert_remote_scope(remote, at, scope);
    if (!added) {
        self->lost = true;
        return NULL;
    }
    added->known = remote->met;
    remote->personalities = remote->personalities || (remote->met && kind == SCOPE_PERSONALITY);
    remote->users = remote->users || (remote->met && kind == SCOPE_USER);
    return added;
}

static void mark_remote_scope(struct memory_watch *self, struct remote_backend *remote,
                              const char *scope)
{
    struct watched *known = get_or_add_scope(self, remote, scope);
    if (known)
        remote->marked = known->dirty = known->recount = true;
}

static void free_scope(struct watched *scope)
{
    free(scope->copies);
    free(scope);
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static void stop_listening(struct memory_watch *self, struct remote_backend *remote)
{
    if (remote->fd >= 0)
        os_ready_remove(self->several, remote->fd); // it may have been closed already
    remote->fd = -1;
}

static bool start_polling(struct memory_watch *self, struct remote_backend *remote, int fd)
{
    if (fd < 0)
        return false;
    if (self->several < 0) {
        self->several = os_ready();
        if (self->several < 0)
            return false;
        if (self->events >= 0 && os_ready_add(self->several, self->events, POLLIN, 0) != 0) {
            os_close(self->several);
            self->several = -1;
            return false;
        }
    }
    if (os_ready_add(self->several, fd, POLLIN, 0) != 0)
        return false;
    remote->fd = fd;
    return true;
}

static bool is_backend_due(const struct remote_backend *remote, int64_t now)
{
    struct pollfd ready = {remote->fd, POLLIN, 0};
    if (remote->due_ms && remote->due_ms <= now)
        return true;
    return remote->fd >= 0 && os_poll(&ready, 1, 0) != 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct backend_notification {
    struct memory_watch *self;
    struct remote_backend *remote;
};

/* Called by the backend, which must not be asked meanwhile. */
static int mark_notified(void *arg, const char *scope)
{
    struct backend_notification *hearing = arg;
    if (scope)
        mark_remote_scope(hearing->self, hearing->remote, scope);
    else
        hearing->remote->any = true;
    return ETHOS_OK;
}

/* Hears which scopes changed, and when to ask again. */
static int listen_to(struct memory_watch *self, struct remote_backend *remote,
                     struct ethos_error *error)
{
    struct ethos_provider *provider = remote->provider;
    struct backend_notification hearing = {self, remote};
    unsigned wait_ms = WATCH_PERIOD_MS;
    int fd = -1, code = ETHOS_OK;
    stop_listening(self, remote);
    if (SLOT_PROVIDER(provider, watch))
        code = provider->ops->watch(provider, mark_notified, &hearing, &fd, &wait_ms, error);
    else
        remote->any = true;
    remote->any = remote->any || code != ETHOS_OK;
    bool joined = code == ETHOS_OK && start_polling(self, remote, fd);
    if (!joined && (wait_ms == 0 || wait_ms > WATCH_PERIOD_MS))
        wait_ms = WATCH_PERIOD_MS;
    remote->due_ms = wait_ms ? os_monotonic_ms() + wait_ms : 0;
    return code;
}

static int mark_scopes(struct memory_watch *self, struct remote_backend *remote,
                       struct ethos_error *error)
{
    struct ethos_provider *provider = remote->provider;
    struct backend_notification hearing = {self, remote};
    int code = ETHOS_OK;
    remote->any = false;
    if (SLOT_PROVIDER(provider, scopes))
        code = provider->ops->scopes(provider, mark_notified, &hearing, error);
    for (size_t i = 0; i < remote->count; i++)
        remote->marked = remote->scopes[i]->dirty = remote->scopes[i]->recount = true;
    remote->any = remote->any || code != ETHOS_OK;
    return code;
}

/* Learns what there is. It is listened to before, so that what changes meanwhile is looked at again. */
static int start_backend(struct memory_watch *self, struct remote_backend *remote,
                         struct ethos_error *error)
{
    int code = listen_to(self, remote, error);
    if (code == ETHOS_OK)
        code = mark_scopes(self, remote, error);
    for (size_t i = 0; code == ETHOS_OK && i < remote->count; i++) {
        struct watched *scope = remote->scopes[i];
        if (scope->known)
            continue;
        code = past_newest(self, scope, error);
        if (code == ETHOS_OK)
            code = copies_compare(self, scope, false, error);
        scope->known = code == ETHOS_OK;
        scope->dirty = scope->recount = false;
    }
    remote->met = code == ETHOS_OK;
    return code;
}

static void retry_later(struct memory_watch *self, struct remote_backend *remote, int code,
                        const struct ethos_error *error)
{
    stop_listening(self, remote);
    remote->retry_ms = remote->due_ms = os_monotonic_ms() + WATCH_RETRY_MS;
    watch_fail(self, code, error);
}

/* ---- a look ---------------------------------------------------------------------------------- */

static int report_marked_scopes(struct memory_watch *self, struct remote_backend *remote,
                                struct ethos_error *error)
{
    int left = AT_ONCE;
    for (size_t i = 0; i < remote->count; i++) {
        struct watched *scope = remote->scopes[i];
        if (!scope->dirty && !scope->recount)
            continue;
        if (left-- == 0)
            return ETHOS_OK;
        int code = scope->dirty ? changes_read_new(self, scope, error) : ETHOS_OK;
        scope->dirty = code != ETHOS_OK;
        if (code == ETHOS_OK && scope->recount)
            code = copies_compare(self, scope, true, error);
        scope->recount = code != ETHOS_OK;
        if (code != ETHOS_OK)
            return code;
    }
    remote->marked = false;
    return ETHOS_OK;
}

static void report_new_scopes(struct memory_watch *self, struct remote_backend *remote)
{
    if (remote->personalities)
        watch_report(self, &(struct watch_event){.kind = WATCH_PERSONALITIES});
    if (remote->users)
        watch_report(self, &(struct watch_event){.kind = WATCH_USERS});
    remote->personalities = remote->users = false;
}

static void poll_backend(struct memory_watch *self, struct remote_backend *remote)
{
    struct ethos_error error;
    int64_t now = os_monotonic_ms();
    int code = ETHOS_OK;
    if (now < remote->retry_ms)
        return;
    if (!remote->met) {
        code = start_backend(self, remote, &error);
        if (code == ETHOS_OK) // it comes late: what it had before is news to others
            watch_report(self, &(struct watch_event){.kind = WATCH_LOST});
    } else if (is_backend_due(remote, now)) {
        code = listen_to(self, remote, &error);
    }
    if (code == ETHOS_OK && remote->any)
        code = mark_scopes(self, remote, &error);
    if (code == ETHOS_OK && remote->marked) {
        report_new_scopes(self, remote);
        code = report_marked_scopes(self, remote, &error);
    }
    if (code != ETHOS_OK)
        retry_later(self, remote, code, &error);
}

void remote_poll(struct memory_watch *self)
{
    if (self->look_ms && self->look_ms <= os_monotonic_ms())
        places_settings(self);
    for (struct remote_backend *remote = self->remotes; remote; remote = remote->next)
        poll_backend(self, remote);
}

void remote_mark_all(struct memory_watch *self)
{
    for (struct remote_backend *remote = self->remotes; remote; remote = remote->next)
        remote->any = true;
}

int64_t remote_due(const struct memory_watch *self)
{
    int64_t now = os_monotonic_ms(), due = self->look_ms ? self->look_ms : -1;
    for (const struct remote_backend *remote = self->remotes; remote; remote = remote->next) {
        bool busy = !remote->met || remote->any || remote->marked;
        int64_t own = now < remote->retry_ms ? remote->retry_ms : busy ? now : remote->due_ms;
        if (own && (due < 0 || own < due))
            due = own;
    }
    return due;
}

bool watch_elsewhere(const struct memory_watch *self)
{
    return self->remotes || self->look_ms;
}

/* ---- which there are ------------------------------------------------------------------------- */

static struct remote_backend *find_backend(struct memory_watch *self,
                                           struct ethos_provider *provider)
{
    struct remote_backend *remote = self->remotes;
    while (remote && remote->provider != provider)
        remote = remote->next;
    if (remote || !(remote = calloc(1, sizeof *remote)))
        return remote;
    remote->provider = provider;
    remote->fd = -1;
    remote->next = self->remotes;
    self->remotes = remote;
    return remote;
}

static int add_provider(void *arg, struct ethos_provider *provider, bool here)
{
    struct memory_watch *self = arg;
    struct remote_backend *remote = here ? NULL : find_backend(self, provider);
    if (remote)
        remote->serves = true;
    self->lost = self->lost || (!here && !remote); // without memory
    return ETHOS_OK;
}

void remote_add_scope(struct memory_watch *self, struct ethos_provider *provider, const char *scope)
{
    struct remote_backend *remote = SLOT_PROVIDER(provider, scopes) ? NULL
                                                                    : find_backend(self, provider);
    if (remote)
        get_or_add_scope(self, remote, scope);
}

/* Who cannot tell which scopes there are has at least those of a turn. */
static void add_turn_scopes(struct memory_watch *self)
{
    struct ethos_turn *turn;
    if (watch_turn(self, "global", &turn, NULL) != ETHOS_OK)
        return;
    const struct ethos_context *context = ethos_turn_context(turn);
    const char *const scopes[] = {context->memory_scope, context->user_scope};
    for (size_t i = 0; i < 2; i++) {
        struct ethos_provider *provider = service_provider(turn, scopes[i], NULL);
        if (!backends_here(self->ethos, provider))
            remote_add_scope(self, provider, scopes[i]);
    }
    ethos_turn_free(turn);
}

static void drop_backend(struct memory_watch *self, struct remote_backend **at)
{
    struct remote_backend *remote = *at;
    *at = remote->next;
    stop_listening(self, remote);
    for (size_t i = 0; i < remote->count; i++)
        free_scope(remote->scopes[i]);
    free(remote->scopes);
    free(remote);
}

static void drop_those_who_do_not_serve(struct memory_watch *self)
{
    for (struct remote_backend **at = &self->remotes; *at;) {
        if ((*at)->serves)
            at = &(*at)->next;
        else
            drop_backend(self, at);
    }
}

void remote_find_backends(struct memory_watch *self)
{
    struct ethos_error error;
    for (struct remote_backend *remote = self->remotes; remote; remote = remote->next)
        remote->serves = false;
    int code = backends_each(self->ethos, add_provider, self, &error);
    self->look_ms = code == ETHOS_OK ? 0 : os_monotonic_ms() + WATCH_RETRY_MS;
    if (code == ETHOS_OK)
        drop_those_who_do_not_serve(self);
    else
        watch_fail(self, code, &error);
    add_turn_scopes(self);
    for (struct remote_backend *remote = self->remotes; remote && !self->begun;
         remote = remote->next) {
        code = start_backend(self, remote, &error);
        if (code != ETHOS_OK)
            retry_later(self, remote, code, &error);
    }
}

void remote_release(struct memory_watch *self)
{
    while (self->remotes)
        drop_backend(self, &self->remotes);
}
