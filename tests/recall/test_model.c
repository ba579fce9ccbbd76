/*
 * test_model.c: the files of a model, its words and their stems.
 */
#include "recall/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/temp.h"
#include "base/system/installed.h"
#include "base/view.h"
#include "core/search/ranked_words.h"
#include "core/search/stem_english.h"

#define DATA "data/recall"

static struct recall_model *open_data(void)
{
    struct recall_model *model;
    struct ethos_error error;
    if (recall_model_open(DATA, &model, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    return model;
}

static void test_words_have_rows(void **state)
{
    struct recall_model *model = open_data();
    const struct word_table *table = &model->table;
    uint32_t camp = word_table_find(table, VIEW("camp"));
    (void)state;
    assert_int_equal(word_table_count(table), 50000);
    assert_int_equal(word_table_find(table, VIEW("the")), 1);
    assert_true(camp != 0);
    assert_int_equal(word_table_find_stem(table, VIEW("camp")), camp);
    assert_int_equal(word_table_find_stem(table, VIEW("happi")),
                     word_table_find(table, VIEW("happy")));
    assert_int_equal(word_table_find(table, VIEW("xyzzyplugh")), 0);
    assert_int_equal(word_table_find(table, VIEW("")), 0);
    assert_int_equal(word_table_find(table, VIEW("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz")), 0);
    assert_null(word_table_row(table, 0));
    assert_null(word_table_row(table, 50001));
    recall_model_close(model);
}

static void note_cosine(void *arg, size_t word, uint32_t row, float cosine)
{
    float(*cosines)[5] = arg;
    assert_true(row < 5 && word < 2);
    cosines[word][row] = cosine;
}

static void test_near_words_have_near_rows(void **state)
{
    struct recall_model *model = open_data();
    const struct word_table *table = &model->table;
    static const char *const words[] = {"physician", "doctor", "bicycle"};
    struct word_row rows[5] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {60000, 1}};
    struct word_block block = {.table = table};
    float cosines[2][5] = {{0}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        rows[i].row = word_table_find(table, view_str(words[i]));
        rows[i].length = word_table_length(table, rows[i].row);
    }
    word_block_add(&block, rows[1].row);
    word_block_add(&block, 0);
    word_block_compare(&block, rows, 5, 0.3f, note_cosine, cosines);
    assert_true(cosines[0][0] > 0.5f && cosines[0][0] < 1);
    assert_true(cosines[0][1] > 0.999f && cosines[0][1] < 1.001f);
    assert_true(cosines[0][2] == 0 && cosines[0][3] == 0 && cosines[0][4] == 0);
    for (size_t i = 0; i < 5; i++)
        assert_true(cosines[1][i] == 0);
    assert_true(word_table_cosine(table, rows[0].row, rows[1].row) == cosines[0][0]);
    assert_true(word_table_cosine(table, rows[0].row, 0) == 0);
    recall_model_close(model);
}

/* ---- stems.txt -------------------------------------------------------------------------------- */

struct only_word {
    struct ethos_view word;
    size_t count;
};

static int note_word(void *arg, const struct word *word)
{
    struct only_word *only = arg;
    only->count++;
    return view_eq(word->folded, only->word) ? 0 : 1;
}

/* Every word of the table that ranking counts has a stem whose row is that of a word as frequent, or more. */
static void test_every_word_has_its_stem(void **state)
{
    struct recall_model *model = open_data();
    struct ethos_view rest = model->table.words, line;
    size_t checked = 0;
    (void)state;
    while (view_line(&rest, &line)) {
        char stem[WORDS_MAX + 1];
        const char *blank = memrchr(line.data, ' ', line.size);
        struct only_word only = {.word = view_of(line.data, (size_t)(blank - line.data))};
        if (ranked_words_each(only.word, note_word, &only) != 0 || only.count != 1 ||
            ranked_words_is_stop(only.word))
            continue;
        size_t size = stem_english(only.word, stem);
        uint32_t own = word_table_find(&model->table, only.word);
        uint32_t row = word_table_find_stem(&model->table, view_of(stem, size));
        if (row == 0 || row > own)
            fail_msg("%.*s: stem %s has row %u", VIEW_ARG(only.word), stem, row);
        checked++;
    }
    assert_true(checked > 40000);
    recall_model_close(model);
}

/* ---- files ------------------------------------------------------------------------------------ */

static void link_file(const char *folder, const char *name)
{
    char from[PATH_MAX], to[PATH_MAX], here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    assert_true(snprintf(from, sizeof from, "%s/" DATA "/%s", here, name) < (int)sizeof from);
    assert_true(snprintf(to, sizeof to, "%s/%s", folder, name) < (int)sizeof to);
    assert_int_equal(symlink(from, to), 0);
}

static void test_what_is_not_whole_is_refused(void **state)
{
    struct temp temp;
    struct recall_model *model;
    struct ethos_error error;
    (void)state;
    temp_make(&temp);
    assert_int_equal(recall_model_open(temp.path, &model, &error), ETHOS_NOTFOUND);
    link_file(temp.path, "table.i8");
    link_file(temp.path, "words.txt");
    link_file(temp.path, "stems.txt");
    assert_int_equal(recall_model_open(temp.path, &model, &error), ETHOS_NOTFOUND);
    temp_write(&temp, "encoder.bin", "");
    assert_int_equal(recall_model_open(temp.path, &model, &error), ETHOS_CORRUPT);
    temp_write(&temp, "encoder.bin", "not the weights of an encoder");
    assert_int_equal(recall_model_open(temp.path, &model, &error), ETHOS_CORRUPT);
    assert_non_null(strstr(error.text, "do not fit"));
    temp_remove(&temp);
}

static void test_models_are_told_apart(void **state)
{
    struct recall_model *model = open_data(), *again = open_data();
    (void)state;
    assert_true(model->id != 0 && model->id == again->id);
    recall_model_close(model);
    recall_model_close(again);
    recall_model_close(NULL);
}

/* A test is no program of an installation: nothing lies beside it. */
static void test_what_is_not_installed_is_not_found(void **state)
{
    char path[PATH_MAX];
    struct recall_model *model;
    (void)state;
    assert_int_equal(installed_share("ethos/recall", path, NULL), ETHOS_NOTFOUND);
    assert_int_equal(recall_model_open_installed(&model, NULL), ETHOS_NOTFOUND);
    assert_int_equal(installed_lib("ethos/x.so", path, NULL), ETHOS_OK);
    assert_non_null(strstr(path, "/lib/ethos/x.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_have_rows),
        cmocka_unit_test(test_near_words_have_near_rows),
        cmocka_unit_test(test_every_word_has_its_stem),
        cmocka_unit_test(test_what_is_not_whole_is_refused),
        cmocka_unit_test(test_models_are_told_apart),
        cmocka_unit_test(test_what_is_not_installed_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
