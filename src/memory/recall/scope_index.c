/*
 * scope_index.c: lists the texts of a scope, compares them with its index, and indexes what
 * changed.
 */
#include "memory/recall/scope_index.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/memory/scope.h"
#include "memory/backends.h"
#include "memory/handle_internal.h"
#include "memory/recall/folder.h"
#include "memory/recall/text_index.h"
#include "memory/recall/vector_fill.h"

#define SETTLED_MS 50 /* a directory with a newer mtime may change again at the same time */

/* A text, and its consecutive documents in the index. */
struct indexed_text {
    const char *key;
    uint64_t bytes, stamp;
    int64_t time_ms;
    size_t frame;
    uint32_t document, documents; /* documents 0: not indexed */
    bool build;                   /* must be indexed */
};

struct index_update {
    struct scope_index *self;
    struct arena arena;
    struct indexed_text *entries; /* by key */
    size_t count, room;
    uint64_t stamp; /* of the directory; 0: unknown */
    bool changed;
};

/* ---- texts ----------------------------------------------------------------------------------- */

void scope_text_init(struct scope_text *text)
{
    text->raw = (struct ethos_text){0};
    text->found = false;
    str_init(&text->safe, ETHOS_MAX_STORE_BYTES);
}

void scope_text_release(const struct ethos *ethos, struct scope_text *text)
{
    service_free_text(ethos, &text->raw);
    str_release(&text->safe);
}

static struct ethos_view raw_view(const struct scope_text *text)
{
    return view_of(text->raw.data, text->raw.size);
}

uint64_t scope_text_version(struct ethos_view visible)
{
    return hash_mix(0, visible);
}

/*
 * The part of a text that models may read. The owner's decisions are applied where the scanner
 * found something.
 */
static struct ethos_view make_visible_text(const struct scope_index *self, struct scope_text *text)
{
    struct ethos_view raw = raw_view(text), visible = scan_visible(raw, &text->safe);
    text->found = visible.data != raw.data;
    return text->found && self->shown.count > 0 ? scan_visible_with(raw, &self->shown, &text->safe)
                                                : visible;
}

static int read_raw(const struct scope_index *self, const char *key, struct scope_text *text,
                    struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, 0};
    TRY(self->provider->ops->read(self->provider, self->scope, key, &whole, &text->raw, error));
    return text->raw.total > text->raw.size
               ? err_set(error, ETHOS_LIMIT, "%s: too large to be searched", key)
               : ETHOS_OK;
}

int scope_index_read(const struct scope_index *self, const char *key, struct scope_text *text,
                     struct ethos_view *out, struct ethos_error *error)
{
    TRY(read_raw(self, key, text, error));
    *out = make_visible_text(self, text);
    return str_code(&text->safe) ? err_nomem(error) : ETHOS_OK;
}

int scope_index_read_again(const struct scope_index *self, const char *key,
                           const struct image_document *indexed, struct scope_text *text,
                           struct ethos_view *out, struct ethos_error *error)
{
    if (indexed->mark != scan_edition())
        return scope_index_read(self, key, text, out, error);
    TRY(read_raw(self, key, text, error));
    *out = raw_view(text);
    text->found = false;
    if (scope_text_version(*out) != indexed->version)
        *out = make_visible_text(self, text);
    return str_code(&text->safe) ? err_nomem(error) : ETHOS_OK;
}

/* ---- listing --------------------------------------------------------------------------------- */

/*
 * A stamp that is neither 0 nor INDEX_GONE; 0 if the time is unknown. It changes with the lines
 * that the owner allows, so that every text is then read again.
 */
static uint64_t make_stamp(const struct scope_index *self, uint64_t bytes, int64_t time_ms)
{
    const uint64_t parts[] = {bytes, (uint64_t)time_ms};
    uint64_t stamp = hash_mix(self->shown_mark, view_of((const char *)parts, sizeof parts));
    return time_ms < 0 ? 0 : stamp == INDEX_GONE || stamp == 0 ? 1 : stamp;
}

