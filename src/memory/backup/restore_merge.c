/*
 * restore_merge.c: a home that was unpacked, into one that has memory.
 *
 *     in the backup                       here                            becomes
 *     a scope                             none                            added, with its history
 *     a scope                             its history so far              updated, with the rest of the history
 *     a text                              the key was never there         added, with its history
 *     a text                              the same, or a later version    stays
 *     a text that came later              a version the backup knows      updated
 *     another text                        another text, a common version  merged, or a conflict copy
 *     MEMORY.md, USER.md                  another one                     both sides' entries
 *     another text                        another text                    a conflict copy
 *     another text                        a text was forgotten since      a conflict copy: it may be that one
 *     a conversation                      none                            added
 *     a conversation                      another one has its key         added, with the next key of the family
 *     its next messages                   the first ones                  added
 *     its next messages                   others                          stays
 *     settings and other files            none                            added
 *     settings and other files            others                          stays
 *
 * Nothing here is removed. Every change of a text is one of the history and can be undone.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/formats/backup_manifest.h"
#include "core/history/merge.h"
#include "core/memory/scope.h"
#include "memory/backup/internal.h"
#include "memory/handle_internal.h"
#include "memory/migrate/migrate.h"
#include "memory/migrate/scope_history.h"
#include "session/session.h"
#include "store/store.h"

#define ABSENT "absent"
#define TRIES 5 /* retries at a text that others are changing */
#define VIA "restore"
#define DRAFT HOME_RECORDS "/restored" /* name of a file until it is complete */
#define FILES "markdown"

struct merging {
    struct ethos *ethos;
    const char *folder; /* where the backup was unpacked */
    int from_dir, to_dir;
    struct migrate move; /* its stores: the backup, and this home */
    json_t **rows;
    /* the current scope */
    const char *scope;
    struct scope_history past[2]; /* the backup's, ours */
    struct names fresh;           /* keys that never existed here */
};

