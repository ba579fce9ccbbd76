/*
 * log.h: one line per event, through the host's log function; never memory content.
 */
#ifndef ETHOS_BASE_SYSTEM_LOG_H
#define ETHOS_BASE_SYSTEM_LOG_H

#include <ethos/provider.h>

void log_line(const struct ethos_host *host, enum ethos_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* malloc, no log, the system clock. */
extern const struct ethos_host log_default_host;

#endif
