/*
 * import.c: finds transcripts, reads them, and imports each.
 *
 * Only regular files in the folder are read, as a link may lead anywhere. Names are sorted by
 * bytes, so that two runs do the same. One transcript is in memory at a time.
 */
#include "memory/sessions/import.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/sessions/key.h"
#include "memory/handle.h"
#include "memory/handle_internal.h"
#include "memory/sessions/import_internal.h"

#define FILES_MAX 1000000 /* in one folder and its subfolders */
#define DEPTH_MAX 16      /* folders in folders */
#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY)

#define DAY_MS 86400000

/* ---- telling --------------------------------------------------------------------------------- */

/* sessions_import reports the end itself. */
void import_progress(struct import_run *run, const struct import_source *source, size_t done)
{
    uint64_t part = source->count > 0 ? source->bytes * done / source->count : source->bytes;
    uint64_t all = source->before + part;
    run->total = source->total;
    if (run->what->progress && all < run->total)
        run->what->progress(run->what->progress_arg, all, run->total);
}

static void report_row(const struct import_run *run, const struct sessions_import_row *row)
{
    if (run->what->each)
        run->what->each(run->what->arg, row);
}

/* The row names the file, so the reason need not. */
static void report_skipped(const struct import_run *run, const char *file, const char *format,
                           const struct ethos_error *why)
{
    struct ethos_view name = view_str(file), text = view_str(why->text);
    if (view_starts(text, name) && view_starts(view_from(text, name.size), VIEW(": ")))
        text = view_from(text, name.size + 2);
    const struct sessions_import_row row = {
        .file = file, .effect = "skipped", .format = format, .why = text.data, .code = why->code};
    report_row(run, &row);
}

/* ---- one transcript -------------------------------------------------------------------------- */

struct message_gathering {
    const struct import_run *run;
    struct import_source *source;
};

static void report_note(const struct import_run *run, const char *file, size_t line,
                        const char *what)
{
    if (run->what->note)
        run->what->note(run->what->arg, file, line, what);
}

/* What was read after a place is reported only if the place turns out to be valid. */
static void store_note(struct import_source *source, size_t line, const char *what)
{
    struct import_note *note = arena_alloc(&source->arena, sizeof *note);
    if (!note) {
        source->unfit = true;
        return;
    }
    *note = (struct import_note){NULL, line, what};
    *source->last_note = note;
    source->last_note = &note->next;
}

static void gather_note(void *arg, size_t line, const char *what)
{
    const struct message_gathering *gathering = arg;
    if (gathering->source->from)
        store_note(gathering->source, line, what);
    else
        report_note(gathering->run, gathering->source->row.file, line, what);
}

/* Messages that follow here cannot be earlier: a wrong clock elsewhere must not persist. */
static void clamp_time(struct message_gathering *gathering, struct ethos_message *message)
{
    const struct import_run *run = gathering->run;
    const struct import_source *source = gathering->source;
    const char *before = source->count > 0 ? source->messages[source->count - 1].timestamp : NULL;
    if (!message->timestamp || strcmp(message->timestamp, run->latest) <= 0)
        return;
    message->timestamp = before && strcmp(before, run->now) > 0 ? before : run->now;
    size_t number = source->count + 1 + (source->from ? source->from->messages : 0);
    gather_note(gathering, number, "a time in the future was replaced by the current time");
}

static int gather_message(void *arg, const struct ethos_message *message)
{
    struct import_source *source = ((struct message_gathering *)arg)->source;
    struct ethos_message *list = arena_grow(&source->arena, source->messages, source->count,
                                            &source->capacity, sizeof *list);
    if (!list)
        return ETHOS_NOMEM;
    source->messages = list;
    list[source->count] = *message;
    clamp_time(arg, &list[source->count]);
    source->count++;
    return ETHOS_OK;
}

/* import:<name>~<8 hex of the path>, or of a text without a file. */
static int make_source_name(struct import_source *source, const char *path, struct ethos_view text,
                            struct ethos_error *error)
{
    char hash[HASH_HEX_SIZE];
    CLEANUP_STR struct str name, key;
    const char *slash = path ? strrchr(path, '/') : NULL;
    hash_hex(path ? view_str(path) : text, hash);
    str_init(&name, SIZE_MAX);
    str_init(&key, SIZE_MAX);
    if (slash)
        utf8_sanitize(view_str(slash + 1), &name);
    str_printf(&name, path ? "~%.8s" : "%.32s", hash);
    const struct ethos_view parts[] = {VIEW("import"), str_view(&name)};
    session_key_parts(parts, 2, &key);
    bool whole = str_code(&name) == ETHOS_OK && str_code(&key) == ETHOS_OK;
    source->name = whole ? arena_copy(&source->arena, str_view(&key)) : NULL;
    return source->name ? ETHOS_OK : err_nomem(error);
}

