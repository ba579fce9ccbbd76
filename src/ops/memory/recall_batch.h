/*
 * recall_batch.h: questions over a corpus in files, for the operations that measure recall.
 */
#ifndef ETHOS_OPS_MEMORY_RECALL_BATCH_H
#define ETHOS_OPS_MEMORY_RECALL_BATCH_H

#include <ethos/types.h>

#include "base/json.h"
#include "recall/measure.h"

/*
 * Answers the questions; the answers are written to the file `run` (NULL: to none). A question that says which texts
 * are right (its member `relevant`, an array of ids) is added to the measure, unless
 * its category is adversarial: a fact in the wrong person's mouth; *out_questions: all of them.
 */
int recall_batch(const char *corpus, const char *queries, const char *run,
                 struct recall_measure *out, json_int_t *out_questions, struct ethos_error *error);

#endif
