/*
 * shutdown.h: a program that is asked to end (SIGINT, SIGTERM, SIGHUP) while it is in the middle of something.
 *
 * It may come to a good end, but not at leisure: a server that does not answer would keep it for the rest of
 * a deadline. So there is a moment for that; after it, or when the signal comes a second time, the signal has its
 * usual effect. Whoever is killed leaves nothing half done. One process, one ending.
 */
#ifndef ETHOS_OPS_SHUTDOWN_H
#define ETHOS_OPS_SHUTDOWN_H

#include <stdbool.h>

#define SHUTDOWN_SECONDS 1 /* for what is under way */

/* The signal ends the process after so many seconds, or when it comes again. For handlers, too. */
void shutdown_after(int number, unsigned seconds);

/*
 * The first signal is noted from now on, and the process has SHUTDOWN_SECONDS unless it gives itself more. Those
 * that are ignored stay so: nohup. A descriptor that becomes readable then; -1 and errno.
 */
int shutdown_catch_signals(void);
int shutdown_signal(void); /* its number; 0: none came */

/* As before. heeded: one that came has had its effect; else it has it now. */
void shutdown_restore_signals(bool heeded);

#endif
