/*
 * process.c: running another program and reading what it says.
 */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "base/str.h"

/* Signals that our own program ignores are the other's to decide. */
static int set_signals(posix_spawnattr_t *how)
{
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    int failed = posix_spawnattr_setsigdefault(how, &usual);
    return failed ? failed : posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGDEF);
}

static int set_streams(posix_spawn_file_actions_t *files, int out)
{
    int failed = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(files, out, STDOUT_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    return failed;
}

/* 0, or the errno. */
static int start(const char *const argv[], int out, pid_t *out_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&how);
    if (!failed) {
        failed = set_streams(&files, out);
        if (!failed)
            failed = set_signals(&how);
        if (!failed) // the arguments are not changed; the type is older than const
            failed = posix_spawnp(out_pid, argv[0], &files, &how, (char *const *)argv, environ);
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

int process_run(const char *const argv[], struct str *out)
{
    int ends[2], status = 0;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    int failed = start(argv, ends[1], &pid);
    os_close(ends[1]);
    int unread = failed ? 0 : os_read_all(ends[0], out, out->ceiling - out->size);
    int saved = failed ? failed : errno;
    os_close(ends[0]);
    while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    errno = saved;
    if (failed || unread)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
