/*
 * test_index.c: frames of an index in a file.
 */
#include "recall/index.h"

#include <errno.h>
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
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "recall/builder.h"

#define NAME "scope.idx"
#define MOST 2000

/* An image of documents "first" to "last", each with a line of its own. */
static int make_image(unsigned first, unsigned last, struct str *out)
{
    struct recall_builder *builder = NULL;
    int code = recall_builder_new(NULL, &builder, NULL);
    for (unsigned i = first; code == ETHOS_OK && i <= last; i++) {
        char name[16], text[64];
        snprintf(name, sizeof name, "%u", i);
        snprintf(text, sizeof text, "line number%u of the text", i);
        const struct recall_document document = {.name = view_str(name), .group = i - first};
        const struct recall_unit unit = {.text = view_str(text), .speaker = VIEW("user")};
        code = recall_builder_document(builder, &document, NULL);
        code = code ? code : recall_builder_unit(builder, &unit, NULL);
    }
    str_init(out, IMAGE_MAX);
    code = code ? code : recall_builder_finish(builder, out, NULL);
    recall_builder_free(builder);
    return code;
}

static uint64_t stamps[MOST];

static uint32_t number_of(const struct recall_frame *frame, uint32_t document)
{
    char name[16];
    snprintf(name, sizeof name, "%.*s", VIEW_ARG(image_document_name(&frame->image, document)));
    return (uint32_t)strtoul(name, NULL, 10);
}

/* Adds documents in a new frame, with what the index says should be made anew. */
static int add_documents(struct recall_index *index, unsigned first, unsigned last)
{
    struct str image;
    size_t count, from = recall_index_merge(index, (last - first + 1) * 30);
    const struct recall_frame *frames = recall_index_frames(index, &count);
    if (from < count)
        first = number_of(&frames[from], 0);
    int code = make_image(first, last, &image);
    if (code == ETHOS_OK)
        code = recall_index_add(index, from, &image, stamps, last - first + 1, NULL);
    str_release(&image);
    return code;
}

