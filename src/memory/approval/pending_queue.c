/*
 * pending_queue.c: the queue of writes that wait for approval.
 */
#include "memory/approval/pending_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/home/directory.h"

#define LOCK_NAME "pending"
#define MAX_SCOPES 1000000 /* scopes in one folder */

/* ---- opening ----------------------------------------------------------------------------------- */

static int open_queue_folder(int root, const char *scope, bool create, int *out,
                             struct ethos_error *error)
{
    char folder[SCOPE_FOLDER_SIZE];
    int code = scope_folder(scope, folder, error);
    *out = -1;
    if (code != ETHOS_OK)
        return code;
    int fd = root < 0 ? -1 : os_open_beneath(root, folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 && root >= 0 && errno == ENOENT && create && os_mkdirs(root, folder) == 0)
        fd = os_open_beneath(root, folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 && root >= 0 && (create || errno != ENOENT))
        return err_errno(error, errno, folder);
    *out = fd;
    return ETHOS_OK;
}

static bool is_expired(const struct pending_queue *self, const struct pending *pending)
{
    return pending->proposed_ms <= self->now_ms - self->limits.days * DAY_MS;
}

static struct pending_line *add_queue_line(struct pending_queue *self)
{
    struct pending_line *lines = arena_grow(&self->arena, self->lines, self->count, &self->capacity,
                                            sizeof *lines);
    if (!lines)
        return NULL;
    self->lines = lines;
    lines[self->count] = (struct pending_line){0};
    return &lines[self->count++];
}

