/*
 * log.c: one line per event, through the host's log function.
 */
#include "base/system/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/system/os.h"

#define LINE_BYTES 1024 /* longer lines are cut */

void log_line(const struct ethos_host *host, enum ethos_level level, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;

    if (!host || !host->log)
        return;
    va_start(args, format);
    int length = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (length < 0)
        return;
    // A file name may hold anything; an event is one line.
    for (char *at = line; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            *at = '?';
    }
    host->log(host->arg, level, line);
}

static void *log_resize(void *arg, void *block, size_t size)
{
    (void)arg;
    if (size > 0)
        return realloc(block, size);
    free(block);
    return NULL;
}

static void silence(void *arg, enum ethos_level level, const char *line)
{
    (void)arg;
    (void)level;
    (void)line;
}

static int64_t log_now_ms(void *arg)
{
    (void)arg;
    return os_now_ms();
}

const struct ethos_host log_default_host = {
    .abi = ETHOS_ABI,
    .resize = log_resize,
    .log = silence,
    .now_ms = log_now_ms,
};
