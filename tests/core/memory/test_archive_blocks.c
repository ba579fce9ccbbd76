/*
 * test_archive_blocks.c: the blocks of memory-archive.md.
 */
#include "core/memory/archive_blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "../../support/golden.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/update.h"

#define CEILING ((size_t)1 << 26)
#define OLD "<!-- archived 2026-01-01T00:00:00.000Z slug=fact from=MEMORY.md -->\n### fact\n"
#define NEW "<!-- archived 2026-02-01T00:00:00.000Z slug=fact from=MEMORY.md -->\n### fact\n"
#define OTHER "<!-- archived 2026-03-01T00:00:00.000Z slug=fact-2 from=a b.md -->\n### fact-2\n"
#define OVERFLOW "<!-- overflow-archived 2026-04-01T00:00:00.000Z from MEMORY.md -->\n"

static void test_golden_blocks_are_read(void **state)
{
    json_t *vectors = golden_load("archive"), *vector, *expected;
    size_t i, k;

    (void)state;
    json_array_foreach (vectors, i, vector) {
        struct ethos_view rest = json_view(vector, "text");
        struct archive_block block;

        json_array_foreach (json_object_get(vector, "blocks"), k, expected) {
            assert_true(archive_next(&rest, &block));
            assert_false(block.overflow);
            assert_true(view_eq(block.slug, json_view(expected, "slug")));
            assert_true(view_eq(block.from, json_view(expected, "from")));
            assert_true(view_eq(block.iso, json_view(expected, "iso")));
        }
        assert_false(archive_next(&rest, &block));
    }
    json_decref(vectors);
}

/* Vectors that say what is left after one block was taken out. */
static void test_golden_blocks_are_restored(void **state)
{
    json_t *vectors = golden_load("archive"), *vector;
    struct str rest, body;
    size_t i;

    (void)state;
    str_init(&rest, CEILING);
    str_init(&body, CEILING);
    json_array_foreach (vectors, i, vector) {
        json_t *block = json_array_get(json_object_get(vector, "blocks"), 0);
        const char *left = golden_string(vector, "restore");

        assert_int_equal(
            archive_restore(json_view(vector, "text"), golden_string(block, "slug"), &rest, &body),
            ETHOS_OK);
        if (left)
            assert_string_equal(rest.data, left);
        if (i == 0)
            assert_string_equal(body.data, "- one\n- two\n");
    }
    str_release(&rest);
    str_release(&body);
    json_decref(vectors);
}

static void assert_block(struct ethos_view *rest, const char *whole, const char *body)
{
    struct archive_block block;

    assert_true(archive_next(rest, &block));
    assert_true(view_eq_str(block.whole, whole));
    assert_true(view_eq_str(block.body, body));
}

static void test_a_block_ends_before_the_next_marker_of_either_kind(void **state)
{
    struct ethos_view rest = VIEW("# Archive\n\n" OLD "one\n" OVERFLOW "two\n\n" OTHER "three");
    struct archive_block block;

    (void)state;
    assert_block(&rest, OLD "one\n", "one\n");
    assert_block(&rest, OVERFLOW "two\n\n", "two\n\n");
    assert_true(archive_next(&rest, &block));
    assert_true(view_eq(block.from, VIEW("a b.md")));
    assert_true(view_eq(block.body, VIEW("three")));
    assert_false(archive_next(&rest, &block));
}

static void test_what_an_overflow_wrote_is_read(void **state)
{
    struct archive_block block;
    struct ethos_view rest;
    struct str archive;

    (void)state;
    str_init(&archive, CEILING);
    update_archive(VIEW("old text\n\n"), "MEMORY.md", "2026-04-01T00:00:00.000Z", &archive);
    rest = str_view(&archive);
    assert_true(archive_next(&rest, &block));
    assert_true(block.overflow);
    assert_null(block.slug.data);
    assert_true(view_eq(block.from, VIEW("MEMORY.md")));
    assert_true(view_eq(block.iso, VIEW("2026-04-01T00:00:00.000Z")));
    assert_true(view_eq(block.body, VIEW("old text\n")));
    str_release(&archive);
}

static void test_text_that_is_no_marker_belongs_to_the_body(void **state)
{
    static const char *const lines[] = {
        "<!-- archived -->\n",
        "<!-- archived x slug=a from= -->\n",
        "<!-- archived x slug= from=b -->\n",
        "<!-- archived x slug=a from=b\n",
        "<!-- archived x slug=a from=b --> more\n",
        " <!-- archived x slug=a from=b -->\n",
        "<!-- overflow-archived x -->\n",
        "<!-- overflow-archived x from=b -->\n",
        "### fact-2\n",
        "",
    };
    struct str text, body;

    (void)state;
    str_init(&text, CEILING);
    str_init(&body, CEILING);
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct ethos_view rest = view_str(lines[i]);
        struct archive_block block;

        assert_false(archive_next(&rest, &block));
        str_clear(&text);
        str_clear(&body);
        str_printf(&body, "%sbody\n", lines[i]);
        str_printf(&text, "%s%s", OLD, body.data);
        rest = str_view(&text);
        assert_block(&rest, text.data, body.data);
    }
    str_release(&text);
    str_release(&body);
}

