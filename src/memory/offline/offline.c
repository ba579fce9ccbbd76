/*
 * offline.c: the provider in front of a backend that may be unreachable.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/offline/internal.h"
#include "memory/provider/missing_slots.h"

#define PROFILE_KEY "USER.md"
#define LOG_KEY "MEMORY.md"

/* ---- reaching ---------------------------------------------------------------------------------- */

int offline_record_result(struct offline *self, int code, const struct ethos_error *error)
{
    int64_t now = os_monotonic_ms();
    struct ethos_error unnamed = {0};
    if (code != ETHOS_BUSY || reach_check(&self->reach, now, NULL) == ETHOS_BUSY)
        return code; // the backend may have recorded it itself
    if (!error)
        err_set(&unnamed, ETHOS_BUSY, "%s: unreachable", self->ops.name);
    reach_failed(&self->reach, self->asked, now, error ? error : &unnamed);
    return code;
}

int offline_open_inner(struct offline *self, struct ethos_error *error)
{
    struct ethos_error why = {0};
    self->asked = os_monotonic_ms();
    int code = registry_open(self->backend, &self->setup, &self->given, self->shared, &self->inner,
                             &why);
    if (code == ETHOS_OK)
        self->base.capabilities = self->inner->capabilities;
    else if (error)
        *error = why;
    return offline_record_result(self, code, &why);
}

int offline_reach(struct offline *self, enum offline_wish wish, struct ethos_error *error)
{
    bool later = false;
    struct ethos_error why = {0};
    self->asked = os_monotonic_ms();
    int code = reach_check(&self->reach, self->asked, error);
    if (code == ETHOS_OK && !self->inner)
        code = offline_open_inner(self, error);
    if (code != ETHOS_OK || !queue_waits(self))
        return code;
    code = offline_drain(self, wish, &later, &why);
    if (code != ETHOS_OK &&
        wish == OFFLINE_READ) { // a backend that refuses changes may still be readable
        if (!later)
            log_line(self->setup.host, ETHOS_LOG_WARN, "queued changes are not sent: %s", why.text);
        return ETHOS_OK;
    }
    if (code == ETHOS_BUSY && !later)
        offline_record_result(self, code, &why);
    if (code != ETHOS_OK && error)
        *error = why;
    return code;
}

static int fail_no_slot(const struct offline *self, const char *what, struct ethos_error *error)
{
    return err_set(error, ETHOS_UNSUPPORTED, "%s: this memory provider has no %s", self->ops.name,
                   what);
}

/* ---- what is known ----------------------------------------------------------------------------- */

/* Logs once that old text is shown. */
static void warn_stale(struct offline *self, int64_t known_ms)
{
    char iso[CLOCK_ISO_SIZE];
    if (self->told)
        return;
    self->told = true;
    clock_iso(known_ms, iso);
    log_line(self->setup.host, ETHOS_LOG_WARN, "%s: showing its state of %s",
             self->setup.deadline->error.text, iso);
}

/* The places where a section may be, best first; NULL for none. */
struct places {
    const char *scopes[3];
    const char *key;
};

static struct places places_of(const struct ethos_context *context, size_t section)
{
    if (section == ETHOS_SECTION_USER)
        return (struct places){
            {context->user_scope, context->profile_fallback[0], context->profile_fallback[1]},
            PROFILE_KEY};
    const char *scope = section == ETHOS_SECTION_MEMORY   ? context->memory_scope
                        : section == ETHOS_SECTION_GLOBAL ? context->global_scope
                        : context->workspace_shown        ? context->workspace_scope
                                                          : NULL;
    return (struct places){{scope, NULL, NULL}, LOG_KEY};
}

/* Caches a section that was read: its text, and that the places before it have none. */
static void cache_section(struct offline *self, const struct places *places,
                          const struct ethos_section *section)
{
    bool there = section->code == ETHOS_OK;
    size_t at = 0;
    while (there && at < 3 && (!places->scopes[at] || strcmp(places->scopes[at], section->scope)))
        at++;
    if (there && at == 3)
        return; // from a place that only the provider knows
    for (size_t i = 0; i < (there ? at : 3); i++)
        if (places->scopes[i])
            text_cache_store(self, places->scopes[i], places->key, NULL, false);
    if (there)
        text_cache_store(self, section->scope, places->key, &section->text, false);
}

/*
 * Reads a section from the cache. If only a tail is cached, the text is reported as too large, for
 * which the caller requests the tail.
 */
