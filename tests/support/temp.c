/*
 * temp.c: a directory for one test. Uses libc, not the code under test.
 */
#include "temp.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    abort();
}

void temp_make(struct temp *temp)
{
    const char *base = getenv("TMPDIR");

    if (!base || strlen(base) > 40)
        base = "/tmp";
    snprintf(temp->path, sizeof(temp->path), "%s/ethos-test-XXXXXX", base);
    if (!mkdtemp(temp->path))
        die(temp->path);
    temp->fd = open(temp->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (temp->fd < 0)
        die(temp->path);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int make_open(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)walk;
    if (type == FTW_D || type == FTW_DNR)
        (void)!chmod(path, 0700);
    return 0;
}

void temp_remove(struct temp *temp)
{
    close(temp->fd);
    nftw(temp->path, make_open, 16, FTW_PHYS);
    if (nftw(temp->path, remove_one, 16, FTW_DEPTH | FTW_PHYS))
        die(temp->path);
}

void temp_write(const struct temp *temp, const char *name, const char *text)
{
    int fd = openat(temp->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        die(name);
    close(fd);
}

char *temp_read(const struct temp *temp, const char *name, size_t *out_size)
{
    int fd = openat(temp->fd, name, O_RDONLY | O_CLOEXEC);
    struct stat status;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status))
        die(name);
    size_t size = (size_t)status.st_size;
    char *text = calloc(1, size + 1);
    if (!text || read(fd, text, size) != (ssize_t)size)
        die(name);
    close(fd);
    if (out_size)
        *out_size = size;
    return text;
}
