/*
 * command.c: the program ethos.
 */
#include "command.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char *find_program(void)
{
    static char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - sizeof "ethos");
    if (size <= 0)
        return "ethos";
    path[size] = '\0';
    memcpy(strrchr(path, '/') + 1, "ethos", sizeof "ethos");
    return access(path, X_OK) == 0 ? path : "ethos";
}

GSubprocess *command_start(const char *home, GSubprocessFlags flags, const char *const words[],
                           GError **error)
{
    GPtrArray *argv = g_ptr_array_new();
    g_ptr_array_add(argv, (void *)find_program());
    if (home) {
        g_ptr_array_add(argv, (void *)"--home");
        g_ptr_array_add(argv, (void *)home);
    }
    for (size_t i = 0; words[i]; i++)
        g_ptr_array_add(argv, (void *)words[i]);
    g_ptr_array_add(argv, NULL);
    GSubprocess *process = g_subprocess_newv((const char *const *)argv->pdata, flags, error);
    g_ptr_array_free(argv, TRUE);
    return process;
}
