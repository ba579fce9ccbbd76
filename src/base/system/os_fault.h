/*
 * os_fault.h: fault injection for os.c in test builds; empty in release builds.
 *
 * CALL(name, size, expression) is one system call: -1 and errno, or the value. size points at the
 * byte count of a transfer, which a fault may lower before the expression is evaluated, or is NULL.
 */
#ifndef ETHOS_BASE_SYSTEM_OS_FAULT_H
#define ETHOS_BASE_SYSTEM_OS_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef ETHOS_TEST_HOOKS

enum fault { FAULT_NONE, FAULT_FAIL, FAULT_SKIP };

/*
 * The fault for this call; sets errno for one that fails. Counts and logs the call, may end or stop
 * the process.
 */
enum fault fault_before(const char *call, size_t *size);
void fault_after(void);

#define CALL(name, size, expression)                                                               \
    ({                                                                                             \
        enum fault fault_ = fault_before(name, size);                                              \
        __typeof__(expression) result_ = fault_ == FAULT_SKIP ? 0 : -1;                            \
        if (fault_ == FAULT_NONE) {                                                                \
            result_ = (expression);                                                                \
            fault_after();                                                                         \
        }                                                                                          \
        result_;                                                                                   \
    })

#else

#define CALL(name, size, expression) ((void)(size), (expression))

#endif

#endif
