/*
 * test_filter.c: the tables that are made from the rules.
 *
 * `make scan-filter` runs this with a folder in WRITE_TABLES: it writes the tables there instead of comparing them.
 */
#include "core/scan/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/concepts.h"
#include "core/scan/normalize.h"
#include "core/scan/secret_rules.h"

#define ANCHORS 4096
static struct filter_anchor anchors[ANCHORS];
static size_t anchor_count;
static struct filter_anchor words[ANCHORS];
static size_t word_count;
static uint32_t bits[FILTER_KINDS][FILTER_TRIGRAMS / 32];
static uint16_t order[8192];
static uint32_t word_bits[CONCEPT_BITS / 32];

static unsigned counts[FILTER_TRIGRAMS];

/* How often three bytes stand in a row, in the documents of this tree. */
static void count_trigrams(void)
{
    static const char *const files[] = {"README.md",
                                        "ARCHITECTURE.md",
                                        "CHANGES.md",
                                        "docs/internals/store.md",
                                        "docs/internals/sessions.md",
                                        "docs/backends.md",
                                        "src/base/str.c",
                                        "src/store/files/commit.c",
                                        "web/js/app.js",
                                        "sdk/js/ethos.js"};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        FILE *file = fopen(files[i], "r");
        char *text = NULL;
        size_t room = 0;
        ssize_t size = file ? getdelim(&text, &room, EOF, file) : 0;

        for (ssize_t at = 0; at + 3 <= size; at++)
            counts[filter_trigram(text + at)]++;
        free(text);
        if (file)
            fclose(file);
    }
}

/* The rarest three bytes; of a concept's word those without a letter that may be accented. */
static size_t rarest(const char *anchor, bool skip_capitals)
{
    size_t size = strlen(anchor), best = SIZE_MAX;
    unsigned least = UINT32_MAX;

    assert_true(size >= 2);
    for (size_t at = 0; at + 3 <= size; at++) {
        bool capital = false;

        for (size_t i = at; i < at + 3; i++)
            capital = capital || (anchor[i] >= 'A' && anchor[i] <= 'Z') ||
                      (unsigned char)anchor[i] >= 0x80;
        if ((skip_capitals && capital) || counts[filter_trigram(anchor + at)] >= least)
            continue;
        least = counts[filter_trigram(anchor + at)];
        best = at;
    }
    return best;
}

static void set_bit(unsigned kind, unsigned trigram)
{
    bits[kind][trigram / 32] |= 1u << trigram % 32;
}

static void add_anchor(unsigned trigram, size_t offset, size_t rule)
{
    assert_true(anchor_count < ANCHORS);
    anchors[anchor_count++] = (struct filter_anchor){(uint16_t)trigram, (uint8_t)offset,
                                                     (uint16_t)rule};
    set_bit(FILTER_SECRETS, trigram);
}

static int by_trigram(const void *a, const void *b)
{
    const struct filter_anchor *first = a, *second = b;

    if (first->trigram != second->trigram)
        return first->trigram < second->trigram ? -1 : 1;
    return first->rule < second->rule ? -1 : first->rule > second->rule;
}

static void make_secrets(void)
{
    for (size_t i = 0; i < secret_rule_count; i++) {
        const char *anchor = secret_rules[i].anchor;

        if (!anchor)
            continue;
        if (strlen(anchor) == 2) { // whatever follows
            for (unsigned third = 0; third < 32; third++)
                add_anchor((unsigned)(filter_fold[(unsigned char)anchor[0]] << 10 |
                                      filter_fold[(unsigned char)anchor[1]] << 5) |
                               third,
                           0, i);
            continue;
        }
        size_t at = rarest(anchor, false);
        add_anchor(filter_trigram(anchor + at), at, i);
    }
    qsort(anchors, anchor_count, sizeof anchors[0], by_trigram);
}

