/*
 * model.c: maps the files of a model.
 */
#include "recall/model.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/installed.h"
#include "base/system/os.h"
#include "base/view.h"

#define ID_BYTES 4096 /* bytes of each file that identify the model */

static int map_model_file(const char *folder, const char *name, struct ethos_view *out,
                          struct ethos_error *error)
{
    char path[PATH_MAX];
    struct stat info;
    int code = ETHOS_OK;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return err_set(error, ETHOS_LIMIT, "%s: the path is too long", folder);
    CLEANUP_FD int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return err_errno(error, errno, path);
    if (os_fstat(fd, &info) != 0)
        code = err_errno(error, errno, path);
    else if (!S_ISREG(info.st_mode) || info.st_size == 0)
        code = err_set(error, ETHOS_CORRUPT, "%s: an empty file", path);
    if (code == ETHOS_OK) {
        *out = view_of(os_map(fd, (size_t)info.st_size), (size_t)info.st_size);
        if (!out->data) {
            *out = (struct ethos_view){0};
            code = err_errno(error, errno, path);
        }
    }
    return code;
}

static void unmap_model_file(struct ethos_view file)
{
    if (file.data)
        os_unmap(file.data, file.size);
}

static uint64_t mix_file(uint64_t id, struct ethos_view file)
{
    size_t size = file.size;
    id = hash_mix(id, view_of((const char *)&size, sizeof size));
    return hash_mix(id, view_of(file.data, size < ID_BYTES ? size : ID_BYTES));
}

int recall_model_open(const char *folder, struct recall_model **out, struct ethos_error *error)
{
    struct recall_model *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    int code = map_model_file(folder, "table.i8", &self->table.rows, error);
    code = code ? code : map_model_file(folder, "words.txt", &self->table.words, error);
    code = code ? code : map_model_file(folder, "stems.txt", &self->table.stems, error);
    code = code ? code : map_model_file(folder, "encoder.bin", &self->weights, error);
    code = code ? code : encoder_open(&self->table, self->weights, &self->encoder, error);
    if (code != ETHOS_OK) {
        recall_model_close(self);
        return code;
    }
    self->id = mix_file(mix_file(0, self->weights), self->table.rows);
    self->id = mix_file(mix_file(self->id, self->table.words), self->table.stems);
    self->id += self->id == 0;
    *out = self;
    return ETHOS_OK;
}

int recall_model_open_installed(struct recall_model **out, struct ethos_error *error)
{
    char folder[PATH_MAX];
    TRY(installed_share("ethos/recall", folder, error));
    return recall_model_open(folder, out, error);
}

void recall_model_close(struct recall_model *self)
{
    if (!self)
        return;
    encoder_close(self->encoder);
    unmap_model_file(self->table.rows);
    unmap_model_file(self->table.words);
    unmap_model_file(self->table.stems);
    unmap_model_file(self->weights);
    free(self);
}
