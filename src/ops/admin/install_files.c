/*
 * install_files.c: reads and writes the files of an agent, and the record of what was changed.
 *
 * Symbolic links are followed: people keep their settings in one folder and link to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "memory/handle.h"
#include "memory/home/directory.h"
#include "memory/workspace/workspace.h"
#include "ops/admin/install_internal.h"
#include "ops/tools/tools.h"

#define RECORD "installed.json"
#define BACKUPS "installed"
#define LOCK "install"

/* ---- where the files are ------------------------------------------------------------------- */

static const char *settings_variable(const struct agent *agent)
{
    const char *value = agent->variable ? getenv(agent->variable) : NULL;
    return value && *value == '/' ? value : NULL;
}

/* Removes duplicate and trailing slashes, so that a file has only one name in the record. */
static void remove_extra_slashes(char *path)
{
    char *to = path;
    for (const char *from = path; *from; from++)
        if (*from != '/' || (from[1] != '/' && (from[1] || to == path)))
            *to++ = *from;
    *to = 0;
}

void job_folder(const struct agent *agent, char out[PATH_MAX])
{
    const char *named = settings_variable(agent), *user = home_of_user();
    if (named)
        snprintf(out, PATH_MAX, "%s%s", named, agent->below);
    else
        snprintf(out, PATH_MAX, "%s/%s", user ? user : "", agent->folder);
    remove_extra_slashes(out);
}

static void find_target_path(const struct agent *agent, const struct agent_file *file,
                             const char *project, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *user = home_of_user();
    job_folder(agent, folder);
    int size = project ? snprintf(out, PATH_MAX, "%s/%s", project, file->project)
               : file->beside && !settings_variable(agent)
                   ? snprintf(out, PATH_MAX, "%s/%s", user ? user : "", file->user)
                   : snprintf(out, PATH_MAX, "%s/%s", folder, file->user);
    if (size >= PATH_MAX)
        out[0] = 0;
    remove_extra_slashes(out);
}

/* ---- the record ---------------------------------------------------------------------------- */

static int parse_record(struct job *job, struct ethos_error *error)
{
    if (job->record_text.size == 0)
        job->record = json_pack("{s:i, s:{}}", "version", 1, "files");
    else if (json_parse(str_view(&job->record_text), RECORD, &job->record, error) != ETHOS_OK ||
             !json_is_object(json_object_get(job->record, "files"))) {
        err_set(error, ETHOS_CORRUPT, "%s/" RECORD ": cannot be read", job->home);
        return err_hint(error, ETHOS_CORRUPT,
                        "remove it; uninstall then removes the entries of ethos one by one");
    }
    return job->record ? ETHOS_OK : err_nomem(error);
}

