/*
 * internal.h: the parts that the files of the offline provider share. Private to memory/offline/.
 *
 *   offline.c        the provider: reaches the backend, or uses cached texts
 *   open.c           opens and closes it, and identifies the place
 *   sync.c           sync, and sending queued calls
 *   text_cache.c     cached texts
 *   queue.c          queued calls
 *   check.c          report for doctor
 *   forget.c         purges queue and cache
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
#define OFFLINE_NAME_SIZE 32        /* of a queued call: its number and its checksum */
#define OFFLINE_CLEANSED "cleansed" /* member of a queued call */
#define OFFLINE_FILE_BYTES ((size_t)ETHOS_MAX_INPUT_BYTES * 8) /* of a refused call */

struct offline {
    struct ethos_provider base;
    struct ethos_provider_ops ops; /* without the slots that the backend lacks */
    struct ethos_provider *inner;  /* NULL until it was reached */
    bool cached, queues;
    char place[OFFLINE_PLACE_SIZE];
    char *shown; /* the name of the place, for people */
    bool told;   /* the warning about old text was logged */

    int64_t asked; /* os_monotonic_ms when the current call began */
    struct backend_reach reach;
    struct ethos_deadline own; /* used if the host has none */

    /* arguments for opening the backend */
    const struct backend *backend;
    struct registry_group shared;
    struct ethos_setup setup;
    struct secrets_given given;
    struct arena arena; /* holds their strings */
};

/* ---- offline.c -------------------------------------------------------------------------------- */

/* Intent of a call: a reader does not wait for another process that sends the queue. */
enum offline_wish { OFFLINE_READ, OFFLINE_WRITE };

/* Makes self->inner usable. ETHOS_BUSY: unreachable, or the queue is not sent yet. */
int offline_reach(struct offline *self, enum offline_wish wish, struct ethos_error *error);

/* Records whether the code means unreachable; returns the code. */
int offline_record_result(struct offline *self, int code, const struct ethos_error *error);

/* Opens the backend. ETHOS_BUSY is recorded. */
int offline_open_inner(struct offline *self, struct ethos_error *error);

/* Leaves out the slots that the backend lacks. */
extern const struct ethos_provider_ops offline_ops;

/* ---- open.c --------------------------------------------------------------------------- */

void offline_close(struct ethos_provider *provider);

/* The path of a folder of the place ("" for the place itself) below the root. */
void offline_path(const struct offline *self, const char *folder, char out[OFFLINE_PATH_SIZE]);

/* Opens it, and creates it if missing and create is set; ETHOS_NOTFOUND. */
int offline_folder(const struct offline *self, const char *folder, bool create, int *out,
                   struct ethos_error *error);

/* ---- sync.c --------------------------------------------------------------------------- */

int offline_sync(struct ethos_provider *provider, const struct ethos_context *context,
                 const struct ethos_update *updates, size_t count, const struct ethos_sync_how *how,
                 struct ethos_error *error);

/*
 * Sends the queue, until that time. ETHOS_OK: the queue is empty. ETHOS_BUSY with *out_later: calls
 * are left, although the backend is reachable.
 */
int offline_drain(struct offline *self, enum offline_wish wish, bool *out_later,
                  struct ethos_error *error);

/* ---- text_cache.c -------------------------------------------------------------------------- */

/*
 * Caches a text; data NULL: it does not exist. With `refresh` only if it is cached already.
 * Failures are ignored.
 */
void text_cache_store(struct offline *self, const char *scope, const char *key,
                      const struct ethos_text *text, bool refresh);

/*
 * ETHOS_OK and known_ms; ETHOS_NOTFOUND: known to be absent (known_ms, too); ETHOS_BUSY: not
 * cached.
 */
int known_read(struct offline *self, const char *scope, const char *key,
               struct ethos_text *out_text);

/* Removes every cached text of a scope. ETHOS_IO: one may remain. */
int known_forget(struct offline *self, const char *scope, struct ethos_error *error);

/* ---- queue.c -------------------------------------------------------------------------- */

/* Whether calls are queued, if in doubt true: one system call if none are. */
bool queue_waits(const struct offline *self);

/* Queues a call durably. ETHOS_LIMIT if there are too many. */
int queue_add(struct offline *self, const struct ethos_context *context,
              const struct ethos_origin *origin, const struct ethos_update *updates, size_t count,
              struct ethos_error *error);

struct queue_call {
    struct arena arena;
    struct ethos_context context;
    struct ethos_origin origin;
    struct ethos_update *updates;
    size_t count;
    bool cleansed; /* a purge has removed lines from it */
};

/* The names of the queued calls, in order, in the arena. */
struct dir_names;
int queue_list(struct offline *self, struct arena *arena, struct dir_names *out,
               struct ethos_error *error);

/* The number of queued calls, and since when; *out is untouched if there are none. */
int queue_count(struct offline *self, struct offline_waiting *out, struct ethos_error *error);

/* ETHOS_CORRUPT if the file has changed. Release after ETHOS_OK. */
int queue_read(struct offline *self, const char *name, struct queue_call *out,
               struct ethos_error *error);
void queue_release(struct queue_call *call);

/* Removes a call. */
int queue_drop(struct offline *self, const char *name, struct ethos_error *error);

/* Removes the folder if the queue is empty. */
void queue_leave(struct offline *self);

/* Moves a call to the refused ones, with the reason. */
int queue_refuse(struct offline *self, const char *name, const struct ethos_error *why,
                 struct ethos_error *error);

/*
 * Taken by the one process that sends the queue; closing it releases it. Queueing has another lock.
 */
int queue_lock(struct offline *self, uint32_t wait_ms, int *out_lock, struct ethos_error *error);
int queue_lock_put(struct offline *self, uint32_t wait_ms, int *out_lock,
                   struct ethos_error *error);

/* ---- check.c -------------------------------------------------------------------------- */

/* Calls each with every place of a root, until it fails. A missing root has none. */
typedef int offline_place_fn(void *arg, const char *place, struct ethos_error *error);
int offline_places(const char *root, offline_place_fn *each, void *arg, struct ethos_error *error);

#endif