static void make_injections(void)
{
    for (size_t i = 0; i < concept_word_count; i++) {
        const char *word = concept_words[i].text;
        unsigned concept = concept_words[i].concept;

        if (!(CONCEPT_TRIGGERS >> concept & 1) || (unsigned char)word[0] >= 0x80 ||
            strlen(word) < 3)
            continue;
        size_t at = rarest(word, true);
        if (at == SIZE_MAX)
            continue;
        set_bit(FILTER_INJECTIONS, filter_trigram(word + at));
        words[word_count++] = (struct filter_anchor){(uint16_t)filter_trigram(word + at),
                                                     (uint8_t)at, (uint16_t)i};
    }
    qsort(words, word_count, sizeof words[0], by_trigram);
    // Markup between two letters.
    for (unsigned first = 1; first <= 26; first++) {
        for (unsigned third = 1; third <= 26; third++)
            set_bit(FILTER_INJECTIONS, first << 10 | filter_fold['*'] << 5 | third);
    }
    // Words as ROT13 and reversed text have them.
    static const char *const hidden[] = {"tab",
                                         "geh",
                                         "cebz",
                                         "lfg",
                                         "oetr",
                                         "cnff",
                                         "rongi",
                                         "oitcu",
                                         "tpm",
                                         "tsys",
                                         "rofv"
                                         "",
                                         "wss",
                                         "tefas"};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        set_bit(FILTER_INJECTIONS, filter_trigram(hidden[i]));
}

static uint32_t hash_of(const char *text)
{
    uint32_t hash = CONCEPT_SEED;

    size_t size = strlen(text) < CONCEPT_KEY ? strlen(text) : CONCEPT_KEY;

    while (!(CONCEPT_KEYS >> size & 1))
        size--;
    for (size_t i = 0; i < size; i++)
        hash = concept_hash(hash, (unsigned char)text[i]);
    return hash;
}

static unsigned bucket_of(const char *text)
{
    return concept_bucket(hash_of(text));
}

static int by_bucket(const void *a, const void *b)
{
    const uint16_t *first = a, *second = b;
    const char *a_text = concept_words[*first].text, *b_text = concept_words[*second].text;
    int difference = (int)bucket_of(a_text) - (int)bucket_of(b_text);

    return difference ? difference : *first < *second ? -1 : 1;
}

static void make_order(void)
{
    for (size_t i = 0; i < concept_word_count; i++)
        order[i] = (uint16_t)i;
    qsort(order, concept_word_count, sizeof order[0], by_bucket);
}

static void print_anchors(FILE *out, const char *name, const struct filter_anchor *list,
                          size_t count)
{
    fprintf(out, "\nconst struct filter_anchor %s[] = {\n", name);
    for (size_t i = 0; i < count; i += 6) {
        fputs("   ", out);
        for (size_t j = i; j < i + 6 && j < count; j++)
            fprintf(out, " {%u, %u, %u},", list[j].trigram, list[j].offset, list[j].rule);
        fputs("\n", out);
    }
    fputs("};\n", out);
}

static void print_filter(FILE *out)
{
    fputs("/* Made by `make scan-filter` from the rules; do not edit. */\n", out);
    fputs("const uint32_t filter_bits[FILTER_KINDS][FILTER_TRIGRAMS / 32] = {\n", out);
    for (unsigned kind = 0; kind < FILTER_KINDS; kind++) {
        fputs("    {\n", out);
        for (size_t i = 0; i < FILTER_TRIGRAMS / 32; i += 8) {
            fputs("       ", out);
            for (size_t j = i; j < i + 8; j++)
                fprintf(out, " 0x%08x,", bits[kind][j]);
            fputs("\n", out);
        }
        fputs("    },\n", out);
    }
    fputs("};\n", out);
    print_anchors(out, "filter_anchors", anchors, anchor_count);
    print_anchors(out, "filter_words", words, word_count);
}

