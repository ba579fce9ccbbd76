/*
 * modules.h: where the shared objects are that tests load: beside the test program itself.
 */
#ifndef TESTS_MEMORY_PROVIDER_MODULES_H
#define TESTS_MEMORY_PROVIDER_MODULES_H

#include <limits.h>

#include "../world.h"

#define HELLO "../../../examples/provider_hello.so"

/* The absolute path of a file below the test program's directory. */
static inline void module_path(const char *name, char out[PATH_MAX])
{
    char self[PATH_MAX], joined[2 * PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(size > 0);
    self[size] = 0;
    *strrchr(self, '/') = 0;
    snprintf(joined, sizeof joined, "%s/%s", self, name);
    assert_non_null(realpath(joined, out));
}

/* A private copy of a module in <temp>, whose mode may be changed. */
static inline void module_copy(struct world *world, const char *name, mode_t mode,
                               char out[PATH_MAX])
{
    char from[PATH_MAX], command[3 * PATH_MAX];
    module_path(name, from);
    snprintf(out, PATH_MAX, "%s/copy.so", world->temp.path);
    snprintf(command, sizeof command, "cp '%s' '%s'", from, out);
    assert_int_equal(system(command), 0);
    assert_int_equal(chmod(out, mode), 0);
}

#endif
