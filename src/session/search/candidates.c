/*
 * candidates.c: which messages the index proposes for a query.
 *
 * One shard at a time: a set of its messages for what is asked besides the words, then per term the
 * set that has it, and what is left of them in the end. Scores are those of bm25, whose weights of
 * terms come from the shards that were asked.
 */
#include "session/search/candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/search/words.h"
#include "session/search/postings.h"
#include "session/search/search.h"

#define BM25_K1 1.2
#define BM25_B 0.75
#define ROWS_SOUGHT 4 /* shards in which older neighbours are looked for */

/* ---- sets ------------------------------------------------------------------------------------ */

static bool set_has(const struct find_set *set, uint32_t doc)
{
    return set->bits[doc / 64] >> (doc % 64) & 1;
}

static void set_add(struct find_set *set, uint32_t doc)
{
    set->bits[doc / 64] |= UINT64_C(1) << (doc % 64);
}

/* Keeps what both have; how many that are. */
static uint64_t set_keep(struct find_set *set, const struct find_set *other)
{
    uint64_t count = 0;
    for (size_t i = 0; i < FIND_WORDS; i++) {
        set->bits[i] &= other->bits[i];
        count += (uint64_t)__builtin_popcountll(set->bits[i]);
    }
    return count;
}

static uint64_t set_count(const struct find_set *set)
{
    uint64_t count = 0;
    for (size_t i = 0; i < FIND_WORDS; i++)
        count += (uint64_t)__builtin_popcountll(set->bits[i]);
    return count;
}

/* ---- asking the index ------------------------------------------------------------------------ */

/* One list of messages; false ends the walk for lack of memory. */
typedef bool list_fn(struct candidate_search *self, struct ethos_view term, struct postings *list);