static int add_indexed_text(struct index_update *job, const char *key, uint64_t bytes,
                            int64_t time_ms)
{
    if (job->count == RECALL_MAX_FILES) {
        job->self->partial = true;
        return ETHOS_OK;
    }
    struct indexed_text *rows = arena_grow(&job->arena, job->entries, job->count, &job->room,
                                           sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    job->entries = rows;
    rows[job->count] = (struct indexed_text){.key = arena_str(&job->arena, key),
                                             .bytes = bytes,
                                             .stamp = make_stamp(job->self, bytes, time_ms),
                                             .time_ms = time_ms};
    return rows[job->count++].key ? ETHOS_OK : ETHOS_NOMEM;
}

static int add_listed(void *arg, const struct ethos_entry *entry)
{
    return scope_key_visible(entry->key)
               ? add_indexed_text(arg, entry->key, entry->bytes, entry->mtime_ms)
               : ETHOS_OK;
}

/* An unreadable text does not hide the others, and is reported. */
static int skip_unreadable(struct scope_index *self, int code, const struct ethos_error *why)
{
    if (code == ETHOS_OK || code == ETHOS_NOMEM || code == ETHOS_NOTFOUND)
        return code == ETHOS_NOMEM ? code : ETHOS_OK; // deleted meanwhile
    self->unreadable++;
    if (self->code == ETHOS_OK) {
        self->code = code;
        self->error = *why;
    }
    return ETHOS_OK;
}

/* The archive is not listed; reading its end shows whether it changed. */
static int add_archive(struct index_update *job)
{
    static const struct ethos_read_how end = {1, 0};
    struct scope_index *self = job->self;
    struct ethos_text text = {0};
    struct ethos_error why;
    int code = self->provider->ops->read(self->provider, self->scope, RECALL_ARCHIVE, &end, &text,
                                         &why);
    if (code == ETHOS_OK)
        code = add_indexed_text(job, RECALL_ARCHIVE, text.total, text.mtime_ms);
    service_free_text(self->ethos, &text);
    return skip_unreadable(self, code, &why);
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct indexed_text *)a)->key, ((const struct indexed_text *)b)->key);
}

