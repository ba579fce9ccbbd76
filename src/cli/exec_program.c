/*
 * exec_program.c: the programs beside this one, which do what it is too small for.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/process.h"
#include "cli/cli.h"

/* <prefix>/libexec/<name> for a program <prefix>/bin/<any>. */
static bool find_beside(const char *name, char out[PATH_MAX])
{
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    for (int up = 0; size > 0 && up < 2; up++)
        do
            size--;
        while (size > 0 && self[size] != '/');
    if (size < 0)
        return false;
    return snprintf(out, PATH_MAX, "%.*s/libexec/%s", (int)size, self, name) < PATH_MAX;
}

/*
 * Says that one of ours executed this program, and which descriptor it left behind. One that was
 * executed and executes in turn would never end.
 */
#define MARK "ETHOS_PROGRAM"

#define PROGRAM_WORDS 16     /* of a command line that we make */
#define PROGRAM_OUTPUT 65536 /* bytes, which nobody sees */

int program_try(const struct cli *self, const char *name, int state, struct ethos_error *error)
{
    char path[PATH_MAX] = "", mark[16];
    snprintf(mark, sizeof mark, "%d", state);
    errno = ENOEXEC;
    if (find_beside(name, path) && !self->executed && setenv(MARK, mark, 1) == 0) {
        execv(path, self->argv);
        int why = errno;
        unsetenv(MARK);
        errno = why;
    }
    int code = err_set(error, ETHOS_IO, "%s: %s", *path ? path : name,
                       self->executed ? "there is another program in its place" : strerror(errno));
    return err_hint(error, code, "ethos consists of several programs; install all of them");
}

int program_exec(const struct cli *self, const char *name)
{
    struct ethos_error error = {0};
    program_try(self, name, -1, &error);
    return cli_fail(self, &error);
}

bool program_run(const char *name, const char *const *argv, unsigned timeout_ms)
{
    char path[PATH_MAX] = "";
    const char *words[PROGRAM_WORDS + 1] = {path};
    struct str output;
    if (!find_beside(name, path))
        return false;
    for (size_t i = 1; i < PROGRAM_WORDS && argv[i]; i++)
        words[i] = argv[i];
    str_init(&output, PROGRAM_OUTPUT);
    int status = process_ask(words, (struct ethos_view){0}, timeout_ms, &output);
    str_release(&output);
    return status == 0;
}

void program_begin(struct cli *self)
{
    const char *mark = getenv(MARK);
    long state = mark ? strtol(mark, NULL, 10) : -1;
    self->executed = mark != NULL;
    self->state = -1;
    if (state > STDERR_FILENO && state <= INT_MAX && fcntl((int)state, F_SETFD, FD_CLOEXEC) == 0)
        self->state = (int)state;
    unsetenv(MARK); // pagers and editors may call ethos again
}