static struct recall_index *open_index(const struct temp *temp)
{
    struct recall_index *index;
    struct ethos_error error;
    if (recall_index_open(temp->fd, NAME, 0, NULL, &index, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    return index;
}

/* The documents that are searched, in order, as "1 2 3 ". */
static void assert_documents(const struct recall_index *index, const char *expected)
{
    struct str found;
    size_t count;
    const struct recall_frame *frames = recall_index_frames(index, &count);
    str_init(&found, 100000);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < frames[i].image.counts.documents; d++)
            if (!image_is_gone(&frames[i].image, d))
                str_printf(&found, "%.*s ", VIEW_ARG(image_document_name(&frames[i].image, d)));
    assert_string_equal(found.data, expected);
    str_release(&found);
}

static void save(struct recall_index *index, const struct temp *temp, uint64_t stamp)
{
    assert_int_equal(recall_index_save(index, temp->fd, NAME, stamp, NULL), ETHOS_OK);
    recall_index_close(index);
}

static off_t file_size(const struct temp *temp)
{
    struct stat info;
    assert_int_equal(fstatat(temp->fd, NAME, &info, 0), 0);
    return info.st_size;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static void test_what_was_saved_is_there(void **state)
{
    struct temp temp;
    (void)state;
    temp_make(&temp);
    struct recall_index *index = open_index(&temp);
    assert_documents(index, "");
    assert_int_equal(recall_index_stamp(index), 0);
    assert_int_equal(add_documents(index, 1, 20), ETHOS_OK);
    save(index, &temp, 7);
    index = open_index(&temp);
    assert_documents(index, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 ");
    assert_int_equal(recall_index_stamp(index), 7);
    recall_index_restamp(index, 0, 1, INDEX_GONE);
    recall_index_restamp(index, 0, 2, 99);
    assert_int_equal(add_documents(index, 21, 22), ETHOS_OK);
    assert_documents(index, "1 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 ");
    save(index, &temp, 8);
    index = open_index(&temp);
    size_t count;
    assert_documents(index, "1 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 ");
    assert_int_equal(recall_index_frames(index, &count)[0].stamps[2], 99);
    assert_int_equal(count, 2);
    assert_int_equal(recall_index_stamp(index), 8);
    recall_index_close(index);
    temp_remove(&temp);
}

/* However often something is added: few frames, and a file of about the size of what is in it. */
static void test_frames_are_merged(void **state)
{
    struct temp temp;
    uint64_t written = 0;
    size_t count = 0;
    (void)state;
    temp_make(&temp);
    for (unsigned i = 1; i <= 500; i++) {
        struct recall_index *index = open_index(&temp);
        assert_int_equal(add_documents(index, i, i), ETHOS_OK);
        const struct recall_frame *frames = recall_index_frames(index, &count);
        written += frames[count - 1].image.counts.documents;
        save(index, &temp, 0);
        assert_true(count <= 12);
    }
    assert_true(written < 500 * 12);
    struct recall_index *index = open_index(&temp);
    const struct recall_frame *frames = recall_index_frames(index, &count);
    uint32_t documents = 0;
    for (size_t i = 0; i < count; i++)
        documents += frames[i].image.counts.documents;
    assert_int_equal(documents, 500);
    assert_true((uint64_t)file_size(&temp) < 3 * recall_index_bytes(index) + 8192);
    recall_index_close(index);
    temp_remove(&temp);
}

/* A frame that is mostly gone is made anew with the next one. */
static void test_what_is_gone_goes_with_the_next_frame(void **state)
{
    struct temp temp;
    (void)state;
    temp_make(&temp);
    struct recall_index *index = open_index(&temp);
    assert_int_equal(add_documents(index, 1, 100), ETHOS_OK);
    save(index, &temp, 0);
    index = open_index(&temp);
    assert_int_equal(recall_index_merge(index, 30), 1);
    for (uint32_t d = 0; d < 60; d++)
        recall_index_restamp(index, 0, d, INDEX_GONE);
    assert_int_equal(recall_index_merge(index, 30), 0);
    recall_index_close(index);
    temp_remove(&temp);
}

/* Who has it open goes on with what it was. */
static void test_a_reader_keeps_what_it_opened(void **state)
{
    struct temp temp;
    (void)state;
    temp_make(&temp);
    struct recall_index *index = open_index(&temp);
    assert_int_equal(add_documents(index, 1, 3), ETHOS_OK);
    save(index, &temp, 0);
    struct recall_index *reader = open_index(&temp);
    for (unsigned i = 4; i < 40; i++) {
        index = open_index(&temp);
        assert_int_equal(add_documents(index, i, i), ETHOS_OK);
        save(index, &temp, 0);
    }
    assert_documents(reader, "1 2 3 ");
    recall_index_close(reader);
    unlinkat(temp.fd, NAME, 0);
    reader = open_index(&temp);
    assert_documents(reader, "");
    recall_index_close(reader);
    temp_remove(&temp);
}

/* Two who wrote one after the other without knowing: the second one's is whole. */
static void test_a_file_that_changed_is_written_anew(void **state)
{
    struct temp temp;
    (void)state;
    temp_make(&temp);
    struct recall_index *index = open_index(&temp);
    assert_int_equal(add_documents(index, 1, 9), ETHOS_OK);
    save(index, &temp, 0);
    struct recall_index *late = open_index(&temp);
    index = open_index(&temp);
    assert_int_equal(add_documents(index, 10, 10), ETHOS_OK);
    save(index, &temp, 0);
    assert_int_equal(add_documents(late, 10, 11), ETHOS_OK);
    save(late, &temp, 0);
    index = open_index(&temp);
    assert_documents(index, "1 2 3 4 5 6 7 8 9 10 11 ");
    recall_index_close(index);
    temp_remove(&temp);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void make_file(const struct temp *temp)
{
    struct recall_index *index = open_index(temp);
    assert_int_equal(add_documents(index, 1, 9), ETHOS_OK);
    save(index, temp, 1);
    index = open_index(temp);
    assert_int_equal(add_documents(index, 10, 11), ETHOS_OK);
    save(index, temp, 1);
}

/* What a writer that died leaves is as if it had not begun; the next one makes the file whole. */
static void test_a_file_that_is_cut_off(void **state)
{
    struct temp temp;
    (void)state;
    temp_make(&temp);
    make_file(&temp);
    size_t size;
    char *whole = temp_read(&temp, NAME, &size);
    for (size_t cut = 1; cut < size; cut += 7) {
        struct recall_index *index = NULL;
        struct ethos_error error;
        int fd = openat(temp.fd, NAME, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, whole, cut), cut);
        close(fd);
        int code = recall_index_open(temp.fd, NAME, 0, NULL, &index, &error);
        if (code != ETHOS_OK) {
            assert_int_equal(code, ETHOS_CORRUPT);
            assert_true(cut < 32);
            continue;
        }
        size_t count;
        recall_index_frames(index, &count);
        assert_true(count <= 1);
        assert_int_equal(add_documents(index, 12, 12), ETHOS_OK);
        save(index, &temp, 1);
        index = open_index(&temp);
        assert_documents(index, count ? "1 2 3 4 5 6 7 8 9 12 " : "12 ");
        recall_index_close(index);
    }
    free(whole);
    temp_remove(&temp);
}

/* A byte that changed is noticed, unless it is in a stamp, where it only makes a text be read again. */
static void test_a_byte_that_changed(void **state)
{
    struct temp temp;
    size_t size, damaged = 0;
    (void)state;
    temp_make(&temp);
    make_file(&temp);
    char *whole = temp_read(&temp, NAME, &size);
    for (size_t at = 0; at < size; at++) {
        struct recall_index *index = NULL;
        int fd = openat(temp.fd, NAME, O_WRONLY | O_CLOEXEC);
        char byte = (char)(whole[at] ^ 1);
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
        int code = recall_index_open(temp.fd, NAME, 0, NULL, &index, NULL);
        assert_true(code == ETHOS_OK || code == ETHOS_CORRUPT);
        damaged += code == ETHOS_CORRUPT;
        recall_index_close(index);
        assert_int_equal(pwrite(fd, &whole[at], 1, (off_t)at), 1);
        close(fd);
    }
    /* header 32 with 8 of magic, stamps of 11 documents, padding of two frames */
    assert_true(damaged >= size - 24 - 11 * 8 - 14);
    free(whole);
    temp_remove(&temp);
}

static int open_trusted(const struct temp *temp, struct recall_trust *trust)
{
    struct recall_index *index = NULL;
    int code = recall_index_open(temp->fd, NAME, 0, trust, &index, NULL);
    recall_index_close(index);
    return code;
}

static void damage(const struct temp *temp, off_t at)
{
    char byte;
    int fd = openat(temp->fd, NAME, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* What was checked is not checked again; a frame behind it is, and so is another file of that name. */
static void test_what_is_known_of_a_file(void **state)
{
    struct temp temp;
    struct recall_trust trust = {0};
    (void)state;
    temp_make(&temp);
    struct recall_index *index = open_index(&temp);
    assert_int_equal(add_documents(index, 1, 9), ETHOS_OK);
    save(index, &temp, 1);
    off_t first = file_size(&temp);
    assert_int_equal(open_trusted(&temp, &trust), ETHOS_OK);
    damage(&temp, first - 64);
    assert_int_equal(open_trusted(&temp, &trust), ETHOS_OK);
    assert_int_equal(open_trusted(&temp, NULL), ETHOS_CORRUPT);
    damage(&temp, first - 64);
    index = open_index(&temp);
    assert_int_equal(add_documents(index, 10, 11), ETHOS_OK);
    save(index, &temp, 1);
    damage(&temp, file_size(&temp) - 64);
    assert_int_equal(open_trusted(&temp, &trust), ETHOS_CORRUPT);
    unlinkat(temp.fd, NAME, 0);
    index = open_index(&temp);
    assert_int_equal(add_documents(index, 1, 9), ETHOS_OK);
    save(index, &temp, 1);
    damage(&temp, first - 64);
    assert_int_equal(open_trusted(&temp, &trust), ETHOS_CORRUPT);
    temp_remove(&temp);
}

static void test_what_is_no_index(void **state)
{
    struct temp temp;
    struct recall_index *index = NULL;
    (void)state;
    temp_make(&temp);
    temp_write(&temp, NAME, "");
    assert_int_equal(recall_index_open(temp.fd, NAME, 0, NULL, &index, NULL), ETHOS_CORRUPT);
    temp_write(&temp, NAME, "not an index, but a file of some length");
    assert_int_equal(recall_index_open(temp.fd, NAME, 0, NULL, &index, NULL), ETHOS_CORRUPT);
    unlinkat(temp.fd, NAME, 0);
    assert_int_equal(symlinkat("other", temp.fd, NAME), 0);
    assert_int_not_equal(recall_index_open(temp.fd, NAME, 0, NULL, &index, NULL), ETHOS_OK);
    unlinkat(temp.fd, NAME, 0);
    assert_int_equal(mkdirat(temp.fd, NAME, 0700), 0);
    assert_int_not_equal(recall_index_open(temp.fd, NAME, 0, NULL, &index, NULL), ETHOS_OK);
    temp_remove(&temp);
}

/* ---- failures -------------------------------------------------------------------------------- */

struct nth {
    unsigned long at, calls;
    bool failed;
};

static int fail_nth(void *arg, const char *call, unsigned long number)
{
    struct nth *nth = arg;
    (void)call;
    (void)number;
    nth->failed = nth->failed || ++nth->calls == nth->at;
    return nth->calls == nth->at ? ENOSPC : 0;
}

/* A full disk: what is searched goes on in memory, and the file is the old one, the new one or noticed. */
static void test_a_save_that_fails(void **state)
{
    struct temp temp;
    struct nth nth = {.failed = true};
    (void)state;
    temp_make(&temp);
    for (nth.at = 1; nth.failed; nth.at++) {
        unlinkat(temp.fd, NAME, 0);
        make_file(&temp);
        struct recall_index *index = open_index(&temp);
        recall_index_restamp(index, 0, 0, INDEX_GONE);
        assert_int_equal(add_documents(index, 12, 12), ETHOS_OK);
        nth.calls = 0;
        nth.failed = false;
        os_hook(fail_nth, &nth);
        int code = recall_index_save(index, temp.fd, NAME, 2, NULL);
        os_hook(NULL, NULL);
        assert_true(nth.failed || code == ETHOS_OK);
        assert_documents(index, "2 3 4 5 6 7 8 9 10 11 12 ");
        recall_index_close(index);
        index = open_index(&temp);
        size_t count;
        recall_index_frames(index, &count);
        assert_true(count >= 2);
        if (code == ETHOS_OK)
            assert_documents(index, "2 3 4 5 6 7 8 9 10 11 12 ");
        else
            assert_int_equal(recall_index_stamp(index), 1);
        recall_index_close(index);
    }
    assert_true(nth.at > 3);
    temp_remove(&temp);
}

static int write_without_memory(const struct temp *temp)
{
    struct recall_index *index = NULL;
    int code = recall_index_open(temp->fd, NAME, 0, NULL, &index, NULL);
    if (code == ETHOS_OK)
        code = add_documents(index, 12, 12);
    if (code == ETHOS_OK)
        code = recall_index_save(index, temp->fd, NAME, 3, NULL);
    recall_index_close(index);
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
        unlinkat(temp.fd, NAME, 0);
        code = write_without_memory(&temp);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    temp_remove(&temp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_saved_is_there),
        cmocka_unit_test(test_frames_are_merged),
        cmocka_unit_test(test_what_is_gone_goes_with_the_next_frame),
        cmocka_unit_test(test_a_reader_keeps_what_it_opened),
        cmocka_unit_test(test_a_file_that_changed_is_written_anew),
        cmocka_unit_test(test_a_file_that_is_cut_off),
        cmocka_unit_test(test_a_byte_that_changed),
        cmocka_unit_test(test_what_is_known_of_a_file),
        cmocka_unit_test(test_what_is_no_index),
        cmocka_unit_test(test_a_save_that_fails),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };
    for (size_t i = 0; i < MOST; i++)
        stamps[i] = i + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
