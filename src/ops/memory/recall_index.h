/*
 * recall_index.h: which program can do all of recall.index.
 */
#ifndef ETHOS_OPS_MEMORY_RECALL_INDEX_H
#define ETHOS_OPS_MEMORY_RECALL_INDEX_H

#include <stdbool.h>

#include <ethos/ethos.h>

/* Whether the settings name a model of embeddings that this program cannot ask; libexec/ethos-agent can. */
bool recall_index_elsewhere(struct ethos *ethos, const char *personality);

#endif