static int list_texts(struct index_update *job, struct ethos_error *error)
{
    struct ethos_provider *provider = job->self->provider;
    int code = provider->ops->list(provider, job->self->scope, add_listed, job, error);
    if (code == ETHOS_NOTFOUND)
        code = ETHOS_OK;
    if (code == ETHOS_OK)
        code = add_archive(job);
    if (job->count > 0)
        qsort(job->entries, job->count, sizeof *job->entries, compare_entries);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/*
 * The mtime of the scope's directory, if its texts are files; 0 if it may change again without
 * notice.
 */
static uint64_t directory_stamp(const struct scope_index *self)
{
    char path[PATH_MAX];
    struct stat info;
    struct ethos_provider *provider = self->provider;
    if (!backends_here(self->ethos, provider) ||
        provider->ops->locate(provider, self->scope, "MEMORY.md", path, sizeof path, NULL) !=
            ETHOS_OK)
        return 0;
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    if (os_fstatat(AT_FDCWD, path, &info, 0) != 0)
        return 0;
    int64_t ns = info.st_mtim.tv_sec * (int64_t)1000000000 + info.st_mtim.tv_nsec;
    return os_now_ms() - ns / 1000000 > SETTLED_MS ? make_stamp(self, info.st_ino, ns) : 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static struct indexed_text *find_indexed_text(const struct index_update *job, struct ethos_view key)
{
    size_t low = 0, high = job->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct ethos_view at = view_str(job->entries[middle].key);
        int order = memcmp(at.data, key.data, at.size < key.size ? at.size : key.size);
        order = order ? order : (at.size > key.size) - (at.size < key.size);
        if (order == 0)
            return &job->entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool is_forced(const struct scope_index *self, const char *key)
{
    for (size_t i = 0; i < self->forced_count; i++)
        if (strcmp(self->forced[i], key) == 0)
            return true;
    return false;
}

static void restamp_text(struct index_update *job, const struct indexed_text *entry, uint64_t stamp)
{
    for (uint32_t d = 0; d < entry->documents; d++)
        recall_index_restamp(job->self->index, entry->frame, entry->document + d, stamp);
    job->changed = true;
}

/* For a text in two frames, as a killed writer leaves it, the later one counts. */
static void place_document(struct index_update *job, size_t frame, uint32_t document,
                           struct ethos_view name)
{
    struct indexed_text *entry = find_indexed_text(job, name);
    if (!entry) {
        recall_index_restamp(job->self->index, frame, document, INDEX_GONE);
        job->changed = true;
        return;
    }
    if (entry->documents > 0 && entry->frame == frame) {
        entry->documents++;
        return;
    }
    if (entry->documents > 0)
        restamp_text(job, entry, INDEX_GONE);
    entry->frame = frame;
    entry->document = document;
    entry->documents = 1;
}

static void place_documents(struct index_update *job)
{
    size_t count;
    const struct recall_frame *frames = recall_index_frames(job->self->index, &count);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < frames[i].image.counts.documents; d++)
            if (!image_is_gone(&frames[i].image, d))
                place_document(job, i, d, image_document_name(&frames[i].image, d));
}

/* Whether the content of a text differs from what was indexed; unreadable ones are left out. */
static int compare_text(struct index_update *job, struct indexed_text *entry,
                        struct scope_text *text)
{
    size_t count;
    struct ethos_view visible;
    struct ethos_error why;
    const struct recall_frame *frames = recall_index_frames(job->self->index, &count);
    const struct recall_frame *frame = &frames[entry->frame];
    if (frame->stamps[entry->document] == entry->stamp && entry->stamp != 0 &&
        !is_forced(job->self, entry->key))
        return ETHOS_OK;
    int code = scope_index_read(job->self, entry->key, text, &visible, &why);
    bool same = code == ETHOS_OK &&
                frame->image.documents[entry->document].version == scope_text_version(visible);
    if (same && frame->stamps[entry->document] != entry->stamp)
        restamp_text(job, entry, entry->stamp);
    if (!same)
        restamp_text(job, entry, INDEX_GONE);
    entry->build = code == ETHOS_OK && !same;
    return skip_unreadable(job->self, code, &why);
}

static int compare_texts(struct index_update *job)
{
    struct scope_text text;
    int code = ETHOS_OK;
    scope_text_init(&text);
    place_documents(job);
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        struct indexed_text *entry = &job->entries[i];
        if (entry->documents == 0)
            entry->build = true;
        else
            code = compare_text(job, entry, &text);
    }
    scope_text_release(job->self->ethos, &text);
    return code;
}

/* ---- indexing -------------------------------------------------------------------------------- */

/* Oldest first, as ranking takes units to be in order of time. */
static int compare_times(const void *a, const void *b)
{
    const struct indexed_text *x = *(const struct indexed_text *const *)a,
                              *y = *(const struct indexed_text *const *)b;
    if (x->time_ms != y->time_ms)
        return x->time_ms < y->time_ms ? -1 : 1;
    return strcmp(x->key, y->key);
}

/* The texts to index in a frame that replaces those from `from` on. */
static size_t choose_texts(struct index_update *job, size_t from, const struct indexed_text **out)
{
    size_t count = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct indexed_text *entry = &job->entries[i];
        entry->build = entry->build || (entry->documents > 0 && entry->frame >= from);
        if (entry->build)
            out[count++] = entry;
    }
    qsort(out, count, sizeof *out, compare_times);
    return count;
}