/* Appends the current record, or nothing if there is none. */
static int read_record(const char *home, struct str *out, struct ethos_error *error)
{
    CLEANUP_FD int dir = -1;
    int code = home_open(home, false, &dir, error);
    if (code == ETHOS_OK)
        code = home_read(dir, RECORD, ETHOS_MAX_MAP_BYTES, out, NULL, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

json_t *record_entry(const struct job *job, const char *path)
{
    return json_object_get(json_object_get(job->record, "files"), path);
}

bool is_record_untouched(const json_t *entry)
{
    struct ethos_view before = json_view(entry, "before");
    return before.data && view_eq(before, json_view(entry, "after"));
}

bool is_recorded_in_home(const char *home, const char *path)
{
    struct str text;
    json_t *record = NULL;
    str_init(&text, ETHOS_MAX_MAP_BYTES + 1);
    bool found = read_record(home, &text, NULL) == ETHOS_OK && text.size > 0 &&
                 json_parse(str_view(&text), RECORD, &record, NULL) == ETHOS_OK;
    const json_t *entry = found ? json_object_get(json_object_get(record, "files"), path) : NULL;
    found = json_array_size(json_object_get(entry, "agents")) > 0; // if not, a person wrote it
    json_decref(record);
    str_release(&text);
    return found;
}

int record_backup(const struct job *job, const json_t *entry, struct str *out)
{
    int dir;
    char path[PATH_MAX], revision[ETHOS_REVISION_SIZE];
    struct ethos_view name = json_view(entry, "backup"), before = json_view(entry, "before");
    if (!name.data || memchr(name.data, '/', name.size) ||
        home_open(job->home, false, &dir, NULL) != ETHOS_OK)
        return ETHOS_NOTFOUND;
    snprintf(path, sizeof path, BACKUPS "/%.*s", VIEW_ARG(name));
    int code = home_read(dir, path, ETHOS_MAX_INPUT_BYTES, out, NULL, NULL);
    os_close(dir);
    hash_revision(str_view(out), revision);
    return code == ETHOS_NOMEM                                 ? code
           : code == ETHOS_OK && view_eq_str(before, revision) ? ETHOS_OK
                                                               : ETHOS_NOTFOUND;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static struct target *new_target(struct job *job, const struct agent_file *file)
{
    struct target *targets = realloc(job->targets, (job->count + 1) * sizeof *targets);
    if (!targets)
        return NULL;
    job->targets = targets;
    struct target *target = &targets[job->count++];
    *target = (struct target){.file = file, .state = "unchanged"};
    str_init(&target->before, ETHOS_MAX_INPUT_BYTES + 1);
    str_init(&target->after, ETHOS_MAX_INPUT_BYTES * 2);
    return target;
}

static int add_target(struct job *job, const struct agent_file *file, const char *project)
{
    struct target *target = new_target(job, file);
    if (!target)
        return ETHOS_NOMEM;
    if (job->file)
        snprintf(target->path, sizeof target->path, "%s", job->file);
    else
        find_target_path(job->agent, file, project, target->path);
    return ETHOS_OK;
}

/* Adds the recorded files of this kind of all projects. */
static int add_recorded_targets(struct job *job, const struct agent_file *file)
{
    const char *path;
    json_t *entry;
    json_object_foreach (json_object_get(job->record, "files"), path, entry) {
        size_t size = strlen(path), end = strlen(file->project);
        if (size >= PATH_MAX || size <= end || path[size - end - 1] != '/' ||
            strcmp(path + size - end, file->project) != 0)
            continue;
        struct target *target = new_target(job, file);
        if (!target)
            return ETHOS_NOMEM;
        memcpy(target->path, path, size + 1);
    }
    return ETHOS_OK;
}

static int add_targets(struct job *job, const char *project, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (const struct agent_file *file = job->agent->files; code == ETHOS_OK && file->parts;
         file++) {
        if (!(job->parts & file->parts))
            continue;
        bool own = file->parts == AGENT_OWN_MEMORY;
        if (own && job->call && !job->install && !job->project)
            code = add_recorded_targets(job, file);
        else if (own ? project != NULL : (job->project ? file->project : file->user) != NULL)
            code = add_target(job, file, own || job->project ? project : NULL);
    }
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static void find_default_home(char out[PATH_MAX])
{
    const char *user = home_of_user();
    snprintf(out, PATH_MAX, "%s/.ethos", user ? user : "");
}

bool is_home_of_job(const struct job *job, const char *home, char out_path[PATH_MAX])
{
    struct stat one, other;
    if (home)
        snprintf(out_path, PATH_MAX, "%s", home);
    else
        find_default_home(out_path);
    return strcmp(out_path, job->home) == 0 ||
           (os_fstatat(AT_FDCWD, out_path, &one, 0) == 0 &&
            os_fstatat(AT_FDCWD, job->home, &other, 0) == 0 && one.st_dev == other.st_dev &&
            one.st_ino == other.st_ino);
}

/* The default home need not be named in an entry. */
static bool is_default_home(const char *home)
{
    char usual[PATH_MAX];
    find_default_home(usual);
    return strcmp(home, usual) == 0;
}

int job_open(struct job *job, const struct agent *agent, const char *home, const char *project,
             struct ethos_error *error)
{
    job->agent = agent;
    str_init(&job->program, PATH_MAX);
    str_init(&job->record_text, ETHOS_MAX_MAP_BYTES + 1);
    int code = home_path(home, &job->home, error);
    if (code == ETHOS_OK)
        code = read_record(job->home, &job->record_text, error);
    if (code == ETHOS_OK)
        code = parse_record(job, error);
    if (code == ETHOS_OK)
        code = add_targets(job, project, error);
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++)
        if (!utf8_valid(view_str(job->targets[i].path)) || !job->targets[i].path[0] ||
            !utf8_valid(view_str(job->home)))
            code = err_set(error, ETHOS_DENIED, "%s: paths must be UTF-8 and not too long",
                           agent->title);
    return code;
}

/* Creates the workspace of the project, as its first write would. */
static int record_project(const struct job *job, struct ethos *ethos,
                          const struct workspace *workspace, struct ethos_error *error)
{
    CLEANUP_FD int dir = -1;
    if (job->call->dry_run)
        return ETHOS_OK;
    TRY(service_open_root(ethos, true, &dir, error));
    return workspace_record(dir, &workspace->place, &workspace->found, workspace->marker,
                            service_now_ms(ethos), error);
}

static int find_project_notes(struct job *job, struct ethos *ethos, const struct ethos_turn *turn,
                              struct ethos_error *error)
{
    const struct workspace *workspace = service_workspace(turn);
    const struct ethos_error *why = ethos_turn_context(turn)->workspace_error;
    if (!workspace && why)
        *error = *why;
    int code = !workspace
                   ? (why ? why->code : err_set(error, ETHOS_DENIED, "no project is named"))
                   : service_path(turn, workspace->found.scope, "MEMORY.md", &job->notes, error);
    if (code == ETHOS_OK && !job->notes) {
        err_set(error, ETHOS_DENIED, "the notes of this project are not in files");
        code = err_hint(error, ETHOS_DENIED,
                        "only the file backend can be shared: memory.provider: markdown");
    }
    if (code != ETHOS_OK)
        return code;
    *strrchr(job->notes, '/') = 0;
    return record_project(job, ethos, workspace, error);
}

int job_find_notes(struct job *job, const char *project, struct ethos_error *error)
{
    const struct ethos_options options = {.home = job->home};
    const struct ethos_request request = {.workspace = project};
    struct ethos *ethos = NULL;
    struct ethos_turn *turn = NULL;
    int code = ethos_open(&options, &ethos, error);
    if (code == ETHOS_OK)
        code = ethos_turn_new(ethos, &request, &turn, error);
    if (code == ETHOS_OK)
        code = find_project_notes(job, ethos, turn, error);
    ethos_turn_free(turn);
    ethos_close(ethos);
    return code;
}

static void list_allowed_tools(struct job *job, bool all)
{
    size_t count = 0;
    for (const struct tool *tool = tools_table; tool->name && count < INSTALL_MAX_TOOLS; tool++)
        if (tool->about != TOOL_ABOUT_TEAM && (all || tool_is_read_only(tool)))
            job->tools[count++] = tool->name;
    job->tools[count] = NULL;
}

int job_wire(struct job *job, bool all_tools, struct ethos_error *error)
{
    int code = install_program(&job->program, error);
    if (code == ETHOS_OK && !agent_is_program(str_view(&job->program)))
        code = err_set(error, ETHOS_DENIED,
                       "%s: must be called ethos, so that uninstall finds its entries",
                       job->program.data);
    if (code == ETHOS_OK)
        job->wiring = (struct agent_wiring){job->agent,
                                            job->program.data,
                                            is_default_home(job->home) ? NULL : job->home,
                                            job->tools,
                                            all_tools,
                                            job->own_memory == OWN_MEMORY_SHARE ? job->notes
                                            : job->own_memory == OWN_MEMORY_OFF ? ""
                                                                                : NULL};
    list_allowed_tools(job, all_tools);
    return code;
}

void job_close(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        str_release(&job->targets[i].before);
        str_release(&job->targets[i].after);
        json_decref(job->targets[i].entry);
    }
    json_decref(job->record);
    str_release(&job->program);
    str_release(&job->record_text);
    free(job->targets);
    free(job->notes);
    free(job->home);
}

/* ---- one file ------------------------------------------------------------------------------ */

/* Follows the links. */
static int resolve_links(struct target *target, struct ethos_error *error)
{
    struct stat info;
    snprintf(target->real, sizeof target->real, "%s", target->path);
    if (os_fstatat(AT_FDCWD, target->path, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, target->path);
    target->exists = true;
    if (!S_ISLNK(info.st_mode) || os_realpath(target->path, target->real) == 0)
        return ETHOS_OK;
    if (errno != ENOENT)
        return err_errno(error, errno, target->path);
    err_set(error, ETHOS_DENIED, "%s: is a symbolic link to nothing", target->path);
    return err_hint(error, ETHOS_DENIED, "create the file that it leads to, or remove the link");
}

static int read_target_text(const struct target *target, struct str *out, struct stat *info,
                            struct ethos_error *error)
{
    CLEANUP_FD int fd = os_openat(AT_FDCWD, target->real,
                                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return err_errno(error, errno, target->path);
    return file_read(fd, target->path, ETHOS_MAX_INPUT_BYTES, out, info, error);
}

void target_read(struct target *target)
{
    target->code = resolve_links(target, &target->error);
    if (target->code == ETHOS_OK && target->exists)
        target->code = read_target_text(target, &target->before, &target->info, &target->error);
    target->remains = target->exists;
}

bool will_target_change(const struct target *target)
{
    return target->exists != target->remains ||
           (target->remains && !view_eq(str_view(&target->before), str_view(&target->after)));
}

/* Refuses to write if another program has changed the file since it was read. */
static int check_unchanged(const struct target *target, struct ethos_error *error)
{
    struct stat info;
    bool same;
    if (target->exists) {
        CLEANUP_STR struct str now;
        str_init(&now, ETHOS_MAX_INPUT_BYTES + 1);
        TRY(read_target_text(target, &now, &info, error));
        same = view_eq(str_view(&now), str_view(&target->before));
    } else {
        same = os_fstatat(AT_FDCWD, target->real, &info, AT_SYMLINK_NOFOLLOW) < 0;
    }
    if (same)
        return ETHOS_OK;
    err_set(error, ETHOS_CONFLICT, "%s: was changed by another program just now", target->path);
    return err_hint(error, ETHOS_CONFLICT, "try again");
}

/* Opens the folder of a file, and gives the name of the file in it. -1 and errno. */
static int open_parent_folder(const char *path, const char **out_name)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *out_name = slash + 1;
    snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    return os_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
}

/* Writes the file, or removes it (exists false). */
static int write_or_remove_file(const struct target *target, const struct str *text, bool exists,
                                mode_t mode, struct ethos_error *error)
{
    const char *name;
    CLEANUP_FD int dir = open_parent_folder(target->real, &name);
    if (dir < 0)
        return err_errno(error, errno, target->path);
    if (exists)
        return file_replace(dir, name, str_view(text), mode, error);
    if ((os_unlinkat(dir, name, 0) != 0 && errno != ENOENT) || os_fsync(dir) != 0)
        return err_errno(error, errno, target->path);
    return ETHOS_OK;
}

/* ---- folders ------------------------------------------------------------------------------- */

json_t *missing_folders(const char *path)
{
    struct stat info;
    char folder[PATH_MAX];
    json_t *list = json_array();
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strrchr(folder, '/'); slash && slash > folder;
         slash = strrchr(folder, '/')) {
        *slash = 0;
        if (os_fstatat(AT_FDCWD, folder, &info, 0) == 0)
            break;
        op_json_insert(&list, 0, json_string(folder));
    }
    return list;
}

static int make_folders(const json_t *folders, mode_t mode, struct ethos_error *error)
{
    size_t index;
    json_t *folder;
    const char *name;
    json_array_foreach (folders, index, folder) {
        const char *path = json_string_value(folder);
        CLEANUP_FD int dir = open_parent_folder(path, &name);
        if (dir < 0 || (os_mkdirat(dir, name, mode) != 0 && errno != EEXIST) || os_fsync(dir) != 0)
            return err_errno(error, errno, path);
    }
    return ETHOS_OK;
}

/* Removes folders, innermost first; those that are not empty stay. */
static void remove_folders(const json_t *folders)
{
    for (size_t i = json_array_size(folders); i > 0; i--)
        os_unlinkat(AT_FDCWD, json_string_value(json_array_get(folders, i - 1)), AT_REMOVEDIR);
}

/* ---- all or nothing -------------------------------------------------------------------------- */

static mode_t folder_mode(const struct job *job)
{
    return job->project ? 0755 : 0700;
}

/* The folders that install created, or will create, for the file. */
static const json_t *made_folders(const struct job *job, const struct target *target)
{
    bool made = job->install && target->remains;
    const json_t *entry = made ? target->entry : record_entry(job, target->path);
    return json_object_get(entry, "folders");
}

static int write_target(const struct job *job, struct target *target, struct ethos_error *error)
{
    TRY(check_unchanged(target, error));
    if (target->remains && !target->exists)
        TRY(make_folders(made_folders(job, target), folder_mode(job), error));
    return write_or_remove_file(target, &target->after, target->remains, job->project ? 0644 : 0600,
                                error);
}

static void roll_back(struct job *job, size_t count)
{
    while (count > 0) {
        struct target *target = &job->targets[--count];
        const json_t *folders = made_folders(job, target);
        if (!will_target_change(target))
            continue;
        if (target->exists)
            make_folders(folders, folder_mode(job), NULL);
        write_or_remove_file(target, &target->before, target->exists, target->info.st_mode & 07777,
                             NULL);
        if (!target->exists)
            remove_folders(folders);
    }
}

static int write_targets(struct job *job, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        int code = will_target_change(&job->targets[i]) ? write_target(job, &job->targets[i], error)
                                                        : ETHOS_OK;
        if (code != ETHOS_OK) {
            roll_back(job, i + 1); // including this one: it may be written but not synced
            return code;
        }
    }
    for (size_t i = 0; i < job->count; i++)
        if (!job->targets[i].remains)
            remove_folders(made_folders(job, &job->targets[i]));
    return ETHOS_OK;
}

static int write_backups(const struct job *job, int dir, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->targets[i].keep)
            TRY(home_replace(dir, BACKUPS, job->targets[i].backup,
                             str_view(&job->targets[i].before), error));
    return ETHOS_OK;
}

