/*
 * recorded_changes.c: what was recorded since the last look.
 *
 * A history grows at its end, so only that is read. A file that is another one than before (a month is over,
 * something was forgotten for good) is read from its beginning, and the number of the newest change that
 * was told says which are new; what it has no lines of any more, and a backend whose texts are not here,
 * is asked for.
 *
 * A line is written before its text is published. The newest transaction is held back until readers see its
 * texts; one that stays unfinished has lost its writer, and settling the key takes it back.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/history/history.h"
#include "memory/history/changes.h"
#include "memory/provider/missing_slots.h"
#include "memory/watch/internal.h"
#include "store/store.h"

#define HISTORY "memory-history.jsonl"
#define READ_MOST 4194304   /* bytes per call */
#define LAST_LINES 65536    /* bytes from the end that contain the last line */
#define PENDING_STEP_MS 5   /* before checking again what is incomplete */
#define PENDING_SLOW_MS 200 /* later, after some time */
#define ABANDONED_MS 3000   /* and then it will never be completed */
#define ABANDONED_STEP_MS 5000
#define MOST_NEWS                                                                                  \
    8192 /* changes of one scope reported at once; if there are more, only that there are some */

/* ---- telling --------------------------------------------------------------------------------- */

static bool is_note_text(const char *scope, const char *key)
{
    return !scope_is_tree(scope) && strcmp(key, "MEMORY.md") != 0 && strcmp(key, "USER.md") != 0;
}

