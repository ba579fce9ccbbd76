/*
 * recover.c: finishes or takes back what a dead writer left.
 *
 * Every temporary is named after a transaction, whose lines describe it: transaction.c finishes
 * that transaction or takes it back. A temporary without lines was never swapped, or its history
 * is lost: then its text is looked up among the recorded ones, and saved if it is not there.
 *
 * A temporary is removed only after the line that explains it is durable. Where none is left, the
 * newest transaction may still be one that a power cut kept from being published: the file is then
 * the very one that its line names (`was`).
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
#include "store/update_steps.h"

int files_record_seen_text(struct files *self, struct files_lock *lock,
                           struct files_journal *journal, const char *scope, const char *key,
                           struct ethos_view text, struct ethos_error *error)
{
    struct history_last last;
    char hex[HASH_HEX_SIZE], nothing[ETHOS_REVISION_SIZE];
    hash_hex(text, hex);
    hash_revision((struct ethos_view){"", 0}, nothing);
    int code = files_blob_write(self, lock, hex, text, true, error);
    if (code == ETHOS_OK)
        code = files_journal_last_change(journal, key, &last, error);
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
    code = files_journal_append(self, lock, journal, NULL, &record, 1, true, error);
    return code == FILES_RETRY ? ETHOS_OK : code;
}

/*
 * ---- temporaries ------------------------------------------------------------------------------
 */

/*
 * A parsed temporary: <key>.<txn><suffix>, or .<name>.ethos-<txn><suffix> beside the target of a
 * link.
 */
struct temp_name {
    int dir; /* where it lies */
    char key[ETHOS_MAX_KEY + 1];
    char txn[FILES_TXN_SIZE];
    const char *suffix;
};

/* What precedes .<txn><suffix> or -<txn><suffix> in a name; absent when it does not end so. */
static struct ethos_view cut_temp_suffix(const char *name, char mark, struct temp_name *out)
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

static bool parse_temp_name(const struct recovery *r, const char *name, struct temp_name *out)
{
    char path[FILES_PATH_SIZE];
    struct ethos_view key = cut_temp_suffix(name, '.', out);
    if (!key.data || key.size > ETHOS_MAX_KEY)
        return false;
    memcpy(out->key, key.data, key.size);
    out->key[key.size] = 0;
    files_name_to_key(out->key);
    return !files_is_history(out->key) &&
           files_key_path(r->scope, out->key, path, NULL) == ETHOS_OK;
}

/* Whether a name is that of a temporary of this key, which is a link. */
static bool parse_link_temp_name(const struct files_location *location, const char *name,
                                 struct temp_name *out)
{
    char mark[FILES_TEMP_SIZE - 32];
    struct ethos_view rest = cut_temp_suffix(name, '-', out);
    files_link_draft_prefix(location, mark);
    if (!rest.data || !view_eq(view_of(rest.data, rest.size + 1), view_str(mark)))
        return false;
    memcpy(out->key, location->key, strlen(location->key) + 1);
    out->dir = location->dir;
    return true;
}

