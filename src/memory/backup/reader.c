/*
 * reader.c: reads a backup: checks every path, compares every file with the list, and unpacks it if
 * requested.
 *
 * Unpacked files count only if the whole read succeeds: damage may show only at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/formats/backup_manifest.h"
#include "memory/backup/internal.h"
#include "session/database_copy.h"

struct backup_source {
    const char *path;
    int fd; /* of the archive, or of the folder */
    struct str list;
    struct backup_target *into;
    char *buffer;
};

/* ---- an archive ----------------------------------------------------------------------------- */

static int read_exactly(void *arg, void *data, size_t size, struct ethos_error *error)
{
    const struct backup_source *source = arg;
    char *at = data;
    while (size > 0) {
        ssize_t got = os_read(source->fd, at, size);
        if (got < 0)
            return err_errno(error, errno, source->path);
        if (got == 0)
            return err_set(error, ETHOS_CORRUPT, "the archive is damaged: it ends early");
        at += got;
        size -= (size_t)got;
    }
    return ETHOS_OK;
}

static int read_list(struct backup_source *source, struct tar *tar, uint64_t size,
                     struct ethos_error *error)
{
    size_t got = 1;
    int code = ETHOS_OK;
    if (source->list.size > 0)
        return err_set(error, ETHOS_CORRUPT, "the backup contains " BACKUP_MANIFEST " twice");
    if (size == 0 || size > BACKUP_MAX_MANIFEST)
        return err_set(error, ETHOS_CORRUPT, BACKUP_MANIFEST ": not the list of a backup");
    while (code == ETHOS_OK && got > 0) {
        code = tar_data(tar, source->buffer, BACKUP_BUFFER, &got, error);
        if (code == ETHOS_OK && str_add(&source->list, view_of(source->buffer, got)) != ETHOS_OK)
            code = err_nomem(error);
    }
    return code;
}

static int read_entry(struct backup_source *source, struct tar *tar, const struct tar_entry *entry,
                      struct ethos_error *error)
{
    size_t got = 1;
    int code = backup_check_path(entry->path, error);
    if (code == ETHOS_OK && json_object_get(source->into->files, entry->path))
        code = err_set(error, ETHOS_CORRUPT, "the backup contains %s twice", entry->path);
    if (code == ETHOS_OK)
        code = backup_begin(source->into, entry->path, entry->size, entry->mode, entry->mtime_s,
                            error);
    while (code == ETHOS_OK && got > 0) {
        code = tar_data(tar, source->buffer, BACKUP_BUFFER, &got, error);
        if (code == ETHOS_OK)
            code = backup_data(source->into, source->buffer, got, error);
    }
    return code == ETHOS_OK ? backup_end(source->into, error) : code;
}

static int read_archive(struct backup_source *source, uint64_t size, struct ethos_error *error)
{
    struct tar tar;
    struct tar_entry entry;
    int more;
    tar_open(&tar, size, read_exactly, source);
    while ((more = tar_next(&tar, &entry, error)) > 0) {
        int code = ETHOS_OK;
        if (strcmp(entry.path, BACKUP_MANIFEST) == 0)
            code = read_list(source, &tar, entry.size, error);
        else if (!entry.directory)
            code = read_entry(source, &tar, &entry, error);
        if (code != ETHOS_OK)
            return code;
    }
    if (more == 0 && source->list.size == 0)
        return err_hint(error,
                        err_set(error, ETHOS_CORRUPT,
                                "%s: not a backup: it has no " BACKUP_MANIFEST, source->path),
                        "make one with: ethos backup FILE");
    return more;
}

/* ---- a folder ------------------------------------------------------------------------------- */

