/*
 * test_skill.c: a note as a skill.
 */
#include "core/notes/skill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "base/yaml.h"
#include "core/notes/note.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define LIMIT ((size_t)1 << 24)

static const char co2_note[] = "---\n"
                               "name: co2-eos\n"
                               "description: \"Use when: CO2\"\n"
                               "type: project\n"
                               "own: kept in the note\n"
                               "metadata:\n"
                               "  created: 2026-11-15\n"
                               "  check: 'path a.c'\n"
                               "---\n"
                               "\n"
                               "Body\n\nmore  \n";

static void test_names_of_skills(void **state)
{
    static const char *const good[] = {"a", "9", "co2-eos", "a-b-c"};
    static const char *const bad[] = {"",  "-",   "-a",  "a-",  "a--b",
                                      "A", "a_b", "a.b", "a b", "\xc3"};
    char name[80];

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(skill_name_ok(view_str(good[i])));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(skill_name_ok(view_str(bad[i])));
    snprintf(name, sizeof(name), "%064d", 0);
    assert_true(skill_name_ok(view_str(name)));
    snprintf(name, sizeof(name), "%065d", 0);
    assert_false(skill_name_ok(view_str(name)));
    assert_false(skill_name_ok(VIEW("a\0b")));
    assert_false(skill_name_ok(view_str(NULL)));
}

static void test_a_file_name_gives_a_name(void **state)
{
    static const struct {
        const char *key, *name;
    } rows[] = {
        {"co2-eos.md", "co2-eos"},
        {"My_Note.v2.md", "my-note-v2"},
        {"a--b.md", "a-b"},
        {"_.md", "note-d2e2adf7"},
    };
    char key[160];
    struct str out;

    (void)state;
    str_init(&out, 256);
    for (size_t i = 0; i < COUNT(rows); i++) {
        str_clear(&out);
        assert_int_equal(skill_name(rows[i].key, &out), ETHOS_OK);
        assert_string_equal(out.data, rows[i].name);
    }
    for (int size = 40; size < 126; size++) {
        snprintf(key, sizeof(key), "%0*d.md", size, 7);
        str_clear(&out);
        str_adds(&out, "before ");
        assert_int_equal(skill_name(key, &out), ETHOS_OK);
        assert_true(skill_name_ok(view_from(str_view(&out), 7)));
        if (size <= SKILL_MAX_NAME)
            assert_int_equal(out.size, 7 + (size_t)size);
    }
    str_release(&out);
}

static void test_a_note_is_written_as_a_skill(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    assert_int_equal(skill_write(view_str(co2_note), "co2-eos.md", VIEW("co2"), &out), ETHOS_OK);
    assert_string_equal(out.data, "---\n"
                                  "name: co2\n"
                                  "description: \"Use when: CO2\"\n"
                                  "metadata:\n"
                                  "  type: project\n"
                                  "  created: \"2026-11-15\"\n"
                                  "  check: path a.c\n"
                                  "---\n"
                                  "\n"
                                  "Body\n\nmore\n");
    str_release(&out);
}

static void test_a_description_is_never_missing(void **state)
{
    static const struct {
        const char *note, *head;
    } rows[] = {
        {"\n# First\nmore", "---\nname: x\ndescription: \"# First\"\n---\n\n# First\nmore\n"},
        {"", "---\nname: x\ndescription: My note\n---\n"},
        {"---\ndescription: ' '\ntitle: T\n---\n",
         "---\nname: x\ndescription: T\nmetadata:\n  title: T\n---\n"},
        {"---\ndescription: |\n  a\n---\nBody", "---\nname: x\ndescription: Body\n---\n\nBody\n"},
    };
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    for (size_t i = 0; i < COUNT(rows); i++) {
        str_clear(&out);
        assert_int_equal(skill_write(view_str(rows[i].note), "my-note.md", VIEW("x"), &out),
                         ETHOS_OK);
        assert_string_equal(out.data, rows[i].head);
    }
    str_release(&out);
}

static void test_a_description_has_at_most_1024_units(void **state)
{
    struct str note, out;
    struct note parsed;

    (void)state;
    str_init(&note, LIMIT);
    str_init(&out, LIMIT);
    while (note.size < 8000)
        str_adds(&note, "\U0001f600\u4e2d ");
    skill_write(str_view(&note), "a.md", VIEW("a"), &out);
    note_parse(str_view(&out), &parsed);
    assert_true(utf8_units(parsed.description) <= SKILL_MAX_DESCRIPTION);
    assert_true(utf8_units(parsed.description) >= SKILL_MAX_DESCRIPTION - 2);
    assert_true(view_ends(parsed.description, VIEW("\u2026")));
    str_release(&out);
    str_release(&note);
}

static void test_a_hostile_note_gives_yaml(void **state)
{
    const struct ethos_view note = VIEW("---\nname: x\ntitle: \"a\\nb: \\\"c\\\"\\u0007\"\n"
                                        "source: 12\nexpires: true\n---\n---\n\xff: \0\n---\n");
    struct yaml_table table;
    struct ethos_error error;
    struct arena arena;
    struct note parsed;
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    arena_init(&arena);
    assert_int_equal(skill_write(note, "x.md", VIEW("x"), &out), ETHOS_OK);
    note_parse(str_view(&out), &parsed);
    assert_int_equal(yaml_parse(parsed.frontmatter, "skill", &arena, &table, &error), ETHOS_OK);
    assert_string_equal(yaml_get(&table, "metadata.title"), "a b: \"c\"");
    assert_true(view_contains(parsed.frontmatter, VIEW("  source: \"12\"\n")));
    assert_true(view_contains(parsed.frontmatter, VIEW("  expires: \"true\"\n")));
    assert_true(view_eq(parsed.body, VIEW("---\n\xff: \0\n---\n")));
    arena_release(&arena);
    str_release(&out);
}

static void test_the_pointer_keeps_the_head(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, LIMIT);
    assert_false(skill_is_pointer(view_str(co2_note)));
    assert_false(skill_is_pointer(view_str(NULL)));
    assert_int_equal(
        skill_pointer(view_str(co2_note), VIEW("co2"), ".claude/skills/co2/SKILL.md", &out),
        ETHOS_OK);
    struct ethos_view head = view_of(co2_note, (size_t)(strstr(co2_note, "Body") - co2_note));
    assert_true(view_starts(str_view(&out), head));
    assert_string_equal(out.data + head.size,
                        "Promoted to the skill `co2`: `.claude/skills/co2/SKILL.md`\n");
    assert_true(skill_is_pointer(str_view(&out)));
    str_adds(&out, "more\n");
    assert_false(skill_is_pointer(str_view(&out)));
    str_release(&out);
}

static void test_lack_of_memory_is_reported(void **state)
{
    int code = ETHOS_NOMEM;
    struct str out;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_init(&out, LIMIT);
        code = skill_write(view_str(co2_note), "co2-eos.md", VIEW("co2"), &out);
        if (!code)
            code = skill_name("co2-eos.md", &out);
        if (!code)
            code = skill_pointer(view_str(co2_note), VIEW("co2"), "path", &out);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        str_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_skills),
        cmocka_unit_test(test_a_file_name_gives_a_name),
        cmocka_unit_test(test_a_note_is_written_as_a_skill),
        cmocka_unit_test(test_a_description_is_never_missing),
        cmocka_unit_test(test_a_description_has_at_most_1024_units),
        cmocka_unit_test(test_a_hostile_note_gives_yaml),
        cmocka_unit_test(test_the_pointer_keeps_the_head),
        cmocka_unit_test(test_lack_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
