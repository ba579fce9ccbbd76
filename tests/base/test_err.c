/*
 * test_err.c: what an error says.
 */
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "base/view.h"

static void test_set_fills_code_and_text_and_clears_the_hint(void **state)
{
    struct ethos_error error;

    (void)state;
    memset(&error, 'x', sizeof(error));
    assert_int_equal(err_set(&error, ETHOS_DENIED, "unsafe memory key: %s", "../x"), ETHOS_DENIED);
    assert_int_equal(error.code, ETHOS_DENIED);
    assert_string_equal(error.text, "unsafe memory key: ../x");
    assert_string_equal(error.hint, "");
}

static void test_hint_keeps_code_and_text(void **state)
{
    struct ethos_error error;

    (void)state;
    err_set(&error, ETHOS_CONFLICT, "MEMORY.md: changed meanwhile");
    assert_int_equal(err_hint(&error, ETHOS_CONFLICT, "read it again: %d", 1), ETHOS_CONFLICT);
    assert_int_equal(error.code, ETHOS_CONFLICT);
    assert_string_equal(error.text, "MEMORY.md: changed meanwhile");
    assert_string_equal(error.hint, "read it again: 1");
}

static void test_a_missing_error_struct_is_fine_everywhere(void **state)
{
    (void)state;
    assert_int_equal(err_set(NULL, ETHOS_LIMIT, "x"), ETHOS_LIMIT);
    assert_int_equal(err_hint(NULL, ETHOS_LIMIT, "x"), ETHOS_LIMIT);
    assert_int_equal(err_errno(NULL, ENOSPC, "x"), ETHOS_IO);
    assert_int_equal(err_nomem(NULL), ETHOS_NOMEM);
}

static void test_text_that_fits_exactly_is_whole(void **state)
{
    struct ethos_error error;
    char text[sizeof(error.text)];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    err_set(&error, ETHOS_IO, "%s", text);
    assert_string_equal(error.text, text);
}

static void test_long_text_ends_in_dots_on_a_character(void **state)
{
    struct ethos_error error;
    char text[1024];

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'a', shift);
        for (size_t i = shift; i + 4 < sizeof(text); i += 4)
            memcpy(text + i, "\xF0\x9F\x98\x80", 5);
        err_set(&error, ETHOS_IO, "%s", text);
        assert_true(view_ends(view_str(error.text), VIEW("...")));
        assert_true(utf8_valid(view_str(error.text)));
        assert_true(strlen(error.text) >= sizeof(error.text) - 5);
    }
}

static void assert_errno(int errnum, int code, const char *text, bool hint)
{
    struct ethos_error error;

    assert_int_equal(err_errno(&error, errnum, "MEMORY.md"), code);
    assert_int_equal(error.code, code);
    assert_string_equal(error.text, text);
    assert_int_equal(error.hint[0] != '\0', hint);
}

static void test_errno_maps_to_what_the_user_must_do(void **state)
{
    (void)state;
    assert_errno(ENOSPC, ETHOS_IO, "MEMORY.md: No space left on device", true);
    assert_errno(EDQUOT, ETHOS_IO, "MEMORY.md: Disk quota exceeded", true);
    assert_errno(EROFS, ETHOS_IO, "MEMORY.md: Read-only file system", true);
    assert_errno(EACCES, ETHOS_IO, "MEMORY.md: Permission denied", true);
    assert_errno(EPERM, ETHOS_IO, "MEMORY.md: Operation not permitted", true);
    assert_errno(EWOULDBLOCK, ETHOS_BUSY, "MEMORY.md: busy", true);
    assert_errno(ETIMEDOUT, ETHOS_BUSY, "MEMORY.md: busy", true);
    assert_errno(EFBIG, ETHOS_LIMIT, "MEMORY.md: too large", false);
    assert_errno(ENOMEM, ETHOS_NOMEM, "MEMORY.md: out of memory", false);
    assert_errno(ENOENT, ETHOS_NOTFOUND, "MEMORY.md: not found", false);
    assert_errno(ELOOP, ETHOS_IO, "MEMORY.md: symbolic links lead in a circle", false);
    assert_errno(EXDEV, ETHOS_DENIED, "MEMORY.md: a symbolic link leads outside", true);
    assert_errno(EISDIR, ETHOS_IO, "MEMORY.md: is a directory, not a regular file", false);
    assert_errno(ENXIO, ETHOS_IO, "MEMORY.md: is not a regular file", false);
    assert_errno(ENOTDIR, ETHOS_IO, "MEMORY.md: a part of the path is not a directory", false);
    assert_errno(EIO, ETHOS_IO, "MEMORY.md: Input/output error", true);
    assert_errno(EMFILE, ETHOS_BUSY, "MEMORY.md: Too many open files", true); // 503 over HTTP
    assert_errno(ENFILE, ETHOS_BUSY, "MEMORY.md: Too many open files in system", true);
    assert_errno(99999, ETHOS_IO, "MEMORY.md: unknown error", false);
}

static void test_hints_name_the_next_step(void **state)
{
    struct ethos_error error;

    (void)state;
    err_errno(&error, ENOSPC, "x");
    assert_non_null(strstr(error.hint, "free"));
    err_errno(&error, EXDEV, "x");
    assert_non_null(strstr(error.hint, "replace it by a regular file"));
    err_errno(&error, EACCES, "x");
    assert_non_null(strstr(error.hint, "permissions"));
    err_errno(&error, EMFILE, "x");
    assert_non_null(strstr(error.hint, "ulimit -n"));
}

/* A text that could not be made is too large, or memory was missing: the code tells which. */
static void test_out_of_memory_is_never_called_too_large(void **state)
{
    struct ethos_error error;

    (void)state;
    assert_int_equal(err_set(&error, ETHOS_NOMEM, "%s: too large", "a.md"), ETHOS_NOMEM);
    assert_string_equal(error.text, "out of memory");
    err_set(&error, ETHOS_NOMEM, "out of memory for the report");
    assert_string_equal(error.text, "out of memory for the report");
    err_set(&error, ETHOS_LIMIT, "%s: too large", "a.md");
    assert_string_equal(error.text, "a.md: too large");
}

static void test_every_code_has_its_name(void **state)
{
    static const char *const names[] = {
        "ok", "notfound", "exists",  "conflict",    "invalid",  "denied", "limit",  "busy",
        "io", "nomem",    "corrupt", "unsupported", "internal", "model",  "pending"};

    (void)state;
    for (int i = 0; i < 15; i++)
        assert_string_equal(err_name(-i), names[i]);
    assert_string_equal(err_name(-15), "internal");
    assert_string_equal(err_name(1), "internal");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_fills_code_and_text_and_clears_the_hint),
        cmocka_unit_test(test_hint_keeps_code_and_text),
        cmocka_unit_test(test_a_missing_error_struct_is_fine_everywhere),
        cmocka_unit_test(test_text_that_fits_exactly_is_whole),
        cmocka_unit_test(test_long_text_ends_in_dots_on_a_character),
        cmocka_unit_test(test_errno_maps_to_what_the_user_must_do),
        cmocka_unit_test(test_hints_name_the_next_step),
        cmocka_unit_test(test_out_of_memory_is_never_called_too_large),
        cmocka_unit_test(test_every_code_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
