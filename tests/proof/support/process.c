/*
 * process.c: children, programs, and the program under test.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proof.h"

pid_t child_start(child_fn *run, void *arg)
{
    fflush(stdout);
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        proof_die("fork");
    if (pid > 0)
        return pid;
    // Nobody outlives the proof, even when it is interrupted.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(99);
    int status = run(arg);
    fflush(stdout);
    _exit(status);
}

int child_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) != pid)
        if (errno != EINTR)
            proof_die("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_run(child_fn *run, void *arg)
{
    return child_wait(child_start(run, arg));
}

void workers_run(child_fn *work, void *arg)
{
    struct worker workers[WORKERS];
    pid_t pids[WORKERS];
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        workers[i].arg = arg;
        place_make(&workers[i].home, PLACE_MEMORY);
        pids[i] = child_start(work, &workers[i]);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        if (child_wait(pids[i]) != 0)
            proof_say(false, "worker %u did not come to its end", i);
        place_remove(&workers[i].home);
    }
}

void *shared_make(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        proof_die("mmap");
    return memory;
}

/* ---- programs ------------------------------------------------------------------------------- */

bool program_found(const char *name)
{
    static const char *const places[] = {"/usr/bin", "/bin", "/usr/sbin", "/sbin",
                                         "/usr/local/bin"};
    char path[128];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s", places[i], name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* A descriptor that gives the input and then ends. */
static int input_of(const char *input)
{
    int fd = memfd_create("input", 0);
    size_t size = input ? strlen(input) : 0;
    if (fd < 0 || (size && write(fd, input, size) != (ssize_t)size) || lseek(fd, 0, SEEK_SET) != 0)
        proof_die("input");
    return fd;
}

/* Gives both outputs to fd, or to nobody. */
static pid_t start(const char *const *words, const char *input, int out)
{
    fflush(stdout);
    int in = input_of(input);
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        proof_die("fork");
    if (pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
            _exit(99);
        int to = out >= 0 ? out : open("/dev/null", O_WRONLY);
        if (dup2(in, 0) < 0 || dup2(to, 1) < 0 || dup2(to, 2) < 0)
            _exit(99);
        execvp(words[0], (char *const *)words);
        _exit(127);
    }
    close(in);
    return pid;
}

int program_run(const char *const *words, const char *input, char **out)
{
    return program_run_killed(words, input, 0, out);
}

int program_run_killed(const char *const *words, const char *input, unsigned kill_us, char **out)
{
    int fd = out ? memfd_create("output", 0) : -1;
    pid_t pid = start(words, input, fd);
    if (kill_us > 0) {
        proof_sleep_us(kill_us);
        kill(pid, SIGKILL);
    }
    int status = child_wait(pid);
    if (out) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        *out = path_read(path, NULL);
        close(fd);
    }
    return status;
}

/* A path in the directory of this program. */
static void find_beside(const char *name, char out[PATH_MAX])
{
    ssize_t size = readlink("/proc/self/exe", out, PATH_MAX - 64);
    if (size < 0)
        proof_die("/proc/self/exe");
    out[size] = 0;
    snprintf(strrchr(out, '/') + 1, 60, "%s", name);
}

char *program_beside(const char *name)
{
    char path[PATH_MAX];
    find_beside(name, path);
    return text_format("%s", path);
}

const char *ethos_program(void)
{
    static char path[PATH_MAX];
    const char *given = getenv("ETHOS_BIN");
    if (given)
        return given;
    if (!*path)
        find_beside("../../bin/ethos", path);
    return path;
}

pid_t ethos_start(const struct home *home, const char *op_id, const char *json)
{
    const char *words[] = {ethos_program(), "--home", home->path, "-q", "sync", "-",
                           "--op-id",       op_id,    NULL};
    if (!op_id)
        words[6] = NULL;
    return start(words, json, -1);
}

int ethos_add(const struct home *home, const char *op_id, const char *entry)
{
    char *json = text_format("{\"action\":\"add\",\"content\":\"%s\"}", entry);
    int status = child_wait(ethos_start(home, op_id, json));
    free(json);
    return status;
}
