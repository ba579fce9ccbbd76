/*
 * catalog.h: the models that a server lists, in the shapes that servers give the list. Pure.
 */
#ifndef ETHOS_AGENT_MODELS_CATALOG_H
#define ETHOS_AGENT_MODELS_CATALOG_H

#include "agent/models/providers.h"
#include "base/json.h"

#define CATALOG_MAX_ROWS 10000

/*
 * Hands over each model of the list that can answer. ETHOS_MODEL when the document is not a list, else what `each`
 * returned.
 */
int catalog_read(const json_t *document, const char *provider, model_list_fn *each, void *arg,
                 struct ethos_error *error);

/* Ollama, asked about one model: the largest context window that the model has; 0: unknown. */
int64_t catalog_read_window(const json_t *document);

#endif
