/*
 * tables.h: one array of rows per namespace; each ends with name NULL.
 */
#ifndef ETHOS_OPS_TABLES_H
#define ETHOS_OPS_TABLES_H

#include "ops/op.h"

extern const struct op ops_memory[];
extern const struct op ops_chunks[];
extern const struct op ops_search[];
extern const struct op ops_recall[];
extern const struct op ops_recall_batch[];
extern const struct op ops_recall_bench[];
extern const struct op ops_memory_tool[];
extern const struct op ops_notes[];
extern const struct op ops_notes_graph[];
extern const struct op ops_history[];
extern const struct op ops_forget[];
extern const struct op ops_timeline[];
extern const struct op ops_insights[];
extern const struct op ops_conflicts[];
extern const struct op ops_pending[];
extern const struct op ops_hidden[];
extern const struct op ops_merging[];
extern const struct op ops_transfer[];
extern const struct op ops_migrate[];
extern const struct op ops_mirror[];
extern const struct op ops_backup[];
extern const struct op ops_sessions[];
extern const struct op ops_sessions_transfer[];
extern const struct op ops_chat[];
extern const struct op ops_workspaces[];
extern const struct op ops_users[];
extern const struct op ops_personalities[];
extern const struct op ops_config[];
extern const struct op ops_status[];
extern const struct op ops_doctor[];
extern const struct op ops_install[];
extern const struct op ops_hooks[];
extern const struct op ops_merge[];
extern const struct op ops_keys[];
extern const struct op ops_meta[];
extern const struct op ops_agent[];
extern const struct op ops_channel[];
extern const struct op ops_local[];
extern const struct op ops_store[];

/* Of the server alone. */
extern const struct op ops_markdown[];

/* Those that every program has, in the order of help. */
#define OP_TABLES                                                                                  \
    ops_agent, ops_channel, ops_memory, ops_chunks, ops_search, ops_recall, ops_recall_batch,      \
        ops_recall_bench, ops_notes, ops_notes_graph, ops_history, ops_forget, ops_timeline,       \
        ops_insights, ops_pending, ops_hidden, ops_conflicts, ops_merging, ops_transfer,           \
        ops_migrate, ops_mirror, ops_sessions, ops_sessions_transfer, ops_chat, ops_workspaces,    \
        ops_users, ops_personalities, ops_config, ops_status, ops_doctor, ops_backup, ops_install, \
        ops_hooks, ops_memory_tool, ops_merge, ops_keys, ops_meta, ops_local, ops_store

#endif
