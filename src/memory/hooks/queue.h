/*
 * queue.h: <home>/spool/: what is to be recorded, noted before the work begins.
 *
 * One file each, 0600, whose name begins with its time: names in byte order are the order in which
 * things happened. A note survives the death of its process at once, and the loss of power once
 * spool_keep has returned. The folder is never removed: a hook may be about to write into it.
 * What could never be recorded is moved to <home>/hooks/refused/.
 */
#ifndef ETHOS_MEMORY_HOOKS_QUEUE_H
#define ETHOS_MEMORY_HOOKS_QUEUE_H

#include <stdbool.h>

#include <ethos/ethos.h>

struct arena;
struct dir_names;
struct str;

#define SPOOL_NAME_SIZE 48      /* bytes with terminator */
#define SPOOL_MAX_NOTES 1000000 /* looked at in one go */
#define SPOOL_MAX_NOTE 67108864 /* bytes */

/* One process at a time takes notes in; released by closing. ETHOS_NOTFOUND: there is no home. */
int spool_lock(struct ethos *self, int *out_lock, struct ethos_error *error);

/* A name that no other note has. */
int spool_name(struct ethos *self, char out_name[SPOOL_NAME_SIZE]);

/* Notes a text under a name of spool_name. */
int spool_write(struct ethos *self, const char *name, struct ethos_view text,
                struct ethos_error *error);

/* Makes sure that a note stays. */
int spool_set_aside(struct ethos *self, const char *name, struct ethos_error *error);

/* Takes a note away; one that is gone already is no failure. */
int spool_drop(struct ethos *self, const char *name, struct ethos_error *error);

/* Puts a note aside, in the place of an earlier one about the same thing (NULL: about its own). */
int spool_refuse(struct ethos *self, const char *name, const char *about,
                 struct ethos_error *error);

/* The names in order, in the arena; none when there is no folder. */
int spool_list(struct ethos *self, struct arena *arena, struct dir_names *out,
               struct ethos_error *error);

/* Appends the text of a note. ETHOS_NOTFOUND: somebody else has taken it. */
int spool_read(struct ethos *self, const char *name, struct str *out, struct ethos_error *error);

/* How many notes wait, and how many were put aside. */
void spool_count(struct ethos *self, size_t *out_waiting, size_t *out_refused);

/* Whether there are notes in a home (NULL: by the environment). Without a folder, one system call. */
bool spool_waiting(const char *home);

#endif
