/*
 * manage.c: manages workspaces: list, adopt, forget.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/dir.h"
#include "base/text/quote.h"
#include "base/text/suggest.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/home/directory.h"
#include "memory/workspace/folder_binding.h"
#include "memory/workspace/workspace.h"

#define PATH_SIZE (sizeof WORKSPACE_STATE + WORKSPACE_ID_SIZE + 32)

/* ---- all ids -------------------------------------------------------------------------------- */

struct ids {
    char **names; /* ends with NULL */
    size_t count, room;
};

static int add_known_id(void *arg, const char *id)
{
    struct ids *ids = arg;
    if (ids->count + 1 >= ids->room) {
        size_t room = ids->room ? 2 * ids->room : 64;
        char **names = realloc(ids->names, room * sizeof *names);
        if (!names)
            return ETHOS_NOMEM;
        ids->names = names;
        ids->room = room;
    }
    ids->names[ids->count] = strdup(id);
    if (!ids->names[ids->count])
        return ETHOS_NOMEM;
    ids->names[++ids->count] = NULL;
    return ETHOS_OK;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void release_ids(struct ids *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        free(ids->names[i]);
    free(ids->names);
}

static int read_ids(int dir, struct ids *out, struct ethos_error *error)
{
    int code = workspace_each(dir, add_known_id, out, error);
    if (code == ETHOS_OK && out->count > 0)
        qsort(out->names, out->count, sizeof *out->names, compare_ids);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static int fail_unknown(int dir, const char *id, struct ethos_error *error)
{
    struct ids ids = {0};
    char shown[QUOTE_SIZE];
    int code = read_ids(dir, &ids, error);
    if (code == ETHOS_OK) {
        const char *near = ids.count ? nearest_name(id, (const char *const *)ids.names) : NULL;
        code = err_set(error, ETHOS_NOTFOUND, "no such workspace: %s",
                       quote_line(view_str(id), shown));
        if (near)
            err_hint(error, code, "did you mean %s?", near);
        else
            err_hint(error, code, "ethos workspaces list shows them");
    }
    release_ids(&ids);
    return code;
}

int workspace_known(int dir, const char *id, struct ethos_error *error)
{
    int there = scope_id_ok(view_str(id)) && dir >= 0 ? workspace_there(dir, id) : 0;
    if (there > 0)
        return ETHOS_OK;
    return there < 0 ? err_errno(error, errno, WORKSPACE_FOLDER) : fail_unknown(dir, id, error);
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct workspace_tally {
    int dir;
    long long notes, bytes;
};

static int count_file(void *arg, const char *name)
{
    struct workspace_tally *tally = arg;
    struct stat info;
    if (!scope_key_visible(name) || os_fstatat(tally->dir, name, &info, 0) != 0)
        return 0;
    tally->notes += strcmp(name, "MEMORY.md") != 0;
    tally->bytes += (long long)info.st_size;
    return 0;
}

/* The files of a memory. False if they cannot be read, as behind a link out of the home. */
static bool count_files(int dir, const char *id, struct workspace_tally *out)
{
    char path[PATH_SIZE];
    *out = (struct workspace_tally){0};
    snprintf(path, sizeof path, WORKSPACE_FOLDER "/%s/memory", id);
    out->dir = os_open_beneath(dir, path, O_RDONLY | O_DIRECTORY, 0);
    if (out->dir < 0)
        return errno == ENOENT;
    int result = os_list(out->dir, count_file, out);
    os_close(out->dir);
    return result >= 0;
}

static json_t *path_row(const json_t *entry)
{
    struct os_identity there;
    struct ethos_view seen = json_view(entry, "lastSeen");
    const char *path = workspace_entry_path(entry);
    return json_pack("{s:s, s:b, s:o}", "path", path, "exists", os_identify(path, &there) == 0,
                     "lastSeen", seen.data ? json_text(seen) : json_null());
}

static int add_paths(json_t *row, const json_t *doc)
{
    size_t index;
    json_t *entry, *rows = json_array();
    int failed = json_object_set_new(row, "paths", rows);
    json_array_foreach (json_object_get(doc, "paths"), index, entry)
        failed = failed || json_array_append_new(rows, path_row(entry)) != 0;
    return failed;
}

static json_t *make_row(int dir, const char *id, const json_t *doc, const char *problem)
{
    struct workspace_tally tally;
    char scope[ETHOS_MAX_SCOPE];
    bool counted = count_files(dir, id, &tally);
    scope_make(SCOPE_WORKSPACE, id, scope, NULL);
    json_t *row = json_pack("{s:s, s:s, s:o, s:o}", "id", id, "scope", scope, "notes",
                            counted ? json_integer(tally.notes) : json_null(), "bytes",
                            counted ? json_integer(tally.bytes) : json_null());
    if (row && (add_paths(row, doc) != 0 ||
                (*problem && json_object_set_new(row, "problem", json_string(problem)) != 0))) {
        json_decref(row);
        row = NULL;
    }
    return row;
}

static int row_of(int dir, const char *id, json_t **out, struct ethos_error *error)
{
    json_t *doc = NULL;
    struct ethos_error why = {0};
    int code = workspace_doc_read(dir, id, &doc, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    *out = make_row(dir, id, doc, code == ETHOS_NOTFOUND ? "" : why.text);
    json_decref(doc);
    return *out ? ETHOS_OK : err_nomem(error);
}

int workspace_list(int dir, json_t **out_rows, struct ethos_error *error)
{
    struct ids ids = {0};
    json_t *rows = json_array(), *row;
    int code = rows ? read_ids(dir, &ids, error) : err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < ids.count; i++) {
        code = row_of(dir, ids.names[i], &row, error);
        if (code == ETHOS_OK && json_array_append_new(rows, row) != 0)
            code = err_nomem(error);
    }
    release_ids(&ids);
    if (code == ETHOS_OK)
        *out_rows = rows;
    else
        json_decref(rows);
    return code;
}

int workspace_show(int dir, const char *id, json_t **out_row, struct ethos_error *error)
{
    TRY(workspace_known(dir, id, error));
    return row_of(dir, id, out_row, error);
}

/* ---- adopt ---------------------------------------------------------------------------------- */

/* Refuses to hide a memory of the folder's own. */
static int check_own(int dir, const struct workspace_found *found, const char *id, bool replace,
                     struct ethos_error *error)
{
    struct workspace_tally tally;
    const char *own = workspace_id(found);
    if (replace || strcmp(own, id) == 0 || (count_files(dir, own, &tally) && tally.bytes == 0))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_EXISTS, "this folder already has its own memory: %s", own);
    return err_hint(error, code, "--replace binds it to %s instead; %.64s is kept", id, own);
}

static int adopt_locked(struct workspace_tie *tie, const struct workspace_found *found,
                        struct ethos_error *error)
{
    TRY(workspace_tie_load(tie, error));
    if (strcmp(workspace_id(found), tie->id) != 0)
        TRY(workspace_untie_root(tie, workspace_id(found), error));
    return workspace_tie_root(tie, error);
}

int workspace_adopt(int dir, const struct workspace_place *place, const char *id, bool replace,
                    bool check, bool marker, int64_t now_ms, struct ethos_error *error)
{
    struct workspace_found found;
    struct workspace_tie tie;
    int lock;
    if (!utf8_valid(str_view(&place->root)))
        return err_set(error, ETHOS_INVALID, "the path of this folder is not valid UTF-8");
    int code = workspace_known(dir, id, error);
    if (code == ETHOS_OK)
        code = workspace_find(dir, place, &found, error);
    if (code == ETHOS_OK)
        code = check_own(dir, &found, id, replace, error);
    if (code != ETHOS_OK || check)
        return code;
    TRY(workspace_tie_init(&tie, dir, place, id, error));
    TRY(home_lock(dir, WORKSPACE_FOLDER, &lock, error));
    clock_date(now_ms, tie.today);
    tie.marker = marker;
    code = adopt_locked(&tie, &found, error);
    os_close(lock);
    workspace_tie_release(&tie);
    return code;
}

/* ---- forget --------------------------------------------------------------------------------- */

/* A damaged document does not prevent it. */
static int load_ties(struct workspace_tie *tie, struct ethos_error *error)
{
    int code = workspace_doc_read(tie->dir, tie->id, &tie->doc, error);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND && code != ETHOS_CORRUPT)
        return code;
    return workspace_aliases_read(tie->dir, &tie->aliases, error);
}

static int drop_aliases(struct workspace_tie *tie, struct ethos_error *error)
{
    const char *hash;
    json_t *value;
    void *next;
    int code = ETHOS_OK;
    size_t index;
    json_t *entry;
    json_array_foreach (json_object_get(tie->doc, "paths"), index, entry) {
        if (code == ETHOS_OK)
            code = workspace_leave(tie, workspace_entry_path(entry), error);
    }
    json_object_foreach_safe(tie->aliases, next, hash, value)
    {
        if (strcmp(json_string_value(value) ? json_string_value(value) : "", tie->id) == 0) {
            json_object_del(tie->aliases, hash);
            tie->aliases_changed = true;
        }
    }
    return code;
}

/*
 * The path whose hash ends the id may be unknown; an alias prevents a new memory there from using
 * it.
 */
static int hide_name(struct workspace_tie *tie, struct ethos_error *error)
{
    char next[WORKSPACE_ID_SIZE];
    size_t size = strlen(tie->id), digits = WORKSPACE_HASH_SIZE - 1;
    const char *hash = tie->id + size - (size > digits ? digits : size);
    if (tie->deleted || size <= digits + 1 || hash[-1] != '-' ||
        strspn(hash, "0123456789abcdef") != digits || json_object_get(tie->aliases, hash))
        return ETHOS_OK;
    snprintf(next, sizeof next, "%s", tie->id);
    do
        workspace_next_id(next);
    while (workspace_there(tie->dir, next) > 0);
    tie->aliases_changed = true;
    return json_object_set_new(tie->aliases, hash, json_string(next)) == 0 ? ETHOS_OK
                                                                           : err_nomem(error);
}

static void drop_markers(const struct workspace_tie *tie)
{
    struct workspace_marker marker;
    size_t index;
    json_t *entry;
    const char *token = json_string_value(json_object_get(tie->doc, "token"));
    if (!token)
        return;
    snprintf(marker.id, sizeof marker.id, "%s", tie->id);
    snprintf(marker.token, sizeof marker.token, "%s", token);
    json_array_foreach (json_object_get(tie->doc, "paths"), index, entry)
        workspace_marker_at(workspace_entry_path(entry), &marker, true);
}

/* Hidden at once, then deleted. */
static int delete_memory(const struct workspace_tie *tie, struct ethos_error *error)
{
    char path[PATH_SIZE], aside[PATH_SIZE];
    snprintf(path, sizeof path, WORKSPACE_FOLDER "/%s", tie->id);
    snprintf(aside, sizeof aside, WORKSPACE_STATE "/forgotten-%s", tie->id);
    if (os_mkdirs(tie->dir, WORKSPACE_STATE) != 0)
        return err_errno(error, errno, WORKSPACE_STATE);
    dir_remove(tie->dir, aside); // left by an interrupted one
    if (os_renameat(tie->dir, path, tie->dir, aside, 0) != 0)
        return err_errno(error, errno, path);
    return dir_remove(tie->dir, aside) == 0 ? ETHOS_OK : err_errno(error, errno, aside);
}

/* Records of imports and checks, which must not apply to a later memory with this id. */
static int delete_records(const struct workspace_tie *tie, struct ethos_error *error)
{
    static const char *const kinds[] = {"imports", "checks"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char scope[ETHOS_MAX_SCOPE], name[HOME_RECORD_SIZE];
        char path[sizeof HOME_RECORDS + HOME_RECORD_SIZE];
        snprintf(scope, sizeof scope, "workspace:%s", tie->id);
        home_record_name(kinds[i], scope, name);
        snprintf(path, sizeof path, HOME_RECORDS "/%s", name);
        if (os_unlinkat(tie->dir, path, 0) != 0 && errno != ENOENT)
            return err_errno(error, errno, path);
    }
    return ETHOS_OK;
}

static int delete_doc(const struct workspace_tie *tie, struct ethos_error *error)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, WORKSPACE_FOLDER "/%s/workspace.json", tie->id);
    return os_unlinkat(tie->dir, path, 0) == 0 || errno == ENOENT ? ETHOS_OK
                                                                  : err_errno(error, errno, path);
}

