/*
 * thread.c: starting threads that leave signals to the main thread.
 */
#include "base/system/thread.h"

#include <signal.h>

int thread_start(pthread_t *out, size_t stack_bytes, void *(*run)(void *arg), void *arg)
{
    pthread_attr_t attr;
    pthread_t detached;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attr);
    if (stack_bytes > 0)
        pthread_attr_setstacksize(&attr, stack_bytes);
    if (!out)
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int why = pthread_create(out ? out : &detached, &attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return why;
}
