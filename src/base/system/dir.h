/*
 * dir.h: creates, lists and removes directories, and refuses those that are not private.
 */
#ifndef ETHOS_BASE_SYSTEM_DIR_H
#define ETHOS_BASE_SYSTEM_DIR_H

#include <sys/stat.h>

#include <ethos/types.h>

/* Creates every missing directory of an absolute path, like os_mkdirs. 0, or -1 and errno. */
int dir_make(const char *path);

/* The same for a home. A new one gets a .gitignore that keeps tokens, keys, databases and locks out of git. */
#define DIR_IGNORE ".gitignore"
int dir_make_home(const char *path);

/* Writes that file unless it exists. 0, or -1 and errno. */
int dir_ignore(int dir);

/* Removes a directory and its contents, following no links. 0, or -1 and errno. */
int dir_remove(int dir, const char *name);

/*
 * The names in a directory, in byte order, in the arena. 0, or -1 and errno: ENOMEM, E2BIG beyond
 * the limit.
 */
struct arena;
struct dir_names {
    const char **list;
    size_t count;
};
int dir_names(int dir, struct arena *arena, size_t limit, struct dir_names *out);

/* ETHOS_DENIED, with path and mode, if group or others may write to the directory. */
int dir_private(const struct stat *info, const char *path, struct ethos_error *error);

#endif
