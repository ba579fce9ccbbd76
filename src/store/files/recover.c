/*
 * recover.c: what a dead writer left, finished or taken back.
 *
 * Every temporary bears the name of a transaction, whose lines say what it is about: transaction.c
 * finishes that transaction or takes it back. A temporary without lines was never swapped, or its history
 * is gone: then its text is looked for among the recorded ones, and kept if it is not there.
 *
 * A temporary goes only after the line that explains it is durable. Without any, the newest
 * transaction may still be one that a power cut kept from being published: the file is then the very
 * one its line says it was (`was`).
 *
 * The same code serves a writer that could not go on: there is one way back.
 */
#include "store/files/transaction.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "base/view.h"

static int fail(const struct recovery *r, const struct part *part, struct ethos_error *error)
{
    return files_fail(r->self, errno, part->spot.path, error);
}

int files_keep_seen(struct files *self, struct files_hold *hold, struct files_journal *journal,
                    const char *scope, const char *key, struct ethos_view text,
                    struct ethos_error *error)
{
    struct history_last last;
    char hex[HASH_HEX_SIZE], nothing[ETHOS_REVISION_SIZE];
    hash_hex(text, hex);
    hash_revision((struct ethos_view){"", 0}, nothing);
    int code = files_blob_write(self, hold, hex, text, true, error);
    if (code == ETHOS_OK)
        code = files_journal_last(journal, key, &last, error);
    if (code != ETHOS_OK)
        return code;
    struct ethos_view hash = view_str(last.any ? last.hash : nothing);
    struct history_record record = {
        .scope = view_str(scope),
        .key = view_str(key),
        .actions = VIEW("external"),
        .source = VIEW("web-editor"),
        .before_hash = hash,
        .after_hash = hash,
        .diff = VIEW(""),
        .size_before = last.size,
        .size_after = last.size,
        .absent_before = !last.any || last.absent,
        .absent_after = !last.any || last.absent,
        .via = VIEW("seen"),
        .actor = VIEW("external"),
        .trust = VIEW("owner"),
        .after_blob = view_str(hex),
    };
    code = files_journal_append(self, hold, journal, NULL, &record, 1, true, error);
    return code == FILES_MOVED ? ETHOS_OK : code;
}

/* ---- temporaries ------------------------------------------------------------------------------ */

/* <key>.<txn><suffix>, or .<name>.ethos-<txn><suffix> beside the target of a link, taken apart. */
struct temp {
    int dir; /* where it lies */
    char key[ETHOS_MAX_KEY + 1];
    char txn[FILES_TXN_SIZE];
    const char *suffix;
};

/* What stands before .<txn><suffix> or -<txn><suffix>; absent when that is not there. */
static struct ethos_view cut_name(const char *name, char mark, struct temp *out)
{
    static const char *const suffixes[] = {FILES_DRAFT, FILES_NEW, FILES_GONE, FILES_OLD};
    struct ethos_view whole = view_str(name);
    for (size_t i = 0; i < 4; i++) {
        size_t tail = strlen(suffixes[i]) + FILES_TXN_SIZE; // the txn and the mark before it
        if (!view_ends(whole, view_str(suffixes[i])) || whole.size <= tail ||
            name[whole.size - tail] != mark)
            continue;
        memcpy(out->txn, name + whole.size - tail + 1, FILES_TXN_SIZE - 1);
        out->txn[FILES_TXN_SIZE - 1] = 0;
        out->suffix = suffixes[i];
        return view_of(name, whole.size - tail);
    }
    return (struct ethos_view){0};
}

static bool read_name(const struct recovery *r, const char *name, struct temp *out)
{
    char path[FILES_PATH_SIZE];
    struct ethos_view key = cut_name(name, '.', out);
    if (!key.data || key.size > ETHOS_MAX_KEY)
        return false;
    memcpy(out->key, key.data, key.size);
    out->key[key.size] = 0;
    files_unflat(out->key);
    return !files_is_history(out->key) &&
           files_key_path(r->scope, out->key, path, NULL) == ETHOS_OK;
}

