/*
 * scopes.c: the scopes that have a directory below a root.
 */
#include "memory/scopes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/err.h"
#include "base/os.h"
#include "base/view.h"
#include "core/scope.h"

#define DIR_SIZE (ETHOS_MAX_ID + 64)

static const struct folder {
    enum scope_kind kind;
    const char *name, *below;
} folders[] = {
    {SCOPE_PERSONALITY, "personalities", ""},
    {SCOPE_USER, "users", ""},
    {SCOPE_TEAM, "teams", "/memory"},
    {SCOPE_WORKSPACE, "workspaces", "/memory"},
};

struct walk {
    const struct folder *folder;
    scopes_fn *each;
    void *arg;
    int code;
};

/* Whether it is a directory shows when somebody looks into it. */
static int tell(void *arg, const char *name)
{
    struct walk *walk = arg;
    char scope[ETHOS_MAX_SCOPE], dir[DIR_SIZE];
    if (!scope_id_ok(view_str(name)))
        return 0;
    scope_make(walk->folder->kind, name, scope, NULL);
    snprintf(dir, sizeof dir, "%s/%s%s", walk->folder->name, name, walk->folder->below);
    walk->code = walk->each(walk->arg, scope, dir);
    return walk->code;
}

static int walk_folder(int root, struct walk *walk, struct ethos_error *error)
{
    int fd = os_open_beneath(root, walk->folder->name, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? ETHOS_OK
                                                   : err_errno(error, errno, walk->folder->name);
    int failed = os_list(fd, tell, walk), saved = errno;
    os_close(fd);
    if (walk->code != ETHOS_OK)
        return walk->code;
    return failed < 0 ? err_errno(error, saved, walk->folder->name) : ETHOS_OK;
}

int scopes_each(int root, scopes_fn *each, void *arg, struct ethos_error *error)
{
    int code = root < 0 ? ETHOS_OK : each(arg, "global", ".");
    for (size_t i = 0; root >= 0 && code == ETHOS_OK && i < sizeof folders / sizeof *folders; i++) {
        struct walk walk = {&folders[i], each, arg, ETHOS_OK};
        code = walk_folder(root, &walk, error);
    }
    return code;
}
