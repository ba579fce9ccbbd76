/*
 * files_recover.c: what a dead writer left, finished or taken back.
 *
 * Every temporary bears the name of a transaction, and its lines say what each key was to become. So
 * for each key of it (H2: the text after, base: the text before):
 *
 *     file     .new                state
 *     H2       base, H2 or none    published
 *     H2       other               displaced: a save came between reading and swapping
 *     other    H2, or a draft      unpublished
 *     other    base                published, then saved over
 *     other    unknown             two saves: the file if history knows it, else .new, is the older
 *
 * A new file is published by a second name for .new, a deletion by renaming the file to .new, with
 * the empty .gone beside it. What was displaced is kept as a blob, told of by a line, and exchanged
 * back, which makes the key unpublished. Then: all keys published, the transaction stands; else the
 * published ones are exchanged back and all its lines are void. Nothing is ever rolled forward: what was not published was not acknowledged.
 *
 * A temporary goes only after the line that explains it is durable. Without any, the newest
 * transaction may still be one that a power cut kept from being published: the file is then the very
 * one its line says it was (`was`).
 *
 * The same code serves a writer that could not go on: there is one way back.
 */
#include "store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/os.h"
#include "base/view.h"
#include "core/verdict.h"

#define PASSES 100
#define TXN_MEMBER "\"txn\":\""

enum state { PUBLISHED, UNPUBLISHED, DISPLACED, TWO_SAVES };

/* One key of a transaction. */
struct part {
    struct files_spot spot;
    struct history_record opening, first, last; /* lines: the first, the first of ours, the last */
    struct ethos_text file, temp;               /* temp: .new, else .draft; data NULL: none */
    struct stat seen;                           /* of file */
    bool has_new, has_draft, has_gone;
    enum state state;
};

struct txn {
    char id[FILES_TXN_SIZE];
    struct part *parts;
    size_t count;
    uint64_t first_seq, last_seq;
    bool over; /* taken back, or followed by other changes: nothing is left to be done about it */
};

struct recovery {
    struct files *self;
    struct files_hold *hold;
    struct files_journal *journal;
    const char *scope;
    const struct files_spot *spots; /* of the caller, whose locks are held */
    size_t spot_count;
    const char *unwanted; /* a transaction to be taken back in any case, or "" */
    struct arena arena;
    struct str whole; /* every line there is, once it was needed */
};

/* ---- finding a transaction -------------------------------------------------------------------- */

static bool has_txn(struct ethos_view line, const char *id)
{
    char needle[sizeof TXN_MEMBER + FILES_TXN_SIZE + 1];
    snprintf(needle, sizeof needle, TXN_MEMBER "%s/", id);
    return view_contains(line, view_str(needle));
}

static bool is_external(const struct history_record *record)
{
    return view_eq(record->actions, VIEW("external"));
}

static struct part *part_of(struct txn *txn, struct ethos_view key)
{
    for (size_t i = 0; i < txn->count; i++) {
        if (view_eq(txn->parts[i].last.key, key))
            return &txn->parts[i];
    }
    return NULL;
}

static void add_line(struct txn *txn, const struct history_record *record)
{
    struct part *part = part_of(txn, record->key);
    if (!part) {
        part = &txn->parts[txn->count++];
        *part = (struct part){
            .spot = {.dir = -1, .lock = -1}, .opening = *record, .first = *record};
    } else if (is_external(&part->first)) {
        part->first = *record;
    }
    part->last = *record;
    if (txn->first_seq == 0)
        txn->first_seq = record->seq;
    txn->last_seq = record->seq;
}

/* Whether a line after those of the transaction may say that it is over. */
static bool may_end(const struct txn *txn, struct ethos_view line)
{
    bool ends = txn->count > 0 && view_contains(line, VIEW("\"voids\":["));
    for (size_t i = 0; !ends && i < txn->count; i++)
        ends = view_contains(line, txn->parts[i].last.key);
    return ends;
}

/* A void of its lines does; so does any other change of its keys, since recovery comes before those. */
static bool ends(struct txn *txn, const struct history_record *record)
{
    if (record->voids_first > 0)
        return record->voids_first <= txn->first_seq && txn->first_seq <= record->voids_last;
    return !view_eq(record->via, VIEW("seen")) && part_of(txn, record->key);
}

