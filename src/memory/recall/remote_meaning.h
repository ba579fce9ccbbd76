/*
 * remote_meaning.h: what a model elsewhere makes of the passages of a memory (memory.options.embedder), and of a question.
 *
 * It takes the place of the encoder's pooled vectors where it is complete: every passage searched has one of this model,
 * and so has the question. Else recall goes on without it, and says so once. Vectors are kept in a file beside the index
 * ("<scope>.emb"), by the hash of the passage's text: of one model and one dimension, never mixed; a file of another
 * model counts as none. Only what a model may read is ever sent (guarded, redacted), and only where the person agreed
 * (memory.options.embedConsent).
 *
 * Who sends is the program's: those without a client of models have none. Passages are sent by what is not waited for:
 * ethos recall index, and what follows a turn.
 */
#ifndef ETHOS_MEMORY_RECALL_REMOTE_MEANING_H
#define ETHOS_MEMORY_RECALL_REMOTE_MEANING_H

#include "memory/handle.h"
#include "recall/vectors.h"

struct scope_index;
struct arena;

/* wait_ms: for the whole of it. */
struct remote_client {
    int (*embed)(struct ethos *ethos, const struct service_embedder *embedder,
                 const struct ethos_view *texts, size_t count, uint32_t wait_ms,
                 struct service_vectors *out, struct ethos_error *error);
};

/* That of this program, or NULL. */
extern const struct remote_client *const remote_client_builtin;

/* Whether this program sends. */
bool remote_meaning_is_here(void);

/* Whether texts may be sent: the settings name a model elsewhere, the person agreed, and this program can. Says once when
 * only the consent is missing. */
bool remote_meaning_may(struct ethos *ethos, const struct service_embedder *embedder);

/*
 * Sends what of an index has no vector yet, and keeps what comes; what is not in the index any more is left out. *out_sent
 * counts passages. A server that fails is told in the log, once, and is no failure. ETHOS_OK or ETHOS_NOMEM.
 */
int remote_meaning_fill(struct scope_index *index, const struct service_embedder *embedder,
                        uint64_t *out_sent, struct ethos_error *error);

/* The vectors of an index, for comparing. */
struct remote_file;
struct remote_file *remote_file_open(struct ethos *ethos, const char *index,
                                     const struct service_embedder *embedder);
void remote_file_close(struct remote_file *self); /* NULL is fine */

/*
 * The cosines of passages that follow each other with a question, REMOTE_NONE where one has no vector; false: they are of
 * another dimension.
 */
#define REMOTE_NONE (-2.0f)
bool remote_file_compare(const struct remote_file *self, const struct service_vectors *question,
                         const struct vectors *passages, float *cosines);

/* The vector of a question, as long as it is asked again kept by the handle; borrowed. NULL: there is none. */
const struct service_vectors *remote_meaning_question(struct ethos *ethos,
                                                      const struct service_embedder *embedder,
                                                      struct ethos_view question);
#endif
