/*
 * recall_index.h: whether recall.index needs another program.
 */
#ifndef ETHOS_OPS_MEMORY_RECALL_INDEX_H
#define ETHOS_OPS_MEMORY_RECALL_INDEX_H

#include <stdbool.h>

#include <ethos/ethos.h>

/* Whether the settings name a remote embedding model. This program cannot call it; libexec/ethos-agent can. */
bool recall_index_elsewhere(struct ethos *ethos, const char *personality);

#endif