static int walk_postings(struct candidate_search *self, sqlite3_stmt *statement, list_fn *each,
                         struct ethos_error *error)
{
    bool ranged = sqlite3_column_count(statement) == 3;
    int code;
    while ((code = index_step(self->index, statement, error)) == SQLITE_ROW) {
        struct ethos_view term = {0};
        if (ranged)
            term = view_of(sqlite3_column_blob(statement, 2),
                           (size_t)sqlite3_column_bytes(statement, 2));
        struct postings list = postings_of(sqlite3_column_blob(statement, 1),
                                           (size_t)sqlite3_column_bytes(statement, 1),
                                           (uint32_t)sqlite3_column_int64(statement, 0));
        if (!each(self, term, &list)) {
            code = err_nomem(error);
            break;
        }
    }
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

/* A mark (0: none) and a text as a term. */
struct key {
    char bytes[256];
    size_t size;
};

static bool make_term_key(struct key *key, char mark, struct ethos_view text, const char *after)
{
    key->size = 0;
    if (text.size + 3 > sizeof key->bytes)
        return false; // longer than any id, role or word of ours
    if (mark)
        key->bytes[key->size++] = mark;
    if (text.size)
        memcpy(key->bytes + key->size, text.data, text.size);
    key->size += text.size;
    if (after)
        key->bytes[key->size++] = *after;
    return true;
}

static int each_of_term(struct candidate_search *self, char mark, struct ethos_view text,
                        list_fn *each, struct ethos_error *error)
{
    struct key key;
    sqlite3_stmt *statement;
    int code = index_prepare(self->index, INDEX_TERM, &statement, error);
    if (code != ETHOS_OK || !make_term_key(&key, mark, text, NULL))
        return code;
    sqlite3_bind_int64(statement, 1, self->shard);
    sqlite3_bind_blob(statement, 2, key.bytes, (int)key.size, SQLITE_STATIC);
    return walk_postings(self, statement, each, error);
}

/* Every term that begins so. No term has the byte 0xFF. */
static int each_of_prefix(struct candidate_search *self, char mark, struct ethos_view text,
                          list_fn *each, struct ethos_error *error)
{
    struct key from, to;
    sqlite3_stmt *statement;
    int code = index_prepare(self->index, INDEX_RANGE, &statement, error);
    if (code != ETHOS_OK || !make_term_key(&from, mark, text, NULL) ||
        !make_term_key(&to, mark, text, "\xFF"))
        return code;
    sqlite3_bind_int64(statement, 1, self->shard);
    sqlite3_bind_blob(statement, 2, from.bytes, (int)from.size, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 3, to.bytes, (int)to.size, SQLITE_STATIC);
    return walk_postings(self, statement, each, error);
}

/* Words that have the stem; own: and the stem itself, where it is its own. */
static int each_of_stem(struct candidate_search *self, const struct query_word *word, bool own,
                        list_fn *each, struct ethos_error *error)
{
    char stem[WORDS_MAX + 1];
    int code = each_of_term(self, INDEX_STEM, word->stem, each, error);
    if (code != ETHOS_OK || !own ||
        !view_eq(view_of(stem, words_stem(word->stem, stem)), word->stem))
        return code;
    return each_of_term(self, 0, word->stem, each, error);
}

/* The word as it was typed, or by its stem, and never as a start; exact: not by its stem. */
static int match_word_or_stem(struct candidate_search *self, const struct query_word *word,
                              bool exact, list_fn *each, struct ethos_error *error)
{
    if (word->one) // begins pairs, or ends a run
        return each_of_prefix(self, 0, word->folded, each, error);
    if (exact || word->pair || word->aside)
        return each_of_term(self, 0, word->folded, each, error);
    return each_of_stem(self, word, true, each, error);
}

/* ---- one term -------------------------------------------------------------------------------- */

static bool add_to_part(struct candidate_search *self, struct ethos_view term,
                        struct postings *list)
{
    (void)term;
    while (postings_next(list) && list->doc < INDEX_SHARD)
        set_add(&self->part, list->doc);
    return true;
}

static uint8_t capped(uint32_t count)
{
    return (uint8_t)(count > UINT8_MAX ? UINT8_MAX : count);
}

/* Into part and counts, which mean something for messages of part alone. */
static bool count_word(struct candidate_search *self, struct ethos_view term, struct postings *list)
{
    (void)term;
    while (postings_next(list) && list->doc < INDEX_SHARD) {
        uint8_t *count = &self->counting[list->doc];
        uint32_t more = list->count ? list->count : 1;
        *count = capped(set_has(&self->part, list->doc) ? *count + more : more);
        set_add(&self->part, list->doc);
    }
    return true;
}

/* What begins a word and is its stem as well is counted once: counts become the higher ones. */
static void merge_counts(struct candidate_search *self, uint8_t *counts,
                         const struct find_set *counted)
{
    for (uint32_t i = 0; i < FIND_WORDS; i++) {
        for (uint64_t left = self->part.bits[i]; left; left &= left - 1) {
            uint32_t doc = i * 64 + (uint32_t)__builtin_ctzll(left);
            if (!set_has(counted, doc) || counts[doc] < self->again[doc])
                counts[doc] = self->again[doc];
        }
        self->part.bits[i] |= counted->bits[i];
    }
}

static int find_word_messages(struct candidate_search *self, const struct query_word *word,
                              uint8_t *counts, struct ethos_error *error)
{
    self->counting = counts;
    if (word->pair || word->aside)
        return each_of_term(self, 0, word->folded, count_word, error);
    int code = each_of_prefix(self, 0, word->folded, count_word, error);
    if (code != ETHOS_OK)
        return code;
    self->other = self->part;
    memset(&self->part, 0, sizeof self->part);
    self->counting = self->again;
    code = each_of_stem(self, word, !view_starts(word->stem, word->folded), count_word, error);
    merge_counts(self, counts, &self->other);
    return code;
}

/* ---- words next to each other ---------------------------------------------------------------- */

static bool add_candidate_position(struct candidate_search *self, uint32_t doc, uint32_t place)
{
    struct find_places *places = &self->places[1];
    uint64_t at = (uint64_t)doc << 32 | place;
    uint64_t *grown = arena_grow(self->arena, places->at, places->count, &places->capacity,
                                 sizeof *places->at);
    if (!grown)
        return false;
    places->at = grown;
    places->unsorted = places->unsorted || (places->count && grown[places->count - 1] > at);
    grown[places->count++] = at;
    return true;
}

static bool add_places(struct candidate_search *self, struct ethos_view term, struct postings *list)
{
    (void)term;
    while (postings_next(list) && list->doc < INDEX_SHARD) {
        uint32_t place = 0;
        for (uint32_t i = 0; i < list->count && set_has(&self->set, list->doc); i++) {
            place = postings_place(list, place);
            if (!add_candidate_position(self, list->doc, place))
                return false;
        }
    }
    return true;
}

/* One character of a script without blanks is also the end of the pair, or of the run, before. */
static bool add_places_twice(struct candidate_search *self, struct ethos_view term,
                             struct postings *list)
{
    (void)term;
    while (postings_next(list) && list->doc < INDEX_SHARD) {
        uint32_t place = 0;
        for (uint32_t i = 0; i < list->count && set_has(&self->set, list->doc); i++) {
            place = postings_place(list, place);
            if ((place > 0 && !add_candidate_position(self, list->doc, place - 1)) ||
                !add_candidate_position(self, list->doc, place))
                return false;
        }
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Into places[1], sorted. exact: not by stems. */
static int places_of(struct candidate_search *self, const struct query_word *word, bool exact,
                     struct ethos_error *error)
{
    struct find_places *places = &self->places[1];
    places->count = 0;
    places->unsorted = false;
    int code = match_word_or_stem(self, word, exact, word->one ? add_places_twice : add_places,
                                  error);
    if (places->unsorted)
        qsort(places->at, places->count, sizeof *places->at, by_place);
    return code;
}

/* Of the places where the words so far begin, keeps those that this word continues. */
static void keep_continued_positions(struct find_places *begun, const struct find_places *next,
                                     uint32_t distance)
{
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < begun->count; i++) {
        uint64_t wanted = begun->at[i] + distance;
        while (at < next->count && next->at[at] < wanted)
            at++;
        if (at < next->count && next->at[at] == wanted &&
            (!kept || begun->at[kept - 1] != begun->at[i]))
            begun->at[kept++] = begun->at[i];
    }
    begun->count = kept;
}

/* places[0]: where such words follow one another, among the messages of the set. */
static int match_word_sequence(struct candidate_search *self, const struct query_word *const *words,
                               size_t count, bool exact, struct ethos_error *error)
{
    int code = places_of(self, words[0], exact, error);
    struct find_places first = self->places[1];
    self->places[1] = self->places[0];
    self->places[0] = first;
    for (size_t i = 1; code == ETHOS_OK && i < count && self->places[0].count > 0; i++) {
        code = places_of(self, words[i], exact, error);
        keep_continued_positions(&self->places[0], &self->places[1], (uint32_t)i);
    }
    return code;
}

/* The words of a term, or of all; how many. */
static size_t list_words(const struct query_term *terms, size_t count,
                         const struct query_word *out[QUERY_MAX_WORDS])
{
    size_t listed = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < terms[i].count && listed < QUERY_MAX_WORDS; j++)
            out[listed++] = &terms[i].words[j];
    }
    return listed;
}

