/*
 * backup_manifest.c: classifies the files of a home for backups, and reads and writes the manifest of a backup.
 */
#include "core/formats/backup_manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

#define FIRST_LINE "# ethos-backup 1"
#define CREATED "# created "

/* ---- paths ---------------------------------------------------------------------------------- */

static bool has_suffix(struct ethos_view name, const char *suffix)
{
    return view_ends(name, view_str(suffix));
}

static bool is_at_top(const char *path, const char *name)
{
    size_t size = strlen(name);
    return strncmp(path, name, size) == 0 && (path[size] == 0 || path[size] == '/');
}

/* Whether the file is in a .mem folder, which has locks, drafts and caches. Conflict copies there are memory. */
static bool is_sidecar(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, ".mem", 4) == 0 && (at[4] == '/' || at[4] == 0))
            return strncmp(at + 4, "/conflicts/", 11) != 0;
    }
    return false;
}

/* Whether the file is in a tree of the memory tool, where names have no special meaning. */
static bool is_in_tree(const char *path)
{
    static const char tree[] = "memories/";
    return strncmp(path, tree, sizeof tree - 1) == 0 || strstr(path, "/memories/");
}

enum backup_class backup_class(const char *path)
{
    static const char *const local[] = {".lock",   "-lock",   ".sock",
                                        ".db-wal", ".db-shm", ".db-journal"};
    static const char *const secrets[] = {"keys.yaml", "keys.json", "secrets"};
    const char *slash = strrchr(path, '/');
    struct ethos_view name = view_str(slash ? slash + 1 : path);
    if (is_sidecar(path) || strncmp(path, "web-token", 9) == 0 || is_at_top(path, "recall") ||
        strcmp(path, "sessions-search.db") == 0 || strcmp(path, BACKUP_MANIFEST) == 0)
        return BACKUP_LOCAL;
    if (is_in_tree(path))
        return BACKUP_FILE;
    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if (has_suffix(name, local[i]))
            return BACKUP_LOCAL;
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (is_at_top(path, secrets[i]))
            return BACKUP_SECRET;
    return has_suffix(name, ".db") ? BACKUP_DATABASE : BACKUP_FILE;
}

/* Whether every part of the path is a plain name. */
static bool is_safe_path(const char *path)
{
    size_t depth = 0;
    struct ethos_view rest = view_str(path);
    for (size_t i = 0; i < rest.size; i++)
        if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
            return false;
    while (rest.size > 0 && depth++ < BACKUP_MAX_DEPTH) {
        const char *slash = memchr(rest.data, '/', rest.size);
        size_t size = slash ? (size_t)(slash - rest.data) : rest.size;
        struct ethos_view part = view_of(rest.data, size);
        if (size == 0 || size > 255 || view_eq_str(part, ".") || view_eq_str(part, ".."))
            return false;
        if (slash && size + 1 == rest.size)
            return false; // ends in a slash
        rest = view_from(rest, size + (slash ? 1 : 0));
    }
    return *path && rest.size == 0 && strlen(path) <= BACKUP_MAX_PATH;
}

int backup_check_path(const char *path, struct ethos_error *error)
{
    if (!is_safe_path(path))
        return err_set(error, ETHOS_DENIED, "the backup contains a path that is not allowed: %s",
                       path);
    if (backup_class(path) == BACKUP_LOCAL)
        return err_set(error, ETHOS_DENIED,
                       "the backup contains %s, which does not belong in a backup", path);
    return ETHOS_OK;
}

/* ---- the manifest --------------------------------------------------------------------------- */

int backup_add(json_t *files, const char *path, const char *sha256, struct ethos_error *error)
{
    if (json_object_get(files, path))
        return err_set(error, ETHOS_CORRUPT, "the backup contains %s twice", path);
    if (json_object_size(files) >= BACKUP_MAX_FILES)
        return err_set(error, ETHOS_LIMIT, "more than %d files", BACKUP_MAX_FILES);
    json_t *hash = json_string(sha256);
    if (!hash || json_object_setn_new_nocheck(files, path, strlen(path), hash) != 0)
        return err_nomem(error);
    return ETHOS_OK;
}

