/*
 * test_rank.c: how well texts answer a question.
 */
#include "core/rank.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* The place of the text that answers best; -1: none does. */
static int best_of(const char *question, const char *const *texts, size_t count)
{
    struct arena arena;
    struct query query;
    struct rank_totals totals = {0};
    struct rank_counts counts[16] = {0};
    double most = 0;
    int best = -1;

    arena_init(&arena);
    assert_int_equal(rank_parse(view_str(question), &arena, &query), ETHOS_OK);
    for (size_t i = 0; i < count; i++) {
        rank_count(&query, view_str(texts[i]), 1, &counts[i]);
        rank_add(&query, &counts[i], &totals);
    }
    for (size_t i = 0; i < count; i++) {
        double score = rank_score(&query, &counts[i], &totals);
        if (score > most) {
            most = score;
            best = (int)i;
        }
    }
    arena_release(&arena);
    return best;
}

static void test_a_question_finds_its_answer(void **state)
{
    static const char *const texts[] = {
        "The oven is in the kitchen",      "Oven runs hot",
        "Hotels are booked by the office", "What is it? It is what the is is",
        "deploy deploy deploy deploy",     "Deploys happen on Fridays",
    };
    static const struct {
        const char *question;
        int best;
    } rows[] = {{"is the oven hot?", 1},
                {"hot", 1}, // the word before one that begins so
                {"When do we deploy on a Friday?", 5},
                {"what is it", 3}, // nothing but joining words: they count
                {"kitchens", 0},   // by the stem
                {"\"runs hot\" kitchen", 1},
                {"\"hot runs\" kitchen", -1},
                {"zebra", -1},
                {"", -1}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (best_of(rows[i].question, texts, COUNT(texts)) != rows[i].best)
            fail_msg("%s: %d", rows[i].question, best_of(rows[i].question, texts, COUNT(texts)));
}

static void test_rare_words_and_short_texts_count_more(void **state)
{
    static const char *const rare[] = {"server one", "server two", "server three", "port nine"};
    static const char *const length[] = {
        "The cat sat on the mat and looked at the long and winding road to town", "The cat sat"};

    (void)state;
    assert_int_equal(best_of("server port", rare, COUNT(rare)), 3);
    assert_int_equal(best_of("cat", length, COUNT(length)), 1);
}

static void test_a_title_counts_more_than_the_text(void **state)
{
    struct arena arena;
    struct query query;
    struct rank_totals totals = {0};
    struct rank_counts titled = {0}, said = {0};

    (void)state;
    arena_init(&arena);
    rank_parse(VIEW("tea"), &arena, &query);
    rank_count(&query, VIEW("green leaves"), 1, &titled);
    rank_count(&query, VIEW("Tea"), RANK_TITLE, &titled);
    rank_count(&query, VIEW("green tea"), 1, &said);
    rank_count(&query, VIEW("Leaves"), RANK_TITLE, &said);
    assert_true(rank_add(&query, &titled, &totals));
    assert_true(rank_add(&query, &said, &totals));
    assert_true(rank_score(&query, &titled, &totals) > rank_score(&query, &said, &totals));
    arena_release(&arena);
}

static void test_a_question_of_many_words_is_cut(void **state)
{
    struct arena arena;
    struct query query;
    struct rank_counts counts = {0};
    char text[4096] = "";

    (void)state;
    for (size_t i = 0; i < 100; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "word%zu ", i);
    arena_init(&arena);
    rank_parse(view_str(text), &arena, &query);
    assert_int_equal(query.count, RANK_MAX_TERMS);
    rank_count(&query, view_str(text), 1, &counts);
    assert_int_equal(counts.words, 100);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_question_finds_its_answer),
        cmocka_unit_test(test_rare_words_and_short_texts_count_more),
        cmocka_unit_test(test_a_title_counts_more_than_the_text),
        cmocka_unit_test(test_a_question_of_many_words_is_cut),
    };

    return cmocka_run_group_tests_name("core/rank", tests, NULL, NULL);
}