static int find_phrase(struct candidate_search *self, const struct query_term *term,
                       uint8_t *counts, struct ethos_error *error)
{
    const struct query_word *words[QUERY_MAX_WORDS];
    int code = match_word_sequence(self, words, list_words(term, 1, words), false, error);
    for (size_t i = 0; code == ETHOS_OK && i < self->places[0].count; i++) {
        uint32_t doc = (uint32_t)(self->places[0].at[i] >> 32);
        counts[doc] = capped(set_has(&self->part, doc) ? counts[doc] + 1u : 1u);
        set_add(&self->part, doc);
    }
    return code;
}

/* ---- how near ---------------------------------------------------------------------------------- */

/* Into part: messages of the set in which all words of the terms follow one another. */
static int find_together(struct candidate_search *self, const struct query_term *terms,
                         size_t count, bool exact, struct ethos_error *error)
{
    const struct query_word *words[QUERY_MAX_WORDS];
    size_t listed = list_words(terms, count, words);
    if (listed == 1)
        return match_word_or_stem(self, words[0], exact, add_to_part, error);
    int code = match_word_sequence(self, words, listed, exact, error);
    for (size_t i = 0; code == ETHOS_OK && i < self->places[0].count; i++)
        set_add(&self->part, (uint32_t)(self->places[0].at[i] >> 32));
    return code;
}