static void print_manifest_line(const char *path, const char *sha256, struct str *out)
{
    bool escaped = strchr(path, '\\');
    str_printf(out, "%s%s  ", escaped ? "\\" : "", sha256);
    for (const char *at = path; *at; at++) {
        if (*at == '\\')
            str_addc(out, '\\');
        str_addc(out, *at);
    }
    str_addc(out, '\n');
}

int backup_print(const json_t *files, const char *version, int64_t now_ms, struct str *out)
{
    char now[CLOCK_ISO_SIZE];
    const char *path;
    json_t *hash;
    clock_iso(now_ms, now);
    str_printf(out, FIRST_LINE "\n# version %s\n" CREATED "%s\n", version, now);
    json_object_foreach ((json_t *)files, path, hash)
        print_manifest_line(path, json_string_value(hash), out);
    return str_code(out);
}

static int refuse_manifest_line(struct ethos_error *error)
{
    return err_set(error, ETHOS_CORRUPT, BACKUP_MANIFEST ": not the manifest of a backup");
}

/* Parses "<hash>  <path>". */
static int parse_manifest_line(struct ethos_view line, json_t *files, struct ethos_error *error)
{
    char path[BACKUP_MAX_PATH + 1], hash[HASH_HEX_SIZE];
    size_t digits = HASH_HEX_SIZE - 1, size = 0;
    bool escaped = view_starts(line, VIEW("\\"));
    line = view_from(line, escaped ? 1 : 0);
    if (line.size < digits + 3 || line.data[digits] != ' ' || line.data[digits + 1] != ' ' ||
        !hash_is_hex(view_of(line.data, digits)))
        return refuse_manifest_line(error);
    memcpy(hash, line.data, digits);
    hash[digits] = 0;
    for (size_t i = digits + 2; i < line.size; i++) {
        if (escaped && line.data[i] == '\\' && ++i == line.size)
            return refuse_manifest_line(error);
        if (size == BACKUP_MAX_PATH || line.data[i] == 0)
            return refuse_manifest_line(error);
        path[size++] = line.data[i];
    }
    path[size] = 0;
    if (!utf8_valid(view_of(path, size)))
        return refuse_manifest_line(error);
    TRY(backup_check_path(path, error));
    return backup_add(files, path, hash, error);
}

int backup_parse(struct ethos_view text, json_t **out_files, char out_created[CLOCK_ISO_SIZE],
                 struct ethos_error *error)
{
    struct ethos_view line, created = VIEW(CREATED);
    if (!view_line(&text, &line) || !view_eq_str(line, FIRST_LINE))
        return view_starts(line, VIEW("# ethos-backup "))
                   ? err_set(error, ETHOS_UNSUPPORTED,
                             "the backup was made by another version of ethos")
                   : refuse_manifest_line(error);
    json_auto_t *files = json_object();
    if (!files)
        return err_nomem(error);
    out_created[0] = 0;
    while (view_line(&text, &line)) {
        if (!view_starts(line, VIEW("#")))
            TRY(parse_manifest_line(line, files, error));
        else if (view_starts(line, created) && line.size - created.size < CLOCK_ISO_SIZE)
            snprintf(out_created, CLOCK_ISO_SIZE, "%.*s", VIEW_ARG(view_from(line, created.size)));
    }
    *out_files = json_incref(files);
    return ETHOS_OK;
}

int backup_compare(const json_t *listed, const json_t *found, struct ethos_error *error)
{
    json_t *hash;
    const char *path;
    json_object_foreach ((json_t *)listed, path, hash) {
        const json_t *other = json_object_get(found, path);
        if (!other)
            return err_set(error, ETHOS_CORRUPT, "the backup is incomplete: %s is missing", path);
        if (!json_equal(hash, other))
            return err_set(error, ETHOS_CORRUPT,
                           "the backup is damaged: %s differs from its manifest", path);
    }
    json_object_foreach ((json_t *)found, path, hash)
        if (!json_object_get(listed, path))
            return err_set(error, ETHOS_CORRUPT,
                           "the backup contains %s, which is not in its manifest", path);
    return ETHOS_OK;
}
