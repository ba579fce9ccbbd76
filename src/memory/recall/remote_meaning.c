/*
 * remote_meaning.c: vectors of a remote embedding model, stored beside an index.
 *
 *     "ethemb1\0", model (8 bytes), dimension (8 bytes), then for each passage the hash of its text
 *     (8 bytes) and its vector (one signed byte per number, 127 for 1), sorted by hash
 */
#include "memory/recall/remote_meaning.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/file.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/search/passages.h"
#include "memory/handle_internal.h"
#include "memory/recall/folder.h"
#include "memory/recall/scope_index.h"
#include "store/group_commit.h"

#define MAGIC "ethemb1"
#define HEAD (sizeof MAGIC + 2 * sizeof(uint64_t))
#define MAX_FILE ((size_t)1 << 30)
#define MAX_DIMENSION 8192
#define BATCH 32            /* texts of one request */
#define BATCH_WAIT_MS 30000 /* timeout for its answer */
#define QUESTION_WAIT_MS 1500

bool remote_meaning_is_here(void)
{
    return remote_client_builtin != NULL;
}

/* For all threads of a program: a question must not fill the log. Returns the previous state. */
static bool set_outage_reported(struct ethos *ethos, bool told)
{
    bool before = ethos->remote_told;
    ethos->remote_told = told;
    return ethos->group ? group_set_reported(ethos->group, told) : before;
}

bool remote_meaning_may(struct ethos *ethos, const struct service_embedder *embedder)
{
    if (!embedder->is_remote || !remote_client_builtin)
        return false;
    if (!embedder->consent && !set_outage_reported(ethos, true))
        log_line(ethos->host, ETHOS_LOG_WARN,
                 "memory.options.embedder: nothing is sent before you agree: ethos config set "
                 "memory.options.embedConsent yes");
    return embedder->consent;
}

/* Once, until it works again. */
static void report_outage(struct ethos *ethos, const struct ethos_error *why)
{
    if (!set_outage_reported(ethos, true))
        log_line(ethos->host, ETHOS_LOG_WARN,
                 "memory.options.embedder: %s; recall continues without it", why->text);
}

/* ---- the file -------------------------------------------------------------------------------- */

struct remote_file {
    struct str text;
    size_t dimension, count;
};

static uint64_t model_of(const struct service_embedder *embedder)
{
    uint64_t hash = hash_mix(embedder->is_ollama, view_str(embedder->url));
    return hash_mix(hash, view_str(embedder->model));
}

static size_t row_size(size_t dimension)
{
    return sizeof(uint64_t) + dimension;
}

static const char *row_at(const struct remote_file *self, size_t i)
{
    return self->text.data + HEAD + i * row_size(self->dimension);
}