/* Of all that the rules and words say. */
static uint32_t edition(void)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < concept_word_count; i++)
        hash = hash_mix(hash + concept_words[i].concept, view_str(concept_words[i].text));
    for (size_t i = 0; i < secret_rule_count; i++) {
        const struct secret_rule *rule = &secret_rules[i];
        const char *texts[] = {rule->tag, rule->anchor, rule->shape, rule->near};

        for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++)
            hash = hash_mix(hash + rule->flags, view_str(texts[j] ? texts[j] : ""));
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static void print_order(FILE *out)
{
    size_t at = 0;

    fputs("/* Made by `make scan-filter` from the words; do not edit. */\n", out);
    fprintf(out, "#define CONCEPT_EDITION 0x%08xu\n\n", edition());
    fputs("static const uint16_t concept_order[] = {\n", out);
    for (size_t i = 0; i < concept_word_count; i += 16) {
        fputs("   ", out);
        for (size_t j = i; j < i + 16 && j < concept_word_count; j++)
            fprintf(out, " %u,", order[j]);
        fputs("\n", out);
    }
    fputs("};\n\nstatic const uint16_t concept_first[CONCEPT_BUCKETS + 1] = {\n", out);
    for (unsigned bucket = 0; bucket <= CONCEPT_BUCKETS; bucket++) {
        while (at < concept_word_count) {
            const char *text = concept_words[order[at]].text;

            if (bucket_of(text) >= bucket)
                break;
            at++;
        }
        fprintf(out, "%s%zu,%s", bucket % 16 == 0 ? "    " : " ", at,
                bucket % 16 == 15 || bucket == CONCEPT_BUCKETS ? "\n" : "");
    }
    fputs("};\n\nstatic const uint32_t concept_bits[CONCEPT_BITS / 32] = {\n", out);
    for (size_t i = 0; i < concept_word_count; i++) {
        unsigned bit = concept_bit(hash_of(concept_words[i].text));

        word_bits[bit / 32] |= 1u << bit % 32;
    }
    for (size_t i = 0; i < CONCEPT_BITS / 32; i += 8) {
        fputs("   ", out);
        for (size_t j = i; j < i + 8; j++)
            fprintf(out, " 0x%08x,", word_bits[j]);
        fputs("\n", out);
    }
    fputs("};\n", out);
}

static void check_file(const char *name, void (*print)(FILE *))
{
    const char *folder = getenv("WRITE_TABLES");
    char path[256], *made = NULL, *there = NULL;
    size_t size = 0, room = 0;

    snprintf(path, sizeof path, "%s/%s", folder ? folder : "src/core/scan", name);
    FILE *memory = open_memstream(&made, &size);
    assert_non_null(memory);
    print(memory);
    fclose(memory);
    FILE *file = fopen(path, folder ? "w" : "r");
    assert_non_null(file);
    if (folder) {
        fwrite(made, 1, size, file);
    } else {
        ssize_t length = getdelim(&there, &room, EOF, file);

        if (length != (ssize_t)size || memcmp(made, there, size) != 0)
            fail_msg("%s is not what the rules say; run `make scan-filter`", path);
    }
    fclose(file);
    free(made);
    free(there);
}

static bool has_bit(unsigned kind, unsigned trigram)
{
    return filter_bits[kind][trigram / 32] >> trigram % 32 & 1;
}

/* Whether the filter stops at an anchor, and knows whose it is. */
static bool is_covered(unsigned kind, const char *anchor, size_t rule)
{
    size_t size = strlen(anchor);

    for (size_t at = 0; at + (size == 2 ? 2 : 3) <= size; at++) {
        size_t count;
        const struct filter_anchor *found = filter_find(kind, filter_trigram(anchor + at), &count);

        for (size_t i = 0; i < count; i++) {
            if (found[i].rule == rule && found[i].offset == at)
                return has_bit(kind, filter_trigram(anchor + at));
        }
    }
    return false;
}

/* Which three bytes of an anchor are the rarest changes with the tree; that each has some does not. */
static void test_tables_are_those_of_the_rules(void **state)
{
    (void)state;
    count_trigrams();
    make_secrets();
    make_injections();
    make_order();
    if (getenv("WRITE_TABLES"))
        check_file("filter_table.inc", print_filter);
    check_file("concept_table.inc", print_order);
    if (getenv("WRITE_TABLES"))
        return;
    assert_int_equal(filter_anchor_count, anchor_count);
    assert_int_equal(filter_word_count, word_count);
    for (size_t i = 0; i < secret_rule_count; i++) {
        if (secret_rules[i].anchor && !is_covered(FILTER_SECRETS, secret_rules[i].anchor, i))
            fail_msg("'%s' is not in the table; run `make scan-filter`", secret_rules[i].anchor);
    }
    for (size_t i = 0; i < word_count; i++) {
        if (!is_covered(FILTER_INJECTIONS, concept_words[words[i].rule].text, words[i].rule))
            fail_msg("'%s' is not in the table; run `make scan-filter`",
                     concept_words[words[i].rule].text);
    }
}

static void test_words_are_normalised(void **state)
{
    (void)state;
    for (size_t i = 0; i < concept_word_count; i++) {
        const char *word = concept_words[i].text;
        struct normal_text normal;

        normalize(view_str(word), &normal);
        if (normal.size != strlen(word) || strncasecmp(normal.text, word, normal.size) != 0)
            fail_msg("'%s' is normalised to '%.*s'", word, (int)normal.size, normal.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_those_of_the_rules),
        cmocka_unit_test(test_words_are_normalised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
