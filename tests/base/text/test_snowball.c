/*
 * Whether two words are forms of one.
 */
#include "base/text/snowball.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"

static struct snowball *open_languages(const char *names)
{
    struct snowball *out;
    assert_int_equal(snowball_open(view_str(names), &out, NULL), ETHOS_OK);
    return out;
}

static void test_forms_of_words(void **state)
{
    static const struct {
        const char *languages, *a, *b;
        bool same;
    } rows[] = {
        {"german", "haus", "hauser", true},        {"german", "haus", "hausen", true},
        {"german", "haus", "maus", false},         {"german", "cheval", "chevaux", false},
        {"french", "cheval", "chevaux", true},     {"german, french", "cheval", "chevaux", true},
        {"spanish", "cancion", "canciones", true}, {"german", "", "haus", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct snowball *self = open_languages(rows[i].languages);
        bool same = snowball_same(self, view_str(rows[i].a), view_str(rows[i].b));
        if (same != rows[i].same)
            fail_msg("%s: %s, %s", rows[i].languages, rows[i].a, rows[i].b);
        snowball_close(self);
    }
}

static void test_names_of_languages(void **state)
{
    struct snowball *out;
    struct ethos_error error;
    (void)state;
    assert_null(open_languages(""));
    assert_null(open_languages(" , "));
    assert_int_equal(snowball_open(VIEW("german,klingon"), &out, &error), ETHOS_INVALID);
    assert_string_equal(error.text, "klingon: unknown language");
    assert_null(out);
    snowball_close(
        open_languages("german,german,german,german,german,german,german,german,german"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_of_words),
        cmocka_unit_test(test_names_of_languages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
