/*
 * assertions.c: runs a rule, and the assertions that end it.
 */
#include "conformance/assertions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* The running rule. A program runs one at a time; a rule that forks has a copy in each process. */
static struct {
    jmp_buf back;
    enum rule_result result;
    char why[RULE_WHY_SIZE];
} now;

enum rule_result rule_run(const struct rule *rule, struct fixture *fixture, char why[RULE_WHY_SIZE])
{
    now.result = RULE_HOLDS;
    now.why[0] = 0;
    if (setjmp(now.back) == 0)
        rule->run(fixture);
    memcpy(why, now.why, sizeof now.why);
    return now.result;
}

void rule_title(const struct rule *rule, char *out, size_t size)
{
    const char *name = rule->name;
    if (strncmp(name, "test_", 5) == 0)
        name += 5;
    snprintf(out, size, "%s", name);
    for (; *out; out++)
        if (*out == '_')
            *out = ' ';
}

void not_offered(const char *what)
{
    now.result = RULE_NOT_OFFERED;
    snprintf(now.why, sizeof now.why, "%s", what);
    longjmp(now.back, 1);
}

/* Without the folder of the file, which means nothing to users of the command. */
void fail_rule(const char *file, int line, const char *format, ...)
{
    const char *base = strrchr(file, '/');
    va_list args;
    now.result = RULE_BROKEN;
    va_start(args, format);
    int size = vsnprintf(now.why, sizeof now.why, format, args);
    va_end(args);
    if (size >= 0 && (size_t)size < sizeof now.why)
        snprintf(now.why + size, sizeof now.why - (size_t)size, " (%s:%d)", base ? base + 1 : file,
                 line);
    longjmp(now.back, 1);
}

void check_true(bool holds, const char *what, const char *file, int line)
{
    if (!holds)
        fail_rule(file, line, "not so: %s", what);
}

/* Most numbers are codes; for those the name is added. */
static void format_number(int64_t number, char out[64])
{
    bool code = number < 0 && number >= ETHOS_INTERNAL;
    snprintf(out, 64, code ? "%lld (%s)" : "%lld", (long long)number, err_name((int)number));
}

void check_int(int64_t got, int64_t wanted, const char *what, const char *file, int line)
{
    char got_text[64], wanted_text[64];
    if (got == wanted)
        return;
    format_number(got, got_text);
    format_number(wanted, wanted_text);
    fail_rule(file, line, "%.200s: %s instead of %s", what, got_text, wanted_text);
}

void check_string(const char *got, const char *wanted, bool equal, const char *what,
                  const char *file, int line)
{
    if (!got || !wanted)
        fail_rule(file, line, "%.200s: there is none", what);
    if ((strcmp(got, wanted) == 0) != equal)
        fail_rule(file, line, "%.200s: \"%.200s\"%s \"%.200s\"", what, got,
                  equal ? " instead of" : ", which must not be", wanted);
}

void check_bytes(const void *got, const void *wanted, size_t size, const char *what,
                 const char *file, int line)
{
    const unsigned char *a = got, *b = wanted;
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i])
            fail_rule(file, line, "%.200s: byte %zu is 0x%02x instead of 0x%02x", what, i, a[i],
                      b[i]);
}
