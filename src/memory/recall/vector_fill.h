/*
 * vector_fill.h: updates the vectors of an index.
 *
 * They are in a file beside it ("<index>.vec"), which whoever has the lock of the folder writes.
 * Encoding takes a fraction of a millisecond per passage, so it stops at its deadline and continues
 * next time, newest passages first; passages without vectors are found by their words.
 */
#ifndef ETHOS_MEMORY_RECALL_VECTOR_FILL_H
#define ETHOS_MEMORY_RECALL_VECTOR_FILL_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "recall/index.h"
#include "recall/vector_file.h"

/*
 * The text of a unit; out->data is NULL if it differs from what was indexed. Borrowed until the
 * next call. ETHOS_OK or ETHOS_NOMEM.
 */
typedef int unit_text_fn(void *arg, const struct image *image, uint32_t document, uint32_t unit,
                         struct ethos_view *out);

struct vector_fill {
    struct ethos *ethos;
    struct recall_model *model;
    struct recall_index *index;
    const char *file; /* of the index */
    unit_text_fn *read;
    void *arg;
    int64_t until_ms; /* os_monotonic_ms; 0: until everything is encoded */
    bool anew;        /* drop vectors of deleted texts from the file */
    uint64_t encoded; /* out: passages */
};

/* Opens the vectors of an index; *out is NULL without a model. */
int vector_fill_open(struct ethos *ethos, struct recall_model *model, const char *file,
                     struct vector_file **out, struct ethos_error *error);

/* Whether some passage has no vectors yet. */
bool vector_fill_lacks(struct vector_file *vectors, const struct recall_index *index);

/*
 * Encodes passages without vectors and writes them, unless another process has the lock of the
 * folder, or the index was replaced. *vectors, which is not NULL, becomes the result.
 */
int vector_fill_run(struct vector_fill *self, struct vector_file **vectors,
                    struct ethos_error *error);

#endif