static int write_record(int dir, struct ethos_view text, struct ethos_error *error)
{
    if (text.size > 0)
        return home_replace(dir, "", RECORD, text, error);
    return os_unlinkat(dir, RECORD, 0) == 0 || errno == ENOENT ? ETHOS_OK
                                                               : err_errno(error, errno, RECORD);
}

/* Prints the planned record; "" if it has no entries. */
static int make_record(const struct job *job, struct str *out, struct ethos_error *error)
{
    json_t *record = json_deep_copy(job->record);
    json_t *files = json_object_get(record, "files");
    bool ok = files != NULL;
    for (size_t i = 0; ok && i < job->count; i++) {
        const struct target *target = &job->targets[i];
        if (target->entry)
            ok = json_object_set(files, target->path, target->entry) == 0;
        else
            json_object_del(files, target->path);
    }
    if (ok && json_object_size(files) > 0)
        ok = json_print(record, JSON_STYLE_PRETTY, out) == ETHOS_OK && str_addc(out, '\n') == 0;
    json_decref(record);
    return ok ? ETHOS_OK : err_nomem(error);
}

/* Removes backups that were restored. */
static void remove_restored_backups(const struct job *job, int dir)
{
    for (size_t i = 0; i < job->count && !job->install; i++) {
        const struct target *target = &job->targets[i];
        const json_t *was = record_entry(job, target->path);
        const char *backup = json_string_value(json_object_get(was, "backup"));
        char name[PATH_MAX];
        snprintf(name, sizeof name, BACKUPS "/%s", backup ? backup : "");
        if (backup && !json_string_value(json_object_get(target->entry, "backup")))
            os_unlinkat(dir, name, 0);
    }
    os_unlinkat(dir, BACKUPS, AT_REMOVEDIR);
}

