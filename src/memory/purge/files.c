/*
 * files.c: purges a text from files of the home that no store purges.
 *
 * Every file below the root is read. In JSON the text is replaced by marks, other texts lose lines.
 * Settings, names of folders, ids and files that are not text are reported and left alone: the user
 * decides about those.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/forget_text.h"
#include "core/memory/scope.h"
#include "memory/handle_internal.h"
#include "memory/home/identity.h"
#include "memory/hooks/queue.h"
#include "memory/purge/purge.h"
#include "memory/recall/folder.h"
#include "memory/workspace/files.h"

#define MAX_DEPTH 16      /* folders below the root */
#define MAX_NAMES 1000000 /* in one folder */
#define ARCHIVE "memory-archive.md"

struct sweep {
    const struct forget *forget;
    const struct purge_how *how; /* NULL: only count */
    const char *const *folders;  /* folders whose files are skipped */
    size_t folder_count;
    struct str text;
    char path[PATH_MAX]; /* current path below the root */
    uint64_t found;      /* files */
    uint64_t left;       /* files of stores */
    bool settled;        /* likewise, which stay */
    bool foreign;        /* a backend that cannot purge may have a file here */
    struct ethos_error *error;
};

/* ---- which file it is ----------------------------------------------------------------------- */

static bool has_part(const char *path, const char *part)
{
    size_t size = strlen(part);
    for (const char *at = path; (at = strstr(at, part)); at++)
        if ((at == path || at[-1] == '/') && (at[size] == '/' || at[size] == 0))
            return true;
    return false;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether a folder is that of a scope: the root, or one of the folders. */
static bool is_scope(const char *path, size_t size)
{
    static const struct {
        const char *above, *below;
    } forms[] = {{"personalities/", ""},
                 {"users/", ""},
                 {"removed/", ""},
                 {"teams/", "/memory"},
                 {"workspaces/", "/memory"}};
    struct ethos_view folder = view_of(path, size);
    if (size == 0)
        return true;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct ethos_view above = view_str(forms[i].above), below = view_str(forms[i].below);
        if (!view_starts(folder, above) || !view_ends(folder, below) ||
            folder.size <= above.size + below.size)
            continue;
        struct ethos_view id = view_of(folder.data + above.size,
                                       folder.size - above.size - below.size);
        if (!memchr(id.data, '/', id.size))
            return true;
    }
    return false;
}

/* Files that a store purges under its own lock. */
static bool is_stored(const char *path)
{
    const char *name = name_of(path);
    size_t folder = name == path ? 0 : (size_t)(name - path) - 1;
    bool text = is_scope(path, folder) &&
                (scope_key_shown("global", name) || strcmp(name, ARCHIVE) == 0);
    return text || strncmp(name, "memory-history", 14) == 0 || has_part(path, "history-blobs") ||
           has_part(path, ".mem/conflicts") || has_part(path, ".mem/tmp") ||
           (has_part(path, ".mem/index") &&
            strcmp(path, WORKSPACE_STATE "/" WORKSPACE_INDEX) != 0) ||
           has_part(path, "memories");
}

/*
 * Databases: their stores purge them, and words left in a page are not text. Indexes are removed.
 */
static bool is_purged_elsewhere(const char *path)
{
    return strncmp(path, "sessions.db", 11) == 0 || strncmp(path, "sessions-search.db", 18) == 0 ||
           strncmp(path, RECALL_FOLDER "/", sizeof RECALL_FOLDER) == 0;
}

static bool is_identity(const char *path)
{
    return strncmp(path, IDENTITY_FILE, sizeof IDENTITY_FILE - 1) == 0;
}

