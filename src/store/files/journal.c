/*
 * journal.c: appends to memory-history.jsonl of a locked directory, and reads its end.
 *
 * A write needs the last line of each of its keys, which is near the end. The index (.mem/index)
 * is a durable snapshot of the last line of every key up to an offset in the live file; what
 * follows the offset is read and searched, INDEX_EVERY bytes at most. A checksum of the bytes
 * before the offset tells whether the index fits. When it does not, everything is read and the
 * index is made again:
 *
 *     ethos-index 2 <offset> <crc of the bytes before it> <seq> <ts>
 *     <key>TAB<hash> <absent> <size> <ts> <alone> <ours> <since>
 *     ...
 *     TAB<hash of an operation id>
 *     ...
 *
 * A failed sync of the journal removes the index. Reading everything also copies the live file to
 * a new inode, since the kernel may have dropped pages of the old one.
 *
 * An append is one write. What a dead writer left of it unfinished (no line end, a wrong crc, a
 * transaction with missing lines) was never acknowledged and is cut off.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "base/view.h"
#include "store/operation_id.h"

#define INDEX_EVERY 32768            /* bytes of history after which the index is made again */
#define CHECK_BYTES 256              /* before the index's place */
#define MOST_SEQ ((uint64_t)1 << 53) /* higher numbers are not ours */
#define MONTH 7                      /* bytes of "2026-11" */
#define PATH_SIZE (FILES_PATH_SIZE + 32)

static int journal_error(const struct files *self, const struct files_lock *lock, int errnum,
                         struct ethos_error *error)
{
    char path[PATH_SIZE];
    bool top = strcmp(lock->path, ".") == 0;
    snprintf(path, sizeof path, "%s%s" FILES_HISTORY, top ? "" : lock->path, top ? "" : "/");
    return files_step_error(self, errnum, path, error);
}

/*
 * ---- lines from the end -----------------------------------------------------------------------
 */

static size_t whole_lines_size(struct ethos_view text)
{
    const char *last = text.size ? memrchr(text.data, '\n', text.size) : NULL;
    return last ? (size_t)(last + 1 - text.data) : 0;
}

/*
 * Whether the `count` lines before the end of text are the first ones of the transaction of a
 * record.
 */
static bool has_transaction_lines(struct ethos_view text, const struct history_record *of,
                                  unsigned count, struct arena *arena)
{
    struct ethos_view line;
    struct history_record record;
    for (unsigned i = count; i > 0; i--) {
        if (!view_last_line(&text, &line) || history_parse(line, arena, &record) != ETHOS_OK ||
            !view_eq(record.txn_id, of->txn_id) || record.txn_index != i)
            return false;
    }
    return true;
}

/* Copies what all lines of the transaction of a line contain; false when the line names none. */
static bool copy_txn_member(struct ethos_view line, char out[64])
{
    static const char member[] = "\"txn\":\"";
    const char *at = memmem(line.data, line.size, member, sizeof member - 1);
    const char *end = at ? memchr(at, '/', line.size - (size_t)(at - line.data)) : NULL;
    return end && snprintf(out, 64, "%.*s", (int)(end + 1 - at), at) < 64;
}

/* Cuts the lines of the last line's transaction off the end. */
static void drop_last_transaction(struct ethos_view *rest, struct ethos_view last)
{
    struct ethos_view line, before = *rest;
    char word[64];
    while (copy_txn_member(last, word) && view_last_line(&before, &line) &&
           view_contains(line, view_str(word)))
        *rest = before;
}

/*
 * The size of text without an unfinished append at its end. A line that was torn in two may hide
 * its transaction, so the line before it is examined too.
 */
