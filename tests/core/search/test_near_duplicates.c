/*
 * test_near_duplicates.c: texts that say the same, or nearly.
 */
#include "core/search/near_duplicates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/str.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- pairs as text: "0-2:100 1-4:87 " ------------------------------------------------------- */

static void write_pair(void *arg, size_t a, size_t b, unsigned percent)
{
    str_printf(arg, "%zu-%zu:%u ", a, b, percent);
}

static void assert_pairs(const char *const *texts, size_t count, const char *expected)
{
    struct ethos_view views[16];
    struct str out;
    assert_true(count <= COUNT(views));
    for (size_t i = 0; i < count; i++)
        views[i] = view_str(texts[i]);
    str_init(&out, 4096);
    assert_int_equal(similar_pairs(views, count, write_pair, &out), ETHOS_OK);
    if (strcmp(out.data, expected) != 0)
        fail_msg("found '%s' expected '%s'", out.data, expected);
    str_release(&out);
}

#define LONG                                                                                       \
    "The release script tags the tree, builds both variants, signs the packages and then waits "   \
    "for somebody to press the button, because twice it had published what nobody had read. "

static void test_the_same_words_are_100_percent(void **state)
{
    static const char *const texts[] = {
        LONG, "something else entirely, for once", LONG "\n",
        "THE RELEASE script tags  the tree\n\nbuilds both variants signs the packages: and then "
        "waits for somebody to press the button because twice it had published what nobody had "
        "read"};
    (void)state;
    assert_pairs(texts, COUNT(texts), "0-2:100 0-3:100 ");
}

static void test_nearly_the_same_is_told_by_how_much(void **state)
{
    static const char *const texts[] = {
        LONG LONG "One two three four five six seven eight nine ten.",
        LONG LONG "One two three four five six seven eight nine eleven.",
        LONG "And then a good deal more, about other things, that the first text never says.",
    };
    (void)state;
    /* 40 threes each, of which one is different: 39 of 41 */
    assert_pairs(texts, 2, "0-1:95 ");
    assert_pairs(texts, 3, "0-1:95 ");
}

/* Words w0 to w(n-1); those from `changed` on have another letter. */
static char *make_words(size_t count, size_t changed)
{
    struct str out;
    str_init(&out, (size_t)1 << 20);
    for (size_t i = 0; i < count; i++)
        str_printf(&out, "%c%zu ", i < changed ? 'w' : 'v', i);
    return str_steal(&out, NULL);
}

static void test_eighty_percent_is_the_border(void **state)
{
    (void)state;
    /* n words have n - 2 threes; with c words changed at the end, n - 2 - c are common */
    for (size_t c = 9; c <= 13; c++) {
        char *const texts[] = {make_words(102, 102), make_words(102, 102 - c)};
        unsigned percent = (unsigned)(100 * (100 - c) / (100 + c));
        char expected[32] = "";
        if (percent >= ALIKE_NEAR)
            snprintf(expected, sizeof expected, "0-1:%u ", percent);
        assert_pairs((const char *const *)texts, 2, expected);
        free(texts[0]);
        free(texts[1]);
    }
}

/* The longer one's own threes sort first: only one of those that are indexed is common. */
static void test_four_fifths_of_a_text_are_just_enough(void **state)
{
    (void)state;
    for (size_t k = 1; k <= 12; k++) {
        size_t words = 10 * k + 2, enough = 8 * k + 2;
        char *const texts[] = {make_words(words, words), make_words(enough, enough),
                               make_words(enough - 1, enough - 1)};
        assert_pairs((const char *const *)texts, 2, "0-1:80 ");
        assert_pairs((const char *const[]){texts[0], texts[2]}, 2, "");
        for (size_t i = 0; i < COUNT(texts); i++)
            free(texts[i]);
    }
}

static void test_marks_and_case_do_not_count(void **state)
{
    static const char *const texts[] = {
        "Résumé über naïve cafés in Ångström", "RESUME UBER NAIVE CAFES IN ANGSTROM",
        "re\u0301sume\u0301 uber na\u00efve caf\u00e9s in \u212bngstro\u0308m"};
    (void)state;
    assert_pairs(texts, COUNT(texts), "0-1:100 0-2:100 ");
}

