/*
 * export.c: exports the notes of a scope to a folder or a file.
 *
 * An existing file is replaced only if all of it is known: it is as an export left it, or as an
 * import last read it. Any other file stays unless replace is set. Nothing is ever deleted.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "core/history/diff.h"
#include "core/notes/note.h"
#include "memory/handle_internal.h"
#include "memory/import_export/export_internal.h"
#include "memory/notes/list.h"

#define FILE_MODE 0600
#define SHARED_MODE 0644 /* maximum size of a project file such as AGENTS.md */

static bool is_folder(const char *format)
{
    return strcmp(format, "claude-code") == 0 || strcmp(format, "jutul") == 0;
}

static bool is_block(const char *format)
{
    return strcmp(format, "agents-md") == 0 || strcmp(format, "claude-md") == 0;
}

static bool is_dry(const struct export *export)
{
    return export->flags & ETHOS_SYNC_DRY_RUN;
}

void export_report(const struct export *export, const char *what, const char *file, const char *key,
                   const char *why, const char *diff)
{
    const struct transfer_row row = {what, file, export->notes.scope, key, why, diff, ETHOS_OK};
    export->what->each(export->what->arg, &row);
}

/* The first secret that was found. */
struct found_tag {
    size_t line;
    char tag[64];
};

static void record_first_tag(void *arg, size_t line, struct ethos_view tag)
{
    struct found_tag *found = arg;
    if (found->line > 0)
        return;
    found->line = line;
    snprintf(found->tag, sizeof found->tag, "%.*s", VIEW_ARG(tag));
}

int export_warn(const struct export *export, const char *key, struct ethos_view text, bool redacted,
                struct ethos_error *error)
{
    struct found_tag found = {0, "secret"}; // not in the text itself, but in what was made of it
    char file[ETHOS_MAX_KEY + 32], why[160];
    if (secret_find(text, record_first_tag, &found) != ETHOS_OK)
        return err_nomem(error);
    if (found.line == 0 && !redacted)
        return ETHOS_OK;
    snprintf(file, sizeof file, found.line ? "%s:%zu" : "%s", key, found.line);
    snprintf(why, sizeof why, "looks like a secret (%s); it %s", found.tag,
             redacted ? "is redacted there" : "goes out as it is");
    export_report(export, "warning", file, NULL, why, NULL);
    return ETHOS_OK;
}

void export_step(struct export *export)
{
    const struct transfer_request *what = export->what;
    uint64_t total = export->notes.count + 2; // the index and a profile
    if (what->progress)
        what->progress(what->progress_arg, export->done < total ? export->done : total, total);
    export->done++;
}

/* ---- one file of the destination ------------------------------------------------------------ */

#define LABEL_SIZE (NAME_MAX + 32)

/* The name in the record: notes exported to one file are recorded apart from the folder. */
static void make_record_name(const struct export *export, const char *name, char out[LABEL_SIZE])
{
    bool folder = is_folder(export->what->format);
    snprintf(out, LABEL_SIZE, "%s%s%s", folder ? "" : export->what->format, folder ? "" : ":",
             name);
}

/*
 * Whether an import read a file of its source with this revision; source: what is recorded about
 * it.
 */
static bool came_so(const json_t *source, const char *name, const char *revision)
{
    const char *seen = json_string_value(json_object_get(json_object_get(source, "notes"), name));
    return seen && strncmp(seen, revision, strlen(revision)) == 0;
}

/* Whether replacing the file would lose nobody else's text. */
static bool is_known(const struct export *export, const char *name, struct ethos_view there)
{
    char revision[ETHOS_REVISION_SIZE], recorded[LABEL_SIZE];
    const char *const exported[] = {"exports", export->folder, NULL};
    const char *const imported[] = {"sources", export->folder, NULL};
    const json_t *written = imports_find(&export->record, exported);
    const json_t *source = imports_find(&export->record, imported);
    make_record_name(export, name, recorded);
    const char *last = json_string_value(json_object_get(written, recorded));
    hash_revision(there, revision);
    return (last && strcmp(last, revision) == 0) || came_so(source, name, revision);
}

