/*
 * table.c: the list of operation tables of a program; one that has more lists them itself.
 */
#include "ops/tables.h"

const struct op *const op_tables[] = {OP_TABLES, NULL};
