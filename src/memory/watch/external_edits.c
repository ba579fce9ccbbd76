/*
 * external_edits.c: records texts that were edited outside ethos.
 *
 * The history shows whether ethos made the change: then its newest line names the text. Otherwise
 * the edit is recorded once the text was left alone for QUIET_MS and nobody has it open for
 * writing, as a save may take several steps; the store records it, and its history line is
 * reported.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/os.h"
#include "base/view.h"
#include "memory/provider/missing_slots.h"
#include "memory/watch/internal.h"

#define QUIET_MS 300
#define MOST_WAIT_MS 5000 /* between two checks of a text that somebody keeps open */
#define AT_ONCE 64        /* texts checked in one call */
#define YOUNG_MS 2000     /* resolution of file times and clocks */

static uint64_t mix_string(uint64_t print, const char *text)
{
    for (; *text; text++)
        print = (print ^ (unsigned char)*text) * 0x100000001b3u;
    return print;
}

static struct touched **bucket_of(struct memory_watch *self, const struct watched *scope,
                                  const char *key)
{
    uint64_t print = mix_string(mix_string(0xcbf29ce484222325u, scope->scope), key);
    return &self->touched[(print >> 32) % WATCH_BUCKETS];
}

static struct touched *find_touched(struct memory_watch *self, const struct watched *scope,
                                    const char *key)
{
    struct touched *at = *bucket_of(self, scope, key);
    while (at && (at->scope != scope || strcmp(at->key, key) != 0))
        at = at->next;
    return at;
}

/* A file of a directory whose texts are elsewhere is not one. */
void outside_touch(struct memory_watch *self, struct watched *scope, const char *key)
{
    struct touched *touched = find_touched(self, scope, key);
    if (scope->elsewhere)
        return;
    if (!touched) {
        struct touched **bucket = bucket_of(self, scope, key);
        touched = calloc(1, sizeof *touched);
        if (!touched) {
            self->lost = true;
            return;
        }
        snprintf(touched->key, sizeof touched->key, "%s", key);
        touched->scope = scope;
        touched->next = *bucket;
        *bucket = touched;
    }
    touched->due_ms = os_monotonic_ms() + QUIET_MS;
    touched->tries = 0;
}

void outside_set_revision(struct memory_watch *self, const struct watched *scope, const char *key,
                          const char *revision)
{
    struct touched *touched = find_touched(self, scope, key);
    if (touched)
        snprintf(touched->revision, sizeof touched->revision, "%s", revision);
}

/* ---- lists ----------------------------------------------------------------------------------- */

struct file_listing {
    struct memory_watch *self;
    struct watched *scope;
    uint64_t print;
    int64_t since_ms; /* check those that changed after; INT64_MAX: none */
    bool any;
};

static int add_listed_file(void *arg, const struct ethos_entry *entry)
{
    struct file_listing *listing = arg;
    char state[64];
    snprintf(state, sizeof state, "/%llu/%lld", (unsigned long long)entry->bytes,
             (long long)entry->mtime_ms);
    listing->print += mix_string(mix_string(0xcbf29ce484222325u, entry->key), state);
    if (entry->mtime_ms >= listing->since_ms &&
        scope_key_shown(listing->scope->scope, entry->key)) {
        outside_touch(listing->self, listing->scope, entry->key);
        listing->any = true;
    }
    return ETHOS_OK;
}

static bool list_scope_files(struct file_listing *listing)
{
    struct ethos_turn *turn;
    const char *scope = listing->scope->scope;
    if (watch_turn(listing->self, scope, &turn, NULL) != ETHOS_OK)
        return false;
    struct ethos_provider *provider = service_provider(turn, scope, NULL);
    bool done = SLOT_PROVIDER(provider, list) &&
                provider->ops->list(provider, scope, add_listed_file, listing, NULL) == ETHOS_OK;
    ethos_turn_free(turn);
    return done;
}

void outside_touch_all(struct memory_watch *self, struct watched *scope)
{
    struct file_listing listing = {self, scope, 0, INT64_MIN, false};
    if (!scope->elsewhere)
        list_scope_files(&listing);
}

/* The list differs: checks the recently changed texts, or all if there are none. */
void outside_poll(struct memory_watch *self, struct watched *scope)
{
    struct file_listing listing = {self, scope, 0, INT64_MAX, false};
    if (!list_scope_files(&listing) || listing.print == scope->print)
        return;
    bool first = scope->print == 0;
    scope->print = listing.print;
    if (first)
        return;
    listing.since_ms = os_now_ms() - WATCH_PERIOD_MS - YOUNG_MS;
    list_scope_files(&listing);
    if (!listing.any)
        outside_touch_all(self, scope);
}

/* ---- settling -------------------------------------------------------------------------------- */

static int set_any(void *arg, const struct ethos_change *change)
{
    bool *any = arg;
    (void)change;
    *any = true;
    return 1; // enough
}

