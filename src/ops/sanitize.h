/*
 * sanitize.h: removes from a result what a model must not read. Private to src/ops.
 */
#ifndef ETHOS_OPS_SANITIZE_H
#define ETHOS_OPS_SANITIZE_H

#include "ops/op.h"

/*
 * Removes secrets and instruction-like lines from every text of a result, as prefetch does (core/memory/sanitize), and
 * sets withheld if there were any; shows invisible characters (base/text/invisible) by number. Lines that the owner
 * allows stay, if the result says where its texts come from (texts_of). On failure, nothing of the result may be shown.
 */
int sanitize_result(struct ethos *ethos, struct op_result *result, struct ethos_error *error);

#endif
