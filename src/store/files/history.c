/*
 * history.c: lists the recorded changes of a scope, newest first, by reading backwards from the
 * end.
 *
 * The last few changes cost no more than their own lines. A line that voids others comes after
 * them, so it is read first. Reading takes no lock: a live file that is rotated meanwhile is found
 * again under its new name, and skipped.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"

#define FIRST_STEP 16384  /* bytes that are read first */
#define MOST_STEP 1048576 /* and at once */

struct seq_range {
    uint64_t first, last;
};

struct history_walk {
    struct files *self;
    int dir;
    const char *path; /* of dir */
    const char *key;  /* or NULL */
    ethos_change_fn *each;
    void *arg;
    struct ethos_error *error;
    struct arena arena;
    struct seq_range *voids;
    size_t void_count, void_capacity;
    struct stat live;
};

/* ---- one line -------------------------------------------------------------------------------- */

/*
 * A number is voided once: where git merged two histories, an older line of that number is from
 * the other side.
 */
static bool is_voided(struct history_walk *r, uint64_t seq)
{
    for (size_t i = 0; i < r->void_count; i++) {
        struct seq_range *range = &r->voids[i];
        if (seq < range->first || seq > range->last)
            continue;
        range->last = seq - 1;
        return true;
    }
    return false;
}

static int report_record(struct history_walk *r, const struct history_record *record,
                         struct arena *arena)
{
    struct ethos_change change;
    if (r->key && !view_eq_str(record->key, r->key))
        return ETHOS_OK;
    if (record->voids_first > 0) {
        struct seq_range *voids = arena_grow(&r->arena, r->voids, r->void_count, &r->void_capacity,
                                             sizeof *voids);
        if (!voids)
            return err_nomem(r->error);
        r->voids = voids;
        r->voids[r->void_count++] = (struct seq_range){record->voids_first, record->voids_last};
        return ETHOS_OK;
    }
    if (is_voided(r, record->seq))
        return ETHOS_OK;
    files_version_cache_add(r->self, record);
    return history_change(record, arena, &change) == ETHOS_OK ? r->each(r->arg, &change)
                                                              : err_nomem(r->error);
}

/* Skips lines that are no records. */
static int walk_line(struct history_walk *r, struct ethos_view line)
{
    struct arena arena;
    struct history_record record;
    if (line.size == 0 || (r->key && !history_line_is(line, r->key)))
        return ETHOS_OK;
    arena_init(&arena);
    int code = history_parse(line, &arena, &record);
    code = code == ETHOS_OK      ? report_record(r, &record, &arena)
           : code == ETHOS_NOMEM ? err_nomem(r->error)
                                 : ETHOS_OK;
    arena_release(&arena);
    return code;
}

/* ---- one file -------------------------------------------------------------------------------- */

/* Prepends the bytes [from, to) of a file. */
static int prepend_bytes(const struct history_walk *r, int fd, uint64_t from, uint64_t to,
                         struct str *part)
{
    size_t more = to - from, kept = part->size, got = 0;
    if (str_reserve(part, more) != ETHOS_OK)
        return err_nomem(r->error);
    memmove(part->data + more, part->data, kept);
    while (got < more) {
        ssize_t size = os_pread(fd, part->data + got, more - got, from + got);
        if (size < 0)
            return files_errno(r->self, errno, r->path, r->error);
        if (size == 0) { // truncated meanwhile: what followed has been reported
            memset(part->data + got, '\n', more - got);
            break;
        }
        got += (size_t)size;
    }
    part->size = more + kept;
    part->data[part->size] = 0;
    return ETHOS_OK;
}

/* Reports the whole lines, last one first; a first line that may begin earlier stays. */
static int walk_lines(struct history_walk *r, struct str *part, bool whole)
{
    struct ethos_view line, lines = str_view(part);
    const char *end = memchr(lines.data, '\n', lines.size);
    size_t head = whole ? 0 : end ? (size_t)(end - lines.data) + 1 : lines.size;
    int code = ETHOS_OK;
    lines = view_from(lines, head);
    while (code == ETHOS_OK && view_last_line(&lines, &line))
        code = walk_line(r, line);
    str_truncate(part, head);
    return code;
}

static int walk_backwards(struct history_walk *r, int fd, uint64_t size)
{
    struct str part;
    uint64_t step = FIRST_STEP;
    int code = ETHOS_OK;
    str_init(&part, ETHOS_MAX_HISTORY_BYTES);
    for (uint64_t from; code == ETHOS_OK && size > 0; size = from) {
        from = size > step ? size - step : 0;
        code = prepend_bytes(r, fd, from, size, &part);
        if (code == ETHOS_OK)
            code = walk_lines(r, &part, from == 0);
        step = step < MOST_STEP ? 2 * step : step;
    }
    str_release(&part);
    return code;
}

/* A missing file has no lines; the live file is not read again under its rotated name. */
static int walk_file(struct history_walk *r, const char *name)
{
    struct stat info;
    bool live = strcmp(name, FILES_HISTORY) == 0;
    int code = ETHOS_OK;
    int fd = os_openat(r->dir, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(r->self, errno, r->path, r->error);
    if (os_fstat(fd, &info) != 0)
        code = files_errno(r->self, errno, r->path, r->error);
    else if (live || info.st_ino != r->live.st_ino || info.st_dev != r->live.st_dev)
        code = walk_backwards(r, fd, (uint64_t)info.st_size);
    if (live && code == ETHOS_OK)
        r->live = info;
    os_close(fd);
    return code;
}

static int walk_rotated(struct history_walk *r)
{
    CLEANUP_NAMES struct files_names names;
    TRY(files_names_read(r->self, r->dir, r->path, &names, r->error));
    for (size_t i = names.count; i-- > 0;)
        if (files_is_history(names.sorted[i]) && strcmp(names.sorted[i], FILES_HISTORY) != 0)
            TRY(walk_file(r, names.sorted[i]));
    return ETHOS_OK;
}

int files_history(struct ethos_store *store, const char *scope, const char *key,
                  ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    char path[FILES_PATH_SIZE];
    struct history_walk r = {.self = (struct files *)store,
                             .path = path,
                             .key = key,
                             .each = each,
                             .arg = arg,
                             .error = error};
    r.dir = files_scope_open((struct files *)store, scope, path, error);
    if (r.dir < 0)
        return r.dir == ETHOS_NOTFOUND ? ETHOS_OK : r.dir;
    arena_init(&r.arena);
    files_version_cache_begin(r.self, r.dir, scope);
    int code = walk_file(&r, FILES_HISTORY);
    if (code == ETHOS_OK)
        code = walk_rotated(&r);
    arena_release(&r.arena);
    os_close(r.dir);
    return code;
}
