/*
 * sanitize.h: what a model may read of an answer. Private to src/ops.
 */
#ifndef ETHOS_OPS_SANITIZE_H
#define ETHOS_OPS_SANITIZE_H

#include "ops/op.h"

/*
 * Takes secrets and instruction-like lines out of every text of a result, as prefetch does (core/memory/sanitize),
 * and sets withheld when there was one; shows what is hidden (base/text/invisible) by its number. On failure
 * nothing of the answer may be shown.
 * Lines that the owner allows are shown where the result tells whose its texts are (texts_of).
 */
int sanitize_result(struct ethos *ethos, struct op_result *result, struct ethos_error *error);

#endif
