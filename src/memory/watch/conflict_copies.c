/*
 * conflict_copies.c: reports new conflict copies in a scope.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "memory/provider/missing_slots.h"
#include "memory/watch/internal.h"

#define MOST_KEYS 4096 /* with copies, in one scope */

struct counts {
    struct watch_copies *list;
    size_t count, capacity;
};

static const struct watch_copies *find_copies(const struct watch_copies *list, size_t count,
                                              const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].key, key) == 0)
            return &list[i];
    return NULL;
}

static int count_copy(void *arg, const struct ethos_conflict *conflict)
{
    struct counts *counts = arg;
    size_t size = strlen(conflict->key);
    struct watch_copies *known = (struct watch_copies *)find_copies(counts->list, counts->count,
                                                                    conflict->key);
    if (known) {
        known->count++;
        return ETHOS_OK;
    }
    if (size > ETHOS_MAX_KEY || counts->count == MOST_KEYS)
        return ETHOS_OK;
    if (counts->count == counts->capacity) {
        size_t capacity = counts->capacity ? 2 * counts->capacity : 8;
        struct watch_copies *list = realloc(counts->list, capacity * sizeof *list);
        if (!list)
            return ETHOS_NOMEM;
        counts->list = list;
        counts->capacity = capacity;
    }
    struct watch_copies *row = &counts->list[counts->count++];
    memcpy(row->key, conflict->key, size + 1);
    row->count = 1;
    return ETHOS_OK;
}

static void report_conflict(struct memory_watch *self, const struct watched *scope, const char *key,
                            uint64_t count)
{
    watch_report(self,
                 &(struct watch_event){
                     .kind = WATCH_CONFLICT, .scope = scope->scope, .key = key, .count = count});
}

static void report_new_conflicts(struct memory_watch *self, const struct watched *scope,
                                 const struct counts *now)
{
    for (size_t i = 0; i < now->count; i++) {
        const struct watch_copies *row = &now->list[i];
        const struct watch_copies *then = find_copies(scope->copies, scope->copy_count, row->key);
        if (!then || then->count != row->count)
            report_conflict(self, scope, row->key, row->count);
    }
    for (size_t i = 0; i < scope->copy_count; i++)
        if (!find_copies(now->list, now->count, scope->copies[i].key))
            report_conflict(self, scope, scope->copies[i].key, 0);
}

int copies_compare(struct memory_watch *self, struct watched *scope, bool told,
                   struct ethos_error *error)
{
    struct counts now = {0};
    struct ethos_provider *provider;
    int code = watch_provider(self, scope, &provider, error);
    if (code != ETHOS_OK)
        return code;
    if (SLOT_PROVIDER(provider, conflicts))
        code = provider->ops->conflicts(provider, scope->scope, count_copy, &now, error);
    if (code != ETHOS_OK) {
        free(now.list);
        return code == ETHOS_NOMEM ? err_nomem(error) : code;
    }
    if (told)
        report_new_conflicts(self, scope, &now);
    free(scope->copies);
    scope->copies = now.list;
    scope->copy_count = now.count;
    return ETHOS_OK;
}
