/*
 * files_ops.c: the operations a scope remembers, in its .mem/ops: one record (opid.h) per line, the
 * newest last.
 *
 * Everything that can fail early does: the record is made and the file opened while the texts are
 * still drafts, so that after publishing there is one write and one sync left. What a dead writer
 * left of a line is ignored and cut off; a line that is no record is passed over. Only calls with
 * an operation id come here at all.
 *
 * At least ETHOS_OPID_COUNT operations and those of the last ETHOS_OPID_DAYS days are kept. Once
 * more than ETHOS_OPID_COUNT may go, the file is written anew without them. It is read whole: past
 * ETHOS_MAX_STORE_BYTES, operation ids are refused with ETHOS_LIMIT until the oldest have aged.
 *
 * Not promised: when the process or the machine stops after the texts were published and before the
 * record was synced, a retry applies the operation again. That closes with the history journal,
 * which is written before the texts are; this file then becomes a cache of it.
 */
#include "store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/os.h"
#include "base/view.h"
#include "store/opid.h"

#define OPS "ops"
#define OPS_DRAFT ".ops" FILES_DRAFT /* no key begins with a dot */
#define PATH_SIZE (FILES_PATH_SIZE + sizeof "/" FILES_MEM "/" OPS)
#define DAY_MS 86400000

void files_ops_init(struct files_ops *ops)
{
    *ops = (struct files_ops){.mem = -1, .fd = -1};
    str_init(&ops->record, ETHOS_MAX_STORE_BYTES);
}

/* Where it is, for messages. */
static void name_file(const struct files_hold *hold, char out[PATH_SIZE])
{
    bool top = strcmp(hold->path, ".") == 0;
    snprintf(out, PATH_SIZE, "%s%s" FILES_MEM "/" OPS, top ? "" : hold->path, top ? "" : "/");
}

