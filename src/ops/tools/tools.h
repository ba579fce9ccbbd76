/*
 * tools.h: operations as tools of a language model: MCP offers them, and so does the agent.
 *
 * A tool is a row of table.c: which operation it runs, what its arguments are called, what of the result it shows.
 * Types, choices and what is required come from the operation's row. schema.c describes a tool as JSON schema;
 * call.c runs one. A tool whose operation the caller may not run, or this program does not have, is not offered.
 */
#ifndef ETHOS_OPS_TOOLS_TOOLS_H
#define ETHOS_OPS_TOOLS_TOOLS_H

#include "base/str.h"
#include "ops/op.h"

/* ---- rows ------------------------------------------------------------------------------------- */

struct tool_arg {
    const char *name;
    const char *arg;  /* of the operation */
    const char *help; /* NULL: as the operation says; "": the name says it */
};

/* A member of what a tool gives. Members that are not named here are not shown. */
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
    bool needs_match; /* overwrites: the revision that was read must be named */
};

/* What a tool is about: it is there only when that was named at the start. */
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
    const char *not_found_hint; /* where to search when what was asked for is not there, or NULL */
};

extern const struct tool tools_table[]; /* ends with name NULL */

/* Whether none of its operations changes anything. */
bool tool_is_read_only(const struct tool *tool);

/* Whether every row names operations and arguments that there are. ETHOS_INTERNAL: which does not. */
int tools_check(struct ethos_error *error);

/* ---- who calls -------------------------------------------------------------------------------- */

/*
 * Runs an operation and takes args. With members, the result may have members in place of JSON. The result is
 * initialised here and released by the caller in any case.
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

/* The operation of a way, if the caller may run it; else NULL. */
const struct op *tool_way_op(const struct tool_access *access, const struct tool_way *way);

/* ---- how a tool is described: schema.c --------------------------------------------------------- */

json_t *tool_input_schema(const struct tool_access *access, const struct tool *tool);
json_t *tool_output_schema(const struct tool *tool);

/* ---- calls: call.c ----------------------------------------------------------------------------- */

/* One call. Zero it, set access and tool; op_result_release the result. */
struct tool_call {
    const struct tool_access *access;
    const struct tool *tool;
    const struct tool_way *way;
    const struct op *op;
    struct op_result result;
    struct ethos_error error;
    bool
        needs_match; /* it was refused for want of a revision: the result is what there is to be read */
};

/* Chooses the operation and gives its arguments, owned, in its own words. given is an object. */
int tool_prepare(struct tool_call *call, const json_t *given, json_t **out_args);

/* Runs what was prepared; takes args. A failure of a part (op_result.code) is the code as well. */
int tool_run(struct tool_call *call, json_t *args);

/* Whether a result that failed in a part is shown nonetheless: another part could be read. */
bool tool_is_partial(const struct tool_call *call, int code);

/* Appends the result as JSON: the members that the table names. */
void tool_print_result(const struct tool_call *call, struct str *out);

/* Appends the error as one line for a model; below it, what it must read before it overwrites. */
void tool_print_error(const struct tool_call *call, int code, struct str *out);

#endif