static int find_finished_size(struct ethos_view text, struct arena *arena, size_t *out_size)
{
    struct ethos_view line, rest = view_of(text.data, whole_lines_size(text));
    struct history_record record;
    *out_size = rest.size;
    for (int i = 0; i < 2 && view_last_line(&rest, &line); i++) {
        int code = history_parse(line, arena, &record);
        if (code == ETHOS_NOMEM)
            return code;
        if (code == ETHOS_INVALID || (code == ETHOS_CORRUPT && i > 0) ||
            (code == ETHOS_OK && (record.seq == 0 || !record.txn_count)))
            break;
        if (code == ETHOS_OK && record.txn_index == record.txn_count &&
            has_transaction_lines(rest, &record, record.txn_index - 1, arena))
            break;
        drop_last_transaction(&rest, line);
        *out_size = rest.size;
    }
    return ETHOS_OK;
}

/* Ends the last line if only its line end is missing. */
static int complete_last_line(struct files *self, const struct files_lock *lock,
                              struct files_journal *journal, struct arena *arena,
                              struct ethos_error *error)
{
    struct history_record record;
    size_t whole = whole_lines_size(str_view(&journal->tail));
    struct ethos_view line = view_from(str_view(&journal->tail), whole);
    if (line.size == 0 || history_parse(line, arena, &record) != ETHOS_OK || record.seq == 0)
        return ETHOS_OK;
    if (lock->fd >= 0 && os_write_all(journal->fd, "\n", 1) != 0)
        return files_step_error(self, errno, lock->path, error);
    journal->size += lock->fd >= 0;
    return str_addc(&journal->tail, '\n') == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* The highest number and the time of the last line; else the index's word. */
static int find_newest_line(struct files_journal *journal, struct arena *arena)
{
    struct ethos_view line, rest = str_view(&journal->tail);
    struct history_record record;
    static const char member[] = ",\"seq\":";
    const size_t size = sizeof member - 1;
    const char *at = journal->tail.data, *end = at + journal->tail.size;
    while ((at = memmem(at, (size_t)(end - at), member, size)) != NULL) {
        uint64_t seq = strtoull(at + size, NULL, 10); // the text is terminated
        if (seq <= MOST_SEQ && seq > journal->seq)
            journal->seq = seq;
        at += size;
    }
    while (view_last_line(&rest, &line)) {
        int code = history_parse(line, arena, &record);
        if (code == ETHOS_NOMEM)
            return code;
        if (code != ETHOS_OK)
            continue;
        journal->ts_ms = record.ts_ms;
        break;
    }
    return ETHOS_OK;
}

/*
 * ---- the index --------------------------------------------------------------------------------
 */

static uint32_t index_checksum(struct ethos_view before)
{
    size_t size = before.size < CHECK_BYTES ? before.size : CHECK_BYTES;
    return hash_crc32c(view_from(before, before.size - size));
}

struct index_header {
    uint64_t place;
    uint32_t check;
    uint64_t seq;
    int64_t ts_ms;
};

/* Reads the index into rows, and its header. False when it cannot be read. */
static bool read_index(const struct files_lock *lock, struct str *rows, struct index_header *out)
{
    int fd = os_open_beneath(lock->dir, FILES_INDEX, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return false;
    int failed = os_read_all(fd, rows, ETHOS_MAX_STORE_BYTES);
    os_close(fd);
    const char *end = failed ? NULL : memchr(rows->data, '\n', rows->size);
    return end && sscanf(rows->data, "ethos-index 2 %" SCNu64 " %" SCNx32 " %" SCNu64 " %" SCNd64,
                         &out->place, &out->check, &out->seq, &out->ts_ms) == 4;
}

/* Reads the live file from an offset on. */
static int read_live_from(int fd, uint64_t from, uint64_t size, struct str *out)
{
    if (from == size)
        return 0;
    if (str_reserve(out, size - from) != ETHOS_OK) {
        errno = ENOMEM;
        return -1;
    }
    while (from + out->size < size) {
        ssize_t got = os_pread(fd, out->data + out->size, size - from - out->size,
                               from + out->size);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        out->size += (size_t)got;
    }
    out->data[out->size] = 0;
    return 0;
}

/* Reads the tail that follows the index. False when there is no index that fits. */
static bool load_indexed_tail(const struct files_lock *lock, struct files_journal *journal)
{
    struct index_header header;
    if (!read_index(lock, &journal->rows, &header) || header.place > journal->size)
        return false;
    uint64_t from = header.place > CHECK_BYTES ? header.place - CHECK_BYTES : 0;
    size_t before = (size_t)(header.place - from);
    if (journal->fd >= 0 && read_live_from(journal->fd, from, journal->size, &journal->tail) != 0)
        return false;
    if (journal->tail.size < before ||
        index_checksum(view_of(journal->tail.data, before)) != header.check)
        return false;
    memmove(journal->tail.data, journal->tail.data + before, journal->tail.size - before);
    str_truncate(&journal->tail, journal->tail.size - before);
    journal->seq = header.seq > MOST_SEQ ? 0 : header.seq;
    journal->ts_ms = header.ts_ms;
    return true;
}

static int parse_index_row(struct ethos_view row, const char *key, struct history_last *out)
{
    char text[512];
    int absent, alone, ours;
    size_t size = strlen(key) + 1;
    if (row.size < size || row.size - size >= sizeof text)
        return ETHOS_NOTFOUND;
    row = view_from(row, size);
    memcpy(text, row.data, row.size);
    text[row.size] = 0;
    struct history_last last = {.any = true};
    if (sscanf(text, "%71s %d %" SCNu64 " %" SCNd64 " %d %d %u", last.hash, &absent, &last.size,
               &last.ts_ms, &alone, &ours, &last.since_blob) != 7)
        return ETHOS_NOTFOUND;
    last.absent = absent;
    last.alone = alone;
    last.ours = ours;
    *out = last;
    return ETHOS_OK;
}

static void find_index_row(const struct files_journal *journal, const char *key,
                           struct history_last *out)
{
    char needle[ETHOS_MAX_KEY + 3];
    snprintf(needle, sizeof needle, "\n%s\t", key);
    const char *hit = strstr(journal->rows.data, needle);
    if (!hit)
        return;
    const char *end = strchrnul(hit + 1, '\n');
    parse_index_row(view_of(hit + 1, (size_t)(end - hit - 1)), key, out);
}

/*
 * ---- opening ----------------------------------------------------------------------------------
 */

void files_journal_init(struct files_journal *journal)
{
    *journal = (struct files_journal){.fd = -1};
    str_init(&journal->tail, ETHOS_MAX_HISTORY_BYTES);
    str_init(&journal->rows, ETHOS_MAX_STORE_BYTES);
}

static int open_live_file(struct files *self, const struct files_lock *lock,
                          struct files_journal *journal, struct ethos_error *error)
{
    struct stat st;
    if (lock->dir < 0)
        return ETHOS_OK;
    int fd = os_openat(lock->dir, FILES_HISTORY, FILES_LIVE_FLAGS, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_OK : journal_error(self, lock, errno, error);
    journal->fd = fd;
    if (os_fstat(fd, &st) != 0)
        return journal_error(self, lock, errno, error);
    if (!S_ISREG(st.st_mode))
        return journal_error(self, lock, ENXIO, error);
    journal->size = (uint64_t)st.st_size;
    return ETHOS_OK;
}

/* Copies the live file to a new inode. A draft's name begins with a dot, as that of no key does. */
static int copy_to_new_inode(struct files *self, struct files_lock *lock,
                             struct files_journal *journal, struct ethos_error *error)
{
    CLEANUP_STR struct str text = {0};
    struct stat st;
    if (journal->fd < 0 || lock->fd < 0)
        return ETHOS_OK;
    TRY(files_lock_open_drafts(self, lock, error));
    str_init(&text, ETHOS_MAX_HISTORY_BYTES);
    if (read_live_from(journal->fd, 0, journal->size, &text) != 0 ||
        os_fstat(journal->fd, &st) != 0 ||
        files_write_by_draft(lock->tmp, ".history" FILES_DRAFT, lock->dir, FILES_HISTORY, &st,
                             str_view(&text), true) != 0)
        return journal_error(self, lock, errno, error);
    os_close(journal->fd);
    journal->fd = -1;
    return open_live_file(self, lock, journal, error);
}

/* Reads the whole history as the tail, where there is no index. */
static int load_whole_history(struct files *self, struct files_lock *lock,
                              struct files_journal *journal, struct ethos_error *error)
{
    str_clear(&journal->rows);
    str_clear(&journal->tail);
    if (lock->dir < 0)
        return ETHOS_OK;
    TRY(copy_to_new_inode(self, lock, journal, error));
    return files_history_read_all(self, lock->dir, lock->path, &journal->tail, error);
}

/*
 * Cuts off an unfinished append. Without a lock its writer may still be at work: then it is only
 * ignored.
 */
static int cut_unfinished_lines(struct files *self, const struct files_lock *lock,
                                struct files_journal *journal, struct arena *arena,
                                struct ethos_error *error)
{
    size_t sound;
    TRY(complete_last_line(self, lock, journal, arena, error));
    if (find_finished_size(str_view(&journal->tail), arena, &sound) != ETHOS_OK)
        return err_nomem(error);
    uint64_t torn = journal->tail.size - sound;
    if (torn > 0 && torn <= journal->size) {
        if (lock->fd >= 0 && os_ftruncate(journal->fd, journal->size - torn) != 0)
            return journal_error(self, lock, errno, error);
        journal->size -= torn;
    }
    str_truncate(&journal->tail, sound);
    return find_newest_line(journal, arena) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

int files_journal_open(struct files *self, struct files_lock *lock, struct files_journal *journal,
                       struct ethos_error *error)
{
    struct arena arena;
    files_journal_init(journal);
    int code = open_live_file(self, lock, journal, error);
    if (code != ETHOS_OK)
        return code;
    journal->indexed = lock->dir >= 0 && load_indexed_tail(lock, journal);
    if (!journal->indexed)
        code = load_whole_history(self, lock, journal, error);
    arena_init(&arena);
    if (code == ETHOS_OK && journal->tail.size > 0)
        code = cut_unfinished_lines(self, lock, journal, &arena, error);
    arena_release(&arena);
    return code;
}

void files_journal_close(const struct files_lock *lock, struct files_journal *journal)
{
    if (journal->made && journal->size == 0) // nothing was appended
        os_unlinkat(lock->dir, FILES_HISTORY, 0);
    if (journal->fd >= 0)
        os_close(journal->fd);
    str_release(&journal->tail);
    str_release(&journal->rows);
    journal->fd = -1;
}

int files_journal_last_change(const struct files_journal *journal, const char *key,
                              struct history_last *out, struct ethos_error *error)
{
    *out = (struct history_last){0};
    find_index_row(journal, key, out);
    return history_last(str_view(&journal->tail), key, out) == ETHOS_OK ? ETHOS_OK
                                                                        : err_nomem(error);
}

/*
 * ---- operations -------------------------------------------------------------------------------
 */

/* Whether a line voids a seq. */
static int is_voided_by_lines(struct ethos_view from, uint64_t seq, struct arena *arena, bool *out)
{
    static const struct ethos_view member = VIEW("\"voids\":[");
    struct history_record record;
    struct ethos_view line;
    *out = false;
    if (!view_contains(from, member))
        return ETHOS_OK;
    while (!*out && view_line(&from, &line)) {
        if (!view_contains(line, member))
            continue;
        int code = history_parse(line, arena, &record);
        if (code == ETHOS_NOMEM)
            return code;
        *out = code == ETHOS_OK && record.voids_first <= seq && seq <= record.voids_last;
    }
    return ETHOS_OK;
}

#define OP_ROW_SIZE 20 /* LF, TAB, 16 hex digits, LF, terminator */

static void print_operation_row(struct ethos_view op_id, char out[OP_ROW_SIZE])
{
    char hex[HASH_HEX_SIZE];
    hash_hex(op_id, hex);
    snprintf(out, OP_ROW_SIZE, "\n\t%.16s\n", hex);
}

/* Whether lines older than the tail may have the operation. */
static bool has_older_operation(const struct files_journal *journal, const char *op_id)
{
    char row[OP_ROW_SIZE];
    print_operation_row(view_str(op_id), row);
    return journal->indexed && strstr(journal->rows.data, row);
}

/* Finds the record of an operation that was not voided. */
static int find_operation_line(struct ethos_view lines, const char *op_id, struct arena *arena,
                               struct history_record *out, struct ethos_error *error)
{
    char needle[ETHOS_MAX_OPID + 16];
    int size = snprintf(needle, sizeof needle, "\"opId\":\"%s\"", op_id);
    for (struct ethos_view rest = lines; rest.size > 0;) {
        bool voided = false;
        const char *hit = memmem(rest.data, rest.size, needle, (size_t)size);
        if (!hit)
            break;
        const char *start = memrchr(rest.data, '\n', (size_t)(hit - rest.data));
        start = start ? start + 1 : rest.data;
        const char *end = memchr(hit, '\n', (size_t)(rest.data + rest.size - hit));
        if (!end)
            break;
        int code = history_parse(view_of(start, (size_t)(end - start)), arena, out);
        rest = view_from(rest, (size_t)(end + 1 - rest.data));
        if (code == ETHOS_OK && view_eq_str(out->op_id, op_id) && opid_record_time(out->op) >= 0)
            code = is_voided_by_lines(rest, out->seq, arena, &voided);
        else if (code == ETHOS_OK)
            voided = true; // not the record of a finished operation
        if (code == ETHOS_NOMEM)
            return err_nomem(error);
        if (code == ETHOS_OK && !voided)
            return ETHOS_OK;
    }
    return ETHOS_NOTFOUND;
}

int files_journal_find_operation(const struct files *self, const struct files_lock *lock,
                                 const struct files_journal *journal,
                                 const struct ethos_origin *origin, struct ethos_edit *edits,
                                 size_t count, struct ethos_error *error)
{
    struct history_record record;
    struct arena arena;
    struct str whole;
    if (!opid_is_given(origin))
        return ETHOS_NOTFOUND;
    arena_init(&arena);
    str_init(&whole, ETHOS_MAX_HISTORY_BYTES);
    int code = find_operation_line(str_view(&journal->tail), origin->op_id, &arena, &record, error);
    if (code == ETHOS_NOTFOUND && has_older_operation(journal, origin->op_id)) {
        code = files_history_read_all(self, lock->dir, lock->path, &whole, error);
        if (code == ETHOS_OK)
            code = find_operation_line(str_view(&whole), origin->op_id, &arena, &record, error);
    }
    if (code == ETHOS_OK)
        code = opid_apply_record(record.op, origin, edits, count, error);
    str_release(&whole);
    arena_release(&arena);
    return code;
}

/*
 * ---- making the index -------------------------------------------------------------------------
 */

static int compare_views(const void *a, const void *b)
{
    const struct ethos_view *x = a, *y = b;
    size_t size = x->size < y->size ? x->size : y->size;
    int order = size ? memcmp(x->data, y->data, size) : 0;
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static struct ethos_view index_row_key(struct ethos_view row)
{
    const char *end = memchr(row.data, '\t', row.size);
    return view_of(row.data, end ? (size_t)(end - row.data) : row.size);
}

/* The key of a line, without parsing the line. */
static struct ethos_view history_line_key(struct ethos_view line)
{
    static const char member[] = "\"key\":";
    const char *at = memmem(line.data, line.size, member, sizeof member - 1);
    const char *stop = line.data + line.size;
    for (at = at ? at + sizeof member - 1 : stop; at < stop && *at == ' ';)
        at++;
    if (at == stop || *at++ != '"')
        return (struct ethos_view){0};
    const char *end = memchr(at, '"', (size_t)(stop - at));
    return end ? view_of(at, (size_t)(end - at)) : (struct ethos_view){0};
}

/* A line of the tail and its key. */
struct keyed_line {
    struct ethos_view key, line;
};

static int compare_keyed_lines(const void *a, const void *b)
{
    const struct keyed_line *x = a, *y = b;
    int order = compare_views(&x->key, &y->key);
    return order ? order : (x->line.data > y->line.data) - (x->line.data < y->line.data);
}

/* The lines of the tail, grouped by key and in order. */
static size_t sort_tail_lines(const struct files_journal *journal, struct arena *arena,
                              struct keyed_line **out)
{
    struct ethos_view line, rest = str_view(&journal->tail);
    size_t count = 0, kept = 0;
    while (view_line(&rest, &line))
        count++;
    *out = arena_array(arena, count, sizeof **out);
    rest = str_view(&journal->tail);
    while (*out && view_line(&rest, &line)) {
        struct keyed_line keyed = {history_line_key(line), view_of(line.data, line.size + 1)};
        if (keyed.key.size > 0 && keyed.key.size <= ETHOS_MAX_KEY)
            (*out)[kept++] = keyed;
    }
    if (*out)
        qsort(*out, kept, sizeof **out, compare_keyed_lines);
    return kept;
}

/* Prints the row of one key: its old row, updated by its lines. */
static int print_key_row(const struct files_journal *journal, const struct keyed_line *lines,
                         size_t count, struct str *own, struct str *out)
{
    struct history_last last = {0};
    char key[ETHOS_MAX_KEY + 1];
    memcpy(key, lines->key.data, lines->key.size);
    key[lines->key.size] = 0;
    str_clear(own);
    for (size_t i = 0; i < count; i++)
        str_add(own, lines[i].line);
    find_index_row(journal, key, &last);
    int code = str_code(own) == ETHOS_OK ? history_last(str_view(own), key, &last) : ETHOS_NOMEM;
    if (code == ETHOS_OK && last.any) {
        str_printf(out, "%s\t%s %d %" PRIu64 " %" PRId64 " %d %d %u\n", key, last.hash, last.absent,
                   last.size, last.ts_ms, last.alone, last.ours, last.since_blob);
    }
    return code;
}

static int print_tail_rows(const struct files_journal *journal, const struct keyed_line *lines,
                           size_t count, struct str *out)
{
    struct str own;
    int code = ETHOS_OK;
    str_init(&own, ETHOS_MAX_HISTORY_BYTES);
    for (size_t i = 0, next; code == ETHOS_OK && i < count; i = next) {
        for (next = i + 1; next < count && view_eq(lines[next].key, lines[i].key);)
            next++;
        code = print_key_row(journal, lines + i, next - i, &own, out);
    }
    str_release(&own);
    return code;
}

/* Copies the rows of keys that the tail does not mention. */
static void print_old_rows(const struct files_journal *journal, const struct keyed_line *lines,
                           size_t count, struct str *out)
{
    struct ethos_view row, rest = str_view(&journal->rows);
    view_line(&rest, &row); // the header
    while (view_line(&rest, &row)) {
        size_t low = 0, high = count;
        struct ethos_view key = index_row_key(row);
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (compare_views(&lines[middle].key, &key) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        bool mentioned = low < count && view_eq(lines[low].key, key);
        if (row.size > 0 && row.data[0] != '\t' && !mentioned)
            str_add(out, view_of(row.data, row.size + 1));
    }
}

static int print_index(const struct files_journal *journal, uint64_t place, uint32_t check,
                       struct str *out)
{
    struct arena arena;
    struct keyed_line *lines;
    arena_init(&arena);
    size_t count = sort_tail_lines(journal, &arena, &lines);
    str_printf(out, "ethos-index 2 %" PRIu64 " %08" PRIx32 " %" PRIu64 " %" PRId64 "\n", place,
               check, journal->seq, journal->ts_ms);
    if (lines)
        print_old_rows(journal, lines, count, out);
    int code = lines ? print_tail_rows(journal, lines, count, out) : ETHOS_NOMEM;
    static const char member[] = "\"opId\":\"";
    char row[OP_ROW_SIZE], before[OP_ROW_SIZE] = "";
    const char *ops = strstr(journal->rows.data, "\n\t");
    if (ops)
        str_adds(out, ops + 1);
    for (const char *at = journal->tail.data; (at = strstr(at, member));) {
        at += sizeof member - 1;
        print_operation_row(view_of(at, strcspn(at, "\"")), row);
        if (strcmp(row, before) != 0)
            str_adds(out, row + 1);
        memcpy(before, row, sizeof before);
    }
    arena_release(&arena);
    return code == ETHOS_OK ? str_code(out) : code;
}

/* Writes the index for the live file up to `place`, durable. */
static int write_index(struct files *self, struct files_lock *lock, struct files_journal *journal,
                       uint64_t place, uint32_t check)
{
    CLEANUP_STR struct str text;
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    if (print_index(journal, place, check, &text) != ETHOS_OK ||
        files_lock_open_drafts(self, lock, NULL) != ETHOS_OK)
        return -1;
    return files_write_by_draft(lock->tmp, ".index" FILES_DRAFT, lock->dir, FILES_INDEX, NULL,
                                str_view(&text), true);
}

void files_journal_index(struct files *self, struct files_lock *lock, struct files_journal *journal)
{
    struct str before;
    if (journal->fd < 0 || lock->fd < 0 || (journal->indexed && journal->tail.size < INDEX_EVERY))
        return;
    str_init(&before, CHECK_BYTES);
    uint64_t from = journal->size > CHECK_BYTES ? journal->size - CHECK_BYTES : 0;
    if (read_live_from(journal->fd, from, journal->size, &before) == 0)
        write_index(self, lock, journal, journal->size, index_checksum(str_view(&before)));
    str_release(&before);
}

/*
 * ---- appending --------------------------------------------------------------------------------
 */

static int create_live_file(struct files *self, const struct files_lock *lock,
                            struct files_journal *journal, struct ethos_error *error)
{
    if (journal->fd >= 0)
        return ETHOS_OK;
    int fd = os_openat(lock->dir, FILES_HISTORY, FILES_LIVE_FLAGS | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return journal_error(self, lock, errno, error);
    journal->fd = fd;
    journal->size = 0;
    journal->made = true;
    return self->durable && os_fsync(lock->dir) != 0 ? journal_error(self, lock, errno, error)
                                                     : ETHOS_OK;
}

static int is_later_month(void *arg, const char *name)
{
    const char *wanted = arg;
    return strcmp(name, FILES_HISTORY) != 0 && files_is_history(name) && strcmp(name, wanted) >= 0;
}

/*
 * The first change of a month renames the live file after the month of its last line. An index is
 * written before, since it describes the lines before the new file. Files are read in the order of
 * their names: where a file of this month or, by a wrong clock, of a later one exists, the live
 * file is not renamed.
 */
static int rotate_live_file(struct files *self, struct files_lock *lock,
                            struct files_journal *journal, int64_t now_ms,
                            struct ethos_error *error)
{
    char then[CLOCK_ISO_SIZE], now[CLOCK_ISO_SIZE], name[64];
    clock_iso(journal->ts_ms, then);
    clock_iso(now_ms, now);
    if (journal->fd < 0 || journal->size == 0 || journal->ts_ms == 0 ||
        strncmp(then, now, MONTH) >= 0)
        return ETHOS_OK;
    snprintf(name, sizeof name, "memory-history-%.*s.jsonl", MONTH, then);
    if (os_list(lock->dir, is_later_month, name) != 0)
        return ETHOS_OK;
    TRY(files_journal_sync(self, lock, journal, error));
    if (write_index(self, lock, journal, 0, index_checksum((struct ethos_view){"", 0})) != 0 ||
        os_renameat(lock->dir, FILES_HISTORY, lock->dir, name, RENAME_NOREPLACE) != 0)
        return ETHOS_OK; // the next change tries again
    os_close(journal->fd);
    journal->fd = -1;
    return create_live_file(self, lock, journal, error);
}

/* Lines of another store keep their times and numbers. */
static void number_records(struct files_journal *journal, struct history_record *records,
                           size_t count, const char *txn, int64_t ts_ms)
{
    for (size_t i = 0; i < count; i++) {
        bool own = !records[i].graft.data;
        records[i].ts_ms = own ? ts_ms : records[i].ts_ms;
        records[i].seq = own ? journal->seq + 1 + i : records[i].seq;
        records[i].txn_id = view_str(txn);
        records[i].txn_index = (unsigned)i + 1;
        records[i].txn_count = (unsigned)count;
    }
}

/*
 * Undoes a failed append. After a failed sync the index goes, so that the next writer trusts no
 * cached page.
 */
static int undo_append(struct files *self, const struct files_lock *lock,
                       struct files_journal *journal, int errnum, bool synced,
                       struct ethos_error *error)
{
    os_ftruncate(journal->fd, journal->size);
    if (synced)
        os_unlinkat(lock->dir, FILES_INDEX, 0);
    return journal_error(self, lock, errnum, error);
}

/* FILES_RETRY when another file has taken the name of the live file. */
static int check_live_file(struct files *self, const struct files_lock *lock,
                           const struct files_journal *journal, struct ethos_error *error)
{
    struct stat ours, named;
    if (os_fstat(journal->fd, &ours) != 0)
        return journal_error(self, lock, errno, error);
    if (os_fstatat(lock->dir, FILES_HISTORY, &named, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? FILES_RETRY : journal_error(self, lock, errno, error);
    return ours.st_ino == named.st_ino && ours.st_dev == named.st_dev ? ETHOS_OK : FILES_RETRY;
}

static int append_lines(struct files *self, const struct files_lock *lock,
                        struct files_journal *journal, struct ethos_view lines, bool sync,
                        struct ethos_error *error)
{
    if (os_write_all(journal->fd, lines.data, lines.size) != 0)
        return undo_append(self, lock, journal, errno, false, error);
    if (sync && self->durable && os_fdatasync(journal->fd) != 0)
        return undo_append(self, lock, journal, errno, true, error);
    int code = sync ? check_live_file(self, lock, journal, error) : ETHOS_OK;
    if (code != ETHOS_OK && code != FILES_RETRY) {
        os_ftruncate(journal->fd, journal->size);
        return code;
    }
    journal->size += lines.size;
    journal->unsynced = sync ? false : self->durable;
    return code;
}

int files_txn_new_id(char out[FILES_TXN_SIZE])
{
    unsigned char random[FILES_TXN_SIZE / 2];
    if (os_random(random, sizeof random) != 0)
        return -1;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    return 0;
}

int files_journal_append(struct files *self, struct files_lock *lock, struct files_journal *journal,
                         const char *txn, struct history_record *records, size_t count, bool sync,
                         struct ethos_error *error)
{
    char own[FILES_TXN_SIZE];
    int64_t now_ms = records->graft.data ? records->ts_ms : self->host->now_ms(self->host->arg);
    int code = rotate_live_file(self, lock, journal, now_ms, error);
    if (code == ETHOS_OK)
        code = create_live_file(self, lock, journal, error);
    if (code != ETHOS_OK)
        return code;
    if (!txn && files_txn_new_id(own) != 0)
        return journal_error(self, lock, errno, error);
    size_t start = journal->tail.size;
    number_records(journal, records, count, txn ? txn : own, now_ms);
    for (size_t i = 0; i < count; i++)
        history_print(&records[i], &journal->tail);
    code = str_code(&journal->tail);
    if (code != ETHOS_OK)
        return code == ETHOS_NOMEM ? err_nomem(error) : journal_error(self, lock, EFBIG, error);
    code = append_lines(self, lock, journal, view_from(str_view(&journal->tail), start), sync,
                        error);
    if (code != ETHOS_OK && code != FILES_RETRY) {
        str_truncate(&journal->tail, start);
        return code;
    }
    for (size_t i = 0; i < count; i++) {
        if (records[i].seq > journal->seq)
            journal->seq = records[i].seq;
        journal->ts_ms = records[i].ts_ms;
    }
    return code;
}

int files_journal_sync(struct files *self, const struct files_lock *lock,
                       struct files_journal *journal, struct ethos_error *error)
{
    if (!journal->unsynced)
        return ETHOS_OK;
    if (os_fdatasync(journal->fd) != 0)
        return journal_error(self, lock, errno, error);
    journal->unsynced = false;
    return ETHOS_OK;
}