static int fail(const struct files *self, const struct files_hold *hold, struct ethos_error *error)
{
    int errnum = errno;
    char path[PATH_SIZE];
    name_file(hold, path);
    return files_fail(self, errnum, path, error);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int load(struct files *self, const struct files_hold *hold, struct files_ops *ops,
                struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, 0};
    char path[PATH_SIZE];
    ops->text.size = 0;
    if (hold->dir < 0)
        return ETHOS_OK;
    int fd = os_open_beneath(hold->dir, FILES_MEM "/" OPS, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_OK : fail(self, hold, error);
    name_file(hold, path);
    int code = files_load(self, fd, path, &whole, &ops->text, NULL, error);
    os_close(fd);
    return code;
}

/* What ends in a line end. */
static struct ethos_view whole_lines(const struct files_ops *ops)
{
    const char *text = ops->text.data;
    const char *last = ops->text.size ? memrchr(text, '\n', ops->text.size) : NULL;
    return view_of(text, last ? (size_t)(last + 1 - text) : 0);
}

int files_ops_recall(struct files *self, const struct files_hold *hold, struct files_ops *ops,
                     const struct ethos_origin *origin, struct ethos_edit *edits, size_t count,
                     struct ethos_error *error)
{
    char quoted[ETHOS_MAX_OPID + 3];
    if (!opid_given(origin))
        return ETHOS_NOTFOUND;
    int code = load(self, hold, ops, error);
    if (code != ETHOS_OK)
        return code;
    snprintf(quoted, sizeof quoted, "\"%s\"", origin->op_id);
    struct ethos_view line, needle = view_str(quoted), rest = whole_lines(ops);
    code = ETHOS_NOTFOUND;
    while (code == ETHOS_NOTFOUND && view_line(&rest, &line)) {
        if (view_contains(line, needle)) // parsing every line would take long
            code = opid_recall(line, origin, edits, count, error);
    }
    return code;
}

/* ---- forgetting ----------------------------------------------------------------------------- */

/* The lines of a text from the last one back; false before the first. */
static bool last_line(struct ethos_view *rest, struct ethos_view *out_line)
{
    if (rest->size == 0)
        return false;
    size_t end = rest->size - 1; // every line has its end
    const char *before = end ? memrchr(rest->data, '\n', end) : NULL;
    size_t start = before ? (size_t)(before + 1 - rest->data) : 0;
    *out_line = view_of(rest->data + start, end - start);
    rest->size = start;
    return true;
}

/*
 * Whether more than ETHOS_OPID_COUNT lines are too many: as they are in order of time, whether the
 * first record behind that many is too old.
 */
static bool is_due(struct ethos_view lines, int64_t oldest_ms)
{
    struct ethos_view line;
    int64_t time = -1;
    size_t count = 0;
    for (struct ethos_view rest = lines; view_line(&rest, &line);)
        count++;
    for (size_t i = 0; i + ETHOS_OPID_COUNT < count && time < 0 && view_line(&lines, &line); i++) {
        if (i >= ETHOS_OPID_COUNT)
            time = opid_time(line);
    }
    return time >= 0 && time < oldest_ms;
}

/* The end of lines that stays. */
static struct ethos_view recent(struct ethos_view lines, int64_t oldest_ms)
{
    struct ethos_view line, rest = lines;
    size_t count = 0, start = 0;
    if (!is_due(lines, oldest_ms))
        return lines;
    while (last_line(&rest, &line)) {
        int64_t time = opid_time(line);
        if (time < 0)
            continue;
        if (count >= ETHOS_OPID_COUNT && time < oldest_ms)
            break;
        count++;
        start = rest.size;
    }
    return view_from(lines, start);
}

static int write_draft(int dir, struct ethos_view text)
{
    int fd = files_draft_create(dir, OPS_DRAFT);
    if (fd < 0)
        return -1;
    int failed = os_write_all(fd, text.data, text.size) != 0 || os_fdatasync(fd) != 0;
    int saved = errno;
    if (os_close(fd) != 0 && !failed)
        return -1;
    errno = saved;
    return failed ? -1 : 0;
}

static int rewrite(struct files *self, struct files_hold *hold, const struct files_ops *ops,
                   struct ethos_view text, struct ethos_error *error)
{
    int code = files_hold_tmp(self, hold, error);
    if (code != ETHOS_OK)
        return code;
    if (write_draft(hold->tmp, text) == 0 &&
        os_renameat(hold->tmp, OPS_DRAFT, ops->mem, OPS, 0) == 0)
        return ETHOS_OK;
    code = fail(self, hold, error);
    os_unlinkat(hold->tmp, OPS_DRAFT, 0);
    return code;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Opens the file for appending, making it if need be. */
static int open_file(struct files_ops *ops)
{
    const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    ops->fd = os_openat(ops->mem, OPS, flags, 0);
    if (ops->fd < 0 && errno == ENOENT) {
        ops->fd = os_openat(ops->mem, OPS, flags | O_CREAT | O_EXCL, 0600);
        ops->made = ops->fd >= 0;
    }
    return ops->fd < 0 ? -1 : 0;
}

/* Leaves the file open with nothing but whole lines in it, its name durable. */
static int open_clean(struct files *self, struct files_hold *hold, struct files_ops *ops,
                      int64_t now_ms, struct ethos_error *error)
{
    struct ethos_view lines = whole_lines(ops);
    struct ethos_view kept = recent(lines, now_ms - (int64_t)ETHOS_OPID_DAYS * DAY_MS);
    bool anew = kept.size < lines.size;
    ops->mem = os_open_beneath(hold->dir, FILES_MEM, O_RDONLY | O_DIRECTORY, 0);
    if (ops->mem < 0)
        return fail(self, hold, error);
    int code = anew ? rewrite(self, hold, ops, kept, error) : ETHOS_OK;
    if (code != ETHOS_OK)
        return code;
    if (open_file(ops) != 0)
        return fail(self, hold, error);
    if (!anew && ops->text.size > lines.size && os_ftruncate(ops->fd, lines.size) != 0)
        return fail(self, hold, error);
    if ((anew || ops->made) && self->durable && os_fsync(ops->mem) != 0)
        return fail(self, hold, error);
    return ETHOS_OK;
}

int files_ops_prepare(struct files *self, struct files_hold *hold, struct files_ops *ops,
                      const struct ethos_origin *origin, const struct ethos_edit *edits,
                      size_t count, struct ethos_error *error)
{
    if (!opid_given(origin))
        return ETHOS_OK;
    int64_t now_ms = self->host->now_ms(self->host->arg);
    int code = opid_record(origin, now_ms, edits, count, &ops->record, error);
    if (code == ETHOS_OK && str_addc(&ops->record, '\n') != ETHOS_OK)
        code = err_nomem(error);
    return code == ETHOS_OK ? open_clean(self, hold, ops, now_ms, error) : code;
}

int files_ops_append(const struct files *self, const struct files_hold *hold,
                     const struct files_ops *ops, struct ethos_error *error)
{
    char path[PATH_SIZE], shown[PATH_MAX];
    if (ops->fd < 0)
        return ETHOS_OK;
    if (os_write_all(ops->fd, ops->record.data, ops->record.size) == 0 &&
        (!self->durable || os_fdatasync(ops->fd) == 0))
        return ETHOS_OK;
    const char *why = strerrordesc_np(errno);
    name_file(hold, path);
    int code = err_set(error, ETHOS_IO,
                       "%s: the text was written, but its operation id could not be noted: %s",
                       files_show(self, path, shown), why ? why : "write failed");
    return err_hint(error, code, "read the text before repeating the operation");
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        os_close(*fd);
    *fd = -1;
}

void files_ops_close(const struct files *self, struct files_ops *ops, bool undo)
{
    if (ops->made && undo)
        os_unlinkat(ops->mem, OPS, 0);
    ops->made = false;
    close_fd(&ops->fd);
    close_fd(&ops->mem);
    str_release(&ops->record);
    if (ops->text.data)
        self->host->resize(self->host->arg, ops->text.data, 0);
    ops->text = (struct ethos_text){0};
}
