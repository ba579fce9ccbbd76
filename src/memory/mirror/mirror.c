/*
 * mirror.c: finds the scopes and their backends, and syncs all that are marked.
 */
#include "memory/mirror/mirror.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/backends.h"
#include "memory/home/directory.h"
#include "memory/mirror/internal.h"
#include "memory/offline/offline.h"
#include "memory/provider/missing_slots.h"
#include "store/store.h"

#define FAILED_MS 30000 /* before a text that could not be synced is retried, unless it changes */
#define MOST_SCOPES (1 << 18) /* of all backends */

void mirror_report(struct mirror *self, const struct mirror_event *event)
{
    if (self->how.each)
        self->how.each(self->how.arg, event);
}

bool mirror_knows(struct mirror *self, const char *subject, const char *what)
{
    const char *before = json_string_value(json_object_get(self->told, subject));
    bool known = before && strcmp(before, what) == 0;
    if (!known)
        json_object_set_new(self->told, subject,
                            json_string(what)); // out of memory: reported again
    return known;
}

bool mirror_stopped(const struct mirror *self)
{
    struct pollfd stop = {self->how.stop, POLLIN, 0};
    return self->how.stop >= 0 && os_poll(&stop, 1, 0) > 0;
}

/* ---- backends -------------------------------------------------------------------------------- */

static const char *name_of(struct ethos_provider *provider)
{
    const struct ethos_store *store = provider_store(provider);
    return store ? store->ops->name : provider->ops->name;
}

static int fail_unmirrorable(const char *name, const char *what, struct ethos_error *error)
{
    return err_set(error, ETHOS_UNSUPPORTED, "%s: cannot be mirrored: it has no %s", name, what);
}

static int check_slots(const struct mirror *self, struct ethos_provider *provider,
                       struct ethos_error *error)
{
    const char *name = name_of(provider);
    if (!SLOT_PROVIDER(provider, scopes))
        return fail_unmirrorable(name, "list of scopes", error);
    if (!SLOT_PROVIDER(provider, list) || !SLOT_PROVIDER(provider, read))
        return fail_unmirrorable(name, "whole texts", error);
    if (self->how.two_way && !SLOT_PROVIDER(provider, update))
        return fail_unmirrorable(name, "update; leave out --two-way", error);
    return ETHOS_OK;
}

struct source_search {
    struct mirror *self;
    struct ethos_error *error;
};

static struct mirror_source *source_of(const struct mirror *self,
                                       const struct ethos_provider *provider)
{
    struct mirror_source *source = self->sources;
    while (source && source->front != provider)
        source = source->next;
    return source;
}

static int add_mirror_source(void *arg, struct ethos_provider *provider, bool here)
{
    struct source_search *gathering = arg;
    struct mirror *self = gathering->self;
    if (here || source_of(self, provider))
        return ETHOS_OK;
    TRY(check_slots(self, provider, gathering->error));
    struct mirror_source *source = arena_array(&self->arena, 1, sizeof *source);
    if (!source)
        return err_nomem(gathering->error);
    *source = (struct mirror_source){
        .next = self->sources, .front = provider, .name = name_of(provider), .fd = -1, .any = true};
    self->sources = source;
    self->source_count++;
    return ETHOS_OK;
}

/* Whether a failure may be temporary. */
bool mirror_may_come(int code)
{
    return code == ETHOS_BUSY || code == ETHOS_IO;
}

/* Some backends cannot even be opened while they are unreachable: retried later. */
static int find_sources(struct mirror *self, struct ethos_error *error)
{
    struct source_search gathering = {self, error};
    int code = backends_each(self->ethos, add_mirror_source, &gathering, error);
    self->again_ms = mirror_may_come(code) ? os_monotonic_ms() + MIRROR_RETRY_MS : 0;
    if (code != ETHOS_OK || self->source_count > 0)
        return code;
    code = err_set(error, ETHOS_INVALID, "memory is in files already: %s",
                   service_root(self->ethos));
    return err_hint(error, code, "cat, grep and git work there; only databases are mirrored");
}

static int find_others(struct mirror *self, struct ethos_error *error)
{
    int code = find_sources(self, error);
    if (code == ETHOS_OK && self->incomplete)
        mirror_report(self, &(struct mirror_event){.kind = MIRROR_BACK, .backend = self->name});
    if (mirror_may_come(code) && !self->incomplete)
        mirror_report(self, &(struct mirror_event){
                                .kind = MIRROR_AWAY, .backend = self->name, .error = error});
    self->incomplete = mirror_may_come(code);
    return code;
}