static int copy_file(struct backup_source *source, const char *path, struct ethos_error *error)
{
    struct stat st;
    ssize_t got = 0;
    CLEANUP_FD int fd = os_open_beneath(source->fd, path,
                                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return errno == ENOENT
                   ? err_set(error, ETHOS_CORRUPT, "the backup is incomplete: %s is missing", path)
                   : err_errno(error, errno, path);
    int code = os_fstat(fd, &st) != 0 ? err_errno(error, errno, path) : ETHOS_OK;
    if (code == ETHOS_OK && !S_ISREG(st.st_mode))
        code = err_set(error, ETHOS_DENIED, "the backup contains %s, which is not a file", path);
    if (code == ETHOS_OK)
        code = backup_begin(source->into, path, (uint64_t)st.st_size, st.st_mode, st.st_mtim.tv_sec,
                            error);
    while (code == ETHOS_OK && (got = os_read(fd, source->buffer, BACKUP_BUFFER)) > 0)
        code = backup_data(source->into, source->buffer, (size_t)got, error);
    if (code == ETHOS_OK && got < 0)
        code = err_errno(error, errno, path);
    return code == ETHOS_OK ? backup_end(source->into, error) : code;
}

static int read_backup_folder(struct backup_source *source, const json_t *listed,
                              struct ethos_error *error)
{
    const char *path;
    json_t *hash;
    json_object_foreach ((json_t *)listed, path, hash) {
        int code = copy_file(source, path, error);
        if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}

static int read_folder_list(struct backup_source *source, struct ethos_error *error)
{
    CLEANUP_FD int fd = os_open_beneath(source->fd, BACKUP_MANIFEST,
                                        O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 && errno == ENOENT)
        return err_hint(error,
                        err_set(error, ETHOS_CORRUPT,
                                "%s: not a backup: it has no " BACKUP_MANIFEST, source->path),
                        "if it is a copied home, run: ethos --home %s backup FILE", source->path);
    if (fd < 0)
        return err_errno(error, errno, source->path);
    return os_read_all(fd, &source->list, BACKUP_MAX_MANIFEST) == 0
               ? ETHOS_OK
               : err_errno(error, errno, BACKUP_MANIFEST);
}

/* ---- both ------------------------------------------------------------------------------------ */

static int read_source(struct backup_source *source, const struct stat *st,
                       struct backup_found *out, struct ethos_error *error)
{
    json_t *listed = NULL;
    int code = S_ISDIR(st->st_mode) ? read_folder_list(source, error)
                                    : read_archive(source, (uint64_t)st->st_size, error);
    if (code == ETHOS_OK)
        code = backup_parse(str_view(&source->list), &listed, out->created, error);
    if (code == ETHOS_OK && S_ISDIR(st->st_mode))
        code = read_backup_folder(source, listed, error);
    if (code == ETHOS_OK)
        code = backup_compare(listed, source->into->files, error);
    out->files = source->into->count;
    out->bytes = source->into->bytes;
    json_decref(listed);
    return code;
}

int backup_read(const char *path, struct backup_target *into, struct backup_found *out,
                struct ethos_error *error)
{
    struct stat st;
    struct backup_source source = {.path = path, .into = into};
    str_init(&source.list, BACKUP_MAX_MANIFEST);
    source.buffer = malloc(BACKUP_BUFFER);
    source.fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    int code = source.fd >= 0 ? ETHOS_OK : err_errno(error, errno, path);
    if (code == ETHOS_OK && (!source.buffer || !source.into->files))
        code = err_nomem(error);
    if (code == ETHOS_OK && os_fstat(source.fd, &st) != 0)
        code = err_errno(error, errno, path);
    if (code == ETHOS_OK && !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        code = err_set(error, ETHOS_INVALID, "%s: neither a file nor a folder", path);
    if (code == ETHOS_OK)
        code = read_source(&source, &st, out, error);
    if (source.into->file >= 0)
        os_close(source.into->file);
    source.into->file = -1;
    if (source.fd >= 0)
        os_close(source.fd);
    str_release(&source.list);
    free(source.buffer);
    return code;
}

int backup_check_databases(const char *path, const json_t *files, struct ethos_error *error)
{
    const char *name;
    json_t *hash;
    char full[PATH_MAX], start[16];
    json_object_foreach ((json_t *)files, name, hash) {
        if (backup_class(name) != BACKUP_DATABASE || !session_copier_builtin)
            continue;
        if ((size_t)snprintf(full, sizeof full, "%s/%s", path, name) >= sizeof full)
            return err_set(error, ETHOS_LIMIT, "%s: the path is too long", name);
        int fd = os_openat(AT_FDCWD, full, O_RDONLY | O_NOFOLLOW, 0);
        bool database = fd >= 0 && os_read(fd, start, sizeof start) == sizeof start &&
                        memcmp(start, "SQLite format 3", sizeof start) == 0;
        if (fd >= 0)
            os_close(fd);
        int code = database ? session_copier_builtin->check(full, error) : ETHOS_OK;
        if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}
