/*
 * test_note.c: notes and their frontmatter.
 */
#include "core/notes/note.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/str.h"
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
        {"\"a\" # comment", "a"},
        {"'it''s' # comment", "'it''s'"},
        {"plain # comment", "plain"},
        {"# comment", ""},
        {"'\"x\"'", "'\"x\"'"}, /* bare, it would seem to be quoted */
        {"|", NULL},            /* goes on below */
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

static void test_a_value_of_several_lines_is_missing(void **state)
{
    (void)state;
    assert_view(parse("---\ndescription: one\n  two\n---\n").description, NULL);
    assert_view(parse("---\ndescription: \"one\n\n  two\"\n---\n").description, NULL);
    assert_view(parse("---\ncheck:\n- a\n---\n").check, NULL);
    assert_view(parse("---\ncheck:\n  a: b\n---\n").check, NULL);
    assert_view(parse("---\nname: a\n  # comment\ntype: b\n---\n").name, "a");
}

static void test_a_comment_does_not_end_metadata(void **state)
{
    (void)state;
    assert_view(parse("---\nmetadata: # ours\n# a: b\n  type: user\n---\n").type, "user");
}

static void test_a_byte_order_mark_may_stand_before_the_fence(void **state)
{
    struct note note = parse("\ufeff---\nname: a\n---\nBody");

    (void)state;
    assert_view(note.name, "a");
    assert_view(note.body, "Body");
    assert_view(note.head, "\ufeff---\nname: a\n---\n");
    assert_view(parse("\ufeffBody").body, "\ufeffBody");
}

/* ---- what members say ---------------------------------------------------------------------- */

static void test_values_have_quotes_and_escapes_resolved(void **state)
{
    static const struct {
        const char *member, *value;
    } rows[] = {
        {"plain", "plain"},
        {"", ""},
        {"\"say \\\"x\\\"\"", "say \"x\""},
        {"'it''s'", "it's"},
        {"\"a\\tb\\\\c\\/d\"", "a\tb\\c/d"},
        {"\"\\x41\\u00e9\\U0001F600\"", "A\u00e9\U0001f600"},
        {"\"\\N\\_\\L\\P\"", "\xc2\x85\u00a0\u2028\u2029"},
        {"\"\\ud800\\UFFFFFFFF\"", "\ufffd\ufffd"},
        {"\"\\q \\x4 \\u12\"", "\\q \\x4 \\u12"}, /* no escapes: as they stand */
        {"\"open", "\"open"},
        {"\"a\" and \"b\"", "\"a\" and \"b\""},
        {"\"", "\""},
        {"'\"x\"'", "\"x\""},
    };
    struct str out;

    (void)state;
    str_init(&out, 256);
    for (size_t i = 0; i < COUNT(rows); i++) {
        str_clear(&out);
        assert_int_equal(note_value(view_str(rows[i].member), &out), ETHOS_OK);
        assert_view(str_view(&out), rows[i].value);
    }
    str_clear(&out);
    assert_int_equal(note_value(VIEW("\"a\\0b\""), &out), ETHOS_OK);
    assert_true(view_eq(str_view(&out), VIEW("a\0b")));
    str_release(&out);
}

static void test_the_title_is_the_member_or_comes_from_the_file_name(void **state)
{
    static const struct {
        const char *text, *key, *title;
    } rows[] = {
        {"---\ntitle: \"CO2 \\\"EOS\\\"\"\n---\n", "co2-eos.md", "CO2 \"EOS\""},
        {"Body", "co2-eos_x.md", "Co2 eos x"},
        {"---\ntitle:\n---\n", "a.b.md", "A.b"},
        {"", "9-lives", "9 lives"},
        {"---\nmetadata:\n  title: \u540d\n---\n", "note-1.md", "\u540d"},
    };
    struct str out;

    (void)state;
    str_init(&out, 256);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct note note = parse(rows[i].text);

        str_clear(&out);
        assert_int_equal(note_title(&note, rows[i].key, &out), ETHOS_OK);
        assert_view(str_view(&out), rows[i].title);
    }
    str_release(&out);
}

static void test_kinds_take_the_words_of_others(void **state)
{
    (void)state;
    assert_true(note_is_type(VIEW("project"), "project"));
    assert_true(note_is_type(VIEW("simulator"), "project"));
    assert_true(note_is_type(VIEW("preference"), "feedback"));
    assert_true(note_is_type(view_str(NULL), "project"));
    assert_true(note_is_type(VIEW("own word"), "own word"));
    assert_false(note_is_type(VIEW("simulator"), "simulator"));
    assert_false(note_is_type(VIEW("user"), "project"));
    assert_false(note_is_type(view_str(NULL), "user"));
}

static bool says(const char *body, const char *text)
{
    struct note note = {.body = view_str(body)};
    bool said;

    assert_int_equal(note_says(&note, view_str(text), &said), ETHOS_OK);
    return said;
}

static void test_a_text_is_said_when_its_lines_stand_between_blank_ones(void **state)
{
    (void)state;
    assert_true(says("one\n", "one"));
    assert_true(says("one\n\ntwo\nlines\n\nthree", " two\nlines\n"));
    assert_true(says("one\r\n\r\ntwo\r\nlines\r\n", "two\nlines"));
    assert_true(says("one  \n \t\ntwo", "one\n\ntwo"));
    assert_false(says("one\ntwo", "one"));
    assert_false(says("one\ntwo", "two"));
    assert_false(says("one more", "one"));
    assert_false(says("", "one"));
    assert_false(says("one\n\ntwo", "one\ntwo"));
}

static void test_saying_is_linear_in_the_text(void **state)
{
    struct str body, text;
    struct note note;
    bool said;

    (void)state;
    str_init(&body, SIZE_MAX);
    str_init(&text, SIZE_MAX);
    for (size_t i = 0; i < 300000; i++)
        str_adds(&body, "ax\n\n");
    str_adds(&text, "x\n\n");
    for (size_t i = 0; i < 150000; i++)
        str_adds(&text, "ax\n\n");
    note = (struct note){.body = str_view(&body)};
    assert_int_equal(note_says(&note, str_view(&text), &said), ETHOS_OK);
    assert_false(said);
    str_release(&text);
    str_release(&body);
}

static void test_saying_reports_lack_of_memory(void **state)
{
    struct note note = {.body = VIEW("one\n\ntwo\n")};
    int code = ETHOS_NOMEM;
    bool said = false;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = note_says(&note, VIEW("two"), &said);
        assert_true(code == ETHOS_NOMEM ? !said : said);
    }
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
        cmocka_unit_test(test_a_value_of_several_lines_is_missing),
        cmocka_unit_test(test_a_comment_does_not_end_metadata),
        cmocka_unit_test(test_a_byte_order_mark_may_stand_before_the_fence),
        cmocka_unit_test(test_values_have_quotes_and_escapes_resolved),
        cmocka_unit_test(test_the_title_is_the_member_or_comes_from_the_file_name),
        cmocka_unit_test(test_kinds_take_the_words_of_others),
        cmocka_unit_test(test_a_text_is_said_when_its_lines_stand_between_blank_ones),
        cmocka_unit_test(test_saying_is_linear_in_the_text),
        cmocka_unit_test(test_saying_reports_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
