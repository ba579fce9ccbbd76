/*
 * backup.c: walks a home and writes it into a backup.
 *
 * The files of a scope are copied under its lock; folders below it and databases are copied after
 * the lock is released, except for what belongs to the scope: its blobs, its conflict copies, and
 * all of a tree.
 */
#include "memory/backup/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/formats/backup_manifest.h"
#include "core/memory/scope.h"
#include "memory/backup/internal.h"
#include "memory/handle_internal.h"
#include "session/database_copy.h"
#include "store/store.h"

/*
 * The name of an unfinished backup. Files with this name are ours to remove: nobody else uses it.
 */
#define PARTIAL ".ethos-partial"
#define DATABASE_COPY PARTIAL ".db"
#define TRIES 20 /* at a file that somebody is saving */
#define TRY_MS 50
#define HISTORY "memory-history.jsonl"
#define FILES "markdown" /* the backend that keeps its memory in the home */

struct path_list {
    const char **list;
    size_t count, capacity;
};

struct backup_walk {
    struct ethos *ethos;
    const struct backup_how *how;
    struct backup_target target;
    struct ethos_store *store;
    int root;
    char *buffer;
    struct arena arena;
    struct path_list folders, databases;
    uint64_t database_count;
    json_t *skipped, *elsewhere;
    char copy[PATH_MAX]; /* copy of a database while it is added */
    const char *scope;   /* scope whose lock is held; NULL: none */
    bool locked, deep;
};

static int push_path(struct backup_walk *walk, struct path_list *list, const char *path,
                     struct ethos_error *error)
{
    const char **grown = arena_grow(&walk->arena, list->list, list->count, &list->capacity,
                                    sizeof *grown);
    char *copy = arena_str(&walk->arena, path);
    if (!grown || !copy)
        return err_nomem(error);
    list->list = grown;
    grown[list->count++] = copy;
    return ETHOS_OK;
}

static int add_skipped_path(struct backup_walk *walk, const char *path, const char *reason,
                            struct ethos_error *error)
{
    json_t *name = json_text(view_str(path));
    json_t *row = json_pack("{s:o, s:s}", "path", name, "reason", reason);
    return json_array_append_new(walk->skipped, row) == 0 ? ETHOS_OK : err_nomem(error);
}

/* ---- one file ------------------------------------------------------------------------------- */

static bool is_unchanged_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* ETHOS_BUSY if the file changed meanwhile: what was written of it is removed. */
static int copy_once(struct backup_walk *walk, int fd, const char *path, struct ethos_error *error)
{
    struct backup_target *target = &walk->target;
    struct stat before, after;
    ssize_t got = 0;
    uint64_t offset = 0;
    if (os_fstat(fd, &before) != 0)
        return err_errno(error, errno, path);
    int code = backup_begin(target, path, (uint64_t)before.st_size, before.st_mode,
                            before.st_mtim.tv_sec, error);
    if (code != ETHOS_OK)
        return code;
    while (code == ETHOS_OK && (got = os_pread(fd, walk->buffer, BACKUP_BUFFER, offset)) > 0) {
        code = backup_data(target, walk->buffer, (size_t)got, error);
        offset += (uint64_t)got;
    }
    if (code == ETHOS_OK && got < 0)
        code = err_errno(error, errno, path);
    if (code == ETHOS_OK && (os_fstat(fd, &after) != 0 || !is_unchanged_file(&before, &after)))
        code = err_set(error, ETHOS_BUSY, "%s changed while it was copied", path);
    if (code == ETHOS_OK)
        code = backup_end(target, error);
    if (code == ETHOS_BUSY && backup_drop(target, NULL) != ETHOS_OK)
        code = err_errno(error, errno, path);
    return code;
}

/* Skips a file that has disappeared. */
static int copy_file(struct backup_walk *walk, int dir, const char *name, const char *path,
                     struct ethos_error *error)
{
    int code = ETHOS_BUSY;
    for (int i = 0; code == ETHOS_BUSY && i < TRIES; i++) {
        struct stat st;
        if (i > 0)
            os_sleep_ms(TRY_MS);
        int fd = os_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
        if (fd < 0)
            return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, path);
        if (os_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
            code = err_set(error, ETHOS_BUSY, "%s is no longer a file", path);
        else
            code = copy_once(walk, fd, path, error);
        os_close(fd);
    }
    return code == ETHOS_BUSY ? err_hint(error, code, "try again when nobody is saving it") : code;
}

