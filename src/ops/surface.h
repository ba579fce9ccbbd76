/*
 * surface.h: a command that another surface carries out: the command line parses it, and hands over.
 *
 * Surfaces do not use each other. The program that links several gives the command line a table of
 * these (main.c), so that a row of the operation table without a `run` finds its code.
 */
#ifndef ETHOS_OPS_SURFACE_H
#define ETHOS_OPS_SURFACE_H

#include "ops/op.h"

/* What the command line said. All borrowed for the length of the call. */
struct surface_start {
    const json_t *args; /* of the row, as op_run would get them */
    const struct ethos_options *options;
    const struct ethos_request *request;
    bool dry_run; /* nothing is to be changed */
    bool json;    /* the answer is for a program */
    bool quiet, yes, no_input;
    int color; /* 0: where the output is a terminal, 1: always, 2: never */
    /*
     * Makes this process libexec/ethos-db, with the same command line and with a descriptor that it
     * finds as `state`. Returns only when that program is not to be had.
     */
    int (*hand_over)(void *arg, int state, struct ethos_error *error);
    void *hand_over_arg;
    int state; /* where what was handed over can be read; -1: this program began it */
};

/*
 * Owns standard input and output until it returns. An error it returns is told to the person, unless its text is
 * empty: then the surface has told it.
 */
typedef int surface_fn(const struct surface_start *start, struct ethos_error *error);

struct surface {
    const char *name; /* of the row: "agents.mcp" */
    surface_fn *run;
    /*
     * Whether libexec/ethos-db should do it, by the arguments; NULL: never. When that program is not
     * to be had, this one runs it.
     */
    bool (*elsewhere)(const json_t *args);
    /*
     * What is printed, with exit status 0 and no complaint, when the command line is wrong: for those
     * who call it and take anything else for an order. NULL: complain.
     */
    const char *instead;
    const char *program; /* the one beside this that has it, which is executed; NULL: this one */
};

#endif
