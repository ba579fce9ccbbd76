/*
 * result_types.h: the types of the operations' results, from which the schemas of /openapi.json are made.
 *
 *     string int number bool any null    a value
 *     'a|b'                              one of these texts
 *     [T]                                an array
 *     {name: T, name?: T, *: T}          an object: a member, an optional one, all others
 *     Name                               a type of the table
 *     T?                                 or null
 *     T / T, T & T                       one or the other; both at once
 *
 * Objects may have further members. A dry run adds dryRun and diff to the result of a write.
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

/* The type of an operation's result; NULL if it is not in the table. */
const char *answer_form(const struct op *op);

#endif
