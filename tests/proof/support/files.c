/*
 * files.c: homes, trees, files and texts of the proofs. Plain libc.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <nettle/sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proof.h"

/* ---- homes ---------------------------------------------------------------------------------- */

void place_look(struct home *home, bool tree)
{
    home->tree = tree;
    snprintf(home->scope, sizeof home->scope, "%s/personalities/default%s", home->path,
             tree ? "/memories" : "");
    snprintf(home->memory, sizeof home->memory, "%s/%s", home->scope,
             tree ? PLACE_TREE_KEY : "MEMORY.md");
}

void place_at(struct home *home, const char *path)
{
    if (strlen(path) >= sizeof home->path)
        proof_die(path);
    snprintf(home->path, sizeof home->path, "%s", path);
    place_look(home, false);
}

void place_make(struct home *home, enum place place)
{
    const char *base = getenv("TMPDIR");
    char path[PATH_MAX / 4];
    if (!base || strlen(base) > 200)
        base = "/tmp";
    if (place == PLACE_MEMORY && access("/dev/shm", W_OK) == 0)
        base = "/dev/shm";
    snprintf(path, sizeof path, "%s/ethos-proof-XXXXXX", base);
    if (!mkdtemp(path))
        proof_die(path);
    place_at(home, path);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void tree_remove(const char *path)
{
    if (access(path, F_OK) == 0 && nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
        proof_die(path);
}

void place_remove(const struct home *home)
{
    tree_remove(home->path);
}

static void copy_one(void *arg, const char *dir, const char *name)
{
    char from[PATH_MAX], to[PATH_MAX];
    snprintf(from, sizeof from, "%s/%s", dir, name);
    snprintf(to, sizeof to, "%s/%s", (const char *)arg, name);
    tree_copy(from, to);
}

static void copy_file(const char *from, const char *to, mode_t mode)
{
    size_t size;
    char *data = path_read(from, &size);
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode & 0777);
    if (!data || fd < 0 || write(fd, data, size) != (ssize_t)size)
        proof_die(to);
    close(fd);
    free(data);
}

void tree_copy(const char *from, const char *to)
{
    struct stat st;
    char target[PATH_MAX];
    if (lstat(from, &st) != 0)
        proof_die(from);
    if (S_ISLNK(st.st_mode)) {
        ssize_t size = readlink(from, target, sizeof target - 1);
        target[size < 0 ? 0 : size] = 0;
        if (symlink(target, to) != 0)
            proof_die(to);
        return;
    }
    if (S_ISDIR(st.st_mode)) {
        if (mkdir(to, st.st_mode & 0777) != 0 && errno != EEXIST)
            proof_die(to);
        dir_each(from, copy_one, (void *)to);
    } else {
        copy_file(from, to, st.st_mode);
    }
    if (utimensat(AT_FDCWD, to, (struct timespec[2]){st.st_atim, st.st_mtim}, 0) != 0)
        proof_die(to);
}

void place_copy(const struct home *from, struct home *to)
{
    tree_remove(to->path);
    tree_copy(from->path, to->path);
    place_look(to, from->tree);
}

void dir_each(const char *dir, name_fn *each, void *arg)
{
    DIR *stream = opendir(dir);
    const struct dirent *entry;
    if (!stream && errno != ENOENT)
        proof_die(dir);
    while (stream && (entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            each(arg, dir, entry->d_name);
    if (stream)
        closedir(stream);
}

/* ---- files ---------------------------------------------------------------------------------- */

char *path_read(const char *path, size_t *out_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t size = 0, capacity = 65536;
    ssize_t got = 0;
    char *data = fd >= 0 ? malloc(capacity) : NULL;
    if (!data) {
        if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR))
            proof_die(path);
        return NULL;
    }
    while ((got = read(fd, data + size, capacity - size - 1)) > 0) {
        size += (size_t)got;
        if (size + 1 == capacity && !(data = realloc(data, capacity *= 2)))
            proof_die(path);
    }
    if (got < 0)
        proof_die(path);
    close(fd);
    data[size] = 0;
    if (out_size)
        *out_size = size;
    return data;
}

void path_write(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        proof_die(path);
    close(fd);
}

void path_put(const char *path, const char *text)
{
    path_write(path, text, strlen(text));
}

void path_replace(const char *path, const char *text)
{
    char real[PATH_MAX], temporary[PATH_MAX + 8];
    if (!realpath(path, real))
        snprintf(real, sizeof real, "%s", path);
    snprintf(temporary, sizeof temporary, "%s~tmp", real);
    path_put(temporary, text);
    if (rename(temporary, real) != 0)
        proof_die(real);
}

/* ---- texts ---------------------------------------------------------------------------------- */

unsigned text_lines(const char *text, const char *line)
{
    unsigned count = 0;
    size_t size = strlen(line);
    for (const char *at = text; at && (at = strstr(at, line)); at += size)
        count += (at == text || at[-1] == '\n') && (at[size] == '\n' || at[size] == 0);
    return count;
}

void text_hash(const void *data, size_t size, char out[HASH_SIZE])
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&context);
    sha256_update(&context, size, data);
    sha256_digest(&context, sizeof digest, digest);
    snprintf(out, HASH_SIZE, "sha256:");
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 7 + 2 * i, 3, "%02x", digest[i]);
}

char *text_format(const char *format, ...)
{
    va_list args;
    char *text;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        proof_die("text");
    va_end(args);
    return text;
}
