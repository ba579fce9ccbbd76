/*
 * files.c: reads and writes workspace ids, markers, workspace.json and aliases.json.
 */
#include "memory/workspace/files.h"
#include "base/str.h"
#include "base/system/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/file.h"
#include "base/text/slug.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/home/directory.h"
#include "memory/workspace/workspace.h"

#define MARKER_LIMIT 256 /* bytes */

/* ---- ids ------------------------------------------------------------------------------------ */

void workspace_hash(const char *path, char out[WORKSPACE_HASH_SIZE])
{
    char hex[HASH_HEX_SIZE];
    hash_hex(view_str(path), hex);
    memcpy(out, hex, WORKSPACE_HASH_SIZE - 1);
    out[WORKSPACE_HASH_SIZE - 1] = 0;
}

int workspace_usual_id(const char *root, char out[WORKSPACE_ID_SIZE], struct ethos_error *error)
{
    CLEANUP_STR struct str id;
    char hash[WORKSPACE_HASH_SIZE];
    const char *slash = strrchr(root, '/');
    workspace_hash(root, hash);
    str_init(&id, WORKSPACE_ID_SIZE - 1);
    slug_note(view_str(slash ? slash + 1 : root), WORKSPACE_SLUG_MAX, &id);
    str_printf(&id, "-%s", hash);
    int code = str_code(&id);
    if (code == ETHOS_OK)
        snprintf(out, WORKSPACE_ID_SIZE, "%s", id.data);
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

void workspace_next_id(char id[WORKSPACE_ID_SIZE])
{
    char hash[WORKSPACE_HASH_SIZE];
    workspace_hash(id, hash);
    memcpy(id + strlen(id) - strlen(hash), hash, strlen(hash));
}

bool workspace_id_has_hash(struct ethos_view id, const char *hash)
{
    size_t size = strlen(hash);
    return id.size > size && id.data[id.size - size - 1] == '-' &&
           memcmp(id.data + id.size - size, hash, size) == 0;
}

int workspace_there(int dir, const char *id)
{
    struct stat info;
    char path[sizeof WORKSPACE_FOLDER + WORKSPACE_ID_SIZE];
    snprintf(path, sizeof path, WORKSPACE_FOLDER "/%s", id);
    if (os_fstatat(dir, path, &info, 0) == 0)
        return 1;
    return errno == ENOENT ? 0 : -1;
}

bool workspace_same(const struct os_identity *a, const struct os_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->birth_ns == b->birth_ns;
}

int workspace_at(const char *path, struct os_identity *out)
{
    if (os_identify(path, out) == 0)
        return 1;
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP ||
                   errno == ENAMETOOLONG
               ? 0
               : -1;
}

int workspace_broken(struct ethos_error *error, int code)
{
    if (code == ETHOS_NOMEM)
        return code;
    return err_hint(error, code,
                    code == ETHOS_CORRUPT ? "repair it by hand, or run: ethos doctor --fix"
                                          : "repair or remove it");
}

int workspace_line(const char *path, int flags, char *out, size_t size)
{
    size_t used = 0;
    ssize_t got = 1;
    int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags, 0);
    if (fd < 0)
        return -1;
    while (got > 0 && used + 1 < size) {
        got = os_read(fd, out + used, size - 1 - used);
        if (got > 0)
            used += (size_t)got;
    }
    int saved = errno;
    os_close(fd);
    errno = saved;
    if (got < 0)
        return -1;
    struct ethos_view rest = view_of(out, used), line = {out, 0};
    view_line(&rest, &line);
    line = view_trim(line);
    memmove(out, line.data, line.size);
    out[line.size] = 0;
    return 0;
}

/* ---- the marker ----------------------------------------------------------------------------- */

static bool is_marker_token(struct ethos_view text)
{
    return text.size == WORKSPACE_TOKEN_SIZE - 1 &&
           strspn(text.data, "0123456789abcdef") >= text.size;
}

/* A file that cannot be read, or is not a small regular file, is not a marker. */
static bool counts_as_none(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR || errnum == EACCES || errnum == ELOOP ||
           errnum == EISDIR || errnum == ENXIO || errnum == EAGAIN || errnum == ENAMETOOLONG;
}

