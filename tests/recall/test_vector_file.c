/*
 * test_vector_file.c: vectors in a file: found by image and by text, added, left out, damaged.
 */
#include "recall/vector_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "../support/temp.h"
#include "base/hash.h"
#include "base/view.h"

#define NAME "scope.vec"
#define MODEL 7u
#define FIRST 1111u /* images */
#define SECOND 2222u

static struct recall_model *model;

static int open_model(void **state)
{
    (void)state;
    return recall_model_open("data/recall", &model, NULL);
}

static int close_model(void **state)
{
    (void)state;
    recall_model_close(model);
    return 0;
}

static struct vector_file *open_file(const struct temp *temp, uint64_t id)
{
    struct vector_file *file;
    struct ethos_error error;
    if (vector_file_open(temp->fd, NAME, id, &file, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    return file;
}

/* Passages "text <first>" and so on, of an image. */
static int add(struct vector_file *file, uint64_t image, uint32_t first, uint32_t count,
               uint64_t *out_encoded)
{
    struct vector_builder builder;
    char text[64];
    int code = vector_builder_init(&builder, model, NULL);
    builder.known = vector_file_known;
    builder.arg = file;
    for (uint32_t i = first; code == ETHOS_OK && i < first + count; i++) {
        snprintf(text, sizeof text, "The oven number %u is hot", i);
        code = vector_builder_add(&builder, view_str(text), NULL);
    }
    code = code ? code : vector_file_add(file, image, first, &builder, NULL);
    if (out_encoded)
        *out_encoded = builder.encoded;
    vector_builder_release(&builder);
    return code;
}

static int save(struct vector_file *file, const struct temp *temp, uint64_t image, bool anew)
{
    return vector_file_save(file, temp->fd, NAME, &image, 1, anew, NULL);
}

static size_t pieces_of(struct vector_file *file, uint64_t image)
{
    struct image_vectors found;
    assert_int_equal(vector_file_find(file, image, &found), ETHOS_OK);
    return found.count;
}

static bool has(struct vector_file *file, uint64_t image, uint32_t passage)
{
    struct image_vectors found;
    struct passage_vectors vectors;
    assert_int_equal(vector_file_find(file, image, &found), ETHOS_OK);
    if (!image_vectors_find(&found, passage, &vectors))
        return false;
    assert_int_equal(vectors.words, 6);
    return true;
}

static off_t size_of(const struct temp *temp)
{
    struct stat info;
    return fstatat(temp->fd, NAME, &info, 0) == 0 ? info.st_size : -1;
}

static void test_pieces_are_found_again(void **state)
{
    struct temp temp;
    (void)state;
    temp_make(&temp);
    struct vector_file *file = open_file(&temp, MODEL);
    assert_int_equal(pieces_of(file, FIRST), 0);
    assert_int_equal(add(file, FIRST, 10, 3, NULL), ETHOS_OK);
    assert_int_equal(add(file, FIRST, 0, 2, NULL), ETHOS_OK);
    assert_int_equal(pieces_of(file, FIRST), 2);
    assert_int_equal(save(file, &temp, FIRST, false), ETHOS_OK);
    vector_file_close(file);
    file = open_file(&temp, MODEL);
    assert_int_equal(pieces_of(file, FIRST), 2);
    assert_true(has(file, FIRST, 0) && has(file, FIRST, 1) && !has(file, FIRST, 2));
    assert_true(!has(file, FIRST, 9) && has(file, FIRST, 10) && has(file, FIRST, 12));
    assert_true(!has(file, FIRST, 13) && !has(file, SECOND, 0));
    assert_true(vector_file_is_whole(file));
    off_t before = size_of(&temp);
    assert_int_equal(add(file, FIRST, 2, 8, NULL), ETHOS_OK);
    assert_int_equal(save(file, &temp, FIRST, false), ETHOS_OK); // at its end
    vector_file_close(file);
    assert_true(size_of(&temp) > before);
    file = open_file(&temp, MODEL);
    assert_int_equal(pieces_of(file, FIRST), 3);
    assert_true(has(file, FIRST, 9));
    vector_file_close(file);
    temp_remove(&temp);
}

/* An image that takes the place of another has the vectors of the texts that stayed. */
static void test_texts_are_encoded_once(void **state)
{
    struct temp temp;
    uint64_t encoded;
    (void)state;
    temp_make(&temp);
    struct vector_file *file = open_file(&temp, MODEL);
    assert_int_equal(add(file, FIRST, 0, 20, &encoded), ETHOS_OK);
    assert_int_equal(encoded, 20);
    assert_int_equal(save(file, &temp, FIRST, false), ETHOS_OK);
    vector_file_close(file);
    off_t before = size_of(&temp);
    file = open_file(&temp, MODEL);
    assert_int_equal(add(file, SECOND, 0, 22, &encoded), ETHOS_OK);
    assert_int_equal(encoded, 2);
    assert_int_equal(save(file, &temp, SECOND, false), ETHOS_OK);
    vector_file_close(file);
    assert_true(size_of(&temp) > 2 * before); // both: less than half of it is of no use
    file = open_file(&temp, MODEL);
    assert_true(has(file, FIRST, 0) && has(file, SECOND, 21));
    assert_int_equal(add(file, SECOND, 22, 1, NULL), ETHOS_OK);
    assert_int_equal(save(file, &temp, SECOND, true), ETHOS_OK);
    vector_file_close(file);
    file = open_file(&temp, MODEL);
    assert_true(!has(file, FIRST, 0) && has(file, SECOND, 21) && has(file, SECOND, 22));
    vector_file_close(file);
    assert_true(size_of(&temp) < 2 * before);
    temp_remove(&temp);
}

static void test_what_is_not_searched_goes(void **state)
{
    struct temp temp;
    (void)state;
    temp_make(&temp);
    struct vector_file *file = open_file(&temp, MODEL);
    assert_int_equal(add(file, FIRST, 0, 20, NULL), ETHOS_OK);
    assert_int_equal(save(file, &temp, FIRST, false), ETHOS_OK);
    vector_file_close(file);
    file = open_file(&temp, MODEL);
    assert_int_equal(add(file, SECOND, 30, 5, NULL), ETHOS_OK);
    assert_int_equal(save(file, &temp, SECOND, false), ETHOS_OK); // most of it is of the first
    vector_file_close(file);
    file = open_file(&temp, MODEL);
    assert_true(!has(file, FIRST, 0) && has(file, SECOND, 30));
    assert_int_equal(save(file, &temp, 3333, false), ETHOS_OK);
    vector_file_close(file);
    assert_int_equal(size_of(&temp), -1);
    temp_remove(&temp);
}

/* What another model made is not compared with what this one makes. */
static void test_models_are_not_mixed(void **state)
{
    struct temp temp;
    (void)state;
    temp_make(&temp);
    struct vector_file *file = open_file(&temp, MODEL);
    assert_int_equal(add(file, FIRST, 0, 3, NULL), ETHOS_OK);
    assert_int_equal(save(file, &temp, FIRST, false), ETHOS_OK);
    vector_file_close(file);
    file = open_file(&temp, MODEL + 1);
    assert_false(has(file, FIRST, 0));
    assert_int_equal(add(file, FIRST, 1, 1, NULL), ETHOS_OK);
    assert_int_equal(save(file, &temp, FIRST, false), ETHOS_OK);
    vector_file_close(file);
    file = open_file(&temp, MODEL);
    assert_false(has(file, FIRST, 0));
    vector_file_close(file);
    file = open_file(&temp, MODEL + 1);
    assert_true(!has(file, FIRST, 0) && has(file, FIRST, 1));
    vector_file_close(file);
    temp_remove(&temp);
}

static void write_bytes(const struct temp *temp, const char *bytes, size_t size)
{
    int fd = openat(temp->fd, NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

/* Cut short or with any byte changed: what is read stays within its bounds, and is written anew. */
static void test_damaged_files(void **state)
{
    struct temp temp;
    size_t size;
    (void)state;
    temp_make(&temp);
    struct vector_file *file = open_file(&temp, MODEL);
    assert_int_equal(add(file, FIRST, 0, 2, NULL), ETHOS_OK);
    assert_int_equal(add(file, FIRST, 2, 1, NULL), ETHOS_OK);
    assert_int_equal(save(file, &temp, FIRST, false), ETHOS_OK);
    vector_file_close(file);
    char *bytes = temp_read(&temp, NAME, &size);
    for (size_t i = 0; i < size; i += i < 200 ? 1 : 37) {
        write_bytes(&temp, bytes, i);
        file = open_file(&temp, MODEL);
        assert_false(has(file, FIRST, 2));
        vector_file_close(file);
        bytes[i] ^= 0x55;
        write_bytes(&temp, bytes, size);
        bytes[i] ^= 0x55;
        file = open_file(&temp, MODEL);
        struct image_vectors found;
        struct passage_vectors vectors;
        assert_int_equal(vector_file_find(file, FIRST, &found), ETHOS_OK);
        for (uint32_t p = 0; p < 3; p++)
            if (image_vectors_find(&found, p, &vectors))
                assert_true(vectors.words <= 12);
        assert_true(!vector_file_is_whole(file) || found.count < 2 || i < 24);
        vector_file_close(file);
    }
    write_bytes(&temp, bytes, size - 1);
    file = open_file(&temp, MODEL);
    assert_int_equal(add(file, FIRST, 2, 1, NULL), ETHOS_OK);
    assert_int_equal(save(file, &temp, FIRST, false), ETHOS_OK);
    vector_file_close(file);
    file = open_file(&temp, MODEL);
    assert_true(has(file, FIRST, 0) && has(file, FIRST, 2));
    vector_file_close(file);
    free(bytes);
    temp_remove(&temp);
}

static int use_with_failures(const struct temp *temp)
{
    struct vector_file *file = NULL;
    struct image_vectors found;
    int code = vector_file_open(temp->fd, NAME, MODEL, &file, NULL);
    code = code ? code : add(file, FIRST, 0, 2, NULL);
    code = code ? code : vector_file_find(file, FIRST, &found);
    code = code ? code : save(file, temp, FIRST, false);
    vector_file_close(file);
    return code;
}

static void test_lack_of_memory_is_reported(void **state)
{
    struct temp temp;
    int code = ETHOS_OK;
    (void)state;
    temp_make(&temp);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = use_with_failures(&temp);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    temp_remove(&temp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_found_again),
        cmocka_unit_test(test_texts_are_encoded_once),
        cmocka_unit_test(test_what_is_not_searched_goes),
        cmocka_unit_test(test_models_are_not_mixed),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
