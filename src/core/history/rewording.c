/*
 * rewording.c: whether a line was written anew in other lines.
 */
#include "core/history/rewording.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/text/line_index.h"
#include "core/search/words.h"

/* Goes over the words of a text; tells each of its neighbours. */
struct neighbour_walk {
    struct wording *out;           /* collects them, or NULL */
    const struct wording *wording; /* counts those it has, or NULL */
    uint64_t before;               /* hash of the word before; 0: none */
    size_t count, found;
};

static int compare_hashes(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static int see_word(void *arg, const struct word *word)
{
    struct neighbour_walk *walk = arg;
    uint64_t pair;

    if (word->aside || word->tail)
        return 0;
    pair = walk->before ? hash_mix(walk->before, word->folded) : 0;
    walk->before = hash_mix(0, word->folded) | 1;
    if (!pair)
        return 0;
    walk->count++;
    if (walk->out && walk->out->pairs)
        walk->out->pairs[walk->out->count++] = pair;
    if (walk->wording && walk->wording->count > 0)
        walk->found += bsearch(&pair, walk->wording->pairs, walk->wording->count, sizeof(pair),
                               compare_hashes) != NULL;
    return 0;
}

static void walk_lines(struct ethos_view text, const struct line_index *except,
                       struct neighbour_walk *walk)
{
    struct ethos_view line;

    while (line_index_next(&text, &line)) {
        if (!line_index_has(except, line))
            words_each(line, see_word, walk);
    }
}

int wording_make(struct ethos_view text, const struct line_index *except, struct arena *arena,
                 struct wording *out)
{
    struct neighbour_walk walk = {.out = out};

    *out = (struct wording){0};
    walk_lines(text, except, &walk);
    out->pairs = arena_array(arena, walk.count, sizeof(*out->pairs));
    if (!out->pairs)
        return ETHOS_NOMEM;
    walk = (struct neighbour_walk){.out = out};
    walk_lines(text, except, &walk);
    qsort(out->pairs, out->count, sizeof(*out->pairs), compare_hashes);
    return ETHOS_OK;
}

bool wording_has(const struct wording *wording, struct ethos_view line)
{
    struct neighbour_walk walk = {.wording = wording};

    words_each(line, see_word, &walk);
    return walk.count >= WORDING_PAIRS && 3 * walk.found >= 2 * walk.count;
}
