/*
 * test_base64.c: bytes as letters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/str.h"
#include "base/view.h"

/* The vectors of RFC 4648, section 10, and bytes that are no text. */
static const struct {
    struct ethos_view bytes;
    const char *letters;
} vectors[] = {
    {VIEW(""), ""},
    {VIEW("f"), "Zg=="},
    {VIEW("fo"), "Zm8="},
    {VIEW("foo"), "Zm9v"},
    {VIEW("foob"), "Zm9vYg=="},
    {VIEW("fooba"), "Zm9vYmE="},
    {VIEW("foobar"), "Zm9vYmFy"},
    {VIEW("\0\xFF\xFE"), "AP/+"},
};

static void test_the_vectors_both_ways(void **state)
{
    struct str out;
    (void)state;
    str_init(&out, 64);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        str_clear(&out);
        assert_int_equal(base64_encode(vectors[i].bytes, &out), ETHOS_OK);
        assert_string_equal(out.data, vectors[i].letters);
        str_clear(&out);
        assert_int_equal(base64_decode(view_str(vectors[i].letters), &out), ETHOS_OK);
        assert_true(view_eq(str_view(&out), vectors[i].bytes));
    }
    str_release(&out);
}

static void test_padding_may_be_missing_and_nothing_else(void **state)
{
    static const char *const wrong[] = {"Z", "Zm9vY", "Zg===", "Z g=", "Zg==Zg==", "Zm9-", "===="};
    struct str out;
    (void)state;
    str_init(&out, 64);
    assert_int_equal(base64_decode(VIEW("Zm8"), &out), ETHOS_OK);
    assert_string_equal(out.data, "fo");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        str_clear(&out);
        if (base64_decode(view_str(wrong[i]), &out) != ETHOS_INVALID)
            fail_msg("%s is taken", wrong[i]);
    }
    assert_int_equal(base64_decode(view_of("A\0AA", 4), &out), ETHOS_INVALID);
    str_release(&out);
}

static void test_a_ceiling_holds(void **state)
{
    struct str out;
    (void)state;
    str_init(&out, 7);
    assert_int_equal(base64_encode(VIEW("foobar"), &out), ETHOS_LIMIT);
    str_clear(&out);
    assert_int_equal(base64_encode(VIEW("foo"), &out), ETHOS_OK);
    str_release(&out);
    str_init(&out, 5);
    assert_int_equal(base64_decode(VIEW("Zm9vYmFy"), &out), ETHOS_LIMIT);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_vectors_both_ways),
        cmocka_unit_test(test_padding_may_be_missing_and_nothing_else),
        cmocka_unit_test(test_a_ceiling_holds),
    };
    return cmocka_run_group_tests_name("base/base64", tests, NULL, NULL);
}
