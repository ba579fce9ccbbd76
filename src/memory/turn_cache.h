/*
 * turn_cache.h: a turn that is over serves again, as long as it would be made the same.
 *
 * Who serves an agent makes a turn for every request, and nearly all of them come out the same. A
 * handle that has made some begins to watch what they are made from (base/system/watch_set.h); one that was made
 * while all of that was watched, and given back, is the next one that is asked for, provided that
 * the watch is quiet, the request and the environment are the same, and so is the current directory.
 *
 * In doubt there is none, and the turn is made anew: so for a turn with a warning (a damaged file that
 * must be told again), one that has recorded its workspace, and memory that is thrown away.
 */
#ifndef ETHOS_MEMORY_TURN_CACHE_H
#define ETHOS_MEMORY_TURN_CACHE_H

#include <ethos/ethos.h>

#include "base/system/watch_set.h"

struct turn_cache {
    uint64_t made;             /* turns so far */
    unsigned rest;             /* of those to come, how many are not to be watched */
    unsigned idle;             /* watches set since one was of use */
    struct looks looks;        /* of the turn in the making */
    struct looks_watch *watch; /* NULL: none yet, or none to be had */
    struct ethos_turn *turn;   /* given back, or NULL */
    struct ethos_turn *lent;   /* to be given back, or NULL */
};

void turn_cache_init(struct turn_cache *self);
void turn_cache_release(struct turn_cache *self);

/* The turn for this request, when there is one; with its environment, see turn.c. */
struct ethos_turn *turn_cache_take(struct turn_cache *self, const struct ethos_request *request);

/* The same by its number, whatever the environment: for who was given that turn before. */
struct ethos_turn *turn_cache_take_number(struct turn_cache *self, uint64_t number);

/* The number of a turn that was made or taken and is to be given back; of any other 0. */
uint64_t turn_cache_number(const struct turn_cache *self, const struct ethos_turn *turn);

/* Whether the directories on the way to a path were watched since before such a turn was made or taken. */
bool turn_cache_covers(const struct turn_cache *self, const struct ethos_turn *turn,
                       const char *path);

/* What a turn in the making tells of its looks; NULL: nobody wants to know. */
struct looks *turn_cache_start_watching(struct turn_cache *self);

/* A turn was made: whether it is one to keep is found out here. */
void turn_cache_offer(struct turn_cache *self, struct ethos_turn *turn,
                      const struct ethos_request *request);

/* A turn is over. True: it was taken back. */
bool turn_cache_return(struct turn_cache *self, struct ethos_turn *turn);

#endif
