/*
 * purge_history.c: rewrites the history of a scope without the lines that contain a text.
 *
 * Record by record, the texts before and after the change are rebuilt, lose those lines, and the
 * change between the remaining texts is described anew. Everything else of a record stays: time,
 * number, transaction, operation id. Equal texts become equal texts, so the chain of versions
 * stays whole; a record between texts that have become equal stays too, with an empty diff.
 *
 * Order: blobs of the texts that are named now; then the index goes, because it names the old
 * ones; then each file is replaced. Where a key's text spans two files, it is stored as a blob
 * meanwhile: if only one of them were replaced, the other would still lead to its texts. That blob
 * contains the text, so it is removed with the others in the end.
 */
#include "store/files/purge_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/history/patch.h"
#include "core/history/purged_lines.h"

#define HEX_DIGITS (HASH_HEX_SIZE - 1)

/* A history file, and its new content. */
struct purged_file {
    const char *name;
    struct stat seen;
    struct str text;
    struct str out;
    bool changed;
};

/* The hash of the newest text of a key, which the next text mostly only appends to. */
struct growing_hash {
    const struct purge_key *key; /* NULL: of none */
    struct hash_growing hash;
    struct ethos_view revision;
};

struct purged_history {
    struct purge_job *purge;
    struct arena arena;
    struct files_names names;
    struct purged_file *files;
    size_t file_count;
    struct history history;
    struct files_blobs blobs;
    bool *is_record; /* of every line of every file */
    struct str before, after, clean_before, clean_after;
    struct growing_hash old, clean; /* of the texts as they are, and of what is left of them */
};

/*
 * ---- the files --------------------------------------------------------------------------------
 */