int workspace_marker_read(const char *common, struct workspace_marker *out)
{
    char path[PATH_MAX + sizeof WORKSPACE_MARKER_NAME + 1], line[MARKER_LIMIT];
    snprintf(path, sizeof path, "%s/" WORKSPACE_MARKER_NAME, common);
    if (workspace_line(path, O_NOFOLLOW, line, sizeof line) != 0)
        return counts_as_none(errno) ? 0 : -1;
    size_t size = strcspn(line, " ");
    struct ethos_view id = view_of(line, size), token = view_str(line + size + (line[size] == ' '));
    if (!scope_id_ok(id) || !is_marker_token(token))
        return 0;
    snprintf(out->id, sizeof out->id, "%.*s", VIEW_ARG(id));
    snprintf(out->token, sizeof out->token, "%s", token.data);
    return 1;
}

static bool markers_equal(const struct workspace_marker *a, const struct workspace_marker *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->token, b->token) == 0;
}

int workspace_marker_write(const char *common, const struct workspace_marker *marker)
{
    struct workspace_marker old;
    char line[WORKSPACE_ID_SIZE + WORKSPACE_TOKEN_SIZE + 1];
    if (workspace_marker_read(common, &old) == 1 && markers_equal(&old, marker))
        return 0;
    CLEANUP_FD int git = os_openat(AT_FDCWD, common, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (git < 0)
        return -1;
    snprintf(line, sizeof line, "%s %s\n", marker->id, marker->token);
    int code = file_replace(git, WORKSPACE_MARKER_NAME, view_str(line), 0600, NULL);
    return code == ETHOS_OK ? 0 : -1;
}

/* In its .git, or in the folder itself, which may be a bare repository. */
int workspace_marker_at(const char *path, const struct workspace_marker *marker, bool drop)
{
    static const char *const places[] = {"/.git", ""};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char common[PATH_MAX + 8], name[PATH_MAX + 8 + sizeof WORKSPACE_MARKER_NAME];
        struct workspace_marker there;
        snprintf(common, sizeof common, "%.*s%s", PATH_MAX, path, places[i]);
        int found = workspace_marker_read(common, &there);
        if (found < 0)
            return -1;
        if (found == 0 || !markers_equal(&there, marker))
            continue;
        snprintf(name, sizeof name, "%s/" WORKSPACE_MARKER_NAME, common);
        if (drop)
            os_unlinkat(AT_FDCWD, name, 0);
        return 1;
    }
    return 0;
}

/* ---- workspace.json ------------------------------------------------------------------------- */

int workspace_doc_read(int dir, const char *id, json_t **out, struct ethos_error *error)
{
    json_t *doc;
    char path[sizeof WORKSPACE_FOLDER "//" WORKSPACE_DOC + WORKSPACE_ID_SIZE];
    snprintf(path, sizeof path, WORKSPACE_FOLDER "/%s/" WORKSPACE_DOC, id);
    int code = home_read_json(dir, path, &doc, error);
    if (code == ETHOS_OK && !json_is_array(json_object_get(doc, "paths"))) {
        json_decref(doc);
        code = err_set(error, ETHOS_CORRUPT, "%s: not a list of paths", path);
    }
    if (code == ETHOS_OK)
        *out = doc;
    return code == ETHOS_OK || code == ETHOS_NOTFOUND ? code : workspace_broken(error, code);
}

static bool has_member(struct ethos_view text, const char *name, const char *value)
{
    char member[PATH_MAX + 32];
    int size = snprintf(member, sizeof member, "\"%s\": \"%s\"", name, value);
    return size < (int)sizeof member && view_contains(text, view_of(member, (size_t)size));
}

bool workspace_doc_has(int dir, const struct workspace_marker *marker, const char *root)
{
    CLEANUP_STR struct str text;
    char path[sizeof WORKSPACE_FOLDER "//" WORKSPACE_DOC + WORKSPACE_ID_SIZE];
    snprintf(path, sizeof path, WORKSPACE_FOLDER "/%s/" WORKSPACE_DOC, marker->id);
    str_init(&text, ETHOS_MAX_MAP_BYTES + 1);
    return !strpbrk(root, "\"\\") &&
           home_read(dir, path, ETHOS_MAX_MAP_BYTES, &text, NULL, NULL) == ETHOS_OK &&
           has_member(str_view(&text), "token", marker->token) &&
           has_member(str_view(&text), "path", root);
}

