/*
 * folder.c: the folder of the indexes, its lock, and the model.
 */
#include "memory/recall/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/home/directory.h"

#define LOCK_NAME "recall"

void recall_file_name(const char *scope, char out[RECALL_NAME_SIZE])
{
    snprintf(out, RECALL_NAME_SIZE, "%s" RECALL_SUFFIX, scope);
    char *colon = strchr(out, ':');
    if (colon)
        *colon = '-';
}

static void name_beside(const char *index, const char *with, char out[RECALL_NAME_SIZE])
{
    struct ethos_view name = view_str(index);
    size_t suffix = sizeof RECALL_SUFFIX - 1;
    if (name.size > suffix && view_eq(view_from(name, name.size - suffix), VIEW(RECALL_SUFFIX)))
        name.size -= suffix;
    snprintf(out, RECALL_NAME_SIZE, "%.*s%s", VIEW_ARG(name), with);
}

void recall_vectors_name(const char *index, char out[RECALL_NAME_SIZE])
{
    name_beside(index, RECALL_VECTORS, out);
}

void recall_embeddings_name(const char *index, char out[RECALL_NAME_SIZE])
{
    name_beside(index, RECALL_EMBEDDINGS, out);
}

int recall_folder_unlink(int folder, const char *index)
{
    char vectors[RECALL_NAME_SIZE], embeddings[RECALL_NAME_SIZE];
    recall_vectors_name(index, vectors);
    recall_embeddings_name(index, embeddings);
    os_unlinkat(folder, embeddings, 0);
    int failed = os_unlinkat(folder, vectors, 0) != 0 && errno != ENOENT;
    return os_unlinkat(folder, index, 0) != 0 && errno != ENOENT ? -1 : -failed;
}

int recall_folder_open(const struct ethos *ethos, bool create)
{
    int root = -1;
    if (home_open(ethos->root, false, &root, NULL) != ETHOS_OK)
        return -1;
    if (create)
        os_mkdirat(root, RECALL_FOLDER, 0700);
    int folder = os_open_beneath(root, RECALL_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    os_close(root);
    return folder;
}

int recall_folder_lock(const struct ethos *ethos, uint32_t wait_ms, int *out_lock,
                       struct ethos_error *error)
{
    int root = -1;
    TRY(home_open(ethos->root, false, &root, error));
    int code = home_lock_within(root, LOCK_NAME, wait_ms, out_lock, error);
    os_close(root);
    return code;
}

/* Out of memory: the file counts as unverified. */
static struct recall_trust *trust_of(struct ethos *ethos, const char *name)
{
    struct handle_trust *row = ethos->trusts;
    while (row && strcmp(row->name, name) != 0)
        row = row->next;
    if (row)
        return &row->trust;
    row = calloc(1, sizeof *row + strlen(name) + 1);
    if (!row)
        return NULL;
    row->trust.quick = ethos->brief;
    memcpy(row->name, name, strlen(name) + 1);
    row->next = ethos->trusts;
    ethos->trusts = row;
    return &row->trust;
}

void recall_folder_begin(struct ethos *ethos)
{
    const struct config *home;
    int code = service_config(ethos, NULL, &home, NULL, NULL);
    ethos->words_only = code == ETHOS_OK && !config_switch(home, NULL, "recall.meaning");
}

struct recall_model *recall_folder_model(struct ethos *ethos)
{
    struct ethos_error why;
    if (!ethos->model_sought && !ethos->words_only) {
        int code = recall_model_open_installed(&ethos->model, &why);
        if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
            log_line(ethos->host, ETHOS_LOG_WARN, "recall: %s", why.text);
        ethos->model_sought = true;
    }
    return ethos->words_only ? NULL : ethos->model;
}

int recall_folder_index(struct ethos *ethos, int folder, const char *name,
                        struct recall_index **out, struct ethos_error *error)
{
    bool later = ethos->brief && !ethos->model_sought;
    const struct recall_model *model = later ? NULL : recall_folder_model(ethos);
    return recall_index_open(folder, name, model ? model->id : 0,
                             folder >= 0 ? trust_of(ethos, name) : NULL, out, error);
}
