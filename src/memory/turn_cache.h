/*
 * turn_cache.h: reuses the last turn while everything it was made from is unchanged.
 *
 * A program that serves an agent makes a turn for every request, and nearly all of them are equal.
 * A handle that has made some begins to watch the files they are made from
 * (base/system/watch_set.h). A turn that was made while all of them were watched, and was returned,
 * is reused for the next request, provided that the watch is quiet and the request, the environment
 * and the current directory are the same.
 *
 * In doubt the turn is made anew, as for a turn with a warning (which must be repeated), one that
 * has recorded its workspace, and ephemeral memory.
 */
#ifndef ETHOS_MEMORY_TURN_CACHE_H
#define ETHOS_MEMORY_TURN_CACHE_H

#include <ethos/ethos.h>

#include "base/system/watch_set.h"

struct turn_cache {
    uint64_t made;             /* turns made so far */
    unsigned rest;             /* turns to make without watching */
    unsigned idle;             /* watches set since one was useful */
    struct looks looks;        /* files of the turn being made */
    struct looks_watch *watch; /* NULL: none yet, or not available */
    struct ethos_turn *turn;   /* returned, or NULL */
    struct ethos_turn *lent;   /* in use, or NULL */
};

void turn_cache_init(struct turn_cache *self);
void turn_cache_release(struct turn_cache *self);

/* The cached turn for this request, if there is one; with its environment, see turn.c. */
struct ethos_turn *turn_cache_take(struct turn_cache *self, const struct ethos_request *request);

/*
 * The cached turn with this number, whatever the environment: for a caller that had that turn
 * before.
 */
struct ethos_turn *turn_cache_take_number(struct turn_cache *self, uint64_t number);

/* The number of a turn that will be returned; 0 for any other turn. */
uint64_t turn_cache_number(const struct turn_cache *self, const struct ethos_turn *turn);

/* Whether the directories of a path were watched before such a turn was made or taken. */
bool turn_cache_covers(const struct turn_cache *self, const struct ethos_turn *turn,
                       const char *path);

/* Collects the files that the turn being made reads; NULL: not wanted. */
struct looks *turn_cache_start_watching(struct turn_cache *self);

/* Offers a turn that was made; decides whether to cache it. */
void turn_cache_offer(struct turn_cache *self, struct ethos_turn *turn,
                      const struct ethos_request *request);

/* Returns a turn after use. True: the cache has taken it. */
bool turn_cache_return(struct turn_cache *self, struct ethos_turn *turn);

#endif
