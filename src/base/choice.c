/*
 * choice.c: a closed set of words, written "a|b|c".
 */
#include "base/choice.h"

#include <stdio.h>
#include <string.h>

#include "base/view.h"

bool choice_has(const char *choices, struct ethos_view value)
{
    for (const char *at = choices; *at;) {
        size_t size = strcspn(at, "|");
        if (view_eq(value, view_of(at, size)))
            return true;
        at += size + (at[size] == '|');
    }
    return false;
}

void choice_text(const char *choices, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    while (*choices && used < size) {
        size_t length = strcspn(choices, "|");
        const char *next = choices + length + (choices[length] == '|');
        bool last = *next == 0, before_last = !last && !strchr(next, '|');
        used += (size_t)snprintf(out + used, size - used, "%.*s%s", (int)length, choices,
                                 last          ? ""
                                 : before_last ? " or "
                                               : ", ");
        choices = next;
    }
}
