/*
 * folder.h: <root>/recall, where indexes are, and the turn to write there.
 */
#ifndef ETHOS_MEMORY_RECALL_FOLDER_H
#define ETHOS_MEMORY_RECALL_FOLDER_H

#include <stdbool.h>

#include <ethos/ethos.h>

struct recall_index;
struct recall_model;

#define RECALL_FOLDER "recall"
#define RECALL_SUFFIX ".idx"
#define RECALL_VECTORS ".vec"            /* in its place: of the file of vectors */
#define RECALL_CONVERSATIONS "sessions-" /* begins the files of conversations */
#define RECALL_ROOMS "sessions.json"
#define RECALL_NAME_SIZE (ETHOS_MAX_SCOPE + 8)

/* The file of a scope: "workspace-<id>.idx". */
void recall_file_name(const char *scope, char out[RECALL_NAME_SIZE]);

/* The file of the vectors of an index. */
void recall_vectors_name(const char *index, char out[RECALL_NAME_SIZE]);

/* The file of what a model elsewhere makes of its passages (remote_meaning.h). */
#define RECALL_EMBEDDINGS ".emb"
void recall_embeddings_name(const char *index, char out[RECALL_NAME_SIZE]);

/* Removes the file of an index and that of its vectors, as far as they are there. 0, or -1 and errno. */
int recall_folder_unlink(int folder, const char *index);

/* A descriptor; -1 when there is no such folder, or it cannot be made. */
int recall_folder_open(const struct ethos *ethos, bool create);

/*
 * As recall_index_open, with what the handle knows of the file. A handle that leaves to others what can wait
 * (ethos->brief) does not check all of it, nor, before it has asked for the model, whether it was made with that.
 */
int recall_folder_index(struct ethos *ethos, int folder, const char *name,
                        struct recall_index **out, struct ethos_error *error);

/* Reads the settings that the following look at, as they are now. */
void recall_folder_begin(struct ethos *ethos);

/*
 * What the handle knows of words (recall/model.h), NULL when it is not installed or switched off (recall.meaning). It is
 * opened when it is first asked for, and borrowed from the handle.
 */
struct recall_model *recall_folder_model(struct ethos *ethos);

/*
 * The lock to write there, released by closing it. It stands beside the folder, which anybody may delete.
 * ETHOS_BUSY at the end of the wait, or why nothing can be written.
 */
int recall_folder_lock(const struct ethos *ethos, uint32_t wait_ms, int *out_lock,
                       struct ethos_error *error);

#endif
