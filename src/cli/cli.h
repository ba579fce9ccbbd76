/*
 * cli.h: the command line, a thin surface over the operation table.
 *
 *   args.c          argv to an operation and its arguments
 *   run.c           reads input, runs, shows, maps codes to exit codes
 *   view*.c         results a person reads, where JSON would not do
 *   confirm.c       what is asked or checked before a command runs
 *   edit.c          memory edit
 *   review.c        pending: changes that wait, one after the other
 *   help.c          help, man page
 *   types.c         types of the JavaScript client
 *   complete.c      completion scripts
 *   exec_program.c  the programs beside this one
 *   term.c          terminals: colour, pager, and no control sequence from memory ever
 */
#ifndef ETHOS_CLI_CLI_H
#define ETHOS_CLI_CLI_H

#include "cli/term.h"
#include "ops/op.h"
#include "ops/surface.h"

enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NOTFOUND = 3,
    CLI_CONFLICT = 4,
    CLI_REFUSED = 5,
    CLI_BUSY = 6,
    CLI_STORAGE = 7,
};

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };
enum cli_help { CLI_HELP_NONE, CLI_HELP_SHORT, CLI_HELP_FULL };

/* What the global options said. */
struct cli {
    const char *home, *personality, *user, *workspace;
    bool ephemeral, json, quiet, no_input, yes, fast, dry_run, no_pager, version, man, types;
    enum cli_color color;
    enum cli_help help;
    const struct op *op;  /* NULL: only a group ("memory") or nothing was named */
    const char *group;    /* the first words of the command, or NULL */
    char group_words[64]; /* of them, where they are two */
    json_t *args;         /* arguments of the operation, strings still unread from stdin or file */
    struct term term;
    const struct surface *surfaces;
    const char *instead; /* of every complaint: struct surface */
    char **argv;
    bool executed; /* by another program of ours */
    int state;     /* that it handed over, a descriptor; or -1 */
    bool paged;    /* a part of the list was shown before */
};

/* A row of the global options, for parsing, help, completion and the man page. */
struct cli_option {
    const char *name;
    char letter;
    const char *placeholder; /* NULL: takes no value */
    const char *choices;
    const char *help;
    size_t offset; /* of the bool or const char * in struct cli; SIZE_MAX: special */
};

extern const struct cli_option cli_options[]; /* ends with name NULL */

/* args.c: fills self from argv. CLI_USAGE after printing one line. */
int cli_parse(struct cli *self, int argc, char **argv);
const char *cli_command_word(int argc, char **argv);      /* the first that is no option, or NULL */
void cli_option_name(const char *argument, char out[64]); /* maxChars -> max-chars */
struct ethos_view cli_first_word(const struct op *op);    /* of a row with a command */
bool cli_is_repeat(const struct op *op);                  /* an earlier row has the same one */

/* run.c; surfaces: the rows that this program hands to others, ending with name NULL */
int cli_main(int argc, char **argv, const struct surface *surfaces);
int cli_exit_code(int code);
int cli_fail(const struct cli *self, const struct ethos_error *error);
int cli_usage(const struct cli *self, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int cli_call(struct cli *self, const struct op *op, json_t *args, struct op_result *result,
             struct ethos_error *error);

int cli_show(struct cli *self, const struct op *op, const struct op_result *result);

/* exec_program.c: becomes the program libexec/<name>; returns only when that fails, after saying so. */
int program_exec(const struct cli *self, const char *name);

/* The same without saying so; state: a descriptor that goes along, or -1. */
int program_try(const struct cli *self, const char *name, int state, struct ethos_error *error);

/* Runs libexec/<name> for so long at most; argv ends with NULL. Whether it went well. */
bool program_run(const char *name, const char *const *argv, unsigned timeout_ms);
void program_begin(struct cli *self); /* before any other of these */

/* confirm.c: CLI_DONE when the command may run; else it said why not. */
int ask_before(struct cli *self);

/* view.c: prints a result for a person. */
void view_page(struct cli *self, const json_t *page); /* a part of a long list */
void view_result(struct cli *self, const struct op *op, const struct op_result *result);

/* edit.c, review.c, complete.c, help.c: commands of this surface alone, by name of their row. */
int edit_run(struct cli *self);
int review_run(struct cli *self);

/* edit.c: a text in the editor; name is what its copy is called. */
int edit_in_editor(const char *name, struct ethos_view text, struct str *out,
                   struct ethos_error *error);

/* review.c: whether pending edit is to open the editor; and that; and what is asked before an approval. */
bool review_edits(const struct cli *self);
int review_edit_run(struct cli *self);
int review_ask(struct cli *self);
int complete_run(struct cli *self);
void help_program(FILE *out, bool full);
void help_group(FILE *out, const char *group);
void help_operation(FILE *out, const struct op *op, bool full);
void help_man(FILE *out);
void help_types(FILE *out); /* types.c: sdk/js/index.d.ts */

#endif
