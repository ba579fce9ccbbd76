/*
 * folder.h: <root>/recall, the folder of the indexes, and the lock for writing there.
 */
#ifndef ETHOS_MEMORY_RECALL_FOLDER_H
#define ETHOS_MEMORY_RECALL_FOLDER_H

#include <stdbool.h>

#include <ethos/ethos.h>

struct recall_index;
struct recall_model;

#define RECALL_FOLDER "recall"
#define RECALL_SUFFIX ".idx"
#define RECALL_VECTORS ".vec"            /* suffix of the file of vectors */
#define RECALL_CONVERSATIONS "sessions-" /* prefix of the files of conversations */
#define RECALL_ROOMS "sessions.json"
#define RECALL_NAME_SIZE (ETHOS_MAX_SCOPE + 8)

/* The index file of a scope: "workspace-<id>.idx". */
void recall_file_name(const char *scope, char out[RECALL_NAME_SIZE]);

/* The file of the vectors of an index. */
void recall_vectors_name(const char *index, char out[RECALL_NAME_SIZE]);

/* The file of the vectors that a remote model made for it (remote_meaning.h). */
#define RECALL_EMBEDDINGS ".emb"
void recall_embeddings_name(const char *index, char out[RECALL_NAME_SIZE]);

/* Removes the files of an index and its vectors if they exist. 0, or -1 and errno. */
int recall_folder_unlink(int folder, const char *index);

/* A descriptor; -1 if the folder does not exist or cannot be created. */
int recall_folder_open(const struct ethos *ethos, bool create);

/*
 * recall_index_open with what the handle has verified of the file. A handle that defers work
 * (ethos->brief) does not verify all of it, nor, before the model is loaded, which model made it.
 */
int recall_folder_index(struct ethos *ethos, int folder, const char *name,
                        struct recall_index **out, struct ethos_error *error);

/* Reads the settings that the following functions use. */
void recall_folder_begin(struct ethos *ethos);

/*
 * The model (recall/model.h), NULL if it is not installed or disabled (recall.meaning). It is
 * loaded at first use, and owned by the handle.
 */
struct recall_model *recall_folder_model(struct ethos *ethos);

/*
 * The lock for writing, released by closing it. It is beside the folder, which anybody may delete.
 * ETHOS_BUSY after the wait, or why nothing can be written.
 */
int recall_folder_lock(const struct ethos *ethos, uint32_t wait_ms, int *out_lock,
                       struct ethos_error *error);

#endif
