/*
 * vector_fill.c: encodes the passages that have no vectors.
 */
#include "memory/recall/vector_fill.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/recall/folder.h"

#define CHUNK 256 /* passages per piece */

int vector_fill_open(struct ethos *ethos, struct recall_model *model, const char *file,
                     struct vector_file **out, struct ethos_error *error)
{
    char name[RECALL_NAME_SIZE];
    *out = NULL;
    if (!model)
        return ETHOS_OK;
    recall_vectors_name(file, name);
    int folder = recall_folder_open(ethos, false);
    int code = vector_file_open(folder, name, model->id, out, error);
    if (folder >= 0)
        os_close(folder);
    return code;
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* The last passages before `end` without vectors: from *out_first on; false: none. */
static bool find_gap(const struct image_vectors *known, uint32_t end, uint32_t *out_first,
                     uint32_t *out_end)
{
    size_t i = known->count;
    while (i > 0 && known->pieces[i - 1].first >= end)
        i--;
    for (; i > 0 && known->pieces[i - 1].first + known->pieces[i - 1].count >= end; i--)
        end = known->pieces[i - 1].first;
    *out_end = end;
    *out_first = i > 0 ? known->pieces[i - 1].first + known->pieces[i - 1].count : 0;
    return end > 0;
}

bool vector_fill_lacks(struct vector_file *vectors, const struct recall_index *index)
{
    size_t count;
    const struct recall_frame *frames = recall_index_frames(index, &count);
    for (size_t i = 0; i < count; i++) {
        struct image_vectors known;
        uint32_t first, end;
        if (vector_file_find(vectors, frames[i].image.checksum, &known) == ETHOS_OK &&
            find_gap(&known, frames[i].image.counts.passages, &first, &end))
            return true;
    }
    return false;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static uint32_t document_with_unit(const struct image *image, uint32_t unit)
{
    uint32_t low = 0, high = image->counts.documents;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (image->documents[middle].first_unit <= unit)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int encode_unit(struct vector_fill *self, const struct image *image, uint32_t unit,
                       struct vector_builder *builder, struct ethos_error *error)
{
    uint32_t document = document_with_unit(image, unit), before = builder->count;
    uint32_t passages = image_passages_end(image, unit) - image->units[unit].first_passage;
    struct ethos_view text = {0};
    int code = image_is_gone(image, document) ? ETHOS_OK
                                              : self->read(self->arg, image, document, unit, &text);
    if (code != ETHOS_OK)
        return err_nomem(error);
    if (text.data && IMAGE_CHECK(text) == image->units[unit].check)
        code = vector_builder_add(builder, text, error);
    if (code == ETHOS_OK && builder->count - before < passages)
        code = vector_builder_skip(builder, passages - (builder->count - before), error);
    return code;
}

/*
 * The units that contain the last passages of a gap, about CHUNK of them, from passage *out_first
 * on.
 */
static int encode_chunk(struct vector_fill *self, const struct image *image, uint32_t first,
                        uint32_t end, struct vector_builder *builder, uint32_t *out_first,
                        struct ethos_error *error)
{
    uint32_t start = end - first > CHUNK ? end - CHUNK : first;
    uint32_t unit = image->passages[start].unit, last = image->passages[end - 1].unit;
    int code = ETHOS_OK;
    vector_builder_clear(builder);
    *out_first = image->units[unit].first_passage;
    for (; code == ETHOS_OK && unit <= last; unit++)
        code = encode_unit(self, image, unit, builder, error);
    if (code == ETHOS_OK && builder->count != end - *out_first)
        code = err_set(error, ETHOS_CORRUPT, "recall/%s: the index is damaged", self->file);
    return code;
}

static bool is_time_over(const struct vector_fill *self)
{
    return self->until_ms != 0 && os_monotonic_ms() >= self->until_ms;
}

static int fill_image(struct vector_fill *self, struct vector_file *file, const struct image *image,
                      struct vector_builder *builder, struct ethos_error *error)
{
    struct image_vectors known;
    uint32_t first, end = image->counts.passages;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && !is_time_over(self)) {
        if (vector_file_find(file, image->checksum, &known) != ETHOS_OK)
            return err_nomem(error);
        if (!find_gap(&known, end, &first, &end))
            break;
        code = encode_chunk(self, image, first, end, builder, &first, error);
        if (code == ETHOS_OK)
            code = vector_file_add(file, image->checksum, first, builder, error);
        end = first;
    }
    return code;
}

/* Whether the index is still the one that was opened. */
static bool is_current(const struct vector_fill *self)
{
    struct recall_index *now;
    size_t count, now_count;
    int folder = recall_folder_open(self->ethos, false);
    int code = recall_folder_index(self->ethos, folder, self->file, &now, NULL);
    if (folder >= 0)
        os_close(folder);
    if (code != ETHOS_OK)
        return false;
    const struct recall_frame *frames = recall_index_frames(self->index, &count);
    const struct recall_frame *others = recall_index_frames(now, &now_count);
    bool same = count == now_count;
    for (size_t i = 0; same && i < count; i++)
        same = frames[i].image.checksum == others[i].image.checksum;
    recall_index_close(now);
    return same;
}

static int fill_frames(struct vector_fill *self, struct vector_file *file,
                       struct ethos_error *error)
{
    struct vector_builder builder;
    size_t count;
    const struct recall_frame *frames = recall_index_frames(self->index, &count);
    int code = vector_builder_init(&builder, self->model, error);
    builder.known = vector_file_known;
    builder.arg = file;
    for (size_t i = count; code == ETHOS_OK && i > 0; i--)
        code = fill_image(self, file, &frames[i - 1].image, &builder, error);
    self->encoded = builder.encoded;
    vector_builder_release(&builder);
    return code;
}

/* What cannot be written is used by this handle alone. */
static void save_vectors(const struct vector_fill *self, struct vector_file *file)
{
    char name[RECALL_NAME_SIZE];
    struct ethos_error why;
    size_t count;
    uint64_t images[INDEX_FRAMES];
    const struct recall_frame *frames = recall_index_frames(self->index, &count);
    for (size_t i = 0; i < count; i++)
        images[i] = frames[i].image.checksum;
    recall_vectors_name(self->file, name);
    int folder = recall_folder_open(self->ethos, true);
    if (folder < 0 ||
        vector_file_save(file, folder, name, images, count, self->anew, &why) != ETHOS_OK)
        log_line(self->ethos->host, ETHOS_LOG_WARN, "recall/%s could not be written", name);
    if (folder >= 0)
        os_close(folder);
}

int vector_fill_run(struct vector_fill *self, struct vector_file **vectors,
                    struct ethos_error *error)
{
    int lock = -1, code = ETHOS_OK;
    if (recall_folder_lock(self->ethos, 0, &lock, NULL) != ETHOS_OK)
        return ETHOS_OK; // later
    if (is_current(self)) {
        vector_file_close(*vectors); // others may have written it
        code = vector_fill_open(self->ethos, self->model, self->file, vectors, error);
        if (code == ETHOS_OK)
            code = fill_frames(self, *vectors, error);
        if (code == ETHOS_OK)
            save_vectors(self, *vectors);
    }
    os_close(lock);
    return code;
}