static void test_scripts_without_blanks_are_compared_by_characters(void **state)
{
    static const char *const texts[] = {
        "构建脚本会先给代码打上标签然后构建两个版本再签名最后等待有人按下按钮因为曾经有两次发布了没"
        "有人看过的内容",
        "构建脚本会先给代码打上标签然后构建两个版本再签名最后等待有人按下按钮因为曾经有两次发布了没"
        "有人读过的内容",
        "完全不同的一条笔记讲的是数据库的连接方式和密码轮换的时间表以及谁负责处理这些事情",
        "รายการนี้เกี่ยวกับการสำรองข้อมูลทุกคืนวันศุกร์",
        "รายการนี้เกี่ยวกับการสำรองข้อมูลทุกคืนวันศุกร์ ",
    };
    (void)state;
    assert_pairs(texts, COUNT(texts), "0-1:88 3-4:100 ");
}

static void test_few_words_are_the_same_or_nothing(void **state)
{
    static const char *const texts[] = {
        "use tabs here", "Use tabs, here!",    "use tabs there", "", " \n-- ", "",
        "here tabs use", "one two three four", "one two three"};
    (void)state;
    assert_pairs(texts, COUNT(texts), "0-1:100 ");
}

static void test_equal_texts_are_reported_with_the_first(void **state)
{
    static const char *const texts[] = {LONG "zero", LONG, LONG, LONG "zero", LONG};
    (void)state;
    assert_pairs(texts, COUNT(texts), "0-1:96 0-3:100 1-2:100 1-4:100 ");
}

static void test_nothing_and_one_have_no_pairs(void **state)
{
    static const char *const texts[] = {LONG};
    (void)state;
    assert_pairs(texts, 0, "");
    assert_pairs(texts, 1, "");
}

static void test_bytes_of_all_kinds_are_read(void **state)
{
    static const char bytes[] = "a\0b \xff\xfe c \xf0\x9f\x98\x80 d\x80 e";
    const struct ethos_view texts[] = {
        {bytes, sizeof bytes - 1}, {bytes, sizeof bytes - 1}, {NULL, 0}, {"", 0}};
    struct str out;
    (void)state;
    str_init(&out, 4096);
    assert_int_equal(similar_pairs(texts, COUNT(texts), write_pair, &out), ETHOS_OK);
    assert_string_equal(out.data, "0-1:100 ");
    str_release(&out);
}

/* ---- many ----------------------------------------------------------------------------------- */

/* A small generator, so that every run sees the same texts. */
static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

struct crowd {
    struct ethos_view *texts;
    size_t count;
    struct str bytes;
};

static void crowd_release(struct crowd *crowd)
{
    free(crowd->texts);
    str_release(&crowd->bytes);
}

/*
 * Notes of about 1 KB: a head that all share, then words of their own. Every tenth is a copy of the
 * one before with two words changed.
 */
static struct crowd make_crowd(size_t count)
{
    struct crowd crowd = {malloc(count * sizeof *crowd.texts), count, {0}};
    size_t *starts = malloc((count + 1) * sizeof *starts);
    uint32_t seed = 7, before = 7;
    str_init(&crowd.bytes, (size_t)1 << 28);
    for (size_t i = 0; i < count; i++) {
        bool copy = i % 10 == 9;
        uint32_t own = copy ? before : seed;
        before = seed;
        starts[i] = crowd.bytes.size;
        str_adds(&crowd.bytes, LONG);
        for (size_t k = 0; k < 120; k++) {
            uint32_t word = next_random(&own) % 5000;
            str_printf(&crowd.bytes, "%c%u ", copy && k > 117 ? 'x' : 'w', word);
        }
        if (!copy)
            seed = own;
    }
    starts[count] = crowd.bytes.size;
    for (size_t i = 0; i < count; i++)
        crowd.texts[i] = view_of(crowd.bytes.data + starts[i], starts[i + 1] - starts[i]);
    free(starts);
    return crowd;
}

struct tally {
    size_t pairs, right, last_a, last_b;
};

static void count_pair(void *arg, size_t a, size_t b, unsigned percent)
{
    struct tally *tally = arg;
    assert_true(a < b && percent >= ALIKE_NEAR && percent <= 100);
    assert_true(tally->pairs == 0 || a > tally->last_a ||
                (a == tally->last_a && b > tally->last_b));
    tally->pairs++;
    tally->right += b == a + 1 && b % 10 == 9;
    tally->last_a = a;
    tally->last_b = b;
}

static void test_ten_thousand_notes_find_their_copies(void **state)
{
    struct crowd crowd = make_crowd(10000);
    struct tally tally = {0};
    (void)state;
    assert_int_equal(similar_pairs(crowd.texts, crowd.count, count_pair, &tally), ETHOS_OK);
    assert_int_equal(tally.pairs, 1000);
    assert_int_equal(tally.right, 1000);
    crowd_release(&crowd);
}

