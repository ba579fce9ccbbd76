/*
 * cache.c: the texts that were read last. They are given only after the server said that they still are what
 * it has; so nothing here can be stale, and nothing is kept that could not be forgotten.
 */
#include <stdlib.h>
#include <string.h>

#include "remote.h"

struct cache_entry {
    char scope[ETHOS_MAX_SCOPE];
    char key[ETHOS_MAX_KEY + 1];
    uint64_t tail_bytes;
    uint64_t used; /* 0: empty */
    struct ethos_text text;
};

static void drop_entry(struct cache *self, struct cache_entry *entry)
{
    self->bytes -= entry->text.size;
    free(entry->text.data);
    *entry = (struct cache_entry){0};
}

static struct cache_entry *find_cache_entry(struct cache *self, const char *scope, const char *key,
                                            uint64_t tail_bytes)
{
    for (size_t i = 0; self->entries && i < REMOTE_CACHE_TEXTS; i++) {
        struct cache_entry *entry = &self->entries[i];
        if (entry->used && entry->tail_bytes == tail_bytes && strcmp(entry->key, key) == 0 &&
            strcmp(entry->scope, scope) == 0)
            return entry;
    }
    return NULL;
}

/* An empty place, else that of the text that was not used for longest. */
static struct cache_entry *oldest(struct cache *self)
{
    struct cache_entry *found = self->entries;
    for (size_t i = 1; i < REMOTE_CACHE_TEXTS; i++)
        if (self->entries[i].used < found->used)
            found = &self->entries[i];
    return found;
}

const struct ethos_text *cache_find(struct cache *self, const char *scope, const char *key,
                                    uint64_t tail_bytes)
{
    struct cache_entry *entry = find_cache_entry(self, scope, key, tail_bytes);
    if (!entry)
        return NULL;
    entry->used = ++self->clock;
    return &entry->text;
}

/* The one that was used longest ago and is there. */
static struct cache_entry *stalest(struct cache *self)
{
    struct cache_entry *found = NULL;
    for (size_t i = 0; i < REMOTE_CACHE_TEXTS; i++)
        if (self->entries[i].used && (!found || self->entries[i].used < found->used))
            found = &self->entries[i];
    return found;
}

void cache_put(struct cache *self, const char *scope, const char *key, uint64_t tail_bytes,
               const struct ethos_text *text)
{
    struct cache_entry *entry = find_cache_entry(self, scope, key, tail_bytes);
    if (entry)
        drop_entry(self, entry);
    if (!self->entries)
        self->entries = calloc(REMOTE_CACHE_TEXTS, sizeof *self->entries);
    if (!self->entries || text->size > REMOTE_CACHE_BYTES / 2 ||
        strlen(scope) >= sizeof entry->scope || strlen(key) >= sizeof entry->key)
        return;
    char *data = text->data ? malloc(text->size + 1) : NULL;
    if (text->data && !data)
        return;
    entry = oldest(self);
    if (entry->used)
        drop_entry(self, entry);
    while (self->bytes + text->size > REMOTE_CACHE_BYTES)
        drop_entry(self, stalest(self));
    if (data)
        memcpy(data, text->data, text->size);
    entry->text = *text;
    entry->text.data = data;
    entry->text.capacity = 0;
    entry->tail_bytes = tail_bytes;
    entry->used = ++self->clock;
    memcpy(entry->scope, scope, strlen(scope) + 1);
    memcpy(entry->key, key, strlen(key) + 1);
    self->bytes += text->size;
}

void cache_forget(struct cache *self, const char *scope, const char *key)
{
    for (size_t i = 0; self->entries && i < REMOTE_CACHE_TEXTS; i++) {
        struct cache_entry *entry = &self->entries[i];
        if (entry->used && strcmp(entry->key, key) == 0 && strcmp(entry->scope, scope) == 0)
            drop_entry(self, entry);
    }
}

void cache_release(struct cache *self)
{
    for (size_t i = 0; self->entries && i < REMOTE_CACHE_TEXTS; i++)
        drop_entry(self, &self->entries[i]);
    free(self->entries);
    *self = (struct cache){0};
}
