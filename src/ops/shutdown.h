/*
 * shutdown.h: orderly end of a program on SIGINT, SIGTERM or SIGHUP.
 *
 * The first signal gives the program a moment to finish, which must be short: it may be waiting for a server that does
 * not answer. After that, or at a second signal, the signal has its usual effect. Writes are atomic, so a killed program
 * leaves nothing half done. There is one such state per process.
 */
#ifndef ETHOS_OPS_SHUTDOWN_H
#define ETHOS_OPS_SHUTDOWN_H

#include <stdbool.h>

#define SHUTDOWN_SECONDS 1 /* to finish what is running */

/* Lets the signal end the process after so many seconds, or when it comes again. May be called in signal handlers. */
void shutdown_after(int number, unsigned seconds);

/*
 * From now on the first signal is recorded, and the process has SHUTDOWN_SECONDS unless it calls shutdown_after. Ignored
 * signals stay ignored (nohup). Returns a descriptor that becomes readable at the signal; -1 and errno.
 */
int shutdown_catch_signals(void);
int shutdown_signal(void); /* the number of the signal; 0 if there was none */

/* Restores the previous handlers. Unless `heeded`, a recorded signal now takes effect. */
void shutdown_restore_signals(bool heeded);

#endif
