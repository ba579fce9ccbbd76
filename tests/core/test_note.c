/*
 * test_note.c: notes and their frontmatter.
 */
#include "core/note.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void assert_view(struct ethos_view v, const char *expected)
{
    if (!expected) {
        assert_null(v.data);
        return;
    }
    assert_non_null(v.data);
    if (!view_eq_str(v, expected))
        fail_msg("'%.*s' is not '%s'", VIEW_ARG(v), expected);
}

static struct note parse(const char *text)
{
    struct note note;

    note_parse(view_str(text), &note);
    return note;
}

static void test_the_written_form_is_read(void **state)
{
    struct note note = parse("---\n"
                             "name: co2-eos\n"
                             "description: Use when building CO2 cases\n"
                             "metadata:\n"
                             "  type: project\n"
                             "  created: 2026-11-15\n"
                             "  verified: 2026-11-16\n"
                             "  source: session:abc\n"
                             "  title: CO2 EOS\n"
                             "  expires: 2027-01-01\n"
                             "  supersedes: old.md\n"
                             "  check: make test\n"
                             "---\n"
                             "\n"
                             "Body\n");

    (void)state;
    assert_true(note.has_frontmatter);
    assert_view(note.name, "co2-eos");
    assert_view(note.description, "Use when building CO2 cases");
    assert_view(note.type, "project");
    assert_view(note.created, "2026-11-15");
    assert_view(note.verified, "2026-11-16");
    assert_view(note.source, "session:abc");
    assert_view(note.title, "CO2 EOS");
    assert_view(note.expires, "2027-01-01");
    assert_view(note.supersedes, "old.md");
    assert_view(note.check, "make test");
    assert_view(note.body, "Body\n");
    assert_true(view_starts(note.frontmatter, VIEW("name: co2-eos\n")));
    assert_true(view_ends(note.frontmatter, VIEW("  check: make test\n")));
}

static void test_members_may_stand_at_the_top_level(void **state)
{
    struct note note = parse("---\nname: a\ntype: simulator\ncreated: 2026-01-02\n---\nBody");

    (void)state;
    assert_view(note.type, "simulator");
    assert_view(note.created, "2026-01-02");
    assert_view(note.title, NULL);
    assert_view(note.body, "Body");
}

static void test_crlf_is_tolerated(void **state)
{
    struct note note = parse(
        "---\r\nname: a\r\nmetadata:\r\n  type: user\r\nx:\r\n---\r\n\r\nBody\r\n");

    (void)state;
    assert_true(note.has_frontmatter);
    assert_view(note.name, "a");
    assert_view(note.type, "user");
    assert_view(note.body, "Body\r\n");
}

static void test_without_closed_frontmatter_all_is_body(void **state)
{
    static const char *const texts[] = {
        "",
        "Body",
        "\n---\nname: a\n---\n",
        "---\nname: a\n",
        "---",
        "--\nname: a\n--\n",
        "----\n---\n",
        " ---\nname: a\n---\n",
        "---\nname: a\n ---\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct note note = parse(texts[i]);

        assert_false(note.has_frontmatter);
        assert_view(note.body, texts[i]);
        assert_view(note.frontmatter, NULL);
        assert_view(note.name, NULL);
    }
}

static void test_one_blank_line_after_the_fence_is_not_body(void **state)
{
    (void)state;
    assert_view(parse("---\n---\nBody").body, "Body");
    assert_view(parse("---\n---\n\nBody").body, "Body");
    assert_view(parse("---\n---\n\n\nBody").body, "\nBody");
    assert_view(parse("---\n---\n \t\n---\nname: no\n---\n").body, "---\nname: no\n---\n");
    assert_view(parse("---\n---").body, "");
    assert_view(parse("---\n---").frontmatter, "");
    assert_true(parse("---\n---").has_frontmatter);
}

static void test_plain_quotes_are_taken_off(void **state)
{
    static const struct {
        const char *value, *read;
    } rows[] = {
        {"\"a: b\"", "a: b"},
        {"'it is'", "it is"},
        {"''", ""},
        {"\"say \\\"x\\\"\"", "\"say \\\"x\\\"\""}, /* escapes: left as they stand */
        {"'it''s'", "'it''s'"},
        {"\"a\" and \"b\"", "\"a\" and \"b\""},
        {"'a\"", "'a\""},
        {"\"", "\""},
        {"  spaced \t", "spaced"},
        {"issue #12", "issue #12"},
        {"a: b", "a: b"},
        {"", ""},
        {"|", NULL}, /* goes on below */
        {">-", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[256];

        snprintf(text, sizeof(text), "---\ndescription: %s\n---\n", rows[i].value);
        assert_view(parse(text).description, rows[i].read);
        snprintf(text, sizeof(text), "---\nmetadata:\n    check: %s\n---\n", rows[i].value);
        assert_view(parse(text).check, rows[i].read);
    }
}

static void test_only_members_one_level_below_metadata_count(void **state)
{
    struct note note = parse("---\n"
                             "other:\n"
                             "  name: no\n"
                             "description: >\n"
                             "  title: no\n"
                             "metadata:\n"
                             "\n"
                             "  # source: no\n"
                             "  nested:\n"
                             "    type: no\n"
                             "  created: yes\n"
                             " verified: no\n"
                             "another:\n"
                             "  expires: no\n"
                             "check:no\n"
                             "no colon\n"
                             "supersedes : yes\n"
                             "Type: no\n"
                             "---\n");

    (void)state;
    assert_view(note.name, NULL);
    assert_view(note.title, NULL);
    assert_view(note.description, NULL);
    assert_view(note.source, NULL);
    assert_view(note.type, NULL);
    assert_view(note.created, "yes");
    assert_view(note.verified, NULL);
    assert_view(note.expires, NULL);
    assert_view(note.check, NULL);
    assert_view(note.supersedes, "yes");
}

static void test_the_first_of_two_equal_names_counts(void **state)
{
    (void)state;
    assert_view(parse("---\ntype: a\nmetadata:\n  type: b\ntype: c\n---\n").type, "a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_written_form_is_read),
        cmocka_unit_test(test_members_may_stand_at_the_top_level),
        cmocka_unit_test(test_crlf_is_tolerated),
        cmocka_unit_test(test_without_closed_frontmatter_all_is_body),
        cmocka_unit_test(test_one_blank_line_after_the_fence_is_not_body),
        cmocka_unit_test(test_plain_quotes_are_taken_off),
        cmocka_unit_test(test_only_members_one_level_below_metadata_count),
        cmocka_unit_test(test_the_first_of_two_equal_names_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
