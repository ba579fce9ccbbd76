/*
 * model.h: the table of words and the encoder as they are installed, in share/ethos/recall.
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
        id; /* of these files: what others made is not compared with what these make; never 0 */
};

/*
 * ETHOS_NOTFOUND when the folder has none of the files, ETHOS_CORRUPT when they do not fit each other, or why they
 * cannot be read.
 */
int recall_model_open(const char *folder, struct recall_model **out, struct ethos_error *error);

/* The one that is installed with this program or library. */
int recall_model_open_installed(struct recall_model **out, struct ethos_error *error);
void recall_model_close(struct recall_model *self); /* NULL is fine */

#endif
