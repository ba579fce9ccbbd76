/*
 * surface.h: commands that another surface implements: the command line parses them and calls that surface.
 *
 * Surfaces do not use each other. A program that links several gives the command line a table of these (main.c), for the
 * rows of the operation table without a `run`.
 */
#ifndef ETHOS_OPS_SURFACE_H
#define ETHOS_OPS_SURFACE_H

#include "ops/op.h"

/* The parsed command line. Everything is borrowed for the length of the call. */
struct surface_start {
    const json_t *args; /* of the row, as op_run would get them */
    const struct ethos_options *options;
    const struct ethos_request *request;
    bool dry_run; /* change nothing */
    bool json;    /* print JSON */
    bool quiet, yes, no_input;
    int color; /* 0: where the output is a terminal, 1: always, 2: never */
    /*
     * Executes libexec/ethos-db in this process, with the same command line and with a descriptor as its `state`.
     * Returns only if that program is missing.
     */
    int (*hand_over)(void *arg, int state, struct ethos_error *error);
    void *hand_over_arg;
    int state; /* descriptor with the state that was handed over; -1: none */
};

/*
 * Owns standard input and output until it returns. The caller prints the error that it returns, unless the text is empty
 * because the surface has printed it.
 */
typedef int surface_fn(const struct surface_start *start, struct ethos_error *error);

struct surface {
    const char *name; /* of the row: "agents.mcp" */
    surface_fn *run;
    /*
     * Whether libexec/ethos-db should run it, depending on the arguments; NULL: never. If that program is missing, this
     * one runs it.
     */
    bool (*elsewhere)(const json_t *args);
    /*
     * Printed, with exit status 0, when the command line is wrong, for callers that take any other output for a
     * command. NULL: report the error.
     */
    const char *instead;
    const char *program; /* the program in libexec that implements it; NULL: this one */
};

#endif
