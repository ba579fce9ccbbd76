/*
 * write_report.h: runs operations that change files, and reports what happened to each file.
 *
 *     {"applied", "written": [...], "unchanged": [...], "conflicts": [...]}
 *
 * and optionally "failed", "warnings", "queued": true with "waiting": [...] for changes that are queued until the backend
 * can be reached, and "status": "pending" with "id" and "pending": [{id, scope, key}] for changes that need approval.
 * Except on the command line, at most 1,000 files are listed; "more" counts the others.
 */
#ifndef ETHOS_OPS_WRITE_REPORT_H
#define ETHOS_OPS_WRITE_REPORT_H

#include "ops/op.h"

/* ---- arguments that name a file ------------------------------------------------------------- */

#define ARG_STORE                                                                                  \
    {                                                                                              \
        "store", OP_CHOICE, 0, "memory|user", "STORE", "which file: memory (default) or user"      \
    }
#define ARG_SCOPE                                                                                  \
    {                                                                                              \
        "scope", OP_TEXT, 0, NULL, "SCOPE", "the scope: personality, global, workspace or user:ID" \
    }
#define ARG_KEY                                                                                    \
    {                                                                                              \
        "key", OP_TEXT, 0, NULL, "FILE", "which file, by name: a note such as plan.md"             \
    }
#define ARG_NOTE_SCOPE                                                                             \
    {                                                                                              \
        "scope", OP_TEXT, 0, NULL, "SCOPE",                                                        \
            "whose notes: workspace (default), personality, global"                                \
    }
#define ARG_IF_MATCH                                                                               \
    {                                                                                              \
        "ifMatch", OP_TEXT, 0, NULL, "REV",                                                        \
            "only if it still has this revision (absent: no such file)"                            \
    }

#define ARG_END                                                                                    \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }

/* The file that the arguments name; a scope alone means its MEMORY.md or USER.md. */
struct ethos_target report_target(const struct op_call *call);

/*
 * The main file of each scope of the context, memory first, the global one only if prompts show it; then those of the
 * trees of these scopes.
 */
struct report_scopes {
    struct ethos_target targets[8];
    size_t count;
    char trees[4][ETHOS_MAX_SCOPE];
};

void report_scopes(struct ethos_turn *turn, struct report_scopes *out);

/* If the workspace cannot be determined, sets the reason as the error beside the result. */
void report_workspace(const struct ethos_context *context, struct op_result *result);

/* For operations that need all scopes: fails if the workspace cannot be determined. */
int report_require_workspace(const struct ethos_context *context, struct ethos_error *error);

/* ---- changing ------------------------------------------------------------------------------- */

/* Changes files. Members of `more` are added to the report; if nothing was written, they are the whole result. */
typedef int report_fn(struct ethos_turn *turn, const struct op_call *call,
                      const struct ethos_sync_how *how, json_t *more, struct ethos_error *error);

/* Runs it in a turn of the call, and returns the report, with the error beside it if something was written. */
int report_run(report_fn *run, struct op_call *call, struct op_result *result,
               struct ethos_error *error);

#endif
