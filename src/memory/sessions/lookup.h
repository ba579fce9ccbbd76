/*
 * lookup.h: the conversations of a home, as operations see them. The rest is in ethos.h.
 */
#ifndef ETHOS_MEMORY_SESSIONS_LOOKUP_H
#define ETHOS_MEMORY_SESSIONS_LOOKUP_H

#include <limits.h>
#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/arena.h"

struct str;

/* Who asks, and whose sessions that person sees. */
struct sessions_person {
    char id[ETHOS_MAX_ID + 1];
    struct ethos_people people;
    struct arena arena;
};

/* The person of a request, by the rules of a turn. Released in any case. */
int sessions_person(struct ethos *self, const struct ethos_request *request,
                    struct sessions_person *out, struct ethos_error *error);
void sessions_person_release(struct sessions_person *self);

/* Whether a session is of these people (NULL: of anybody). */
bool sessions_is_of(const struct ethos_people *people, const struct ethos_session *session);

/* As which user a turn records its sessions: *out is NULL for the owner. */
int sessions_user(const struct ethos_turn *turn, const char **out, struct ethos_error *error);

/* As ethos_session_find, among the sessions of these people (NULL: of everybody). */
int sessions_find(struct ethos *self, const struct ethos_people *people, const char *name,
                  char out_id[ETHOS_UUID_SIZE], struct ethos_error *error);

/*
 * Which session a folder goes on with: as ethos_session_current, but nothing is made or changed.
 * ETHOS_NOTFOUND when there is none yet.
 */
int sessions_current(struct ethos_turn *turn, const char *folder, char out_id[ETHOS_UUID_SIZE],
                     struct ethos_error *error);

/*
 * Appends a title for a session that has none, of the first thing that its user said, or else of the first command
 * that was typed; nothing without one. guarded:
 * of what a model may read of that.
 */
int sessions_title(struct ethos *self, const char *id, bool guarded, struct str *out,
                   struct ethos_error *error);

/*
 * For those who look at a session and then append to it what it lacks: one at a time. Released by
 * closing the descriptor. ETHOS_BUSY at the deadline.
 */
int sessions_lock(struct ethos *self, int *out_lock, struct ethos_error *error);

/* The real path of a folder; NULL is the current directory. */
int sessions_folder(const char *folder, char out_path[PATH_MAX], struct ethos_error *error);

/* Appends the folders of the project that the turn is about, for queries, a folder of it first. */
int sessions_project(const struct ethos_turn *turn, const char *folder, struct str *out,
                     struct ethos_error *error);

#endif
