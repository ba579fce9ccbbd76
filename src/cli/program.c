/*
 * program.c: the programs beside this one, which do what it is too small for.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
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

/* A program that was executed for this and executes in turn would never end. */
#define MARK "ETHOS_PROGRAM"

int program_exec(const struct cli *self, const char *name, char **argv)
{
    char path[PATH_MAX] = "";
    struct ethos_error error = {0};
    bool again = getenv(MARK) != NULL;
    errno = ENOEXEC;
    if (find_beside(name, path) && !again && setenv(MARK, name, 1) == 0)
        execv(path, argv);
    int code = err_set(&error, ETHOS_IO, "%s: %s", *path ? path : name,
                       again ? "another program stands there" : strerror(errno));
    err_hint(&error, code, "ethos is more than one program; install it whole");
    return cli_fail(self, &error);
}

void program_begin(void)
{
    unsetenv(MARK); // pagers and editors may call ethos again
}
