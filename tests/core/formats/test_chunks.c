/*
 * test_chunks.c: the entries of a text, and changing one of them.
 */
#include "core/formats/chunks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- reading --------------------------------------------------------------------------------- */

static int show(void *arg, const struct chunk *chunk)
{
    struct str *out = arg;
    str_printf(out, "%zu ", chunk->line);
    for (size_t i = 0; i < chunk->depth; i++)
        str_printf(out, "%.*s> ", VIEW_ARG(chunk->path[i]));
    str_printf(out, "[%zu] ", chunk->marker);
    chunk_content(chunk, out);
    if (chunk->block.data)
        str_printf(out, " {%.*s}", VIEW_ARG(chunk->block));
    return str_adds(out, "|");
}

static void assert_entries(const char *text, const char *expected)
{
    struct str out;
    str_init(&out, 100000);
    str_adds(&out, "");
    assert_int_equal(chunks_each(view_str(text), show, &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_entries(void **state)
{
    (void)state;
    assert_entries("", "");
    assert_entries("# Only\n## Headings\n", "");
    assert_entries("One.\n\nTwo\nlines.\n", "1 [0] One.|3 [0] Two\nlines.|");
    assert_entries("- a\n- b\n  more\n\n  and more\n* c\n",
                   "1 [2] a|2 [2] b\nmore\n\nand more|6 [2] c|");
    assert_entries("A paragraph\n- ends before a list item\n",
                   "1 [0] A paragraph|2 [2] ends before a list item|");
    assert_entries("# Home\n\nx\n\n## Kitchen\n10. oven\n    hot\n# Work\ny\n",
                   "3 Home> [0] x|6 Home> Kitchen> [4] oven\nhot|9 Work> [0] y|");
    assert_entries("Has one ^abc-1\n\n- item\n  ^x2\n\nnot a block^id\n\n^alone\n",
                   "1 [0] Has one {abc-1}|3 [2] item {x2}|6 [0] not a block^id|8 [0] ^alone|");
    assert_entries("```\n# no heading\n\n- no item\n```\n",
                   "1 [0] ```\n# no heading\n\n- no item\n```|");
    assert_entries("-\ttab is no item\n\n-   three blanks\n",
                   "1 [0] -\ttab is no item|3 [4] three blanks|");
}

/* ---- changing -------------------------------------------------------------------------------- */

struct nth {
    size_t left;
    struct chunk chunk;
    bool found;
};

static int find_nth(void *arg, const struct chunk *chunk)
{
    struct nth *nth = arg;
    if (nth->left-- > 0)
        return 0;
    nth->chunk = *chunk;
    nth->found = true;
    return 1;
}

static struct chunk entry_at(const char *text, size_t n)
{
    struct nth nth = {.left = n};
    chunks_each(view_str(text), find_nth, &nth);
    assert_true(nth.found);
    return nth.chunk;
}

static void assert_updated(const char *text, size_t n, const char *content, const char *expected)
{
    struct str out;
    struct ethos_error error;
    size_t offset = 0;
    struct chunk chunk = entry_at(text, n);
    str_init(&out, 100000);
    int code = chunk_update(view_str(text), &chunk, view_str(content), &out, &offset, &error);
    if (expected && code != ETHOS_OK)
        fail_msg("%s", error.text);
    if (expected)
        assert_string_equal(out.data, expected);
    else
        assert_int_equal(code, ETHOS_INVALID);
    str_release(&out);
}

static void test_updates_keep_the_marker(void **state)
{
    (void)state;
    assert_updated("One.\n\nTwo.\n\nThree.\n", 1, "2", "One.\n\n2\n\nThree.\n");
    assert_updated("- a\n- b\n  more\n- c\n", 1, "b2\nmore2", "- a\n- b2\n  more2\n- c\n");
    assert_updated("10. oven\n    hot\n", 0, "oven\ncold", "10. oven\n    cold\n");
    assert_updated("* a ^id1\n* b\n", 0, " new ", "* new ^id1\n* b\n");
    assert_updated("* a\n  ^id1\n", 0, "new\nlines", "* new\n  lines ^id1\n");
    assert_updated("no line end", 0, "x", "x");
    assert_updated("\xEF\xBB\xBFwith a mark\n", 0, "x", "\xEF\xBB\xBFx\n");
}

static void test_what_would_not_be_one_entry_is_refused(void **state)
{
    static const char *const wrong[] = {"",          "  \n ",     "a\n\nb",      "# heading",
                                        "a\n# b",    "- item",    "a\n- b",      "1. first",
                                        "```\nopen", "a\n```\nb", "a  \nb  x ^", "one\n two"};
    (void)state;
    for (size_t i = 0; i < 10; i++)
        assert_updated("A.\n\nB.\n\nC.\n", 1, wrong[i], NULL);
    assert_updated("- a\n- b\n", 0, "code:\n```\nx\n```", "- code:\n  ```\n  x\n  ```\n- b\n");
    assert_updated("A.\n\nB.\n", 0, "says ^block", NULL); // it would be an id
}

static void assert_deleted(const char *text, size_t n, const char *expected)
{
    struct str out;
    struct ethos_error error;
    struct chunk chunk = entry_at(text, n);
    str_init(&out, 100000);
    str_adds(&out, "");
    if (chunk_delete(view_str(text), &chunk, &out, &error) != ETHOS_OK)
        fail_msg("%s", error.text);
    assert_int_equal(out.size, strlen(expected));
    assert_memory_equal(out.data ? out.data : "", expected, out.size);
    str_release(&out);
}

static void test_deletes(void **state)
{
    (void)state;
    assert_deleted("A.\n\nB.\n\nC.\n", 0, "B.\n\nC.\n");
    assert_deleted("A.\n\nB.\n\nC.\n", 1, "A.\n\nC.\n");
    assert_deleted("A.\n\nB.\n\nC.\n", 2, "A.\n\nB.\n");
    assert_deleted("A.\n\nB.\n\nC.\n", 2, "A.\n\nB.\n");
    assert_deleted("A.", 0, "");
    assert_deleted("- a\n- b\n  more\n- c\n", 1, "- a\n- c\n");
    assert_deleted("- a\n- b\n", 1, "- a\n");
    assert_deleted("# H\n\n- a\n\n# I\n\nx\n", 0, "# H\n\n# I\n\nx\n");
    assert_deleted("text\n- a\n\nmore\n", 1, "text\n\nmore\n");
}

static void assert_added(const char *text, const char *under, const char *block,
                         const char *content, const char *expected)
{
    struct str out;
    struct ethos_error error;
    size_t offset = 0;
    const struct chunk_new what = {view_str(content), view_str(under), view_str(block)};
    str_init(&out, 100000);
    int code = chunk_add(view_str(text), &what, &out, &offset, &error);
    if (code != ETHOS_OK)
        fail_msg("%s", error.text);
    assert_string_equal(out.data, expected);
    assert_true(offset < out.size);
    str_release(&out);
}

static void test_additions(void **state)
{
    (void)state;
    assert_added("", NULL, NULL, "First.", "First.\n");
    assert_added("One.", NULL, NULL, "Two.", "One.\n\nTwo.\n");
    assert_added("One.\n\n\n", NULL, NULL, "Two.", "One.\n\nTwo.\n");
    assert_added("- a\n* b\n", NULL, NULL, "c\nmore", "- a\n* b\n* c\n  more\n");
    assert_added("9. nine", NULL, "x", "ten", "9. nine\n10. ten ^x\n");
    assert_added("# A\n\n- a\n\n# B\n\nb\n", "A", NULL, "c", "# A\n\n- a\n- c\n\n# B\n\nb\n");
    assert_added("# A\n\na\n\n# B\n\nb\n", "A", NULL, "c", "# A\n\na\n\nc\n\n# B\n\nb\n");
    assert_added("# A\n# B\n\nb\n", "A", NULL, "c", "# A\n\nc\n# B\n\nb\n");
    assert_added("# A\n\n- a\n\n# B\n", NULL, NULL, "c", "# A\n\n- a\n\n# B\n\nc\n");
    assert_added("```\n# no\n```\n# no\n\n- x\n", "no", NULL, "y",
                 "```\n# no\n```\n# no\n\n- x\n- y\n");
}

static void test_additions_that_are_refused(void **state)
{
    static const struct {
        const char *text, *under, *block, *content;
        int code;
    } rows[] = {
        {"# A\n\na\n", "B", NULL, "x", ETHOS_INVALID},
        {"# A\n\na ^x\n", NULL, "x", "y", ETHOS_EXISTS},
        {"a\n", NULL, "no blanks", "y", ETHOS_INVALID},
        {"a\n", NULL, NULL, "", ETHOS_INVALID},
        {"```\nopen\n", NULL, NULL, "x", ETHOS_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct str out;
        struct ethos_error error;
        size_t offset;
        const struct chunk_new what = {view_str(rows[i].content), view_str(rows[i].under),
                                       view_str(rows[i].block)};
        str_init(&out, 100000);
        assert_int_equal(chunk_add(view_str(rows[i].text), &what, &out, &offset, &error),
                         rows[i].code);
        str_release(&out);
    }
}

/* ---- any text -------------------------------------------------------------------------------- */

static unsigned seed = 1;

static unsigned random_below(unsigned most)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % most;
}

static int count_entry(void *arg, const struct chunk *chunk)
{
    (void)chunk;
    ++*(size_t *)arg;
    return 0;
}

static size_t count_entries(const char *text)
{
    size_t count = 0;
    chunks_each(view_str(text), count_entry, &count);
    return count;
}

static void make_text(struct str *out)
{
    static const char *const lines[] = {"",      "",       "one",    "- two",    "  more",  "3. x",
                                        "# H",   "## I",   "```",    "text ^b1", "* y ^b2", "\tt",
                                        "   z ", "1) one", "- ```c", "  ```",    "> q",     "a\\"};
    str_clear(out);
    str_adds(out, "");
    for (unsigned n = random_below(14); n > 0; n--)
        str_printf(out, "%s\n", lines[random_below(COUNT(lines))]);
    if (random_below(4) == 0)
        str_truncate(out, out->size > 0 ? out->size - 1 : 0);
}

/* What is done to one entry of any text leaves all others, or is refused. */
static void test_any_text(void **state)
{
    static const char *const contents[] = {"new", "new\nlines", "a `b` c", "x\n  y", "ends ^z"};
    struct str text, out;
    size_t done = 0, refused = 0;
    (void)state;
    str_init(&text, 10000);
    str_init(&out, 10000);
    for (int round = 0; round < 20000; round++) {
        make_text(&text);
        size_t count = count_entries(text.data), offset;
        if (count == 0)
            continue;
        struct chunk chunk = entry_at(text.data, random_below((unsigned)count));
        struct ethos_view content = view_str(contents[random_below(COUNT(contents))]);
        const struct chunk_new what = {content, view_str(random_below(2) ? "H" : NULL),
                                       view_str(NULL)};
        int code = chunk_update(str_view(&text), &chunk, content, &out, &offset, NULL);
        if (code == ETHOS_OK)
            assert_int_equal(count_entries(out.data), count);
        done += code == ETHOS_OK;
        refused += code == ETHOS_INVALID;
        code = chunk_delete(str_view(&text), &chunk, &out, NULL);
        str_adds(&out, "");
        if (code == ETHOS_OK)
            assert_int_equal(count_entries(out.data), count - 1);
        else
            assert_int_equal(code, ETHOS_INVALID);
        done += code == ETHOS_OK;
        code = chunk_add(str_view(&text), &what, &out, &offset, NULL);
        if (code == ETHOS_OK)
            assert_int_equal(count_entries(out.data), count + 1);
        done += code == ETHOS_OK;
    }
    print_message("%zu done, %zu refused\n", done, refused);
    assert_true(done > 20000);
    str_release(&text);
    str_release(&out);
}

static void test_ids(void **state)
{
    char one[CHUNK_ID_SIZE], two[CHUNK_ID_SIZE];
    (void)state;
    chunk_hash("global", "MEMORY.md", VIEW("a"), one);
    chunk_hash("global", "MEMORY.md", VIEW("a"), two);
    assert_string_equal(one, two);
    assert_int_equal(strspn(one, "0123456789abcdef"), 16);
    chunk_hash("globa", "lMEMORY.md", VIEW("a"), two);
    assert_string_not_equal(one, two);
    chunk_hash("global", "MEMORY.md", VIEW("b"), two);
    assert_string_not_equal(one, two);
    assert_true(chunk_is_block(VIEW("abc-1")));
    assert_false(chunk_is_block(VIEW("")));
    assert_false(chunk_is_block(VIEW("a b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_updates_keep_the_marker),
        cmocka_unit_test(test_what_would_not_be_one_entry_is_refused),
        cmocka_unit_test(test_deletes),
        cmocka_unit_test(test_additions),
        cmocka_unit_test(test_additions_that_are_refused),
        cmocka_unit_test(test_any_text),
        cmocka_unit_test(test_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
