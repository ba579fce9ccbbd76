/*
 * os_fault.h: how os.c asks the fault machinery of test builds; nothing at all in release builds.
 *
 * CALL(name, size, expression) is one system call: -1 and errno, or the value. size points at the
 * byte count of a transfer, which a fault may lower before the expression is evaluated, or is NULL.
 */
#ifndef ETHOS_BASE_OS_FAULT_H
#define ETHOS_BASE_OS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef ETHOS_TEST_HOOKS

/* False when the call is to fail, errno set. Counts and logs it, may end or stop the process. */
bool fault_before(const char *call, size_t *size);
void fault_after(void);

#define CALL(name, size, expression)                                                               \
    ({                                                                                             \
        __typeof__(expression) result_ = -1;                                                       \
        if (fault_before(name, size)) {                                                            \
            result_ = (expression);                                                                \
            fault_after();                                                                         \
        }                                                                                          \
        result_;                                                                                   \
    })

#else

#define CALL(name, size, expression) ((void)(size), (expression))

#endif

#endif