/* Copies a text as the store reads it: it follows only the links that the store follows. */
static int copy_link(struct backup_walk *walk, const char *name, const char *path,
                     struct ethos_error *error)
{
    const struct ethos_read_how how = {0};
    struct ethos_text text = {0};
    int code = ETHOS_DENIED;
    if (walk->scope && !scope_is_tree(walk->scope) && scope_key_safe(name, NULL) == ETHOS_OK)
        code = walk->store->ops->read(walk->store, walk->scope, name, &how, &text, NULL);
    if (code != ETHOS_OK)
        return add_skipped_path(walk, path, "a symbolic link", error);
    code = backup_begin(&walk->target, path, text.size, 0600, os_now_ms() / 1000, error);
    if (code == ETHOS_OK)
        code = backup_data(&walk->target, text.data, text.size, error);
    if (code == ETHOS_OK)
        code = backup_end(&walk->target, error);
    walk->ethos->host->resize(walk->ethos->host->arg, text.data, 0);
    return code;
}

/* ---- one folder ----------------------------------------------------------------------------- */

static int copy_folder(struct backup_walk *walk, int dir, const char *path,
                       struct ethos_error *error);

static int copy_below(struct backup_walk *walk, int dir, const char *name, const char *path,
                      struct ethos_error *error)
{
    CLEANUP_FD int fd = os_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, path);
    bool deep = walk->deep;
    walk->deep = true;
    int code = copy_folder(walk, fd, path, error);
    walk->deep = deep;
    return code;
}

static int backup_folder(struct backup_walk *walk, int dir, const char *name, const char *path,
                         struct ethos_error *error)
{
    char conflicts[BACKUP_MAX_PATH + 16];
    if (strcmp(name, ".git") == 0)
        return add_skipped_path(walk, path, "a git repository", error);
    if (strcmp(name, ".mem") == 0) {
        snprintf(conflicts, sizeof conflicts, "%s/conflicts", path);
        return copy_below(walk, dir, ".mem/conflicts", conflicts, error);
    }
    if (backup_class(path) == BACKUP_LOCAL)
        return ETHOS_OK;
    if (backup_class(path) == BACKUP_SECRET && !walk->how->keys)
        return add_skipped_path(walk, path, "keys: --with-keys includes them", error);
    if (walk->deep || strcmp(name, "history-blobs") == 0)
        return copy_below(walk, dir, name, path, error);
    return push_path(walk, &walk->folders, path, error);
}

static int backup_file(struct backup_walk *walk, int dir, const char *name, const char *path,
                       struct ethos_error *error)
{
    switch (backup_class(path)) {
    case BACKUP_LOCAL:
        return ETHOS_OK;
    case BACKUP_SECRET:
        if (!walk->how->keys)
            return add_skipped_path(walk, path, "keys: --with-keys includes them", error);
        break;
    case BACKUP_DATABASE:
        return push_path(walk, &walk->databases, path, error);
    default:
        break;
    }
    return copy_file(walk, dir, name, path, error);
}

static int backup_path(struct backup_walk *walk, int dir, const char *name, const char *folder,
                       struct ethos_error *error)
{
    char path[BACKUP_MAX_PATH + 1];
    struct stat st;
    int size = snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name);
    if (os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, name);
    if (S_ISSOCK(st.st_mode))
        return ETHOS_OK;
    if ((size_t)size >= sizeof path || !utf8_valid(view_str(name)) ||
        (backup_class(path) != BACKUP_LOCAL && backup_check_path(path, NULL) != ETHOS_OK))
        return add_skipped_path(walk, path, "its name cannot be in a backup", error);
    if (S_ISDIR(st.st_mode))
        return backup_folder(walk, dir, name, path, error);
    if (S_ISREG(st.st_mode))
        return backup_file(walk, dir, name, path, error);
    if (S_ISLNK(st.st_mode))
        return copy_link(walk, name, path, error);
    return add_skipped_path(walk, path, "neither a file nor a folder", error);
}

static bool contains_name(const struct dir_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return true;
    return false;
}

