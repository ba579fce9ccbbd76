/*
 * process.h: running another program and reading what it says.
 */
#ifndef ETHOS_BASE_SYSTEM_PROCESS_H
#define ETHOS_BASE_SYSTEM_PROCESS_H

#include <ethos/types.h>

struct str;

/*
 * Runs a program, found by PATH, without a shell and without input; argv ends with NULL. What it
 * prints is appended to out; its complaints are not heard. Its exit status (128 + n when signal n
 * ended it), or -1 and errno when it could not be run.
 */
int process_run(const char *const argv[], struct str *out);

/*
 * The same for a program that is told something first and then hears no more. One that has not ended
 * after timeout_ms is killed: -1 and ETIMEDOUT, with what it said until then.
 */
int process_ask(const char *const argv[], struct ethos_view input, unsigned timeout_ms,
                struct str *out);

#endif
