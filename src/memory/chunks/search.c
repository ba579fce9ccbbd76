/*
 * search.c: finds the entries that answer a question.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "memory/chunks/chunks_internal.h"
#include "memory/handle_internal.h"
#include "memory/recall/recall.h"

struct searching {
    const struct memory_chunk *rows; /* entries of the searched files, in order */
    const size_t *lines;             /* the line of each in the text that models may read */
    size_t count;
    struct memory_chunk *found;
    size_t found_count, most;
};

/* The entry that contains a line of a file. */
static const struct memory_chunk *find_chunk_at_line(const struct searching *self,
                                                     const struct recall_hit *hit)
{
    const struct memory_chunk *found = NULL;
    for (size_t i = 0; i < self->count; i++)
        if (self->lines[i] <= hit->line && strcmp(self->rows[i].key, hit->key) == 0)
            found = &self->rows[i];
    return found;
}

static int add_chunk_hit(void *arg, const struct recall_hit *hit)
{
    struct searching *self = arg;
    const struct memory_chunk *row = find_chunk_at_line(self, hit);
    for (size_t i = 0; row && i < self->found_count; i++)
        if (strcmp(self->found[i].id, row->id) == 0)
            return ETHOS_OK;
    if (!row || self->found_count == self->most)
        return ETHOS_OK;
    struct memory_chunk *found = &self->found[self->found_count++];
    *found = *row;
    found->score = hit->ranked->score;
    found->similarity = hit->ranked->is_linear ? hit->ranked->meaning : -1;
    return ETHOS_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* The text that models may read is searched: a secret of several lines is one line there. */
static int place_lines(struct ethos_turn *turn, const struct chunk_place *place,
                       struct memory_chunks *chunks, size_t *lines, struct ethos_error *error)
{
    struct memory_chunks seen;
    struct ethos_view text;
    struct str safe;
    size_t first = 0, count = 0;
    while (first < chunks->count && strcmp(chunks->rows[first].key, place->key) != 0)
        first++;
    while (first + count < chunks->count &&
           strcmp(chunks->rows[first + count].key, place->key) == 0)
        count++;
    memory_chunks_init(&seen);
    str_init(&safe, SIZE_MAX);
    int code = chunks_read(turn, place, &seen.arena, &text, error);
    if (code == ETHOS_OK && chunks_add_text(&seen, place, scan_visible(text, &safe)) != ETHOS_OK)
        code = err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < count && seen.count == count; i++)
        lines[first + i] = seen.rows[i].line;
    str_release(&safe);
    memory_chunks_release(&seen);
    return code;
}

static int find_chunk_lines(struct ethos_turn *turn, const struct memory_chunks_ask *ask,
                            struct memory_chunks *chunks, size_t **out, struct ethos_error *error)
{
    const struct chunk_place now = chunk_place_of(turn, ask->store, false);
    const struct chunk_place old = chunk_place_of(turn, ask->store, true);
    *out = arena_array(&chunks->arena, chunks->count + 1, sizeof **out);
    if (!*out)
        return err_nomem(error);
    for (size_t i = 0; i < chunks->count; i++)
        (*out)[i] = chunks->rows[i].line;
    TRY(place_lines(turn, &now, chunks, *out, error));
    return ask->archived ? place_lines(turn, &old, chunks, *out, error) : ETHOS_OK;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int search_by_recall(struct ethos_turn *turn, const struct memory_chunks_ask *ask,
                            struct searching *self, struct memory_chunks *out,
                            struct ethos_error *error)
{
    const struct chunk_place now = chunk_place_of(turn, ask->store, false);
    const struct chunk_place old = chunk_place_of(turn, ask->store, true);
    const char *const keys[] = {now.key, ask->archived ? old.key : NULL, NULL};
    const struct recall_ask question = {.question = ask->query,
                                        .limit = RECALL_MAX_HITS,
                                        .scope = now.scope,
                                        .keys = keys,
                                        .no_archive = !ask->archived,
                                        .encode_ms = RECALL_ENCODE_MS,
                                        .remote = true};
    struct recall_report report;
    int code = recall_search(turn, &question, add_chunk_hit, self, &report, error);
    out->code = report.code;
    out->error = report.error;
    return code;
}

int memory_chunks_search(struct ethos_turn *turn, const struct memory_chunks_ask *ask,
                         struct memory_chunks *out, struct ethos_error *error)
{
    size_t *lines = NULL;
    int code = memory_chunks_list(turn, ask->store, ask->archived, out, error);
    code = code ? code : find_chunk_lines(turn, ask, out, &lines, error);
    struct searching self = {
        .rows = out->rows, .lines = lines, .count = out->count, .most = ask->most};
    self.found = arena_array(&out->arena, ask->most + 1, sizeof *self.found);
    if (code == ETHOS_OK && !self.found)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = search_by_recall(turn, ask, &self, out, error);
    out->rows = self.found;
    out->count = out->capacity = self.found_count;
    return code;
}
