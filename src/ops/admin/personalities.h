/*
 * personalities.h: what the operations personalities.* share.
 */
#ifndef ETHOS_OPS_ADMIN_PERSONALITIES_H
#define ETHOS_OPS_ADMIN_PERSONALITIES_H

#include "ops/op.h"

#define PERSONALITIES_FOLDER "personalities"
#define PERSONALITIES_SOUL "SOUL.md"
#define PERSONALITIES_TOOLSET "toolset.yaml" /* of other programs: core/formats/toolset_yaml.h */
#define PERSONALITIES_MCP "mcp.yaml"         /* likewise */
#define PERSONALITIES_PATH_SIZE (ETHOS_MAX_ID + 64)

/* A personality as JSON (personality_json.h), with active, memoryScope, userScope and memoryProvider. */
int personalities_row(struct op_call *call, const char *id, const char *active, json_t **out,
                      struct ethos_error *error);

/* ETHOS_NOTFOUND: "no such personality: ID". */
int personalities_missing(const char *id, struct ethos_error *error);

/* Checks the id, and that it exists or not: ETHOS_NOTFOUND, ETHOS_EXISTS. */
int personalities_require(struct op_call *call, const char *id, bool exists,
                          struct ethos_error *error);

/* Appends the SOUL.md of a personality, or nothing if it has none. */
int personalities_soul(struct op_call *call, const char *id, struct str *out,
                       struct ethos_error *error);

/* The same for another file of its directory; *out_there (may be NULL): whether the file exists. */
int personalities_file(struct op_call *call, const char *id, const char *name, struct str *out,
                       bool *out_there, struct ethos_error *error);

/* personalities_edit.c */
op_fn personalities_run_create, personalities_run_update, personalities_run_duplicate,
    personalities_run_delete;

/*
 * If no personality has this id, finds the most similar existing one, at most two edits away; *out_meant is "" if there
 * is none. An id without a common character is not similar. Errors count as "none".
 */
void personalities_find_similar(struct op_call *call, const char *id,
                                char out_meant[ETHOS_MAX_ID + 1]);

/* The names of all directories of personalities/, sorted; owned. */
int personalities_ids(struct op_call *call, json_t **out_ids, struct ethos_error *error);

#endif
