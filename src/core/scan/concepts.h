/*
 * concepts.h: finds concepts in a line that matter for detecting injected instructions.
 *
 * A concept has words and phrases in many languages, in the form that normalize() gives. Letters of
 * a phrase that may carry accents in its language are written as capitals, because the filter works
 * on the unfolded text and must not depend on them.
 */
#ifndef ETHOS_CORE_SCAN_CONCEPTS_H
#define ETHOS_CORE_SCAN_CONCEPTS_H

#include <ethos/types.h>

enum concept {
    CONCEPT_IGNORE,
    CONCEPT_PRIOR,
    CONCEPT_ALL, /* all, your: a weaker PRIOR */
    CONCEPT_INSTRUCTION,
    CONCEPT_RULE, /* a weaker INSTRUCTION */
    CONCEPT_SKIP,
    CONCEPT_TASK,
    CONCEPT_DISABLE,
    CONCEPT_SAFETY,
    CONCEPT_ROLE,
    CONCEPT_UNBOUND, /* an AI, an unrestricted one */
    CONCEPT_ENTER,
    CONCEPT_MODE,
    CONCEPT_AUTHORITY,
    CONCEPT_SHOW,
    CONCEPT_PROMPT,
    CONCEPT_SEND,
    CONCEPT_SECRET,
    CONCEPT_TARGET,
    CONCEPT_CONCEAL,
    CONCEPT_USER,
    CONCEPT_SECRETLY,
    CONCEPT_TRIGGER,
    CONCEPT_ORDER,
    CONCEPT_NOTE,
    CONCEPT_MARKER,
    CONCEPT_HEADING,
    CONCEPT_DISCUSSION,
    CONCEPT_OBEY,
    CONCEPT_THIS, /* this note, the next line */
    CONCEPT_IMPLANT,
    CONCEPT_TRUST,
    CONCEPT_RUN,
    CONCEPT_HARM,    /* something that nobody wants repeated */
    CONCEPT_LICENCE, /* "without limitation": not an order */
    CONCEPTS
};

struct concept_word {
    const char *text;
    enum concept concept;
};

extern const struct concept_word concept_words[];
extern const size_t concept_word_count;
extern const uint32_t concept_edition; /* changes when words or rules of secrets change */

/*
 * A line without any of these concepts has no points; concepts in non-Latin scripts are looked up.
 */
#define CONCEPT_BIT(concept) (UINT64_C(1) << (concept))
#define CONCEPT_TRIGGERS                                                                           \
    (CONCEPT_BIT(CONCEPT_IGNORE) | CONCEPT_BIT(CONCEPT_ROLE) | CONCEPT_BIT(CONCEPT_MODE) |         \
     CONCEPT_BIT(CONCEPT_AUTHORITY) | CONCEPT_BIT(CONCEPT_PROMPT) | CONCEPT_BIT(CONCEPT_SECRET) |  \
     CONCEPT_BIT(CONCEPT_CONCEAL) | CONCEPT_BIT(CONCEPT_NOTE) | CONCEPT_BIT(CONCEPT_MARKER) |      \
     CONCEPT_BIT(CONCEPT_OBEY) | CONCEPT_BIT(CONCEPT_IMPLANT) | CONCEPT_BIT(CONCEPT_SKIP) |        \
     CONCEPT_BIT(CONCEPT_SAFETY) | CONCEPT_BIT(CONCEPT_TRUST) | CONCEPT_BIT(CONCEPT_TRIGGER) |     \
     CONCEPT_BIT(CONCEPT_HARM) | CONCEPT_BIT(CONCEPT_SECRETLY))

/*
 * Words are in buckets by their first bytes, as many as the longest of CONCEPT_KEYS they have; so
 * each place in a text is looked up once per length.
 */
#define CONCEPT_BUCKETS 8192
#define CONCEPT_KEY 9                                                            /* bytes */
#define CONCEPT_KEYS (1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << CONCEPT_KEY) /* lengths */
#define CONCEPT_SEED 0x811C9DC5u

static inline uint32_t concept_hash(uint32_t hash, unsigned char c)
{
    return (hash ^ (c >= 'A' && c <= 'Z' ? c | 0x20u : c)) * 0x01000193u;
}

/* A bit that is set for the words of a table, and rarely for others. */
#define CONCEPT_BITS 65536
static inline unsigned concept_bit(uint32_t hash)
{
    return (hash ^ hash >> 16) % CONCEPT_BITS;
}

static inline unsigned concept_bucket(uint32_t hash)
{
    return (hash ^ hash >> 13) % CONCEPT_BUCKETS;
}

/* An occurrence of a concept in a text. */
struct concept_hit {
    uint16_t start, end;
    uint8_t concept;
};

#define CONCEPT_HITS 128 /* considered per text */

/*
 * The concepts of a normalized text, in order. Returns their number; of more than CONCEPT_HITS only
 * the first.
 */
size_t concepts_find(struct ethos_view text, struct concept_hit *hits);

#endif