/* *out is NULL if it is not JSON. ETHOS_OK or ETHOS_NOMEM. */
static int parse_line(struct ethos_view line, json_t **out)
{
    *out = NULL;
    if (view_blank(line))
        return ETHOS_OK;
    int code = json_parse_most(line, PENDING_MAX_BYTES, "line", out, NULL);
    if (code != ETHOS_OK)
        *out = NULL;
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static int read_queue_lines(struct pending_queue *self, struct ethos_error *error)
{
    struct ethos_view rest = str_view(&self->text), raw;
    while (view_line(&rest, &raw)) {
        if (view_blank(raw))
            continue;
        struct pending_line *line = add_queue_line(self);
        if (!line)
            return err_nomem(error);
        line->raw = raw;
        if (parse_line(raw, &line->row) != ETHOS_OK)
            return err_nomem(error);
        if (line->row && !pending_read(line->row, &line->pending)) {
            json_decref(line->row);
            line->row = NULL;
        }
        if (line->row && is_expired(self, &line->pending))
            pending_queue_close_line(line, CLOSED_EXPIRED, NULL);
    }
    return ETHOS_OK;
}

static int open_queue(int root, const char *scope, const struct pending_limits *limits,
                      int64_t now_ms, bool locks, struct pending_queue *out,
                      struct ethos_error *error)
{
    *out = (struct pending_queue){.dir = -1, .lock = -1, .now_ms = now_ms, .limits = *limits};
    snprintf(out->scope, sizeof out->scope, "%s", scope);
    arena_init(&out->arena);
    str_init(&out->text, PENDING_MAX_BYTES + 1);
    int code = open_queue_folder(root, scope, locks, &out->dir, error);
    if (code == ETHOS_OK && locks)
        code = home_lock(out->dir, LOCK_NAME, &out->lock, error);
    if (code != ETHOS_OK || out->dir < 0)
        return code;
    code = home_read(out->dir, PENDING_FILE, PENDING_MAX_BYTES, &out->text, NULL, error);
    if (code == ETHOS_NOTFOUND)
        return ETHOS_OK;
    return code == ETHOS_OK ? read_queue_lines(out, error) : code;
}

int pending_queue_read(int root, const char *scope, const struct pending_limits *limits,
                       int64_t now_ms, struct pending_queue *out, struct ethos_error *error)
{
    return open_queue(root, scope, limits, now_ms, false, out, error);
}

int pending_queue_open(int root, const char *scope, const struct pending_limits *limits,
                       int64_t now_ms, struct pending_queue *out, struct ethos_error *error)
{
    return open_queue(root, scope, limits, now_ms, true, out, error);
}

void pending_queue_release(struct pending_queue *self)
{
    for (size_t i = 0; i < self->count; i++)
        json_decref(self->lines[i].row);
    if (self->lock >= 0)
        os_close(self->lock);
    if (self->dir >= 0)
        os_close(self->dir);
    arena_release(&self->arena);
    str_release(&self->text);
    *self = (struct pending_queue){.dir = -1, .lock = -1};
}

/* ---- changing ---------------------------------------------------------------------------------- */

struct pending_line *pending_queue_find(struct pending_queue *self, struct ethos_view id)
{
    for (size_t i = 0; i < self->count; i++) {
        struct pending_line *line = &self->lines[i];
        if (line->row && !line->reason && view_eq_str(id, line->pending.id))
            return line;
    }
    return NULL;
}

void pending_queue_close_line(struct pending_line *line, const char *reason, const char *by)
{
    line->reason = reason;
    line->by = by;
}

void pending_queue_note_edit(struct pending_line *line)
{
    line->changed = true;
    pending_read(line->row, &line->pending);
}

static struct pending_line *find_oldest(struct pending_queue *self, size_t *out_waiting)
{
    struct pending_line *oldest = NULL;
    *out_waiting = 0;
    for (size_t i = 0; i < self->count; i++) {
        struct pending_line *line = &self->lines[i];
        if (!line->row || line->reason)
            continue;
        ++*out_waiting;
        if (!oldest || line->pending.proposed_ms < oldest->pending.proposed_ms)
            oldest = line;
    }
    return oldest;
}

int pending_queue_add(struct pending_queue *self, json_t *row, struct ethos_error *error)
{
    size_t waiting;
    struct pending_line *oldest, *line = row ? add_queue_line(self) : NULL;
    if (!line || !pending_read(row, &line->pending)) {
        json_decref(row);
        return err_nomem(error);
    }
    line->row = row;
    line->changed = true;
    while ((oldest = find_oldest(self, &waiting)) && waiting > self->limits.cap)
        pending_queue_close_line(oldest, CLOSED_OVERFLOW, NULL);
    return ETHOS_OK;
}

/* ---- saving ------------------------------------------------------------------------------------ */

static int append_row(const json_t *row, struct str *out)
{
    TRY(json_print(row, JSON_STYLE_LINE, out));
    return str_addc(out, '\n');
}

static int append_closed(const struct pending_queue *self, const struct pending_line *line,
                         struct str *out)
{
    json_t *row = json_copy(line->row);
    bool made = row &&
                json_object_set_new(row, "closedAt", json_integer((json_int_t)self->now_ms)) == 0 &&
                json_object_set_new(row, "reason", json_string(line->reason)) == 0 &&
                (!line->by || json_object_set_new(row, "by", json_text(view_str(line->by))) == 0);
    int code = made ? append_row(row, out) : ETHOS_NOMEM;
    json_decref(row);
    return code;
}

/*
 * Tombstones in the common format: for what a person rejected for good, and for lines with a fact
 * hash that were rejected or have expired.
 */
static int append_tombstone(const struct pending_queue *self, const struct pending_line *line,
                            struct str *out)
{
    char hash[HASH_HEX_SIZE];
    const char *fact = line->pending.fact_hash;
    bool never = strcmp(line->reason, CLOSED_NEVER) == 0;
    bool leaves = never || (fact && (strcmp(line->reason, CLOSED_REJECTED) == 0 ||
                                     strcmp(line->reason, CLOSED_EXPIRED) == 0));
    if (!leaves)
        return ETHOS_OK;
    if (never && pending_fact_hash(&line->pending, hash) != ETHOS_OK)
        return ETHOS_NOMEM;
    json_t *row = json_pack("{s:s, s:I, s:s}", "factHash", never ? hash : fact, "ts",
                            (json_int_t)self->now_ms, "reason", line->reason);
    int code = row ? append_row(row, out) : ETHOS_NOMEM;
    json_decref(row);
    return code;
}

/* Appends whole lines to a file durably, starting a new line. */
static int append_file(const struct pending_queue *self, const char *name, struct ethos_view lines,
                       struct ethos_error *error)
{
    struct stat info;
    char last = '\n';
    if (lines.size == 0)
        return ETHOS_OK;
    int fd = os_open_beneath(self->dir, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0);
    bool made = fd < 0 && errno == ENOENT;
    if (made)
        fd = os_open_beneath(self->dir, name, O_RDWR | O_APPEND | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return err_errno(error, errno, name);
    bool done = os_fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                (info.st_size == 0 || os_pread(fd, &last, 1, (uint64_t)info.st_size - 1) == 1) &&
                (last == '\n' || os_write(fd, "\n", 1) == 1);
    for (size_t at = 0; done && at < lines.size;) {
        ssize_t wrote = os_write(fd, lines.data + at, lines.size - at);
        done = wrote > 0;
        at += done ? (size_t)wrote : 0;
    }
    done = done && os_fdatasync(fd) == 0 && (!made || os_fsync(self->dir) == 0);
    int code = done ? ETHOS_OK : err_errno(error, errno, name);
    os_close(fd);
    return code;
}

struct saving {
    struct str tombstones, closed, queue;
    bool changed;
};

static int collect_saved_lines(struct pending_queue *self, struct saving *saving)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < self->count; i++) {
        const struct pending_line *line = &self->lines[i];
        saving->changed |= line->changed || line->reason;
        if (line->reason && (code = append_tombstone(self, line, &saving->tombstones)) == ETHOS_OK)
            code = append_closed(self, line, &saving->closed);
        else if (line->changed)
            code = append_row(line->row, &saving->queue);
        else if (str_add(&saving->queue, line->raw) == ETHOS_OK)
            code = str_addc(&saving->queue, '\n');
    }
    return code != ETHOS_OK ? code : str_code(&saving->queue);
}

