/*
 * program.h: programs that a conversation starts in its terminal, and the signals that they must not inherit blocked.
 */
#ifndef ETHOS_CHAT_PROGRAM_H
#define ETHOS_CHAT_PROGRAM_H

#include <signal.h>

/* Those that a conversation reads from a descriptor: SIGINT, SIGTERM, SIGHUP. */
void program_signals(sigset_t *out);

/*
 * Runs a program with the terminal of this one and waits for it, while the signals of program_signals are blocked
 * here: keys that interrupt are for both, and whoever reads the descriptor drops them. Its exit status, 128 + n for
 * signal n, or -1 and errno. argv ends with NULL.
 */
int program_run_here(const char *const argv[]);

#endif
