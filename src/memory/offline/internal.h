/*
 * internal.h: what the parts of the provider in front share. Private to memory/offline/.
 *
 *   offline.c        the provider: reaching, asking, showing what is known
 *   open.c           opening and closing, and the place
 *   sync.c           sync, and doing what waits
 *   text_cache.c     texts as they were
 *   queue.c          calls that wait
 *   check.c          what doctor tells
 *   forget.c         what is forgotten
 */
#ifndef ETHOS_MEMORY_OFFLINE_INTERNAL_H
#define ETHOS_MEMORY_OFFLINE_INTERNAL_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/system/connect_timeout.h"
#include "memory/offline/offline.h"

#define OFFLINE_FOLDER "offline"
#define OFFLINE_PLACE_SIZE 33       /* hex digits and terminator */
#define OFFLINE_PATH_SIZE 96        /* of a folder of a place, below the root */
#define OFFLINE_NAME_SIZE 32        /* of a call that waits: its number and its checksum */
#define OFFLINE_CLEANSED "cleansed" /* member of a call that waits */
#define OFFLINE_FILE_BYTES ((size_t)ETHOS_MAX_INPUT_BYTES * 8) /* of a call that was refused */

struct offline {
    struct ethos_provider base;
    struct ethos_provider_ops ops; /* without what the backend lacks */
    struct ethos_provider *inner;  /* NULL until it was reached */
    bool cached, queues;
    char place[OFFLINE_PLACE_SIZE];
    char *shown; /* the place, for people */
    bool told;   /* that what is shown is old */

    int64_t asked; /* by os_monotonic_ms: when the call under way began */
    struct backend_reach reach;
    struct ethos_deadline own; /* where the host has none */

    /* what it is opened with */
    const struct backend *backend;
    struct registry_group shared;
    struct ethos_setup setup;
    struct secrets_given given;
    struct arena arena; /* of their strings */
};

/* ---- offline.c -------------------------------------------------------------------------------- */

/* What is to follow: one that only reads does not wait for others who do what waits. */
enum offline_wish { OFFLINE_READ, OFFLINE_WRITE };

/* self->inner can be asked. ETHOS_BUSY: out of reach, or what waits is not done yet. */
int offline_reach(struct offline *self, enum offline_wish wish, struct ethos_error *error);

/* Notes that it is out of reach when the code says so; returns the code. */
int offline_record_result(struct offline *self, int code, const struct ethos_error *error);

/* Opens what is behind. ETHOS_BUSY is noted. */
int offline_open_inner(struct offline *self, struct ethos_error *error);

/* What it can do; a backend that cannot leaves slots out. */
extern const struct ethos_provider_ops offline_ops;

/* ---- open.c --------------------------------------------------------------------------- */

void offline_close(struct ethos_provider *provider);

/* A folder of the place ("" for itself) as a path below the root. */
void offline_path(const struct offline *self, const char *folder, char out[OFFLINE_PATH_SIZE]);

/* Opens it, making it when it is missing and create is set; ETHOS_NOTFOUND. */
int offline_folder(const struct offline *self, const char *folder, bool create, int *out,
                   struct ethos_error *error);

/* ---- sync.c --------------------------------------------------------------------------- */

int offline_sync(struct ethos_provider *provider, const struct ethos_context *context,
                 const struct ethos_update *updates, size_t count, const struct ethos_sync_how *how,
                 struct ethos_error *error);

/*
 * Does what waits, until that time. ETHOS_OK: nothing waits any more. ETHOS_BUSY with *out_later:
 * something does, though the backend can be reached.
 */
int offline_drain(struct offline *self, enum offline_wish wish, bool *out_later,
                  struct ethos_error *error);

/* ---- text_cache.c -------------------------------------------------------------------------- */

/* Keeps a text; data NULL: there is none. Only one that is kept already with `refresh`. Failing is no failure. */
void text_cache_store(struct offline *self, const char *scope, const char *key,
                      const struct ethos_text *text, bool refresh);

/* ETHOS_OK and known_ms, ETHOS_NOTFOUND: known to be absent (known_ms, too); ETHOS_BUSY: not known. */
int known_read(struct offline *self, const char *scope, const char *key,
               struct ethos_text *out_text);

/* Every text of a scope. ETHOS_IO: one may still be there. */
int known_forget(struct offline *self, const char *scope, struct ethos_error *error);

/* ---- queue.c -------------------------------------------------------------------------- */

/* Whether anything waits, in doubt that it does: one system call when nothing does. */
bool queue_waits(const struct offline *self);

/* Adds a call, durably. ETHOS_LIMIT when there are too many. */
int queue_add(struct offline *self, const struct ethos_context *context,
              const struct ethos_origin *origin, const struct ethos_update *updates, size_t count,
              struct ethos_error *error);

struct queue_call {
    struct arena arena;
    struct ethos_context context;
    struct ethos_origin origin;
    struct ethos_update *updates;
    size_t count;
    bool cleansed; /* lines of it were forgotten since it was put */
};

/* The names of the calls, in order, in the arena. */
struct dir_names;
int queue_list(struct offline *self, struct arena *arena, struct dir_names *out,
               struct ethos_error *error);

/* How many there are, and since when; *out is untouched when there are none. */
int queue_count(struct offline *self, struct offline_waiting *out, struct ethos_error *error);

/* ETHOS_CORRUPT when it is not what was put there. To be released after ETHOS_OK. */
int queue_read(struct offline *self, const char *name, struct queue_call *out,
               struct ethos_error *error);
void queue_release(struct queue_call *call);

/* Strikes it off. */
int queue_drop(struct offline *self, const char *name, struct ethos_error *error);

/* Takes the folder away when nothing waits. */
void queue_leave(struct offline *self);

/* Puts it aside with the reason. */
int queue_refuse(struct offline *self, const char *name, const struct ethos_error *why,
                 struct ethos_error *error);

/* One process at a time does what waits; released by closing. Another one is for those who put. */
int queue_lock(struct offline *self, uint32_t wait_ms, int *out_lock, struct ethos_error *error);
int queue_lock_put(struct offline *self, uint32_t wait_ms, int *out_lock,
                   struct ethos_error *error);

/* ---- check.c -------------------------------------------------------------------------- */

/* Every place of a root, until each fails. A root that is not there has none. */
typedef int offline_place_fn(void *arg, const char *place, struct ethos_error *error);
int offline_places(const char *root, offline_place_fn *each, void *arg, struct ethos_error *error);

#endif