/* Whether the name is that of a temporary of this key, which is a link. */
static bool read_link_name(const struct files_spot *spot, const char *name, struct temp *out)
{
    char mark[FILES_TEMP_SIZE - 32];
    struct ethos_view rest = cut_name(name, '-', out);
    files_spot_mark(spot, mark);
    if (!rest.data || !view_eq(view_of(rest.data, rest.size + 1), view_str(mark)))
        return false;
    memcpy(out->key, spot->key, strlen(spot->key) + 1);
    out->dir = spot->dir;
    return true;
}

/* Reads a temporary, and the file of its key. */
static int read_pair(struct recovery *r, const char *name, const struct temp *temp,
                     struct part *part, bool *out_busy, struct ethos_error *error)
{
    struct stat st;
    bool busy;
    int code = txn_open_spot(r, temp->key, &part->spot, error);
    if (code == ETHOS_OK)
        code = files_spot_read(r->self, part->spot.path, temp->dir, name, NULL, ETHOS_READ_REVISION,
                               &part->temp, &st, out_busy, error);
    if (code != ETHOS_OK)
        return code;
    code = files_spot_read(r->self, part->spot.path, part->spot.dir, part->spot.name, "",
                           ETHOS_READ_REVISION, &part->file, &part->seen, &busy, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* Whether every change of the key since a transaction only added. */
static int only_added(struct recovery *r, const struct temp *temp, bool *out,
                      struct ethos_error *error)
{
    struct files_past past = {0};
    bool after = false;
    *out = true;
    int code = files_past_load(r->self, r->hold->dir, r->hold->path, temp->key, &past, error);
    for (size_t i = 0; code == ETHOS_OK && i < past.history.count; i++) {
        const struct history_record *record = &past.history.records[i];
        if (after && !past.history.voided[i] && record->voids_first == 0 &&
            !view_starts(record->actions, VIEW("add")))
            *out = false;
        after = after || view_eq_str(record->txn_id, temp->txn);
    }
    files_past_release(&past);
    return code;
}

/* Makes a temporary the file; what the file was goes where files cannot be exchanged. */
static int become_file(struct recovery *r, const char *name, const struct temp *temp,
                       const struct part *part, bool *out_done, struct ethos_error *error)
{
    const struct files_spot *spot = &part->spot;
    bool known = false;
    *out_done = os_exchange(temp->dir, name, spot->dir, spot->name) == 0;
    if (*out_done || (errno != EINVAL && errno != ENOSYS))
        return ETHOS_OK;
    int code = txn_is_known(r, temp->key, &part->file, &known, error);
    if (code == ETHOS_OK && known)
        *out_done = os_renameat(temp->dir, name, spot->dir, spot->name, 0) == 0;
    return code;
}

/*
 * A text nobody can place any more: what was displaced while it was open for writing, or a temporary
 * whose lines are gone. Known to history, it goes; new to it, it becomes the file, to be judged as
 * an edit made outside, or a conflict copy when more than adding happened since.
 */
static int place(struct recovery *r, const char *name, const struct temp *temp, struct part *part,
                 struct ethos_error *error)
{
    bool known, added = false, done = false;
    int code = txn_is_known(r, temp->key, &part->temp, &known, error);
    if (code == ETHOS_OK && !known && strcmp(temp->suffix, FILES_OLD) == 0)
        code = only_added(r, temp, &added, error);
    if (code != ETHOS_OK)
        return code;
    bool same = part->file.data && strcmp(part->file.revision, part->temp.revision) == 0;
    if (!known && !same && added && part->file.data)
        code = become_file(r, name, temp, part, &done, error);
    if (code != ETHOS_OK || done)
        return code; // what is there now under this name is known
    if (!known && !same)
        code = files_conflict_keep(r->self, r->hold, temp->key,
                                   view_of(part->temp.data, part->temp.size), error);
    if (code == ETHOS_OK && os_unlinkat(temp->dir, name, 0) != 0 && errno != ENOENT)
        code = fail(r, part, error);
    return code;
}

static int place_stray(struct recovery *r, const char *name, const struct temp *temp,
                       struct ethos_error *error)
{
    struct part part = {.spot = {.dir = -1, .lock = -1}};
    bool busy = false;
    int code = read_pair(r, name, temp, &part, &busy, error);
    if (code == ETHOS_OK && !(busy && strcmp(temp->suffix, FILES_OLD) == 0))
        code = place(r, name, temp, &part, error);
    txn_drop_text(r, &part.file);
    txn_drop_text(r, &part.temp);
    files_spot_close(r->hold, &part.spot);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static bool is_text(const struct temp *temp, const char *name)
{
    struct stat st;
    return os_fstatat(temp->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* A folder is nobody's temporary, and in nobody's way. */
static int unlink_name(const struct recovery *r, int dir, const char *name,
                       struct ethos_error *error)
{
    return os_unlinkat(dir, name, 0) == 0 || errno == ENOENT || errno == EISDIR
               ? ETHOS_OK
               : files_fail(r->self, errno, r->hold->path, error);
}

static int end_temp(struct recovery *r, const char *name, const struct temp *temp,
                    struct ethos_error *error)
{
    struct txn txn = {0};
    bool old = strcmp(temp->suffix, FILES_OLD) == 0;
    if (old && is_text(temp, name))
        return place_stray(r, name, temp, error);
    memcpy(txn.id, temp->txn, sizeof txn.id);
    int code = txn_find(r, &txn, error);
    if (code != ETHOS_OK)
        return code;
    if (txn.count > 0 && !txn.over && !old)
        return txn_settle(r, &txn, error);
    if (strcmp(temp->suffix, FILES_NEW) == 0 && is_text(temp, name))
        return place_stray(r, name, temp, error);
    files_tree_prune(r->self, r->hold, temp->key);
    return unlink_name(r, temp->dir, name, error);
}

/* What lies in tmp/ under this name, brought to an end. */
static int handle(struct recovery *r, const char *name, struct ethos_error *error)
{
    struct temp temp = {.dir = r->hold->tmp};
    struct stat st;
    if (os_fstatat(temp.dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return ETHOS_OK; // an earlier one took it along
    if (!read_name(r, name, &temp))
        return unlink_name(r, temp.dir, name, error);
    return end_temp(r, name, &temp, error);
}

static int open_tmp(struct files_hold *hold)
{
    if (hold->tmp < 0)
        hold->tmp = os_open_beneath(hold->dir, FILES_TMP, O_RDONLY | O_DIRECTORY, 0);
    return hold->tmp;
}

static int count_name(void *arg, const char *name)
{
    (void)name;
    ++*(size_t *)arg;
    return 0;
}

static int handle_all(struct recovery *r, struct ethos_error *error)
{
    struct files_names names;
    size_t any = 0;
    if (open_tmp(r->hold) < 0)
        return errno == ENOENT ? ETHOS_OK : files_fail(r->self, errno, r->hold->path, error);
    if (os_list(r->hold->tmp, count_name, &any) != 0)
        return files_fail(r->self, errno, r->hold->path, error);
    if (any == 0)
        return ETHOS_OK;
    int code = files_names_read(r->self, r->hold->tmp, r->hold->path, &names, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++)
        code = handle(r, names.sorted[i], error);
    files_names_release(&names);
    return code;
}

/* ---- the newest transaction ------------------------------------------------------------------- */

/* Whether the file of a line is still the one it was before. */
static bool stands_untouched(const struct recovery *r, const struct history_record *record)
{
    struct files_spot spot;
    struct stat st;
    char key[ETHOS_MAX_KEY + 1];
    if (!record->was.data || record->key.size >= sizeof key)
        return false;
    memcpy(key, record->key.data, record->key.size);
    key[record->key.size] = 0;
    if (txn_open_spot(r, key, &spot, NULL) != ETHOS_OK)
        return false;
    bool untouched = os_fstatat(spot.dir, spot.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    files_spot_close(r->hold, &spot);
    return untouched && files_is_as(&st, record->was);
}

/* Settles the transaction of the last line if it never became the files. */
static int handle_newest(struct recovery *r, struct ethos_error *error)
{
    struct ethos_view tail = str_view(&r->journal->tail);
    struct history_record record = {.txn_index = 2};
    bool untouched = false;
    size_t end = tail.size;
    struct txn txn = {0};
    while (end > 0 && record.txn_index > 1) {
        const char *before = memrchr(tail.data, '\n', end - 1);
        size_t start = before ? (size_t)(before + 1 - tail.data) : 0;
        int code = history_parse(view_of(tail.data + start, end - start), &r->arena, &record);
        if (code == ETHOS_NOMEM)
            return err_nomem(error);
        if (code != ETHOS_OK || record.txn_id.size != FILES_TXN_SIZE - 1)
            break;
        memcpy(txn.id, record.txn_id.data, record.txn_id.size);
        untouched = untouched || stands_untouched(r, &record);
        end = start;
    }
    if (!untouched)
        return ETHOS_OK;
    int code = files_hold_tmp(r->self, r->hold, error);
    if (code == ETHOS_OK)
        code = txn_find(r, &txn, error);
    return code == ETHOS_OK && txn.count > 0 && !txn.over ? txn_settle(r, &txn, error) : code;
}

/* Temporaries of a linked key lie beside its target, whose directory is locked too. */
static int handle_link(struct recovery *r, const struct files_spot *spot, struct ethos_error *error)
{
    struct files_names names;
    int code = files_names_read(r->self, spot->dir, spot->path, &names, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++) {
        struct temp temp;
        struct stat st;
        if (read_link_name(spot, names.sorted[i], &temp) &&
            os_fstatat(temp.dir, names.sorted[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
            code = end_temp(r, names.sorted[i], &temp, error);
    }
    files_names_release(&names);
    return code;
}

/* A change that is not wanted is taken back also where no temporary tells of it any more. */
static int handle_unwanted(struct recovery *r, struct ethos_error *error)
{
    struct txn txn = {0};
    if (!r->unwanted[0])
        return ETHOS_OK;
    snprintf(txn.id, sizeof txn.id, "%s", r->unwanted);
    int code = txn_find(r, &txn, error);
    return code == ETHOS_OK && txn.count > 0 && !txn.over ? txn_settle(r, &txn, error) : code;
}

int files_recover(struct files *self, struct files_hold *hold, struct files_journal *journal,
                  const char *scope, const struct files_spot *spots, size_t count,
                  const char *unwanted, struct ethos_error *error)
{
    struct recovery r = {.self = self,
                         .hold = hold,
                         .journal = journal,
                         .scope = scope,
                         .spots = spots,
                         .spot_count = count,
                         .unwanted = unwanted};
    if (hold->lock < 0)
        return ETHOS_OK;
    arena_init(&r.arena);
    str_init(&r.whole, ETHOS_MAX_HISTORY_BYTES);
    int code = handle_unwanted(&r, error);
    if (code == ETHOS_OK)
        code = handle_all(&r, error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++) {
        if (spots[i].linked && spots[i].dir != hold->dir)
            code = handle_link(&r, &spots[i], error);
    }
    if (code == ETHOS_OK)
        code = handle_newest(&r, error);
    str_clear(&hold->blobs); // lines name them by now
    str_release(&r.whole);
    arena_release(&r.arena);
    return code;
}

int files_recover_hold(struct files *self, struct files_hold *hold, const char *scope,
                       struct ethos_error *error)
{
    struct files_journal journal;
    int code = files_journal_open(self, hold, &journal, error);
    if (code == ETHOS_OK)
        code = files_recover(self, hold, &journal, scope, NULL, 0, "", error);
    files_journal_close(hold, &journal);
    return code;
}
