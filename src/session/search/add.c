/*
 * add.c: messages into the index.
 */
#include "session/search/add.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/search/words.h"
#include "session/search/postings.h"

#define FLUSH_BYTES 8388608 /* of texts */
#define CHUNK_BYTES 700     /* a list that is longer is not rewritten any more: it fits no page */
#define FIRST_SLOTS 4096

/* The messages that have a term. The first distance is left out: it depends on what is there. */
struct adder_term {
    struct ethos_view key;
    uint32_t hash;
    bool stemmed;
    struct adder_term *stem; /* when stemmed; NULL: the word itself */
    uint32_t first, last, place;
    uint8_t *bytes;
    size_t size, capacity;
};

/* ---- terms ----------------------------------------------------------------------------------- */

static uint32_t hash_of(struct ethos_view key)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < key.size; i++)
        hash = (hash ^ (unsigned char)key.data[i]) * 16777619u;
    return hash;
}

static struct adder_term **slot_of(struct adder_term **slots, size_t count, uint32_t hash,
                                   struct ethos_view key)
{
    size_t at = hash & (count - 1);
    while (slots[at] && (slots[at]->hash != hash || !view_eq(slots[at]->key, key)))
        at = (at + 1) & (count - 1);
    return &slots[at];
}

static int grow_slots(struct adder *self)
{
    size_t count = self->slot_count ? self->slot_count * 2 : FIRST_SLOTS;
    struct adder_term **slots = arena_array(&self->arena, count, sizeof *slots);
    if (!slots)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < self->slot_count; i++) {
        struct adder_term *term = self->slots[i];
        if (term)
            *slot_of(slots, count, term->hash, term->key) = term;
    }
    self->slots = slots;
    self->slot_count = count;
    return ETHOS_OK;
}

static struct adder_term *new_term(struct adder *self, struct ethos_view key, uint32_t hash)
{
    struct adder_term *term = arena_alloc(&self->arena, sizeof *term);
    const char *copy = arena_copy(&self->arena, key);
    if (!term || !copy)
        return NULL;
    *term = (struct adder_term){
        .key = view_of(copy, key.size), .hash = hash, .first = self->doc, .last = self->doc};
    self->term_count++;
    return term;
}

static struct adder_term *find_term(struct adder *self, struct ethos_view key)
{
    uint32_t hash = hash_of(key);
    if (self->term_count * 2 >= self->slot_count && grow_slots(self) != ETHOS_OK)
        return NULL;
    struct adder_term **slot = slot_of(self->slots, self->slot_count, hash, key);
    if (!*slot)
        *slot = new_term(self, key, hash);
    return *slot;
}

static int put_number(struct adder *self, struct adder_term *term, uint32_t number)
{
    if (term->capacity - term->size < POSTINGS_MAX_VARINT) {
        size_t capacity = term->capacity ? term->capacity * 2 : 16;
        uint8_t *bytes = arena_alloc(&self->arena, capacity);
        if (!bytes)
            return ETHOS_NOMEM;
        if (term->size)
            memcpy(bytes, term->bytes, term->size);
        term->bytes = bytes;
        term->capacity = capacity;
    }
    term->size += postings_put(term->bytes + term->size, number);
    return ETHOS_OK;
}

/* The message that is being taken has the term; a first step in it ends the message before. */
static int reach(struct adder *self, struct adder_term *term)
{
    if (term->last == self->doc)
        return ETHOS_OK;
    int code = put_number(self, term, 0);
    if (code == ETHOS_OK)
        code = put_number(self, term, self->doc - term->last);
    term->last = self->doc;
    term->place = 0;
    return code;
}

static int add_mark(struct adder *self, char mark, const char *text)
{
    char *key = arena_printf(&self->arena, "%c%s", mark, text);
    struct adder_term *term = key ? find_term(self, view_str(key)) : NULL;
    return term ? reach(self, term) : ETHOS_NOMEM;
}

static int add_term_position(struct adder *self, struct adder_term *term, uint32_t place)
{
    int code = reach(self, term);
    if (code == ETHOS_OK)
        code = put_number(self, term, place - term->place + 1);
    term->place = place;
    return code;
}

static int find_stem(struct adder *self, struct adder_term *term)
{
    char stem[1 + WORDS_MAX + 1] = {INDEX_STEM};
    size_t size = words_stem(term->key, stem + 1);
    term->stemmed = true;
    if (view_eq(view_of(stem + 1, size), term->key))
        return ETHOS_OK;
    term->stem = find_term(self, view_of(stem, size + 1));
    return term->stem ? ETHOS_OK : ETHOS_NOMEM;
}

/* The end of a run takes no place: it has that of the next word, and is looked for one before. A
 * sign has none: there may be many of them. */