/* The formats of ethos's own files, other than settings. */
static bool is_ours(const char *name)
{
    static const char *const ends[] = {".md", ".json", ".jsonl", ".log", ".txt"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (view_ends(view_str(name), view_str(ends[i])))
            return true;
    return false;
}

static const char *unpurged_reason(const char *path, struct ethos_view text, bool foreign)
{
    const char *name = name_of(path);
    if (foreign && !strchr(path, '/') && !is_ours(name))
        return "it may be the file of a backend that cannot purge";
    if (view_ends(view_str(name), VIEW(".yaml")))
        return "a settings file; edit it by hand";
    if (strcmp(name, WORKSPACE_DOC) == 0 || strcmp(name, WORKSPACE_ALIASES) == 0 ||
        strcmp(path, WORKSPACE_STATE "/" WORKSPACE_INDEX) == 0)
        return "the path of a folder contains it; rename the folder";
    if (strncmp(path, "offline/", 8) == 0 && has_part(path, "queue")) // its name has a checksum
        return "a queued change contains it; try again when the backend can be reached";
    if (strncmp(path, "installed", 9) == 0)
        return "uninstall needs it; run ethos uninstall for each agent, then try again";
    return memchr(text.data, 0, text.size) ? "not a text file" : NULL;
}

/* ---- one file ------------------------------------------------------------------------------- */

static void report_unpurged(const struct sweep *self, const char *reason)
{
    if (self->how && self->how->kept)
        self->how->kept(self->how->arg, self->path, reason);
}

static bool holds_forgotten(const struct sweep *self, struct ethos_view text)
{
    return forget_holds_escaped(self->forget, text);
}

/* Members that identify something, and are not text that somebody wrote: they stay. */
static bool is_key(const char *name)
{
    static const char *const names[] = {"platform",
                                        "platformUserId",
                                        "userId",
                                        "user",
                                        "agent",
                                        "event",
                                        "hook_event_name",
                                        "session",
                                        "session_id",
                                        "conversation_id",
                                        "transcript_path",
                                        "cwd",
                                        "workspace",
                                        "workspace_roots",
                                        "personality",
                                        "scope",
                                        "scopeId",
                                        "key",
                                        "id",
                                        "opId",
                                        "action",
                                        "place",
                                        "firstSeenAt",
                                        "generation_id",
                                        "turn_id",
                                        "source",
                                        "timestamp",
                                        "time"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Marks texts; names of members are part of the format. The depth of parsed JSON is bounded. */
static int mark_values(const struct sweep *self, json_t **value, uint64_t *count)
{
    const char *name;
    size_t index;
    json_t *member;
    int code = ETHOS_OK;
    if (json_is_string(*value)) {
        struct ethos_view text = view_of(json_string_value(*value), json_string_length(*value));
        code = self->how->dry_run ? forget_tell(self->forget, self->path, text) : ETHOS_OK;
        return code == ETHOS_OK ? forget_json(self->forget, value, count) : code;
    }
    json_object_foreach (*value, name, member) {
        json_t *own = json_incref(member);
        if (code == ETHOS_OK && !is_key(name))
            code = mark_values(self, &own, count);
        if (code == ETHOS_OK && own != member && json_object_set(*value, name, own) != 0)
            code = ETHOS_NOMEM;
        json_decref(own);
    }
    json_array_foreach (*value, index, member) {
        json_t *own = json_incref(member);
        if (code == ETHOS_OK)
            code = mark_values(self, &own, count);
        if (code == ETHOS_OK && own != member && json_array_set(*value, index, own) != 0)
            code = ETHOS_NOMEM;
        json_decref(own);
    }
    return code;
}

/* ETHOS_OK: out is the rest, *lines the number of removed lines. */
static int clean_json(const struct sweep *self, json_t *json, struct str *out, uint64_t *lines)
{
    int code = mark_values(self, &json, lines);
    if (code == ETHOS_OK && json_print(json, JSON_STYLE_PRETTY, out) != ETHOS_OK)
        code = ETHOS_NOMEM;
    json_decref(json);
    return code == ETHOS_OK ? str_addc(out, '\n') : code;
}

static int clean_lines(const struct sweep *self, struct str *out, uint64_t *lines)
{
    struct ethos_view rest = str_view(&self->text), line;
    bool ends = view_ends(rest, VIEW("\n"));
    if (self->how->dry_run)
        TRY(forget_tell(self->forget, self->path, rest));
    while (view_line(&rest, &line)) {
        if (holds_forgotten(self, line)) {
            ++*lines;
            continue;
        }
        str_add(out, line);
        if (rest.size > 0 || ends)
            str_addc(out, '\n');
    }
    return str_code(out);
}

static int clean_text(const struct sweep *self, struct str *out, uint64_t *lines)
{
    json_t *json = NULL;
    struct ethos_view text = view_trim_start(str_view(&self->text));
    bool may = (view_starts(text, VIEW("{")) || view_starts(text, VIEW("["))) &&
               !view_ends(view_str(self->path), VIEW(".jsonl")); // one mark per line
    int code = may ? json_parse_most(str_view(&self->text), ETHOS_MAX_HISTORY_BYTES, self->path,
                                     &json, NULL)
                   : ETHOS_INVALID;
    if (code == ETHOS_NOMEM)
        return code;
    return code == ETHOS_OK ? clean_json(self, json, out, lines) : clean_lines(self, out, lines);
}

static int purge_file(struct sweep *self, int dir, const char *name)
{
    CLEANUP_STR struct str out = {0};
    uint64_t lines = 0;
    const char *reason = unpurged_reason(self->path, str_view(&self->text), self->foreign);
    if (is_stored(self->path)) {
        if (self->settled)
            report_unpurged(self, "its history names a folder or a session that contains it");
        self->left += !self->settled;
        return ETHOS_OK;
    }
    if (reason) {
        report_unpurged(self, reason);
        return ETHOS_OK;
    }
    str_init(&out, SIZE_MAX);
    if (self->how->enter)
        self->how->enter(self->how->arg, "files");
    int code = clean_text(self, &out, &lines);
    if (code != ETHOS_OK)
        code = err_nomem(self->error);
    else if (!self->how->dry_run && lines > 0)
        code = file_replace(dir, name, str_view(&out), 0600, self->error);
    if (code == ETHOS_OK && lines > 0 && self->how->file)
        self->how->file(self->how->arg, self->path, lines);
    if (code == ETHOS_OK && holds_forgotten(self, str_view(&out)))
        report_unpurged(self, is_identity(self->path)
                                  ? "a person is found by it; ethos users unlink unlinks a person"
                                  : "the name of something contains it");
    return code;
}

static bool is_outside_folders(const struct sweep *self)
{
    for (size_t i = 0; i < self->folder_count; i++) {
        size_t size = strlen(self->folders[i]);
        const char *rest = self->path + size + (size > 0);
        if (size > 0 && (strncmp(self->path, self->folders[i], size) != 0 || rest[-1] != '/'))
            continue;
        if (!strchr(rest, '/') || strncmp(rest, "history-blobs/", 14) == 0 ||
            strncmp(rest, ".mem/", 5) == 0 || strncmp(rest, "memories/", 9) == 0)
            return false;
    }
    return true;
}

static int scan_file(struct sweep *self, int dir, const char *name)
{
    if (is_purged_elsewhere(self->path) || !is_outside_folders(self))
        return ETHOS_OK;
    str_clear(&self->text);
    int fd = os_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    bool read = fd >= 0 && os_read_all(fd, &self->text, ETHOS_MAX_HISTORY_BYTES) == 0;
    int saved = errno;
    if (fd >= 0)
        os_close(fd);
    if (!read && saved != ENOENT)
        report_unpurged(self, "it could not be read");
    if (!read || !holds_forgotten(self, str_view(&self->text)))
        return ETHOS_OK;
    self->found++;
    return self->how ? purge_file(self, dir, name) : ETHOS_OK;
}

/* ---- folders -------------------------------------------------------------------------------- */

static int sweep_folder(struct sweep *self, int dir, int depth);

static int scan_folder(struct sweep *self, int dir, const char *name, int depth)
{
    int below = os_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (below < 0) {
        if (errno != ENOENT)
            report_unpurged(self, "it could not be read");
        return ETHOS_OK;
    }
    int code = sweep_folder(self, below, depth + 1);
    os_close(below);
    return code;
}

static int scan_path(struct sweep *self, int dir, const char *name, int depth)
{
    struct stat info;
    size_t size = strlen(self->path);
    int written = snprintf(self->path + size, sizeof self->path - size, "%s%s", size ? "/" : "",
                           name);
    int code = ETHOS_OK;
    if (written > 0 && (size_t)written < sizeof self->path - size &&
        os_fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        if (forget_holds(self->forget, view_str(name)) && !is_stored(self->path))
            report_unpurged(self, "its name contains it");
        if (S_ISDIR(info.st_mode) && depth < MAX_DEPTH)
            code = scan_folder(self, dir, name, depth);
        else if (S_ISREG(info.st_mode))
            code = scan_file(self, dir, name);
    }
    self->path[size] = 0;
    return code;
}

static int sweep_folder(struct sweep *self, int dir, int depth)
{
    CLEANUP_ARENA struct arena arena;
    struct dir_names names = {0};
    int code = ETHOS_OK;
    arena_init(&arena);
    if (dir_names(dir, &arena, MAX_NAMES, &names) != 0)
        code = err_errno(self->error, errno, self->path);
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++)
        code = scan_path(self, dir, names.list[i], depth);
    return code;
}

static int sweep_root(struct ethos *ethos, struct sweep *self)
{
    int root = -1, lock = -1;
    int code = service_open_root(ethos, false, &root, self->error);
    if (code != ETHOS_OK || root < 0)
        return code;
    if (self->how && !self->how->dry_run) // locks out recording while the spool is rewritten
        code = spool_lock(ethos, &lock, self->error);
    str_init(&self->text, ETHOS_MAX_HISTORY_BYTES);
    if (code == ETHOS_OK)
        code = sweep_folder(self, root, 0);
    str_release(&self->text);
    if (lock >= 0)
        os_close(lock);
    os_close(root);
    return code;
}

int purge_files(struct ethos *self, const struct forget *forget, const struct purge_how *how,
                unsigned flags, uint64_t *out_left, struct ethos_error *error)
{
    struct sweep sweep = {.forget = forget,
                          .how = how,
                          .settled = flags & PURGE_SETTLED,
                          .foreign = flags & PURGE_FOREIGN,
                          .error = error};
    int code = sweep_root(self, &sweep);
    *out_left = sweep.left;
    return code;
}

/* ---- looking -------------------------------------------------------------------------------- */

/* The folder of a scope below the root: "" for global. */
static bool name_folder(const char *scope, char out[SCOPE_FOLDER_SIZE])
{
    bool found = !scope_is_tree(scope) && scope_folder(scope, out, NULL) == ETHOS_OK;
    if (found && strcmp(out, ".") == 0)
        *out = 0;
    return found;
}

#define MOST_SCOPES 8

int purge_scan(struct ethos *self, const struct ethos_match *match, const char *const *scopes,
               size_t count, uint64_t *out_files, struct ethos_error *error)
{
    struct forget forget;
    char folders[MOST_SCOPES][SCOPE_FOLDER_SIZE];
    const char *list[MOST_SCOPES];
    struct sweep sweep = {.forget = &forget, .folders = list, .error = error};
    int code = forget_init(&forget, match, error);
    for (size_t i = 0; i < count && sweep.folder_count < MOST_SCOPES; i++) {
        list[sweep.folder_count] = folders[sweep.folder_count];
        sweep.folder_count += name_folder(scopes[i], folders[sweep.folder_count]);
    }
    if (code == ETHOS_OK)
        code = sweep_root(self, &sweep);
    if (code == ETHOS_OK)
        *out_files = sweep.found;
    return code;
}