static int forget_locked(struct workspace_tie *tie, bool memory, struct ethos_error *error)
{
    int code = load_ties(tie, error);
    if (code == ETHOS_OK && memory)
        code = delete_memory(tie, error);
    if (code == ETHOS_OK && memory)
        code = delete_records(tie, error);
    tie->deleted = memory;
    if (code == ETHOS_OK)
        code = drop_aliases(tie, error);
    if (code == ETHOS_OK)
        code = hide_name(tie, error);
    if (code == ETHOS_OK)
        code = workspace_aliases_save(tie, error);
    if (code == ETHOS_OK && !memory)
        code = delete_doc(tie, error);
    if (code == ETHOS_OK)
        drop_markers(tie);
    return code == ETHOS_OK ? workspace_index_write(tie->dir, tie->id, NULL, error) : code;
}

int workspace_forget(int dir, const char *id, bool memory, struct ethos_error *error)
{
    struct workspace_tie tie = {.dir = dir, .id = id};
    int lock;
    TRY(workspace_known(dir, id, error));
    TRY(home_lock(dir, WORKSPACE_FOLDER, &lock, error));
    int code = forget_locked(&tie, memory, error);
    os_close(lock);
    workspace_tie_release(&tie);
    return code;
}

/* ---- check ---------------------------------------------------------------------------------- */

