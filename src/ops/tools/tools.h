/*
 * tools.h: operations as tools of a language model, for MCP and for the agent.
 *
 * A tool is a row of table.c: the operation that it runs, the names of its arguments, and the members of the result that
 * it shows. Types, choices and required arguments come from the operation's row. schema.c describes a tool as JSON schema;
 * call.c runs one. A tool is offered only if the caller may run its operation and this program has it.
 */
#ifndef ETHOS_OPS_TOOLS_TOOLS_H
#define ETHOS_OPS_TOOLS_TOOLS_H

#include "base/str.h"
#include "ops/op.h"

/* ---- rows ------------------------------------------------------------------------------------- */

struct tool_arg {
    const char *name;
    const char *arg;  /* of the operation */
    const char *help; /* NULL: that of the operation; "": none is needed */
};

/* A member of the result of a tool. Other members are not shown. */
enum tool_kind { TOOL_TEXT, TOOL_TEXT_OR_NULL, TOOL_INTEGER, TOOL_FLAG, TOOL_ROWS, TOOL_OBJECT };
struct tool_field {
    const char *name;
    enum tool_kind kind;
    const char *help;
    const struct tool_field *rows; /* of TOOL_ROWS and TOOL_OBJECT: the members */
};

/* An operation that a tool runs; a tool of several chooses by its argument "action". */
struct tool_way {
    const char *action; /* or NULL */
    const char *op;
    bool needs_match; /* it overwrites, so the call must name the revision that was read */
};

/* What a tool is about. It is offered only if that was named at the start. */
enum tool_about { TOOL_ABOUT_ANY, TOOL_ABOUT_PROJECT, TOOL_ABOUT_TEAM };

#define TOOL_MAX_WAYS 3

struct tool {
    const char *name;
    const char *title;
    const char *description;
    struct tool_way ways[TOOL_MAX_WAYS];
    const struct tool_arg *args;     /* ends with name NULL */
    const struct tool_field *fields; /* ends with name NULL */
    enum tool_about about;
    const char *not_found_hint; /* the hint if the target does not exist, or NULL */
};

extern const struct tool tools_table[]; /* ends with name NULL */

/* Whether none of its operations writes. */
bool tool_is_read_only(const struct tool *tool);

/* Checks that every row names existing operations and arguments: ETHOS_INTERNAL names one that does not. */
int tools_check(struct ethos_error *error);

/* ---- who calls -------------------------------------------------------------------------------- */

/*
 * Runs an operation, taking args. With members, the result may have members instead of JSON. The result is initialised
 * here and released by the caller in any case.
 */
typedef int tool_run_fn(void *arg, const struct op *op, json_t *args, bool members,
                        struct op_result *result, struct ethos_error *error);

struct tool_access {
    unsigned rights;
    const char *team; /* scope id "team:NAME", or NULL */
    bool no_project;  /* there is no workspace */
    tool_run_fn *run;
    void *run_arg;
};

/* The row of an operation that the caller may run; else NULL. */
const struct op *tool_find_op(const struct tool_access *access, const char *name);

bool tool_is_subject_known(const struct tool_access *access, enum tool_about about);
bool tool_is_offered(const struct tool_access *access, const struct tool *tool);
const struct tool *tool_find(const struct tool_access *access, const char *name); /* or NULL */

/* The operation of a way if the caller may run it; else NULL. */
const struct op *tool_way_op(const struct tool_access *access, const struct tool_way *way);

/* ---- how a tool is described: schema.c --------------------------------------------------------- */

json_t *tool_input_schema(const struct tool_access *access, const struct tool *tool);
json_t *tool_output_schema(const struct tool *tool);

/* ---- calls: call.c ----------------------------------------------------------------------------- */

/* One call. Zero it, set access and tool, and release the result with op_result_release. */
struct tool_call {
    const struct tool_access *access;
    const struct tool *tool;
    const struct tool_way *way;
    const struct op *op;
    struct op_result result;
    struct ethos_error error;
    bool
        needs_match; /* it was refused because no revision was given; the result is the current text */
};

/* Chooses the operation and maps the object `given` to its arguments, owned. */
int tool_prepare(struct tool_call *call, const json_t *given, json_t **out_args);

/* Runs the prepared call, taking args. A partial failure (op_result.code) is returned, too. */
int tool_run(struct tool_call *call, json_t *args);

/* Whether a result is shown although a part of it failed. */
bool tool_is_partial(const struct tool_call *call, int code);

/* Appends the result as JSON: the members that the table names. */
void tool_print_result(const struct tool_call *call, struct str *out);

/* Appends the error as one line for a model and, if it must read the text first, that text. */
void tool_print_error(const struct tool_call *call, int code, struct str *out);

#endif
