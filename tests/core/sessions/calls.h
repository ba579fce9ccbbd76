/*
 * calls.h: tool calls by the hundred.
 */
#ifndef TESTS_CORE_SESSIONS_CALLS_H
#define TESTS_CORE_SESSIONS_CALLS_H

#include "base/str.h"

/* A JSON array of so many calls; free() it. */
static inline char *many_calls(int count)
{
    struct str out;
    str_init(&out, (size_t)1 << 20);
    for (int i = 0; i < count; i++)
        str_printf(&out, "%c{\"id\":\"c%d\"}", i ? ',' : '[', i);
    str_addc(&out, ']');
    return str_steal(&out, NULL);
}

#endif
