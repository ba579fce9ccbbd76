/*
 * own_notes.c: measures recall on a person's own notes: indexes them without titles, and asks their
 * hooks.
 */
#include "memory/recall/own_notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/formats/text_units.h"
#include "core/notes/note.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"
#include "memory/recall/folder.h"
#include "memory/recall/scope_index.h"
#include "memory/scope_router.h"
#include "recall/builder.h"
#include "recall/ranker.h"

#define SPEAKER VIEW("user")

struct measuring {
    struct ethos_turn *turn;
    struct recall_builder *builder;
    struct recall_model *model;    /* or NULL */
    struct vector_builder vectors; /* with a model */
    struct arena arena;
    const char **questions; /* number by note */
    size_t count, room;
    uint32_t *notes; /* number by document */
    size_t documents, document_room;
    struct ethos_error *error;
};

/* ---- the notes ------------------------------------------------------------------------------- */

static int add_measured_note(struct measuring *self)
{
    uint32_t *rows = arena_grow(&self->arena, self->notes, self->documents, &self->document_room,
                                sizeof *rows);
    const struct recall_document document = {.group = (uint32_t)self->documents, .time_ms = -1};
    if (!rows)
        return ETHOS_NOMEM;
    self->notes = rows;
    rows[self->documents++] = (uint32_t)self->count;
    return recall_builder_document(self->builder, &document, self->error);
}

static int add_measured_unit(void *arg, const struct text_unit *unit)
{
    struct measuring *self = arg;
    const struct recall_unit row = {
        .text = unit->text,
        .speaker = SPEAKER,
        .date = IMAGE_DATE(unit->date.year, unit->date.month, unit->date.day),
        .heading = unit->section};
    int code = unit->section ? add_measured_note(self) : ETHOS_OK;
    if (code != ETHOS_OK || (unit->section && view_blank(unit->text)))
        return code;
    if (code == ETHOS_OK && self->model)
        code = vector_builder_add(&self->vectors, unit->text, self->error);
    return code ? code : recall_builder_unit(self->builder, &row, self->error);
}

/* Its description, else its title, from which its file name may be made. */
static int add_note_question(struct measuring *self, const char *key, struct ethos_view text)
{
    static const struct text_date none = {0};
    struct note note;
    struct str question;
    const char **rows = arena_grow(&self->arena, self->questions, self->count, &self->room,
                                   sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    self->questions = rows;
    note_parse(text, &note);
    str_init(&question, SIZE_MAX);
    note_value(note.description, &question);
    if (view_blank(str_view(&question)))
        note_title(&note, key, &question);
    rows[self->count] = arena_copy(&self->arena, str_view(&question));
    int code = str_code(&question) || !rows[self->count] ? ETHOS_NOMEM : ETHOS_OK;
    str_release(&question);
    if (code == ETHOS_OK)
        code = text_units_each(note.body, VIEW(""), none, add_measured_unit, self);
    self->count++;
    return code;
}

static int add_measured_scope(struct measuring *self, const char *scope)
{
    struct notes notes = {.count = 0};
    struct scope_index reader = {.ethos = self->turn->ethos,
                                 .provider = split_at(self->turn->provider, scope, NULL)};
    struct scope_text text;
    struct ethos_error why;
    int code = notes_load(self->turn, scope, &notes, &why);
    snprintf(reader.scope, sizeof reader.scope, "%s", scope);
    scope_text_init(&text);
    for (size_t i = 0; code == ETHOS_OK && i < notes.count; i++) {
        struct ethos_view visible;
        code = scope_index_read(&reader, notes.rows[i].key, &text, &visible, &why);
        if (code == ETHOS_OK)
            code = add_note_question(self, notes.rows[i].key, visible);
        else if (code != ETHOS_NOMEM)
            code = ETHOS_OK;
    }
    scope_text_release(self->turn->ethos, &text);
    notes_release(self->turn, &notes);
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

/* ---- the questions --------------------------------------------------------------------------- */

static uint32_t note_number_of(const struct measuring *self, const struct image *image,
                               uint32_t unit)
{
    uint32_t document = 0;
    while (image_units_end(image, document) <= unit)
        document++;
    return self->notes[document];
}

/* As in normal recall. */
static bool is_found(const struct ranker_hit *hit)
{
    return hit->window > 0 || hit->meaning >= RANKER_LEAST_MEANING;
}

/* The rank of a note among the notes found; 0: not found. */
static size_t find_note_rank(const struct measuring *self, const struct image *image,
                             const struct ranker_hit *hits, size_t count, uint32_t wanted)
{
    size_t place = 1;
    for (size_t i = 0; i < count && is_found(&hits[i]); i++) {
        uint32_t note = note_number_of(self, image, hits[i].unit);
        bool before = false;
        if (note == wanted)
            return place;
        for (size_t h = 0; h < i && !before; h++)
            before = note_number_of(self, image, hits[h].unit) == note;
        place += !before;
    }
    return 0;
}

static int measure_question(struct measuring *self, const struct image *image,
                            struct recall_measure *out)
{
    const struct vectors piece = vector_builder_view(&self->vectors, 0);
    const struct image_vectors vectors = {&piece, 1};
    const struct ranker_scope scope = {
        .images = image, .count = 1, .meaning = {self->model, self->model ? &vectors : NULL}};
    struct ranker_hit *hits = arena_array(&self->arena, RANKER_MAX_HITS, sizeof *hits);
    int code = hits ? ETHOS_OK : err_nomem(self->error);
    int64_t start = os_monotonic_ms();
    for (uint32_t i = 0; code == ETHOS_OK && i < self->count; i++) {
        size_t count = 0;
        code = ranker_rank(&scope, view_str(self->questions[i]), RANKER_MAX_HITS, hits, &count,
                           self->error);
        size_t place = find_note_rank(self, image, hits, count, i);
        recall_measure_add(out, &place, place > 0, 1);
    }
    out->elapsed_ms = os_monotonic_ms() - start;
    out->texts = self->count;
    return code;
}

int recall_own_notes(struct ethos_turn *turn, struct recall_measure *out, struct ethos_error *error)
{
    struct measuring self = {.turn = turn, .error = error};
    const char *scopes[NOTES_TIERS];
    struct image image;
    struct str bytes;
    *out = (struct recall_measure){.questions = 0};
    arena_init(&self.arena);
    str_init(&bytes, IMAGE_MAX);
    recall_folder_begin(turn->ethos);
    self.model = recall_folder_model(turn->ethos);
    int code = recall_builder_new(self.model ? &self.model->table : NULL, &self.builder, error);
    if (code == ETHOS_OK && self.model)
        code = vector_builder_init(&self.vectors, self.model, error);
    size_t count = notes_tiers(turn, scopes);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = add_measured_scope(&self, scopes[i]);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    if (code == ETHOS_OK)
        code = recall_builder_finish(self.builder, &bytes, error);
    if (code == ETHOS_OK)
        code = image_open(str_view(&bytes), &image, error);
    if (code == ETHOS_OK)
        code = measure_question(&self, &image, out);
    recall_builder_free(self.builder);
    vector_builder_release(&self.vectors);
    str_release(&bytes);
    arena_release(&self.arena);
    return code;
}
