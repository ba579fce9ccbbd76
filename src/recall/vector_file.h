/*
 * vector_file.h: the vectors of an index in a file beside it.
 *
 * A file belongs to one model and holds pieces: the vectors of some passages of an image, each with a hash of the
 * passage's text. So what an image has is found by the image's checksum, and what an image that takes its place has
 * again is found by the text. Pieces are added at the end; those of images that are gone are left out when the file is
 * written anew. One process writes at a time, who has the lock of the index.
 *
 * Vectors are derived: nothing is synced, and a file that is not whole, or of another model, counts as none.
 *
 *     vector_file_open(dir, name, model, &file, error);
 *     vector_file_find(file, image.checksum, &vectors);
 *     vector_file_add(file, image.checksum, first, &builder, error);
 *     vector_file_save(file, dir, name, checksums, count, error);
 *     vector_file_close(file);
 */
#ifndef ETHOS_RECALL_VECTOR_FILE_H
#define ETHOS_RECALL_VECTOR_FILE_H

#include "recall/vectors.h"

struct vector_file;

/* ETHOS_NOMEM, or why the file cannot be read. dir -1: none. */
int vector_file_open(int dir, const char *name, uint64_t model, struct vector_file **out,
                     struct ethos_error *error);
void vector_file_close(struct vector_file *self); /* NULL is fine */

/* What is known of an image, in order; borrowed until something is added. ETHOS_OK or ETHOS_NOMEM. */
int vector_file_find(struct vector_file *self, uint64_t image, struct image_vectors *out);

/* The vectors of a text that some passage has. Its form is vector_known_fn; arg is the file. */
bool vector_file_known(void *arg, uint64_t hash, struct passage_vectors *out);

/* Adds what a builder has, as passages of an image from `first` on. ETHOS_OK or ETHOS_NOMEM. */
int vector_file_add(struct vector_file *self, uint64_t image, uint32_t first,
                    const struct vector_builder *made, struct ethos_error *error);

/*
 * Writes what was added. Of `images`, which are all that are searched, everything stays; anew: and nothing else. A file
 * without pieces is removed.
 */
int vector_file_save(struct vector_file *self, int dir, const char *name, const uint64_t *images,
                     size_t count, bool anew, struct ethos_error *error);

/* Bytes of the file, with what was added. */
uint64_t vector_file_bytes(const struct vector_file *self);

/* Whether every piece is what was written. */
bool vector_file_is_whole(const struct vector_file *self);

#endif