static int copy_folder(struct backup_walk *walk, int dir, const char *path,
                       struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct dir_names names;
    arena_init(&arena);
    int code = dir_names(dir, &arena, BACKUP_MAX_FILES, &names) == 0
                   ? ETHOS_OK
                   : err_errno(error, errno, *path ? path : "home");
    // Somebody began writing to a scope that had no lock; nothing of it was copied yet.
    if (code == ETHOS_OK && walk->scope && !walk->locked && !walk->deep &&
        contains_name(&names, HISTORY))
        code = STORE_FILES_AGAIN;
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++)
        code = backup_path(walk, dir, names.list[i], path, error);
    return code;
}

/* ---- scopes --------------------------------------------------------------------------------- */

/* "workspaces/x" + "/memory" -> the id in it, if that is all there is. */
static bool id_between(const char *path, const char *start, const char *end,
                       char out[ETHOS_MAX_ID + 1])
{
    size_t size = strlen(path), before = strlen(start), after = strlen(end);
    if (size <= before + after || strncmp(path, start, before) != 0 ||
        strcmp(path + size - after, end) != 0)
        return false;
    struct ethos_view id = view_of(path + before, size - before - after);
    if (!scope_id_ok(id))
        return false;
    memcpy(out, id.data, id.size);
    out[id.size] = 0;
    return true;
}

static bool find_owner(const char *path, char out[ETHOS_MAX_SCOPE])
{
    static const struct {
        const char *start, *end;
        enum scope_kind kind;
    } folders[] = {{"personalities/", "", SCOPE_PERSONALITY},
                   {"users/", "", SCOPE_USER},
                   {"teams/", "/memory", SCOPE_TEAM},
                   {"workspaces/", "/memory", SCOPE_WORKSPACE}};
    char id[ETHOS_MAX_ID + 1];
    if (!*path)
        return scope_make(SCOPE_GLOBAL, "", out, NULL) == ETHOS_OK;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (id_between(path, folders[i].start, folders[i].end, id))
            return scope_make(folders[i].kind, id, out, NULL) == ETHOS_OK;
    return false;
}

bool backup_scope(const char *path, char out[ETHOS_MAX_SCOPE])
{
    static const char tree[] = "memories";
    char owner[BACKUP_MAX_PATH + 1], scope[ETHOS_MAX_SCOPE];
    const char *slash = strrchr(path, '/');
    if (strcmp(slash ? slash + 1 : path, tree) != 0)
        return find_owner(path, out);
    snprintf(owner, sizeof owner, "%.*s", slash ? (int)(slash - path) : 0, path);
    if (!find_owner(owner, scope))
        return false;
    scope_tree(scope, out);
    return true;
}

struct held {
    struct backup_walk *walk;
    const char *path, *scope;
};

static int copy_held(void *arg, int dir, const char *shown, bool locked, struct ethos_error *error)
{
    const struct held *held = arg;
    struct backup_walk *walk = held->walk;
    size_t folders = walk->folders.count, databases = walk->databases.count;
    (void)shown;
    walk->scope = held->scope;
    walk->locked = locked;
    walk->deep = scope_is_tree(held->scope);
    int code = copy_folder(walk, dir, held->path, error);
    if (code == STORE_FILES_AGAIN) {
        walk->folders.count = folders;
        walk->databases.count = databases;
    }
    walk->scope = NULL;
    walk->deep = false;
    return code;
}

static int copy_path(struct backup_walk *walk, const char *path, struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE];
    if (backup_scope(path, scope)) {
        struct held held = {walk, path, scope};
        return store_files_snapshot(walk->store, scope, copy_held, &held, error);
    }
    CLEANUP_FD int fd = os_open_beneath(walk->root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, path);
    return copy_folder(walk, fd, path, error);
}

/* ---- databases ------------------------------------------------------------------------------ */

/*
 * Whether a file is a database. An empty file is not; any other file with that name is damaged.
 * SQLite must not be using it in this process: closing a descriptor would release its locks.
 */
static int check_header(int root, const char *path, bool *out, struct ethos_error *error)
{
    char start[16];
    int fd = os_open_beneath(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, path);
    ssize_t got = os_pread(fd, start, sizeof start, 0);
    int code = got < 0 ? err_errno(error, errno, path) : ETHOS_OK;
    os_close(fd);
    *out = got == sizeof start && memcmp(start, "SQLite format 3", sizeof start) == 0;
    if (code == ETHOS_OK && got > 0 && !*out)
        code = err_hint(error, err_set(error, ETHOS_CORRUPT, "%s: not a database", path),
                        "it is damaged; move it out of the home, then back up the rest");
    return code;
}

