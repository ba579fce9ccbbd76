/*
 * test_hash.c: SHA-256 and revisions.
 */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/view.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void test_known_answers_of_the_standard(void **state)
{
    char hex[HASH_HEX_SIZE];

    (void)state;
    hash_hex(VIEW("abc"), hex);
    assert_string_equal(hex, ABC);
    hash_hex(VIEW("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), hex);
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_nothing_and_absent_hash_alike(void **state)
{
    char hex[HASH_HEX_SIZE];

    (void)state;
    hash_hex(VIEW(""), hex);
    assert_string_equal(hex, EMPTY);
    hash_hex((struct ethos_view){NULL, 0}, hex);
    assert_string_equal(hex, EMPTY);
}

static void test_a_revision_is_the_prefixed_hash(void **state)
{
    char revision[ETHOS_REVISION_SIZE];

    (void)state;
    hash_revision(VIEW("abc"), revision);
    assert_string_equal(revision, "sha256:" ABC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers_of_the_standard),
        cmocka_unit_test(test_nothing_and_absent_hash_alike),
        cmocka_unit_test(test_a_revision_is_the_prefixed_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
