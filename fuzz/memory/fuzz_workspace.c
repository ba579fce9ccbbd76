/*
 * fuzz_workspace.c: any bytes as one of the files by which a folder finds its memory.
 *
 * The first byte says which: the marker of a strange folder, the index, the aliases, a workspace.json.
 * A marker or an index alone never leads the folder to the memory of another; whatever is found has
 * a usable id, the same each time.
 */
#undef NDEBUG
#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/workspace/workspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VICTIM "victim-0123456789ab"

static const char *const names[] = {"strange/.git/ethos-workspace", "workspaces/.mem/index",
                                    "workspaces/aliases.json",
                                    "workspaces/" VICTIM "/workspace.json"};
static char root[64];
static int dir = -1;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static void remove_root(void)
{
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const void *data, size_t size)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

/* A home with a memory whose folder carries its marker, and a folder that has nothing. */
static void make_world(void)
{
    static const char *const folders[] = {"strange", "strange/.git", "workspaces",
                                          "workspaces/.mem", "workspaces/" VICTIM};
    snprintf(root, sizeof root, "%s/ethos-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert(mkdtemp(root));
    atexit(remove_root);
    dir = open(root, O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert(mkdirat(dir, folders[i], 0700) == 0);
}

static void set_back(void)
{
    static const char doc[] = "{\"token\": \"5ab1b0d1f00dfeed5ab1b0d1f00dfeed\", \"paths\": "
                              "[{\"path\": \"/nowhere\", \"dev\": 1, \"ino\": 1, \"btime\": 1}]}";
    for (size_t i = 0; i < 3; i++)
        unlinkat(dir, names[i], 0);
    put(names[3], doc, sizeof doc - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct workspace_place place;
    struct workspace_found found, again;
    struct ethos_error error = {0};
    if (dir < 0)
        make_world();
    if (size == 0)
        return 0;
    size_t which = data[0] % 4;
    set_back();
    put(names[which], data + 1, size - 1);
    workspace_place_init(&place);
    str_printf(&place.root, "%s/strange", root);
    str_printf(&place.common, "%s/strange/.git", root);
    int code = workspace_find(dir, &place, &found, &error);
    if (code == ETHOS_OK) {
        assert(scope_id_ok(view_str(workspace_id(&found))));
        assert(which >= 2 || strcmp(workspace_id(&found), VICTIM) != 0);
        assert(workspace_find(dir, &place, &again, NULL) == ETHOS_OK);
        assert(strcmp(found.scope, again.scope) == 0 && found.how == again.how);
    } else {
        assert(error.code == code && error.text[0]);
    }
    workspace_place_release(&place);
    return 0;
}
