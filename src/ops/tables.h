/*
 * tables.h: one array of rows per namespace; each ends with name NULL.
 */
#ifndef ETHOS_OPS_TABLES_H
#define ETHOS_OPS_TABLES_H

#include "ops/op.h"

extern const struct op ops_memory[];
extern const struct op ops_search[];
extern const struct op ops_memory_tool[];
extern const struct op ops_notes[];
extern const struct op ops_history[];
extern const struct op ops_conflicts[];
extern const struct op ops_transfer[];
extern const struct op ops_sessions[];
extern const struct op ops_sessions_transfer[];
extern const struct op ops_workspaces[];
extern const struct op ops_users[];
extern const struct op ops_personalities[];
extern const struct op ops_config[];
extern const struct op ops_doctor[];
extern const struct op ops_install[];
extern const struct op ops_hooks[];
extern const struct op ops_merge[];
extern const struct op ops_local[];

#endif