static void recall_section(struct offline *self, const struct places *places,
                           const struct ethos_read_how *how, struct ethos_section *section)
{
    int code = ETHOS_BUSY;
    for (size_t i = 0; i < 3 && code != ETHOS_OK && code != ETHOS_NOMEM; i++) {
        if (!places->scopes[i])
            continue;
        int found = known_read(self, places->scopes[i], places->key, &section->text);
        if (i > 0 && found == ETHOS_BUSY)
            continue;
        code = found;
        snprintf(section->scope, sizeof section->scope, "%s", places->scopes[i]);
        snprintf(section->key, sizeof section->key, "%s", places->key);
    }
    section->code = code;
    section->error = self->setup.deadline->error;
    if (code == ETHOS_OK || code == ETHOS_NOTFOUND)
        warn_stale(self, section->text.known_ms);
    if (code == ETHOS_OK && how->tail_bytes == 0 && section->text.offset > 0)
        section->code = err_set(&section->error, ETHOS_LIMIT, "%s: only its end is cached",
                                section->key);
    else if (code == ETHOS_NOTFOUND)
        section->text.known_ms = 0;
}

/* *out_known: how many of the expected ones are cached. */
static void recall_all(struct offline *self, const struct ethos_context *context,
                       const struct ethos_read_how *how, struct ethos_section *sections,
                       size_t *out_known)
{
    *out_known = 0;
    for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
        const struct places places = places_of(context, i);
        if (!places.scopes[0])
            continue;
        recall_section(self, &places, how, &sections[i]);
        *out_known += sections[i].code != ETHOS_BUSY;
    }
}

static void cache_sections(struct offline *self, const struct ethos_context *context,
                           const struct ethos_read_how *how, struct ethos_section *sections)
{
    for (size_t i = 0; i < ETHOS_SECTIONS; i++) {
        const struct places places = places_of(context, i);
        sections[i].text.known_ms = 0;
        if (!places.scopes[0])
            continue;
        if (sections[i].code == ETHOS_OK || sections[i].code == ETHOS_NOTFOUND)
            cache_section(self, &places, &sections[i]);
        else if (offline_record_result(self, sections[i].code, &sections[i].error) == ETHOS_BUSY)
            recall_section(self, &places, how, &sections[i]);
    }
}

static int off_prefetch(struct ethos_provider *provider, const struct ethos_context *context,
                        const struct ethos_read_how *how, struct ethos_section *sections,
                        size_t count, struct ethos_error *error)
{
    struct offline *self = (struct offline *)provider;
    struct ethos_error why = {0};
    struct ethos_read_how full = *how;
    size_t known = 0;
    if (self->cached)
        full.flags |= ETHOS_READ_REVISION; // for readers of the cache
    if (count < ETHOS_SECTIONS)
        return err_set(error, ETHOS_INTERNAL, "prefetch: too few sections");
    int code = offline_reach(self, OFFLINE_READ, &why);
    if (code == ETHOS_OK)
        code = offline_record_result(
            self, self->inner->ops->prefetch(self->inner, context, &full, sections, count, &why),
            &why);
    if (code == ETHOS_OK && self->cached)
        cache_sections(self, context, how, sections);
    else if (code == ETHOS_BUSY && self->cached)
        recall_all(self, context, how, sections, &known);
    if (code == ETHOS_OK || known > 0)
        return ETHOS_OK;
    if (error)
        *error = why;
    return code;
}

/* Reads a whole text from the cache. */
static int read_cached(struct offline *self, const char *scope, const char *key,
                       const struct ethos_read_how *how, struct ethos_text *out_text)
{
    int code = known_read(self, scope, key, out_text);
    bool enough = code != ETHOS_OK || out_text->offset == 0 ||
                  (how->tail_bytes > 0 && how->tail_bytes <= out_text->size);
    if (code == ETHOS_OK && enough)
        warn_stale(self, out_text->known_ms);
    return enough ? code : ETHOS_BUSY;
}

static int off_read(struct ethos_provider *provider, const char *scope, const char *key,
                    const struct ethos_read_how *how, struct ethos_text *out_text,
                    struct ethos_error *error)
{
    struct offline *self = (struct offline *)provider;
    struct ethos_error why = {0};
    int code = offline_reach(self, OFFLINE_READ, &why);
    if (code == ETHOS_OK && !SLOT_PROVIDER(self->inner, read))
        code = fail_no_slot(self, "files", &why);
    else if (code == ETHOS_OK)
        code = offline_record_result(
            self, self->inner->ops->read(self->inner, scope, key, how, out_text, &why), &why);
    if (code == ETHOS_OK || code == ETHOS_NOTFOUND) {
        out_text->known_ms = 0;
        text_cache_store(self, scope, key, code == ETHOS_OK ? out_text : NULL, true);
    } else if (code == ETHOS_BUSY) {
        code = read_cached(self, scope, key, how, out_text);
    }
    if (code == ETHOS_NOTFOUND)
        return err_set(error, code, "%s: not found", key);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK && error)
        *error = why;
    return code;
}

/* ---- what goes straight through ---------------------------------------------------------------- */

