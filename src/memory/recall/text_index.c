/*
 * text_index.c: turns a text of memory into documents and units of an index.
 */
#include "memory/recall/text_index.h"

#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/formats/text_units.h"
#include "core/memory/archive_blocks.h"
#include "core/notes/note.h"
#include "memory/notes/list.h"
#include "memory/recall/scope_index.h"

/* Texts of memory count as said by the user, who owns them. */
#define SPEAKER VIEW("user")

/* A text that is being added. */
struct adding {
    struct text_index *index;
    const struct text_source *source;
    size_t start; /* offset of the current part in the text */
    struct ethos_error *error;
};

int text_index_begin(struct text_index *self, const struct recall_model *model,
                     struct ethos_error *error)
{
    *self = (struct text_index){.documents = 0};
    str_init(&self->stamps, SIZE_MAX);
    return recall_builder_new(model ? &model->table : NULL, &self->builder, error);
}

void text_index_release(struct text_index *self)
{
    recall_builder_free(self->builder);
    str_release(&self->stamps);
}

static int add_text_document(struct adding *adding)
{
    struct text_index *index = adding->index;
    const struct text_source *source = adding->source;
    const struct recall_document document = {.name = view_str(source->key),
                                             .group = index->documents++,
                                             .version = source->version,
                                             .mark = source->mark,
                                             .time_ms = source->time_ms};
    if (str_add(&index->stamps, view_of((const char *)&source->stamp, sizeof source->stamp)))
        return err_nomem(adding->error);
    return recall_builder_document(index->builder, &document, adding->error);
}

static int add_text_unit(void *arg, const struct text_unit *unit)
{
    struct adding *adding = arg;
    const struct recall_unit row = {
        .text = unit->text,
        .speaker = SPEAKER,
        .date = IMAGE_DATE(unit->date.year, unit->date.month, unit->date.day),
        .offset = (uint32_t)(adding->start + unit->offset),
        .heading = unit->section,
    };
    int code = unit->section ? add_text_document(adding) : ETHOS_OK;
    if (code != ETHOS_OK || (unit->section && view_blank(unit->text)))
        return code;
    return recall_builder_unit(adding->index->builder, &row, adding->error);
}

static int add_text_part(struct adding *adding, struct ethos_view text, struct ethos_view part,
                         struct ethos_view above, struct text_date date)
{
    adding->start = (size_t)(part.data - text.data);
    return text_units_each(part, above, date, add_text_unit, adding);
}

/* Title, description and type become headings above everything. */
static int add_note_text(struct adding *adding, struct ethos_view text)
{
    struct note note;
    struct text_date date;
    CLEANUP_STR struct str above;
    note_parse(text, &note);
    str_init(&above, SIZE_MAX);
    note_title(&note, adding->source->key, &above);
    str_adds(&above, ". ");
    note_value(note.description, &above);
    if (!text_date_find(note.verified, &date))
        text_date_find(note.created, &date);
    return str_code(&above) ? ETHOS_NOMEM
                            : add_text_part(adding, text, note.body, str_view(&above), date);
}

/* The text before the first block, then each block with its time. */
static int add_archive(struct adding *adding, struct ethos_view text)
{
    static const struct text_date none = {0};
    struct ethos_view rest = text;
    struct archive_block block;
    int code = ETHOS_OK;
    bool first = true;
    for (; code == ETHOS_OK && archive_next(&rest, &block); first = false) {
        struct ethos_view before = view_of(text.data, (size_t)(block.whole.data - text.data));
        struct text_date date;
        text_date_find(block.iso, &date);
        if (first)
            code = add_text_part(adding, text, before, VIEW(""), none);
        code = code ? code : add_text_part(adding, text, block.body, block.slug, date);
    }
    return first ? add_text_part(adding, text, text, VIEW(""), none) : code;
}

int text_index_add(struct text_index *self, const struct text_source *source,
                   struct ethos_view text, struct ethos_error *error)
{
    static const struct text_date none = {0};
    struct adding adding = {.index = self, .source = source, .error = error};
    uint32_t before = self->documents;
    int code;
    if (strcmp(source->key, RECALL_ARCHIVE) == 0)
        code = add_archive(&adding, text);
    else if (strcmp(source->key, NOTES_INDEX) == 0 || strcmp(source->key, "USER.md") == 0)
        code = add_text_part(&adding, text, text, VIEW(""), none);
    else
        code = add_note_text(&adding, text);
    if (code == ETHOS_OK && self->documents == before)
        code = add_text_document(&adding); // nothing in it, which is indexed as such
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

int text_index_finish(struct text_index *self, struct str *image, struct ethos_error *error)
{
    return recall_builder_finish(self->builder, image, error);
}

uint32_t text_index_documents(const struct text_index *self)
{
    return self->documents;
}

const uint64_t *text_index_stamps(const struct text_index *self)
{
    return (const uint64_t *)(const void *)self->stamps.data;
}