static int read_history_file(struct purged_history *past, struct purged_file *file,
                             struct ethos_error *error)
{
    const struct purge_job *purge = past->purge;
    CLEANUP_FD int fd = os_openat(purge->dir, file->name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(purge->self, errno, purge->path, error);
    bool done = os_fstat(fd, &file->seen) == 0 &&
                os_read_all(fd, &file->text, ETHOS_MAX_HISTORY_BYTES) == 0;
    return done ? ETHOS_OK : files_errno(purge->self, errno, purge->path, error);
}

/*
 * Reads the files oldest first: their names are in the order of time, and '-' comes before '.' of
 * the live one.
 */
static int read_history_files(struct purged_history *past, struct ethos_error *error)
{
    int code = files_names_read(past->purge->self, past->purge->dir, past->purge->path,
                                &past->names, error);
    if (code != ETHOS_OK)
        return code;
    past->files = arena_array(&past->arena, past->names.count + 1, sizeof *past->files);
    if (!past->files)
        return err_nomem(error);
    for (size_t i = 0; i < past->names.count; i++) {
        const char *name = past->names.sorted[i];
        if (!files_is_history(name))
            continue;
        struct purged_file *file = &past->files[past->file_count++];
        file->name = name;
        str_init(&file->text, ETHOS_MAX_HISTORY_BYTES);
        str_init(&file->out, ETHOS_MAX_HISTORY_BYTES);
        code = read_history_file(past, file, error);
        if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}

static size_t count_all_lines(const struct purged_history *past)
{
    size_t count = 0;
    struct ethos_view line;
    for (size_t i = 0; i < past->file_count; i++) {
        for (struct ethos_view rest = str_view(&past->files[i].text); view_line(&rest, &line);)
            count++;
    }
    return count;
}

/* Parses every record, and marks the lines that are records. */
static int parse_records(struct purged_history *past)
{
    struct ethos_view line;
    size_t number = 0;
    past->is_record = arena_array(&past->arena, count_all_lines(past) + 1, sizeof *past->is_record);
    if (!past->is_record)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < past->file_count; i++) {
        for (struct ethos_view rest = str_view(&past->files[i].text); view_line(&rest, &line);) {
            size_t before = past->history.count;
            int code = history_collect(&past->history, line, NULL);
            if (code != ETHOS_OK)
                return code;
            past->is_record[number++] = past->history.count > before;
        }
    }
    return ETHOS_OK;
}

/*
 * ---- texts ------------------------------------------------------------------------------------
 */

static bool has_match(const struct purged_history *past, struct ethos_view text)
{
    return forget_holds(&past->purge->forget, text);
}

/*
 * The revision of the text after a change. grown is the hash of the text before it, or of another
 * text.
 */
static void hash_after(struct growing_hash *grown, const struct purge_key *key,
                       struct ethos_view before, struct ethos_view after,
                       char out[ETHOS_REVISION_SIZE])
{
    bool grows = grown->key == key && grown->hash.size == before.size && view_starts(after, before);
    if (!grows)
        hash_begin(&grown->hash);
    hash_add(&grown->hash, grows ? view_from(after, before.size) : after);
    hash_so_far(&grown->hash, out);
    grown->key = key;
}

static int rebuild_text(struct purged_history *past, size_t index, bool before, struct str *out,
                        bool *out_known)
{
    int code = history_rebuild(&past->history, index, before, files_blob_read, &past->blobs, out);
    *out_known = code == ETHOS_OK;
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static void swap_texts(struct str *a, struct str *b)
{
    struct str swap = *a;
    *a = *b;
    *b = swap;
}

/* Forgets the hashes of a key whose next text does not continue the last one. */
static void reset_hashes(struct purged_history *past, const struct purge_key *key)
{
    if (past->old.key == key)
        past->old.key = NULL;
    if (past->clean.key == key)
        past->clean.key = NULL;
}

/* Loads the text before a record: mostly that after the record before it. */
static int load_text_before(struct purged_history *past, size_t index, struct purge_key *key,
                            bool *out_known)
{
    const struct history_record *record = &past->history.records[index];
    if (!key->known || !view_eq(key->hash, record->before_hash)) {
        reset_hashes(past, key);
        return rebuild_text(past, index, true, &past->before, out_known);
    }
    *out_known = true;
    swap_texts(&past->before, &key->text); // advance_key gives it the next one
    return ETHOS_OK;
}

/* Applies a change to the text before it. */
static int apply_change(struct purged_history *past, const struct history_record *record)
{
    if (!record->append_blob.data)
        return patch_apply(record->diff, str_view(&past->before), false, &past->after);
    str_clear(&past->after);
    TRY(str_add(&past->after, str_view(&past->before)));
    return history_append(record, files_blob_read, &past->blobs, &past->after);
}

static int load_text_after(struct purged_history *past, size_t index, const struct purge_key *key,
                           bool before_known, bool *out_known)
{
    const struct history_record *record = &past->history.records[index];
    char revision[ETHOS_REVISION_SIZE] = "";
    int code = before_known ? apply_change(past, record) : ETHOS_CONFLICT;
    if (code == ETHOS_OK)
        hash_after(&past->old, key, str_view(&past->before), str_view(&past->after), revision);
    *out_known = code == ETHOS_OK && view_eq_str(record->after_hash, revision);
    if (code == ETHOS_NOMEM || *out_known)
        return code;
    reset_hashes(past, key);
    return rebuild_text(past, index, false, &past->after, out_known);
}

/* Writes the blob of a text that a line names. */
static int write_named_blob(struct purged_history *past, struct ethos_view hash,
                            struct ethos_view text, struct ethos_view *out_blob,
                            struct ethos_error *error)
{
    char hex[HASH_HEX_SIZE];
    struct purge_job *purge = past->purge;
    *out_blob = view_from(hash, hash.size - HEX_DIGITS);
    memcpy(hex, out_blob->data, HEX_DIGITS);
    hex[HEX_DIGITS] = 0;
    return files_blob_write(purge->self, purge->lock, hex, text, true, error);
}

/*
 * ---- one record -------------------------------------------------------------------------------
 */

/* A change whose texts could be rebuilt: both, one, or none. */
struct purged_change {
    const struct history_record *old;
    bool before_known, after_known;
    struct ethos_view before, after; /* cleansed, absent where there was no file */
    bool names_other;                /* it keeps a text that is neither */
    struct str other;                /* that text, if it could be read */
};

static int purge_both_texts(struct purged_history *past, struct purged_change *change)
{
    const struct history_record *old = change->old;
    int code = forget_lines(&past->purge->forget, str_view(&past->before), &past->clean_before,
                            &change->before, NULL);
    if (code == ETHOS_OK)
        code = forget_lines(&past->purge->forget, str_view(&past->after), &past->clean_after,
                            &change->after, NULL);
    if (old->absent_before)
        change->before = (struct ethos_view){0};
    if (old->absent_after)
        change->after = (struct ethos_view){0};
    return code;
}

/* Reads the text of a conflict that the record stores under afterBlob. */
static int read_other_text(struct purged_history *past, struct purged_change *change)
{
    char hex[HASH_HEX_SIZE];
    struct ethos_view blob = change->old->after_blob;
    change->names_other = blob.size == HEX_DIGITS && !view_ends(change->old->after_hash, blob);
    if (!change->names_other)
        return ETHOS_OK;
    memcpy(hex, blob.data, HEX_DIGITS);
    hex[HEX_DIGITS] = 0;
    int code = files_blob_read(&past->blobs, hex, &change->other);
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static bool is_matching_change(const struct purged_history *past, const struct purge_key *key,
                               const struct purged_change *change)
{
    bool whole = change->before_known && change->after_known;
    return key->renamed || has_match(past, change->old->actor) ||
           (change->before_known && has_match(past, str_view(&past->before))) ||
           (change->after_known && has_match(past, str_view(&past->after))) ||
           has_match(past, str_view(&change->other)) ||
           (!whole && has_match(past, change->old->diff));
}

/*
 * The revisions of the purged texts. That of the text before is mostly known from the record
 * before.
 */
static bool hash_both(struct purged_history *past, const struct purge_key *key,
                      const struct purged_change *change, struct history_record *record)
{
    struct growing_hash *grown = &past->clean;
    char revision[ETHOS_REVISION_SIZE];
    if (grown->key == key) {
        record->before_hash = grown->revision;
    } else {
        hash_revision(change->before, revision);
        record->before_hash = view_str(arena_str(&past->arena, revision));
    }
    hash_after(grown, key, change->before, change->after, revision);
    grown->revision = record->after_hash = view_str(arena_str(&past->arena, revision));
    return record->before_hash.data && record->after_hash.data;
}

/* Describes a change between two known texts. What was stored whole is stored whole again. */
static int describe_both(struct purged_history *past, const struct purge_key *key,
                         const struct purged_change *change, struct history_record *record,
                         struct ethos_error *error)
{
    const struct history_record *old = change->old;
    struct ethos_view appended = history_appended(change->before, change->after), part;
    record->append_blob = view_str(NULL);
    if (!hash_both(past, key, change, record) ||
        history_describe_hashed(change->before, change->after, &past->arena, record) != ETHOS_OK ||
        history_keep_appended(old->append_blob.data ? appended : view_str(NULL), &past->arena,
                              record) != ETHOS_OK)
        return err_nomem(error);
    int code = ETHOS_OK;
    bool before = record->before_blob.data || old->before_blob.data ||
                  (old->blob.data && !old->append_blob.data);
    bool after = record->after_blob.data || (old->after_blob.data && !change->names_other);
    if (record->append_blob.data)
        code = write_named_blob(past, record->append_blob, appended, &part, error);
    else if (record->blob.data)
        code = write_named_blob(past, record->before_hash, change->before, &record->blob, error);
    bool named = record->blob.data && !record->append_blob.data;
    if (code == ETHOS_OK && before && !named && change->before.size > 0)
        code = write_named_blob(past, record->before_hash, change->before, &record->before_blob,
                                error);
    if (code == ETHOS_OK && after && change->after.size > 0)
        code = write_named_blob(past, record->after_hash, change->after, &record->after_blob,
                                error);
    return code;
}

/* Stores a text whole, where no diff leads to it. */
static int describe_side(struct purged_history *past, struct ethos_view text,
                         struct ethos_view *hash, uint64_t *size, struct ethos_view *blob,
                         struct ethos_error *error)
{
    char revision[ETHOS_REVISION_SIZE];
    hash_revision(text, revision);
    *hash = view_str(arena_str(&past->arena, revision));
    *size = text.size;
    if (!hash->data)
        return err_nomem(error);
    return text.size > 0 ? write_named_blob(past, *hash, text, blob, error) : ETHOS_OK;
}

static int describe_part(struct purged_history *past, const struct purged_change *change,
                         struct history_record *record, struct ethos_error *error)
{
    int code = ETHOS_OK;
    record->diff = VIEW("");
    record->append_blob = view_str(NULL);
    if (change->before_known) {
        record->blob = (struct ethos_view){0};
        code = describe_side(past, change->before, &record->before_hash, &record->size_before,
                             &record->before_blob, error);
    }
    if (code == ETHOS_OK && change->after_known)
        code = describe_side(past, change->after, &record->after_hash, &record->size_after,
                             &record->after_blob, error);
    return code;
}

static int describe_other(struct purged_history *past, const struct purged_change *change,
                          struct history_record *record, struct ethos_error *error)
{
    struct str out;
    struct ethos_view left, hash;
    uint64_t size;
    if (!change->names_other)
        return ETHOS_OK;
    record->after_blob = change->old->after_blob;
    if (!has_match(past, str_view(&change->other)))
        return ETHOS_OK;
    str_init(&out, ETHOS_MAX_STORE_BYTES);
    int code = forget_lines(&past->purge->forget, str_view(&change->other), &out, &left, NULL);
    code = code == ETHOS_OK ? describe_side(past, left, &hash, &size, &record->after_blob, error)
                            : err_nomem(error);
    str_release(&out);
    return code;
}

static int print_record(struct purged_history *past, struct purged_file *file,
                        const struct purge_key *key, struct purged_change *change,
                        struct ethos_error *error)
{
    struct history_record record = *change->old;
    if (key->renamed) {
        record.key = view_str(key->renamed);
        record.op = (struct ethos_view){0}; // the operation's record names keys
    }
    if (has_match(past, record.actor)) // an actor can be the name of a key
        record.actor = view_str(past->purge->forget.mark);
    bool purge = view_eq(record.via, VIEW("purge")) && change->before_known && change->after_known;
    if (purge && places_make(&past->purge->forget, str_view(&past->before), str_view(&past->after),
                             change->old->places, &past->arena, &record.places) != ETHOS_OK)
        return err_nomem(error);
    if (purge_both_texts(past, change) != ETHOS_OK)
        return err_nomem(error);
    TRY(change->before_known && change->after_known
            ? describe_both(past, key, change, &record, error)
            : describe_part(past, change, &record, error));
    TRY(describe_other(past, change, &record, error));
    history_print(&record, &file->out);
    return ETHOS_OK;
}

static void copy_line(const struct purged_history *past, struct purged_file *file,
                      struct ethos_view line)
{
    if (!past->purge->lock)
        return;
    str_add(&file->out, line);
    str_addc(&file->out, '\n');
}

/* Makes the text after this record the current text of the key. */
static void advance_key(struct purged_history *past, struct purge_key *key,
                        const struct purged_change *change)
{
    swap_texts(&key->text, &past->after);
    key->hash = change->old->after_hash;
    key->known = change->after_known;
    key->clean = key->known && !has_match(past, str_view(&key->text));
}

/*
 * Whether a record does not contain the text, judging by its diff alone: the text before it was
 * clean, and the diff is complete and clean. So texts that never contained it are not rebuilt
 * version by version.
 */
static bool is_clean_record(const struct purged_history *past, const struct purge_key *key,
                            const struct history_record *record)
{
    bool first = !key->hash.data && (record->absent_before || record->size_before == 0);
    bool follows = key->hash.data && key->clean && view_eq(key->hash, record->before_hash);
    bool own = view_ends(record->before_hash, record->before_blob) &&
               view_ends(record->after_hash, record->after_blob); // or stored by nobody
    return !key->renamed && (first || follows) && own && !record->blob.data &&
           !has_match(past, record->diff) && !has_match(past, record->actor);
}

static int purge_record(struct purged_history *past, struct purged_file *file, size_t index,
                        struct ethos_view line, struct ethos_error *error)
{
    struct purged_change change = {.old = &past->history.records[index]};
    struct purge_key *key = files_purge_find_key(past->purge, change.old->key);
    if (key && is_clean_record(past, key, change.old)) {
        copy_line(past, file, line);
        key->hash = change.old->after_hash;
        key->known = false;
        key->clean = true;
        return ETHOS_OK;
    }
    str_init(&change.other, ETHOS_MAX_STORE_BYTES);
    int code = key ? load_text_before(past, index, key, &change.before_known) : ETHOS_NOMEM;
    if (code == ETHOS_OK)
        code = load_text_after(past, index, key, change.before_known, &change.after_known);
    if (code == ETHOS_OK)
        code = read_other_text(past, &change);
    if (code != ETHOS_OK) {
        code = err_nomem(error);
    } else if (past->blobs.errnum) { // it may lock the needle
        code = files_blobs_error(past->purge->self, &past->blobs, error);
    } else if (!is_matching_change(past, key, &change)) {
        copy_line(past, file, line);
        past->clean.key = NULL; // its texts were not hashed
    } else {
        past->purge->found.versions++;
        file->changed = true;
        key->held = true;
        if (past->purge->lock)
            code = print_record(past, file, key, &change, error);
    }
    if (code == ETHOS_OK)
        advance_key(past, key, &change);
    str_release(&change.other);
    return code;
}

/*
 * ---- all of them ------------------------------------------------------------------------------
 */

/* Drops a line that is no record if it contains the text. */
static void purge_unparsed_line(struct purged_history *past, struct purged_file *file,
                                struct ethos_view line)
{
    if (!forget_holds_escaped(&past->purge->forget, line)) {
        copy_line(past, file, line);
        return;
    }
    past->purge->found.versions++;
    file->changed = true;
}

/* Stores the current texts as blobs between two files: see the top of this file. */
static int write_current_blobs(struct purged_history *past, struct ethos_error *error)
{
    for (struct purge_key *key = past->purge->keys; key; key = key->next) {
        struct ethos_view blob;
        if (past->purge->lock && key->known && has_match(past, str_view(&key->text)))
            TRY(write_named_blob(past, key->hash, str_view(&key->text), &blob, error));
    }
    return ETHOS_OK;
}

static int purge_lines(struct purged_history *past, struct ethos_error *error)
{
    size_t number = 0, index = 0;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < past->file_count; i++) {
        struct purged_file *file = &past->files[i];
        struct ethos_view line, rest = str_view(&file->text);
        code = write_current_blobs(past, error);
        while (code == ETHOS_OK && view_line(&rest, &line)) {
            if (past->is_record[number++])
                code = purge_record(past, file, index++, line, error);
            else
                purge_unparsed_line(past, file, line);
        }
        if (code == ETHOS_OK && str_code(&file->out) != ETHOS_OK)
            code = err_nomem(error);
    }
    return code;
}

/*
 * Removes the index, durable, before a file is replaced: at its offset the new file could match by
 * chance.
 */
static int remove_index(struct purge_job *purge, struct ethos_error *error)
{
    int failed = os_unlinkat(purge->dir, FILES_INDEX, 0) != 0 && errno != ENOENT;
    int mem = failed ? -1 : os_open_beneath(purge->dir, FILES_MEM, O_RDONLY | O_DIRECTORY, 0);
    failed = mem < 0 || (purge->self->durable && os_fsync(mem) != 0);
    int saved = errno;
    if (mem >= 0)
        os_close(mem);
    return failed ? files_step_error(purge->self, saved, purge->path, error) : ETHOS_OK;
}

static int replace_history_files(struct purged_history *past, struct ethos_error *error)
{
    struct purge_job *purge = past->purge;
    bool any = false;
    for (size_t i = 0; i < past->file_count; i++)
        any = any || past->files[i].changed;
    int code = any ? remove_index(purge, error) : ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < past->file_count; i++) {
        struct purged_file *file = &past->files[i];
        if (!file->changed)
            continue;
        code = files_purge_replace(purge, purge->dir, file->name, &file->seen, str_view(&file->out),
                                   error);
        purge->replaced = purge->replaced || code == ETHOS_OK;
    }
    // blobs are removed next: no power cut may bring back lines that name them
    if (code == ETHOS_OK && purge->self->durable && os_fsync(purge->dir) != 0)
        code = files_step_error(purge->self, errno, purge->path, error);
    return code;
}

static int load_history(struct purged_history *past, struct ethos_error *error)
{
    TRY(read_history_files(past, error));
    if (parse_records(past) != ETHOS_OK)
        return err_nomem(error);
    return ETHOS_OK;
}

static void release_history(struct purged_history *past)
{
    struct str *texts[] = {&past->before, &past->after, &past->clean_before, &past->clean_after};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        str_release(texts[i]);
    for (size_t i = 0; i < past->file_count; i++) {
        str_release(&past->files[i].text);
        str_release(&past->files[i].out);
    }
    for (struct purge_key *key = past->purge->keys; key; key = key->next) {
        str_release(&key->text);
        key->known = key->clean = false;
        key->hash = (struct ethos_view){0};
    }
    files_names_release(&past->names);
    arena_release(&past->arena);
}

int files_purge_history(struct purge_job *purge, struct ethos_error *error)
{
    struct purged_history past = {.purge = purge,
                                  .blobs = {.dir = purge->dir, .path = purge->path}};
    arena_init(&past.arena);
    history_init(&past.history, &past.arena);
    str_init(&past.names.bytes, 0);
    str_init(&past.before, ETHOS_MAX_STORE_BYTES);
    str_init(&past.after, ETHOS_MAX_STORE_BYTES);
    str_init(&past.clean_before, ETHOS_MAX_STORE_BYTES);
    str_init(&past.clean_after, ETHOS_MAX_STORE_BYTES);
    int code = load_history(&past, error);
    if (code == ETHOS_OK)
        code = purge_lines(&past, error);
    if (code == ETHOS_OK && purge->lock)
        code = replace_history_files(&past, error);
    release_history(&past);
    return code;
}
