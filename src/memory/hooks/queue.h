/*
 * queue.h: <home>/spool/: hook events that are queued until they are recorded.
 *
 * Each is one file, 0600, whose name begins with its time: byte order of names is the order of
 * events. A queued event survives the death of its process at once, and a power cut once spool_sync
 * has returned. The folder is never removed: a hook may be about to write into it. Events that can
 * never be recorded are moved to <home>/hooks/refused/.
 */
#ifndef ETHOS_MEMORY_HOOKS_QUEUE_H
#define ETHOS_MEMORY_HOOKS_QUEUE_H

#include <stdbool.h>

#include <ethos/ethos.h>

struct arena;
struct dir_names;
struct str;

#define SPOOL_NAME_SIZE 48      /* bytes with terminator */
#define SPOOL_MAX_NOTES 1000000 /* processed in one run */
#define SPOOL_MAX_NOTE 67108864 /* bytes */

/*
 * Taken by the one process that records queued events; closing it releases it. ETHOS_NOTFOUND:
 * there is no home.
 */
int spool_lock(struct ethos *self, int *out_lock, struct ethos_error *error);

/* A unique name. */
int spool_name(struct ethos *self, char out_name[SPOOL_NAME_SIZE]);

/* Queues an event under a name of spool_name. */
int spool_write(struct ethos *self, const char *name, struct ethos_view text,
                struct ethos_error *error);

/* Makes a queued event durable. */
int spool_sync(struct ethos *self, const char *name, struct ethos_error *error);

/* Removes an event; one that is already gone is not an error. */
int spool_drop(struct ethos *self, const char *name, struct ethos_error *error);

/*
 * Moves an event to the refused ones, replacing an earlier one about the same thing (NULL: about
 * itself).
 */
int spool_refuse(struct ethos *self, const char *name, const char *about,
                 struct ethos_error *error);

/* The names in order, in the arena; none if the folder does not exist. */
int spool_list(struct ethos *self, struct arena *arena, struct dir_names *out,
               struct ethos_error *error);

/* Appends the text of an event. ETHOS_NOTFOUND: another process has recorded it. */
int spool_read(struct ethos *self, const char *name, struct str *out, struct ethos_error *error);

/* How many events are queued, and how many were refused. */
void spool_count(struct ethos *self, size_t *out_waiting, size_t *out_refused);

/*
 * Whether a home (NULL: by the environment) has queued events. One system call if the folder does
 * not exist.
 */
bool spool_waiting(const char *home);

#endif
