/*
 * watch_set.h: what an answer was made from, and whether any of it has changed since.
 *
 * Whoever makes an answer names every path that it looks at, be there something or nothing. A watch
 * is set on all of them; an answer that is made of the same paths after that holds as long as the
 * watch is quiet, and asking whether it is costs one system call.
 *
 * The kernel tells of a change before the call that made it returns (inotify), and of mounts likewise.
 * Watched are the file or directory at each path, every directory on the way to it, and for what is
 * not there its name. What cannot be watched that closely makes the watch incomplete, and an
 * incomplete watch is never quiet: a symbolic link on the way, a file system that others change
 * behind the kernel's back (a network, the host of a virtual machine), too few watches left. A store
 * through a shared mapping is told when the mapping ends. Rights of directories outside the base are
 * not watched.
 */
#ifndef ETHOS_BASE_SYSTEM_WATCH_SET_H
#define ETHOS_BASE_SYSTEM_WATCH_SET_H

#include <stdbool.h>

#include "base/str.h"

/*
 * Zero-terminated paths, one after the other; relative ones are below a base that the watch knows.
 */
struct looks {
    struct str paths;
    bool beyond; /* depends on more than paths can express */
};

void looks_init(struct looks *self);
void looks_release(struct looks *self);
void looks_clear(struct looks *self);

/*
 * Both: self NULL does nothing. A path that ends in / also stands for the names in it; one that
 * ends in /. for the identity of a directory but not its permissions.
 */
void looks_add(struct looks *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
void looks_beyond(struct looks *self);

/* Whether the kernel reports every change of the file system at a path, no matter who makes it. */
bool looks_tells(const char *path);

struct looks_watch;

/* A watch of nothing. NULL: out of memory. */
struct looks_watch *looks_watch_new(void);
void looks_watch_free(struct looks_watch *self);

/* Watches these paths and no others from now on. False: the watch is incomplete. */
bool looks_watch_set(struct looks_watch *self, const char *base, const struct looks *looks);

/* Whether these are the paths that were set last, watched or not. */
bool looks_watch_has(const struct looks_watch *self, const struct looks *looks);

/*
 * Whether a directory below the base is on the path to one of them, or is one of them; "": the
 * base.
 */
bool looks_watch_covers(const struct looks_watch *self, struct ethos_view directory);

/* Whether nothing at the paths has changed since they were set; once false, it stays false. */
bool looks_watch_quiet(struct looks_watch *self);

#endif