/* Removes backups that the record does not name, after a failure. */
static void remove_unrecorded_backups(const struct job *job, int dir)
{
    char name[PATH_MAX];
    for (size_t i = 0; i < job->count; i++) {
        const struct target *target = &job->targets[i];
        struct ethos_view known = json_view(record_entry(job, target->path), "backup");
        snprintf(name, sizeof name, BACKUPS "/%s", target->backup);
        if (target->keep && !view_eq_str(known, target->backup))
            os_unlinkat(dir, name, 0);
    }
    os_unlinkat(dir, BACKUPS, AT_REMOVEDIR);
}

static int apply_under_lock(struct job *job, int dir, struct ethos_error *error)
{
    struct str now, then;
    str_init(&now, ETHOS_MAX_MAP_BYTES + 1);
    str_init(&then, ETHOS_MAX_MAP_BYTES);
    int code = read_record(job->home, &now, error);
    if (code == ETHOS_OK && !view_eq(str_view(&now), str_view(&job->record_text)))
        code = err_hint(error, err_set(error, ETHOS_CONFLICT, "another ethos is installing"),
                        "try again");
    if (code == ETHOS_OK)
        code = make_record(job, &then, error);
    if (code == ETHOS_OK)
        code = write_backups(job, dir, error);
    if (code == ETHOS_OK && job->install)
        code = write_record(dir, str_view(&then), error);
    bool recorded = code == ETHOS_OK;
    if (code == ETHOS_OK)
        code = write_targets(job, error);
    if (code == ETHOS_OK && !job->install &&
        (code = write_record(dir, str_view(&then), error)) != 0)
        roll_back(job, job->count);
    if (code != ETHOS_OK && recorded)
        write_record(dir, str_view(&now), NULL);
    if (code == ETHOS_OK)
        remove_restored_backups(job, dir);
    else
        remove_unrecorded_backups(job, dir);
    str_release(&now);
    str_release(&then);
    return code;
}

int job_apply(struct job *job, struct ethos_error *error)
{
    CLEANUP_FD int dir = -1;
    CLEANUP_FD int lock = -1;
    TRY(home_open(job->home, true, &dir, error));
    TRY(home_lock(dir, LOCK, &lock, error));
    return apply_under_lock(job, dir, error);
}
