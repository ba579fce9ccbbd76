/*
 * internal.h: what the files of ops/tools share.
 */
#ifndef ETHOS_OPS_TOOLS_INTERNAL_H
#define ETHOS_OPS_TOOLS_INTERNAL_H

#include "ops/tools/tools.h"

const struct op_arg *tool_find_op_arg(const struct op *op, const char *name);

/* The row of an argument in the first operation that has it; NULL if the caller may run no such operation. */
const struct op_arg *tool_find_arg_row(const struct tool_access *access, const struct tool *tool,
                                       const struct tool_arg *arg);

const struct tool_arg *tool_find_arg(const struct tool *tool, const char *name);

#endif
