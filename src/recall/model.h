/*
 * model.h: the installed table of words and encoder, in share/ethos/recall.
 *
 * Both are mapped, not read. A model belongs to one thread at a time.
 */
#ifndef ETHOS_RECALL_MODEL_H
#define ETHOS_RECALL_MODEL_H

#include "recall/encoder.h"

struct recall_model {
    struct word_table table;
    struct ethos_view weights; /* of the encoder */
    struct encoder *encoder;
    uint64_t
        id; /* identifies these files: vectors of different models are never compared; never 0 */
};

/*
 * ETHOS_NOTFOUND if the folder has none of the files, ETHOS_CORRUPT if they do not belong together,
 * or why they cannot be read.
 */
int recall_model_open(const char *folder, struct recall_model **out, struct ethos_error *error);

/* The model installed with this program or library. */
int recall_model_open_installed(struct recall_model **out, struct ethos_error *error);
void recall_model_close(struct recall_model *self); /* self may be NULL */

#endif