static int record_exported(struct export *export, const char *name, struct ethos_view text)
{
    char revision[ETHOS_REVISION_SIZE], recorded[LABEL_SIZE];
    const char *const written[] = {"exports", export->folder, NULL};
    hash_revision(text, revision);
    make_record_name(export, name, recorded);
    json_t *part = imports_part(&export->record, written);
    bool done = part && json_object_set_new(part, recorded, json_string(revision)) == 0;
    return done ? ETHOS_OK : ETHOS_NOMEM;
}

/* What exists at a name of the destination. */
struct there {
    struct str text;
    bool exists;
    const char *why; /* it must stay, or NULL */
    int code;        /* likewise, as a code */
};

static int must_stay(struct there *there, int code, const char *why)
{
    there->code = code;
    there->why = why;
    return ETHOS_OK;
}

/* A missing folder is empty. Fails only if out of memory. */
static int read_there(int dir, const char *name, struct there *out)
{
    struct stat info;
    int fd = dir < 0 ? -1 : os_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    out->exists = fd >= 0 || (dir >= 0 && errno != ENOENT);
    if (fd < 0 && out->exists)
        return errno == ELOOP ? must_stay(out, ETHOS_EXISTS, "a symbolic link is there")
                              : must_stay(out, err_errno(NULL, errno, name), "it cannot be read");
    if (fd < 0)
        return ETHOS_OK;
    bool odd = os_fstat(fd, &info) == 0 && !S_ISREG(info.st_mode);
    int code = odd ? ETHOS_OK : file_read(fd, name, ETHOS_MAX_STORE_BYTES, &out->text, NULL, NULL);
    os_close(fd);
    if (odd)
        return must_stay(out, ETHOS_EXISTS,
                         S_ISDIR(info.st_mode) ? "a folder is there" : "not a regular file");
    return code == ETHOS_OK || code == ETHOS_NOMEM ? code
                                                   : must_stay(out, code, "it cannot be read");
}

