/*
 * similar_entries.c: which entries of an index are about the same.
 */
#include "core/notes/similar_entries.h"

#include <stdbool.h>

#include "base/view.h"
#include "core/notes/index.h"
#include "core/search/words.h"

/* The different words of an entry, as hashes of their stems. */
struct subject {
    uint64_t words[SIMILAR_MAX_WORDS];
    size_t count;
};

static uint64_t hash(struct ethos_view text)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325); // FNV-1a
    for (size_t i = 0; i < text.size; i++)
        value = (value ^ (unsigned char)text.data[i]) * UINT64_C(0x100000001b3);
    return value;
}

static bool has_subject_word(const struct subject *subject, uint64_t word)
{
    for (size_t i = 0; i < subject->count; i++)
        if (subject->words[i] == word)
            return true;
    return false;
}

static int add_subject_word(void *arg, const struct word *word)
{
    struct subject *subject = arg;
    char stem[WORDS_MAX + 1];
    if (word->tail || word->aside || words_is_common(word->folded))
        return 0;
    uint64_t value = hash(view_of(stem, words_stem(word->folded, stem)));
    if (!has_subject_word(subject, value))
        subject->words[subject->count++] = value;
    return subject->count == SIMILAR_MAX_WORDS;
}

static void read_subject(const struct index_entry *entry, struct subject *out)
{
    out->count = 0;
    if (words_each(entry->title, add_subject_word, out) == 0)
        words_each(entry->hook, add_subject_word, out);
}

/* Percent of the shorter one's words that both have; 0: too few. */
static unsigned shared_percent(const struct subject *a, const struct subject *b)
{
    size_t shared = 0, shorter = a->count < b->count ? a->count : b->count;
    for (size_t i = 0; i < b->count; i++)
        shared += has_subject_word(a, b->words[i]);
    return shared < 2 ? 0 : (unsigned)(shared * 100 / shorter);
}

size_t similar_entries(struct ethos_view index, struct ethos_view file,
                       struct ethos_view out[SIMILAR_MOST])
{
    struct index_entry entry;
    struct subject own, other;
    unsigned percents[SIMILAR_MOST + 1];
    struct ethos_view files[SIMILAR_MOST + 1];
    size_t offset = 0, count = 0;
    if (!index_find(index, file, &entry))
        return 0;
    read_subject(&entry, &own);
    while (index_next(index, &offset, &entry)) {
        if (view_eq(entry.file, file))
            continue;
        read_subject(&entry, &other);
        unsigned percent = shared_percent(&own, &other);
        if (percent < SIMILAR_PERCENT)
            continue;
        size_t at = count;
        for (; at > 0 && percents[at - 1] < percent; at--) {
            percents[at] = percents[at - 1];
            files[at] = files[at - 1];
        }
        percents[at] = percent;
        files[at] = entry.file;
        count += count < SIMILAR_MOST;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = files[i];
    return count;
}
