/*
 * naive.c: the scroll of examples/ without its lock: it looks at the revision, and then it writes. Whoever
 * does so loses updates, and the conformance suite must find that out.
 */
#define _DEFAULT_SOURCE 1
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static int naive_rename(const char *from, const char *to)
{
    usleep(500); // what a network would take
    return rename(from, to);
}

#define flock(fd, operation) ((void)(fd), 0)
#define rename(from, to) naive_rename(from, to)
#undef _DEFAULT_SOURCE

#include "../../../../examples/store_scroll.c"