static int write_there(struct export *export, const char *name, const char *key,
                       struct ethos_view there, struct ethos_view text, mode_t mode,
                       struct ethos_error *error)
{
    CLEANUP_STR struct str diff;
    str_init(&diff, ETHOS_MAX_STORE_BYTES);
    int code = is_dry(export) ? diff_unified(there, text, name, &diff)
                              : file_swap(export->dir, name, text, mode, error);
    if (is_dry(export) && code != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        export_report(export, "written", name, key, NULL, is_dry(export) ? diff.data : NULL);
    return code;
}

static void report_unexported(const struct export *export, const char *name, const char *key,
                              const struct there *there)
{
    const struct transfer_row row = {"skipped",  name, export->notes.scope, key,
                                     there->why, NULL, there->code};
    export->what->each(export->what->arg, &row);
}

/* Records what was written, so that the next export knows it. */
static int write_recorded(struct export *export, const char *name, const char *key,
                          const struct there *there, struct ethos_view text,
                          struct ethos_error *error)
{
    const struct ethos_error *closed = &export->closed;
    if (closed->code != ETHOS_OK && error)
        *error = *closed;
    if (closed->code != ETHOS_OK)
        return closed->code;
    TRY(write_there(export, name, key, str_view(&there->text), text, FILE_MODE, error));
    return key ? export_warn(export, key, text, false, error) : ETHOS_OK;
}

int export_file(struct export *export, const char *name, const char *key, struct ethos_view text,
                struct ethos_error *error)
{
    struct there there = {.exists = false};
    str_init(&there.text, ETHOS_MAX_STORE_BYTES);
    int code = read_there(export->dir, name, &there);
    struct ethos_view old = str_view(&there.text);
    bool same = there.exists && !there.why && view_eq(old, text);
    if (there.exists && !there.why && !same && !export->what->replace &&
        !is_known(export, name, old))
        must_stay(&there, ETHOS_EXISTS, TRANSFER_DIFFERS);
    if (code != ETHOS_OK)
        code = err_nomem(error);
    else if (there.why)
        report_unexported(export, name, key, &there);
    else if (same)
        export_report(export, "unchanged", name, key, NULL, NULL);
    else
        code = write_recorded(export, name, key, &there, text, error);
    if (code == ETHOS_OK && !there.why && record_exported(export, name, text) != ETHOS_OK)
        code = err_nomem(error);
    str_release(&there.text);
    return code;
}

/* ---- a folder ------------------------------------------------------------------------------- */

static int add_jutul(const struct export *export, const char *key, struct ethos_view text,
                     struct str *out)
{
    struct note note;
    CLEANUP_STR struct str title = {0};
    const struct notes_row *row = notes_find(&export->notes, key);
    if (strcmp(key, TRANSFER_INDEX) == 0)
        return foreign_jutul_index(text, out);
    str_init(&title, ETHOS_MAX_STORE_BYTES);
    note_parse(text, &note);
    TRY(row && row->title ? str_adds(&title, row->title) : note_title(&note, key, &title));
    return foreign_jutul_note(text, str_view(&title), out);
}

/* An imported text that is unchanged is exported unchanged, whatever its format. */
static bool is_theirs(const struct export *export, const char *key, struct ethos_view text)
{
    const char *path, *format = export->what->format;
    json_t *source;
    bool is = false;
    char revision[ETHOS_REVISION_SIZE];
    hash_revision(text, revision);
    json_object_foreach (json_object_get(export->record.json, "sources"), path, source) {
        const char *from = json_string_value(json_object_get(source, "format"));
        is = is || (from && strcmp(from, format) == 0 && came_so(source, key, revision));
    }
    return is;
}

static int export_key(struct export *export, const char *key, struct ethos_error *error)
{
    CLEANUP_STR struct str out = {0};
    export_step(export);
    int code = notes_read(export->turn, export->notes.scope, key, &export->text, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    struct ethos_view text = view_of(export->text.data, export->text.size);
    if (json_object_set_new(export->given, key, json_true()) != 0)
        return err_nomem(error);
    str_init(&out, ETHOS_MAX_STORE_BYTES);
    if (strcmp(export->what->format, "jutul") == 0 && !is_theirs(export, key, text)) {
        if (add_jutul(export, key, text, &out) != ETHOS_OK)
            code = err_nomem(error);
        text = str_view(&out);
    }
    if (code == ETHOS_OK)
        code = export_file(export, key, key, text, error);
    return code;
}

/* Nothing is deleted there, but the user should know what was deleted here. */
static void report_deleted(const struct export *export)
{
    const char *name;
    json_t *revision;
    struct stat info;
    const char *const written[] = {"exports", export->folder, NULL};
    json_object_foreach ((json_t *)imports_find(&export->record, written), name, revision) {
        if (!json_object_get(export->given, name) && export->dir >= 0 &&
            os_fstatat(export->dir, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
            export_report(export, "skipped", name, NULL,
                          "deleted here since it was exported; the exported file stays", NULL);
    }
}

/* The index, every note, and the scope's profile; notes_load lists only notes. */
static int export_folder(struct export *export, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < export->notes.count; i++)
        code = export_key(export, export->notes.rows[i].key, error);
    if (code == ETHOS_OK)
        code = export_key(export, TRANSFER_PROFILE, error);
    if (code == ETHOS_OK)
        code = export_key(export, TRANSFER_INDEX, error);
    if (code == ETHOS_OK)
        report_deleted(export);
    return code;
}

/* ---- the destination ------------------------------------------------------------------------ */

static int make_absolute(const char *path, struct str *out, struct ethos_error *error)
{
    char here[TRANSFER_PATH];
    if (*path != '/') {
        if (!getcwd(here, sizeof here))
            return err_errno(error, errno, path);
        str_printf(out, "%s/", here);
    }
    str_adds(out, path);
    while (out->size > 1 && out->data[out->size - 1] == '/')
        str_truncate(out, out->size - 1);
    if (str_code(out) == ETHOS_NOMEM)
        return err_nomem(error);
    return str_code(out) == ETHOS_OK
               ? ETHOS_OK
               : err_set(error, ETHOS_INVALID, "%s: the path is too long", path);
}

/* Opens the folder, creating it if missing; -1 in a dry run if it does not exist. */
static int open_export_folder(struct export *export, const char *path, struct ethos_error *error)
{
    const int flags = O_RDONLY | O_DIRECTORY;
    export->dir = os_openat(AT_FDCWD, path, flags, 0);
    if (export->dir < 0 && errno == ENOENT && is_dry(export)) {
        snprintf(export->folder, sizeof export->folder, "%s", path);
        return ETHOS_OK;
    }
    if (export->dir < 0 && errno == ENOENT && dir_make(path) == 0)
        export->dir = os_openat(AT_FDCWD, path, flags, 0);
    if (export->dir < 0 || os_realpath(path, export->folder) != 0)
        return err_errno(error, errno, path);
    return ETHOS_OK;
}

/* Opens the folder of a path, and returns its last name, which may be a default one. */
static int open_parent(struct export *export, struct str *path, const char **out_name,
                       struct ethos_error *error)
{
    struct stat info;
    bool folder = os_fstatat(AT_FDCWD, path->data, &info, 0) == 0 && S_ISDIR(info.st_mode);
    if (folder && is_block(export->what->format))
        str_adds(path, *export->what->format == 'a' ? "/AGENTS.md" : "/CLAUDE.md");
    else if (folder)
        return err_set(error, ETHOS_INVALID, "%s: a folder; name the file to write", path->data);
    char *slash = strrchr(path->data, '/');
    *out_name = slash + 1;
    *slash = 0;
    return open_export_folder(export, slash == path->data ? "/" : path->data, error);
}

/* ---- one file ------------------------------------------------------------------------------- */

/* Replaces our block in a file that belongs to somebody else; everything else in it stays. */
static int export_block(struct export *export, const char *name, struct ethos_view block,
                        struct ethos_error *error)
{
    struct there there = {.exists = false};
    CLEANUP_STR struct str text;
    str_init(&there.text, ETHOS_MAX_STORE_BYTES);
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    int code = read_there(export->dir, name, &there);
    struct ethos_view old = str_view(&there.text);
    if (code == ETHOS_OK && there.why)
        code = err_set(error, there.code, "%s: %s", name, there.why);
    else if (code == ETHOS_OK)
        code = foreign_block(old, block, &text);
    if (code == ETHOS_INVALID)
        err_hint(error, err_set(error, code, "%s: its ethos markers are unbalanced", name),
                 "leave one " FOREIGN_BEGIN " and one " FOREIGN_END " below it");
    else if (code == ETHOS_NOMEM || (code == ETHOS_LIMIT && !there.why))
        err_nomem(error);
    else if (code == ETHOS_OK && there.exists && view_eq(old, str_view(&text)))
        export_report(export, "unchanged", name, NULL, NULL, NULL);
    else if (code == ETHOS_OK)
        code = write_there(export, name, NULL, old, str_view(&text), SHARED_MODE, error);
    str_release(&there.text);
    return code;
}

/*
 * Writes the single file; a file with other content is an error here, since there is nothing else
 * to export.
 */
static int write_single(struct export *export, const char *name, struct ethos_view text,
                        struct ethos_error *error)
{
    if (is_block(export->what->format))
        return export_block(export, name, text, error);
    return export_file(export, name, NULL, text, error);
}

static int export_single(struct export *export, struct str *path, struct str *out,
                         struct ethos_error *error)
{
    CLEANUP_STR struct str text;
    const char *name = NULL;
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    int code = export_render(export, &text, error);
    if (code == ETHOS_OK && path->size > 0) {
        code = open_parent(export, path, &name, error);
        if (code == ETHOS_OK)
            code = write_single(export, name, str_view(&text), error);
        snprintf(export->place->path, sizeof export->place->path, "%.*s/%s", TRANSFER_PATH - 300,
                 strcmp(export->folder, "/") == 0 ? "" : export->folder, name ? name : "");
    } else if (code == ETHOS_OK) {
        code = is_block(export->what->format) ? foreign_block(VIEW(""), str_view(&text), out)
                                              : str_add(out, str_view(&text));
        if (code != ETHOS_OK)
            code = err_set(error, code, "%s: too large", export->what->format);
    }
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Checks before writing that the record has room. */
static int check_record_room(const struct export *export, struct ethos_error *error)
{
    const char *const written[] = {"exports", export->folder, NULL};
    const json_t *part = imports_find(&export->record, written);
    size_t more = 2; // the folder and the index
    for (size_t i = 0; i < export->notes.count; i++)
        more += !json_object_get(part, export->notes.rows[i].key);
    return imports_check_room(&export->record, more, error);
}

static int export_all(struct export *export, struct str *path, struct str *out,
                      struct ethos_error *error)
{
    if (!is_folder(export->what->format))
        return export_single(export, path, out, error);
    int code = open_export_folder(export, path->data, error);
    snprintf(export->place->path, sizeof export->place->path, "%s", export->folder);
    if (code == ETHOS_OK)
        code = check_record_room(export, error);
    return code == ETHOS_OK ? export_folder(export, error) : code;
}

/* What is recorded as written must survive a power cut. */
static int sync_folder(const struct export *export, struct ethos_error *error)
{
    return os_fsync(export->dir) == 0 ? ETHOS_OK : err_errno(error, errno, export->folder);
}

/* Read-only memory can still be exported, if nothing has to be recorded. */
static int lock_record(struct export *export, int *out_lock, struct ethos_error *error)
{
    struct ethos_error *closed = &export->closed;
    int code = imports_lock(export->turn, out_lock, closed);
    if (code != ETHOS_OK && code != ETHOS_IO && error)
        *error = *closed;
    return code == ETHOS_IO ? ETHOS_OK : code;
}

static int run_recorded(struct export *export, struct str *path, struct str *out,
                        struct ethos_error *error)
{
    int lock = -1;
    bool writes = path->size > 0 && !is_dry(export);
    int code = writes ? lock_record(export, &lock, error) : ETHOS_OK;
    if (code == ETHOS_OK)
        code = imports_load(export->turn, export->notes.scope, &export->record, error);
    if (code == ETHOS_OK)
        code = export_all(export, path, out, error);
    export->done = UINT64_MAX;
    export_step(export);
    if (code == ETHOS_OK && writes)
        code = sync_folder(export, error);
    if (code == ETHOS_OK && writes && export->closed.code == ETHOS_OK)
        code = imports_save(export->turn, &export->record, error);
    imports_release(&export->record);
    if (lock >= 0)
        os_close(lock);
    return code;
}

/* Checks before writing that the export can hold every text. */
static int check_notes(const struct notes *notes, struct ethos_error *error)
{
    for (size_t i = 0; i < notes->count; i++)
        if (notes->rows[i].bytes > ETHOS_MAX_READ_BYTES)
            return err_hint(error,
                            err_set(error, ETHOS_LIMIT, "%s: larger than %d bytes",
                                    notes->rows[i].key, ETHOS_MAX_READ_BYTES),
                            "nothing was exported; shorten it or move it away first");
    return ETHOS_OK;
}

int transfer_export(struct ethos_turn *turn, const struct transfer_request *what, struct str *out,
                    const struct ethos_sync_how *how, struct transfer_place *out_place,
                    struct ethos_error *error)
{
    struct export export = {
        .turn = turn, .what = what, .flags = how->flags, .dir = -1, .place = out_place};
    CLEANUP_STR struct str path;
    bool folder = is_folder(what->format), printed = !what->path || strcmp(what->path, "-") == 0;
    str_init(&path, TRANSFER_PATH - 16);
    *out_place = (struct transfer_place){0};
    int code = ETHOS_OK;
    export.given = json_object();
    if (!export.given)
        code = err_nomem(error);
    else if (printed ? folder : !*what->path)
        code = err_hint(error,
                        err_set(error, ETHOS_INVALID, "%s: no %s given", what->format,
                                folder ? "folder" : "file"),
                        "give its path: ethos export %s %s", what->format, folder ? "DIR" : "FILE");
    else if (!printed)
        code = make_absolute(what->path, &path, error);
    if (code == ETHOS_OK && !printed && !is_dry(&export))
        code = notes_recover(turn, what->scope, error);
    if (code == ETHOS_OK)
        code = notes_load(turn, what->scope, &export.notes, error);
    if (code == ETHOS_OK)
        code = check_notes(&export.notes, error);
    if (code == ETHOS_OK) {
        memcpy(out_place->scope, export.notes.scope, sizeof out_place->scope);
        code = run_recorded(&export, &path, out, error);
    }
    if (export.dir >= 0)
        os_close(export.dir);
    json_decref(export.given);
    notes_free(turn, &export.text);
    notes_release(turn, &export.notes);
    return code;
}
