/*
 * scopes.c: lists the scopes below a root.
 *
 * A directory alone is not a scope: a personality has one for its settings. A scope exists once
 * there is a history, or a text that somebody put there by hand.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "store/store.h"

#define DIR_SIZE (ETHOS_MAX_ID + 64)
#define SCOPES_BYTES 67108864 /* all scopes together */

static const struct scope_folder {
    enum scope_kind kind;
    const char *name, *below;
} folders[] = {
    {SCOPE_PERSONALITY, "personalities", ""},
    {SCOPE_USER, "users", ""},
    {SCOPE_TEAM, "teams", "/memory"},
    {SCOPE_WORKSPACE, "workspaces", "/memory"},
};

struct scope_walk {
    const struct scope_folder *folder;
    store_files_scope_fn *each;
    void *arg;
    int code;
};

/* Reports a name; whether it is a directory is left to whoever opens it. */
static int report_scope(void *arg, const char *name)
{
    struct scope_walk *walk = arg;
    char scope[ETHOS_MAX_SCOPE], dir[DIR_SIZE];
    if (!scope_id_ok(view_str(name)))
        return 0;
    scope_make(walk->folder->kind, name, scope, NULL);
    snprintf(dir, sizeof dir, "%s/%s%s", walk->folder->name, name, walk->folder->below);
    walk->code = walk->each(walk->arg, scope, dir);
    return walk->code;
}

static int list_folder_scopes(int root, struct scope_walk *walk, struct ethos_error *error)
{
    int fd = os_open_beneath(root, walk->folder->name, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? ETHOS_OK
                                                   : err_errno(error, errno, walk->folder->name);
    int failed = os_list(fd, report_scope, walk), saved = errno;
    os_close(fd);
    if (walk->code != ETHOS_OK)
        return walk->code;
    return failed < 0 ? err_errno(error, saved, walk->folder->name) : ETHOS_OK;
}

int store_files_scopes(int root, store_files_scope_fn *each, void *arg, struct ethos_error *error)
{
    TRY(root < 0 ? ETHOS_OK : each(arg, "global", "."));
    for (size_t i = 0; root >= 0 && i < sizeof folders / sizeof *folders; i++) {
        struct scope_walk walk = {&folders[i], each, arg, ETHOS_OK};
        TRY(list_folder_scopes(root, &walk, error));
    }
    return ETHOS_OK;
}

/* ---- those that were written ---------------------------------------------------------------- */

struct scope_list {
    int root;
    struct files_names names;
};

/* False also when the path cannot be examined: opening it will report why. */
static bool is_no_directory(int root, const char *path)
{
    struct stat seen;
    if (os_fstatat(root, path, &seen, 0) != 0)
        return errno == ENOENT || errno == ENOTDIR;
    return !S_ISDIR(seen.st_mode);
}

/* Adds the scope and its tree. */
static int add_scope_and_tree(void *arg, const char *scope, const char *dir)
{
    struct scope_list *gathering = arg;
    struct files_names *names = &gathering->names;
    char tree[ETHOS_MAX_SCOPE];
    if (is_no_directory(gathering->root, dir))
        return ETHOS_OK;
    scope_tree(scope, tree);
    str_add(&names->bytes, view_of(scope, strlen(scope) + 1));
    names->count += 2;
    return str_add(&names->bytes, view_of(tree, strlen(tree) + 1));
}

static int stop_at_history(void *arg, const char *name)
{
    (void)arg;
    return files_is_history(name) ? 1 : 0;
}

static int stop_at_text(void *arg, const struct ethos_entry *entry)
{
    return scope_key_shown(arg, entry->key) ? 1 : 0;
}

static int has_been_written(struct files *self, const char *scope, bool *out,
                            struct ethos_error *error)
{
    char path[FILES_PATH_SIZE];
    int dir = files_scope_open(self, scope, path, error);
    *out = false;
    if (dir < 0)
        return dir == ETHOS_NOTFOUND ? ETHOS_OK : dir;
    int found = os_list(dir, stop_at_history, NULL), saved = errno;
    os_close(dir);
    if (found < 0)
        return files_errno(self, saved, path, error);
    if (found == 0)
        found = self->store.ops->list(&self->store, scope, stop_at_text, (void *)scope, error);
    *out = found == 1;
    return *out ? ETHOS_OK : found;
}

static int list_candidates(struct files *self, struct files_names *out_names,
                           struct ethos_error *error)
{
    struct scope_list gathering = {.root = self->root, .names = *out_names};
    int code = store_files_scopes(self->root, add_scope_and_tree, &gathering, error);
    *out_names = gathering.names;
    if (str_code(&out_names->bytes) == ETHOS_NOMEM)
        return err_nomem(error);
    if (str_code(&out_names->bytes) == ETHOS_LIMIT)
        return err_set(error, ETHOS_LIMIT, "%s: too many scopes", self->root_path);
    return code == ETHOS_OK ? files_names_sort(out_names, error) : code;
}

int files_list_scopes(struct ethos_store *store, ethos_scope_fn *each, void *arg,
                      struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    CLEANUP_NAMES struct files_names names = {0};
    files_root_refresh(self);
    int code = files_root_open(self, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    str_init(&names.bytes, SCOPES_BYTES);
    TRY(list_candidates(self, &names, error));
    bool written = false;
    for (size_t i = 0; i < names.count; i++) {
        TRY(has_been_written(self, names.sorted[i], &written, error));
        if (written)
            TRY(each(arg, names.sorted[i]));
    }
    return ETHOS_OK;
}
