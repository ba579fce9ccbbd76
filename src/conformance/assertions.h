/*
 * assertions.h: assertions for conformance rules.
 *
 * An assert_* that fails ends the rule with its position and the reason; not_offered ends a rule about a feature that the
 * backend does not have. The rule then cleans up nothing; its caller does, who knows the fixture. Assertions may be used
 * in callbacks: they leave by longjmp to rule_run, so the code in between must allow that.
 */
#ifndef ETHOS_CONFORMANCE_ASSERTIONS_H
#define ETHOS_CONFORMANCE_ASSERTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conformance/rule.h"

/* Both end the rule. Use fail for reasons that no assertion states well. */
_Noreturn void not_offered(const char *what);
_Noreturn void fail_rule(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define fail(...) fail_rule(__FILE__, __LINE__, __VA_ARGS__)

void check_true(bool holds, const char *what, const char *file, int line);
void check_int(int64_t got, int64_t wanted, const char *what, const char *file, int line);
void check_string(const char *got, const char *wanted, bool equal, const char *what,
                  const char *file, int line);
void check_bytes(const void *got, const void *wanted, size_t size, const char *what,
                 const char *file, int line);

#define assert_true(c) check_true((c), #c, __FILE__, __LINE__)
#define assert_null(p) check_true((p) == NULL, #p " is absent", __FILE__, __LINE__)
#define assert_non_null(p) check_true((p) != NULL, #p " is there", __FILE__, __LINE__)
#define assert_ptr_equal(a, b) check_true((a) == (b), #a " is " #b, __FILE__, __LINE__)
#define assert_int_equal(a, b) check_int((int64_t)(a), (int64_t)(b), #a, __FILE__, __LINE__)
#define assert_string_equal(a, b) check_string((a), (b), true, #a, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) check_string((a), (b), false, #a, __FILE__, __LINE__)
#define assert_memory_equal(a, b, n) check_bytes((a), (b), (n), #a, __FILE__, __LINE__)

#endif