static void test_only_the_heading_of_the_slug_is_no_body(void **state)
{
    struct ethos_view plain = VIEW("<!-- archived x slug=a from=b -->\nbody\n");
    struct ethos_view other = VIEW("<!-- archived x slug=a from=b -->\n### ab\nbody\n");

    (void)state;
    assert_block(&plain, plain.data, "body\n");
    assert_block(&other, other.data, "### ab\nbody\n");
}

static void test_markers_may_end_in_a_carriage_return(void **state)
{
    struct ethos_view rest = VIEW("<!-- archived x slug=a from=b -->\r\n### a\r\nbody\r\n");

    (void)state;
    assert_block(&rest, rest.data, "body\r\n");
}

/* ---- restoring ----------------------------------------------------------------------------- */

static void assert_restored(const char *archive, const char *left, const char *text)
{
    struct str rest, body;

    str_init(&rest, CEILING);
    str_init(&body, CEILING);
    str_adds(&rest, "stood there before");
    str_adds(&body, "stood there before");
    assert_int_equal(archive_restore(view_str(archive), "fact", &rest, &body), ETHOS_OK);
    assert_string_equal(rest.data, left);
    assert_string_equal(body.data, text);
    str_release(&rest);
    str_release(&body);
}

static void test_the_newest_block_is_taken_out_and_nothing_else(void **state)
{
    (void)state;
    assert_restored("top\r\n" OLD "one\n" OVERFLOW "kept\n" NEW "two\n" OTHER "three\n\n",
                    "top\r\n" OLD "one\n" OVERFLOW "kept\n" OTHER "three\n\n", "two\n");
    assert_restored(NEW "two\n" OLD "one\n", OLD "one\n", "two\n");
    assert_restored(OLD "one\n" OLD "two\n", OLD "one\n", "two\n");
    assert_restored(OLD, "", "");
}

static void test_the_note_of_a_block_stays_behind(void **state)
{
    (void)state;
    assert_restored(OLD "> Superseded by [[#x]] on 2026-01-01.\n\nbody\n", "", "body\n");
    assert_restored(OLD "> Retracted: wrong on 2026-01-01.\n\n\nbody\n", "", "\nbody\n");
    assert_restored(OLD "> Retracted on 2026-01-01.\nbody\n", "", "body\n");
    assert_restored(OLD "> Retracted on 2026-01-01.", "", "");
    assert_restored(OLD "> A quote.\n\nbody\n", "", "> A quote.\n\nbody\n");
    assert_restored(OLD "body\n> Retracted on 2026-01-01.\n\n", "",
                    "body\n> Retracted on 2026-01-01.\n\n");
}

static void test_what_is_not_there_is_not_found(void **state)
{
    struct str rest, body;

    (void)state;
    str_init(&rest, CEILING);
    str_init(&body, CEILING);
    assert_int_equal(archive_restore(VIEW(OLD), "fac", &rest, &body), ETHOS_NOTFOUND);
    assert_int_equal(archive_restore(VIEW(OVERFLOW), "", &rest, &body), ETHOS_NOTFOUND);
    assert_int_equal(archive_restore(view_str(NULL), "fact", &rest, &body), ETHOS_NOTFOUND);
    assert_int_equal(rest.size + body.size, 0);
}

static void test_no_memory_is_told(void **state)
{
    struct str rest, body;
    int code = ETHOS_NOMEM;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_init(&rest, CEILING);
        str_init(&body, CEILING);
        code = archive_restore(VIEW(OLD "one\n" NEW "two\n"), "fact", &rest, &body);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        str_release(&rest);
        str_release(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_blocks_are_read),
        cmocka_unit_test(test_golden_blocks_are_restored),
        cmocka_unit_test(test_a_block_ends_before_the_next_marker_of_either_kind),
        cmocka_unit_test(test_what_an_overflow_wrote_is_read),
        cmocka_unit_test(test_text_that_is_no_marker_belongs_to_the_body),
        cmocka_unit_test(test_only_the_heading_of_the_slug_is_no_body),
        cmocka_unit_test(test_markers_may_end_in_a_carriage_return),
        cmocka_unit_test(test_the_newest_block_is_taken_out_and_nothing_else),
        cmocka_unit_test(test_the_note_of_a_block_stays_behind),
        cmocka_unit_test(test_what_is_not_there_is_not_found),
        cmocka_unit_test(test_no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
