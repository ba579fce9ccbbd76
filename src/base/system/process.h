/*
 * process.h: runs another program and reads its output.
 */
#ifndef ETHOS_BASE_SYSTEM_PROCESS_H
#define ETHOS_BASE_SYSTEM_PROCESS_H

#include <ethos/types.h>

struct str;

/*
 * Runs a program, found by PATH, without a shell and without input; argv ends with NULL. Its
 * standard output is appended to out; standard error is discarded. Returns its exit status (128 + n
 * if signal n ended it), or -1 and errno if it could not be run.
 */
int process_run(const char *const argv[], struct str *out);

/*
 * The same for a program that reads input. One that has not ended after timeout_ms is killed: -1
 * and ETIMEDOUT, with its output until then.
 */
int process_ask(const char *const argv[], struct ethos_view input, unsigned timeout_ms,
                struct str *out);

#endif