static int copy_database(struct backup_walk *walk, const char *path, struct ethos_error *error)
{
    char from[PATH_MAX];
    bool database = false;
    TRY(check_header(walk->root, path, &database, error));
    if (!database)
        return copy_file(walk, walk->root, path, path, error);
    walk->database_count++;
    if (walk->how->dry_run)
        return ETHOS_OK;
    if ((size_t)snprintf(from, sizeof from, "%s/%s", service_root(walk->ethos), path) >=
        sizeof from)
        return err_set(error, ETHOS_LIMIT, "%s: the path is too long", path);
    os_unlinkat(AT_FDCWD, walk->copy, 0); // of a backup that was killed
    int code = session_copier_builtin->copy(from, walk->copy, walk->ethos->wait_ms, error);
    if (code == ETHOS_OK)
        code = copy_file(walk, AT_FDCWD, walk->copy, path, error);
    os_unlinkat(AT_FDCWD, walk->copy, 0);
    return code;
}

/* ---- memory that is kept elsewhere ----------------------------------------------------------- */

static const char *remedy_of(const char *backend)
{
    return strcmp(backend, "postgres") == 0 ? "back the database up with pg_dump"
           : strcmp(backend, "redis") == 0  ? "back up the server's append-only file or run BGSAVE"
           : strcmp(backend, "remote") == 0 ? "run ethos backup on that machine"
                                            : "back it up with the tools of that backend";
}

/* personality NULL: the home's own backend. */
static int report_backend(struct backup_walk *walk, const char *personality,
                          struct ethos_error *error)
{
    const struct config *home, *own = NULL;
    if (service_config(walk->ethos, personality, &home, &own, error) != ETHOS_OK)
        return ETHOS_OK; // doctor reports it; the file itself is in the backup
    const char *backend = config_backend(home, own);
    if (strcmp(backend, FILES) == 0 ||
        (personality && strcmp(backend, config_backend(home, NULL)) == 0))
        return ETHOS_OK;
    json_t *row = json_pack("{s:s, s:s?, s:s}", "backend", backend, "personality", personality,
                            "remedy", remedy_of(backend));
    return json_array_append_new(walk->elsewhere, row) == 0 ? ETHOS_OK : err_nomem(error);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int walk_home(struct backup_walk *walk, struct ethos_error *error)
{
    char personality[ETHOS_MAX_ID + 1];
    int code = report_backend(walk, NULL, error);
    if (code == ETHOS_OK)
        code = push_path(walk, &walk->folders, "", error);
    for (size_t i = 0; code == ETHOS_OK && i < walk->folders.count; i++) {
        const char *path = walk->folders.list[i];
        code = copy_path(walk, path, error);
        if (code == ETHOS_OK && id_between(path, "personalities/", "", personality))
            code = report_backend(walk, personality, error);
    }
    for (size_t i = 0; code == ETHOS_OK && i < walk->databases.count; i++)
        code = copy_database(walk, walk->databases.list[i], error);
    if (code == ETHOS_OK && !walk->how->dry_run)
        code = backup_finish(&walk->target, service_now_ms(walk->ethos), error);
    return code;
}

static int open_walk(struct ethos *ethos, const struct backup_how *how, struct backup_walk *walk,
                     struct ethos_error *error)
{
    const struct config *home;
    *walk = (struct backup_walk){.ethos = ethos, .how = how, .root = -1};
    walk->target = (struct backup_target){
        .stop = &how->stop, .fd = -1, .dir = -1, .file = -1, .files = json_object()};
    arena_init(&walk->arena);
    walk->buffer = malloc(BACKUP_BUFFER);
    walk->skipped = json_array();
    walk->elsewhere = json_array();
    if (!walk->buffer || !walk->skipped || !walk->elsewhere || !walk->target.files)
        return err_nomem(error);
    if (service_ephemeral(ethos))
        return err_set(error, ETHOS_INVALID, "ephemeral memory has no backup");
    TRY(service_open_root(ethos, false, &walk->root, error));
    if (walk->root < 0)
        return err_set(error, ETHOS_NOTFOUND, "%s: there is no memory here yet",
                       service_root(ethos));
    TRY(service_config(ethos, NULL, &home, NULL, error));
    const struct ethos_setup setup = {.host = ethos->host,
                                      .root = ethos->root,
                                      .allow = config_get(home, NULL, "paths.allow"),
                                      .deadline_ms = ethos->wait_ms};
    return store_files.open(&setup, &walk->store, error);
}

static void close_walk(struct backup_walk *walk)
{
    if (walk->store)
        walk->store->ops->close(walk->store);
    if (walk->root >= 0)
        os_close(walk->root);
    if (walk->target.file >= 0)
        os_close(walk->target.file);
    json_decref(walk->target.files);
    json_decref(walk->skipped);
    json_decref(walk->elsewhere);
    arena_release(&walk->arena);
    free(walk->buffer);
}

/* ---- the file or folder ---------------------------------------------------------------------- */

struct backup_destination {
    char path[PATH_MAX];    /* without a slash at its end */
    char partial[PATH_MAX]; /* its name until it is complete */
    bool folder, there;
};

static int check_free(const struct backup_destination *place, const struct backup_how *how,
                      struct ethos_error *error)
{
    struct arena arena;
    struct dir_names names = {0};
    if (!place->there || (!place->folder && how->replace))
        return ETHOS_OK;
    if (!place->folder)
        return err_hint(error, err_set(error, ETHOS_EXISTS, "%s exists already", place->path),
                        "choose another name, or replace it with --yes");
    int dir = os_openat(AT_FDCWD, place->path, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return err_errno(error, errno, place->path);
    arena_init(&arena);
    int failed = dir_names(dir, &arena, 1, &names);
    arena_release(&arena);
    os_close(dir);
    if (failed == 0 && names.count == 0)
        return ETHOS_OK;
    return err_hint(error, err_set(error, ETHOS_EXISTS, "%s is not empty", place->path),
                    "name a file in it, such as %s/ethos.tar, or a new folder", place->path);
}

/* Refuses a destination inside the home, which is being copied. */
static int check_outside(const struct backup_destination *place, struct backup_walk *walk,
                         struct ethos_error *error)
{
    char parent[PATH_MAX], real[PATH_MAX], home[PATH_MAX];
    const char *slash = strrchr(place->path, '/');
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - place->path) : 1,
             slash ? place->path : ".");
    if (os_realpath(*parent ? parent : "/", real) != 0)
        return err_errno(error, errno, parent);
    if (os_realpath(service_root(walk->ethos), home) != 0)
        return err_errno(error, errno, service_root(walk->ethos));
    size_t size = strlen(home);
    if (strncmp(real, home, size) == 0 && (real[size] == 0 || real[size] == '/'))
        return err_hint(error, err_set(error, ETHOS_INVALID, "%s is inside the home", place->path),
                        "choose a place outside of %s", home);
    return ETHOS_OK;
}

