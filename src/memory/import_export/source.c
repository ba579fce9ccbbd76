/*
 * source.c: finds the memory of another program and reads all of it.
 *
 * Only regular files in the folder are read, as a link may lead anywhere. Names are sorted by
 * bytes, so that two runs do the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/handle_internal.h"
#include "memory/import_export/internal.h"
#include "session/database_copy.h"

#define TOTAL_MAX ((size_t)256 << 20) /* bytes of one source */
#define NAMES_MAX 1000000             /* entries of one folder */
#define FOLDERS_MAX 1000              /* bytes of reported folder names */

/* ---- where programs keep their memory ------------------------------------------------------- */

static const char *env_value(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* $variable, else ~/rest. */
static void env_path(const char *variable, const char *rest, struct str *out)
{
    const char *value = env_value(variable), *home = env_value("HOME");
    if (value)
        str_adds(out, value);
    else
        str_printf(out, "%s/%s", home ? home : "", rest);
}

/* Claude Code replaces every character that is neither letter nor digit by a hyphen. */
static void claude_path(const char *project, struct str *out)
{
    env_path("CLAUDE_CONFIG_DIR", ".claude", out);
    str_adds(out, "/projects/");
    for (const char *at = project; *at; at++) {
        bool plain = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
                     (*at >= 'A' && *at <= 'Z');
        if (plain || ((unsigned char)*at & 0xC0) != 0x80) // one per character, not per byte
            str_addc(out, plain ? *at : '-');
    }
    str_adds(out, "/memory");
}

static void jutul_path(const char *project, struct str *out)
{
    char hash[HASH_HEX_SIZE];
    hash_hex(view_str(project), hash);
    env_path("XDG_DATA_HOME", ".local/share", out);
    str_printf(out, "/jutul-agent/workspaces/%.12s/memory", hash);
}

static bool is_database(const char *format)
{
    return strcmp(format, "ethos-vector") == 0;
}

/* Derives the path of a source for one project folder; empty if unknown. */
static void usual_path(const char *format, const char *project, struct str *out)
{
    str_clear(out);
    if (strcmp(format, "claude-code") == 0)
        claude_path(project, out);
    else if (strcmp(format, "jutul") == 0)
        jutul_path(project, out);
    else if (strcmp(format, "claude-md") == 0)
        str_printf(out, "%s/CLAUDE.md", project);
    else if (strcmp(format, "openclaw") == 0)
        env_path("OPENCLAW_WORKSPACE_DIR", ".openclaw/workspace", out);
    else if (strcmp(format, "hermes") == 0)
        env_path("HERMES_HOME", ".hermes", out);
    else
        str_adds(out, env_value("MEMORY_FILE_PATH") ? env_value("MEMORY_FILE_PATH") : "");
}

static bool path_exists(const char *path)
{
    struct stat info;
    return os_fstatat(AT_FDCWD, path, &info, 0) == 0;
}

/* A project folder means its CLAUDE.md. */
static int open_source_path(const char *format, struct str *path, struct ethos_error *error)
{
    struct stat info;
    bool there = os_fstatat(AT_FDCWD, path->data, &info, 0) == 0;
    bool folder = there && S_ISDIR(info.st_mode);
    if (there && !folder && foreign_is_folder(format))
        return err_hint(error, err_set(error, ETHOS_INVALID, "%s: not a folder", path->data),
                        "name the folder: ethos import %s DIR", format);
    if (!folder || foreign_is_folder(format))
        return ETHOS_OK;
    if (strcmp(format, "claude-md") != 0)
        return err_set(error, ETHOS_INVALID, "%s: a folder; name the file to read", path->data);
    return str_adds(path, "/CLAUDE.md") == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

static int no_path(const struct transfer_request *what, struct ethos_error *error)
{
    bool folder = foreign_is_folder(what->format);
    int code = err_set(error, ETHOS_INVALID, "%s: no %s given", what->format,
                       folder ? "folder" : "file");
    return what->path ? err_hint(error, code, "give its path: ethos import %s %s", what->format,
                                 folder ? "DIR" : "FILE")
                      : err_hint(error, code, "give its path, or set MEMORY_FILE_PATH");
}

static int not_there(const struct transfer_request *what, const char *path,
                     struct ethos_error *error)
{
    int code = err_set(error, ETHOS_NOTFOUND, "%s: there is no memory of %s", path, what->format);
    return what->path
               ? err_hint(error, code, "check the path, or leave it out for the default of %s",
                          what->format)
               : err_hint(error, code, "give its path: ethos import %s PATH", what->format);
}

/* The current directory first, as in those programs; then the root of the workspace. */
static int find_path(const struct ethos_turn *turn, const struct transfer_request *what,
                     struct str *out, struct ethos_error *error)
{
    char here[TRANSFER_PATH];
    const char *root = turn->context.workspace;
    if (what->path) {
        str_adds(out, what->path);
    } else if (is_database(what->format)) {
        str_printf(out, "%s/memory.db", service_home(turn->ethos));
    } else {
        usual_path(what->format, getcwd(here, sizeof here) ? here : "/", out);
        if (!path_exists(out->data) && root)
            usual_path(what->format, root, out);
    }
    if (str_code(out) == ETHOS_NOMEM)
        return err_nomem(error);
    if (str_code(out) != ETHOS_OK)
        return err_set(error, ETHOS_INVALID, "%s: the path is too long", what->format);
    if (out->size == 0)
        return no_path(what, error);
    int code = open_source_path(what->format, out, error);
    return code != ETHOS_OK || path_exists(out->data) ? code : not_there(what, out->data, error);
}

/* ---- reading files -------------------------------------------------------------------------- */

/* One file at a time; the argument of the callbacks of foreign_read. */
struct loading {
    struct import_source *source;
    const struct transfer_request *what;
    const char *file;   /* path within the source */
    size_t total;       /* bytes so far */
    size_t others;      /* files that are reported together */
    struct str folders; /* names of folders that are reported together, with '/' and a comma each */
    bool single;        /* the source is one file */
};

static void report_skipped_file(const struct loading *loading, const char *file, const char *why)
{
    const struct transfer_row row = {.what = "skipped", .file = file, .why = why};
    loading->what->each(loading->what->arg, &row);
}

static void skip_line(void *arg, size_t line, const char *why)
{
    const struct loading *loading = arg;
    char file[TRANSFER_PATH + 32];
    snprintf(file, sizeof file, "%s:%zu", loading->file, line);
    report_skipped_file(loading, line ? file : loading->file, why);
}

/* Why a note cannot have this name here, or NULL. */
static const char *refuse_name(const char *name)
{
    if (scope_key_visible(name))
        return NULL;
    if (*name == '.')
        return "a hidden file";
    if (*name == '-')
        return "a name that begins with a dash";
    if (strlen(name) > ETHOS_MAX_NAME)
        return "a name that is too long";
    if (strstr(name, ".."))
        return "a name with two dots in a row";
    if (scope_key_safe(name, NULL) != ETHOS_OK)
        return "not a valid name for memory: letters, digits and . _ - only";
    return scope_key_writable(name, NULL) != ETHOS_OK
               ? "a reserved name"
               : "the name of a temporary or a conflict copy";
}

/* Why a fact cannot become a note here, or NULL. */
static const char *refuse_fact(const struct foreign_item *item)
{
    const struct ethos_view parts[] = {item->title, item->hook, item->text};
    for (size_t i = 0; item->kind == FOREIGN_FACT && i < sizeof parts / sizeof *parts; i++)
        if (parts[i].size > 0 && memchr(parts[i].data, 0, parts[i].size))
            return "holds a NUL character";
    return NULL;
}

static int grow_items(struct import_source *source)
{
    struct source_item *items = arena_grow(&source->arena, source->items, source->count,
                                           &source->capacity, sizeof *items);
    if (items)
        source->items = items;
    return items ? ETHOS_OK : ETHOS_NOMEM;
}

static int add_item(void *arg, const struct foreign_item *item)
{
    struct loading *loading = arg;
    struct import_source *source = loading->source;
    bool file = item->kind == FOREIGN_NOTE || item->kind == FOREIGN_INDEX;
    const char *key = file ? arena_copy(&source->arena, item->name) : NULL;
    const char *shown = file ? loading->file
                             : arena_printf(&source->arena, "%s:%zu", loading->file, item->line);
    if ((file && !key) || !shown)
        return ETHOS_NOMEM;
    const char *why = file ? refuse_name(key) : refuse_fact(item);
    if (why) {
        report_skipped_file(loading, shown, why);
        return ETHOS_OK;
    }
    if (grow_items(source) != ETHOS_OK)
        return ETHOS_NOMEM;
    source->items[source->count++] = (struct source_item){
        .item = *item, .file = shown, .key = key, .note = item->text};
    return ETHOS_OK;
}

/* Whether a file cannot be read, or is gone; anything else is a failure. */
static bool is_closed(int errnum)
{
    return errnum == EACCES || errnum == EPERM || errnum == ENOENT || errnum == ELOOP ||
           errnum == ENXIO;
}

static int copy_source_text(struct loading *loading, const struct str *text, struct ethos_view *out,
                            struct ethos_error *error)
{
    loading->total += text->size;
    if (loading->total > TOTAL_MAX)
        return err_set(error, ETHOS_LIMIT, "%s: more than %zu bytes in all", loading->source->path,
                       TOTAL_MAX);
    *out = view_of(arena_copy(&loading->source->arena, str_view(text)), text->size);
    return out->data ? ETHOS_OK : err_nomem(error);
}

/*
 * Copies the text of a regular file; *out_why says why a file of a folder is skipped. If it is the
 * whole source, that is an error.
 */
static int read_source_file(struct loading *loading, int dir, const char *name,
                            struct ethos_view *out, const char **out_why, struct ethos_error *error)
{
    CLEANUP_STR struct str text = {0};
    int fd = os_openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
    if (fd < 0 && (loading->single || !is_closed(errno)))
        return err_errno(error, errno, name);
    if (fd < 0) {
        *out_why = errno == ENOENT ? "gone meanwhile" : "cannot be opened";
        return ETHOS_OK;
    }
    str_init(&text, ETHOS_MAX_INPUT_BYTES);
    int code = file_read(fd, name, ETHOS_MAX_INPUT_BYTES, &text, NULL, error);
    os_close(fd);
    if (code == ETHOS_LIMIT && !loading->single) {
        *out_why = "larger than 16 MiB";
        code = ETHOS_OK;
    } else if (code == ETHOS_OK) {
        code = copy_source_text(loading, &text, out, error);
    }
    return code;
}

static int load_file(struct loading *loading, int dir, const char *name, const char *file,
                     struct ethos_error *error)
{
    struct ethos_view text = {0};
    const char *why = NULL;
    loading->file = file;
    int code = read_source_file(loading, dir, name, &text, &why, error);
    if (why)
        report_skipped_file(loading, file, why);
    if (code != ETHOS_OK || why)
        return code;
    code = foreign_read(loading->what->format, file, text, &loading->source->arena, add_item,
                        skip_line, loading);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* ---- reading folders ------------------------------------------------------------------------ */

static int list_names(struct loading *loading, int dir, struct dir_names *out,
                      struct ethos_error *error)
{
    if (dir_names(dir, &loading->source->arena, NAMES_MAX, out) == 0)
        return ETHOS_OK;
    if (errno == E2BIG)
        return err_set(error, ETHOS_LIMIT, "%s: more than %d files", loading->source->path,
                       NAMES_MAX);
    return err_errno(error, errno, loading->source->path);
}

/* Why an entry of a folder is not read, by its kind and name; NULL: it is. */
static const char *refuse_thing(const struct loading *loading, const struct stat *info,
                                const char *file)
{
    const char *why = foreign_refusal(loading->what->format, file);
    bool told = !why || *why;
    if (S_ISREG(info->st_mode) || !told)
        return why;
    if (S_ISDIR(info->st_mode))
        return foreign_below(loading->what->format)
                   ? ""
                   : "a folder; only files beside the index are memory";
    return S_ISLNK(info->st_mode) ? "a symbolic link" : "not a regular file";
}

/* Beyond the limit of the list, folders are only counted. */
static void count_other(struct loading *loading, const struct stat *info, const char *file)
{
    size_t size = loading->folders.size;
    if (S_ISDIR(info->st_mode) && size + strlen(file) + 3 <= FOLDERS_MAX)
        str_printf(&loading->folders, "%s/, ", file);
    else
        loading->others++;
}

/* prefix: the path of this folder within the source, with '/', or "". */
static int load_folder(struct loading *loading, int dir, const char *prefix,
                       struct ethos_error *error)
{
    struct dir_names names;
    int code = list_names(loading, dir, &names, error);
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++) {
        struct stat info;
        const char *name = names.list[i];
        const char *below = *prefix ? NULL : foreign_below(loading->what->format);
        const char *file = arena_printf(&loading->source->arena, "%s%s", prefix, name);
        if (!file)
            return err_nomem(error);
        if (below && strcmp(below, name) == 0)
            continue; // looked into separately
        if (os_fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
            code = errno == ENOENT ? ETHOS_OK : err_errno(error, errno, file);
            continue; // gone meanwhile
        }
        const char *why = refuse_thing(loading, &info, file);
        if (!why)
            code = load_file(loading, dir, name, file, error);
        else if (*why)
            report_skipped_file(loading, file, why);
        else
            count_other(loading, &info, file);
    }
    return code;
}

static int load_below(struct loading *loading, int dir, struct ethos_error *error)
{
    char prefix[64];
    const char *name = foreign_below(loading->what->format);
    int below = name ? os_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) : -1;
    if (below < 0)
        return !name || is_closed(errno) || errno == ENOTDIR ? ETHOS_OK
                                                             : err_errno(error, errno, name);
    snprintf(prefix, sizeof prefix, "%s/", name);
    int code = load_folder(loading, below, prefix, error);
    os_close(below);
    return code;
}

/* "no memory: media/, skills/, 2 other files" */
static int report_other_files(struct loading *loading, struct ethos_error *error)
{
    CLEANUP_STR struct str why = {0};
    const struct ethos_view folders = str_view(&loading->folders);
    if (loading->others == 0 && folders.size == 0)
        return ETHOS_OK;
    str_init(&why, SIZE_MAX);
    str_adds(&why, "no memory: ");
    str_add(&why, folders);
    if (loading->others > 0)
        str_printf(&why, "%zu other file%s", loading->others, loading->others == 1 ? "" : "s");
    else
        str_truncate(&why, why.size - strlen(", "));
    if (str_code(&why) == ETHOS_OK)
        report_skipped_file(loading, ".", why.data);
    return str_code(&why) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* ---- reading databases ----------------------------------------------------------------------- */

/*
 * A vector database has everybody's memory: only that of this turn, and what is shared, is
 * imported.
 */
struct database {
    struct loading *loading;
    const struct ethos_context *context;
    struct ethos_error *error;
};

static bool is_for_all(struct ethos_view scope)
{
    return view_eq(scope, VIEW("global")) || view_eq(scope, VIEW("cli"));
}

/* A text with its own name is one memory: its date becomes a heading. */
static int write_entry(const struct vector_entry *entry, bool whole, struct str *out)
{
    if (!whole && entry->created.size >= 10)
        str_printf(out, "## %.10s\n\n", entry->created.data);
    return str_add(out, entry->content);
}

static int load_entry(void *arg, const struct vector_entry *entry)
{
    struct database *database = arg;
    struct loading *loading = database->loading;
    struct arena *arena = &loading->source->arena;
    const struct ethos_context *context = database->context;
    bool profile = view_eq(entry->key, VIEW(TRANSFER_PROFILE));
    bool whole = profile || view_eq(entry->key, VIEW(TRANSFER_INDEX));
    bool ours = is_for_all(entry->scope) || view_eq_str(entry->scope, context->memory_scope) ||
                view_eq_str(entry->scope, context->user_scope);
    struct import_source *source = loading->source;
    size_t before = source->count;
    struct ethos_view kept;
    struct str text;
    loading->file = arena_printf(arena, "%.*s/%.*s", VIEW_ARG(entry->scope), VIEW_ARG(entry->key));
    if (!loading->file)
        return err_nomem(database->error);
    if (!ours || memchr(entry->content.data, 0, entry->content.size)) {
        report_skipped_file(
            loading, loading->file,
            ours ? "holds a NUL character"
                 : "belongs to somebody else; -p and -u select whose memory is imported");
        return ETHOS_OK;
    }
    str_init(&text, ETHOS_MAX_INPUT_BYTES);
    int code = write_entry(entry, whole, &text) == ETHOS_OK
                   ? copy_source_text(loading, &text, &kept, database->error)
                   : err_set(database->error, ETHOS_LIMIT, "%s: too large", loading->file);
    str_release(&text);
    if (code == ETHOS_OK &&
        foreign_read(loading->what->format, profile ? TRANSFER_PROFILE : TRANSFER_INDEX, kept,
                     arena, add_item, skip_line, loading) != ETHOS_OK)
        code = err_nomem(database->error);
    if (source->count > before)
        source->items[before].item.apart = true; // from another text than the previous one
    return code;
}

static int load_database(struct loading *loading, struct ethos_turn *turn,
                         struct ethos_error *error)
{
    struct database database = {loading, &turn->context, error};
    if (!session_copier_builtin)
        return err_set(error, ETHOS_UNSUPPORTED, "%s: this program cannot read databases",
                       loading->source->path);
    return session_copier_builtin->entries(loading->source->path, turn->ethos->wait_ms, load_entry,
                                           &database, error);
}

/* ---- loading -------------------------------------------------------------------------------- */

static int load_all(struct loading *loading, struct ethos_error *error)
{
    const char *path = loading->source->path, *name = strrchr(path, '/');
    loading->single = !foreign_is_folder(loading->what->format);
    if (loading->single)
        return load_file(loading, AT_FDCWD, path, name && name[1] ? name + 1 : path, error);
    CLEANUP_FD int dir = os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return err_errno(error, errno, path);
    TRY(load_folder(loading, dir, "", error));
    TRY(load_below(loading, dir, error));
    return report_other_files(loading, error);
}

int source_load(struct ethos_turn *turn, const struct transfer_request *what,
                struct import_source *out, struct ethos_error *error)
{
    struct str path;
    struct loading loading = {.source = out, .what = what};
    *out = (struct import_source){0};
    arena_init(&out->arena);
    str_init(&path, TRANSFER_PATH - 1);
    str_init(&loading.folders, FOLDERS_MAX);
    int code = find_path(turn, what, &path, error);
    if (code == ETHOS_OK && os_realpath(path.data, out->path) != 0)
        code = err_errno(error, errno, path.data);
    str_release(&path);
    if (code == ETHOS_OK)
        code = is_database(what->format) ? load_database(&loading, turn, error)
                                         : load_all(&loading, error);
    str_release(&loading.folders);
    return code;
}

void source_release(struct import_source *source)
{
    arena_release(&source->arena);
}
