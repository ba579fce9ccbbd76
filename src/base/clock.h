/*
 * clock.h: times as text. Reading the time is a system call and lives in os.h; this is arithmetic.
 */
#ifndef ETHOS_BASE_CLOCK_H
#define ETHOS_BASE_CLOCK_H

#include <stdbool.h>

#include <ethos/types.h>

#define CLOCK_ISO_SIZE 32

/* 2026-11-15T08:00:00.000Z */
void clock_iso(int64_t ms, char out[CLOCK_ISO_SIZE]);

/* 2026-11-15, UTC */
void clock_date(int64_t ms, char out[CLOCK_ISO_SIZE]);

#endif
