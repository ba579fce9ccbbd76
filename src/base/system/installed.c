/*
 * installed.c: the place of this code in the file system, and what lies beside it.
 */
#include "base/system/installed.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"

#define LIBRARY_DEPTH 2 /* <prefix>/lib/x86_64-linux-gnu at most */

/* Takes so many names off the end of a path. */
static void go_up(char *path, int levels)
{
    for (char *slash; levels > 0 && (slash = strrchr(path, '/')); levels--)
        *slash = 0;
}

/* The folder of the library that this code is in, or the prefix of the program. */
static int find_here(char out[PATH_MAX], bool *out_library, struct ethos_error *error)
{
    struct link_map *object = NULL;
    Dl_info info;
    bool known = dladdr1(__extension__(const void *) installed_lib, &info, (void **)&object,
                         RTLD_DL_LINKMAP) != 0;
    *out_library = known && object && *object->l_name;
    if (os_realpath(*out_library ? object->l_name : "/proc/self/exe", out) != 0)
        return err_errno(error, errno, "the program's own path");
    go_up(out, *out_library ? 1 : 2);
    return ETHOS_OK;
}

static int join_path(const char *folder, const char *between, const char *name, char out[PATH_MAX],
                     struct ethos_error *error)
{
    if (snprintf(out, PATH_MAX, "%s%s/%s", folder, between, name) >= PATH_MAX)
        return err_set(error, ETHOS_LIMIT, "%s: the path is too long", folder);
    return ETHOS_OK;
}

int installed_lib(const char *name, char out[PATH_MAX], struct ethos_error *error)
{
    char here[PATH_MAX] = "";
    bool library = false;
    int code = find_here(here, &library, error);
    return code ? code : join_path(here, library ? "" : "/lib", name, out, error);
}

int installed_share(const char *name, char out[PATH_MAX], struct ethos_error *error)
{
    char here[PATH_MAX] = "";
    struct stat info;
    bool library = false;
    int code = find_here(here, &library, error);
    for (int up = 0; code == ETHOS_OK && up <= (library ? LIBRARY_DEPTH : 0); up++) {
        code = join_path(here, "/share", name, out, error);
        if (code == ETHOS_OK && os_fstatat(AT_FDCWD, out, &info, 0) == 0)
            return ETHOS_OK;
        go_up(here, 1);
    }
    return code ? code : err_set(error, ETHOS_NOTFOUND, "share/%s: not installed", name);
}
