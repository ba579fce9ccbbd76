/*
 * test_slug.c: names made from text.
 */
#include "base/text/slug.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "../../support/golden.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct pair {
    const char *in, *out;
};

/* ---- sections ------------------------------------------------------------------------------ */

static void assert_section(const char *heading, const char *expected)
{
    struct str out;

    str_init(&out, 1024);
    assert_int_equal(slug_section(view_str(heading), &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_golden_section_slugs(void **state)
{
    json_t *vectors = golden_load("section_slug");
    json_t *vector;
    size_t i;

    (void)state;
    json_array_foreach (vectors, i, vector)
        assert_section(golden_string(vector, "in"), golden_string(vector, "out"));
    json_decref(vectors);
}

static void test_section_slug_is_lower_case_runs_joined_by_dashes(void **state)
{
    static const struct pair rows[] = {
        {"Plain", "plain"},
        {"  --Two   words!! ", "two-words"},
        {"C++ & C17", "c-c17"},
        {"a_b.c/d", "a-b-c-d"},
        {"na\u00efve", "na-ve"},
        {"5 \u212b and 6 \u212a", "5-and-6-k"}, /* the Kelvin sign has a plain lower case */
        {"\u0130stanbul", "i-stanbul"},
        {"bad \xff\xfe bytes", "bad-bytes"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_section(rows[i].in, rows[i].out);
}

static void test_section_slug_without_latin_is_a_hash_of_the_nfc_heading(void **state)
{
    (void)state;
    assert_section("\u65e5\u672c\u8a9e", "u-77710aed");
    assert_section("\u00e9", "u-4a99557e");
    assert_section("\u0301", "u-e98c7967");
    assert_section("", "u-e3b0c442");
    assert_section("!!!", "u-e84c538e");
}

static void test_slugs_are_appended(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 1024);
    str_adds(&out, "#");
    slug_section(VIEW("-A b"), &out);
    str_adds(&out, " ");
    slug_note(VIEW("-C d"), SLUG_NOTE_MAX, &out);
    assert_string_equal(out.data, "#a-b c-d");
    str_release(&out);
}

static void test_slug_beyond_the_ceiling_of_the_buffer_is_a_limit(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 3);
    assert_int_equal(slug_section(VIEW("heading"), &out), ETHOS_LIMIT);
    str_clear(&out);
    assert_int_equal(slug_note(VIEW("heading"), SLUG_NOTE_MAX, &out), ETHOS_LIMIT);
    str_release(&out);
}

typedef int slug_fn(struct ethos_view text, struct str *out);

static int note_48(struct ethos_view title, struct str *out)
{
    return slug_note(title, SLUG_NOTE_MAX, out);
}

/* The buffer remembers the failure, whoever had no memory. */
static void assert_survives(slug_fn *slug, const char *title)
{
    struct str expected;
    int code;

    str_init(&expected, 1024);
    assert_int_equal(slug(view_str(title), &expected), ETHOS_OK);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct str out;
        str_init(&out, 1024);
        code = slug(view_str(title), &out);
        assert_int_equal(str_code(&out), code);
        if (code)
            assert_int_equal(code, ETHOS_NOMEM);
        else
            assert_string_equal(out.data, expected.data);
        str_release(&out);
    }
    str_release(&expected);
}

static void test_slugs_survive_every_failing_allocation(void **state)
{
    static const char *const titles[] = {"Plain", "\u65e5\u672c", "Stra\u00dfe", "!"};

    (void)state;
    for (size_t i = 0; i < COUNT(titles); i++) {
        assert_survives(slug_section, titles[i]);
        assert_survives(note_48, titles[i]);
    }
}

static void test_fact_hash_survives_every_failing_allocation(void **state)
{
    char expected[HASH_HEX_SIZE];
    int code;

    (void)state;
    hash_hex(VIEW("some fact"), expected);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        char hex[HASH_HEX_SIZE] = "kept";
        code = slug_fact_hash(VIEW("Some Fact"), hex);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_string_equal(hex, code ? "kept" : expected);
    }
}

/* ---- notes --------------------------------------------------------------------------------- */

static void assert_note(const char *title, size_t max, const char *expected)
{
    struct str out;

    str_init(&out, 1024);
    assert_int_equal(slug_note(view_str(title), max, &out), ETHOS_OK);
    assert_string_equal(out.data, expected);
    str_release(&out);
}

static void test_note_slug_drops_marks_and_compatibility_forms(void **state)
{
    static const struct pair rows[] = {
        {"CO2 EOS", "co2-eos"},
        {"Caf\u00e9 cr\u00e8me", "cafe-creme"},
        {"Cafe\u0301", "cafe"},
        {"\uff26\uff55\uff4c\uff4c \uff11\uff12", "full-12"},
        {"\ufb01le", "file"},
        {"\u0130stanbul", "istanbul"},
        {"  edges -- stripped! ", "edges-stripped"},
        {"50% \u2013 100%", "50-100"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_note(rows[i].in, SLUG_NOTE_MAX, rows[i].out);
}

static void test_note_slug_that_lost_a_letter_or_digit_gets_a_hash(void **state)
{
    (void)state;
    assert_note("Caf\u00e9 \u65e5\u672c", SLUG_NOTE_MAX, "cafe-fcac3af3");
    assert_note("Stra\u00dfe", SLUG_NOTE_MAX, "stra-e-58a3778c");
    assert_note("\u00d8resund", SLUG_NOTE_MAX, "resund-00657376");
    assert_note("\u0663", SLUG_NOTE_MAX, "note-1a4fd527");
}

static void test_note_slug_of_nothing_is_note_and_a_hash(void **state)
{
    (void)state;
    assert_note("", SLUG_NOTE_MAX, "note-e3b0c442");
    assert_note("!!!", SLUG_NOTE_MAX, "note-e84c538e");
    assert_note("\u65e5\u672c\u8a9e", SLUG_NOTE_MAX, "note-77710aed");
}

static void test_note_slug_is_cut_before_its_hash(void **state)
{
    (void)state;
    assert_note("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", SLUG_NOTE_MAX,
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    assert_note("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", SLUG_NOTE_MAX,
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-42f2d973");
    assert_note("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bcd", SLUG_NOTE_MAX,
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00b966c6");
    assert_note("short", 5, "short");
    assert_note("!!!", 0, "note-e84c538e");
}

static void test_note_slug_of_a_taken_name_gets_a_prefix(void **state)
{
    static const struct pair rows[] = {
        {"Memory", "note-memory"}, {"USER", "note-user"},
        {"soul", "note-soul"},     {"Memory archive", "note-memory-archive"},
        {"Memories", "memories"},  {"Memory \u4e2d", "memory-9bb25ee3"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_note(rows[i].in, SLUG_NOTE_MAX, rows[i].out);
}

/* ---- fact hash ----------------------------------------------------------------------------- */

static void test_golden_fact_hashes(void **state)
{
    json_t *vectors = golden_load("fact_hash");
    json_t *vector;
    size_t i;

    (void)state;
    json_array_foreach (vectors, i, vector) {
        char hex[HASH_HEX_SIZE];
        assert_int_equal(slug_fact_hash(view_str(golden_string(vector, "in")), hex), ETHOS_OK);
        assert_string_equal(hex, golden_string(vector, "sha256"));
    }
    json_decref(vectors);
}

/* The second text of each row is the first one as it is hashed. */
static void test_fact_hash_is_of_the_normalised_text(void **state)
{
    static const struct pair rows[] = {
        {"  \n", ""},
        {" \n x", "x"},
        {"\u00c9\u00a0\u3000x\u200b ", "\u00e9 x\u200b"},
        {"\u0130stanbul", "i\u0307stanbul"},
        /* a sigma that ends a word, one that does not, and one that stands alone */
        {"\u039f\u0394\u039f\u03a3 \u03a3\u039f\u03a6\u039f\u03a3",
         "\u03bf\u03b4\u03bf\u03c2 \u03c3\u03bf\u03c6\u03bf\u03c2"},
        {"\u0391\u03a3.\u0391 \u0391\u03a3. \u03a3", "\u03b1\u03c3.\u03b1 \u03b1\u03c2. \u03c3"},
        {"\u0391.\u03a3", "\u03b1.\u03c2"},
        {"\xff"
         "A",
         "\ufffd"
         "a"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char actual[HASH_HEX_SIZE];
        char expected[HASH_HEX_SIZE];
        assert_int_equal(slug_fact_hash(view_str(rows[i].in), actual), ETHOS_OK);
        hash_hex(view_str(rows[i].out), expected);
        assert_string_equal(actual, expected);
    }
}

/* ---- nearest ------------------------------------------------------------------------------- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_section_slugs),
        cmocka_unit_test(test_section_slug_is_lower_case_runs_joined_by_dashes),
        cmocka_unit_test(test_section_slug_without_latin_is_a_hash_of_the_nfc_heading),
        cmocka_unit_test(test_slugs_are_appended),
        cmocka_unit_test(test_slug_beyond_the_ceiling_of_the_buffer_is_a_limit),
        cmocka_unit_test(test_slugs_survive_every_failing_allocation),
        cmocka_unit_test(test_fact_hash_survives_every_failing_allocation),
        cmocka_unit_test(test_note_slug_drops_marks_and_compatibility_forms),
        cmocka_unit_test(test_note_slug_that_lost_a_letter_or_digit_gets_a_hash),
        cmocka_unit_test(test_note_slug_of_nothing_is_note_and_a_hash),
        cmocka_unit_test(test_note_slug_is_cut_before_its_hash),
        cmocka_unit_test(test_note_slug_of_a_taken_name_gets_a_prefix),
        cmocka_unit_test(test_golden_fact_hashes),
        cmocka_unit_test(test_fact_hash_is_of_the_normalised_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
