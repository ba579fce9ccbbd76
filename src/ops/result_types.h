/*
 * result_types.h: what operations give, as one table: the schemas of /openapi.json are made from it.
 *
 *     string int number bool any null    a value
 *     'a|b'                              one of these texts
 *     [T]                                an array
 *     {name: T, name?: T, *: T}          an object: a member, one that may be missing, all others
 *     Name                               a type of the table
 *     T?                                 or null
 *     T / T, T & T                       one or the other; both at once
 *
 * Objects may have members that are not named here. A dry run adds dryRun and diff to what a write gives.
 */
#ifndef ETHOS_OPS_RESULT_TYPES_H
#define ETHOS_OPS_RESULT_TYPES_H

#include "ops/op.h"

struct answer_row {
    const char *name; /* of a type, or of an operation */
    const char *form;
};

/* Both end with name NULL. */
extern const struct answer_row answer_types[];
extern const struct answer_row answers[];

/* What an operation gives; NULL: the table does not say. */
const char *answer_form(const struct op *op);

#endif
