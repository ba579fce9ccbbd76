/*
 * text_search.c: searches for words by recall, and chooses the line of a hit to show.
 */
#include "memory/recall/text_search.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "core/search/query.h"
#include "memory/notes/list.h"
#include "memory/recall/scope_index.h"

#define BEFORE 80 /* bytes of a long line shown before the match */

struct text_search {
    const struct memory_search *how;
    struct query query;
    memory_hit_fn *each;
    void *arg;
    uint64_t notes[RECALL_MAX_HITS]; /* lines already shown, by hash */
    size_t note_count;
    unsigned shown;
};

/* ---- the line -------------------------------------------------------------------------------- */

/* The line of a passage that has most words of the question. */
static struct ethos_view find_best_line(struct ethos_view passage,
                                        const struct matched_words *words, uint64_t *number)
{
    struct ethos_view line, best = line_first(passage);
    struct matched_words found = *words;
    uint64_t first = *number, at = first;
    size_t most = 0;
    for (; view_line(&passage, &line); at++) {
        size_t count = matched_words_find(line, &found);
        if (count > most) {
            most = count;
            best = line;
            *number = at;
        }
    }
    return best;
}

static bool is_inside(struct ethos_view text, size_t at)
{
    return at < text.size && ((unsigned char)text.data[at] & 0xC0) == 0x80;
}

/* Cuts a line around the match. */
static void cut_snippet(const struct text_search *self, struct ethos_view line,
                        struct memory_hit *hit)
{
    struct query any = self->query;
    size_t start = 0, end, from = 0;
    if (line.size > SEARCH_MAX_SNIPPET)
        for (size_t i = 0; i < self->query.count && start == 0; i++) {
            any.terms[0] = self->query.terms[i];
            any.count = 1;
            query_matches(&any, line, &start, &end);
        }
    if (start > BEFORE)
        for (from = start - BEFORE; is_inside(line, from);)
            from++;
    end = line.size;
    if (end - from > SEARCH_MAX_SNIPPET)
        for (end = from + SEARCH_MAX_SNIPPET; is_inside(line, end);)
            end--;
    hit->snippet = view_of(line.data + from, end - from);
    hit->cut_before = from > 0;
    hit->cut_after = end < line.size;
}

/* ---- hits ------------------------------------------------------------------------------------ */

static bool is_note_hit(const struct recall_hit *hit)
{
    return !hit->said && strcmp(hit->key, NOTES_INDEX) != 0 && strcmp(hit->key, "USER.md") != 0 &&
           strcmp(hit->key, RECALL_ARCHIVE) != 0;
}

static bool is_shown(struct text_search *self, const struct recall_hit *hit)
{
    uint64_t hash = hash_mix(hash_mix(0, view_str(hit->scope)), view_str(hit->key));
    if (!is_note_hit(hit))
        return false;
    for (size_t i = 0; i < self->note_count; i++)
        if (self->notes[i] == hash)
            return true;
    self->notes[self->note_count++] = hash;
    return false;
}

static int show_hit(void *arg, const struct recall_hit *hit)
{
    struct text_search *self = arg;
    struct memory_hit shown = {.scope = hit->scope,
                               .key = hit->key,
                               .line = hit->line,
                               .mtime_ms = hit->changed_ms,
                               .said = hit->said};
    if (self->shown == self->how->limit || is_shown(self, hit))
        return ETHOS_OK;
    self->shown++;
    cut_snippet(self, find_best_line(hit->text, hit->words, &shown.line), &shown);
    return self->each(self->arg, &shown);
}

/* The quoted parts of the query. */
static void find_phrases(const struct query *query, struct query *out)
{
    out->count = 0;
    for (size_t i = 0; i < query->count; i++)
        if (query->terms[i].phrase)
            out->terms[out->count++] = query->terms[i];
}

int memory_search(struct ethos_turn *turn, const struct memory_search *search, memory_hit_fn *each,
                  void *arg, struct recall_report *out, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    arena_init(&arena);
    struct text_search *self = arena_alloc(&arena, sizeof *self);
    struct query *phrases = arena_alloc(&arena, sizeof *phrases);
    int code = self && phrases ? query_parse(search->text, &arena, &self->query) : ETHOS_NOMEM;
    if (code == ETHOS_OK) {
        self->how = search;
        self->each = each;
        self->arg = arg;
        find_phrases(&self->query, phrases);
        const struct recall_ask ask = {.question = search->text,
                                       .limit = RECALL_MAX_HITS,
                                       .everywhere = search->everywhere,
                                       .said = search->said,
                                       .scope = search->scope,
                                       .no_archive = !search->archive,
                                       .words = true,
                                       .phrases = phrases->count > 0 ? phrases : NULL};
        code = recall_search(turn, &ask, show_hit, self, out, error);
    } else {
        err_nomem(error);
    }
    return code;
}