/* Into whole and exact. */
static int find_ranks(struct candidate_search *self, struct ethos_error *error)
{
    const struct query *query = self->query;
    int code = find_together(self, query->terms, query->count, false, error);
    self->whole = self->part;
    memset(&self->part, 0, sizeof self->part);
    memset(&self->exact, 0xFF, sizeof self->exact);
    for (size_t i = 0; code == ETHOS_OK && i < query->count; i++) {
        if (!query->terms[i].phrase)
            continue;
        code = find_together(self, &query->terms[i], 1, true, error);
        set_keep(&self->exact, &self->part);
        memset(&self->part, 0, sizeof self->part);
    }
    return code;
}

static unsigned rank_of(const struct candidate_search *self, uint32_t doc)
{
    return (set_has(&self->whole, doc) ? FIND_WHOLE : 0u) |
           (set_has(&self->exact, doc) ? FIND_EXACT : 0u);
}

/* ---- one shard ------------------------------------------------------------------------------- */

static int by_string(const void *a, const void *b)
{
    const struct ethos_view *key = a;
    const char *text = *(const char *const *)b;
    int order = strncmp(key->data, text, key->size);
    return order ? order : -(text[key->size] != 0);
}

static bool add_if_in_folder(struct candidate_search *self, struct ethos_view term,
                             struct postings *list)
{
    struct ethos_view id = view_from(term, 1);
    if (!bsearch(&id, self->folder, self->folder_count, sizeof *self->folder, by_string))
        return true;
    return add_to_part(self, term, list);
}

static bool add_if_of_people(struct candidate_search *self, struct ethos_view term,
                             struct postings *list)
{
    char id[ETHOS_UUID_SIZE];
    struct ethos_view session = view_from(term, 1);
    if (session.size < sizeof id) {
        memcpy(id, session.data, session.size);
        id[session.size] = '\0';
        if (!people_has(self->people, id))
            return true;
    }
    return add_to_part(self, term, list); // an id that is longer is looked at with its message
}

static int keep_part(struct candidate_search *self, int code, uint64_t *left)
{
    if (code == ETHOS_OK)
        *left = set_keep(&self->set, &self->part);
    memset(&self->part, 0, sizeof self->part);
    return code;
}

/* What is asked besides the words, rarest first. */
static int find_frame(struct candidate_search *self, uint64_t *left, struct ethos_error *error)
{
    int code = ETHOS_OK;
    memset(&self->set, 0xFF, sizeof self->set);
    memset(&self->part, 0, sizeof self->part);
    *left = INDEX_SHARD;
    if (self->session)
        code = keep_part(
            self, each_of_term(self, INDEX_SESSION, view_str(self->session), add_to_part, error),
            left);
    if (code == ETHOS_OK && *left && self->folder)
        code = keep_part(
            self, each_of_prefix(self, INDEX_SESSION, VIEW(""), add_if_in_folder, error), left);
    if (code == ETHOS_OK && *left && !self->session && !self->people->all)
        code = keep_part(
            self, each_of_prefix(self, INDEX_SESSION, VIEW(""), add_if_of_people, error), left);
    if (code == ETHOS_OK && *left && self->role)
        code = keep_part(
            self, each_of_term(self, INDEX_ROLE, view_str(self->role), add_to_part, error), left);
    return code;
}

