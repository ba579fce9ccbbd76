/*
 * conflict_name.c: the name of a conflict copy.
 */
#include "core/memory/conflict_name.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

void conflict_name(const char *key, int64_t time_ms, struct ethos_view text,
                   char out[CONFLICT_NAME_SIZE])
{
    char iso[CLOCK_ISO_SIZE], hex[HASH_HEX_SIZE];

    clock_iso(time_ms, iso);
    hash_hex(text, hex);
    snprintf(out, CONFLICT_NAME_SIZE, "%s.%.4s%.2s%.5s%.2s%.2sZ.%.8s.md", key, iso, iso + 5,
             iso + 8, iso + 14, iso + 17, hex);
    for (char *at = out; (at = strchr(at, '/'));)
        *at = '\\';
}
