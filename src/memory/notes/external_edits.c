/*
 * external_edits.c: records edits of notes that were made outside ethos.
 *
 * A list shows files as they are, and would miss a stale save until somebody opens the note. So
 * files that changed recently enough to be a stale save are compared with the newest change of each
 * in the history; those that differ are opened, which records and merges the edit. The history is
 * read back to the time of the oldest of these files: a file without a later change was edited
 * since, or was never recorded.
 */
#include <stdlib.h>
#include <string.h>

#include "core/history/merge_base.h"
#include "core/memory/scope.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"
#include "memory/provider/missing_slots.h"

#define MOST_SETTLED 50 /* most recently changed files that one call checks */
#define ENOUGH 1        /* ends a walk */

struct recent {
    const char *key;
    uint64_t bytes;
    int64_t mtime_ms;
    bool met;  /* its newest change, */
    bool seen; /* and the file equals its result */
};

struct settling {
    struct arena arena;
    struct recent *files; /* by key */
    size_t count, capacity, left;
    int64_t since_ms, oldest_ms;
};

static int add_recent_file(void *arg, const struct ethos_entry *entry)
{
    struct settling *self = arg;
    if (entry->mtime_ms < self->since_ms || !scope_key_visible(entry->key))
        return ETHOS_OK;
    struct recent *files = arena_grow(&self->arena, self->files, self->count, &self->capacity,
                                      sizeof *files);
    const char *key = files ? arena_str(&self->arena, entry->key) : NULL;
    if (!key)
        return ETHOS_NOMEM;
    self->files = files;
    files[self->count++] = (struct recent){key, entry->bytes, entry->mtime_ms, false, false};
    if (entry->mtime_ms < self->oldest_ms)
        self->oldest_ms = entry->mtime_ms;
    return ETHOS_OK;
}

static int compare_file_key(const void *key, const void *file)
{
    return strcmp(key, ((const struct recent *)file)->key);
}

/* Newest first: the first change of a key says what its file should be. */
static int match_file_change(void *arg, const struct ethos_change *change)
{
    struct settling *self = arg;
    if (change->time_ms < self->oldest_ms)
        return ENOUGH;
    struct recent *file = bsearch(change->key, self->files, self->count, sizeof *file,
                                  compare_file_key);
    if (!file || file->met)
        return ETHOS_OK;
    file->met = true;
    file->seen = change->bytes_after == file->bytes && file->mtime_ms <= change->time_ms;
    return file->seen && --self->left == 0 ? ENOUGH : ETHOS_OK;
}

/* Unrecorded files come first, then by the time of the last edit. */
static int newest_first(const void *left, const void *right)
{
    const struct recent *a = left, *b = right;
    if (a->seen != b->seen)
        return a->seen ? 1 : -1;
    return (a->mtime_ms < b->mtime_ms) - (a->mtime_ms > b->mtime_ms);
}

void notes_record_external_edits(struct ethos_turn *turn, const char *scope)
{
    struct ethos_provider *provider = turn->provider;
    const struct ethos_host *host = turn->ethos->host;
    struct settling self = {.since_ms = host->now_ms(host->arg) - MERGE_BASE_MS,
                            .oldest_ms = INT64_MAX};
    if (!SLOT_PROVIDER(provider, settle) || !SLOT_PROVIDER(provider, list) ||
        !SLOT_PROVIDER(provider, history))
        return;
    arena_init(&self.arena);
    int code = provider->ops->list(provider, scope, add_recent_file, &self, NULL);
    self.left = self.count;
    if (code == ETHOS_OK && self.count > 0)
        code = provider->ops->history(provider, scope, NULL, match_file_change, &self, NULL);
    bool walked = (code == ETHOS_OK || code == ENOUGH) && self.left > 0;
    if (walked)
        qsort(self.files, self.count, sizeof *self.files, newest_first);
    for (size_t i = 0; walked && i < self.left && i < MOST_SETTLED; i++)
        provider->ops->settle(provider, scope, self.files[i].key, NULL);
    arena_release(&self.arena);
}