static int index_texts(struct index_update *job, const struct indexed_text *const *entries,
                       size_t count, struct text_index *out, struct ethos_error *error)
{
    struct scope_text text;
    struct ethos_view visible;
    int code = ETHOS_OK;
    scope_text_init(&text);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++) {
        struct ethos_error why;
        code = scope_index_read(job->self, entries[i]->key, &text, &visible, &why);
        if (code != ETHOS_OK) {
            code = skip_unreadable(job->self, code, &why) ? err_nomem(error) : ETHOS_OK;
            continue; // later
        }
        const struct text_source source = {.key = entries[i]->key,
                                           .version = scope_text_version(visible),
                                           .mark = text.found ? 0 : scan_edition(),
                                           .stamp = entries[i]->stamp,
                                           .time_ms = entries[i]->time_ms};
        code = text_index_add(out, &source, visible, error);
    }
    scope_text_release(job->self->ethos, &text);
    job->self->indexed += count;
    return code;
}

static int append_index_frame(struct index_update *job, struct ethos_error *error)
{
    struct scope_index *self = job->self;
    struct text_index made;
    struct str image;
    uint64_t bytes = 0;
    size_t frames;
    for (size_t i = 0; i < job->count; i++)
        bytes += job->entries[i].build ? job->entries[i].bytes : 0;
    size_t from = recall_index_merge(self->index, bytes);
    const struct indexed_text **entries = arena_array(&job->arena, job->count + 1, sizeof *entries);
    if (!entries)
        return err_nomem(error);
    size_t count = choose_texts(job, from, entries);
    recall_index_frames(self->index, &frames);
    if (count == 0 && from == frames)
        return ETHOS_OK;
    str_init(&image, IMAGE_MAX);
    int code = text_index_begin(&made, recall_folder_model(self->ethos), error);
    code = code ? code : index_texts(job, entries, count, &made, error);
    code = code ? code : text_index_finish(&made, &image, error);
    if (code == ETHOS_OK)
        code = recall_index_add(self->index, from, &image, text_index_stamps(&made),
                                text_index_documents(&made), error);
    text_index_release(&made);
    str_release(&image);
    job->changed = true;
    return code;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Opens the index; a damaged one counts as empty. */
static int open_index(struct scope_index *self, struct ethos_error *error)
{
    char name[RECALL_NAME_SIZE];
    int folder = recall_folder_open(self->ethos, false);
    recall_file_name(self->scope, name);
    recall_index_close(self->index);
    self->index = NULL;
    int code = recall_folder_index(self->ethos, folder, name, &self->index, error);
    if (code == ETHOS_CORRUPT) {
        log_line(self->ethos->host, ETHOS_LOG_WARN, "recall/%s was damaged; it is rebuilt", name);
        self->damaged = true;
        code = recall_folder_index(self->ethos, -1, name, &self->index, error);
    }
    if (folder >= 0)
        os_close(folder);
    return code;
}

static void save_index(struct index_update *job)
{
    struct scope_index *self = job->self;
    char name[RECALL_NAME_SIZE];
    struct ethos_error why;
    int folder = recall_folder_open(self->ethos, true);
    recall_file_name(self->scope, name);
    if (folder >= 0 && job->count == 0)
        recall_folder_unlink(folder, name);
    else
        self->unsaved = folder < 0 ||
                        recall_index_save(self->index, folder, name, job->stamp, &why);
    if (self->unsaved)
        log_line(self->ethos->host, ETHOS_LOG_WARN, "recall/%s could not be written", name);
    if (folder >= 0)
        os_close(folder);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Compares again: earlier results belong to an index that was closed. */
static int compare_anew(struct index_update *job, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        job->entries[i].documents = 0;
        job->entries[i].build = false;
    }
    TRY(open_index(job->self, error));
    return compare_texts(job) != ETHOS_OK ? err_nomem(error) : ETHOS_OK;
}

static bool has_work(const struct index_update *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->entries[i].build)
            return true;
    return job->changed;
}