static int write_json(int dir, const char *folder, const char *name, const json_t *value,
                      struct ethos_error *error)
{
    CLEANUP_STR struct str text;
    str_init(&text, ETHOS_MAX_MAP_BYTES);
    json_print(value, JSON_STYLE_PRETTY, &text);
    str_addc(&text, '\n');
    return str_code(&text) == ETHOS_OK
               ? home_replace(dir, folder, name, str_view(&text), error)
               : err_set(error, str_code(&text), "%s/%s: too large", folder, name);
}

int workspace_doc_write(int dir, const char *id, const json_t *doc, struct ethos_error *error)
{
    char folder[sizeof WORKSPACE_FOLDER + WORKSPACE_ID_SIZE];
    snprintf(folder, sizeof folder, WORKSPACE_FOLDER "/%s", id);
    return write_json(dir, folder, WORKSPACE_DOC, doc, error);
}

const char *workspace_entry_path(const json_t *entry)
{
    struct ethos_view path = json_view(entry, "path");
    return path.data && strlen(path.data) == path.size ? path.data : "";
}

struct os_identity workspace_entry_identity(const json_t *entry)
{
    return (struct os_identity){
        (uint64_t)json_integer_value(json_object_get(entry, "dev")),
        (uint64_t)json_integer_value(json_object_get(entry, "ino")),
        (int64_t)json_integer_value(json_object_get(entry, "btime")),
    };
}

bool workspace_entry_is(const json_t *entry, const struct os_identity *identity)
{
    const struct os_identity recorded = workspace_entry_identity(entry);
    return recorded.birth_ns != 0 && workspace_same(&recorded, identity);
}

size_t workspace_entry_was(const json_t *entry, const struct os_identity *identity)
{
    const json_t *was = json_object_get(entry, "was");
    size_t at = 0, count = json_array_size(was);
    while (at < count && !workspace_entry_is(json_array_get(was, at), identity))
        at++;
    return at;
}

bool workspace_entry_knows(const json_t *entry, const struct os_identity *identity)
{
    return workspace_entry_is(entry, identity) ||
           workspace_entry_was(entry, identity) < json_array_size(json_object_get(entry, "was"));
}

bool workspace_doc_knows(const json_t *doc, const struct os_identity *identity)
{
    const json_t *paths = json_object_get(doc, "paths");
    for (size_t i = 0; i < json_array_size(paths); i++)
        if (workspace_entry_knows(json_array_get(paths, i), identity))
            return true;
    return false;
}

size_t workspace_entry_at(const json_t *doc, const char *path)
{
    const json_t *paths = json_object_get(doc, "paths");
    size_t at = 0, count = json_array_size(paths);
    while (at < count && strcmp(workspace_entry_path(json_array_get(paths, at)), path) != 0)
        at++;
    return at;
}

/* ---- aliases.json --------------------------------------------------------------------------- */

int workspace_aliases_read(int dir, json_t **out, struct ethos_error *error)
{
    json_t *aliases;
    int code = home_read_json(dir, WORKSPACE_FOLDER "/" WORKSPACE_ALIASES, &aliases, error);
    if (code == ETHOS_NOTFOUND) {
        aliases = json_object();
        code = aliases ? ETHOS_OK : err_nomem(error);
    } else if (code == ETHOS_OK && !json_is_object(aliases)) {
        json_decref(aliases);
        code = err_set(error, ETHOS_CORRUPT,
                       WORKSPACE_FOLDER "/" WORKSPACE_ALIASES ": not a JSON object");
    }
    if (code == ETHOS_OK)
        *out = aliases;
    return code == ETHOS_OK ? ETHOS_OK : workspace_broken(error, code);
}

int workspace_aliases_write(int dir, const json_t *aliases, struct ethos_error *error)
{
    return write_json(dir, WORKSPACE_FOLDER, WORKSPACE_ALIASES, aliases, error);
}
