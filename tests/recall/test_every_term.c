/*
 * test_every_term.c: units proposed for a query, against the texts that it finds.
 */
#include "recall/every_term.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/search/query.h"
#include "recall/builder.h"

/* ---- memories -------------------------------------------------------------------------------- */

#define LONG_TEXT 2000

static char long_text[LONG_TEXT + 1]; /* a line without sentences, of several passages */

static const char *const texts[] = {
    "Flying to Lisbon, dying of thirst, we hoped for happiness",
    "The skies were clear; relational sensibility and nationalization",
    "Priya's dog isn't here: the oys of foo_bar, v1.2.3 in src/recall/index.c",
    "caf\xC3\xA9 na\xC3\xAFve Stra\xC3\x9F"
    "e \xD0\xBF\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82",
    "\xE7\x81\xAF\xE5\x8F\xB0\xE3\x81\xAE\xE5\xAE\x88, \xE6\x9D\xB1 and \xE6\x9D\xB1\xE4\xBA\xAC",
    "done \xE2\x9C\x85 \xF0\x9F\x9A\x80 \xE2\x80\x94 at last",
    "I do the deploy on Friday, and you do not",
    "Deployments are deployed by deployers",
    "",
    long_text,
};
enum { TEXTS = sizeof texts / sizeof *texts };

struct memory {
    struct recall_builder *builder;
    struct str bytes;
    struct image image;
};

/* Each text is a document. */
static void memory_init(struct memory *memory)
{
    str_init(&memory->bytes, IMAGE_MAX);
    for (size_t i = 0; i < LONG_TEXT; i++)
        long_text[i] = "word%deployment sails "[(i * 7 / 5 + i) % 22];
    memcpy(long_text + 595, " horizontal ", 12);
    assert_int_equal(recall_builder_new(NULL, &memory->builder, NULL), ETHOS_OK);
    for (uint32_t i = 0; i < TEXTS; i++) {
        const struct recall_document document = {.name = VIEW("text"), .group = i};
        const struct recall_unit unit = {.text = view_str(texts[i]), .speaker = VIEW("user")};
        assert_int_equal(recall_builder_document(memory->builder, &document, NULL), ETHOS_OK);
        assert_int_equal(recall_builder_unit(memory->builder, &unit, NULL), ETHOS_OK);
    }
    assert_int_equal(recall_builder_finish(memory->builder, &memory->bytes, NULL), ETHOS_OK);
    recall_builder_free(memory->builder);
    assert_int_equal(image_open(str_view(&memory->bytes), &memory->image, NULL), ETHOS_OK);
}

struct asked {
    unsigned proposed, fitting, missed;
};

static struct asked ask(const struct memory *memory, struct ethos_view typed)
{
    struct arena arena;
    struct asked asked = {0};
    uint64_t *units;
    arena_init(&arena);
    struct query *query = arena_alloc(&arena, sizeof *query);
    assert_non_null(query);
    assert_int_equal(query_parse(typed, &arena, query), ETHOS_OK);
    assert_int_equal(every_term_find(&memory->image, query, &arena, &units), ETHOS_OK);
    for (uint32_t i = 0; i < TEXTS; i++) {
        bool fits = query_matches(query, view_str(texts[i]), NULL, NULL);
        asked.proposed += every_term_has(units, i);
        asked.fitting += fits;
        asked.missed += fits && !every_term_has(units, i);
    }
    arena_release(&arena);
    return asked;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Every piece of a text of up to 16 bytes finds it: by itself, in quotes, among other words. */
static void test_nothing_that_fits_is_missed(void **state)
{
    struct memory memory;
    unsigned fitting = 0;
    (void)state;
    memory_init(&memory);
    for (size_t t = 0; t < TEXTS; t++)
        for (size_t from = 0; from < strlen(texts[t]); from++)
            for (size_t size = 1; size <= 16 && from + size <= strlen(texts[t]); size++) {
                char typed[64];
                static const char *const quotes[] = {"", "\"", "the "};
                for (size_t w = 0; w < 3; w++) {
                    snprintf(typed, sizeof typed, "%s%.*s%s", quotes[w], (int)size, texts[t] + from,
                             w == 1 ? "\"" : "");
                    struct asked asked = ask(&memory, view_str(typed));
                    if (asked.missed > 0)
                        fail_msg("'%s' misses %u texts", typed, asked.missed);
                    fitting += asked.fitting;
                }
            }
    assert_true(fitting > 10000);
    str_release(&memory.bytes);
}

static void test_other_forms_of_a_word(void **state)
{
    static const char *const queries[] = {"dies",     "hope",       "happy",    "sky",
                                          "relation", "deploying",  "national", "sensible",
                                          "oy",       "horizontal", "STRASSE",  "it's"};
    struct memory memory;
    (void)state;
    memory_init(&memory);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_int_equal(ask(&memory, view_str(queries[i])).missed, 0);
    str_release(&memory.bytes);
}

/* What is proposed is read: it should be little more than what fits. */
static void test_few_others_are_proposed(void **state)
{
    struct memory memory;
    (void)state;
    memory_init(&memory);
    assert_int_equal(ask(&memory, VIEW("deployments friday")).proposed, 1);
    assert_int_equal(ask(&memory, VIEW("lisbon")).proposed, 1);
    assert_int_equal(ask(&memory, VIEW("zebra")).proposed, 0);
    assert_int_equal(ask(&memory, VIEW("\xE7\x81\xAF\xE5\x8F\xB0")).proposed, 1);
    assert_int_equal(ask(&memory, VIEW("\xE5\x8F\xB0\xE7\x81\xAF")).proposed, 0);
    assert_int_equal(ask(&memory, VIEW("")).proposed, 0);
    assert_int_equal(ask(&memory, VIEW("\xE2\x80\x94")).proposed, TEXTS); // no index has signs
    str_release(&memory.bytes);
}

static void test_what_is_gone_is_not_proposed(void **state)
{
    struct memory memory;
    bool gone[TEXTS] = {[0] = true};
    (void)state;
    memory_init(&memory);
    memory.image.gone = gone;
    assert_int_equal(ask(&memory, VIEW("lisbon")).proposed, 0);
    assert_int_equal(ask(&memory, VIEW("friday")).proposed, 1);
    str_release(&memory.bytes);
}

static void test_lack_of_memory_is_reported(void **state)
{
    struct memory memory;
    struct arena arena;
    uint64_t *units;
    int code = ETHOS_NOMEM;
    (void)state;
    memory_init(&memory);
    arena_init(&arena);
    struct query *query = arena_alloc(&arena, sizeof *query);
    assert_non_null(query);
    assert_int_equal(query_parse(VIEW("friday"), &arena, query), ETHOS_OK);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct arena own;
        arena_init(&own);
        code = every_term_find(&memory.image, query, &own, &units);
        assert_true(code == ETHOS_OK || (n < 10 && code == ETHOS_NOMEM));
        arena_release(&own);
    }
    arena_release(&arena);
    str_release(&memory.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_that_fits_is_missed),
        cmocka_unit_test(test_other_forms_of_a_word),
        cmocka_unit_test(test_few_others_are_proposed),
        cmocka_unit_test(test_what_is_gone_is_not_proposed),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
