/*
 * version_blobs.c: finds versions that are stored whole without reading the history again.
 *
 * Blame, and diffs that were cut, ask for one version after the other. A walk of the history meets
 * the names of the blobs anyway, so it remembers them: half of each name, since a blob is verified
 * by its whole hash. A live file that was replaced (by a purge, or a new month) empties this
 * cache.
 */
#include "store/files/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"

#define MOST_NOTED 32768 /* texts, 40 bytes each */
#define PREFIX_BYTES 7   /* of "sha256:<hex>" */

struct blob_note {
    uint64_t key;  /* hash of its name */
    char half[32]; /* of the name of the blob */
};

static void stat_live(int dir, struct files_version_cache *whole)
{
    struct stat live = {0};
    if (os_fstatat(dir, FILES_HISTORY, &live, AT_SYMLINK_NOFOLLOW) != 0)
        live = (struct stat){0};
    whole->dev = live.st_dev;
    whole->ino = live.st_ino;
}

void files_version_cache_begin(struct files *self, int dir, const char *scope)
{
    struct files_version_cache *whole = &self->version_cache;
    str_clear(&whole->noted);
    whole->next = 0;
    stat_live(dir, whole);
    snprintf(whole->scope, sizeof whole->scope, "%s", scope);
}

/* Without memory this is skipped, and the history is read. */
static void add_blob_note(struct files_version_cache *whole, struct ethos_view key,
                          struct ethos_view blob)
{
    struct blob_note noted = {.key = hash_mix(0, key)};
    struct str *all = &whole->noted;
    if (blob.size < sizeof noted.half || all->size >= MOST_NOTED * sizeof noted)
        return;
    memcpy(noted.half, blob.data, sizeof noted.half);
    if (!view_ends(str_view(all), view_of((const char *)&noted, sizeof noted)))
        str_add(all, view_of((const char *)&noted, sizeof noted));
}

void files_version_cache_add(struct files *self, const struct history_record *record)
{
    add_blob_note(&self->version_cache, record->key, record->after_blob);
    add_blob_note(&self->version_cache, record->key, record->before_blob);
    if (!record->append_blob.data) // nothing is stored under this name then
        add_blob_note(&self->version_cache, record->key, record->blob);
}

/* Searches from where the last one was found: versions are asked for in the order of the walk. */
static bool is_noted(struct files_version_cache *whole, const struct blob_note *wanted)
{
    size_t count = whole->noted.size / sizeof *wanted;
    for (size_t i = 0; i < count; i++) {
        size_t at = (whole->next + i) % count;
        if (memcmp(whole->noted.data + at * sizeof *wanted, wanted, sizeof *wanted) != 0)
            continue;
        whole->next = at;
        return true;
    }
    return false;
}

int files_version_cache_read(struct files *self, int dir, const char *scope, const char *key,
                             const char *revision, struct str *out)
{
    struct files_version_cache *whole = &self->version_cache, now = {0};
    struct files_blobs blobs = {.dir = dir};
    struct blob_note wanted = {.key = hash_mix(0, view_str(key))};
    char found[ETHOS_REVISION_SIZE];
    if (strcmp(whole->scope, scope) != 0 || strlen(revision) != PREFIX_BYTES + HASH_HEX_SIZE - 1)
        return ETHOS_NOTFOUND;
    memcpy(wanted.half, revision + PREFIX_BYTES, sizeof wanted.half);
    stat_live(dir, &now);
    if (now.dev != whole->dev || now.ino != whole->ino || !is_noted(whole, &wanted))
        return ETHOS_NOTFOUND;
    TRY(files_blob_read(&blobs, revision + PREFIX_BYTES, out));
    hash_revision(str_view(out), found);
    return strcmp(found, revision) == 0 ? ETHOS_OK : ETHOS_NOTFOUND;
}

void files_version_cache_free(struct files *self)
{
    str_release(&self->version_cache.noted);
}
