/*
 * near_duplicates.c: which of many texts say the same, or nearly.
 *
 * A text becomes a set of hashes, one for each three words in a row. Two sets with 80 percent in
 * common share at least one of the first 20 percent (and one) of either, in any order both are
 * sorted by. So only those few are indexed, and because rare ones sort first, a phrase that stands
 * in every text makes no candidates. Sets are taken by size and content: the order of the texts
 * does not matter.
 */
#include "core/search/near_duplicates.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

#define SHINGLE 3       /* words that count as one */
#define FEW_WORDS 4     /* fewer are compared as a whole */
#define COUNT_BITS 20   /* a set member begins with how often it was met */
#define MAX_STEPS 4096  /* index entries looked at for one text */
#define MAX_COMPARED 64 /* texts compared with one text */
#define NONE UINT32_MAX

struct hash_set {
    uint64_t *items; /* once weighed: sorted, each once */
    size_t count;
    size_t place; /* of the text */
    bool whole;   /* compared as a whole */
};

/* ---- words ---------------------------------------------------------------------------------- */

static uint64_t mix_hash(uint64_t h)
{
    h ^= h >> 33;
    h *= UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 33;
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

/* Characters that are a word each: ideographs, kana, and the scripts of South East Asia. */
static bool is_own_word(uint32_t cp)
{
    return (cp >= 0x3040 && cp <= 0x30FF) || (cp >= 0x3400 && cp <= 0x9FFF) ||
           (cp >= 0xF900 && cp <= 0xFAFF) || (cp >= 0x20000 && cp <= 0x3FFFF) ||
           (cp >= 0x0E00 && cp <= 0x0EFF) || (cp >= 0x1000 && cp <= 0x109F) ||
           (cp >= 0x1780 && cp <= 0x17FF);
}

static bool is_part(uint32_t cp)
{
    if (cp < 0x80)
        return (cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z') || (cp >= '0' && cp <= '9');
    return unicode_is_letter_or_digit(cp);
}

/* Takes the hash of the next word off *rest; false at the end. */
static bool next_word_hash(struct ethos_view *rest, uint64_t *out)
{
    uint64_t hash = 0;
    bool any = false;
    while (rest->size > 0) {
        uint32_t cp;
        size_t size = utf8_decode(rest->data, rest->size, &cp, NULL);
        bool mark = unicode_is_mark(cp), part = !mark && is_part(cp), own = part && is_own_word(cp);
        if (any && (own || (!part && !mark)))
            break;
        *rest = view_from(*rest, size);
        if (part) {
            hash = (hash ^ unicode_lower(cp)) * UINT64_C(0x100000001b3) + 1;
            any = true;
        }
        if (own)
            break;
    }
    *out = mix_hash(hash);
    return any;
}

/* ---- sets ----------------------------------------------------------------------------------- */

/* Hashes of all texts, one after the other, before they are cut into sets. */
struct pool {
    struct arena arena;
    struct str hashes; /* uint64_t */
    struct str normal; /* scratch: the normal form of a text */
    struct hash_set *sets;
    size_t count;
    size_t total; /* hashes of all texts */
};

static void add_hash(struct pool *pool, uint64_t hash)
{
    str_add(&pool->hashes, view_of((const char *)&hash, sizeof hash));
}

static int copy_set(struct pool *pool, struct hash_set *set)
{
    size_t count = pool->hashes.size / sizeof(uint64_t);
    set->items = arena_array(&pool->arena, count, sizeof *set->items);
    if (!set->items)
        return ETHOS_NOMEM;
    memcpy(set->items, pool->hashes.data, pool->hashes.size);
    set->count = count;
    pool->total += count;
    return ETHOS_OK;
}

/* Three words in a row are one member; a short text is one member as a whole. */
static int read_text_set(struct pool *pool, struct ethos_view text, struct hash_set *set)
{
    uint64_t word, last[SHINGLE - 1] = {0}, whole = 0;
    size_t words = 0;
    str_clear(&pool->normal);
    str_clear(&pool->hashes);
    if (text.size > 0 && unicode_nfkd(text, &pool->normal) != ETHOS_OK)
        return ETHOS_NOMEM;
    struct ethos_view rest = str_view(&pool->normal);
    for (; next_word_hash(&rest, &word); words++) {
        if (words >= SHINGLE - 1)
            add_hash(pool, mix_hash(last[0] + 3 * last[1] + 5 * word));
        if (words < FEW_WORDS)
            whole = mix_hash(whole + word);
        last[0] = last[1];
        last[1] = word;
    }
    set->whole = words < FEW_WORDS;
    if (set->whole) {
        str_clear(&pool->hashes);
        if (words > 0)
            add_hash(pool, whole);
    }
    if (str_code(&pool->hashes) != ETHOS_OK)
        return ETHOS_NOMEM;
    return pool->hashes.size > 0 ? copy_set(pool, set) : ETHOS_OK;
}

/* Texts without words make no set. */
static int read_texts(struct pool *pool, const struct ethos_view *texts, size_t count)
{
    pool->sets = arena_array(&pool->arena, count, sizeof *pool->sets);
    if (!pool->sets)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < count; i++) {
        struct hash_set *set = &pool->sets[pool->count];
        *set = (struct hash_set){.place = i};
        int code = read_text_set(pool, texts[i], set);
        if (code != ETHOS_OK)
            return code;
        pool->count += set->count > 0;
    }
    return ETHOS_OK;
}

static size_t power_above(size_t n)
{
    size_t power = 64;
    while (power < n)
        power *= 2;
    return power;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Sorts and drops what is there twice; returns what is left. */
static size_t make_unique(uint64_t *items, size_t count)
{
    size_t kept = count > 0;
    qsort(items, count, sizeof *items, by_value);
    for (size_t i = 1; i < count; i++) {
        if (items[i] != items[kept - 1])
            items[kept++] = items[i];
    }
    return kept;
}

/*
 * Puts before each hash how often it was met, so that rare ones sort first, and makes sets. Counted
 * in slots that several may share: any order does, as long as it is one for all.
 */
static int weigh(struct pool *pool)
{
    size_t slots = power_above(2 * pool->total);
    uint32_t *met = calloc(slots, sizeof *met);
    if (!met)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < pool->count; i++)
        for (size_t k = 0; k < pool->sets[i].count; k++)
            met[pool->sets[i].items[k] & (slots - 1)]++;
    for (size_t i = 0; i < pool->count; i++) {
        struct hash_set *set = &pool->sets[i];
        for (size_t k = 0; k < set->count; k++) {
            uint64_t often = met[set->items[k] & (slots - 1)];
            const uint64_t most = (UINT64_C(1) << COUNT_BITS) - 1;
            often = often < most ? often : most;
            set->items[k] = often << (64 - COUNT_BITS) | set->items[k] >> COUNT_BITS;
        }
        set->count = make_unique(set->items, set->count);
    }
    free(met);
    return ETHOS_OK;
}

/* By size, then content, then place: equal sets are neighbours, the first text first. */
static int by_content(const void *a, const void *b)
{
    const struct hash_set *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    int order = memcmp(x->items, y->items, x->count * sizeof *x->items);
    if (order != 0)
        return order;
    return x->place < y->place ? -1 : 1;
}

static bool same_set(const struct hash_set *a, const struct hash_set *b)
{
    return a->count == b->count && memcmp(a->items, b->items, a->count * sizeof *a->items) == 0;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

struct pair {
    size_t a, b;
    unsigned percent;
};

/* An entry of the index: a set that has this member among its first ones. */
struct set_entry {
    uint64_t item;
    uint32_t set;
    uint32_t next;
};

struct duplicate_search {
    const struct hash_set *sets;
    uint32_t *heads; /* first entry of a slot, or NONE */
    size_t slots;
    struct set_entry *entries;
    uint32_t entry_count;
    uint32_t *seen; /* per set: the last one it was compared with, plus 1 */
    struct str pairs;
};

static void add_pair(struct duplicate_search *search, const struct hash_set *x,
                     const struct hash_set *y, unsigned percent)
{
    struct pair pair = {x->place, y->place, percent};
    if (pair.a > pair.b)
        pair = (struct pair){y->place, x->place, percent};
    str_add(&search->pairs, view_of((const char *)&pair, sizeof pair));
}

/* How much of what both say they share; 0 as soon as it cannot be enough. */
static unsigned share(const struct hash_set *x, const struct hash_set *y)
{
    size_t i = 0, k = 0, common = 0, all = x->count + y->count;
    /* common / (all - common) >= N / 100 */
    size_t needed = (all * ALIKE_NEAR + 99 + ALIKE_NEAR) / (100 + ALIKE_NEAR);
    for (size_t lone = 0; i < x->count && k < y->count;) {
        if (x->items[i] == y->items[k]) {
            common++, i++, k++;
            continue;
        }
        if (2 * needed + ++lone > all)
            return 0;
        if (x->items[i] < y->items[k])
            i++;
        else
            k++;
    }
    unsigned percent = (unsigned)(100 * common / (all - common));
    return percent >= ALIKE_NEAR ? percent : 0;
}

/* How many of the first members two sets of 80 percent in common cannot all miss. */
static size_t prefix(size_t count)
{
    return count - (count * ALIKE_NEAR + 99) / 100 + 1;
}

static uint32_t *item_slot(const struct duplicate_search *search, uint64_t item)
{
    return &search->heads[mix_hash(item) & (search->slots - 1)];
}

/* Compares a set with those before it that share one of its first members. */
static void look_up(struct duplicate_search *search, uint32_t at)
{
    const struct hash_set *set = &search->sets[at];
    size_t steps = 0, compared = 0, found = 0, first = prefix(set->count);
    for (size_t i = 0; i < first && found < ALIKE_MOST; i++) {
        uint32_t next = *item_slot(search, set->items[i]);
        for (; next != NONE && found < ALIKE_MOST; next = search->entries[next].next) {
            const struct set_entry *entry = &search->entries[next];
            const struct hash_set *other = &search->sets[entry->set];
            if (++steps > MAX_STEPS || compared > MAX_COMPARED)
                return;
            if (entry->item != set->items[i] || search->seen[entry->set] == at + 1 ||
                100 * other->count < ALIKE_NEAR * set->count)
                continue;
            search->seen[entry->set] = at + 1;
            compared++;
            unsigned percent = share(other, set);
            found += percent > 0;
            if (percent > 0)
                add_pair(search, other, set, percent);
        }
    }
}

static void enter_entry(struct duplicate_search *search, uint32_t at)
{
    const struct hash_set *set = &search->sets[at];
    for (size_t i = 0; i < prefix(set->count); i++) {
        uint32_t *head = item_slot(search, set->items[i]);
        search->entries[search->entry_count] = (struct set_entry){set->items[i], at, *head};
        *head = search->entry_count++;
    }
}

static void search_all(struct duplicate_search *search, size_t count)
{
    size_t first = 0; /* of the equal sets that end here */
    for (size_t i = 0; i < count; i++) {
        const struct hash_set *set = &search->sets[i];
        if (i > 0 && same_set(&search->sets[first], set)) {
            add_pair(search, &search->sets[first], set, 100);
            continue;
        }
        first = i;
        if (set->whole)
            continue;
        look_up(search, (uint32_t)i);
        enter_entry(search, (uint32_t)i);
    }
}

static int by_place(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static int find_pairs(struct pool *pool, similar_pair_fn *each, void *arg)
{
    struct duplicate_search search = {.sets = pool->sets, .slots = power_above(pool->total / 2)};
    size_t entries = 0;
    for (size_t i = 0; i < pool->count; i++)
        entries += prefix(pool->sets[i].count);
    if (entries >= NONE || pool->count >= NONE)
        return ETHOS_NOMEM;
    search.heads = arena_array(&pool->arena, search.slots, sizeof *search.heads);
    search.entries = arena_array(&pool->arena, entries + 1, sizeof *search.entries);
    search.seen = arena_array(&pool->arena, pool->count + 1, sizeof *search.seen);
    if (!search.heads || !search.entries || !search.seen)
        return ETHOS_NOMEM;
    memset(search.heads, 0xFF, search.slots * sizeof *search.heads);
    str_init(&search.pairs, SIZE_MAX);
    qsort(pool->sets, pool->count, sizeof *pool->sets, by_content);
    search_all(&search, pool->count);
    int code = str_code(&search.pairs);
    size_t count = search.pairs.size / sizeof(struct pair);
    struct pair *pairs = arena_array(&pool->arena, count + 1, sizeof *pairs);
    if (!pairs)
        code = ETHOS_NOMEM;
    if (code == ETHOS_OK && count > 0) {
        memcpy(pairs, search.pairs.data, search.pairs.size);
        qsort(pairs, count, sizeof *pairs, by_place);
    }
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        each(arg, pairs[i].a, pairs[i].b, pairs[i].percent);
    str_release(&search.pairs);
    return code;
}

int similar_pairs(const struct ethos_view *texts, size_t count, similar_pair_fn *each, void *arg)
{
    struct pool pool = {0};
    if (count < 2)
        return ETHOS_OK;
    arena_init(&pool.arena);
    str_init(&pool.hashes, SIZE_MAX);
    str_init(&pool.normal, SIZE_MAX);
    int code = read_texts(&pool, texts, count);
    if (code == ETHOS_OK)
        code = weigh(&pool);
    if (code == ETHOS_OK)
        code = find_pairs(&pool, each, arg);
    str_release(&pool.hashes);
    str_release(&pool.normal);
    arena_release(&pool.arena);
    return code;
}
