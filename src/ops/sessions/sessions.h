/*
 * sessions.h: sessions and messages as JSON, in the form of the wire. Private to src/ops.
 */
#ifndef ETHOS_OPS_SESSIONS_SESSIONS_H
#define ETHOS_OPS_SESSIONS_SESSIONS_H

#include <limits.h>

#include <ethos/session.h>

#include "base/str.h"
#include "memory/sessions/lookup.h"
#include "ops/op.h"

#define SESSIONS_ROLES "user|assistant|tool_result|system|user_steer"

/*
 * {"id", "key", ..., "usage": {...}, "createdAt", "updatedAt", "version": 1}, and of our own
 * "turnCount"; NULL without memory.
 */
json_t *sessions_row(const struct ethos_session *session);

/* {"id", "sessionId", "role", "content", "toolCallId", "toolName", "toolCalls", "timestamp"} */
json_t *sessions_message(const struct ethos_message *message);

/*
 * What is shown as the title of a row, in its member "displayTitle": its own, else one made of what the
 * user said first (of a guarded call: what may be read of it), else null.
 */
int sessions_add_title(const struct op_call *call, json_t *row, struct ethos_error *error);

/* The session with this id as a row with title; NULL after a failure. */
int sessions_read_row(const struct op_call *call, const char *id, json_t **out_row,
                      struct ethos_error *error);

/* Whether a call is about a folder at all. */
bool sessions_has_folder(const struct op_call *call);

/*
 * The folder a call is about: the one it names as workspace, or that has the memory it names; else the
 * current directory.
 */
int sessions_folder_of_call(const struct op_call *call, char out_path[PATH_MAX],
                            struct ethos_error *error);

/* Who asks, and what of the sessions that person, or a model for them, may see. */
struct sessions_viewer {
    struct sessions_person person;
    const struct ethos_people *people; /* NULL: everybody's */
    const char *folder;                /* only of these, as queries name them, or NULL */
    struct str folders;
};

/* Only of the project that the call is about: its folder, those below, its work trees. */
int sessions_limit(const struct op_call *call, struct sessions_viewer *self,
                   struct ethos_error *error);

/* Released in any case. */
int sessions_view(const struct op_call *call, struct sessions_viewer *out,
                  struct ethos_error *error);
void sessions_view_release(struct sessions_viewer *self);

/* The session that a caller names, among those that they may see. */
int sessions_find_named(const struct op_call *call, const char *name, char out_id[ETHOS_UUID_SIZE],
                        struct ethos_error *error);

/* What a walk returned: a callback that ran out of memory said no more than that. */
int sessions_walk_code(int code, struct ethos_error *error);

/* list.c */
int sessions_run_list(struct op_call *call, struct op_result *result, struct ethos_error *error);
int sessions_run_search(struct op_call *call, struct op_result *result, struct ethos_error *error);

/* get.c */
int sessions_run_get(struct op_call *call, struct op_result *result, struct ethos_error *error);

/* append.c */
int sessions_run_new(struct op_call *call, struct op_result *result, struct ethos_error *error);
int sessions_run_current(struct op_call *call, struct op_result *result, struct ethos_error *error);
int sessions_run_append(struct op_call *call, struct op_result *result, struct ethos_error *error);

#endif
