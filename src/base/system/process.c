/*
 * process.c: running another program and reading what it says.
 */
#include "base/system/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/system/os.h"

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

static int set_streams(posix_spawn_file_actions_t *files, int in, int out)
{
    int failed = in < 0 ? posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null",
                                                           O_RDONLY, 0)
                        : posix_spawn_file_actions_adddup2(files, in, STDIN_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(files, out, STDOUT_FILENO);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    return failed;
}

/* in -1: no input. 0, or the errno. */
static int start_child(const char *const argv[], int in, int out, pid_t *out_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&how);
    if (!failed) {
        failed = set_streams(&files, in, out);
        if (!failed)
            failed = set_signals(&how);
        if (!failed) // the arguments are not changed; the type is older than const
            failed = posix_spawnp(out_pid, argv[0], &files, &how, (char *const *)argv, environ);
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static int wait_for_child(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int process_run(const char *const argv[], struct str *out)
{
    int ends[2], status = 0;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    int failed = start_child(argv, -1, ends[1], &pid);
    os_close(ends[1]);
    int unread = failed ? 0 : os_read_all(ends[0], out, out->ceiling - out->size);
    int saved = failed ? failed : errno;
    os_close(ends[0]);
    status = failed ? 0 : wait_for_child(pid);
    errno = saved;
    return failed || unread ? -1 : status;
}

/* ---- with input, and not for ever ------------------------------------------------------------ */

/* Reads to the end or the deadline. 0, or the errno. */
static int read_until(int fd, int64_t deadline, struct str *out)
{
    char block[4096];
    for (;;) {
        int64_t left = deadline - os_monotonic_ms();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int count = left > 0 ? poll(&ready, 1, (int)left) : 0;
        if (count == 0)
            return ETIMEDOUT;
        ssize_t size = count > 0 ? os_read(fd, block, sizeof block) : -1;
        if (size < 0 && errno != EINTR)
            return errno;
        if (size == 0)
            return 0;
        if (size > 0 && str_add(out, (struct ethos_view){block, (size_t)size}) != 0)
            return str_code(out) == ETHOS_NOMEM ? ENOMEM : EFBIG;
    }
}

/* A socket, because writing to one whose reader is gone can be told to raise no signal. */
static void send_child_input(int fd, struct ethos_view input)
{
    while (input.size > 0) {
        ssize_t size = send(fd, input.data, input.size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size <= 0)
            break; // it does not want it; what it says tells the rest
        input.data += size;
        input.size -= (size_t)size;
    }
    shutdown(fd, SHUT_WR);
}

int process_ask(const char *const argv[], struct ethos_view input, unsigned timeout_ms,
                struct str *out)
{
    int64_t deadline = os_monotonic_ms() + timeout_ms;
    int in[2], ends[2], status = 0;
    pid_t pid;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0)
        return -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        os_close(in[0]);
        os_close(in[1]);
        return -1;
    }
    int failed = start_child(argv, in[1], ends[1], &pid);
    os_close(in[1]);
    os_close(ends[1]);
    if (!failed) {
        send_child_input(in[0], input);
        failed = read_until(ends[0], deadline, out);
        if (failed)
            kill(pid, SIGKILL);
        status = wait_for_child(pid);
    }
    os_close(in[0]);
    os_close(ends[0]);
    errno = failed;
    return failed ? -1 : status;
}
