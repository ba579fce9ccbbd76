/*
 * remote_meaning.h: vectors of a remote embedding model (memory.options.embedder) for the passages
 * of a memory and for a question.
 *
 * They replace the pooled vectors of the local encoder if they are complete: every searched passage
 * and the question have one of this model. Otherwise recall continues without them, and reports so
 * once. Vectors are stored in a file beside the index ("<scope>.emb"), by the hash of the passage's
 * text: of one model and one dimension, never mixed; a file of another model counts as empty. Only
 * what models may read is ever sent (scanned, redacted), and only if the person agreed
 * (memory.options.embedConsent).
 *
 * Sending is done by the program's client, if it has one. Passages are sent where nobody waits: by
 * ethos recall index, and after a turn.
 */
#ifndef ETHOS_MEMORY_RECALL_REMOTE_MEANING_H
#define ETHOS_MEMORY_RECALL_REMOTE_MEANING_H

#include "memory/handle.h"
#include "recall/vectors.h"

struct scope_index;
struct arena;

/* wait_ms: for the whole call. */
struct remote_client {
    int (*embed)(struct ethos *ethos, const struct service_embedder *embedder,
                 const struct ethos_view *texts, size_t count, uint32_t wait_ms,
                 struct service_vectors *out, struct ethos_error *error);
};

/* The client of this program, or NULL. */
extern const struct remote_client *const remote_client_builtin;

/* Whether this program can send. */
bool remote_meaning_is_here(void);

/*
 * Whether texts may be sent: the settings name a remote model, the person agreed, and this program
 * can. Reports once if only the consent is missing.
 */
bool remote_meaning_may(struct ethos *ethos, const struct service_embedder *embedder);

/*
 * Sends the passages of an index without vectors, and stores the results; vectors of deleted
 * passages are dropped. *out_sent counts passages. A failing server is logged once, and is not an
 * error. ETHOS_OK or ETHOS_NOMEM.
 */
int remote_meaning_fill(struct scope_index *index, const struct service_embedder *embedder,
                        uint64_t *out_sent, struct ethos_error *error);

/* Opens the vectors of an index for comparison. */
struct remote_file;
struct remote_file *remote_file_open(struct ethos *ethos, const char *index,
                                     const struct service_embedder *embedder);
void remote_file_close(struct remote_file *self); /* self may be NULL */

/*
 * The cosines of consecutive passages with a question, REMOTE_NONE for one without a vector; false:
 * another dimension.
 */
#define REMOTE_NONE (-2.0f)
bool remote_file_compare(const struct remote_file *self, const struct service_vectors *question,
                         const struct vectors *passages, float *cosines);

/* The vector of a question, cached by the handle for repeated questions; borrowed. NULL: none. */
const struct service_vectors *remote_meaning_question(struct ethos *ethos,
                                                      const struct service_embedder *embedder,
                                                      struct ethos_view question);
#endif