static int search(struct recovery *r, struct ethos_view lines, struct txn *txn)
{
    struct history_record record;
    struct ethos_view line, rest = lines;
    while (view_line(&rest, &line)) {
        bool mine = has_txn(line, txn->id);
        if (!mine && !may_end(txn, line))
            continue;
        const char *copy = arena_copy(&r->arena, line); // the journal's own text moves as it grows
        int code = copy ? history_parse(view_of(copy, line.size), &r->arena, &record) : ETHOS_NOMEM;
        if (code == ETHOS_NOMEM)
            return code;
        if (code != ETHOS_OK)
            continue;
        if (mine && !txn->parts) {
            txn->parts = arena_array(&r->arena, record.txn_count, sizeof *txn->parts);
            if (!txn->parts)
                return ETHOS_NOMEM;
        }
        if (mine && record.voids_first == 0)
            add_line(txn, &record);
        else
            txn->over = txn->over || ends(txn, &record);
    }
    return ETHOS_OK;
}

/* Fills txn from its lines; its count is 0 when there are none. */
static int find_txn(struct recovery *r, struct txn *txn, struct ethos_error *error)
{
    int code = search(r, str_view(&r->journal->tail), txn);
    if (code == ETHOS_OK && txn->count == 0 && r->journal->indexed) {
        if (r->whole.size == 0)
            code = files_past_read(r->self, r->hold->dir, r->hold->path, &r->whole, error);
        if (code != ETHOS_OK)
            return code;
        code = search(r, str_view(&r->whole), txn);
    }
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int open_spot(const struct recovery *r, const char *key, struct files_spot *spot,
                     struct ethos_error *error)
{
    return files_spot_open(r->self, r->hold, r->scope, key, r->spots, r->spot_count, spot, error);
}

/* ---- looking at its keys ---------------------------------------------------------------------- */

static bool temp_exists(const struct recovery *r, const struct part *part, const char *id,
                        const char *suffix)
{
    struct stat st;
    char name[FILES_TEMP_SIZE];
    int dir = files_spot_temp(r->hold, &part->spot, id, suffix, name);
    return os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int read_temp(struct recovery *r, struct part *part, const char *id, const char *suffix,
                     struct ethos_error *error)
{
    struct stat st;
    bool busy;
    char name[FILES_TEMP_SIZE];
    int dir = files_spot_temp(r->hold, &part->spot, id, suffix, name);
    return files_spot_read(r->self, part->spot.path, dir, name, "", &part->temp, &st, &busy, error);
}

static void drop_text(const struct recovery *r, struct ethos_text *text)
{
    if (text->data)
        r->self->host->resize(r->self->host->arg, text->data, 0);
    *text = (struct ethos_text){0};
}

static int look(struct recovery *r, struct txn *txn, struct part *part, struct ethos_error *error)
{
    bool busy;
    drop_text(r, &part->file);
    drop_text(r, &part->temp);
    part->has_new = temp_exists(r, part, txn->id, FILES_NEW);
    part->has_draft = temp_exists(r, part, txn->id, FILES_DRAFT);
    part->has_gone = temp_exists(r, part, txn->id, FILES_GONE);
    int code = files_spot_read(r->self, part->spot.path, part->spot.dir, part->spot.name, "",
                               &part->file, &part->seen, &busy, error);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
        return code;
    if (part->has_new || part->has_draft)
        code = read_temp(r, part, txn->id, part->has_new ? FILES_NEW : FILES_DRAFT, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static bool is_text(const struct ethos_text *text, struct ethos_view hash, bool absent)
{
    return text->data ? !absent && view_eq_str(hash, text->revision) : absent;
}

static bool is_after(const struct part *part, const struct ethos_text *text)
{
    return is_text(text, part->last.after_hash, part->last.absent_after);
}

static bool is_base(const struct part *part, const struct ethos_text *text)
{
    return is_text(text, part->first.before_hash, part->first.absent_before);
}

/* Whether the file is the very one the text before stood in. */
static bool is_untouched(const struct part *part)
{
    char was[FILES_WAS_SIZE];
    if (!part->file.data || !part->first.was.data)
        return false;
    files_was(&part->seen, was);
    return view_eq_str(part->first.was, was);
}

/* Somebody saved a copy of a text that was swapped in for a moment: then it counts as published. */
static bool holds_entry(struct recovery *r, const struct part *part)
{
    struct ethos_view text = view_of(part->file.data, part->file.size);
    return part->file.data && verdict_holds(&part->last, text, &r->arena);
}

static enum state classify_deletion(const struct part *part)
{
    if (part->file.data)
        return part->has_gone || is_untouched(part) ? UNPUBLISHED : PUBLISHED;
    return part->has_new && !is_base(part, &part->temp) ? DISPLACED : PUBLISHED;
}

static enum state classify(struct recovery *r, const struct part *part)
{
    if (part->last.absent_after)
        return classify_deletion(part);
    if (is_after(part, &part->file))
        return !part->has_new || is_base(part, &part->temp) || is_after(part, &part->temp)
                   ? PUBLISHED
                   : DISPLACED;
    if (is_untouched(part))
        return UNPUBLISHED;
    if (!part->has_new && !part->has_draft)
        return PUBLISHED; // and saved over, or deleted
    if (part->has_new && !is_after(part, &part->temp))
        return is_base(part, &part->temp) ? PUBLISHED : TWO_SAVES;
    return holds_entry(r, part) ? PUBLISHED : UNPUBLISHED;
}

/* ---- moving texts ----------------------------------------------------------------------------- */

static int fail(const struct recovery *r, const struct part *part, struct ethos_error *error)
{
    return files_fail(r->self, errno, part->spot.path, error);
}

static int append(struct recovery *r, struct history_record *records, size_t count,
                  struct ethos_error *error)
{
    int code = files_journal_append(r->self, r->hold, r->journal, NULL, records, count, true,
                                    error);
    return code == FILES_MOVED ? ETHOS_OK : code;
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
        .after_blob = view_str(hex),
    };
    code = files_journal_append(self, hold, journal, NULL, &record, 1, true, error);
    return code == FILES_MOVED ? ETHOS_OK : code;
}

/* Swaps .new and the file, or moves the one there is. What was ENOENT or EEXIST is looked at again. */
static int swap_back(struct recovery *r, const struct txn *txn, const struct part *part,
                     struct ethos_error *error)
{
    char name[FILES_TEMP_SIZE];
    const struct files_spot *spot = &part->spot;
    int failed, dir = files_spot_temp(r->hold, spot, txn->id, FILES_NEW, name);
    if (!part->file.data)
        failed = os_renameat(dir, name, spot->dir, spot->name, RENAME_NOREPLACE);
    else if (part->has_new)
        failed = os_exchange(dir, name, spot->dir, spot->name);
    else
        failed = os_renameat(spot->dir, spot->name, dir, name, RENAME_NOREPLACE);
    if (failed && (errno == EINVAL || errno == ENOSYS)) // a file system that knows no flags
        failed = part->file.data && !part->has_new
                     ? os_renameat(spot->dir, spot->name, dir, name, 0)
                     : os_renameat(dir, name, spot->dir, spot->name, 0);
    if (failed && errno != ENOENT && errno != EEXIST)
        return fail(r, part, error);
    return r->self->durable && os_fsync(spot->dir) != 0 ? fail(r, part, error) : ETHOS_OK;
}

static int unlink_temp(struct recovery *r, const struct txn *txn, const struct part *part,
                       const char *suffix, struct ethos_error *error)
{
    char name[FILES_TEMP_SIZE];
    int dir = files_spot_temp(r->hold, &part->spot, txn->id, suffix, name);
    return os_unlinkat(dir, name, 0) == 0 || errno == ENOENT ? ETHOS_OK : fail(r, part, error);
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

/* ---- taking back ------------------------------------------------------------------------------ */

/* Whether any recorded version or kept text of the key is this one. */
static int is_known(struct recovery *r, const char *key, const struct ethos_text *text,
                    bool *out_known, struct ethos_error *error)
{
    struct files_past past = {0};
    *out_known = false;
    int code = files_past_load(r->self, r->hold->dir, r->hold->path, key, &past, error);
    for (size_t i = 0; code == ETHOS_OK && i < past.history.count && !*out_known; i++) {
        const struct history_record *record = &past.history.records[i];
        struct ethos_view hash = view_str(text->revision);
        *out_known = view_eq(record->before_hash, hash) || view_eq(record->after_hash, hash) ||
                     (record->after_blob.size > 0 && view_ends(hash, record->after_blob));
    }
    files_past_release(&past);
    return code;
}

/* The text before or after a line of the part, as history has it. ETHOS_NOTFOUND. */
static int recorded_text(struct recovery *r, const struct part *part,
                         const struct history_record *line, bool before, struct str *out)
{
    struct files_past past = {0};
    int code = files_past_load(r->self, r->hold->dir, r->hold->path, part->spot.key, &past, NULL);
    size_t i = past.history.count;
    while (code == ETHOS_OK && i > 0 && past.history.records[i - 1].seq != line->seq)
        i--;
    if (code == ETHOS_OK)
        code = i > 0 ? files_past_text(r->self, r->hold->dir, &past, i - 1, before, out, NULL)
                     : ETHOS_NOTFOUND;
    files_past_release(&past);
    return code;
}

/* The same, from where it lies at hand if it does; the absent view for no file. False: it is lost. */
static bool find_text(struct recovery *r, const struct part *part,
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
        if (is_text(at_hand[i], hash, false))
            return true;
    }
    bool found = recorded_text(r, part, line, before, out) == ETHOS_OK;
    *out_view = str_view(out);
    return found;
}

/*
 * The line that takes the part back, an outside edit that opens it included: that is judged again.
 * Where a text is lost, hashes alone must do.
 */
static int void_record(struct recovery *r, const struct txn *txn, const struct part *part,
                       struct history_record *out, struct ethos_error *error)
{
    static const struct history_last known = {.any = true};
    struct str before_text, after_text;
    struct ethos_view before, after;
    *out = (struct history_record){
        .scope = view_str(r->scope),
        .key = view_str(part->spot.key),
        .before_hash = part->last.after_hash,
        .after_hash = part->opening.before_hash,
        .diff = VIEW(""),
        .size_before = part->last.size_after,
        .size_after = part->opening.size_before,
        .absent_before = part->last.absent_after,
        .absent_after = part->opening.absent_before,
    };
    str_init(&before_text, ETHOS_MAX_STORE_BYTES);
    str_init(&after_text, ETHOS_MAX_STORE_BYTES);
    int code = ETHOS_OK;
    if (find_text(r, part, &part->last, false, &before_text, &before) &&
        find_text(r, part, &part->opening, true, &after_text, &after))
        code = files_describe(r->self, r->hold, &known, before, after, &r->arena, out, error);
    str_release(&before_text);
    str_release(&after_text);
    out->actions = VIEW("restore");
    out->source = VIEW("restore");
    out->via = VIEW("recovery");
    out->actor = VIEW("ethos");
    out->voids_first = txn->first_seq;
    out->voids_last = txn->last_seq;
    return code;
}

static int void_all(struct recovery *r, const struct txn *txn, struct ethos_error *error)
{
    struct history_record *records = arena_array(&r->arena, txn->count, sizeof *records);
    if (!records)
        return err_nomem(error);
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < txn->count; i++)
        code = void_record(r, txn, &txn->parts[i], &records[i], error);
    return code == ETHOS_OK ? append(r, records, txn->count, error) : code;
}

/* For a published key without .new: makes one of the text before, to be exchanged. */
static int make_base(struct recovery *r, const struct txn *txn, struct part *part,
                     struct ethos_error *error)
{
    char name[FILES_TEMP_SIZE];
    struct str base;
    str_init(&base, ETHOS_MAX_STORE_BYTES);
    int code = recorded_text(r, part, &part->first, true, &base);
    int dir = files_spot_temp(r->hold, &part->spot, txn->id, FILES_NEW, name);
    int fd = code == ETHOS_OK ? files_draft_create(dir, name) : -1;
    if (fd >= 0) {
        bool done = os_adopt(fd, &part->seen) == 0 && os_write_all(fd, base.data, base.size) == 0 &&
                    os_fdatasync(fd) == 0;
        code = done ? ETHOS_OK : fail(r, part, error);
        os_close(fd);
        if (!done)
            os_unlinkat(dir, name, 0);
        part->has_new = done;
    } else if (code == ETHOS_OK) {
        code = fail(r, part, error);
    } else {
        code = ETHOS_OK; // its text is lost: the new one stays
        part->state = UNPUBLISHED;
    }
    str_release(&base);
    return code;
}

/* Takes a published key back, unless somebody has changed it since. */
static int take_back(struct recovery *r, struct txn *txn, struct part *part,
                     struct ethos_error *error)
{
    bool deleted = part->last.absent_after && !part->file.data;
    if (!deleted && !is_after(part, &part->file)) {
        part->state = UNPUBLISHED;
        return ETHOS_OK;
    }
    int code = ETHOS_OK;
    if (part->first.absent_before) {
        code = unlink_temp(r, txn, part, FILES_NEW, error); // the other name of the same file
        part->has_new = false;
    } else if (!part->has_new || is_after(part, &part->temp)) {
        code = make_base(r, txn, part, error);
    }
    return code == ETHOS_OK && part->state == PUBLISHED ? swap_back(r, txn, part, error) : code;
}

/* ---- one transaction -------------------------------------------------------------------------- */

static int sync_all(struct recovery *r, const struct txn *txn, struct ethos_error *error)
{
    for (size_t i = 0; r->self->durable && i < txn->count; i++) {
        if (os_fsync(txn->parts[i].spot.dir) != 0)
            return fail(r, &txn->parts[i], error);
    }
    return ETHOS_OK;
}

/* Two saves met: the one that history knows was there first. */
static int settle_two(struct recovery *r, const struct txn *txn, struct part *part,
                      struct ethos_error *error)
{
    bool known = false;
    int code = part->file.data ? is_known(r, part->spot.key, &part->file, &known, error) : ETHOS_OK;
    if (code != ETHOS_OK)
        return code;
    if (known || !part->file.data)
        return swap_back(r, txn, part, error);
    code = files_conflict_keep(r->self, r->hold, part->spot.key,
                               view_of(part->temp.data, part->temp.size), error);
    return code == ETHOS_OK ? unlink_temp(r, txn, part, FILES_NEW, error) : code;
}

/* One step towards an end. *out_done: it is reached. */
static int step(struct recovery *r, struct txn *txn, bool *out_done, struct ethos_error *error)
{
    bool complete = strcmp(txn->id, r->unwanted) != 0;
    for (size_t i = 0; i < txn->count; i++) {
        struct part *part = &txn->parts[i];
        int code = look(r, txn, part, error);
        if (code != ETHOS_OK)
            return code;
        part->state = classify(r, part);
        if (part->state == TWO_SAVES)
            return settle_two(r, txn, part, error);
        if (part->state == DISPLACED) {
            code = files_keep_seen(r->self, r->hold, r->journal, r->scope, part->spot.key,
                                   view_of(part->temp.data, part->temp.size), error);
            return code == ETHOS_OK ? swap_back(r, txn, part, error) : code;
        }
        complete = complete && part->state == PUBLISHED;
    }
    bool moved = false;
    for (size_t i = 0; !complete && i < txn->count; i++) {
        struct part *part = &txn->parts[i];
        if (part->state != PUBLISHED)
            continue;
        int code = take_back(r, txn, part, error);
        if (code != ETHOS_OK)
            return code;
        moved = moved || part->state == PUBLISHED;
    }
    if (moved)
        return ETHOS_OK; // and look again
    *out_done = true;
    int code = complete ? sync_all(r, txn, error) : void_all(r, txn, error);
    return code == ETHOS_OK ? unlink_temps(r, txn, error) : code;
}

static int open_parts(struct recovery *r, struct txn *txn, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < txn->count; i++) {
        struct part *part = &txn->parts[i];
        const char *key = arena_copy(&r->arena, part->last.key);
        if (!key)
            return err_nomem(error);
        code = open_spot(r, key, &part->spot, error);
    }
    return code;
}

static void close_parts(struct recovery *r, struct txn *txn)
{
    for (size_t i = 0; i < txn->count; i++) {
        drop_text(r, &txn->parts[i].file);
        drop_text(r, &txn->parts[i].temp);
        files_spot_close(r->hold, &txn->parts[i].spot);
    }
}

static int settle(struct recovery *r, struct txn *txn, struct ethos_error *error)
{
    bool done = false;
    int code = open_parts(r, txn, error);
    for (int i = 0; code == ETHOS_OK && !done && i < PASSES; i++)
        code = step(r, txn, &done, error);
    if (code == ETHOS_OK && !done)
        code = files_errno(r->self, EAGAIN, r->hold->path, error);
    close_parts(r, txn);
    return code;
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

static bool read_name(const char *name, struct temp *out)
{
    struct ethos_view key = cut_name(name, '.', out);
    if (!key.data || key.size > ETHOS_MAX_KEY)
        return false;
    memcpy(out->key, key.data, key.size);
    out->key[key.size] = 0;
    return true;
}

/* Whether the name is that of a temporary of this key, which is a link. */
static bool read_link_name(const struct files_spot *spot, const char *name, struct temp *out)
{
    char expected[FILES_TEMP_SIZE];
    struct ethos_view rest = cut_name(name, '-', out);
    snprintf(expected, sizeof expected, ".%s.ethos", spot->name);
    if (!view_eq_str(rest, expected))
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
    int code = open_spot(r, temp->key, &part->spot, error);
    if (code == ETHOS_OK)
        code = files_spot_read(r->self, part->spot.path, temp->dir, name, NULL, &part->temp, &st,
                               out_busy, error);
    if (code != ETHOS_OK)
        return code;
    code = files_spot_read(r->self, part->spot.path, part->spot.dir, part->spot.name, "",
                           &part->file, &part->seen, &busy, error);
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
    int code = is_known(r, temp->key, &part->file, &known, error);
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
    int code = is_known(r, temp->key, &part->temp, &known, error);
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
    drop_text(r, &part.file);
    drop_text(r, &part.temp);
    files_spot_close(r->hold, &part.spot);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int end_temp(struct recovery *r, const char *name, const struct temp *temp,
                    struct ethos_error *error)
{
    struct txn txn = {0};
    if (strcmp(temp->suffix, FILES_OLD) == 0)
        return place_stray(r, name, temp, error);
    memcpy(txn.id, temp->txn, sizeof txn.id);
    int code = find_txn(r, &txn, error);
    if (code != ETHOS_OK)
        return code;
    if (txn.count > 0 && !txn.over)
        return settle(r, &txn, error);
    if (strcmp(temp->suffix, FILES_NEW) == 0)
        return place_stray(r, name, temp, error);
    return os_unlinkat(temp->dir, name, 0) == 0 || errno == ENOENT
               ? ETHOS_OK
               : files_fail(r->self, errno, r->hold->path, error);
}

/* What lies in tmp/ under this name, brought to an end. */
static int handle(struct recovery *r, const char *name, struct ethos_error *error)
{
    struct temp temp = {.dir = r->hold->tmp};
    struct stat st;
    if (os_fstatat(temp.dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return ETHOS_OK; // an earlier one took it along
    if (!read_name(name, &temp))
        return os_unlinkat(temp.dir, name, 0) == 0 || errno == ENOENT || errno == EISDIR
                   ? ETHOS_OK
                   : files_fail(r->self, errno, r->hold->path, error);
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
    char key[ETHOS_MAX_KEY + 1], was[FILES_WAS_SIZE];
    if (!record->was.data || record->key.size >= sizeof key)
        return false;
    memcpy(key, record->key.data, record->key.size);
    key[record->key.size] = 0;
    if (open_spot(r, key, &spot, NULL) != ETHOS_OK)
        return false;
    bool untouched = os_fstatat(spot.dir, spot.name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    files_spot_close(r->hold, &spot);
    if (untouched)
        files_was(&st, was);
    return untouched && view_eq_str(record->was, was);
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
        code = find_txn(r, &txn, error);
    return code == ETHOS_OK && txn.count > 0 && !txn.over ? settle(r, &txn, error) : code;
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
    int code = find_txn(r, &txn, error);
    return code == ETHOS_OK && txn.count > 0 && !txn.over ? settle(r, &txn, error) : code;
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