struct checking {
    int dir;
    bool fix;
    int64_t now_ms;
    ethos_finding_fn *each;
    void *arg;
};

/* Under a unique name. */
static int move_aside(const struct checking *checking, const char *path, struct ethos_error *error)
{
    char aside[PATH_SIZE + 32];
    struct stat info;
    int64_t number = checking->now_ms;
    do
        snprintf(aside, sizeof aside, "%s.damaged-%lld", path, (long long)number++);
    while (os_fstatat(checking->dir, aside, &info, AT_SYMLINK_NOFOLLOW) == 0);
    return os_renameat(checking->dir, path, checking->dir, aside, 0) == 0
               ? ETHOS_OK
               : err_errno(error, errno, path);
}

static void report_or_fix(const struct checking *checking, const char *path,
                          struct ethos_error *why)
{
    struct ethos_finding finding = {ETHOS_FINDING_ERROR, path, why->text, why->hint};
    struct ethos_error failure = {0};
    bool fix = checking->fix && why->code == ETHOS_CORRUPT;
    if (fix && move_aside(checking, path, &failure) == ETHOS_OK) {
        finding.severity = ETHOS_FINDING_FIXED;
        finding.remedy = "renamed to .damaged-...; the next write creates it anew";
    } else if (fix) {
        finding.problem = failure.text;
        finding.remedy = NULL;
    }
    checking->each(checking->arg, &finding);
}

