/*
 * personalities.h: what the files of personalities.* share.
 */
#ifndef ETHOS_OPS_ADMIN_PERSONALITIES_H
#define ETHOS_OPS_ADMIN_PERSONALITIES_H

#include "ops/op.h"

#define PERSONALITIES_FOLDER "personalities"
#define PERSONALITIES_SOUL "SOUL.md"
#define PERSONALITIES_TOOLSET "toolset.yaml" /* of other programs: core/formats/toolset_yaml.h */
#define PERSONALITIES_MCP "mcp.yaml"         /* the same */
#define PERSONALITIES_PATH_SIZE (ETHOS_MAX_ID + 64)

/* A personality as JSON (personality_json.h), with active, memoryScope, userScope and memoryProvider. */
int personalities_row(struct op_call *call, const char *id, const char *active, json_t **out,
                      struct ethos_error *error);

/* ETHOS_NOTFOUND: "no such personality: ID". */
int personalities_missing(const char *id, struct ethos_error *error);

/* Checks the id. ETHOS_NOTFOUND when it should exist, ETHOS_EXISTS when it should not. */
int personalities_require(struct op_call *call, const char *id, bool exists,
                          struct ethos_error *error);

/* Appends its SOUL.md; nothing when there is none. */
int personalities_soul(struct op_call *call, const char *id, struct str *out,
                       struct ethos_error *error);

/* The same of another file beside it; *out_there may be NULL. */
int personalities_file(struct op_call *call, const char *id, const char *name, struct str *out,
                       bool *out_there, struct ethos_error *error);

/* personalities_edit.c */
op_fn personalities_run_create, personalities_run_update, personalities_run_duplicate,
    personalities_run_delete;

/*
 * Whether an id is that of no personality, but at most two edits from one that there is: *out_meant, "" for none.
 * An id of which not one character would stay is not near. What cannot be looked at is no reason to refuse.
 */
void personalities_find_similar(struct op_call *call, const char *id,
                                char out_meant[ETHOS_MAX_ID + 1]);

/* The ids of every directory of personalities/, in order; owned. */
int personalities_ids(struct op_call *call, json_t **out_ids, struct ethos_error *error);

#endif
