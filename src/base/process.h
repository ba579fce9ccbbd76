/*
 * process.h: running another program and reading what it says.
 */
#ifndef ETHOS_BASE_PROCESS_H
#define ETHOS_BASE_PROCESS_H

struct str;

/*
 * Runs a program, found by PATH, without a shell and without input; argv ends with NULL. What it
 * prints is appended to out; its complaints are not heard. Its exit status (128 + n when signal n
 * ended it), or -1 and errno when it could not be run.
 */
int process_run(const char *const argv[], struct str *out);

#endif
