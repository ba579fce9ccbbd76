/*
 * program.c: programs that a conversation starts in its terminal.
 */
#include "chat/program.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

void program_signals(sigset_t *out)
{
    sigemptyset(out);
    sigaddset(out, SIGINT);
    sigaddset(out, SIGTERM);
    sigaddset(out, SIGHUP);
}

/* In the child: nothing blocked, nothing ignored. */
static void exec_child(const char *const argv[])
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGQUIT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

int program_run_here(const char *const argv[])
{
    struct sigaction ignored = {.sa_handler = SIG_IGN}, quit;
    int status;
    sigaction(SIGQUIT, &ignored, &quit);
    pid_t pid = fork();
    if (pid == 0)
        exec_child(argv);
    pid_t ended = pid;
    do
        ended = pid > 0 ? waitpid(pid, &status, 0) : -1;
    while (ended < 0 && pid > 0 && errno == EINTR);
    sigaction(SIGQUIT, &quit, NULL);
    if (ended < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