static int add_message_word(void *arg, const struct word *word)
{
    struct adder *self = arg;
    struct adder_term *term = find_term(self, word->folded);
    if (!term)
        return ETHOS_NOMEM;
    if (word->aside)
        return reach(self, term);
    int code = add_term_position(self, term, self->places);
    if (code != ETHOS_OK || word->tail)
        return code;
    if (!term->stemmed)
        code = find_stem(self, term);
    if (code == ETHOS_OK && term->stem)
        code = add_term_position(self, term->stem, self->places);
    self->places++;
    return code;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int bind_term(const struct adder *self, enum index_statement which,
                     const struct adder_term *term, sqlite3_stmt **out, struct ethos_error *error)
{
    int code = index_prepare(self->index, which, out, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(*out, 1, self->shard.shard);
    sqlite3_bind_blob(*out, 2, term->key.data, (int)term->key.size, SQLITE_STATIC);
    return ETHOS_OK;
}

/* What is there of the term and may still grow, then the distance to what is new, in out. */
static int begin_chunk(struct adder *self, const struct adder_term *term, struct str *out,
                       int64_t *first, struct ethos_error *error)
{
    uint8_t number[POSTINGS_MAX_VARINT];
    sqlite3_stmt *statement;
    uint32_t distance = 0;
    int code = bind_term(self, INDEX_LAST_CHUNK, term, &statement, error);
    if (code == ETHOS_OK)
        code = index_step(self->index, statement, error);
    if (code < 0)
        return code;
    *first = -1;
    if (code == SQLITE_ROW) {
        int64_t last = sqlite3_column_int64(statement, 1);
        const void *data = sqlite3_column_blob(statement, 2);
        int size = sqlite3_column_bytes(statement, 2);
        if (last < 0 || last >= term->first)
            code = index_break(self->index, error);
        else if (size < CHUNK_BYTES) {
            *first = sqlite3_column_int64(statement, 0);
            distance = term->first - (uint32_t)last;
            str_add(out, view_of(data, (size_t)size));
        }
        sqlite3_reset(statement);
    }
    str_add(out, view_of((const char *)number, postings_put(number, distance)));
    return code < 0 ? code : ETHOS_OK;
}

static int put_term(struct adder *self, const struct adder_term *term, struct str *chunk,
                    struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int64_t first;
    str_clear(chunk);
    int code = begin_chunk(self, term, chunk, &first, error);
    if (code != ETHOS_OK)
        return code;
    str_add(chunk, view_of((const char *)term->bytes, term->size));
    if (str_addc(chunk, 0) != ETHOS_OK)
        return err_nomem(error);
    code = bind_term(self, first < 0 ? INDEX_PUT_CHUNK : INDEX_SET_CHUNK, term, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(statement, 3, first < 0 ? term->first : first);
    sqlite3_bind_int64(statement, 4, term->last);
    sqlite3_bind_blob(statement, 5, chunk->data, (int)chunk->size, SQLITE_STATIC);
    return index_run(self->index, statement, error);
}

static int compare_term_keys(const void *a, const void *b)
{
    struct ethos_view left = (*(struct adder_term *const *)a)->key;
    struct ethos_view right = (*(struct adder_term *const *)b)->key;
    int order = memcmp(left.data, right.data, left.size < right.size ? left.size : right.size);
    return order ? order : (left.size > right.size) - (left.size < right.size);
}

static size_t sort_terms(struct adder *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->slot_count; i++) {
        if (self->slots[i])
            self->slots[count++] = self->slots[i];
    }
    if (count)
        qsort(self->slots, count, sizeof *self->slots, compare_term_keys);
    return count;
}

static void forget_terms(struct adder *self)
{
    arena_release(&self->arena);
    arena_init(&self->arena);
    self->slots = NULL;
    self->slot_count = self->term_count = self->bytes = 0;
}

static int put_last_block(struct adder *self, struct ethos_error *error)
{
    int64_t last = self->shard.docs - 1;
    if (!self->dirty)
        return ETHOS_OK;
    self->dirty = false;
    return index_put_block(self->index, (self->shard.shard * INDEX_SHARD + last) / INDEX_BLOCK,
                           &self->block, error);
}

/* In the order of their keys: neighbours are on one page. */
static int write_terms(struct adder *self, struct ethos_error *error)
{
    struct str chunk;
    size_t count = sort_terms(self);
    int code = put_last_block(self, error);
    str_init(&chunk, SIZE_MAX);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = put_term(self, self->slots[i], &chunk, error);
    str_release(&chunk);
    if (code == ETHOS_OK && self->shard.docs > 0)
        code = index_put_shard(self->index, &self->shard, error);
    forget_terms(self);
    return code;
}

/* ---- messages -------------------------------------------------------------------------------- */

static int load_last_block(struct adder *self, struct ethos_error *error)
{
    const struct index_shard *shard = &self->shard;
    int64_t last = shard->shard * INDEX_SHARD + shard->docs - 1;
    if (shard->docs < 0 || shard->docs > INDEX_SHARD || shard->shard < 0)
        return index_break(self->index, error);
    if (shard->docs % INDEX_BLOCK == 0)
        return ETHOS_OK;
    int code = index_get_block(self->index, last / INDEX_BLOCK, &self->block, error);
    if (code == ETHOS_OK && self->block.count != (size_t)(last % INDEX_BLOCK) + 1)
        code = index_break(self->index, error);
    return code;
}

int adder_begin(struct adder *self, struct search_index *index, struct ethos_error *error)
{
    memset(self, 0, sizeof *self);
    self->index = index;
    arena_init(&self->arena);
    int code = index_last_shard(index, &self->shard, error);
    return code == ETHOS_OK ? load_last_block(self, error) : code;
}

int adder_end(struct adder *self, int code, struct ethos_error *error)
{
    if (code == ETHOS_OK)
        code = write_terms(self, error);
    arena_release(&self->arena);
    return code;
}

static int put_doc(const struct adder *self, int64_t doc, const struct adder_message *message,
                   struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = index_prepare(self->index, INDEX_PUT_DOC, &statement, error);
    if (code != ETHOS_OK)
        return code;
    sqlite3_bind_int64(statement, 1, doc);
    sqlite3_bind_int64(statement, 2, message->row);
    sqlite3_bind_text(statement, 3, message->id, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, adder_sum(message));
    sqlite3_bind_int64(statement, 5, message->size);
    self->index->gain.touched++;
    self->index->gain.messages++;
    self->index->gain.words += message->size;
    return index_run(self->index, statement, error);
}

static int next_shard(struct adder *self, struct ethos_error *error)
{
    int code = write_terms(self, error);
    self->shard = (struct index_shard){
        .shard = self->shard.shard + 1, .oldest = INT64_MAX, .newest = INT64_MIN};
    return code;
}

static int add_message_terms(struct adder *self, const struct adder_message *message)
{
    int code = add_mark(self, INDEX_ROLE, message->role);
    if (code == ETHOS_OK)
        code = add_mark(self, INDEX_SESSION, message->session);
    return code == ETHOS_OK ? words_each(message->content, add_message_word, self) : code;
}

static void count_message(struct adder *self, int64_t time)
{
    struct index_shard *shard = &self->shard;
    if (shard->docs % INDEX_BLOCK == 0)
        self->block.count = 0;
    index_set_entry(&self->block, (size_t)(shard->docs % INDEX_BLOCK),
                    (struct index_message){time, self->places});
    self->dirty = true;
    shard->docs++;
    shard->words += self->places;
    shard->oldest = time < shard->oldest ? time : shard->oldest;
    shard->newest = time > shard->newest ? time : shard->newest;
}

int adder_message(struct adder *self, const struct adder_message *message,
                  struct ethos_error *error)
{
    int code = ETHOS_OK;
    if (self->shard.docs == INDEX_SHARD)
        code = next_shard(self, error);
    else if (self->bytes > FLUSH_BYTES)
        code = write_terms(self, error);
    else if (self->shard.docs % INDEX_BLOCK == 0)
        code = put_last_block(self, error);
    if (code != ETHOS_OK)
        return code;
    self->doc = (uint32_t)self->shard.docs;
    self->places = 0;
    if (add_message_terms(self, message) != ETHOS_OK)
        return err_nomem(error);
    code = put_doc(self, self->shard.shard * INDEX_SHARD + self->doc, message, error);
    if (code != ETHOS_OK)
        return code;
    self->bytes += message->content.size + 64;
    count_message(self, index_time(message->timestamp));
    return ETHOS_OK;
}

static const char *text_or_empty(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

void adder_row(sqlite3_stmt *statement, struct adder_message *out)
{
    out->row = sqlite3_column_int64(statement, 0);
    out->id = text_or_empty(statement, 1);
    out->session = text_or_empty(statement, 2);
    out->role = text_or_empty(statement, 3);
    out->timestamp = text_or_empty(statement, 4);
    out->content.data = text_or_empty(statement, 5);
    out->content.size = (size_t)sqlite3_column_bytes(statement, 5);
}

int64_t adder_sum(const struct adder_message *message)
{
    const char *const others[] = {message->session, message->role, message->timestamp};
    uint64_t sum = message->content.size;
    for (size_t i = 0; i < 3; i++)
        sum = sum * 31 + hash_crc32c(view_str(others[i] ? others[i] : ""));
    return (int64_t)(sum << 32 ^ hash_crc32c(message->content));
}
