/*
 * recall_batch.h: answers questions over a corpus in files, for the operations that measure recall.
 */
#ifndef ETHOS_OPS_MEMORY_RECALL_BATCH_H
#define ETHOS_OPS_MEMORY_RECALL_BATCH_H

#include <ethos/types.h>

#include "base/json.h"
#include "recall/measure.h"

/*
 * Answers the questions and writes the answers to the file `run` (NULL: nowhere). *out measures the questions that name
 * the relevant texts (the member `relevant`, an array of ids), except those of the category adversarial, which attribute
 * a fact to the wrong person. *out_questions counts all questions.
 */
int recall_batch(const char *corpus, const char *queries, const char *run,
                 struct recall_measure *out, json_int_t *out_questions, struct ethos_error *error);

#endif