void changes_report(struct memory_watch *self, struct watched *scope,
                    const struct ethos_change *change)
{
    if (change->number > scope->number)
        scope->number = change->number;
    if (change->time_ms > scope->time_ms)
        scope->time_ms = change->time_ms;
    if (change->time_ms < scope->since_ms || !changes_real(change) ||
        !scope_key_shown(scope->scope, change->key))
        return;
    outside_set_revision(self, scope, change->key, change->after);
    watch_report(self, &(struct watch_event){.kind = is_note_text(scope->scope, change->key)
                                                         ? WATCH_NOTE
                                                         : WATCH_MEMORY,
                                             .scope = scope->scope,
                                             .key = change->key,
                                             .change = change});
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct change_search {
    const struct watched *scope;
    uint64_t below; /* number of the first that is known otherwise; 0: none is */
    struct arena arena;
    struct ethos_change *items; /* newest first */
    size_t count, capacity;
    uint64_t newest; /* number of the first one seen; 0: none has one */
    bool too_many;
};

enum { KNOWN = 1 }; // ends a walk

static int add_new_change(void *arg, const struct ethos_change *change)
{
    struct change_search *asking = arg;
    const struct watched *scope = asking->scope;
    if (!asking->newest)
        asking->newest = change->number;
    bool known = change->number ? change->number <= scope->number
                                : change->time_ms <= scope->time_ms;
    if (known)
        return change->number ? KNOWN : ETHOS_OK;
    if (asking->below && change->number >= asking->below)
        return ETHOS_OK;
    asking->too_many = asking->count == MOST_NEWS;
    if (asking->too_many)
        return KNOWN;
    struct ethos_change *items = arena_grow(&asking->arena, asking->items, asking->count,
                                            &asking->capacity, sizeof *items);
    if (!items)
        return ETHOS_NOMEM;
    asking->items = items;
    int code = changes_copy(&asking->arena, change, true, &items[asking->count]);
    asking->count += code == ETHOS_OK;
    return code;
}

/* The history of every key of a scope, as its provider has it. */
static int walk_history(struct memory_watch *self, const struct watched *scope,
                        ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    struct ethos_provider *provider;
    int code = watch_provider(self, scope, &provider, error);
    if (code == ETHOS_OK && SLOT_PROVIDER(provider, history))
        code = provider->ops->history(provider, scope->scope, NULL, each, arg, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* Numbers only grow; what has smaller ones is another database in the place of the one that was known. */
static bool began_anew(const struct change_search *asking)
{
    return asking->scope->from && asking->newest < asking->scope->number;
}

static int report_new_changes(struct memory_watch *self, struct watched *scope, uint64_t below,
                              struct ethos_error *error)
{
    struct change_search asking = {.scope = scope, .below = below};
    arena_init(&asking.arena);
    int code = walk_history(self, scope, add_new_change, &asking, error);
    if (code == KNOWN)
        code = ETHOS_OK;
    bool lost = code == ETHOS_OK && (asking.too_many || began_anew(&asking));
    if (lost) {
        watch_report(self, &(struct watch_event){.kind = WATCH_LOST});
        scope->number = asking.newest;
    }
    for (size_t i = asking.count; code == ETHOS_OK && !lost && i-- > 0;)
        changes_report(self, scope, &asking.items[i]);
    arena_release(&asking.arena);
    return code;
}

static int set_newest(void *arg, const struct ethos_change *change)
{
    struct watched *scope = arg;
    if (change->number > scope->number)
        scope->number = change->number;
    if (change->time_ms > scope->time_ms)
        scope->time_ms = change->time_ms;
    return change->number ? KNOWN : ETHOS_OK;
}

/* ---- the end of the file --------------------------------------------------------------------- */

static size_t whole_lines(struct ethos_view text)
{
    const char *last = text.size ? memrchr(text.data, '\n', text.size) : NULL;
    return last ? (size_t)(last + 1 - text.data) : 0;
}

/* The live history of a directory; its size and inode. ETHOS_NOTFOUND when there is none. */
static int open_live(int dir, struct stat *out, struct ethos_error *error)
{
    int fd = os_openat(dir, HISTORY, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_NOTFOUND : err_errno(error, errno, HISTORY);
    if (os_fstat(fd, out) == 0 && S_ISREG(out->st_mode))
        return fd;
    int code = err_errno(error, errno, HISTORY);
    os_close(fd);
    return code;
}

static int read_file_from(int fd, uint64_t from, size_t most, struct str *out)
{
    while (out->size < most) {
        if (str_reserve(out, 16384) != ETHOS_OK)
            return -1;
        ssize_t got = os_pread(fd, out->data + out->size, 16384, from + out->size);
        if (got <= 0)
            return (int)got;
        out->size += (size_t)got;
        out->data[out->size] = 0;
    }
    return 0;
}

/* What the last line says, and how far the whole lines go. */
static void record_file_end(struct watched *scope, int fd, const struct stat *info)
{
    CLEANUP_STR struct str end;
    CLEANUP_ARENA struct arena arena;
    struct history_record record;
    struct ethos_view rest, line;
    uint64_t size = (uint64_t)info->st_size, from = size > LAST_LINES ? size - LAST_LINES : 0;
    str_init(&end, LAST_LINES + 32768);
    arena_init(&arena);
    scope->inode = info->st_ino;
    if (read_file_from(fd, from, LAST_LINES, &end) == 0) {
        rest = view_of(end.data, whole_lines(str_view(&end)));
        scope->place = from + rest.size;
        while (!scope->number && view_last_line(&rest, &line)) {
            if (history_parse(line, &arena, &record) != ETHOS_OK)
                continue;
            scope->number = record.seq;
            scope->time_ms = record.ts_ms > scope->time_ms ? record.ts_ms : scope->time_ms;
        }
    }
}

/* -1 and errno: EXDEV where a link leads out of the root. */
static int open_scope(const struct memory_watch *self, const struct watched *scope)
{
    return os_open_beneath(self->root, scope->dir, O_RDONLY | O_DIRECTORY, 0);
}

void past_begin(struct memory_watch *self, struct watched *scope)
{
    struct stat info;
    if (self->begun) {
        scope->since_ms = self->opened_ms;
        scope->dirty = true;
        return;
    }
    if (scope->elsewhere)
        return;
    int dir = open_scope(self, scope);
    int fd = dir >= 0 ? open_live(dir, &info, NULL) : -1;
    if (fd >= 0) {
        record_file_end(scope, fd, &info);
        os_close(fd);
    }
    if (dir >= 0)
        os_close(dir);
    else if (errno == EXDEV)
        walk_history(self, scope, set_newest, scope, NULL);
}

int past_newest(struct memory_watch *self, struct watched *scope, struct ethos_error *error)
{
    int code = walk_history(self, scope, set_newest, scope, error);
    return code == KNOWN ? ETHOS_OK : code;
}

/* ---- the newest transaction ------------------------------------------------------------------ */

/* How many records are to be told: the last transaction only when all of it is to be seen. */
static size_t count_reportable(const struct history *history, int dir)
{
    size_t count = history->count;
    const struct history_record *last = count ? &history->records[count - 1] : NULL;
    bool pending = last && last->txn_id.size && last->txn_index < last->txn_count;
    size_t first = count;
    while (last && last->txn_id.size && first > 0 &&
           view_eq(history->records[first - 1].txn_id, last->txn_id)) {
        first--;
        pending = pending || (!history->voided[first] &&
                              store_files_is_pending(dir, &history->records[first]));
    }
    return pending ? first : count;
}

/* Where the lines of that record's transaction begin. */
static size_t txn_start(struct ethos_view lines, const struct history_record *record)
{
    char member[64];
    int size = snprintf(member, sizeof member, "\"txn\":\"%.*s/", VIEW_ARG(record->txn_id));
    const char *at = size < (int)sizeof member
                         ? memmem(lines.data, lines.size, member, (size_t)size)
                         : NULL;
    return at ? whole_lines(view_of(lines.data, (size_t)(at - lines.data))) : 0;
}

static void record_outside_edit(struct memory_watch *self, const struct watched *scope,
                                struct ethos_view name)
{
    struct ethos_turn *turn;
    char key[ETHOS_MAX_KEY + 1];
    snprintf(key, sizeof key, "%.*s", VIEW_ARG(name));
    if (watch_turn(self, scope->scope, &turn, NULL) != ETHOS_OK)
        return;
    struct ethos_provider *provider = service_provider(turn, scope->scope, key);
    if (SLOT_PROVIDER(provider, settle))
        provider->ops->settle(provider, scope->scope, key, NULL);
    ethos_turn_free(turn);
}

/* When to look again at what is held back. */
static void schedule_recheck(struct memory_watch *self, struct watched *scope,
                             const struct history_record *record)
{
    int64_t now = os_monotonic_ms(), waited;
    if (!scope->pending_ms)
        scope->pending_ms = now;
    waited = now - scope->pending_ms;
    scope->due_ms = now + (waited < PENDING_SLOW_MS ? PENDING_STEP_MS : PENDING_SLOW_MS);
    if (waited < ABANDONED_MS)
        return;
    record_outside_edit(self, scope, record->key);
    scope->due_ms = now + ABANDONED_STEP_MS;
}

/* ---- a look ---------------------------------------------------------------------------------- */

/* A void takes back what was told before; what it takes back of the same look was not told. */
static bool is_reportable(const struct history *history, size_t i, uint64_t before)
{
    const struct history_record *record = &history->records[i];
    return !history->voided[i] && (!record->voids_first || record->voids_first <= before);
}

/* The number of the first line, when there are others before it that were not told; else 0. */
static uint64_t find_gap(const struct watched *scope, const struct history *history)
{
    for (size_t i = 0; scope->place == 0 && scope->number && i < history->count; i++) {
        uint64_t number = history->records[i].seq;
        if (number)
            return number > scope->number + 1 ? number : 0;
    }
    return 0;
}

static int report_records(struct memory_watch *self, struct watched *scope,
                          const struct history *history, size_t count, struct ethos_error *error)
{
    uint64_t before = scope->number;
    for (size_t i = 0; i < count; i++) {
        struct ethos_change change;
        const struct history_record *record = &history->records[i];
        if (record->seq && record->seq <= before)
            continue; // lines that were written anew
        if (history_change(record, history->arena, &change) != ETHOS_OK)
            return err_nomem(error);
        if (is_reportable(history, i, before))
            changes_report(self, scope, &change);
        else if (record->seq > scope->number)
            scope->number = record->seq;
    }
    return ETHOS_OK;
}

static int report_lines(struct memory_watch *self, struct watched *scope, int dir,
                        struct ethos_view lines, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct history history;
    arena_init(&arena);
    history_init(&history, &arena);
    int code = history_collect(&history, lines, NULL) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    size_t count = code == ETHOS_OK ? count_reportable(&history, dir) : 0;
    bool held = count < history.count;
    scope->pending_ms = held ? scope->pending_ms : 0;
    if (code == ETHOS_OK && held)
        schedule_recheck(self, scope, &history.records[count]);
    places_read(self); // that the texts changed is known before their lines are told
    uint64_t gap = find_gap(scope, &history);
    if (code == ETHOS_OK && gap)
        code = report_new_changes(self, scope, gap, error);
    if (code == ETHOS_OK)
        code = report_records(self, scope, &history, count, error);
    if (code == ETHOS_OK)
        scope->place += held ? txn_start(lines, &history.records[count]) : lines.size;
    return code;
}

static int read_new_lines(struct memory_watch *self, struct watched *scope, int dir, int fd,
                          uint64_t size, struct ethos_error *error)
{
    struct str text;
    int code = ETHOS_OK;
    if (size <= scope->place)
        return ETHOS_OK;
    str_init(&text, READ_MOST + 32768);
    if (read_file_from(fd, scope->place, READ_MOST, &text) != 0)
        code = str_code(&text) ? err_nomem(error) : err_errno(error, errno, HISTORY);
    size_t whole = whole_lines(str_view(&text));
    bool more = text.size >= READ_MOST;
    if (code == ETHOS_OK && whole > 0)
        code = report_lines(self, scope, dir, view_of(text.data, whole), error);
    else if (code == ETHOS_OK && more)
        scope->place += text.size; // that is no line
    str_release(&text);
    if (more && !scope->due_ms)
        scope->due_ms = os_monotonic_ms();
    return code;
}

static int read_live(struct memory_watch *self, struct watched *scope, int dir,
                     struct ethos_error *error)
{
    struct stat info;
    int fd = open_live(dir, &info, error);
    if (fd < 0)
        return fd == ETHOS_NOTFOUND ? ETHOS_OK : fd;
    if (scope->inode != info.st_ino || (uint64_t)info.st_size < scope->place)
        scope->place = 0;
    scope->inode = info.st_ino;
    int code = read_new_lines(self, scope, dir, fd, (uint64_t)info.st_size, error);
    os_close(fd);
    return code;
}

int changes_read_new(struct memory_watch *self, struct watched *scope, struct ethos_error *error)
{
    scope->dirty = false;
    scope->due_ms = 0;
    if (scope->from)
        return report_new_changes(self, scope, 0, error);
    int dir = open_scope(self, scope);
    if (dir < 0)
        return errno == EXDEV    ? report_new_changes(self, scope, 0, error)
               : errno == ENOENT ? ETHOS_OK
                                 : err_errno(error, errno, scope->scope);
    int code = read_live(self, scope, dir, error);
    os_close(dir);
    return code;
}
