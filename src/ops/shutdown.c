/*
 * shutdown.c: catches the signals that end a program, and gives it a moment to finish.
 */
#include "ops/shutdown.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/system/os.h"

static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
#define ENDINGS (sizeof endings / sizeof *endings)

static struct {
    volatile sig_atomic_t came;
    int bell;
    struct sigaction before[ENDINGS];
} ending = {.bell = -1};

static void unblock_signal(int number)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
}

/* Runs in any thread. */
static void end_on_alarm(int alarm)
{
    (void)alarm;
    unblock_signal(ending.came);
    raise(ending.came);
}

void shutdown_after(int number, unsigned seconds)
{
    ending.came = number;
    signal(number, SIG_DFL);
    unblock_signal(number);
    signal(SIGALRM, end_on_alarm);
    unblock_signal(SIGALRM);
    alarm(seconds);
}

static void handle_signal(int number)
{
    const uint64_t one = 1;
    int before = errno;
    shutdown_after(number, SHUTDOWN_SECONDS);
    (void)!os_write(ending.bell, &one, sizeof one);
    errno = before;
}

int shutdown_catch_signals(void)
{
    const struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART};
    ending.came = 0;
    ending.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (size_t i = 0; ending.bell >= 0 && i < ENDINGS; i++) {
        sigaction(endings[i], NULL, &ending.before[i]);
        if (ending.before[i].sa_handler != SIG_IGN)
            sigaction(endings[i], &action, NULL);
    }
    return ending.bell;
}

int shutdown_signal(void)
{
    return ending.came;
}

void shutdown_restore_signals(bool heeded)
{
    if (ending.bell < 0)
        return;
    alarm(0);
    for (size_t i = 0; i < ENDINGS; i++)
        sigaction(endings[i], &ending.before[i], NULL);
    os_close(ending.bell);
    ending.bell = -1;
    if (ending.came && !heeded)
        raise(ending.came);
}