int mirror_reach(struct mirror_source *source, struct ethos_error *error)
{
    return offline_behind(source->front, &source->behind, error);
}

void mirror_lose(struct mirror *self, struct mirror_source *source, const struct ethos_error *error)
{
    source->any = true;
    source->fd = -1;
    source->due_ms = 0;
    source->retry_ms = os_monotonic_ms() + MIRROR_RETRY_MS;
    bool waits = source->met || mirror_may_come(error->code);
    if (!source->away && waits)
        mirror_report(self, &(struct mirror_event){
                                .kind = MIRROR_AWAY, .backend = source->name, .error = error});
    source->away = true;
}

static void find_again(struct mirror *self, struct mirror_source *source)
{
    if (source->away)
        mirror_report(self, &(struct mirror_event){.kind = MIRROR_BACK, .backend = source->name});
    source->away = false;
    source->met = true;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

/* The index of a scope, or where to insert it. */
size_t mirror_find(const struct mirror *self, const char *scope, bool *out_known)
{
    size_t low = 0, high = self->scope_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(self->scopes[middle]->scope, scope) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *out_known = low < self->scope_count && strcmp(self->scopes[low]->scope, scope) == 0;
    return low;
}

static const char *personality_of(const char *scope)
{
    enum scope_kind kind;
    const char *id;
    bool named = scope_parse(scope, &kind, &id, NULL) == ETHOS_OK && kind == SCOPE_PERSONALITY;
    return named ? id : NULL;
}

/* Reports a failure that is not about a single text, once. */
static void report_trouble_once(struct mirror *self, const char *about,
                                const struct ethos_error *error)
{
    if (self->trouble.code == ETHOS_OK)
        self->trouble = *error;
    if (!mirror_knows(self, about, error->text))
        mirror_report(self,
                      &(struct mirror_event){.kind = MIRROR_FAILED, .path = about, .error = error});
}

/* The backend that serves a scope; NULL: it is in files. */
static int find_serving_source(const struct mirror *self, const char *scope,
                               struct mirror_source **out, struct ethos_error *error)
{
    const char *name;
    struct ethos_provider *provider;
    int code = service_provider_for(self->ethos, personality_of(scope), &name, &provider, error);
    *out = code == ETHOS_OK ? source_of(self, provider) : NULL;
    return code;
}

static int place_of(struct mirror *self, const char *personality, char out[HASH_HEX_SIZE],
                    struct str *shown, struct ethos_error *error)
{
    int code = service_place(self->ethos, personality, shown, error);
    if (code == ETHOS_OK)
        hash_hex(str_view(shown), out);
    return code;
}

static int insert_scope(struct mirror *self, size_t at, const char *scope,
                        struct mirror_source *source, struct ethos_error *error)
{
    struct str shown;
    if (self->scope_count == MOST_SCOPES)
        return err_set(error, ETHOS_LIMIT, "more than %d scopes", MOST_SCOPES);
    struct mirror_scope **scopes = arena_grow(&self->arena, self->scopes, self->scope_count,
                                              &self->scope_capacity, sizeof *scopes);
    struct mirror_scope *added = arena_array(&self->arena, 1, sizeof *added);
    if (scopes)
        self->scopes = scopes;
    if (!scopes || !added)
        return err_nomem(error);
    *added = (struct mirror_scope){.source = source, .dirty = true};
    snprintf(added->scope, sizeof added->scope, "%s", scope);
    str_init(&shown, SIZE_MAX);
    int code = place_of(self, personality_of(scope), added->place, &shown, error);
    str_release(&shown);
    if (code != ETHOS_OK)
        return code;
    memmove(&scopes[at + 1], &scopes[at], (self->scope_count - at) * sizeof(struct mirror_scope *));
    scopes[at] = added;
    self->scope_count++;
    return ETHOS_OK;
}

/* Adds a scope if it is new. from: the backend that announced it; NULL: the folder. */
static int add_mirror_scope(struct mirror *self, const char *scope,
                            const struct mirror_source *from, struct ethos_error *error)
{
    bool known;
    struct mirror_source *source;
    size_t at = mirror_find(self, scope, &known);
    if (known && (!from || self->scopes[at]->source == from))
        return ETHOS_OK;
    int code = find_serving_source(self, scope, &source, error);
    if (code == ETHOS_NOMEM)
        return code;
    if (code != ETHOS_OK)
        report_trouble_once(self, scope, error);
    else if (from && source != from && !mirror_knows(self, scope, "skipped"))
        mirror_report(self, &(struct mirror_event){
                                .kind = MIRROR_SKIPPED, .backend = from->name, .scope = scope});
    bool ours = code == ETHOS_OK && source && (!from || source == from);
    return ours && !known ? insert_scope(self, at, scope, source, error) : ETHOS_OK;
}

static int add_valid_scope(void *arg, const char *scope)
{
    if (scope_parse(scope, NULL, NULL, NULL) != ETHOS_OK)
        return 0;
    return json_object_set_new(arg, scope, json_true()) == 0 ? 0 : ETHOS_NOMEM;
}

static int add_mirror_scopes(struct mirror *self, json_t *names, const struct mirror_source *from,
                             struct ethos_error *error)
{
    const char *scope;
    json_t *value;
    int code = ETHOS_OK;
    json_object_foreach (names, scope, value)
        if (code == ETHOS_OK)
            code = add_mirror_scope(self, scope, from, error);
    return code;
}

/* Adds the scopes of the folder: new ones, two-way, and those that the backend has lost. */
static int add_folder_scopes(struct mirror *self, struct ethos_error *error)
{
    json_t *names = json_object();
    int code = names ? self->files->ops->scopes(self->files, add_valid_scope, names, error)
                     : err_nomem(error);
    if (code == ETHOS_OK)
        code = folder_scopes(self, add_valid_scope, names, error);
    if (code == ETHOS_OK)
        code = add_mirror_scopes(self, names, NULL, error);
    json_decref(names);
    self->relist = code != ETHOS_OK;
    return code;
}

void mirror_mark_all(struct mirror *self, const struct mirror_source *source)
{
    for (size_t i = 0; i < self->scope_count; i++)
        if (!source || self->scopes[i]->source == source) {
            self->scopes[i]->dirty = true;
            self->scopes[i]->retry_ms = 0;
        }
}

static int add_backend_scopes(struct mirror *self, struct mirror_source *source,
                              struct ethos_error *error)
{
    struct ethos_provider *behind = source->behind;
    json_t *names = json_object();
    int code = names ? behind->ops->scopes(behind, add_valid_scope, names, error)
                     : err_nomem(error);
    if (code == ETHOS_OK)
        code = add_mirror_scopes(self, names, source, error);
    json_decref(names);
    if (code != ETHOS_OK)
        return code;
    mirror_mark_all(self, source);
    source->any = false;
    return ETHOS_OK;
}

/* ---- a look ---------------------------------------------------------------------------------- */

static int sync_marked_scope(struct mirror *self, struct mirror_scope *scope,
                             struct ethos_error *error)
{
    bool away = false, again = false;
    int code = scope_sync_run(self, scope, &away, &again, error);
    if (away) {
        mirror_lose(self, scope->source, error);
        return code;
    }
    scope->dirty = code != ETHOS_OK || again;
    scope->retry_ms = scope->dirty ? os_monotonic_ms() + (again ? MIRROR_SOON_MS : FAILED_MS) : 0;
    return code;
}

static void record_first_failure(int *code, int failed, const struct ethos_error *why,
                                 struct ethos_error *error)
{
    if (failed == ETHOS_OK || *code != ETHOS_OK)
        return;
    *code = failed;
    if (error)
        *error = *why;
}

static int sync_source(struct mirror *self, struct mirror_source *source, struct ethos_error *error)
{
    struct ethos_error why;
    int first = ETHOS_OK;
    int code = mirror_reach(source, error);
    if (code == ETHOS_OK && source->any)
        code = add_backend_scopes(self, source, error);
    if (code != ETHOS_OK) {
        mirror_lose(self, source, error);
        return code;
    }
    for (size_t i = 0; i < self->scope_count && !mirror_stopped(self); i++) {
        struct mirror_scope *scope = self->scopes[i];
        if (scope->source != source || !scope->dirty || os_monotonic_ms() < scope->retry_ms)
            continue;
        record_first_failure(&first, sync_marked_scope(self, scope, &why), &why, error);
        if (source->retry_ms > os_monotonic_ms())
            return first;
    }
    find_again(self, source);
    return first;
}

/* Syncs everything that is marked. Returns the first failure after everything was tried. */
int mirror_sync_marked(struct mirror *self, struct ethos_error *error)
{
    struct ethos_error why;
    int code = folder_check(self, error);
    if (code != ETHOS_OK)
        return code;
    self->guarded = false;
    self->deletions = 0;
    self->count.failed = 0;
    self->trouble = (struct ethos_error){0};
    if (self->again_ms && self->again_ms <= os_monotonic_ms())
        record_first_failure(&code, find_others(self, &why), &why, error);
    if (self->relist && self->again_ms == 0 && add_folder_scopes(self, &why) != ETHOS_OK)
        report_trouble_once(self, self->folder, &why);
    for (struct mirror_source *source = self->sources; source; source = source->next)
        if (os_monotonic_ms() >= source->retry_ms)
            record_first_failure(&code, sync_source(self, source, &why), &why, error);
    record_first_failure(&code, self->trouble.code, &self->trouble, error);
    return code;
}

int mirror_once(struct mirror *self, struct ethos_error *error)
{
    self->count = (struct mirror_count){0};
    self->relist = true;
    self->again_ms = 1;
    for (struct mirror_source *source = self->sources; source; source = source->next) {
        source->any = true;
        source->retry_ms = 0;
    }
    return mirror_sync_marked(self, error);
}

/* ---- opening and closing --------------------------------------------------------------------- */

int mirror_files(const struct mirror *self, struct ethos_store **out, struct ethos_error *error)
{
    const struct ethos_setup setup = {.host = self->ethos->host,
                                      .root = self->folder,
                                      .flags = self->ethos->fast ? (uint32_t)ETHOS_SETUP_FAST : 0u,
                                      .deadline_ms = self->ethos->wait_ms};
    return store_files.open(&setup, out, error);
}

/* The first line of a place. */
static const char *name_in(struct mirror *self, struct ethos_view place)
{
    struct ethos_view line = {0};
    view_line(&place, &line);
    return self->sources && self->source_count == 1 ? self->sources->name
                                                    : arena_copy(&self->arena, line);
}

static int set_up_mirror(struct mirror *self, struct ethos_error *error)
{
    CLEANUP_STR struct str shown;
    str_init(&shown, SIZE_MAX);
    int code = find_sources(self, error);
    if (code == ETHOS_OK || mirror_may_come(code))
        code = place_of(self, NULL, self->place, &shown, error);
    if (code == ETHOS_OK && !(self->name = name_in(self, str_view(&shown))))
        code = err_nomem(error);
    if (code == ETHOS_OK && (!(self->told = json_object()) || !(self->kept_here = json_object())))
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = folder_open(self, shown.data, error);
    if (code == ETHOS_OK)
        code = mirror_files(self, &self->files, error);
    return code;
}

int mirror_open(struct ethos *ethos, const struct mirror_how *how, struct mirror **out,
                struct ethos_error *error)
{
    if (!*how->folder)
        return err_set(error, ETHOS_INVALID, "the folder has no name");
    struct mirror *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->ethos = ethos;
    self->how = *how;
    self->dir = self->lock = -1;
    arena_init(&self->arena);
    int code = home_path(how->folder, &self->folder, error);
    if (code == ETHOS_OK)
        code = set_up_mirror(self, error);
    if (code != ETHOS_OK) {
        mirror_close(self);
        return code;
    }
    *out = self;
    return ETHOS_OK;
}

void mirror_close(struct mirror *self)
{
    if (!self)
        return;
    watch_close(self->watch);
    ethos_close(self->view);
    if (self->files)
        self->files->ops->close(self->files);
    if (self->lock >= 0)
        os_close(self->lock);
    if (self->dir >= 0)
        os_close(self->dir);
    json_decref(self->told);
    json_decref(self->kept_here);
    arena_release(&self->arena);
    free(self->folder);
    free(self);
}

const char *mirror_folder(const struct mirror *self)
{
    return self->folder;
}

const char *mirror_backend(const struct mirror *self)
{
    return self->name;
}

struct mirror_count mirror_count(const struct mirror *self)
{
    struct mirror_count count = self->count;
    for (size_t i = 0; i < self->scope_count; i++)
        count.texts += self->scopes[i]->texts;
    return count;
}
