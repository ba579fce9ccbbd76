/*
 * test_hash.c: SHA-256, revisions and CRC-32C.
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

/* Pieces of every size around a block of SHA-256, 64 bytes. */
static void test_a_text_that_grows_is_hashed_as_a_whole_one(void **state)
{
    struct hash_growing growing;
    char text[4096], whole[ETHOS_REVISION_SIZE], grown[ETHOS_REVISION_SIZE];
    size_t size = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 7 % 251);
    hash_begin(&growing);
    for (size_t piece = 0; size + piece <= sizeof(text); piece++) {
        hash_add(&growing, view_of(text + size, piece));
        size += piece;
        assert_int_equal(growing.size, size);
        hash_so_far(&growing, grown);
        hash_revision(view_of(text, size), whole);
        assert_string_equal(grown, whole);
    }
    assert_true(size > 64 * 60);
}

static void test_names_of_blobs_are_64_lower_case_hex_digits(void **state)
{
    (void)state;
    assert_true(hash_is_hex(VIEW(EMPTY)));
    assert_true(hash_is_hex(VIEW(ABC)));
    assert_false(hash_is_hex(VIEW("")));
    assert_false(hash_is_hex(view_of(ABC, 63)));
    assert_false(hash_is_hex(VIEW(ABC "0")));
    assert_false(
        hash_is_hex(VIEW("../816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")));
    assert_false(
        hash_is_hex(VIEW("BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")));
    assert_false(hash_is_hex(VIEW("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2001\0"
                                  "ad")));
}

/* The answers of RFC 3720, B.4, and the usual one. */
static void test_crc_has_the_known_answers(void **state)
{
    char bytes[32];

    (void)state;
    assert_int_equal(hash_crc32c(VIEW("")), 0);
    assert_int_equal(hash_crc32c((struct ethos_view){NULL, 0}), 0);
    assert_int_equal(hash_crc32c(VIEW("123456789")), 0xE3069283);
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(hash_crc32c(view_of(bytes, sizeof(bytes))), 0x8A9136AA);
    memset(bytes, 0xFF, sizeof(bytes));
    assert_int_equal(hash_crc32c(view_of(bytes, sizeof(bytes))), 0x62A8AB43);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    assert_int_equal(hash_crc32c(view_of(bytes, sizeof(bytes))), 0x46DD794E);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(31 - i);
    assert_int_equal(hash_crc32c(view_of(bytes, sizeof(bytes))), 0x113FDB5C);
}

/* Bit by bit, as the polynomial defines it. */
static uint32_t crc_by_bits(struct ethos_view v)
{
    uint32_t crc = 0xFFFFFFFF;

    for (size_t i = 0; i < v.size; i++) {
        crc ^= (unsigned char)v.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
    }
    return ~crc;
}

static void test_crc_is_the_same_for_any_length_and_place(void **state)
{
    char bytes[600];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 167 + i / 7);
    for (size_t from = 0; from < 9; from++) {
        for (size_t size = 0; size + from <= sizeof(bytes); size++) {
            struct ethos_view v = view_of(bytes + from, size);

            assert_int_equal(hash_crc32c(v), crc_by_bits(v));
        }
    }
    for (int byte = 0; byte < 256; byte++)
        assert_int_equal(hash_crc32c(view_of((char[]){(char)byte}, 1)),
                         crc_by_bits(view_of((char[]){(char)byte}, 1)));
}

static void test_secrets_are_the_same_byte_for_byte(void **state)
{
    (void)state;
    assert_true(hash_same_secret(VIEW("secret"), VIEW("secret")));
    assert_true(hash_same_secret(VIEW(""), VIEW("")));
    assert_false(hash_same_secret(VIEW("secret"), VIEW("secreT")));
    assert_false(hash_same_secret(VIEW("secret"), VIEW("Secret")));
    assert_false(hash_same_secret(VIEW("secret"), VIEW("secre")));
    assert_false(hash_same_secret(VIEW("secret"), VIEW("secrets")));
    assert_false(hash_same_secret(VIEW("secret"), VIEW("")));
    for (size_t size = 1; size <= 40; size++) {
        char a[40], b[40];
        memset(a, 'x', sizeof a);
        memcpy(b, a, sizeof b);
        assert_true(hash_same_secret(view_of(a, size), view_of(b, size)));
        for (size_t i = 0; i < size; i++) {
            b[i] = 'y';
            assert_false(hash_same_secret(view_of(a, size), view_of(b, size)));
            b[i] = 'x';
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrets_are_the_same_byte_for_byte),
        cmocka_unit_test(test_known_answers_of_the_standard),
        cmocka_unit_test(test_nothing_and_absent_hash_alike),
        cmocka_unit_test(test_a_revision_is_the_prefixed_hash),
        cmocka_unit_test(test_a_text_that_grows_is_hashed_as_a_whole_one),
        cmocka_unit_test(test_names_of_blobs_are_64_lower_case_hex_digits),
        cmocka_unit_test(test_crc_has_the_known_answers),
        cmocka_unit_test(test_crc_is_the_same_for_any_length_and_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