/* Reads a temporary, and the file of its key. */
static int read_temp_and_file(struct recovery *r, const char *name, const struct temp_name *temp,
                              struct txn_key *part, bool *out_busy, struct ethos_error *error)
{
    struct stat st;
    bool busy;
    int code = txn_locate_key(r, temp->key, &part->location, error);
    if (code == ETHOS_OK)
        code = files_location_read(r->self, part->location.path, temp->dir, name, NULL,
                                   ETHOS_READ_REVISION, &part->temp, &st, out_busy, error);
    if (code != ETHOS_OK)
        return code;
    code = files_location_read(r->self, part->location.path, part->location.dir,
                               part->location.name, "", ETHOS_READ_REVISION, &part->file,
                               &part->seen, &busy, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* Whether all changes of the key since a transaction were adds. */
static int is_only_adds_since(struct recovery *r, const struct temp_name *temp, bool *out,
                              struct ethos_error *error)
{
    struct files_key_history past = {0};
    bool after = false;
    *out = true;
    int code = files_key_history_load(r->self, r->lock->dir, r->lock->path, temp->key, &past,
                                      error);
    for (size_t i = 0; code == ETHOS_OK && i < past.history.count; i++) {
        const struct history_record *record = &past.history.records[i];
        if (after && !past.history.voided[i] && record->voids_first == 0 &&
            !view_starts(record->actions, VIEW("add")))
            *out = false;
        after = after || view_eq_str(record->txn_id, temp->txn);
    }
    files_key_history_free(&past);
    return code;
}

/*
 * Makes a temporary the file and the file the temporary; without exchange, only if the file's text
 * is recorded.
 */
static int replace_with_temp(struct recovery *r, const char *name, const struct temp_name *temp,
                             const struct txn_key *part, bool *out_done, struct ethos_error *error)
{
    const struct files_location *location = &part->location;
    bool known = false;
    *out_done = os_exchange(temp->dir, name, location->dir, location->name) == 0;
    if (*out_done || (errno != EINVAL && errno != ENOSYS))
        return ETHOS_OK;
    int code = txn_is_recorded_text(r, temp->key, &part->file, &known, error);
    if (code == ETHOS_OK && known)
        *out_done = os_renameat(temp->dir, name, location->dir, location->name, 0) == 0;
    return code;
}

/*
 * Resolves a text that no transaction explains: displaced while it was open for writing, or a
 * temporary whose lines are lost. If history knows it, it is removed; if not, it becomes the file,
 * to be treated as an external edit, or a conflict copy if there were other changes than adds
 * since.
 */
static int resolve_stray_text(struct recovery *r, const char *name, const struct temp_name *temp,
                              struct txn_key *part, struct ethos_error *error)
{
    bool known, added = false, done = false;
    int code = txn_is_recorded_text(r, temp->key, &part->temp, &known, error);
    if (code == ETHOS_OK && !known && strcmp(temp->suffix, FILES_OLD) == 0)
        code = is_only_adds_since(r, temp, &added, error);
    if (code != ETHOS_OK)
        return code;
    bool same = part->file.data && strcmp(part->file.revision, part->temp.revision) == 0;
    if (!known && !same && added && part->file.data)
        code = replace_with_temp(r, name, temp, part, &done, error);
    if (code != ETHOS_OK || done)
        return code; // the temporary now has a recorded text
    if (!known && !same)
        code = files_conflict_write(r->self, r->lock, temp->key,
                                    view_of(part->temp.data, part->temp.size), error);
    if (code == ETHOS_OK && os_unlinkat(temp->dir, name, 0) != 0 && errno != ENOENT)
        code = files_step_error(r->self, errno, part->location.path, error);
    return code;
}

static int resolve_stray(struct recovery *r, const char *name, const struct temp_name *temp,
                         struct ethos_error *error)
{
    struct txn_key part = {.location = {.dir = -1, .lock = -1}};
    bool busy = false;
    int code = read_temp_and_file(r, name, temp, &part, &busy, error);
    if (code == ETHOS_OK && !(busy && strcmp(temp->suffix, FILES_OLD) == 0))
        code = resolve_stray_text(r, name, temp, &part, error);
    edit_free_text(r->self->host, &part.file);
    edit_free_text(r->self->host, &part.temp);
    files_location_close(r->lock, &part.location);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static bool is_regular_file(const struct temp_name *temp, const char *name)
{
    struct stat st;
    return os_fstatat(temp->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* Removes a temporary. A folder is not one, and may stay. */
static int remove_temp(const struct recovery *r, int dir, const char *name,
                       struct ethos_error *error)
{
    return os_unlinkat(dir, name, 0) == 0 || errno == ENOENT || errno == EISDIR
               ? ETHOS_OK
               : files_step_error(r->self, errno, r->lock->path, error);
}

static int resolve_temp(struct recovery *r, const char *name, const struct temp_name *temp,
                        struct ethos_error *error)
{
    struct txn txn = {0};
    bool old = strcmp(temp->suffix, FILES_OLD) == 0;
    if (old && is_regular_file(temp, name))
        return resolve_stray(r, name, temp, error);
    memcpy(txn.id, temp->txn, sizeof txn.id);
    TRY(txn_load(r, &txn, error));
    if (txn.count > 0 && !txn.over && !old)
        return txn_resolve(r, &txn, error);
    if (strcmp(temp->suffix, FILES_NEW) == 0 && is_regular_file(temp, name))
        return resolve_stray(r, name, temp, error);
    files_key_dirs_prune(r->self, r->lock, temp->key);
    return remove_temp(r, temp->dir, name, error);
}

/* Resolves a name in tmp/. */
static int resolve_name(struct recovery *r, const char *name, struct ethos_error *error)
{
    struct temp_name temp = {.dir = r->lock->tmp};
    struct stat st;
    if (os_fstatat(temp.dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return ETHOS_OK; // removed together with an earlier one
    if (!parse_temp_name(r, name, &temp))
        return remove_temp(r, temp.dir, name, error);
    return resolve_temp(r, name, &temp, error);
}

static int open_drafts_dir(struct files_lock *lock)
{
    if (lock->tmp < 0)
        lock->tmp = os_open_beneath(lock->dir, FILES_TMP, O_RDONLY | O_DIRECTORY, 0);
    return lock->tmp;
}

static int count_name(void *arg, const char *name)
{
    (void)name;
    ++*(size_t *)arg;
    return 0;
}

static int resolve_all_temps(struct recovery *r, struct ethos_error *error)
{
    CLEANUP_NAMES struct files_names names = {0};
    size_t any = 0;
    if (open_drafts_dir(r->lock) < 0)
        return errno == ENOENT ? ETHOS_OK : files_step_error(r->self, errno, r->lock->path, error);
    if (os_list(r->lock->tmp, count_name, &any) != 0)
        return files_step_error(r->self, errno, r->lock->path, error);
    if (any == 0)
        return ETHOS_OK;
    TRY(files_names_read(r->self, r->lock->tmp, r->lock->path, &names, error));
    for (size_t i = 0; i < names.count; i++)
        TRY(resolve_name(r, names.sorted[i], error));
    return ETHOS_OK;
}

/*
 * ---- the newest transaction -------------------------------------------------------------------
 */

/* Whether the file of a line is still the one from before it. */
static bool is_file_untouched(const struct recovery *r, const struct history_record *record)
{
    struct files_location location;
    struct stat st;
    char key[ETHOS_MAX_KEY + 1];
    if (!record->was.data || record->key.size >= sizeof key)
        return false;
    memcpy(key, record->key.data, record->key.size);
    key[record->key.size] = 0;
    if (txn_locate_key(r, key, &location, NULL) != ETHOS_OK)
        return false;
    bool untouched = os_fstatat(location.dir, location.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    files_location_close(r->lock, &location);
    return untouched && files_has_state(&st, record->was);
}

/* Resolves the transaction of the last line if it never became the files. */
static int resolve_newest(struct recovery *r, struct ethos_error *error)
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
        untouched = untouched || is_file_untouched(r, &record);
        end = start;
    }
    if (!untouched)
        return ETHOS_OK;
    int code = files_lock_open_drafts(r->self, r->lock, error);
    if (code == ETHOS_OK)
        code = txn_load(r, &txn, error);
    return code == ETHOS_OK && txn.count > 0 && !txn.over ? txn_resolve(r, &txn, error) : code;
}

/* Temporaries of a linked key are beside its target, whose directory is locked too. */
static int resolve_link_temps(struct recovery *r, const struct files_location *location,
                              struct ethos_error *error)
{
    CLEANUP_NAMES struct files_names names;
    TRY(files_names_read(r->self, location->dir, location->path, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        struct temp_name temp;
        struct stat st;
        if (parse_link_temp_name(location, names.sorted[i], &temp) &&
            os_fstatat(temp.dir, names.sorted[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
            TRY(resolve_temp(r, names.sorted[i], &temp, error));
    }
    return ETHOS_OK;
}

/* Takes back an unwanted transaction, also if no temporary of it is left. */
static int resolve_unwanted(struct recovery *r, struct ethos_error *error)
{
    struct txn txn = {0};
    if (!r->unwanted[0])
        return ETHOS_OK;
    snprintf(txn.id, sizeof txn.id, "%s", r->unwanted);
    int code = txn_load(r, &txn, error);
    return code == ETHOS_OK && txn.count > 0 && !txn.over ? txn_resolve(r, &txn, error) : code;
}

int files_recover(struct files *self, struct files_lock *lock, struct files_journal *journal,
                  const char *scope, const struct files_location *locations, size_t count,
                  const char *unwanted, struct ethos_error *error)
{
    struct recovery r = {.self = self,
                         .lock = lock,
                         .journal = journal,
                         .scope = scope,
                         .locations = locations,
                         .location_count = count,
                         .unwanted = unwanted};
    if (lock->fd < 0)
        return ETHOS_OK;
    arena_init(&r.arena);
    str_init(&r.whole, ETHOS_MAX_HISTORY_BYTES);
    int code = resolve_unwanted(&r, error);
    if (code == ETHOS_OK)
        code = resolve_all_temps(&r, error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++) {
        if (locations[i].linked && locations[i].dir != lock->dir)
            code = resolve_link_temps(&r, &locations[i], error);
    }
    if (code == ETHOS_OK)
        code = resolve_newest(&r, error);
    str_clear(&lock->blobs); // their lines are durable by now
    str_release(&r.whole);
    arena_release(&r.arena);
    return code;
}

int files_recover_locked(struct files *self, struct files_lock *lock, const char *scope,
                         struct ethos_error *error)
{
    struct files_journal journal;
    int code = files_journal_open(self, lock, &journal, error);
    if (code == ETHOS_OK)
        code = files_recover(self, lock, &journal, scope, NULL, 0, "", error);
    files_journal_close(lock, &journal);
    return code;
}