/* Leaves what has all words by themselves or by their stems: a look at short lists. */
static int match_unordered_words(struct candidate_search *self, uint64_t *left,
                                 struct ethos_error *error)
{
    const struct query_word *words[QUERY_MAX_WORDS];
    size_t count = list_words(self->query->terms, self->query->count, words);
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && *left && i < count; i++)
        code = keep_part(self, match_word_or_stem(self, words[i], false, add_to_part, error), left);
    if (*left && count > 1)
        self->rows_sought++;
    return code;
}

static int find_term(struct candidate_search *self, size_t i, uint64_t *left,
                     struct ethos_error *error)
{
    const struct query_term *term = &self->query->terms[i];
    bool single = term->count == 1 && (!term->phrase || term->words[0].pair);
    int code = single ? find_word_messages(self, &term->words[0], self->counts[i], error)
                      : find_phrase(self, term, self->counts[i], error);
    self->having[i] += set_count(&self->part);
    return keep_part(self, code, left);
}

static bool is_wanted(const struct candidate_search *self, uint32_t doc, int64_t at, int64_t time,
                      int64_t before)
{
    return at != INDEX_GONE && at >= self->since && at <= self->until &&
           (at < time || (at == time && self->shard * INDEX_SHARD + doc < before));
}

static int keep_one(struct candidate_search *self, uint32_t doc, int64_t time, int64_t before,
                    uint8_t *counts, struct ethos_error *error)
{
    struct index_message entry = index_message(&self->block, doc % INDEX_BLOCK);
    unsigned rank = rank_of(self, doc);
    if (!is_wanted(self, doc, entry.time, time, before) || (self->best && rank != FIND_BEST))
        return ETHOS_OK;
    struct candidate_message *found = arena_grow(self->arena, self->found, self->found_count,
                                                 &self->found_capacity, sizeof *found);
    if (!found)
        return err_nomem(error);
    self->found = found;
    found = &found[self->found_count++];
    *found = (struct candidate_message){.doc = self->shard * INDEX_SHARD + doc,
                                        .time = entry.time,
                                        .words = entry.words,
                                        .rank = rank,
                                        .counts = counts};
    for (size_t i = 0; i < self->query->count; i++)
        counts[i] = self->counts[i][doc];
    return ETHOS_OK;
}

static int keep_found(struct candidate_search *self, uint64_t count, int64_t time, int64_t before,
                      struct ethos_error *error)
{
    uint32_t loaded = UINT32_MAX;
    uint8_t *counts = arena_array(self->arena, count, self->query->count);
    int code = counts ? find_ranks(self, error) : err_nomem(error);
    for (uint32_t i = 0; code == ETHOS_OK && i < FIND_WORDS; i++) {
        uint64_t left = self->set.bits[i];
        for (; code == ETHOS_OK && left; left &= left - 1, counts += self->query->count) {
            uint32_t doc = i * 64 + (uint32_t)__builtin_ctzll(left);
            if (doc / INDEX_BLOCK != loaded)
                code = index_get_block(self->index, (self->shard * INDEX_SHARD + doc) / INDEX_BLOCK,
                                       &self->block, error);
            loaded = doc / INDEX_BLOCK;
            if (code == ETHOS_OK)
                code = keep_one(self, doc, time, before, counts, error);
        }
    }
    return code;
}

static int find_in_shard(struct candidate_search *self, const struct index_shard *shard,
                         int64_t time, int64_t doc, struct ethos_error *error)
{
    uint64_t left = 0;
    self->shard = shard->shard;
    self->docs += (uint64_t)shard->docs;
    self->words += (uint64_t)shard->words;
    int code = find_frame(self, &left, error);
    if (code == ETHOS_OK && left && self->best)
        code = match_unordered_words(self, &left, error);
    for (size_t i = 0; code == ETHOS_OK && left && i < self->query->count; i++) {
        self->asked[i] += (uint64_t)shard->docs;
        code = find_term(self, i, &left, error);
    }
    return code == ETHOS_OK && left ? keep_found(self, left, time, doc, error) : code;
}