static int update_index(struct index_update *job, struct ethos_error *error)
{
    struct scope_index *self = job->self;
    recall_folder_model(self->ethos); // from now on
    int code = compare_texts(job) ? err_nomem(error) : ETHOS_OK;
    bool work = code == ETHOS_OK &&
                (has_work(job) ||
                 (job->stamp != 0 && job->stamp != recall_index_stamp(self->index)));
    if (!work)
        return code;
    int lock = -1;
    if (recall_folder_lock(self->ethos, 0, &lock, NULL) == ETHOS_OK)
        code = compare_anew(job, error);
    if (code == ETHOS_OK)
        code = append_index_frame(job, error);
    if (code == ETHOS_OK && lock >= 0)
        save_index(job);
    self->unsaved = self->unsaved || lock < 0;
    if (lock >= 0)
        os_close(lock);
    return code;
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* The last text that was read. */
struct unit_reader {
    const struct scope_index *self;
    struct scope_text text;
    struct ethos_view visible; /* data NULL: unreadable */
    char key[ETHOS_MAX_KEY + 1];
};

static int read_indexed_unit(void *arg, const struct image *image, uint32_t document, uint32_t unit,
                             struct ethos_view *out)
{
    struct unit_reader *reader = arg;
    const struct image_unit *row = &image->units[unit];
    struct ethos_view name = image_document_name(image, document);
    if (!view_eq_str(name, reader->key)) {
        snprintf(reader->key, sizeof reader->key, "%.*s", VIEW_ARG(name));
        int code = scope_index_read(reader->self, reader->key, &reader->text, &reader->visible,
                                    NULL);
        if (code == ETHOS_NOMEM)
            return code;
        if (code != ETHOS_OK)
            reader->visible = (struct ethos_view){0};
    }
    if ((uint64_t)row->offset + row->size <= reader->visible.size)
        *out = view_of(reader->visible.data + row->offset, row->size);
    return ETHOS_OK;
}

static int encode_vectors(struct scope_index *self, struct recall_model *model,
                          struct ethos_error *error)
{
    char name[RECALL_NAME_SIZE];
    struct unit_reader reader = {.self = self};
    recall_file_name(self->scope, name);
    struct vector_fill fill = {.ethos = self->ethos,
                               .model = model,
                               .index = self->index,
                               .file = name,
                               .read = read_indexed_unit,
                               .arg = &reader,
                               .until_ms = self->encode_until_ms};
    scope_text_init(&reader.text);
    int code = vector_fill_run(&fill, &self->vectors, error);
    scope_text_release(self->ethos, &reader.text);
    self->encoded = fill.encoded;
    return code;
}

int scope_index_open_vectors(struct scope_index *self, struct ethos_error *error)
{
    char name[RECALL_NAME_SIZE];
    struct ethos_error why;
    recall_file_name(self->scope, name);
    int code = self->vectors ? ETHOS_OK
                             : vector_fill_open(self->ethos, recall_folder_model(self->ethos), name,
                                                &self->vectors, &why);
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

/* Vectors are optional: without them words are found. */
static int encode_new(struct scope_index *self, struct ethos_error *error)
{
    struct ethos_error why;
    struct recall_model *model;
    if (self->encode_until_ms == SCOPE_ENCODE_NOTHING)
        return ETHOS_OK;
    model = recall_folder_model(self->ethos);
    int code = scope_index_open_vectors(self, error);
    if (code == ETHOS_OK && self->vectors && vector_fill_lacks(self->vectors, self->index))
        code = encode_vectors(self, model, &why);
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

/* ---- lines that are shown -------------------------------------------------------------------- */

static int choose_shown(struct scope_index *self, const struct shown_decisions *decisions)
{
    struct shown_line *rows = arena_array(&self->arena, decisions->count + 1, sizeof *rows);
    size_t count = 0;
    for (size_t i = 0; rows && i < decisions->count; i++) {
        const struct shown_decision *row = &decisions->rows[i];
        if (strcmp(row->scope, self->scope) != 0)
            continue;
        rows[count++] = row->line;
        self->shown_mark = hash_mix(self->shown_mark + row->line.what, view_str(row->line.hash));
    }
    self->shown = (struct shown_lines){rows, count};
    return rows ? ETHOS_OK : ETHOS_NOMEM;
}

/* Unreadable decisions allow nothing. */
static int read_decisions(struct scope_index *self)
{
    struct shown_decisions own;
    struct ethos_error why;
    self->shown.count = 0;
    self->shown_mark = 0;
    if (self->decisions)
        return self->decisions->count > 0 ? choose_shown(self, self->decisions) : ETHOS_OK;
    int code = shown_file_read(self->ethos, self->scope, &self->arena, &own, &why);
    if (code != ETHOS_OK || own.count == 0)
        return code == ETHOS_NOMEM ? code : ETHOS_OK;
    return choose_shown(self, &own);
}

/* ---- from outside ---------------------------------------------------------------------------- */

static int update_if_changed(struct scope_index *self, bool quick, struct ethos_error *error)
{
    if (read_decisions(self) != ETHOS_OK)
        return err_nomem(error);
    struct index_update job = {.self = self, .stamp = directory_stamp(self)};
    int code = open_index(self, error);
    if (code == ETHOS_OK && quick && job.stamp != 0 && self->forced_count == 0 &&
        job.stamp == recall_index_stamp(self->index))
        return ETHOS_OK;
    arena_init(&job.arena);
    code = code ? code : list_texts(&job, error);
    size_t frames = 0;
    if (code == ETHOS_OK)
        recall_index_frames(self->index, &frames);
    if (code == ETHOS_OK && (job.count > 0 || frames > 0))
        code = update_index(&job, error);
    arena_release(&job.arena);
    return code;
}

int scope_index_catch_up(struct scope_index *self, bool quick, struct ethos_error *error)
{
    int code = update_if_changed(self, quick, error);
    vector_file_close(self->vectors);
    self->vectors = NULL;
    return code ? code : encode_new(self, error);
}

/* Whether a document belongs to the current text, or to one with another time. */
static int verify_document(const struct scope_index *self, const struct recall_frame *frame,
                           uint32_t document, struct scope_text *text, bool *out_same)
{
    char key[ETHOS_MAX_KEY + 1];
    struct ethos_view visible;
    snprintf(key, sizeof key, "%.*s", VIEW_ARG(image_document_name(&frame->image, document)));
    int code = scope_index_read(self, key, text, &visible, NULL);
    if (code == ETHOS_OK)
        *out_same = frame->image.documents[document].version == scope_text_version(visible) ||
                    frame->stamps[document] !=
                        make_stamp(self, text->raw.total, text->raw.mtime_ms);
    return code == ETHOS_NOMEM ? ETHOS_NOMEM : ETHOS_OK;
}

int scope_index_verify(struct scope_index *self, bool *out_same, struct ethos_error *error)
{
    char name[RECALL_NAME_SIZE];
    struct scope_text text;
    size_t count = 0;
    int folder = recall_folder_open(self->ethos, false);
    recall_file_name(self->scope, name);
    int code = read_decisions(self) ? err_nomem(error)
                                    : recall_index_open(folder, name, 0, NULL, &self->index, error);
    if (folder >= 0)
        os_close(folder);
    if (code != ETHOS_OK)
        return code;
    const struct recall_frame *frames = recall_index_frames(self->index, &count);
    *out_same = true;
    scope_text_init(&text);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; *out_same && code == ETHOS_OK && d < frames[i].image.counts.documents;
             d++)
            if (!image_is_gone(&frames[i].image, d))
                code = verify_document(self, &frames[i], d, &text, out_same);
    scope_text_release(self->ethos, &text);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

int scope_index_force(struct scope_index *self, struct ethos_view key)
{
    const char **rows = arena_grow(&self->arena, self->forced, self->forced_count,
                                   &self->forced_room, sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    self->forced = rows;
    rows[self->forced_count] = arena_copy(&self->arena, key);
    return rows[self->forced_count++] ? ETHOS_OK : ETHOS_NOMEM;
}

void scope_index_release(struct scope_index *self)
{
    vector_file_close(self->vectors);
    recall_index_close(self->index);
    arena_release(&self->arena);
}