static int check_doc(void *arg, const char *id)
{
    const struct checking *checking = arg;
    struct ethos_error why = {0};
    char path[PATH_SIZE];
    json_t *doc = NULL;
    int code = workspace_doc_read(checking->dir, id, &doc, &why);
    json_decref(doc);
    snprintf(path, sizeof path, WORKSPACE_FOLDER "/%s/workspace.json", id);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND && code != ETHOS_NOMEM)
        report_or_fix(checking, path, &why);
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static int check_all(struct checking *checking, struct ethos_error *error)
{
    struct ethos_error why = {0};
    json_t *aliases = NULL;
    int code = workspace_aliases_read(checking->dir, &aliases, &why);
    json_decref(aliases);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        report_or_fix(checking, WORKSPACE_FOLDER "/aliases.json", &why);
    code = workspace_each(checking->dir, check_doc, checking, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

int workspace_check(int dir, bool fix, int64_t now_ms, ethos_finding_fn *each, void *arg,
                    struct ethos_error *error)
{
    struct checking checking = {dir, fix, now_ms, each, arg};
    int lock = -1;
    int code = fix ? home_lock(dir, WORKSPACE_FOLDER, &lock, error) : ETHOS_OK;
    if (code == ETHOS_OK)
        code = check_all(&checking, error);
    if (lock >= 0)
        os_close(lock);
    return code;
}