int pending_queue_save(struct pending_queue *self, struct ethos_error *error)
{
    struct saving saving = {0};
    str_init(&saving.tombstones, PENDING_MAX_BYTES);
    str_init(&saving.closed, PENDING_MAX_BYTES);
    str_init(&saving.queue, PENDING_MAX_BYTES);
    int code = collect_saved_lines(self, &saving);
    if (code != ETHOS_OK)
        code = code == ETHOS_LIMIT
                   ? err_set(error, code, PENDING_FILE ": the approval queue is too large")
                   : err_nomem(error);
    if (code == ETHOS_OK)
        code = append_file(self, PENDING_TOMBSTONES_FILE, str_view(&saving.tombstones), error);
    if (code == ETHOS_OK)
        code = append_file(self, PENDING_CLOSED_FILE, str_view(&saving.closed), error);
    if (code == ETHOS_OK && saving.changed)
        code = home_replace(self->dir, "", PENDING_FILE, str_view(&saving.queue), error);
    str_release(&saving.tombstones);
    str_release(&saving.closed);
    str_release(&saving.queue);
    return code;
}

/* ---- what was proposed, and what is not to be ---------------------------------------------------- */

static void measure_row(const struct pending_queue *self, const struct pending *pending,
                        struct pending_usage *usage)
{
    if (pending->trust && strcmp(pending->trust, "untrusted") == 0 &&
        pending->proposed_ms > self->now_ms - DAY_MS) {
        usage->writes++;
        usage->bytes += pending->text.size;
    }
}

