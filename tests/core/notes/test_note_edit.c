/*
 * test_note_edit.c: notes written and changed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "base/yaml.h"
#include "core/notes/note.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define LIMIT ((size_t)1 << 24)

/* What a real YAML parser finds in the head of a note under a dotted key. */
static void assert_yaml(struct ethos_view text, const char *key, const char *expected)
{
    struct yaml_table table;
    struct ethos_error error;
    struct arena arena;
    struct note note;

    note_parse(text, &note);
    arena_init(&arena);
    if (yaml_parse(note.frontmatter, "note", &arena, &table, &error))
        fail_msg("%s", error.text);
    const char *value = yaml_get(&table, key);
    assert_non_null(value);
    assert_string_equal(value, expected);
    arena_release(&arena);
}

static void assert_set(const char *text, const char *member, const char *value,
                       const char *expected)
{
    struct str out;

    str_init(&out, LIMIT);
    str_adds(&out, "rubbish");
    assert_int_equal(note_set(view_str(text), member, view_str(value), &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void test_a_note_is_written_in_one_form(void **state)
{
    struct note_head head = {VIEW("co2-eos"),    VIEW("Use when building\n CO2 cases"),
                             VIEW("project"),    VIEW("CO2 EOS"),
                             VIEW("2026-11-15"), VIEW("2026-11-16"),
                             VIEW("session:abc")};
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    assert_int_equal(note_write(&head, VIEW("\n Body\n\nmore \n\n"), &out), ETHOS_OK);
    assert_string_equal(out.data, "---\n"
                                  "name: co2-eos\n"
                                  "description: Use when building CO2 cases\n"
                                  "metadata:\n"
                                  "  type: project\n"
                                  "  created: 2026-11-15\n"
                                  "  verified: 2026-11-16\n"
                                  "  source: session:abc\n"
                                  "  title: CO2 EOS\n"
                                  "---\n"
                                  "\n"
                                  "Body\n\nmore\n");
    str_release(&out);
}

static void test_a_title_is_left_out_where_the_name_gives_it_back(void **state)
{
    struct note_head head = {.name = VIEW("co2-eos"), .title = VIEW("Co2 eos")};
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    note_write(&head, VIEW(""), &out);
    assert_string_equal(out.data, "---\nname: co2-eos\n---\n");
    str_release(&out);
}

static void test_values_are_quoted_so_that_yaml_reads_them_back(void **state)
{
    static const char *const values[] = {
        "plain text",
        "a: b",
        "see #12 # 13",
        "- item",
        "\"quoted\" and 'single'",
        "'",
        "back\\slash",
        "[flow]",
        "{a: b}",
        "*alias",
        "&anchor",
        "!tag",
        "| block",
        "> folded",
        "%directive",
        "@at",
        "`tick`",
        "? question",
        "ends:",
        "---",
        "...",
        "123",
        "-1.5e3",
        "0x1F",
        "2026-11-15",
        "true",
        "No",
        "null",
        "~",
        "=",
        "<<",
        ".inf",
        "12:30:00",
        "\u540d\u524d \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \U0001f600",
        "soft\u00adhyphen",
        "zero\u200bwidth \u2060",
        "",
    };
    struct str text, back;

    (void)state;
    str_init(&text, LIMIT);
    str_init(&back, LIMIT);
    for (size_t i = 0; i < COUNT(values); i++) {
        struct ethos_view value = view_str(values[i]);
        struct note_head head = {.name = VIEW("x"), .description = value, .title = value};
        struct note note;

        str_clear(&text);
        assert_int_equal(note_write(&head, VIEW("Body"), &text), ETHOS_OK);
        assert_yaml(str_view(&text), "description", values[i]);
        assert_yaml(str_view(&text), "metadata.title", values[i]);
        note_parse(str_view(&text), &note);
        str_clear(&back);
        note_value(note.description, &back);
        assert_string_equal(back.data, values[i]);
    }
    str_release(&back);
    str_release(&text);
}

static void test_strings_that_look_like_other_things_are_quoted(void **state)
{
    struct note_head head = {
        .name = VIEW("2026-11-15"), .description = VIEW("yes"), .created = VIEW("2026-11-15")};
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    note_write(&head, VIEW(""), &out);
    assert_string_equal(out.data, "---\nname: \"2026-11-15\"\ndescription: \"yes\"\n"
                                  "metadata:\n  created: 2026-11-15\n---\n");
    str_release(&out);
}

static void test_a_body_with_fences_stays_body(void **state)
{
    static const char body[] = "---\nname: no\n---\n\nText\n";
    struct note_head head = {.name = VIEW("yes")};
    struct note note;
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    note_write(&head, view_str(body), &out);
    note_parse(str_view(&out), &note);
    assert_true(view_eq(note.name, VIEW("yes")));
    assert_true(view_eq_str(note.body, body));
    str_clear(&out);
    note_write(&(struct note_head){0}, view_str(body), &out);
    note_parse(str_view(&out), &note);
    assert_null(note.name.data);
    assert_true(view_eq_str(note.body, body));
    str_release(&out);
}

/* ---- setting ------------------------------------------------------------------------------- */

static void test_a_member_is_changed_where_it_stands(void **state)
{
    (void)state;
    assert_set("---\nname: a\ntype: b # why\nx: y\n---\nBody", "type", "user",
               "---\nname: a\ntype: user # why\nx: y\n---\nBody");
    assert_set("---\nmetadata:\n    type:   \"b\"   # why\n---\n\nBody\n", "type", "user",
               "---\nmetadata:\n    type:   user   # why\n---\n\nBody\n");
    assert_set("---\r\nname: a\r\nmetadata:\r\n  verified: 2026-01-01\r\n---\r\nBody\r\n",
               "verified", "2026-11-15",
               "---\r\nname: a\r\nmetadata:\r\n  verified: 2026-11-15\r\n---\r\nBody\r\n");
    assert_set("---\ntype:\n---\n", "type", "user", "---\ntype: user\n---\n");
    assert_set("---\ntype: # later\n---\n", "type", "user", "---\ntype: user # later\n---\n");
    assert_set("---\ntype: #\n---\n", "type", "user", "---\ntype: 'user' #\n---\n");
    assert_set("---\ntype: \"b\" #why\n---\n", "type", "it's", "---\ntype: 'it''s' #why\n---\n");
    assert_set("---\ntype: 'b'\t# why\n---\n", "type", "a: b", "---\ntype: \"a: b\"\t# why\n---\n");
    assert_set("---\ndescription: old\n---", "description", "a: b\nc",
               "---\ndescription: \"a: b c\"\n---");
    assert_set("---\ntype: a\ntype: b\n---\n", "type", "c", "---\ntype: c\ntype: b\n---\n");
}

static void test_a_missing_member_is_added_at_its_place(void **state)
{
    (void)state;
    assert_set("---\nx: y\n---\nB", "name", "nm", "---\nname: nm\nx: y\n---\nB");
    assert_set("---\nx: y\nname: nm\nz: z\n---\nB", "description", "d",
               "---\nx: y\nname: nm\ndescription: d\nz: z\n---\nB");
    assert_set("---\nx: y\n---\nB", "description", "d", "---\ndescription: d\nx: y\n---\nB");
    assert_set("---\nname: nm\n---\nB", "verified", "2026-11-15",
               "---\nname: nm\nmetadata:\n  verified: 2026-11-15\n---\nB");
    assert_set("---\nmetadata:\n    type: a\n    # last\n\nother: b\n---\nB", "source", "s",
               "---\nmetadata:\n    type: a\n    source: s\n    # last\n\nother: b\n---\nB");
    assert_set("---\nmetadata:\n  own:\n    deep: a\nother: b\n---\nB", "source", "s",
               "---\nmetadata:\n  own:\n    deep: a\n  source: s\nother: b\n---\nB");
    assert_set("---\nmetadata:\n---\n", "source", "s", "---\nmetadata:\n  source: s\n---\n");
    assert_set("---\n---\n", "source", "s", "---\nmetadata:\n  source: s\n---\n");
    assert_set("---\r\nname: nm\r\n---\r\nB", "source", "s",
               "---\r\nname: nm\r\nmetadata:\r\n  source: s\r\n---\r\nB");
    assert_set("---\ntype: simulator\n---\n", "verified", "2026-11-15",
               "---\ntype: simulator\nmetadata:\n  verified: 2026-11-15\n---\n");
}

static void test_a_text_without_head_gets_one(void **state)
{
    (void)state;
    assert_set("Body", "name", "nm", "---\nname: nm\n---\n\nBody");
    assert_set("\nBody\r\n", "type", "user", "---\nmetadata:\n  type: user\n---\n\n\nBody\r\n");
    assert_set("Body\r\n", "name", "nm", "---\r\nname: nm\r\n---\r\n\r\nBody\r\n");
    assert_set("\ufeffBody", "name", "nm", "\ufeff---\nname: nm\n---\n\nBody");
    assert_set("---\nopen\n", "name", "nm", "---\nname: nm\n---\n\n---\nopen\n");
    assert_set("", "name", "nm", "---\nname: nm\n---\n");
}

static void test_the_absent_value_takes_the_member_out(void **state)
{
    (void)state;
    assert_set("---\nname: a\ntype: b\nx: y\n---\nB", "type", NULL, "---\nname: a\nx: y\n---\nB");
    assert_set("---\nmetadata:\n  type: b\ntype: c\n---\n", "type", NULL, "---\nmetadata:\n---\n");
    assert_set("---\nname: a\n---\nB", "type", NULL, "---\nname: a\n---\nB");
    assert_set("B", "type", NULL, "B");
}

static void test_what_cannot_be_edited_stays(void **state)
{
    static const struct {
        const char *text, *member;
    } rows[] = {
        {"---\ndescription: >\n  folded\n  text\n---\nB", "description"},
        {"---\ndescription: |-\n  text\n---\nB", "description"},
        {"---\ndescription: one\n  two\n---\nB", "description"},
        {"---\ncheck:\n- a\n- b\n---\nB", "check"},
        {"---\ncheck:\n  a: b\n---\nB", "check"},
        {"---\nmetadata: {type: project}\n---\nB", "type"},
        {"---\nmetadata: text\n---\nB", "type"},
        {"---\nmetadata:\n- a: b\n---\nB", "type"},
        {"---\nmetadata:\n  - a: b\n---\nB", "type"},
        {"---\nmetadata:\n  text\n---\nB", "type"},
        {"---\n  name: a\n---\nB", "description"},
        {"---\n- name: a\n---\nB", "type"},
    };
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(note_set(view_str(rows[i].text), rows[i].member, VIEW("v"), &out),
                         ETHOS_UNSUPPORTED);
        assert_string_equal(out.data, rows[i].text);
    }
    str_release(&out);
}

static void test_a_head_of_two_mebibytes_is_edited(void **state)
{
    struct str text, out;
    struct note note;

    (void)state;
    str_init(&text, LIMIT);
    str_init(&out, LIMIT);
    str_adds(&text, "---\nmetadata:\n");
    for (unsigned i = 0; text.size < 1024 * 1024; i++)
        str_printf(&text, "  own%u: value # %u\n  # comment: %u\n", i, i, i);
    size_t place = text.size;
    str_adds(&text, "---\n\n");
    while (text.size < 2 * 1024 * 1024)
        str_adds(&text, "--- \xff body\n");
    assert_int_equal(note_set(str_view(&text), "type", VIEW("user"), &out), ETHOS_OK);
    note_parse(str_view(&out), &note);
    assert_true(view_eq(note.type, VIEW("user")));
    assert_int_equal(out.size, text.size + sizeof("  type: user\n") - 1);
    assert_true(view_eq(view_from(str_view(&text), place),
                        view_from(str_view(&out), place + sizeof("  type: user\n") - 1)));
    str_release(&out);
    str_release(&text);
}

/* ---- bodies -------------------------------------------------------------------------------- */

static void assert_body(int make(struct ethos_view, struct ethos_view, struct str *),
                        const char *text, const char *body, const char *expected)
{
    struct str out;

    str_init(&out, LIMIT);
    str_adds(&out, "rubbish");
    assert_int_equal(make(view_str(text), view_str(body), &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_another_body_keeps_the_head(void **state)
{
    (void)state;
    assert_body(note_rebody, "---\nname: a # b\nx:   y\n---\nOld\n", "\nNew\n\n more ",
                "---\nname: a # b\nx:   y\n---\n\nNew\n\n more\n");
    assert_body(note_rebody, "---\nname: a\n---", "New", "---\nname: a\n---\n\nNew\n");
    assert_body(note_rebody, "---\r\nname: a\r\n---\r\n\r\nOld", "New\nmore",
                "---\r\nname: a\r\n---\r\n\r\nNew\r\nmore\r\n");
    assert_body(note_rebody, "Old\n", "New", "New\n");
    assert_body(note_rebody, "", "New", "New\n");
    assert_body(note_rebody, "---\n---\nOld", " ", "---\n---\n");
}

static void test_more_body_is_added_as_add_does(void **state)
{
    (void)state;
    assert_body(note_append, "---\nname: a\n---\n\nOld \n\n\n", " New\n",
                "---\nname: a\n---\n\nOld\n\nNew\n");
    assert_body(note_append, "---\nname: a\n---", "New", "---\nname: a\n---\n\nNew\n");
    assert_body(note_append, "Old\r\n", "New\nmore", "Old\r\n\r\nNew\r\nmore\r\n");
    assert_body(note_append, "Old", "New", "Old\n\nNew\n");
    assert_body(note_append, "", "New", "New\n");
    assert_body(note_append, "Old", " \n", "Old");
}

static void test_a_body_never_becomes_a_head(void **state)
{
    (void)state;
    assert_body(note_rebody, "Old", "---\nname: no\n---\nText",
                "---\n---\n\n---\nname: no\n---\nText\n");
    assert_body(note_append, "", "---\nname: no\n---", "---\n---\n\n---\nname: no\n---\n");
    assert_body(note_append, "---\nopen", "one\n---\ntwo",
                "---\n---\n\n---\nopen\n\none\n---\ntwo\n");
    assert_body(note_append, "---\nname: yes\n---\n", "---\nname: no\n---",
                "---\nname: yes\n---\n\n---\nname: no\n---\n");
}

static void test_lack_of_memory_is_reported(void **state)
{
    struct note_head head = {.name = VIEW("n"), .description = VIEW("d"), .title = VIEW("t")};
    const struct ethos_view text = VIEW("---\nname: a\n---\nBody\n");
    int code = ETHOS_NOMEM;
    struct str out;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_init(&out, LIMIT);
        code = note_write(&head, VIEW("Body"), &out);
        if (!code)
            code = note_set(text, "type", VIEW("user"), &out);
        if (!code)
            code = note_rebody(VIEW("Body"), VIEW("---\n---\n"), &out);
        if (!code)
            code = note_append(VIEW("---"), VIEW("---\n---\n"), &out);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        str_release(&out);
    }
    str_init(&out, 8);
    assert_int_equal(note_set(text, "type", VIEW("user"), &out), ETHOS_LIMIT);
    assert_int_equal(note_rebody(text, VIEW("user"), &out), ETHOS_LIMIT);
    assert_int_equal(note_append(text, VIEW("user"), &out), ETHOS_LIMIT);
    assert_int_equal(note_write(&head, VIEW("Body"), &out), ETHOS_LIMIT);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_note_is_written_in_one_form),
        cmocka_unit_test(test_a_title_is_left_out_where_the_name_gives_it_back),
        cmocka_unit_test(test_values_are_quoted_so_that_yaml_reads_them_back),
        cmocka_unit_test(test_strings_that_look_like_other_things_are_quoted),
        cmocka_unit_test(test_a_body_with_fences_stays_body),
        cmocka_unit_test(test_a_member_is_changed_where_it_stands),
        cmocka_unit_test(test_a_missing_member_is_added_at_its_place),
        cmocka_unit_test(test_a_text_without_head_gets_one),
        cmocka_unit_test(test_the_absent_value_takes_the_member_out),
        cmocka_unit_test(test_what_cannot_be_edited_stays),
        cmocka_unit_test(test_a_head_of_two_mebibytes_is_edited),
        cmocka_unit_test(test_another_body_keeps_the_head),
        cmocka_unit_test(test_more_body_is_added_as_add_does),
        cmocka_unit_test(test_a_body_never_becomes_a_head),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