static uint64_t number_at(const char *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

/* Whether the bytes are a valid file; otherwise it counts as empty. */
static bool read_head(struct remote_file *self, uint64_t model)
{
    const struct str *text = &self->text;
    if (text->size < HEAD || memcmp(text->data, MAGIC, sizeof MAGIC) != 0 ||
        number_at(text->data + sizeof MAGIC) != model)
        return false;
    uint64_t dimension = number_at(text->data + sizeof MAGIC + sizeof model);
    if (dimension == 0 || dimension > MAX_DIMENSION ||
        (text->size - HEAD) % row_size((size_t)dimension) != 0)
        return false;
    self->dimension = (size_t)dimension;
    self->count = (text->size - HEAD) / row_size(self->dimension);
    return true;
}

static void name_file(const char *index, char out[RECALL_NAME_SIZE])
{
    recall_embeddings_name(index, out);
}

struct remote_file *remote_file_open(struct ethos *ethos, const char *index,
                                     const struct service_embedder *embedder)
{
    char name[RECALL_NAME_SIZE];
    struct remote_file *self = calloc(1, sizeof *self);
    int folder = self ? recall_folder_open(ethos, false) : -1;
    name_file(index, name);
    if (self)
        str_init(&self->text, MAX_FILE);
    int fd = folder >= 0 ? os_open_beneath(folder, name, O_RDONLY | O_NOFOLLOW, 0) : -1;
    bool ok = fd >= 0 && file_read(fd, name, MAX_FILE, &self->text, NULL, NULL) == ETHOS_OK &&
              read_head(self, model_of(embedder));
    if (fd >= 0)
        os_close(fd);
    if (folder >= 0)
        os_close(folder);
    if (self && !ok) {
        str_clear(&self->text);
        self->dimension = self->count = 0;
    }
    return self;
}

void remote_file_close(struct remote_file *self)
{
    if (!self)
        return;
    str_release(&self->text);
    free(self);
}

/* NULL: unknown. */
static const int8_t *find_remote_vector(const struct remote_file *self, uint64_t hash)
{
    size_t low = 0, high = self->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t there = number_at(row_at(self, middle));
        if (there == hash)
            return (const int8_t *)row_at(self, middle) + sizeof hash;
        if (there < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static float dot_product(const float *a, const int8_t *b, size_t count)
{
    float sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * (float)b[i];
    return sum / 127;
}

bool remote_file_compare(const struct remote_file *self, const struct service_vectors *question,
                         const struct vectors *passages, float *cosines)
{
    for (uint32_t i = 0; i < passages->count && self->dimension == question->dimension; i++) {
        const int8_t *row = find_remote_vector(self, passages->hashes[i]);
        cosines[i] = row                   ? dot_product(question->values, row, self->dimension)
                     : passages->hashes[i] ? REMOTE_NONE
                                           : 0; // a heading, or a deleted text
    }
    return self->dimension == question->dimension;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* A passage of the index, and its text until it is encoded. */
struct passage {
    uint64_t hash;
    struct ethos_view text;
    const int8_t *vector;
};

struct filling {
    struct scope_index *index;
    const struct service_embedder *embedder;
    struct remote_file *known;
    struct arena arena;
    struct passage *rows;
    size_t count, capacity;
    size_t dimension;
    struct ethos_view unit;
};

static int add_passage_to_fill(void *arg, size_t start, size_t end)
{
    struct filling *self = arg;
    struct ethos_view text = view_of(self->unit.data + start, end - start);
    struct passage *rows = arena_grow(&self->arena, self->rows, self->count, &self->capacity,
                                      sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    self->rows = rows;
    struct passage *row = &rows[self->count++];
    *row = (struct passage){.hash = hash_mix(0, text)};
    row->vector = find_remote_vector(self->known, row->hash);
    if (!row->vector)
        row->text = view_of(arena_copy(&self->arena, text), text.size);
    return row->vector || row->text.data ? ETHOS_OK : ETHOS_NOMEM;
}

static int add_document_passages(struct filling *self, const struct image *image, uint32_t document)
{
    char key[ETHOS_MAX_KEY + 1];
    struct scope_text text;
    struct ethos_view visible;
    struct ethos_error why;
    snprintf(key, sizeof key, "%.*s", VIEW_ARG(image_document_name(image, document)));
    scope_text_init(&text);
    int code = scope_index_read_again(self->index, key, &image->documents[document], &text,
                                      &visible, &why);
    uint32_t end = code == ETHOS_OK ? image_units_end(image, document) : 0;
    for (uint32_t u = image->documents[document].first_unit; u < end && code == ETHOS_OK; u++) {
        const struct image_unit *unit = &image->units[u];
        if ((uint64_t)unit->offset + unit->size > visible.size)
            continue;
        self->unit = view_of(visible.data + unit->offset, unit->size);
        if (IMAGE_CHECK(self->unit) == unit->check)
            code = passages_each(self->unit, add_passage_to_fill, self);
    }
    scope_text_release(self->index->ethos, &text);
    return code == ETHOS_NOMEM ? code : ETHOS_OK; // an unreadable text is tried again later
}

static int list_passages(struct filling *self)
{
    size_t count;
    int code = ETHOS_OK;
    const struct recall_frame *frames = recall_index_frames(self->index->index, &count);
    for (size_t f = 0; f < count; f++)
        for (uint32_t d = 0; code == ETHOS_OK && d < frames[f].image.counts.documents; d++)
            if (!image_is_gone(&frames[f].image, d))
                code = add_document_passages(self, &frames[f].image, d);
    return code;
}

static int pack_vector(struct filling *self, const struct service_vectors *made, size_t i,
                       struct passage *row)
{
    int8_t *vector = arena_alloc(&self->arena, made->dimension);
    if (!vector)
        return ETHOS_NOMEM;
    for (size_t k = 0; k < made->dimension; k++) {
        float scaled = made->values[i * made->dimension + k] * 127;
        vector[k] = (int8_t)(scaled + (scaled < 0 ? -0.5f : 0.5f));
    }
    row->vector = vector;
    return ETHOS_OK;
}

/* ETHOS_MODEL: the server does not answer, or the vectors do not match. */
static int send_batch(struct filling *self, struct passage **batch, size_t count,
                      struct ethos_error *error)
{
    struct ethos_view texts[BATCH];
    struct service_vectors made = {0};
    for (size_t i = 0; i < count; i++)
        texts[i] = batch[i]->text;
    int code = remote_client_builtin->embed(self->index->ethos, self->embedder, texts, count,
                                            BATCH_WAIT_MS, &made, error);
    if (code == ETHOS_OK && self->dimension && made.dimension != self->dimension)
        code = err_set(error, ETHOS_MODEL, "the vectors have another dimension than before");
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = pack_vector(self, &made, i, batch[i]);
    if (code == ETHOS_OK)
        self->dimension = made.dimension;
    free(made.values);
    return code;
}

static int send_all(struct filling *self, uint64_t *sent, struct ethos_error *error)
{
    struct passage *batch[BATCH];
    size_t waiting = 0;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i <= self->count; i++) {
        bool full = waiting == BATCH || (i == self->count && waiting > 0);
        if (full) {
            code = send_batch(self, batch, waiting, error);
            *sent += code == ETHOS_OK ? waiting : 0;
            waiting = 0;
        }
        if (code == ETHOS_OK && i < self->count && !self->rows[i].vector)
            batch[waiting++] = &self->rows[i];
    }
    return code;
}

static int compare_passages(const void *a, const void *b)
{
    const struct passage *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

static int write_remote_file(struct filling *self, struct str *out)
{
    uint64_t model = model_of(self->embedder), dimension = self->dimension;
    str_add(out, view_of(MAGIC, sizeof MAGIC));
    str_add(out, view_of((const char *)&model, sizeof model));
    str_add(out, view_of((const char *)&dimension, sizeof dimension));
    qsort(self->rows, self->count, sizeof *self->rows, compare_passages);
    for (size_t i = 0; i < self->count; i++) {
        const struct passage *row = &self->rows[i];
        if (!row->vector || (i > 0 && row[-1].hash == row->hash && row[-1].vector))
            continue;
        str_add(out, view_of((const char *)&row->hash, sizeof row->hash));
        str_add(out, view_of((const char *)row->vector, self->dimension));
    }
    return str_code(out);
}

/* What cannot be written is sent again later. */
static void save_remote_file(struct filling *self, const char *index)
{
    char name[RECALL_NAME_SIZE];
    struct str text;
    struct ethos *ethos = self->index->ethos;
    int lock = -1;
    if (self->dimension == 0 || recall_folder_lock(ethos, 0, &lock, NULL) != ETHOS_OK)
        return;
    name_file(index, name);
    str_init(&text, MAX_FILE);
    int folder = recall_folder_open(ethos, true);
    if (folder < 0 || write_remote_file(self, &text) != ETHOS_OK ||
        file_replace(folder, name, str_view(&text), 0600, NULL) != ETHOS_OK)
        log_line(ethos->host, ETHOS_LOG_WARN, "recall/%s could not be written", name);
    str_release(&text);
    if (folder >= 0)
        os_close(folder);
    os_close(lock);
}

int remote_meaning_fill(struct scope_index *index, const struct service_embedder *embedder,
                        uint64_t *out_sent, struct ethos_error *error)
{
    char name[RECALL_NAME_SIZE];
    struct ethos_error why = {0};
    struct filling self = {.index = index, .embedder = embedder};
    if (!remote_meaning_may(index->ethos, embedder))
        return ETHOS_OK;
    recall_file_name(index->scope, name);
    arena_init(&self.arena);
    self.known = remote_file_open(index->ethos, name, embedder);
    int code = self.known ? list_passages(&self) : ETHOS_NOMEM;
    size_t before = self.known ? self.known->count : 0;
    self.dimension = self.known ? self.known->dimension : 0;
    if (code == ETHOS_OK)
        code = send_all(&self, out_sent, &why);
    if (code == ETHOS_OK)
        set_outage_reported(index->ethos, false); // new failures are reported again
    else if (code != ETHOS_NOMEM)
        report_outage(index->ethos, &why);
    if (code != ETHOS_NOMEM && (*out_sent > 0 || before != self.count))
        save_remote_file(&self, name);
    remote_file_close(self.known);
    arena_release(&self.arena);
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

/* ---- questions ------------------------------------------------------------------------------- */

const struct service_vectors *remote_meaning_question(struct ethos *ethos,
                                                      const struct service_embedder *embedder,
                                                      struct ethos_view question)
{
    struct ethos_error why = {0};
    struct service_vectors made = {0};
    struct str safe;
    uint64_t hash = hash_mix(model_of(embedder), question);
    if (ethos->remote_question.values && ethos->remote_question_hash == hash)
        return &ethos->remote_question;
    str_init(&safe, SIZE_MAX);
    const struct ethos_view text = scan_visible(question, &safe);
    int code = remote_client_builtin->embed(ethos, embedder, &text, 1, QUESTION_WAIT_MS, &made,
                                            &why);
    str_release(&safe);
    if (code != ETHOS_OK) {
        report_outage(ethos, &why);
        return NULL;
    }
    set_outage_reported(ethos, false);
    free(ethos->remote_question.values);
    ethos->remote_question = made;
    ethos->remote_question_hash = hash;
    return &ethos->remote_question;
}