#define HOSTS 10000

static void mark_named(void *arg, size_t a, size_t b, unsigned percent)
{
    unsigned char *named = arg;
    (void)percent;
    named[a] = named[b] = 1;
}

/* One template, a number in each: all are alike, and all are found without comparing all. */
static void test_ten_thousand_of_one_template_are_each_reported(void **state)
{
    struct ethos_view *texts = malloc(HOSTS * sizeof *texts);
    size_t *ends = malloc(HOSTS * sizeof *ends);
    unsigned char *named = calloc(HOSTS, 1);
    struct tally tally = {0};
    struct str bytes;
    (void)state;
    str_init(&bytes, (size_t)1 << 28);
    for (size_t i = 0; i < HOSTS; i++) {
        str_printf(&bytes, LONG LONG LONG "Host number %zu is up.", i);
        ends[i] = bytes.size;
    }
    for (size_t i = 0; i < HOSTS; i++) {
        size_t start = i ? ends[i - 1] : 0;
        texts[i] = view_of(bytes.data + start, ends[i] - start);
    }
    assert_int_equal(similar_pairs(texts, HOSTS, count_pair, &tally), ETHOS_OK);
    assert_true(tally.pairs <= HOSTS * ALIKE_MOST);
    assert_int_equal(similar_pairs(texts, HOSTS, mark_named, named), ETHOS_OK);
    assert_null(memchr(named, 0, HOSTS));
    free(texts);
    free(ends);
    free(named);
    str_release(&bytes);
}

/* Pairs as bits of a table over the places of the first order. */
struct table {
    const size_t *place;
    size_t count;
    unsigned char *cells;
};

static void set_cell(void *arg, size_t a, size_t b, unsigned percent)
{
    struct table *table = arg;
    size_t x = table->place[a], y = table->place[b];
    table->cells[(x < y ? x : y) * table->count + (x < y ? y : x)] = (unsigned char)percent;
}

static void test_the_order_of_the_texts_does_not_matter(void **state)
{
    struct crowd crowd = make_crowd(200);
    struct ethos_view shuffled[200];
    size_t same[200], place[200];
    unsigned char *cells = calloc(2 * 200, 200);
    uint32_t seed = 3;
    (void)state;
    for (size_t i = 0; i < 200; i++)
        same[i] = place[i] = i;
    for (size_t i = 199; i > 0; i--) {
        size_t k = next_random(&seed) % (i + 1), kept = place[i];
        place[i] = place[k];
        place[k] = kept;
    }
    for (size_t i = 0; i < 200; i++)
        shuffled[i] = crowd.texts[place[i]];
    struct table one = {same, 200, cells}, two = {place, 200, cells + 200 * 200};
    assert_int_equal(similar_pairs(crowd.texts, 200, set_cell, &one), ETHOS_OK);
    assert_int_equal(similar_pairs(shuffled, 200, set_cell, &two), ETHOS_OK);
    assert_memory_equal(one.cells, two.cells, 200 * 200);
    assert_int_equal(cells[8 * 200 + 9] >= ALIKE_NEAR, 1);
    free(cells);
    crowd_release(&crowd);
}

static void test_every_allocation_may_fail(void **state)
{
    static const char *const texts[] = {LONG, LONG "é", "one two", LONG "more of it, and more"};
    struct ethos_view views[COUNT(texts)];
    int code = ETHOS_NOMEM;
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        views[i] = view_str(texts[i]);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct tally tally = {0};
        code = similar_pairs(views, COUNT(views), count_pair, &tally);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_true(code == ETHOS_OK || tally.pairs == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_words_are_100_percent),
        cmocka_unit_test(test_nearly_the_same_is_told_by_how_much),
        cmocka_unit_test(test_eighty_percent_is_the_border),
        cmocka_unit_test(test_four_fifths_of_a_text_are_just_enough),
        cmocka_unit_test(test_marks_and_case_do_not_count),
        cmocka_unit_test(test_scripts_without_blanks_are_compared_by_characters),
        cmocka_unit_test(test_few_words_are_the_same_or_nothing),
        cmocka_unit_test(test_equal_texts_are_reported_with_the_first),
        cmocka_unit_test(test_nothing_and_one_have_no_pairs),
        cmocka_unit_test(test_bytes_of_all_kinds_are_read),
        cmocka_unit_test(test_ten_thousand_notes_find_their_copies),
        cmocka_unit_test(test_ten_thousand_of_one_template_are_each_reported),
        cmocka_unit_test(test_the_order_of_the_texts_does_not_matter),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