static int choose_destination(const struct backup_how *how, struct backup_walk *walk,
                              struct backup_destination *out, struct ethos_error *error)
{
    struct stat st;
    size_t size = strlen(how->path);
    if (size == 0 || size + sizeof DATABASE_COPY >= sizeof out->path)
        return err_set(error, ETHOS_INVALID, "the path is empty or too long");
    if (strcmp(how->path, "-") == 0)
        return err_hint(
            error, err_set(error, ETHOS_INVALID, "a backup cannot be written to standard output"),
            "name a file, such as ethos.tar");
    memcpy(out->path, how->path, size + 1);
    out->folder = size > 1 && how->path[size - 1] == '/';
    while (size > 1 && out->path[size - 1] == '/')
        out->path[--size] = 0;
    out->there = os_fstatat(AT_FDCWD, out->path, &st, 0) == 0;
    if (!out->there && errno != ENOENT)
        return err_errno(error, errno, out->path);
    if (out->there && out->folder && !S_ISDIR(st.st_mode))
        return err_set(error, ETHOS_EXISTS, "%s is a file", out->path);
    out->folder = out->folder || (out->there && S_ISDIR(st.st_mode));
    snprintf(out->partial, sizeof out->partial, "%.*s" PARTIAL, (int)size, out->path);
    snprintf(walk->copy, sizeof walk->copy, "%.*s" DATABASE_COPY, (int)size, out->path);
    TRY(check_outside(out, walk, error));
    return check_free(out, how, error);
}

static int err_written(const struct backup_destination *place, struct ethos_error *error)
{
    return err_set(error, ETHOS_BUSY, "%s: another backup is being written there", place->path);
}

