/*
 * ephemeral.c: creates and removes the temporary directory of ephemeral memory.
 */
#include "memory/home/ephemeral.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/os.h"

#define PATH_LIMIT 4096 /* bytes */
#define TRIES 16

int ephemeral_make(char **out_path, struct ethos_error *error)
{
    const char *base = getenv("TMPDIR");
    if (!base || *base != '/')
        base = "/tmp";
    for (int i = 0; i < TRIES; i++) {
        char path[PATH_LIMIT];
        uint64_t number;
        if (os_random(&number, sizeof number) != 0)
            return err_errno(error, errno, base);
        snprintf(path, sizeof path, "%s/ethos-ephemeral-%016llx", base, (unsigned long long)number);
        if (os_mkdirat(AT_FDCWD, path, 0700) == 0) {
            *out_path = strdup(path);
            if (!*out_path)
                os_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
            return *out_path ? ETHOS_OK : err_nomem(error);
        }
        if (errno != EEXIST)
            return err_errno(error, errno, path);
    }
    return err_set(error, ETHOS_IO, "%s: no free name for a temporary directory", base);
}

void ephemeral_remove(const char *path)
{
    dir_remove(AT_FDCWD, path);
}