/* Whether a failure is about this transcript, not about the store or the machine. */
static bool is_own_fault(int code)
{
    return code == ETHOS_INVALID || code == ETHOS_LIMIT;
}

static int import_text(struct import_run *run, struct import_source *source, struct ethos_view text,
                       struct ethos_error *error)
{
    struct message_gathering gathering = {run, source};
    source->row.read += text.size;
    int code = transcript_read(text, run->what->format, &source->arena, &source->about,
                               gather_message, gather_note, &gathering, error);
    const char **start = &source->about.session.created_at;
    if (*start && strcmp(*start, run->latest) > 0)
        *start = run->now;
    if (code == ETHOS_OK)
        code = import_write(run, source, error);
    source->row.format = source->about.format;
    if (code == ETHOS_OK)
        report_row(run, &source->row);
    return code;
}

/* Imports a file from a place on, unless the place is invalid: then nothing is reported. */
static int import_from_place(struct import_run *run, struct import_source *source,
                             struct ethos_error *error)
{
    const struct import_file *file = source->file;
    const struct sessions_place *from = source->from;
    const struct transcript_place place = import_place_from(from);
    struct message_gathering gathering = {run, source};
    struct ethos_view text = view_from(file->seen, from->offset - file->seen_from);
    source->row.read = text.size;
    source->last_note = &source->notes;
    int code = transcript_read_on(text, &place, from->format, &source->arena, &source->about,
                                  gather_message, gather_note, &gathering, error);
    source->unfit |= code == ETHOS_CONFLICT;
    if (code == ETHOS_OK && !source->unfit)
        code = import_write(run, source, error);
    source->unfit |= is_own_fault(code);
    if (code != ETHOS_OK || source->unfit)
        return source->unfit ? ETHOS_OK : code;
    source->row.format = source->about.format;
    for (const struct import_note *note = source->notes; note; note = note->next)
        report_note(run, source->row.file, note->line, note->what);
    report_row(run, &source->row);
    return ETHOS_OK;
}

/* path: its real path, or NULL. */
static int import_named(struct import_run *run, struct import_source *source, const char *path,
                        struct ethos_view text, struct ethos_error *error)
{
    arena_init(&source->arena);
    int code = make_source_name(source, path, text, error);
    if (code == ETHOS_OK)
        code = import_text(run, source, text, error);
    arena_release(&source->arena);
    import_progress(run, source, source->count);
    return code;
}

/* Appends the text of an open file; real becomes its path, errors call it `file`. */
static int read_source(int fd, const char *path, const char *file, char real[PATH_MAX],
                       struct str *out, struct ethos_error *error)
{
    if (os_realpath(path, real) != 0)
        return err_errno(error, errno, file);
    return file_read(fd, file, SESSIONS_IMPORT_BYTES, out, NULL, error);
}

/* An error about a requested file names the file. */
static int name_error(const char *file, const struct import_source *source, int code,
                      struct ethos_error *error)
{
    char text[sizeof error->text];
    if (!is_own_fault(code) || !error)
        return code;
    snprintf(text, sizeof text, "%s", error->text);
    err_set(error, code, "%s: %s", file, text);
    return code != ETHOS_INVALID || source->about.format
               ? code
               : err_hint(error, code, "--format selects the format: " TRANSCRIPT_FORMATS);
}

/* ---- folders --------------------------------------------------------------------------------- */

struct found_file {
    const char *file; /* path in the folder */
    uint64_t bytes;
};

struct folder_walk {
    struct import_run *run;
    const char *path;
    struct arena arena;
    struct found_file *list;
    size_t count, capacity;
    uint64_t total;
};

static int add_found_file(struct folder_walk *walk, const char *file, uint64_t bytes,
                          struct ethos_error *error)
{
    if (walk->count == FILES_MAX)
        return err_set(error, ETHOS_LIMIT, "%s: more than %d transcripts", walk->path, FILES_MAX);
    struct found_file *list = arena_grow(&walk->arena, walk->list, walk->count, &walk->capacity,
                                         sizeof *list);
    if (!list)
        return err_nomem(error);
    walk->list = list;
    list[walk->count++] = (struct found_file){file, bytes};
    walk->total += bytes;
    return ETHOS_OK;
}