#define PASS(wish, slot, ...)                                                                      \
    struct offline *front = (struct offline *)self;                                                \
    int code = offline_reach(front, wish, error);                                                  \
    if (code == ETHOS_OK && !SLOT_PROVIDER(front->inner, slot))                                    \
        code = fail_no_slot(front, #slot, error);                                                  \
    else if (code == ETHOS_OK)                                                                     \
        code = front->inner->ops->slot(front->inner, __VA_ARGS__);                                 \
    else                                                                                           \
        return code;                                                                               \
    return (wish) == OFFLINE_READ ? offline_record_result(front, code, error)                      \
                                  : code // several writers may be at work

/* The caller purges queue and cache for all places at once (offline_forget). */
static int off_purge(struct ethos_provider *self, const char *scope,
                     const struct ethos_match *match, int dry_run,
                     const struct ethos_origin *origin, struct ethos_purge *out_purge,
                     struct ethos_error *error)
{
    PASS(dry_run ? OFFLINE_READ : OFFLINE_WRITE, purge, scope, match, dry_run, origin, out_purge,
         error);
}

static int off_write(struct ethos_provider *self, const char *scope, const char *key,
                     const char *expect, struct ethos_view text, const struct ethos_origin *origin,
                     char out_revision[ETHOS_REVISION_SIZE], struct ethos_error *error)
{
    PASS(OFFLINE_WRITE, write, scope, key, expect, text, origin, out_revision, error);
}

static int off_list(struct ethos_provider *self, const char *scope, ethos_entry_fn *each, void *arg,
                    struct ethos_error *error)
{
    PASS(OFFLINE_READ, list, scope, each, arg, error);
}

static int off_check(struct ethos_provider *self, int fix, ethos_finding_fn *each, void *arg,
                     struct ethos_error *error)
{
    PASS(OFFLINE_READ, check, fix, each, arg, error);
}

static int offline_settle_key(struct ethos_provider *self, const char *scope, const char *key,
                              struct ethos_error *error)
{
    PASS(OFFLINE_READ, settle, scope, key, error);
}

static int off_history(struct ethos_provider *self, const char *scope, const char *key,
                       ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    PASS(OFFLINE_READ, history, scope, key, each, arg, error);
}

static int off_version(struct ethos_provider *self, const char *scope, const char *key,
                       const char *revision, struct ethos_text *out_text, struct ethos_error *error)
{
    PASS(OFFLINE_READ, version, scope, key, revision, out_text, error);
}

static int off_set_aside(struct ethos_provider *self, const char *scope, const char *key,
                         struct ethos_view text, struct ethos_error *error)
{
    PASS(OFFLINE_WRITE, set_aside, scope, key, text, error);
}

static int off_conflicts(struct ethos_provider *self, const char *scope, ethos_conflict_fn *each,
                         void *arg, struct ethos_error *error)
{
    PASS(OFFLINE_READ, conflicts, scope, each, arg, error);
}

static int off_conflict_read(struct ethos_provider *self, const char *scope, const char *id,
                             struct ethos_text *out_text, struct ethos_error *error)
{
    PASS(OFFLINE_READ, conflict_read, scope, id, out_text, error);
}

static int off_conflict_drop(struct ethos_provider *self, const char *scope, const char *id,
                             struct ethos_error *error)
{
    PASS(OFFLINE_WRITE, conflict_drop, scope, id, error);
}

static int off_update(struct ethos_provider *self, const char *scope, struct ethos_edit *edits,
                      size_t count, ethos_edit_fn *edit, void *arg,
                      const struct ethos_origin *origin, struct ethos_error *error)
{
    PASS(OFFLINE_WRITE, update, scope, edits, count, edit, arg, origin, error);
}

static int offline_keep_version(struct ethos_provider *self, const char *scope, const char *key,
                                struct ethos_view text, struct ethos_error *error)
{
    PASS(OFFLINE_WRITE, keep, scope, key, text, error);
}

static int off_scopes(struct ethos_provider *self, ethos_scope_fn *each, void *arg,
                      struct ethos_error *error)
{
    PASS(OFFLINE_READ, scopes, each, arg, error);
}

static int off_watch(struct ethos_provider *self, ethos_scope_fn *each, void *arg, int *out_fd,
                     unsigned *out_wait_ms, struct ethos_error *error)
{
    PASS(OFFLINE_READ, watch, each, arg, out_fd, out_wait_ms, error);
}

/* ---- the table --------------------------------------------------------------------------------- */

const struct ethos_provider_ops offline_ops = {
    .abi = ETHOS_ABI,
    .close = offline_close,
    .prefetch = off_prefetch,
    .sync = offline_sync,
    .read = off_read,
    .write = off_write,
    .list = off_list,
    .check = off_check,
    .settle = offline_settle_key,
    .history = off_history,
    .version = off_version,
    .purge = off_purge,
    .set_aside = off_set_aside,
    .conflicts = off_conflicts,
    .conflict_read = off_conflict_read,
    .conflict_drop = off_conflict_drop,
    .update = off_update,
    .keep = offline_keep_version,
    .scopes = off_scopes,
    .watch = off_watch,
};
