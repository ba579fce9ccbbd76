/*
 * test_encoder.c: the encoder gives what its reference gives (tests/golden/encoder.jsonl).
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/view.h"
#include "recall/encoder.h"

#define VECTOR_WITHIN 2e-3
#define SCORE_WITHIN 5e-3
#define MAX_TEXTS 32

static struct ethos_view map_file(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0)
        fail_msg("%s: run from the top of the tree", path);
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(bytes != MAP_FAILED);
    close(fd);
    return view_of(bytes, (size_t)info.st_size);
}

struct files {
    struct word_table table;
    struct ethos_view weights;
};

static struct files map_files(void)
{
    return (struct files){
        {.rows = map_file("data/recall/table.i8"), .words = map_file("data/recall/words.txt")},
        map_file("data/recall/encoder.bin")};
}

static void unmap_files(struct files *files)
{
    munmap((void *)files->table.rows.data, files->table.rows.size);
    munmap((void *)files->table.words.data, files->table.words.size);
    munmap((void *)files->weights.data, files->weights.size);
}

static void assert_near(double got, double wanted, double within, const char *what)
{
    if (got - wanted > within || wanted - got > within)
        fail_msg("%s: %f, not %f", what, got, wanted);
}

static void assert_first(const float *vector, const json_t *wanted, const char *what)
{
    size_t index;
    json_t *number;
    assert_int_equal(json_array_size(wanted), 8);
    json_array_foreach ((json_t *)wanted, index, number)
        assert_near((double)vector[index], json_number_value(number), VECTOR_WITHIN, what);
}

struct text {
    const char *text;
    struct encoding encoding;
};

static struct text *find_text(struct text *texts, size_t count, const char *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(texts[i].text, wanted) == 0)
            return &texts[i];
    fail_msg("%s", wanted);
    return NULL;
}

static void check_text(struct encoder *encoder, const json_t *row, struct encoding *out)
{
    uint32_t rows[ENCODER_MAX_WORDS];
    const char *text = json_string_value(json_object_get(row, "text"));
    const json_t *ids = json_object_get(row, "ids");
    bool is_passage = strcmp(json_string_value(json_object_get(row, "kind")), "passage") == 0;
    size_t count = encoder_words(encoder, view_str(text), NULL, NULL, rows);
    assert_int_equal(count, json_array_size(ids));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rows[i], json_integer_value(json_array_get(ids, i)));
    encoder_encode(encoder, rows, count, is_passage, out);
    if (count == 0)
        return;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)out->weight[i];
    assert_first(out->whole, json_object_get(row, "pooled_first8"), text);
    assert_first(out->token[0], json_object_get(row, "token0_first8"), text);
    assert_near(sum, json_number_value(json_object_get(row, "weight_sum")), SCORE_WITHIN, text);
}

static void check_pair(const struct encoder *encoder, const json_t *row, struct text *texts,
                       size_t count)
{
    int8_t tokens[ENCODER_MAX_WORDS * ENCODER_TOKEN], whole[ENCODER_WHOLE];
    const struct encoding *question =
        &find_text(texts, count, json_string_value(json_object_get(row, "query")))->encoding;
    const struct encoding *passage =
        &find_text(texts, count, json_string_value(json_object_get(row, "passage")))->encoding;
    static struct packed_question packed;
    float cosine;
    encoder_pack_question(question, &packed);
    encoder_pack(passage->token[0], passage->count * ENCODER_TOKEN, tokens);
    encoder_pack(passage->whole, ENCODER_WHOLE, whole);
    assert_near((double)encoder_match(encoder, &packed, tokens, passage->count),
                json_number_value(json_object_get(row, "maxsim")), SCORE_WITHIN,
                "late interaction");
    encoder_cosines(&packed, whole, 1, &cosine);
    assert_near((double)cosine, json_number_value(json_object_get(row, "pooled_cosine")),
                SCORE_WITHIN, "cosine");
}

static void test_it_gives_what_the_reference_gives(void **state)
{
    struct files files = map_files();
    struct ethos_view rest = map_file("tests/golden/encoder.jsonl"), all = rest, line;
    struct text *texts = calloc(MAX_TEXTS, sizeof *texts);
    json_t *rows[64];
    struct encoder *encoder;
    size_t count = 0, row_count = 0, pairs = 0;
    (void)state;
    assert_non_null(texts);
    assert_int_equal(encoder_open(&files.table, files.weights, &encoder, NULL), ETHOS_OK);
    while (view_line(&rest, &line)) {
        json_t *row;
        assert_int_equal(json_parse(line, "row", &row, NULL), ETHOS_OK);
        rows[row_count++] = row;
        if (json_object_get(row, "ids")) {
            texts[count].text = json_string_value(json_object_get(row, "text"));
            check_text(encoder, row, &texts[count++].encoding);
        } else {
            check_pair(encoder, row, texts, count);
            pairs++;
        }
    }
    assert_true(count >= 9 && pairs >= 15);
    for (size_t i = 0; i < row_count; i++)
        json_decref(rows[i]);
    free(texts);
    encoder_close(encoder);
    munmap((void *)all.data, all.size);
    unmap_files(&files);
}

static void test_files_that_do_not_fit_are_refused(void **state)
{
    struct files files = map_files(), cut = files;
    struct encoder *encoder;
    struct ethos_error error;
    (void)state;
    cut.weights.size -= 1;
    assert_int_equal(encoder_open(&cut.table, cut.weights, &encoder, &error), ETHOS_CORRUPT);
    cut = files;
    cut.table.rows.size -= 1;
    assert_int_equal(encoder_open(&cut.table, cut.weights, &encoder, &error), ETHOS_CORRUPT);
    cut.table = (struct word_table){0};
    cut.weights.size = 0;
    assert_int_equal(encoder_open(&cut.table, cut.weights, &encoder, &error), ETHOS_CORRUPT);
    unmap_files(&files);
}

static void test_any_text_has_words(void **state)
{
    struct files files = map_files();
    struct encoder *encoder;
    uint32_t rows[ENCODER_MAX_WORDS];
    char long_text[20000];
    (void)state;
    assert_int_equal(encoder_open(&files.table, files.weights, &encoder, NULL), ETHOS_OK);
    assert_int_equal(encoder_words(encoder, VIEW(""), NULL, NULL, rows), 0);
    assert_int_equal(encoder_words(encoder, VIEW("  ... \xE2\x80\x99s 's \xFF"), NULL, NULL, rows),
                     0);
    assert_int_equal(encoder_words(encoder, VIEW("Ann's dog"), NULL, NULL, rows), 2);
    memset(long_text, 'x', sizeof long_text);
    assert_int_equal(encoder_words(encoder, view_of(long_text, sizeof long_text), NULL, NULL, rows),
                     1);
    for (size_t i = 0; i < sizeof long_text; i += 2)
        long_text[i] = ' ';
    assert_int_equal(encoder_words(encoder, view_of(long_text, sizeof long_text), NULL, NULL, rows),
                     ENCODER_MAX_WORDS);
    encoder_close(encoder);
    unmap_files(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_gives_what_the_reference_gives),
        cmocka_unit_test(test_files_that_do_not_fit_are_refused),
        cmocka_unit_test(test_any_text_has_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