/* ---- all of them ----------------------------------------------------------------------------- */

int find_begin(struct candidate_search *self, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    self->counts = arena_array(self->arena, self->query->count, sizeof *self->counts);
    self->again = arena_alloc(self->arena, INDEX_SHARD);
    if (!self->counts || !self->again)
        return err_nomem(error);
    int code = index_prepare(self->index, INDEX_SHARDS, &statement, error);
    if (code != ETHOS_OK)
        return code;
    while ((code = index_step(self->index, statement, error)) == SQLITE_ROW) {
        struct index_shard *shards = arena_grow(self->arena, self->shards, self->shard_count,
                                                &self->shard_capacity, sizeof *shards);
        if (!shards) {
            sqlite3_reset(statement);
            return err_nomem(error);
        }
        self->shards = shards;
        index_shard_row(statement, &shards[self->shard_count++]);
    }
    return code < 0 ? code : ETHOS_OK;
}

void find_best_of(const struct candidate_search *self, struct candidate_search *out)
{
    *out = *self;
    out->best = true;
    out->found = NULL;
    out->found_count = out->found_capacity = 0;
    out->docs = out->words = 0;
    memset(out->asked, 0, sizeof out->asked);
    memset(out->having, 0, sizeof out->having);
}

static int by_time(const void *a, const void *b)
{
    const struct candidate_message *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? 1 : -1;
    return (left->doc < right->doc) - (left->doc > right->doc);
}

/* No more than can be ranked, the newest. */
static void trim(struct candidate_search *self)
{
    if (self->found_count)
        qsort(self->found, self->found_count, sizeof *self->found, by_time);
    self->more = self->more || self->found_count > SEARCH_RANKED;
    if (self->found_count > SEARCH_RANKED)
        self->found_count = SEARCH_RANKED;
}

static double weight_of(const struct candidate_search *self, size_t term)
{
    double all = (double)self->asked[term], having = (double)self->having[term];
    return log(1 + (all - having + 0.5) / (having + 0.5));
}

static void score(struct candidate_search *self)
{
    double weights[QUERY_MAX_TERMS];
    double average = self->docs ? (double)self->words / (double)self->docs : 1;
    for (size_t t = 0; t < self->query->count; t++)
        weights[t] = weight_of(self, t);
    self->best_count = 0;
    for (size_t i = 0; i < self->found_count; i++) {
        struct candidate_message *one = &self->found[i];
        self->best_count += one->rank == FIND_BEST;
        double length = BM25_K1 * (1 - BM25_B + BM25_B * one->words / (average > 1 ? average : 1));
        for (size_t t = 0; t < self->query->count; t++)
            one->score += weights[t] * one->counts[t] * (BM25_K1 + 1) / (one->counts[t] + length);
    }
}

int find_next(struct candidate_search *self, int64_t time, int64_t doc, struct ethos_error *error)
{
    int code = ETHOS_OK;
    self->found_count = 0;
    self->more = false;
    for (size_t i = 0; code == ETHOS_OK && i < self->shard_count; i++) {
        const struct index_shard *shard = &self->shards[i];
        if (shard->oldest > self->until || shard->newest < self->since || shard->oldest > time)
            continue;
        if (self->found_count == SEARCH_RANKED && // sorted by trim
            shard->newest < self->found[SEARCH_RANKED - 1].time) {
            self->more = true;
            break;
        }
        if (self->rows_sought == ROWS_SOUGHT)
            break;
        code = find_in_shard(self, shard, time, doc, error);
        if (self->found_count >= SEARCH_RANKED)
            trim(self);
    }
    trim(self);
    score(self);
    return code;
}
