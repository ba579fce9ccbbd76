/*
 * table.c: the list of operation tables of this program.
 */
#include "ops/tables.h"

const struct op *const op_tables[] = {
    ops_memory,
    ops_search,
    ops_notes,
    ops_history,
    ops_conflicts,
    ops_transfer,
    ops_sessions,
    ops_sessions_transfer,
    ops_workspaces,
    ops_users,
    ops_personalities,
    ops_config,
    ops_doctor,
    ops_install,
    ops_hooks,
    ops_memory_tool,
    ops_merge,
    ops_local,
    NULL,
};