static int walk_transcripts(struct folder_walk *walk, int dir, const char *prefix, unsigned depth,
                            struct ethos_error *error);

/* A subfolder that cannot be read is reported; the others are imported. */
static int walk_below(struct folder_walk *walk, int dir, const char *name, const char *file,
                      unsigned depth, struct ethos_error *error)
{
    struct ethos_error why = {0};
    int below = depth == DEPTH_MAX ? -1
                                   : os_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (below < 0) {
        if (depth == DEPTH_MAX)
            err_set(&why, ETHOS_LIMIT, "more than %d folders deep", DEPTH_MAX);
        else
            err_errno(&why, errno, file);
        report_skipped(walk->run, file, NULL, &why);
        return ETHOS_OK;
    }
    const char *prefix = arena_printf(&walk->arena, "%s/", file);
    int code = prefix ? walk_transcripts(walk, below, prefix, depth + 1, error) : err_nomem(error);
    os_close(below);
    return code;
}

static int walk_transcripts(struct folder_walk *walk, int dir, const char *prefix, unsigned depth,
                            struct ethos_error *error)
{
    struct dir_names names;
    int code = ETHOS_OK;
    if (dir_names(dir, &walk->arena, FILES_MAX, &names) != 0)
        return err_errno(error, errno, walk->path);
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++) {
        struct stat info;
        struct ethos_view name = view_str(names.list[i]);
        const char *file = arena_printf(&walk->arena, "%s%s", prefix, name.data);
        if (!file)
            return err_nomem(error);
        if (os_fstatat(dir, name.data, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue; // gone meanwhile
        if (S_ISDIR(info.st_mode))
            code = walk_below(walk, dir, name.data, file, depth, error);
        else if (S_ISREG(info.st_mode) &&
                 (view_ends(name, VIEW(".jsonl")) || view_ends(name, VIEW(".json"))))
            code = add_found_file(walk, file, (uint64_t)info.st_size, error);
    }
    return code;
}

/* Imports a file of a folder. */
static int read_found(const struct folder_walk *walk, int dir, const char *file,
                      char real[PATH_MAX], struct str *out, struct ethos_error *error)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", walk->path, file) >= PATH_MAX)
        return err_set(error, ETHOS_LIMIT, "its path is too long");
    CLEANUP_FD int fd = os_open_beneath(dir, file, OPEN_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return err_errno(error, errno, file);
    return read_source(fd, path, file, real, out, error);
}

static int import_found_file(struct folder_walk *walk, int dir, const struct found_file *found,
                             uint64_t before, struct ethos_error *error)
{
    struct import_source source = {
        .row.file = found->file, .bytes = found->bytes, .before = before, .total = walk->total};
    struct ethos_error why = {0};
    struct str text;
    char real[PATH_MAX];
    str_init(&text, SESSIONS_IMPORT_BYTES);
    int code = read_found(walk, dir, found->file, real, &text, &why);
    bool left = code != ETHOS_OK && code != ETHOS_NOMEM;
    if (code == ETHOS_OK) {
        code = import_named(walk->run, &source, real, str_view(&text), &why);
        left = is_own_fault(code);
    }
    str_release(&text);
    if (left)
        report_skipped(walk->run, found->file, source.about.format, &why);
    else if (code != ETHOS_OK && error)
        *error = why;
    return left ? ETHOS_OK : code;
}

static int import_folder(struct import_run *run, int dir, struct ethos_error *error)
{
    struct folder_walk walk = {.run = run, .path = run->what->path};
    uint64_t before = 0;
    arena_init(&walk.arena);
    int code = walk_transcripts(&walk, dir, "", 0, error);
    if (code == ETHOS_OK && walk.count == 0)
        code = err_set(error, ETHOS_NOTFOUND, "%s: no transcript in it, neither *.jsonl nor *.json",
                       walk.path);
    for (size_t i = 0; code == ETHOS_OK && i < walk.count; i++) {
        code = import_found_file(&walk, dir, &walk.list[i], before, error);
        before += walk.list[i].bytes;
    }
    arena_release(&walk.arena);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int not_there(const char *path, int errnum, struct ethos_error *error)
{
    int code = err_errno(error, errnum, path);
    return code != ETHOS_NOTFOUND
               ? code
               : err_hint(error, code,
                          "Claude Code keeps its transcripts in ~/.claude/projects, Codex in "
                          "~/.codex/sessions");
}

static bool wants_place(const struct import_run *run)
{
    return run->what->place && !run->what->dry_run;
}

/* row: the result so far, updated. */
static int import_whole_file(struct import_run *run, int fd, const struct stat *info,
                             struct sessions_import_row row, struct ethos_error *error)
{
    uint64_t bytes = (uint64_t)info->st_size;
    struct import_source source = {.row = row, .bytes = bytes, .total = bytes};
    struct import_file file = {.info = *info};
    CLEANUP_STR struct str text;
    char real[PATH_MAX];
    str_init(&text, SESSIONS_IMPORT_BYTES);
    int code = read_source(fd, row.file, row.file, real, &text, error);
    file.seen = str_view(&text);
    source.file = wants_place(run) ? &file : NULL;
    if (code == ETHOS_OK) {
        code = import_named(run, &source, real, str_view(&text), error);
        code = name_error(row.file, &source, code, error);
    }
    return code;
}

/*
 * Imports from the place on; *out_done is false if all of the file must be read, continuing the
 * row.
 */
static int import_rest_of_file(struct import_run *run, int fd, const struct stat *info,
                               struct sessions_import_row *row, bool *out_done,
                               struct ethos_error *error)
{
    const struct sessions_place from = *run->what->place;
    struct import_file file;
    struct import_source source = {
        .row = *row, .total = (uint64_t)info->st_size, .file = &file, .from = &from};
    CLEANUP_STR struct str text;
    int code = ETHOS_OK;
    str_init(&text, SESSIONS_IMPORT_BYTES);
    arena_init(&source.arena);
    *run->what->place = (struct sessions_place){0};
    source.unfit = !import_place_open(run, fd, info, &from, &text, &file);
    if (!source.unfit)
        code = import_from_place(run, &source, error);
    if (code != ETHOS_OK)
        *run->what->place = from;
    run->total = source.total;
    row->messages = source.row.messages;
    row->read = source.row.read;
    *out_done = !source.unfit;
    arena_release(&source.arena);
    return code;
}

static int import_file(struct import_run *run, int fd, const struct stat *info,
                       struct ethos_error *error)
{
    struct sessions_import_row row = {.file = run->what->path};
    bool done = false;
    int code = ETHOS_OK;
    if (wants_place(run))
        code = import_rest_of_file(run, fd, info, &row, &done, error);
    if (code == ETHOS_OK && !done && run->turn->ethos->brief &&
        info->st_size > SESSIONS_BRIEF_BYTES) {
        code = err_set(error, ETHOS_LIMIT, "%s: larger than %d bytes", row.file,
                       SESSIONS_BRIEF_BYTES);
        err_hint(error, code, "import it with: ethos sessions import %s", row.file);
    }
    return code != ETHOS_OK || done ? code : import_whole_file(run, fd, info, row, error);
}

static int import_path(struct import_run *run, struct ethos_error *error)
{
    const char *path = run->what->path;
    struct stat info;
    int code;
    CLEANUP_FD int fd = os_openat(AT_FDCWD, path, OPEN_FLAGS, 0);
    if (fd < 0)
        return not_there(path, errno, error);
    if (os_fstat(fd, &info) != 0) {
        code = err_errno(error, errno, path);
    } else if (S_ISDIR(info.st_mode) && !run->what->place) {
        code = import_folder(run, fd, error);
    } else if (S_ISREG(info.st_mode)) {
        code = import_file(run, fd, &info, error);
    } else {
        code = err_set(error, ETHOS_INVALID, "%s: neither a file nor a folder", path);
        err_hint(error, code, "- reads standard input");
    }
    return code;
}

static int import_input(struct import_run *run, struct ethos_error *error)
{
    struct ethos_view text = run->what->text;
    struct import_source source = {.row.file = "-", .bytes = text.size, .total = text.size};
    int code = import_named(run, &source, NULL, text, error);
    return name_error("standard input", &source, code, error);
}

int sessions_import(struct ethos_turn *turn, const struct sessions_import *what,
                    struct ethos_error *error)
{
    struct import_run run = {.turn = turn, .what = what};
    int64_t now = service_now_ms(turn->ethos);
    clock_iso(now, run.now);
    clock_iso(now + DAY_MS, run.latest);
    TRY(ethos_sessions(turn->ethos, &run.store, error));
    int code = strcmp(what->path, "-") == 0 ? import_input(&run, error) : import_path(&run, error);
    if (run.changed && !turn->ethos->brief)
        run.store->ops->settle(run.store, NULL); // otherwise the next search does it
    if (what->progress)
        what->progress(what->progress_arg, run.total, run.total);
    return code;
}