static int add_report_row(struct merging *self, const char *what, const char *scope,
                          const char *key, const char *why, struct ethos_error *error)
{
    json_t *row = json_pack("{s:s, s:s?, s:o?, s:s?}", "what", what, "scope", scope, "key",
                            key ? json_text(view_str(key)) : NULL, "why", why);
    return json_array_append_new(*self->rows, row) == 0 ? ETHOS_OK : err_nomem(error);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void release_text(const struct merging *self, struct ethos_text *text)
{
    const struct ethos_host *host = self->move.host;
    host->resize(host->arg, text->data, 0);
    *text = (struct ethos_text){0};
}

/* The text of a key and its revision; ABSENT if it does not exist. */
static int read_store_text(struct ethos_store *store, const char *scope, const char *key,
                           struct ethos_text *out, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    int code = store->ops->read(store, scope, key, &whole, out, error);
    if (code == ETHOS_NOTFOUND) {
        snprintf(out->revision, sizeof out->revision, ABSENT);
        return ETHOS_OK;
    }
    return code;
}

static bool history_has_revision(const struct scope_history *past, const char *key,
                                 const char *revision)
{
    for (size_t i = past->count; i-- > 0;) {
        const struct ethos_change *row = &past->rows[i];
        if (strcmp(row->key, key) == 0 &&
            (strcmp(row->after, revision) == 0 || strcmp(row->before, revision) == 0))
            return true;
    }
    return false;
}

static bool knows_key(const struct scope_history *past, const char *key)
{
    for (size_t i = past->count; i-- > 0;)
        if (strcmp(past->rows[i].key, key) == 0)
            return true;
    return false;
}

/* The newest version of a key that both histories have; NULL: none. */
static const char *common_version(const struct merging *self, const char *key)
{
    for (size_t i = self->past[0].count; i-- > 0;) {
        const struct ethos_change *row = &self->past[0].rows[i];
        if (strcmp(row->key, key) != 0)
            continue;
        if (strcmp(row->after, ABSENT) != 0 &&
            history_has_revision(&self->past[1], key, row->after))
            return row->after;
        if (strcmp(row->before, ABSENT) != 0 &&
            history_has_revision(&self->past[1], key, row->before))
            return row->before;
    }
    return NULL;
}

static int write_restored_text(struct merging *self, const char *key, const char *expect,
                               struct ethos_view text, struct ethos_error *error)
{
    const struct ethos_origin origin = {.actor = "owner", .via = VIA, .source = "restore"};
    char revision[ETHOS_REVISION_SIZE];
    struct ethos_store *to = self->move.to;
    return self->move.dry_run
               ? ETHOS_OK
               : to->ops->write(to, self->scope, key, expect, text, &origin, revision, error);
}

static int write_conflict_copy(struct merging *self, const char *key, struct ethos_view text,
                               const char *why, struct ethos_error *error)
{
    struct ethos_store *to = self->move.to;
    if (!self->move.dry_run)
        TRY(to->ops->set_aside(to, self->scope, key, text, error));
    return add_report_row(self, "conflict", self->scope, key, why, error);
}

/* Both sides changed a common version; base NULL: both began with nothing. */
static int merge_text(struct merging *self, const char *key, const char *base,
                      const struct ethos_text *theirs, const struct ethos_text *ours,
                      struct ethos_error *error)
{
    struct ethos_text before = {0};
    struct merge_report report = {0};
    struct str merged;
    struct ethos_view came = view_of(theirs->data, theirs->size);
    struct ethos_store *to = self->move.to;
    int code = base ? to->ops->version(to, self->scope, key, base, &before, error) : ETHOS_OK;
    if (code != ETHOS_OK)
        return code == ETHOS_NOMEM
                   ? code
                   : write_conflict_copy(self, key, came, "the common version is lost", error);
    str_init(&merged, ETHOS_MAX_STORE_BYTES);
    code = merge_texts(view_of(before.data, before.size), view_of(ours->data, ours->size), came,
                       &merged, &report);
    if (code != ETHOS_OK)
        code = code == ETHOS_NOMEM ? err_nomem(error)
                                   : err_set(error, code, "%s is too large", key);
    bool same = code == ETHOS_OK && view_eq(str_view(&merged), view_of(ours->data, ours->size));
    if (code == ETHOS_OK && report.conflicts > 0)
        code = write_conflict_copy(self, key, came, "both changed the same lines", error);
    else if (code == ETHOS_OK && !same)
        code = write_restored_text(self, key, ours->revision, str_view(&merged), error);
    if (code == ETHOS_OK && report.conflicts == 0 && !same)
        code = add_report_row(self, "merged", self->scope, key, NULL, error);
    str_release(&merged);
    release_text(self, &before);
    return code;
}

static const struct ethos_change *last_purge(const struct scope_history *past, const char *key)
{
    for (size_t i = past->count; i-- > 0;) {
        const struct ethos_change *row = &past->rows[i];
        if (strcmp(row->key, key) == 0 && row->via && strcmp(row->via, "purge") == 0)
            return row;
    }
    return NULL;
}

/* A purge leaves no trace of what it removed: the backup's text may contain it. */
static bool forgot_since(const struct merging *self, const char *key)
{
    const struct ethos_change *here = last_purge(&self->past[1], key);
    const struct ethos_change *there = last_purge(&self->past[0], key);
    return here && (!there || there->time_ms < here->time_ms);
}

/* A log or an index: the entries of both sides can be concatenated. */
static bool is_list(const char *key)
{
    return strcmp(key, "MEMORY.md") == 0 || strcmp(key, "USER.md") == 0;
}

/* ETHOS_CONFLICT if the text changed here meanwhile. */
static int merge_restored_text(struct merging *self, const char *key,
                               const struct ethos_text *theirs, const struct ethos_text *ours,
                               struct ethos_error *error)
{
    struct ethos_view came = view_of(theirs->data, theirs->size);
    bool here = strcmp(ours->revision, ABSENT) != 0;
    if (strcmp(theirs->revision, ours->revision) == 0)
        return ETHOS_OK;
    if (history_has_revision(&self->past[1], key, theirs->revision))
        return add_report_row(self, "kept", self->scope, key,
                              here ? "it is newer here" : "it was deleted here since", error);
    if (forgot_since(self, key))
        return write_conflict_copy(
            self, key, came, "a text was forgotten here since; this may bring it back", error);
    if (here && history_has_revision(&self->past[0], key, ours->revision)) {
        int code = write_restored_text(self, key, ours->revision, came, error);
        return code == ETHOS_OK ? add_report_row(self, "updated", self->scope, key, NULL, error)
                                : code;
    }
    const char *base = here ? common_version(self, key) : NULL;
    if (base || (here && is_list(key)))
        return merge_text(self, key, base, theirs, ours, error);
    return write_conflict_copy(self, key, came,
                               here ? "the texts have nothing in common"
                                    : "it was deleted here, and the text differs",
                               error);
}

static int merge_key(struct merging *self, const char *key, struct ethos_error *error)
{
    int code = ETHOS_CONFLICT;
    for (int i = 0; code == ETHOS_CONFLICT && i < TRIES; i++) {
        struct ethos_text theirs = {0}, ours = {0};
        code = read_store_text(self->move.from, self->scope, key, &theirs, error);
        if (code == ETHOS_OK)
            code = read_store_text(self->move.to, self->scope, key, &ours, error);
        if (code == ETHOS_OK && strcmp(theirs.revision, ABSENT) == 0)
            ; // deleted in the backup: nothing is removed here
        else if (code == ETHOS_OK && strcmp(ours.revision, ABSENT) == 0 &&
                 !knows_key(&self->past[1], key))
            code = names_add(&self->fresh, key) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
        else if (code == ETHOS_OK)
            code = merge_restored_text(self, key, &theirs, &ours, error);
        release_text(self, &theirs);
        release_text(self, &ours);
    }
    return code;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static void ignore_rows(void *arg, size_t rows)
{
    (void)arg, (void)rows;
}

static int carry_out(struct merging *self, struct plan *plan, struct ethos_error *error)
{
    return self->move.dry_run ? ETHOS_OK : plan_carry_out(plan, ignore_rows, NULL, error);
}

static int add_fresh(struct merging *self, struct ethos_error *error)
{
    struct plan plan;
    if (self->fresh.count == 0)
        return ETHOS_OK;
    names_sort(&self->fresh);
    int code = plan_make_keys(&plan, &self->move, self->scope, &self->fresh, error);
    if (code == ETHOS_OK)
        code = carry_out(self, &plan, error);
    plan_release(&plan);
    for (size_t i = 0; code == ETHOS_OK && i < self->fresh.count; i++)
        code = add_report_row(self, "added", self->scope, self->fresh.list[i], NULL, error);
    return code;
}

/* Merges texts that both sides wrote independently. */
static int merge_keys(struct merging *self, struct ethos_error *error)
{
    struct names keys = {0};
    names_init(&self->fresh);
    int code = past_collect(self->move.from, self->scope, &self->past[0], error);
    if (code == ETHOS_OK)
        code = past_collect(self->move.to, self->scope, &self->past[1], error);
    if (code == ETHOS_OK)
        code = names_of_keys(self->move.from, self->scope, &self->past[0], &keys, error);
    for (size_t i = 0; code == ETHOS_OK && i < keys.count; i++)
        code = merge_key(self, keys.list[i], error);
    if (code == ETHOS_OK)
        code = add_fresh(self, error);
    names_release(&keys);
    names_release(&self->fresh);
    past_release(&self->past[0]);
    past_release(&self->past[1]);
    return code;
}

/* Adds the conflict copies of the backup that are missing here. */
static int merge_copies(struct merging *self, struct ethos_error *error)
{
    struct copies copies;
    struct ethos_store *to = self->move.to;
    int code = copies_collect(self->move.host, self->move.from, self->scope, &copies, error);
    for (size_t i = 0; code == ETHOS_OK && !self->move.dry_run && i < copies.count; i++)
        code = to->ops->set_aside(to, self->scope, copies.list[i].key, copies.list[i].text, error);
    copies_release(&copies);
    return code;
}

static int merge_scope(struct merging *self, const char *scope, struct ethos_error *error)
{
    struct plan plan;
    char why[96];
    self->scope = scope;
    int code = plan_make(&plan, &self->move, scope, error);
    size_t more = plan.count - plan.there;
    bool whole = code == ETHOS_OK; // our history is the beginning of the backup's
    if (whole)
        code = carry_out(self, &plan, error);
    snprintf(why, sizeof why, "%zu change%s", more, more == 1 ? "" : "s");
    if (code == ETHOS_OK && more > 0)
        code = add_report_row(self, plan.there > 0 ? "updated" : "added", scope, NULL, why, error);
    plan_release(&plan);
    if (whole || code != ETHOS_CONFLICT)
        return code;
    TRY(merge_keys(self, error));
    return merge_copies(self, error);
}

static int merge_scopes(struct merging *self, struct ethos_error *error)
{
    struct names scopes = {0};
    int code = names_of_scopes(self->move.from, &scopes, error);
    for (size_t i = 0; code == ETHOS_OK && i < scopes.count; i++) {
        code = migrate_go_on(&self->move, error);
        if (code == ETHOS_OK)
            code = merge_scope(self, scopes.list[i], error);
    }
    names_release(&scopes);
    return code;
}

/* ---- files that are not memory ---------------------------------------------------------------- */

/* Whether the store has merged it. */
static bool is_memory(const char *path)
{
    char scope[ETHOS_MAX_SCOPE], folder[BACKUP_MAX_PATH + 1];
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    if (strstr(path, ".mem/") || strstr(path, "history-blobs/") ||
        strncmp(name, "memory-history", 14) == 0)
        return true;
    snprintf(folder, sizeof folder, "%.*s", name > path ? (int)(name - path - 1) : 0, path);
    if (backup_scope(folder, scope))
        return scope_key_is_stored(scope, name);
    while (*folder) { // below a tree
        char *slash = strrchr(folder, '/');
        *(slash ? slash : folder) = 0;
        if (backup_scope(folder, scope) && scope_is_tree(scope))
            return true;
    }
    return false;
}

static int merge_people(struct merging *self, struct ethos_error *error)
{
    struct identity_map map;
    size_t index, added = 0;
    json_t *entry;
    int code = identity_load(self->from_dir, &map, error);
    if (code != ETHOS_OK)
        return code;
    json_array_foreach (map.entries, index, entry) {
        char id[ETHOS_MAX_ID + 1];
        bool known = false;
        struct identity_map here;
        const char *platform = json_string_value(json_object_get(entry, "platform"));
        const char *name = json_string_value(json_object_get(entry, "platformUserId"));
        const char *user = json_string_value(json_object_get(entry, "userId"));
        if (code != ETHOS_OK || !platform || !name || !user || !scope_id_ok(view_str(user)))
            continue;
        code = identity_load(self->to_dir, &here, error);
        if (code == ETHOS_OK) {
            code = identity_resolve(&here, platform, name, id, &known, error);
            identity_release(&here);
        }
        added += code == ETHOS_OK && !known;
        if (code == ETHOS_OK && !known && !self->move.dry_run)
            code = identity_record(self->to_dir, platform, name, user, false,
                                   service_now_ms(self->ethos), NULL, error);
    }
    identity_release(&map);
    return code == ETHOS_OK && added > 0
               ? add_report_row(self, "updated", NULL, IDENTITY_FILE, "people were added", error)
               : code;
}

static int copy_draft(struct merging *self, int fd, struct ethos_error *error)
{
    struct backup_target target = {.fd = -1, .dir = self->to_dir, .file = -1};
    struct stat st;
    char buffer[16384];
    ssize_t got = 0;
    os_unlinkat(self->to_dir, DRAFT, 0); // of a restore that was killed
    if (os_fstat(fd, &st) != 0)
        return err_errno(error, errno, DRAFT);
    int code = backup_begin(&target, DRAFT, (uint64_t)st.st_size, st.st_mode, st.st_mtim.tv_sec,
                            error);
    while (code == ETHOS_OK && (got = os_read(fd, buffer, sizeof buffer)) > 0)
        code = backup_data(&target, buffer, (size_t)got, error);
    if (code == ETHOS_OK && got < 0)
        code = err_errno(error, errno, DRAFT);
    if (code == ETHOS_OK)
        code = backup_end(&target, error);
    else if (target.file >= 0)
        backup_drop(&target, NULL);
    return code;
}

/* Gives the draft its name and creates its folders. */
static int publish_draft(struct merging *self, const char *path)
{
    char folder[BACKUP_MAX_PATH + 1] = ".";
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (slash && os_mkdirs(self->to_dir, folder) != 0)
        return -1;
    int dir = os_open_beneath(self->to_dir, folder, O_RDONLY | O_DIRECTORY, 0);
    int failed = dir < 0 ? -1
                         : os_renameat(self->to_dir, DRAFT, dir, slash ? slash + 1 : path,
                                       RENAME_NOREPLACE);
    int errnum = errno;
    if (dir >= 0)
        os_close(dir);
    errno = errnum;
    return failed;
}

/* Adds a missing file, completely or not at all. */
static int restore_file(struct merging *self, const char *path, struct ethos_error *error)
{
    int fd = os_open_beneath(self->from_dir, path, O_RDONLY | O_NOFOLLOW, 0);
    if (fd < 0)
        return err_errno(error, errno, path);
    int code = copy_draft(self, fd, error);
    os_close(fd);
    if (code == ETHOS_OK && publish_draft(self, path) != 0) {
        code = err_errno(error, errno, path);
        os_unlinkat(self->to_dir, DRAFT, 0);
    }
    return code;
}

static bool has_hash(struct merging *self, const char *path, const char *hash)
{
    struct digest digest;
    char found[HASH_HEX_SIZE], buffer[16384];
    ssize_t got;
    CLEANUP_FD int fd = os_open_beneath(self->to_dir, path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    digest_init(&digest);
    while ((got = os_read(fd, buffer, sizeof buffer)) > 0)
        digest_add(&digest, buffer, (size_t)got);
    digest_end(&digest, found);
    return got == 0 && strcmp(found, hash) == 0;
}

/* Files that are merged differently, or written anew as this machine is used. */
static bool has_own_ways(const char *path)
{
    struct ethos_view view = view_str(path);
    return strcmp(path, "sessions.db") == 0 || strcmp(path, IDENTITY_FILE ".bak") == 0 ||
           view_ends(view, VIEW("/workspace.json")) || view_starts(view, VIEW("hooks/"));
}

static int merge_file(struct merging *self, const char *path, const char *hash,
                      struct ethos_error *error)
{
    struct stat st;
    if (is_memory(path) || strcmp(path, IDENTITY_FILE) == 0)
        return ETHOS_OK;
    bool here = os_fstatat(self->to_dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!here && errno != ENOENT && errno != ENOTDIR)
        return err_errno(error, errno, path);
    if (here && has_own_ways(path))
        return ETHOS_OK;
    if (here)
        return has_hash(self, path, hash) ? ETHOS_OK
                                          : add_report_row(self, "kept", NULL, path,
                                                           "it differs from the backup's", error);
    if (!self->move.dry_run)
        TRY(restore_file(self, path, error));
    return add_report_row(self, "added", NULL, path, NULL, error);
}

static int merge_files(struct merging *self, const json_t *files, struct ethos_error *error)
{
    const char *path;
    json_t *hash;
    json_object_foreach ((json_t *)files, path, hash) {
        int code = merge_file(self, path, json_string_value(hash), error);
        if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}

/* ---- conversations ---------------------------------------------------------------------------- */

static const char *plural_suffix(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static int add_session_rows(struct merging *self, const struct migrate_talk_count *count,
                            struct ethos_error *error)
{
    char why[sizeof count->why + 80];
    int code = ETHOS_OK;
    if (count->moved_sessions > 0 || count->moved_messages > 0) {
        snprintf(why, sizeof why, "%" PRIu64 " session%s, %" PRIu64 " message%s",
                 count->moved_sessions, plural_suffix(count->moved_sessions), count->moved_messages,
                 plural_suffix(count->moved_messages));
        code = add_report_row(self, "added", NULL, "sessions.db", why, error);
    }
    if (code == ETHOS_OK && count->kept > 0) {
        snprintf(why, sizeof why, "%" PRIu64 " session%s differ%s from the backup's", count->kept,
                 plural_suffix(count->kept), count->kept == 1 ? "s" : "");
        code = add_report_row(self, "kept", NULL, "sessions.db", why, error);
    }
    if (code == ETHOS_OK && count->refused > 0) {
        snprintf(why, sizeof why, "%" PRIu64 " session%s could not be added: %s", count->refused,
                 plural_suffix(count->refused), count->why);
        code = add_report_row(self, "kept", NULL, "sessions.db", why, error);
    }
    return code;
}

static int merge_sessions(struct merging *self, const json_t *files, struct ethos_error *error)
{
    struct migrate_talk_count count;
    char digests[2][HASH_HEX_SIZE] = {"", ""};
    struct ethos_sessions *from = NULL, *to = NULL;
    struct stat st;
    const struct ethos_setup setup = {
        .host = self->ethos->host, .root = self->folder, .deadline_ms = self->ethos->wait_ms};
    if (!json_object_get(files, "sessions.db") || !sessions_builtin ||
        os_fstatat(self->to_dir, "sessions.db", &st, 0) != 0)
        return ETHOS_OK; // missing there; if missing here, the file itself is copied
    int code = sessions_builtin->open(&setup, &from, error);
    if (code == ETHOS_OK)
        code = ethos_sessions(self->ethos, &to, error);
    if (code == ETHOS_OK)
        code = migrate_sessions(&self->move, from, to, &count, digests, error);
    if (from)
        from->ops->close(from);
    return code == ETHOS_OK ? add_session_rows(self, &count, error) : code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int open_files_store(struct merging *self, const char *root, struct ethos_store **out,
                            struct ethos_error *error)
{
    const struct config *home;
    TRY(service_config(self->ethos, NULL, &home, NULL, error));
    const struct ethos_setup setup = {.host = self->ethos->host,
                                      .root = root,
                                      .allow = config_get(home, NULL, "paths.allow"),
                                      .flags = ETHOS_SETUP_WALKS,
                                      .deadline_ms = self->ethos->wait_ms};
    const char *backend = config_backend(home, NULL);
    if (strcmp(backend, FILES) != 0)
        return err_hint(error,
                        err_set(error, ETHOS_UNSUPPORTED,
                                "this home keeps its memory in %s, not in files", backend),
                        "restore into an empty home with --home DIR, then: ethos memory migrate");
    return store_files.open(&setup, out, error);
}

static int open_both(struct merging *self, struct ethos_error *error)
{
    TRY(open_files_store(self, self->folder, &self->move.from, error));
    TRY(open_files_store(self, service_root(self->ethos), &self->move.to, error));
    TRY(service_open_root(self->ethos, true, &self->to_dir, error));
    self->from_dir = os_openat(AT_FDCWD, self->folder, O_RDONLY | O_DIRECTORY, 0);
    return self->from_dir >= 0 ? ETHOS_OK : err_errno(error, errno, self->folder);
}

int restore_merge(struct ethos *ethos, const char *from, const json_t *files,
                  const struct restore_how *how, json_t **rows, struct ethos_error *error)
{
    struct merging self = {
        .ethos = ethos, .folder = from, .from_dir = -1, .to_dir = -1, .rows = rows};
    self.move = (struct migrate){.host = ethos->host,
                                 .dry_run = how->dry_run,
                                 .adds = true,
                                 .stopped = how->stop.asked,
                                 .arg = how->stop.arg};
    int code = open_both(&self, error);
    if (code == ETHOS_OK)
        code = merge_scopes(&self, error);
    if (code == ETHOS_OK)
        code = merge_sessions(&self, files, error);
    if (code == ETHOS_OK)
        code = merge_people(&self, error);
    if (code == ETHOS_OK)
        code = merge_files(&self, files, error);
    if (self.move.from)
        self.move.from->ops->close(self.move.from);
    if (self.move.to)
        self.move.to->ops->close(self.move.to);
    if (self.from_dir >= 0)
        os_close(self.from_dir);
    if (self.to_dir >= 0)
        os_close(self.to_dir);
    return code;
}
