/*
 * code_fence.c: recognises fenced code blocks.
 */
#include "core/formats/code_fence.h"

#include <string.h>

#include "base/view.h"

bool fence_line(struct fence *fence, struct ethos_view line)
{
    struct ethos_view start = view_trim(line);
    char mark = start.size > 0 ? start.data[0] : 0;
    size_t size = 0;
    while ((mark == '`' || mark == '~') && size < start.size && start.data[size] == mark)
        size++;
    bool was = fence->mark != 0;
    if (size < 3)
        return was;
    if (!was && mark == '`' && memchr(start.data + size, '`', start.size - size))
        return false; // inline code
    if (!was)
        *fence = (struct fence){mark, size};
    else if (mark == fence->mark && size >= fence->size && size == start.size)
        fence->mark = 0;
    return true;
}
