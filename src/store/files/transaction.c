/*
 * transaction.c: finishes a transaction or takes it back.
 *
 * Its lines say what each key was to become (H2: the text after, base: the text before):
 *
 *     file     .new                state
 *     H2       base, H2 or none    published
 *     H2       other               displaced: a save came between reading and swapping
 *     other    H2, or a draft      unpublished
 *     other    base, or the file   published, then saved over
 *     other    unknown             two saves: the file if history knows it, else .new, is the older
 *
 * A new file is published by a second name for .new, a deletion by renaming the file to .new, with
 * the empty .gone beside it. What was displaced is stored as a blob with a line of its own and
 * exchanged back, which makes the key unpublished. Then: if all keys are published, the
 * transaction stands; else the published ones are exchanged back and all its lines become void.
 * Nothing is ever rolled forward: what was not published was not acknowledged.
 */
#include "store/files/transaction.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/history/external_edit.h"
#include "store/update_steps.h"

#define PASSES 100
#define HASH_OF_NOTHING                                                                            \
    VIEW("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
#define TXN_MEMBER "\"txn\":\""

/*
 * ---- finding a transaction --------------------------------------------------------------------
 */

static bool has_txn_id(struct ethos_view line, const char *id)
{
    char needle[sizeof TXN_MEMBER + FILES_TXN_SIZE + 1];
    snprintf(needle, sizeof needle, TXN_MEMBER "%s/", id);
    return view_contains(line, view_str(needle));
}

/* What was here before a line: a line of another store says it by itself. */
static struct history_record starting_state(const struct history_record *record)
{
    struct history_record began = *record;
    if (record->graft.size == 0)
        return began;
    began.absent_before = view_eq(record->graft, VIEW("absent"));
    began.before_hash = began.absent_before ? HASH_OF_NOTHING : record->graft;
    return began;
}

static struct txn_key *find_txn_key(struct txn *txn, struct ethos_view key)
{
    for (size_t i = 0; i < txn->count; i++) {
        if (view_eq(txn->parts[i].last.key, key))
            return &txn->parts[i];
    }
    return NULL;
}

static void add_txn_line(struct txn *txn, const struct history_record *record)
{
    struct txn_key *part = find_txn_key(txn, record->key);
    if (!part) {
        part = &txn->parts[txn->count++];
        *part = (struct txn_key){.location = {.dir = -1, .lock = -1},
                                 .opening = starting_state(record),
                                 .first = starting_state(record)};
    } else if (!part->first.graft.data && view_eq(part->first.actions, VIEW("external"))) {
        part->first = *record;
    }
    part->last = *record;
    txn->lines[txn->line_count++] = *record;
    if (txn->first_seq == 0)
        txn->first_seq = record->seq;
    txn->last_seq = record->seq;
}

/* Whether a later line may say that the transaction is over. */
static bool may_end_txn(const struct txn *txn, struct ethos_view line)
{
    bool ends = txn->count > 0 && view_contains(line, VIEW("\"voids\":["));
    for (size_t i = 0; !ends && i < txn->count; i++)
        ends = view_contains(line, txn->parts[i].last.key);
    return ends;
}

/*
 * A void of its lines ends it; so does any other change of its keys, since recovery comes before
 * those.
 */
static bool is_end_of_txn(struct txn *txn, const struct history_record *record)
{
    if (record->voids_first > 0)
        return record->voids_first <= txn->first_seq && txn->first_seq <= record->voids_last;
    return !view_eq(record->via, VIEW("seen")) && find_txn_key(txn, record->key);
}

/* Allocates a key for each line: what a line says about their number is not trusted. */
static int alloc_txn_keys(struct recovery *r, struct ethos_view lines, struct txn *txn)
{
    struct ethos_view line;
    size_t count = 0;
    while (view_line(&lines, &line))
        count += has_txn_id(line, txn->id);
    txn->parts = arena_array(&r->arena, count, sizeof *txn->parts);
    txn->lines = arena_array(&r->arena, count, sizeof *txn->lines);
    return txn->parts && txn->lines ? ETHOS_OK : ETHOS_NOMEM;
}

static int load_txn_lines(struct recovery *r, struct ethos_view lines, struct txn *txn)
{
    struct history_record record;
    struct ethos_view line, rest = lines;
    if (alloc_txn_keys(r, lines, txn) != ETHOS_OK)
        return ETHOS_NOMEM;
    while (view_line(&rest, &line)) {
        bool mine = has_txn_id(line, txn->id);
        if (!mine && !may_end_txn(txn, line))
            continue;
        const char *copy = arena_copy(&r->arena,
                                      line); // a copy, since the journal's text moves as it grows
        int code = copy ? history_parse(view_of(copy, line.size), &r->arena, &record) : ETHOS_NOMEM;
        if (code == ETHOS_NOMEM)
            return code;
        if (code != ETHOS_OK)
            continue;
        if (mine && record.voids_first == 0) {
            add_txn_line(txn, &record);
        } else {
            txn->over = txn->over || is_end_of_txn(txn, &record);
        }
    }
    return ETHOS_OK;
}

int txn_load(struct recovery *r, struct txn *txn, struct ethos_error *error)
{
    int code = load_txn_lines(r, str_view(&r->journal->tail), txn);
    if (code == ETHOS_OK && txn->count == 0 && r->journal->indexed) {
        if (r->whole.size == 0)
            code = files_history_read_all(r->self, r->lock->dir, r->lock->path, &r->whole, error);
        if (code != ETHOS_OK)
            return code;
        code = load_txn_lines(r, str_view(&r->whole), txn);
    }
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

int txn_locate_key(const struct recovery *r, const char *key, struct files_location *location,
                   struct ethos_error *error)
{
    return files_location_open(r->self, r->lock, r->scope, key, r->locations, r->location_count,
                               location, error);
}

/*
 * ---- looking at its keys ----------------------------------------------------------------------
 */

static bool temp_exists(const struct recovery *r, const struct txn_key *part, const char *id,
                        const char *suffix)
{
    struct stat st;
    char name[FILES_TEMP_SIZE];
    int dir = files_location_temp(r->lock, &part->location, id, suffix, name);
    return os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int read_temp(struct recovery *r, struct txn_key *part, const char *id, const char *suffix,
                     struct ethos_error *error)
{
    struct stat st;
    bool busy;
    char name[FILES_TEMP_SIZE];
    int dir = files_location_temp(r->lock, &part->location, id, suffix, name);
    int code = files_location_read(r->self, part->location.path, dir, name, "", ETHOS_READ_REVISION,
                                   &part->temp, &st, &busy, error);
    part->twin = code == ETHOS_OK && part->file.data && st.st_ino == part->seen.st_ino &&
                 st.st_dev == part->seen.st_dev;
    return code;
}

/* Whether a name is something else than a file: a link, a folder, a pipe. */
static bool is_not_file(int dir, const char *name)
{
    struct stat st;
    return os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode);
}

static int inspect_key(struct recovery *r, struct txn *txn, struct txn_key *part,
                       struct ethos_error *error)
{
    bool busy;
    char name[FILES_TEMP_SIZE];
    int dir = files_location_temp(r->lock, &part->location, txn->id, FILES_NEW, name);
    part->odd_file = part->blocked || is_not_file(part->location.dir, part->location.name);
    part->odd_temp = is_not_file(dir, name);
    part->twin = false;
    edit_free_text(r->self->host, &part->file);
    edit_free_text(r->self->host, &part->temp);
    part->has_new = temp_exists(r, part, txn->id, FILES_NEW);
    int draft_dir = files_location_temp(r->lock, &part->location, txn->id, FILES_DRAFT, name);
    part->has_draft = temp_exists(r, part, txn->id, FILES_DRAFT) && !is_not_file(draft_dir, name);
    part->has_gone = temp_exists(r, part, txn->id, FILES_GONE);
    int code = part->odd_file
                   ? ETHOS_NOTFOUND
                   : files_location_read(r->self, part->location.path, part->location.dir,
                                         part->location.name, "", ETHOS_READ_REVISION, &part->file,
                                         &part->seen, &busy, error);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
        return code;
    if ((part->has_new || part->has_draft) && !part->odd_temp)
        code = read_temp(r, part, txn->id, part->has_new ? FILES_NEW : FILES_DRAFT, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static bool is_recorded_text(const struct ethos_text *text, struct ethos_view hash, bool absent)
{
    return text->data ? !absent && view_eq_str(hash, text->revision) : absent;
}

static bool is_text_after(const struct txn_key *part, const struct ethos_text *text)
{
    return is_recorded_text(text, part->last.after_hash, part->last.absent_after);
}

static bool is_text_before(const struct txn_key *part, const struct ethos_text *text)
{
    return is_recorded_text(text, part->first.before_hash, part->first.absent_before);
}

/* Whether the file is the very one that had the text before. */
static bool is_untouched(const struct txn_key *part)
{
    return part->file.data && part->first.was.data && files_has_state(&part->seen, part->first.was);
}

static bool find_recorded_text(struct recovery *r, const struct txn_key *part,
                               const struct history_record *line, bool before, struct str *out,
                               struct ethos_view *out_view);

/* A line of the key with its complete diff; cut as it is where a text is lost. */
static struct history_record complete_diff(struct recovery *r, const struct txn_key *part,
                                           struct history_record line)
{
    struct str before_text, after_text;
    struct ethos_view before, after;
    if (line.blob.size == 0)
        return line;
    str_init(&before_text, ETHOS_MAX_STORE_BYTES);
    str_init(&after_text, ETHOS_MAX_STORE_BYTES);
    if (find_recorded_text(r, part, &line, true, &before_text, &before) &&
        find_recorded_text(r, part, &line, false, &after_text, &after))
        history_mend(before, after, &r->arena, &line);
    str_release(&before_text);
    str_release(&after_text);
    return line;
}

/* Whether the file has an entry that a line added once more than the text before all lines. */
static bool has_added_entry(struct recovery *r, const struct txn_key *part,
                            const struct history_record *line)
{
    struct str base_text;
    struct ethos_view base, text = view_of(part->file.data, part->file.size);
    struct history_record whole = complete_diff(r, part, *line);
    size_t now = verdict_count(&whole, text);
    if (now == 0)
        return false;
    str_init(&base_text, ETHOS_MAX_STORE_BYTES);
    bool more = find_recorded_text(r, part, &part->first, true, &base_text, &base) &&
                now > verdict_count(&whole, base);
    str_release(&base_text);
    return more;
}

/*
 * Whether somebody saved a copy of a text that was swapped in for a moment: then the key counts as
 * published. One of its entries is enough, since whoever has it may have removed others.
 */
static bool has_any_added_entry(struct recovery *r, const struct txn *txn,
                                const struct txn_key *part)
{
    for (size_t i = 0; part->file.data && i < txn->line_count; i++) {
        if (view_eq(txn->lines[i].key, part->last.key) && has_added_entry(r, part, &txn->lines[i]))
            return true;
    }
    return false;
}

static enum txn_state classify_key(struct recovery *r, const struct txn *txn,
                                   const struct txn_key *part)
{
    if (part->last.absent_after) {
        if (part->file.data)
            return part->has_gone || is_untouched(part) ? UNPUBLISHED : PUBLISHED;
        return part->has_new && !is_text_before(part, &part->temp) ? DISPLACED : PUBLISHED;
    }
    if (is_text_after(part, &part->file))
        return !part->has_new || is_text_before(part, &part->temp) ||
                       is_text_after(part, &part->temp)
                   ? PUBLISHED
                   : DISPLACED;
    if (is_untouched(part))
        return UNPUBLISHED;
    if (!part->has_new && !part->has_draft)
        return PUBLISHED; // published, and saved over or deleted since
    if (part->has_new && !is_text_after(part, &part->temp))
        return part->twin || is_text_before(part, &part->temp) ? PUBLISHED : TWO_SAVES;
    return has_any_added_entry(r, txn, part) ? PUBLISHED : UNPUBLISHED;
}

/*
 * ---- moving texts -----------------------------------------------------------------------------
 */

static int key_error(const struct recovery *r, const struct txn_key *part,
                     struct ethos_error *error)
{
    return files_step_error(r->self, errno, part->location.path, error);
}

/*
 * Swaps .new and the file, or moves the one that exists. After ENOENT or EEXIST the key is
 * inspected again.
 */
static int swap_back(struct recovery *r, const struct txn *txn, struct txn_key *part,
                     struct ethos_error *error)
{
    char name[FILES_TEMP_SIZE];
    struct files_location *location = &part->location;
    int failed, dir = files_location_temp(r->lock, location, txn->id, FILES_NEW, name);
    TRY(part->file.data ? ETHOS_OK : files_key_dirs_create(r->self, r->lock, location, error));
    if (!part->file.data)
        failed = os_renameat(dir, name, location->dir, location->name, RENAME_NOREPLACE);
    else if (part->has_new)
        failed = os_exchange(dir, name, location->dir, location->name);
    else
        failed = os_renameat(location->dir, location->name, dir, name, RENAME_NOREPLACE);
    if (failed && (errno == EINVAL || errno == ENOSYS)) // the file system supports no flags
        failed = part->file.data && !part->has_new
                     ? os_renameat(location->dir, location->name, dir, name, 0)
                     : os_renameat(dir, name, location->dir, location->name, 0);
    if (failed && errno != ENOENT && errno != EEXIST)
        return key_error(r, part, error);
    return r->self->durable && os_fsync(location->dir) != 0 ? key_error(r, part, error) : ETHOS_OK;
}

static int unlink_temp(struct recovery *r, const struct txn *txn, const struct txn_key *part,
                       const char *suffix, struct ethos_error *error)
{
    char name[FILES_TEMP_SIZE];
    int dir = files_location_temp(r->lock, &part->location, txn->id, suffix, name);
    return os_unlinkat(dir, name, 0) == 0 || errno == ENOENT || errno == EISDIR
               ? ETHOS_OK
               : key_error(r, part, error);
}

static int unlink_temps(struct recovery *r, const struct txn *txn, struct ethos_error *error)
{
    static const char *const suffixes[] = {FILES_DRAFT, FILES_NEW, FILES_GONE};
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < txn->count; i++) {
        for (size_t k = 0; code == ETHOS_OK && k < 3; k++)
            code = unlink_temp(r, txn, &txn->parts[i], suffixes[k], error);
    }
    return code;
}

/*
 * ---- taking back ------------------------------------------------------------------------------
 */

int txn_is_recorded_text(struct recovery *r, const char *key, const struct ethos_text *text,
                         bool *out_known, struct ethos_error *error)
{
    struct files_key_history past = {0};
    *out_known = false;
    int code = files_key_history_load(r->self, r->lock->dir, r->lock->path, key, &past, error);
    for (size_t i = 0; code == ETHOS_OK && i < past.history.count && !*out_known; i++) {
        const struct history_record *record = &past.history.records[i];
        struct ethos_view hash = view_str(text->revision);
        *out_known = view_eq(record->before_hash, hash) || view_eq(record->after_hash, hash) ||
                     (record->after_blob.size > 0 && view_ends(hash, record->after_blob));
    }
    files_key_history_free(&past);
    return code;
}

/* The text before or after a line of the key, from the history. ETHOS_NOTFOUND. */
static int read_recorded_text(struct recovery *r, const struct txn_key *part,
                              const struct history_record *line, bool before, struct str *out)
{
    struct files_key_history past = {0};
    int code = files_key_history_load(r->self, r->lock->dir, r->lock->path, part->location.key,
                                      &past, NULL);
    bool stood = before &&
                 line->graft.size >
                     0; // the text that was here, which need not be the one before the line
    size_t count = past.history.count, i = count;
    if (code == ETHOS_OK && stood)
        i = (history_find(&past.history, line->before_hash) + 1) % (count + 1);
    while (code == ETHOS_OK && !stood && i > 0 && past.history.records[i - 1].seq != line->seq)
        i--;
    if (code == ETHOS_OK)
        code = i > 0 ? files_key_history_text(r->self, &past, i - 1, before && !stood, out, NULL)
                     : ETHOS_NOTFOUND;
    files_key_history_free(&past);
    return code;
}

/*
 * The same, from the file or the temporary if it is there; the absent view for no file. False when
 * it is lost.
 */
static bool find_recorded_text(struct recovery *r, const struct txn_key *part,
                               const struct history_record *line, bool before, struct str *out,
                               struct ethos_view *out_view)
{
    const struct ethos_text *at_hand[] = {&part->file, &part->temp};
    struct ethos_view hash = before ? line->before_hash : line->after_hash;
    *out_view = (struct ethos_view){0};
    if (before ? line->absent_before : line->absent_after)
        return true;
    for (size_t i = 0; i < 2; i++) {
        *out_view = view_of(at_hand[i]->data, at_hand[i]->size);
        if (is_recorded_text(at_hand[i], hash, false))
            return true;
    }
    bool found = read_recorded_text(r, part, line, before, out) == ETHOS_OK;
    *out_view = str_view(out);
    return found;
}

/* Describes the change that takes a key back. False where a text is lost or cannot be stored. */
static bool describe_void(struct recovery *r, const struct txn_key *part,
                          struct history_record *out)
{
    static const struct history_last known = {.any = true, .ours = true};
    struct str before_text, after_text;
    struct ethos_view before, after;
    str_init(&before_text, ETHOS_MAX_STORE_BYTES);
    str_init(&after_text, ETHOS_MAX_STORE_BYTES);
    bool done = find_recorded_text(r, part, &part->last, false, &before_text, &before) &&
                find_recorded_text(r, part, &part->opening, true, &after_text, &after) &&
                files_describe_change(r->self, r->lock, &known, before, after, &r->arena, out,
                                      NULL) == ETHOS_OK;
    str_release(&before_text);
    str_release(&after_text);
    return done;
}

/*
 * Makes the line that takes a key back, including an external edit before it: that is examined
 * again. Where a text is lost, or a read-only folder has no room for it, only hashes are recorded.
 */
static void make_void_record(struct recovery *r, const struct txn *txn, const struct txn_key *part,
                             struct history_record *out)
{
    const struct history_record hashes = {
        .scope = view_str(r->scope),
        .key = view_str(part->location.key),
        .before_hash = part->last.after_hash,
        .after_hash = part->opening.before_hash,
        .diff = VIEW(""),
        .size_before = part->last.size_after,
        .size_after = part->opening.size_before,
        .absent_before = part->last.absent_after,
        .absent_after = part->opening.absent_before,
    };
    *out = hashes;
    if (!describe_void(r, part, out))
        *out = hashes;
    out->actions = VIEW("restore");
    out->source = VIEW("restore");
    out->via = VIEW("recovery");
    out->actor = VIEW("ethos");
    out->voids_first = txn->first_seq;
    out->voids_last = txn->last_seq;
}

static int append_voids(struct recovery *r, const struct txn *txn, struct ethos_error *error)
{
    struct history_record *records = arena_array(&r->arena, txn->count, sizeof *records);
    if (!records)
        return err_nomem(error);
    for (size_t i = 0; i < txn->count; i++)
        make_void_record(r, txn, &txn->parts[i], &records[i]);
    int code = files_journal_append(r->self, r->lock, r->journal, NULL, records, txn->count, true,
                                    error);
    return code == FILES_RETRY ? ETHOS_OK : code;
}

/* Writes the text before as .new of a published key, to be exchanged. */
static int write_text_before(struct recovery *r, const struct txn *txn, struct txn_key *part,
                             struct ethos_error *error)
{
    char name[FILES_TEMP_SIZE];
    struct str base;
    str_init(&base, ETHOS_MAX_STORE_BYTES);
    int code = read_recorded_text(r, part, &part->first, true, &base);
    int dir = files_location_temp(r->lock, &part->location, txn->id, FILES_NEW, name);
    int fd = code == ETHOS_OK ? files_draft_create(dir, name) : -1;
    if (fd >= 0) {
        bool done = (!part->file.data || os_adopt(fd, &part->seen) == 0 || errno == EPERM) &&
                    os_write_all(fd, base.data, base.size) == 0 && os_fdatasync(fd) == 0;
        code = done ? ETHOS_OK : key_error(r, part, error);
        os_close(fd);
        if (!done)
            os_unlinkat(dir, name, 0);
        part->has_new = done;
    } else if (code == ETHOS_OK) {
        code = key_error(r, part, error);
    } else {
        code = ETHOS_OK; // the text before is lost: the new one stays
        part->state = UNPUBLISHED;
    }
    str_release(&base);
    return code;
}

/* Takes a published key back, unless somebody has changed it since. */
static int take_key_back(struct recovery *r, struct txn *txn, struct txn_key *part,
                         struct ethos_error *error)
{
    bool deleted = part->last.absent_after && !part->file.data;
    if ((part->first.absent_before ? part->last.absent_after
                                   : !part->last.absent_after &&
                                         view_eq(part->first.before_hash, part->last.after_hash)) ||
        (!deleted && !is_text_after(part, &part->file))) {
        part->state = UNPUBLISHED;
        return ETHOS_OK;
    }
    int code = ETHOS_OK;
    if (part->first.absent_before) {
        code = unlink_temp(r, txn, part, FILES_NEW, error); // another name of the same file
        part->has_new = false;
    } else if (!part->has_new || is_text_after(part, &part->temp)) {
        code = write_text_before(r, txn, part, error);
    }
    return code == ETHOS_OK && part->state == PUBLISHED ? swap_back(r, txn, part, error) : code;
}

/*
 * ---- one transaction --------------------------------------------------------------------------
 */

static int sync_key_dirs(struct recovery *r, const struct txn *txn, struct ethos_error *error)
{
    for (size_t i = 0; r->self->durable && i < txn->count; i++) {
        if (os_fsync(txn->parts[i].location.dir) != 0)
            return key_error(r, &txn->parts[i], error);
    }
    return ETHOS_OK;
}

/*
 * Whether somebody saved over a published key and kept what it added, while the other keys still
 * are what they were: then publishing the rest is the only way that applies everything once.
 */
static bool is_saved_over(struct recovery *r, const struct txn *txn)
{
    bool kept = false;
    for (size_t i = 0; i < txn->count; i++) {
        const struct txn_key *part = &txn->parts[i];
        bool over = part->state == PUBLISHED && !is_text_after(part, &part->file);
        if (over && !has_any_added_entry(r, txn, part))
            return false;
        if (part->state == UNPUBLISHED && (!part->has_new || !is_text_after(part, &part->temp) ||
                                           !is_text_before(part, &part->file)))
            return false;
        kept = kept || over;
    }
    return kept && strcmp(txn->id, r->unwanted) != 0;
}

/* Takes one step. *out_done: the transaction is finished or taken back. */
static int resolve_step(struct recovery *r, struct txn *txn, bool *out_done,
                        struct ethos_error *error)
{
    bool complete = strcmp(txn->id, r->unwanted) != 0;
    for (size_t i = 0; i < txn->count; i++) {
        struct txn_key *part = &txn->parts[i];
        int code = inspect_key(r, txn, part, error);
        if (code != ETHOS_OK)
            return code;
        part->state = classify_key(r, txn, part);
        if (part->state == TWO_SAVES) {
            bool known = false;
            TRY(part->file.data
                    ? txn_is_recorded_text(r, part->location.key, &part->file, &known, error)
                    : ETHOS_OK);
            if (known || !part->file.data)
                return swap_back(r, txn, part, error);
            TRY(files_conflict_write(r->self, r->lock, part->location.key,
                                     view_of(part->temp.data, part->temp.size), error));
            return unlink_temp(r, txn, part, FILES_NEW, error);
        }
        if (part->odd_file) {
            *out_done = true; // not ours to move
            return ETHOS_OK;
        }
        if (part->odd_temp)
            return swap_back(r, txn, part, error);
        if (part->state == DISPLACED) {
            code = files_record_seen_text(r->self, r->lock, r->journal, r->scope,
                                          part->location.key,
                                          view_of(part->temp.data, part->temp.size), error);
            return code == ETHOS_OK ? swap_back(r, txn, part, error) : code;
        }
        complete = complete && part->state == PUBLISHED;
    }
    if (!complete && is_saved_over(r, txn)) {
        for (size_t i = 0; i < txn->count; i++) {
            if (txn->parts[i].state == UNPUBLISHED)
                TRY(swap_back(r, txn, &txn->parts[i], error));
        }
        return ETHOS_OK;
    }
    bool moved = false;
    for (size_t i = 0; !complete && i < txn->count; i++) {
        struct txn_key *part = &txn->parts[i];
        if (part->state != PUBLISHED)
            continue;
        int code = take_key_back(r, txn, part, error);
        if (code != ETHOS_OK)
            return code;
        moved = moved || part->state == PUBLISHED;
    }
    if (moved)
        return ETHOS_OK; // and inspect all keys again
    *out_done = true;
    int code = complete ? sync_key_dirs(r, txn, error) : append_voids(r, txn, error);
    for (size_t i = 0; code == ETHOS_OK && i < txn->count; i++) {
        if (!txn->parts[i].file.data)
            files_key_dirs_prune(r->self, r->lock, txn->parts[i].location.key);
    }
    return code == ETHOS_OK ? unlink_temps(r, txn, error) : code;
}

static int open_txn_keys(struct recovery *r, struct txn *txn, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < txn->count; i++) {
        struct txn_key *part = &txn->parts[i];
        const char *key = arena_copy(&r->arena, part->last.key);
        if (!key)
            return err_nomem(error);
        code = txn_locate_key(r, key, &part->location, error);
        if (code == ETHOS_DENIED ||
            code == ETHOS_IO) { // a link that leads nowhere, so there is no text
            part->location.dir = r->lock->dir;
            memcpy(part->location.name, part->location.key, sizeof part->location.key);
            part->blocked = strchr(part->location.key, '/');
            code = ETHOS_OK;
        }
    }
    return code;
}

int txn_resolve(struct recovery *r, struct txn *txn, struct ethos_error *error)
{
    bool done = false;
    int code = open_txn_keys(r, txn, error);
    for (int i = 0; code == ETHOS_OK && !done && i < PASSES; i++)
        code = resolve_step(r, txn, &done, error);
    if (code == ETHOS_OK && !done)
        code = files_errno(r->self, EAGAIN, r->lock->path, error);
    for (size_t i = 0; i < txn->count; i++) {
        edit_free_text(r->self->host, &txn->parts[i].file);
        edit_free_text(r->self->host, &txn->parts[i].temp);
        files_location_close(r->lock, &txn->parts[i].location);
    }
    return code;
}
