/*
 * shown_lines.c: the set of lines that the owner allows to be shown.
 */
#include "core/memory/shown_lines.h"

#include <string.h>

#include "base/view.h"

void shown_line_hash(struct ethos_view line, char out[HASH_HEX_SIZE])
{
    if (view_ends(line, VIEW("\n")))
        line.size--;
    if (view_ends(line, VIEW("\r")))
        line.size--;
    hash_hex(line, out);
}

unsigned shown_lines_find(const struct shown_lines *self, struct ethos_view line)
{
    char hash[HASH_HEX_SIZE];
    if (!self || self->count == 0)
        return 0;
    shown_line_hash(line, hash);
    for (size_t i = 0; i < self->count; i++)
        if (memcmp(self->rows[i].hash, hash, sizeof hash) == 0)
            return self->rows[i].what;
    return 0;
}