int pending_queue_measure(struct pending_queue *self, struct pending_usage *out,
                          struct ethos_error *error)
{
    CLEANUP_STR struct str text;
    struct ethos_view rest, line;
    struct pending pending;
    *out = (struct pending_usage){0};
    for (size_t i = 0; i < self->count; i++)
        if (self->lines[i].row && !self->lines[i].reason)
            measure_row(self, &self->lines[i].pending, out);
    str_init(&text, PENDING_MAX_BYTES + 1);
    int code = home_read(self->dir, PENDING_CLOSED_FILE, PENDING_MAX_BYTES, &text, NULL, error);
    rest = str_view(&text);
    while (code == ETHOS_OK && view_line(&rest, &line)) {
        json_t *row;
        if (parse_line(line, &row) != ETHOS_OK)
            code = err_nomem(error);
        if (row && pending_read(row, &pending))
            measure_row(self, &pending, out);
        json_decref(row);
    }
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int find_in(struct ethos_view text, const char *fact_hash, struct arena *arena,
                   const char **out_reason)
{
    struct ethos_view line;
    while (view_line(&text, &line)) {
        json_t *row = NULL;
        if (view_contains(line, view_str(fact_hash)) && parse_line(line, &row) != ETHOS_OK)
            return ETHOS_NOMEM;
        struct ethos_view reason = json_view(row, "reason");
        bool fits = row && view_eq_str(json_view(row, "factHash"), fact_hash);
        if (fits)
            *out_reason = arena_copy(arena, reason.data ? reason : VIEW(CLOSED_REJECTED));
        json_decref(row);
        if (fits && !*out_reason)
            return ETHOS_NOMEM;
    }
    return ETHOS_OK;
}

int pending_queue_find_tombstone(int root, const char *scope, const char *fact_hash,
                                 struct arena *arena, const char **out_reason,
                                 struct ethos_error *error)
{
    int dir;
    CLEANUP_STR struct str text = {0};
    *out_reason = NULL;
    int code = open_queue_folder(root, scope, false, &dir, error);
    if (code != ETHOS_OK || dir < 0)
        return code;
    str_init(&text, PENDING_MAX_BYTES + 1);
    code = home_read(dir, PENDING_TOMBSTONES_FILE, PENDING_MAX_BYTES, &text, NULL, error);
    os_close(dir);
    if (code == ETHOS_OK && find_in(str_view(&text), fact_hash, arena, out_reason) != ETHOS_OK)
        code = err_nomem(error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* ---- all queues --------------------------------------------------------------------------------- */

static bool has_queue(int root, const char *scope)
{
    struct stat info;
    char folder[SCOPE_FOLDER_SIZE], path[SCOPE_FOLDER_SIZE + 32];
    if (scope_folder(scope, folder, NULL) != ETHOS_OK)
        return false;
    snprintf(path, sizeof path, "%s/" PENDING_FILE, folder);
    return os_fstatat(root, path, &info, 0) == 0 && info.st_size > 0;
}

static int each_of_kind(int root, enum scope_kind kind, pending_scope_fn *each, void *arg,
                        struct ethos_error *error)
{
    char folder[SCOPE_FOLDER_SIZE], scope[ETHOS_MAX_SCOPE];
    struct ethos_view before, after;
    struct dir_names names = {0};
    CLEANUP_ARENA struct arena arena = {0};
    scope_place(kind, &before, &after);
    snprintf(folder, sizeof folder, "%.*s", (int)before.size - 1, before.data);
    int dir = os_open_beneath(root, folder, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return errno == ENOENT || errno == ENOTDIR ? ETHOS_OK : err_errno(error, errno, folder);
    arena_init(&arena);
    int code = dir_names(dir, &arena, MAX_SCOPES, &names) == 0 ? ETHOS_OK
                                                               : err_errno(error, errno, folder);
    os_close(dir);
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++)
        if (scope_make(kind, names.list[i], scope, NULL) == ETHOS_OK && has_queue(root, scope))
            code = each(arg, scope);
    return code;
}

int pending_queue_each_scope(int root, pending_scope_fn *each, void *arg, struct ethos_error *error)
{
    static const enum scope_kind kinds[] = {SCOPE_PERSONALITY, SCOPE_TEAM, SCOPE_USER,
                                            SCOPE_WORKSPACE};
    int code = root >= 0 && has_queue(root, "global") ? each(arg, "global") : ETHOS_OK;
    for (size_t i = 0; root >= 0 && code == ETHOS_OK && i < sizeof kinds / sizeof *kinds; i++)
        code = each_of_kind(root, kinds[i], each, arg, error);
    return code;
}
