/*
 * chunks.c: lists the entries of a file, finds one by its id, and where each came from.
 */
#include "memory/chunks/chunks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/archive_blocks.h"
#include "core/search/matched_words.h"
#include "memory/chunks/chunks_internal.h"
#include "memory/handle_internal.h"
#include "memory/history/blame.h"
#include "memory/notes/list.h"
#include "memory/recall/scope_index.h"

#define PROFILE "USER.md"

void memory_chunks_init(struct memory_chunks *self)
{
    *self = (struct memory_chunks){.count = 0};
    arena_init(&self->arena);
}

void memory_chunks_release(struct memory_chunks *self)
{
    arena_release(&self->arena);
}

/* ---- places ---------------------------------------------------------------------------------- */

struct chunk_place chunk_place_of(const struct ethos_turn *turn, enum chunk_store store,
                                  bool archived)
{
    const struct ethos_context *context = &turn->context;
    bool memory = store == CHUNK_MEMORY;
    return (struct chunk_place){.store = store,
                                .scope = memory ? context->memory_scope : context->user_scope,
                                .key = archived ? RECALL_ARCHIVE
                                       : memory ? NOTES_INDEX
                                                : PROFILE,
                                .archived = archived};
}

/* The archive is hidden from callers; its text is read as the index reads it. */
static int read_archive(struct ethos_turn *turn, const struct chunk_place *place,
                        struct arena *arena, struct ethos_view *out, struct ethos_error *error)
{
    struct ethos_text text = {0};
    int code = notes_read(turn, place->scope, place->key, &text, error);
    if (code == ETHOS_OK) {
        *out = view_of(arena_copy(arena, view_of(text.data, text.size)), text.size);
        code = out->data ? ETHOS_OK : err_nomem(error);
    }
    notes_free(turn, &text);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

int chunks_read(struct ethos_turn *turn, const struct chunk_place *place, struct arena *arena,
                struct ethos_view *out, struct ethos_error *error)
{
    const struct ethos_target target = {NULL, place->scope, place->key};
    struct ethos_file *file;
    *out = (struct ethos_view){0};
    if (place->archived)
        return read_archive(turn, place, arena, out, error);
    int code = ethos_read(turn, &target, &file, error);
    if (code != ETHOS_OK)
        return code;
    if (file->text) {
        *out = view_of(arena_copy(arena, view_of(file->text, file->size)), file->size);
        code = out->data ? ETHOS_OK : err_nomem(error);
    }
    ethos_file_free(file);
    return code;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int add_chunk_row(struct memory_chunks *self, const struct chunk_place *place,
                         const struct chunk *chunk, size_t number)
{
    struct memory_chunk *rows = arena_grow(&self->arena, self->rows, self->count, &self->capacity,
                                           sizeof *rows);
    CLEANUP_STR struct str content = {0};
    char hash[CHUNK_ID_SIZE], suffix[24] = "";
    if (!rows)
        return ETHOS_NOMEM;
    self->rows = rows;
    struct memory_chunk *row = &rows[self->count++];
    *row = (struct memory_chunk){.store = place->store,
                                 .scope = place->scope,
                                 .key = place->key,
                                 .line = chunk->line,
                                 .depth = chunk->depth,
                                 .archived = place->archived,
                                 .created_ms = -1,
                                 .similarity = -1};
    if (number > 1)
        snprintf(suffix, sizeof suffix, "-%zu", number);
    chunk_hash(place->scope, place->key, chunk->text, hash);
    if (chunk->block.data)
        snprintf(row->id, sizeof row->id, "^%.*s%s", VIEW_ARG(chunk->block), suffix);
    else
        snprintf(row->id, sizeof row->id, "%s%s", hash, suffix);
    hash_revision(chunk->text, row->revision);
    str_init(&content, SIZE_MAX);
    str_adds(&content, "");
    chunk_content(chunk, &content);
    row->content = view_of(arena_copy(&self->arena, str_view(&content)), content.size);
    row->path = arena_array(&self->arena, chunk->depth + 1, sizeof *row->path);
    bool copied = row->content.data && row->path && str_code(&content) == ETHOS_OK;
    for (size_t i = 0; copied && i < chunk->depth; i++) {
        row->path[i] = view_of(arena_copy(&self->arena, chunk->path[i]), chunk->path[i].size);
        copied = row->path[i].data;
    }
    return copied ? ETHOS_OK : ETHOS_NOMEM;
}

/* The part of an id that equal entries share; a number tells them apart. */
static struct ethos_view identity_of(const struct chunk *chunk)
{
    return chunk->block.data ? chunk->block : chunk->text;
}

/* A hash table of entries: how often each occurred so far. */
struct tally_row {
    struct ethos_view identity;
    bool block;
    size_t count;
};

struct chunk_tally {
    struct arena arena;
    struct tally_row *slots;
    size_t slot_count, used;
};

static struct tally_row *find_tally(const struct chunk_tally *tally, struct ethos_view identity,
                                    bool block)
{
    for (size_t i = hash_mix(block, identity) & (tally->slot_count - 1);;
         i = (i + 1) & (tally->slot_count - 1)) {
        struct tally_row *row = &tally->slots[i];
        if (row->count == 0 || (row->block == block && view_eq(row->identity, identity)))
            return row;
    }
}

static bool grow_tally(struct chunk_tally *tally)
{
    struct chunk_tally old = *tally;
    tally->slot_count = old.slot_count ? 2 * old.slot_count : 64;
    tally->slots = arena_array(&tally->arena, tally->slot_count, sizeof *tally->slots);
    for (size_t i = 0; tally->slots && i < old.slot_count; i++)
        if (old.slots[i].count > 0)
            *find_tally(tally, old.slots[i].identity, old.slots[i].block) = old.slots[i];
    return tally->slots != NULL;
}

/* Counts one more occurrence and returns how many there are; 0: out of memory. */
static size_t count_tally(struct chunk_tally *tally, const struct chunk *chunk)
{
    if (2 * tally->used >= tally->slot_count && !grow_tally(tally))
        return 0;
    struct tally_row *row = find_tally(tally, identity_of(chunk), chunk->block.data);
    tally->used += row->count == 0;
    row->identity = identity_of(chunk);
    row->block = chunk->block.data;
    return ++row->count;
}

/* A walk over the entries of a file that numbers equal ones. */
typedef int numbered_fn(void *arg, const struct chunk *chunk, size_t number);

struct numbered {
    struct ethos_view text;
    struct ethos_view part;
    size_t lines; /* offset of the part */
    struct chunk_tally tally;
    numbered_fn *each;
    void *arg;
};

static int number_chunk(void *arg, const struct chunk *chunk)
{
    struct numbered *self = arg;
    struct chunk whole = *chunk;
    size_t number = count_tally(&self->tally, chunk);
    whole.offset += (size_t)(self->part.data - self->text.data);
    whole.line += self->lines;
    return number == 0 ? ETHOS_NOMEM : self->each(self->arg, &whole, number);
}

static int number_part(struct numbered *self, struct ethos_view part)
{
    self->part = part;
    self->lines = view_newlines(view_of(self->text.data, (size_t)(part.data - self->text.data)));
    return chunks_each(part, number_chunk, self);
}

/* Passes the text before the first block of an archive, then each block. */
static int number_archive(struct numbered *self)
{
    struct ethos_view rest = self->text;
    struct archive_block block;
    int code = ETHOS_OK;
    for (bool first = true; code == ETHOS_OK && archive_next(&rest, &block); first = false) {
        size_t before = (size_t)(block.whole.data - self->text.data);
        if (first)
            code = number_part(self, view_of(self->text.data, before));
        code = code ? code : number_part(self, block.body);
    }
    return code;
}

static int each_numbered(const struct chunk_place *place, struct ethos_view text, numbered_fn *each,
                         void *arg)
{
    struct numbered self = {.text = text, .each = each, .arg = arg};
    struct archive_block block;
    struct ethos_view rest = text;
    arena_init(&self.tally.arena);
    bool blocks = place->archived && archive_next(&rest, &block);
    int code = blocks ? number_archive(&self) : number_part(&self, text);
    arena_release(&self.tally.arena);
    return code;
}

/* ---- finding --------------------------------------------------------------------------------- */

struct adding {
    struct memory_chunks *chunks;
    const struct chunk_place *place;
    const struct chunk_id *id;
    size_t offset;
    struct chunk *found;
    bool has;
};

static int add_numbered(void *arg, const struct chunk *chunk, size_t number)
{
    struct adding *adding = arg;
    return add_chunk_row(adding->chunks, adding->place, chunk, number);
}

int chunks_add_text(struct memory_chunks *self, const struct chunk_place *place,
                    struct ethos_view text)
{
    struct adding adding = {.chunks = self, .place = place};
    return each_numbered(place, text, add_numbered, &adding);
}

/* "name", or "name-2" of the second one that has it. */
static bool is_block(struct ethos_view block, size_t number, struct ethos_view wanted)
{
    char suffix[24] = "";
    if (number > 1)
        snprintf(suffix, sizeof suffix, "-%zu", number);
    return wanted.size == block.size + strlen(suffix) && view_starts(wanted, block) &&
           view_eq_str(view_from(wanted, block.size), suffix);
}

static bool chunk_has_id(const struct chunk_place *place, const struct chunk *chunk, size_t number,
                         const struct chunk_id *id)
{
    char hash[CHUNK_ID_SIZE];
    if (chunk->block.data)
        return !*id->hash && is_block(chunk->block, number, id->block);
    if (!*id->hash || number != id->number)
        return false;
    chunk_hash(place->scope, place->key, chunk->text, hash);
    return strcmp(hash, id->hash) == 0;
}

static int match_numbered(void *arg, const struct chunk *chunk, size_t number)
{
    struct adding *adding = arg;
    if (!chunk_has_id(adding->place, chunk, number, adding->id))
        return ETHOS_OK;
    *adding->found = *chunk;
    adding->has = true;
    TRY(add_chunk_row(adding->chunks, adding->place, chunk, number));
    return 1;
}

int chunks_find_text(struct memory_chunks *self, const struct chunk_place *place,
                     struct ethos_view text, const struct chunk_id *id, struct chunk *out,
                     bool *out_found)
{
    struct adding adding = {.chunks = self, .place = place, .id = id, .found = out};
    int code = each_numbered(place, text, match_numbered, &adding);
    *out_found = adding.has;
    return code == 1 ? ETHOS_OK : code;
}

static int match_offset(void *arg, const struct chunk *chunk, size_t number)
{
    struct adding *adding = arg;
    return chunk->offset == adding->offset
               ? add_chunk_row(adding->chunks, adding->place, chunk, number)
               : ETHOS_OK;
}

int chunks_add_at(struct memory_chunks *self, const struct chunk_place *place,
                  struct ethos_view text, size_t offset)
{
    struct adding adding = {.chunks = self, .place = place, .offset = offset};
    return each_numbered(place, text, match_offset, &adding);
}

/* ---- the nearest ----------------------------------------------------------------------------- */

struct nearest {
    struct matched_words words;
    size_t line, distance, most, number;
    struct chunk best;
};

static int compare_numbered(void *arg, const struct chunk *chunk, size_t number)
{
    struct nearest *self = arg;
    size_t count = matched_words_find(chunk->text, &self->words);
    size_t distance = chunk->line > self->line ? chunk->line - self->line
                                               : self->line - chunk->line;
    if (count < self->most || count == 0 || (count == self->most && distance >= self->distance))
        return ETHOS_OK;
    self->most = count;
    self->distance = distance;
    self->best = *chunk;
    self->number = number;
    return ETHOS_OK;
}

int chunks_add_nearest(struct memory_chunks *self, const struct chunk_place *place,
                       struct ethos_view text, struct ethos_view content, size_t line)
{
    struct nearest *nearest = arena_alloc(&self->arena, sizeof *nearest);
    if (!nearest)
        return ETHOS_NOMEM;
    nearest->line = line;
    nearest->distance = SIZE_MAX;
    matched_words_read(content, &nearest->words);
    TRY(each_numbered(place, text, compare_numbered, nearest));
    return nearest->most > 0 ? add_chunk_row(self, place, &nearest->best, nearest->number)
                             : ETHOS_OK;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static bool is_hash(struct ethos_view text)
{
    if (text.size != CHUNK_ID_SIZE - 1)
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (!strchr("0123456789abcdef", text.data[i]))
            return false;
    return true;
}

/* Strips "-2" from the end of a hash and returns the number; 0: malformed. */
static size_t parse_number_suffix(struct ethos_view *text)
{
    size_t number = 0;
    const char *hyphen = memchr(text->data, '-', text->size);
    if (!hyphen)
        return 1;
    for (const char *at = hyphen + 1; at < text->data + text->size; at++) {
        if (*at < '0' || *at > '9' || number > 1000000)
            return 0;
        number = 10 * number + (size_t)(*at - '0');
    }
    text->size = (size_t)(hyphen - text->data);
    return number > 1 ? number : 0;
}

int chunk_id_parse(const char *id, struct chunk_id *out, struct ethos_error *error)
{
    struct ethos_view text = view_str(id), hash = text;
    size_t number = parse_number_suffix(&hash);
    *out = (struct chunk_id){.number = 1};
    if (number > 0 && is_hash(hash)) {
        memcpy(out->hash, hash.data, hash.size);
        out->number = number;
        return ETHOS_OK;
    }
    out->block = text.size > 0 && text.data[0] == '^' ? view_from(text, 1) : text;
    return chunk_is_block(out->block) ? ETHOS_OK
                                      : err_set(error, ETHOS_NOTFOUND, "no such entry: %s", id);
}

/* ---- from outside ---------------------------------------------------------------------------- */

static int add_file_chunks(struct ethos_turn *turn, const struct chunk_place *place,
                           struct memory_chunks *out, struct ethos_error *error)
{
    struct ethos_view text;
    TRY(chunks_read(turn, place, &out->arena, &text, error));
    return chunks_add_text(out, place, text) ? err_nomem(error) : ETHOS_OK;
}

int memory_chunks_list(struct ethos_turn *turn, enum chunk_store store, bool archived,
                       struct memory_chunks *out, struct ethos_error *error)
{
    const struct chunk_place old = chunk_place_of(turn, store, true);
    const struct chunk_place now = chunk_place_of(turn, store, false);
    if (archived)
        TRY(add_file_chunks(turn, &old, out, error));
    return add_file_chunks(turn, &now, out, error);
}

int memory_chunks_get(struct ethos_turn *turn, const char *id, struct memory_chunks *out,
                      struct ethos_error *error)
{
    struct chunk_id wanted;
    bool found = false;
    int code = chunk_id_parse(id, &wanted, error);
    for (unsigned i = 0; code == ETHOS_OK && !found && i < 4; i++) {
        const struct chunk_place place = chunk_place_of(turn, i & 1 ? CHUNK_USER : CHUNK_MEMORY,
                                                        i > 1);
        struct ethos_view text;
        struct chunk chunk;
        code = chunks_read(turn, &place, &out->arena, &text, error);
        if (code == ETHOS_OK && chunks_find_text(out, &place, text, &wanted, &chunk, &found))
            code = err_nomem(error);
    }
    return code == ETHOS_OK && !found ? err_set(error, ETHOS_NOTFOUND, "no such entry: %s", id)
                                      : code;
}

/* ---- where entries came from ----------------------------------------------------------------- */

struct blaming {
    struct memory_chunks *chunks;
    size_t first, count;
    const struct chunk_place *place;
    size_t low, high;            /* first and last line; high 0: no row */
    struct memory_chunk **lines; /* the row of each line, or NULL */
};

static bool is_blamed(const struct blaming *self, const struct memory_chunk *row)
{
    return row->store == self->place->store && !row->archived;
}

/* Each line has at most one row, so that it is found directly. */
static int map_chunk_lines(struct blaming *self, struct ethos_error *error)
{
    struct memory_chunk *rows = self->chunks->rows + self->first;
    self->low = SIZE_MAX;
    for (size_t i = 0; i < self->count; i++) {
        if (!is_blamed(self, &rows[i]))
            continue;
        self->low = rows[i].line < self->low ? rows[i].line : self->low;
        self->high = rows[i].line > self->high ? rows[i].line : self->high;
    }
    if (self->high == 0)
        return ETHOS_OK;
    const size_t size = (self->high - self->low + 1) * sizeof(struct memory_chunk *);
    self->lines = arena_alloc(&self->chunks->arena, size);
    if (!self->lines)
        return err_nomem(error);
    memset(self->lines, 0, size);
    for (size_t i = 0; i < self->count; i++)
        if (is_blamed(self, &rows[i]))
            self->lines[rows[i].line - self->low] = &rows[i];
    return ETHOS_OK;
}

static int set_chunk_blame(void *arg, const struct ethos_blame *blame)
{
    struct blaming *self = arg;
    bool within = blame->line >= self->low && blame->line <= self->high;
    struct memory_chunk *row = within ? self->lines[blame->line - self->low] : NULL;
    if (!row || !blame->change)
        return ETHOS_OK;
    row->source = arena_str(&self->chunks->arena, blame->change->source);
    row->created_ms = blame->change->time_ms;
    return blame->change->source && !row->source ? ETHOS_NOMEM : ETHOS_OK;
}

/* Rows without history stay unknown. */
static int blame_store(struct ethos_turn *turn, struct blaming *self, struct ethos_error *error)
{
    const struct ethos_target target = {NULL, self->place->scope, self->place->key};
    size_t total;
    int code = map_chunk_lines(self, error);
    if (code != ETHOS_OK || self->high == 0)
        return code;
    code = blame_lines(turn, &target, self->low, self->high - self->low + 1, set_chunk_blame, self,
                       &total, error);
    bool unknown = code == ETHOS_UNSUPPORTED ||
                   code == ETHOS_NOTFOUND; // no history, or the text is shorter by now
    return code == ETHOS_NOMEM ? err_nomem(error) : unknown ? ETHOS_OK : code;
}

int memory_chunks_blame(struct ethos_turn *turn, struct memory_chunks *chunks, size_t first,
                        size_t count, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (enum chunk_store store = CHUNK_MEMORY; code == ETHOS_OK && store <= CHUNK_USER; store++) {
        const struct chunk_place place = chunk_place_of(turn, store, false);
        struct blaming self = {chunks, first, count, &place, 0, 0, NULL};
        code = blame_store(turn, &self, error);
    }
    return code;
}