struct outside {
    char revision[ETHOS_REVISION_SIZE]; /* of the text, "absent" */
    uint64_t bytes;
    bool busy;     /* somebody is writing it */
    bool recorded; /* it has a history */
};

static int read_outside_text(struct ethos_provider *provider, const struct touched *touched,
                             const struct ethos_host *host, struct outside *out,
                             struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_text text = {0};
    int code = provider->ops->read(provider, touched->scope->scope, touched->key, &whole, &text,
                                   error);
    out->busy = code == ETHOS_OK && text.unsettled;
    out->bytes = text.total;
    snprintf(out->revision, sizeof out->revision, "%s",
             code == ETHOS_OK ? text.revision : "absent");
    host->resize(host->arg, text.data, 0);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* Reads the text; if the history names another one, the edit is recorded. */
static int record_if_edited(struct memory_watch *self, const struct touched *touched,
                            struct outside *out, struct ethos_error *error)
{
    struct ethos_turn *turn;
    const char *scope = touched->scope->scope, *key = touched->key;
    int code = watch_turn(self, scope, &turn, error);
    if (code != ETHOS_OK)
        return code;
    struct ethos_provider *provider = service_provider(turn, scope, key);
    const struct ethos_provider_ops *ops = provider->ops;
    if (SLOT_PROVIDER(provider, read))
        code = read_outside_text(provider, touched, self->ethos->host, out, error);
    bool same = strcmp(touched->revision, out->revision) == 0;
    if (code == ETHOS_OK && !out->busy && !same && SLOT_PROVIDER(provider, settle))
        code = ops->settle(provider, scope, key, error);
    if (code == ETHOS_OK && !out->busy && !same && SLOT_PROVIDER(provider, history))
        ops->history(provider, scope, key, set_any, &out->recorded, NULL);
    ethos_turn_free(turn);
    return code;
}

/* A text without history has no line to report. */
static void report_unrecorded(struct memory_watch *self, const struct touched *touched,
                              const struct outside *outside)
{
    const struct ethos_change change = {.time_ms = service_now_ms(self->ethos),
                                        .key = touched->key,
                                        .actions = "external",
                                        .source = "web-editor",
                                        .via = "external",
                                        .actor = "external",
                                        .after = outside->revision,
                                        .bytes_after = outside->bytes};
    changes_report(self, touched->scope, &change);
}

/* True: done. */
static bool check_touched(struct memory_watch *self, struct touched *touched)
{
    struct outside outside = {0};
    struct ethos_error error;
    int code = record_if_edited(self, touched, &outside, &error);
    if (outside.busy || code == ETHOS_BUSY) {
        int64_t wait = (int64_t)QUIET_MS << (touched->tries < 5 ? touched->tries : 5);
        touched->tries++;
        touched->due_ms = os_monotonic_ms() + (wait < MOST_WAIT_MS ? wait : MOST_WAIT_MS);
        return false;
    }
    if (code == ETHOS_OK && outside.recorded)
        code = changes_read_new(self, touched->scope, &error);
    else if (code == ETHOS_OK && strcmp(touched->revision, outside.revision) != 0)
        report_unrecorded(self, touched, &outside);
    if (code != ETHOS_OK)
        watch_fail(self, code, &error);
    return true;
}

/* Reporting may add others to the front of their bucket: the list is walked anew after each. */
static struct touched **find_due(struct memory_watch *self, int64_t now)
{
    for (size_t i = 0; i < WATCH_BUCKETS; i++)
        for (struct touched **at = &self->touched[i]; *at; at = &(*at)->next)
            if ((*at)->due_ms <= now && !(*at)->scope->gone)
                return at;
    return NULL;
}

static void remove_touched(struct memory_watch *self, struct touched *touched)
{
    struct touched **at = bucket_of(self, touched->scope, touched->key);
    while (*at != touched)
        at = &(*at)->next;
    *at = touched->next;
    free(touched);
}

void outside_check_due(struct memory_watch *self)
{
    int64_t now = os_monotonic_ms();
    for (int i = 0; i < AT_ONCE; i++) {
        struct touched **due = find_due(self, now);
        if (!due)
            return;
        struct touched *touched = *due;
        touched->due_ms = now + 1;
        if (check_touched(self, touched) && touched->due_ms == now + 1)
            remove_touched(self, touched);
    }
}

int64_t outside_due(const struct memory_watch *self)
{
    int64_t due = -1;
    for (size_t i = 0; i < WATCH_BUCKETS; i++)
        for (const struct touched *at = self->touched[i]; at; at = at->next)
            if (!at->scope->gone && (due < 0 || at->due_ms < due))
                due = at->due_ms;
    return due;
}

void outside_forget(struct memory_watch *self, const struct watched *scope)
{
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        struct touched **at = &self->touched[i];
        while (*at) {
            struct touched *touched = *at;
            if (scope && touched->scope != scope) {
                at = &touched->next;
                continue;
            }
            *at = touched->next;
            free(touched);
        }
    }
}