static int open_place_folder(const struct backup_destination *place, struct backup_target *target,
                             struct ethos_error *error)
{
    int code = backup_make_folder(place->partial, &target->dir, error);
    return code == ETHOS_BUSY ? err_written(place, error) : code;
}

/* Reuses what a killed backup left; a backup that is being written is locked. */
static int open_place(const struct backup_destination *place, struct backup_target *target,
                      struct ethos_error *error)
{
    if (place->folder)
        return open_place_folder(place, target, error);
    int fd = os_openat(AT_FDCWD, place->partial, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_errno(error, errno, place->partial);
    if (os_flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        os_close(fd);
        return err_written(place, error);
    }
    target->fd = fd;
    return os_ftruncate(fd, 0) == 0 && os_fchmod(fd, 0600) == 0
               ? ETHOS_OK
               : err_errno(error, errno, place->partial);
}

static int sync_parent(const char *path, struct ethos_error *error)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    CLEANUP_FD int fd = os_openat(AT_FDCWD, *parent ? parent : "/", O_RDONLY | O_DIRECTORY, 0);
    return fd >= 0 && os_fsync(fd) == 0 ? ETHOS_OK : err_errno(error, errno, parent);
}

/* Reads the backup back, compares it, and gives it its name. */
static int publish_backup(const struct backup_destination *place, const struct backup_walk *walk,
                          struct ethos_error *error)
{
    struct backup_found found;
    struct backup_target nowhere = {
        .stop = &walk->how->stop, .fd = -1, .dir = -1, .file = -1, .files = json_object()};
    int code = nowhere.files ? backup_read(place->partial, &nowhere, &found, error)
                             : err_nomem(error);
    json_decref(nowhere.files);
    if (code == ETHOS_OK && found.files != walk->target.count)
        code = err_set(error, ETHOS_CORRUPT, "%s: it holds %llu files instead of %llu",
                       place->partial, (unsigned long long)found.files,
                       (unsigned long long)walk->target.count);
    if (code == ETHOS_OK && os_renameat(AT_FDCWD, place->partial, AT_FDCWD, place->path, 0) != 0)
        code = err_errno(error, errno, place->path);
    return code == ETHOS_OK ? sync_parent(place->path, error) : code;
}

static int make_report(struct backup_walk *walk, const struct backup_destination *place,
                       json_t **out, struct ethos_error *error)
{
    const struct backup_target *target = &walk->target;
    *out = json_pack("{s:o, s:s, s:I, s:I, s:I, s:b, s:O, s:O}", "path",
                     json_text(view_str(place->path)), "form", place->folder ? "copy" : "tar",
                     "files", (json_int_t)target->count, "bytes", (json_int_t)target->bytes,
                     "databases", (json_int_t)walk->database_count, "verified", !walk->how->dry_run,
                     "skipped", walk->skipped, "notIncluded", walk->elsewhere);
    if (*out && walk->how->dry_run)
        json_object_set_new(*out, "dryRun", json_true());
    return *out ? ETHOS_OK : err_nomem(error);
}

static void discard_backup(const struct backup_destination *place)
{
    if (place->folder)
        dir_remove(AT_FDCWD, place->partial);
    else
        os_unlinkat(AT_FDCWD, place->partial, 0);
}

int backup_write(struct ethos *ethos, const struct backup_how *how, json_t **out_report,
                 struct ethos_error *error)
{
    struct backup_walk walk;
    struct backup_destination place = {0};
    int code = open_walk(ethos, how, &walk, error);
    if (code == ETHOS_OK)
        code = choose_destination(how, &walk, &place, error);
    bool made = code == ETHOS_OK && !how->dry_run;
    if (made)
        code = open_place(&place, &walk.target, error);
    bool begun = made && (walk.target.fd >= 0 || walk.target.dir >= 0);
    if (code == ETHOS_OK)
        code = walk_home(&walk, error);
    if (code == ETHOS_OK && made)
        code = publish_backup(&place, &walk, error);
    if (code != ETHOS_OK && begun)
        discard_backup(&place);
    if (code == ETHOS_OK)
        code = make_report(&walk, &place, out_report, error);
    if (walk.target.fd >= 0)
        os_close(walk.target.fd); // the scope is locked
    if (walk.target.dir >= 0)
        os_close(walk.target.dir);
    close_walk(&walk);
    return code;
}
