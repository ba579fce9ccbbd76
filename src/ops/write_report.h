/*
 * write_report.h: running what changes files, and telling what became of each.
 *
 *     {"applied", "written": [...], "unchanged": [...], "conflicts": [...]}
 *
 * and where there is something to say "failed", "warnings", "queued": true with "waiting": [...] for what
 * is done when the backend can be reached again, and "status": "pending" with "id" and "pending": [{id, scope, key}]
 * for what waits for a person. Other surfaces than the command line are told of 1,000 files;
 * "more" counts the others.
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

/* The file that the arguments name; a scope alone means the store's file there. */
struct ethos_target report_target(const struct op_call *call);

/*
 * The main file of each scope of the context, memory first, that of everywhere where the prompt shows it; and
 * then of each scope's tree.
 */
struct report_scopes {
    struct ethos_target targets[8];
    size_t count;
    char trees[4][ETHOS_MAX_SCOPE];
};

void report_scopes(struct ethos_turn *turn, struct report_scopes *out);

/* Which workspace this is may not be known: the others are shown, and the reason beside them. */
void report_workspace(const struct ethos_context *context, struct op_result *result);

/* For what must look everywhere: the reason is the failure. */
int report_require_workspace(const struct ethos_context *context, struct ethos_error *error);

/* ---- changing ------------------------------------------------------------------------------- */

/* more: an object whose members join the report, or are all of the result beside the error of what did nothing. */
typedef int report_fn(struct ethos_turn *turn, const struct op_call *call,
                      const struct ethos_sync_how *how, json_t *more, struct ethos_error *error);

/* Runs it in a turn of the call. When something happened, the result is the report, errors beside it. */
int report_run(report_fn *run, struct op_call *call, struct op_result *result,
               struct ethos_error *error);

#endif
