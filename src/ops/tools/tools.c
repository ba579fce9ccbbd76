/*
 * tools.c: which tools a caller is offered, and checks of the table.
 */
#include <string.h>

#include "base/err.h"
#include "ops/tools/internal.h"

const struct op *tool_find_op(const struct tool_access *access, const char *name)
{
    const struct op *op = op_find(name);
    return op && op_allowed(op, access->rights) ? op : NULL;
}

bool tool_is_subject_known(const struct tool_access *access, enum tool_about about)
{
    return about == TOOL_ABOUT_TEAM      ? access->team != NULL
           : about == TOOL_ABOUT_PROJECT ? !access->no_project
                                         : true;
}

const struct op *tool_way_op(const struct tool_access *access, const struct tool_way *way)
{
    return way->op ? tool_find_op(access, way->op) : NULL;
}

/* The first operation of a tool that the caller may run. */
static const struct op *first_op(const struct tool_access *access, const struct tool *tool)
{
    const struct op *op = NULL;
    for (size_t i = 0; !op && i < TOOL_MAX_WAYS; i++)
        op = tool_way_op(access, &tool->ways[i]);
    return op;
}

bool tool_is_offered(const struct tool_access *access, const struct tool *tool)
{
    return first_op(access, tool) && tool_is_subject_known(access, tool->about);
}

const struct tool *tool_find(const struct tool_access *access, const char *name)
{
    for (const struct tool *tool = tools_table; tool->name; tool++)
        if (strcmp(tool->name, name) == 0 && tool_is_offered(access, tool))
            return tool;
    return NULL;
}

const struct op_arg *tool_find_op_arg(const struct op *op, const char *name)
{
    for (const struct op_arg *arg = op ? op->args : NULL; arg && arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return arg;
    return NULL;
}

const struct op_arg *tool_find_arg_row(const struct tool_access *access, const struct tool *tool,
                                       const struct tool_arg *arg)
{
    for (size_t i = 0; i < TOOL_MAX_WAYS; i++) {
        const struct op_arg *row = tool_find_op_arg(tool_way_op(access, &tool->ways[i]), arg->arg);
        if (row)
            return row;
    }
    return NULL;
}

const struct tool_arg *tool_find_arg(const struct tool *tool, const char *name)
{
    for (const struct tool_arg *arg = tool->args; arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return arg;
    return NULL;
}

bool tool_is_read_only(const struct tool *tool)
{
    for (size_t i = 0; i < TOOL_MAX_WAYS && tool->ways[i].op; i++) {
        const struct op *op = op_find(tool->ways[i].op);
        if (!op || (op->effect & OP_WRITES))
            return false;
    }
    return true;
}

/* ---- checks of the table --------------------------------------------------------------------- */

static bool is_known_arg(const struct tool *tool, const char *name)
{
    for (size_t i = 0; i < TOOL_MAX_WAYS; i++)
        if (tool->ways[i].op && tool_find_op_arg(op_find(tool->ways[i].op), name))
            return true;
    return false;
}

static int check_tool(const struct tool *tool, struct ethos_error *error)
{
    for (size_t i = 0; i < TOOL_MAX_WAYS && tool->ways[i].op; i++) {
        const struct op *op = op_find(tool->ways[i].op);
        if (!op || (op->effect & OP_LOCAL))
            return err_set(error, ETHOS_INTERNAL, "tool %s: there is no operation %s for tools",
                           tool->name, tool->ways[i].op);
    }
    for (const struct tool_arg *arg = tool->args; arg->name; arg++)
        if (!is_known_arg(tool, arg->arg))
            return err_set(error, ETHOS_INTERNAL, "tool %s: none of its operations takes %s",
                           tool->name, arg->arg);
    return ETHOS_OK;
}

int tools_check(struct ethos_error *error)
{
    for (const struct tool *tool = tools_table; tool->name; tool++)
        TRY(check_tool(tool, error));
    return ETHOS_OK;
}
