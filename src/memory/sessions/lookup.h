/*
 * lookup.h: finds the conversations of a home for operations. See also ethos.h.
 */
#ifndef ETHOS_MEMORY_SESSIONS_LOOKUP_H
#define ETHOS_MEMORY_SESSIONS_LOOKUP_H

#include <limits.h>
#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/arena.h"

struct str;

/* The person who asks, and whose sessions that person may see. */
struct sessions_person {
    char id[ETHOS_MAX_ID + 1];
    struct ethos_people people;
    struct arena arena;
};

/* The person of a request, by the same rules as a turn. Release in any case. */
int sessions_person(struct ethos *self, const struct ethos_request *request,
                    struct sessions_person *out, struct ethos_error *error);
void sessions_person_release(struct sessions_person *self);

/* Whether a session is of these people (NULL: of anybody). */
bool sessions_is_of(const struct ethos_people *people, const struct ethos_session *session);

/* The user under which a turn records its sessions: *out is NULL for the owner. */
int sessions_user(const struct ethos_turn *turn, const char **out, struct ethos_error *error);

/* Like ethos_session_find, among the sessions of these people (NULL: of everybody). */
int sessions_find(struct ethos *self, const struct ethos_people *people, const char *name,
                  char out_id[ETHOS_UUID_SIZE], struct ethos_error *error);

/*
 * The session that a folder would continue: like ethos_session_current, but creates or changes
 * nothing. ETHOS_NOTFOUND if there is none yet.
 */
int sessions_current(struct ethos_turn *turn, const char *folder, char out_id[ETHOS_UUID_SIZE],
                     struct ethos_error *error);

/*
 * Appends a title for a session without one, from its user's first message, or else the first
 * command; nothing without either. guarded: only from what models may read.
 */
int sessions_title(struct ethos *self, const char *id, bool guarded, struct str *out,
                   struct ethos_error *error);

/*
 * Locks the comparing and appending of sessions to one process at a time; closing the descriptor
 * releases it. ETHOS_BUSY at the deadline.
 */
int sessions_lock(struct ethos *self, int *out_lock, struct ethos_error *error);

/* The real path of a folder; NULL is the current directory. */
int sessions_folder(const char *folder, char out_path[PATH_MAX], struct ethos_error *error);

/* Appends the folders of the turn's project, for queries, one of them first. */
int sessions_project(const struct ethos_turn *turn, const char *folder, struct str *out,
                     struct ethos_error *error);

#endif
