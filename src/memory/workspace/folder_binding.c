/*
 * folder_binding.c: records which folder a memory belongs to, and removes such records.
 *
 * Everything happens under one lock, in an order that survives a crash anywhere: aliases first,
 * then the document, then the index and the marker. Repeating it completes it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "base/view.h"
#include "memory/home/directory.h"
#include "memory/workspace/folder_binding.h"
#include "memory/workspace/workspace.h"

#define WAS_MAX 8 /* earlier directories of a path; one per time it was deleted and created again */

/* ---- what stands there ---------------------------------------------------------------------- */

static json_t *paths_of(const struct workspace_tie *tie)
{
    return json_object_get(tie->doc, "paths");
}

static bool entry_is_current(const struct workspace_tie *tie, const json_t *entry)
{
    return (workspace_entry_is(entry, &tie->self) || tie->self.birth_ns == 0) &&
           view_eq_str(json_view(entry, "lastSeen"), tie->today);
}

/* Whether nothing has to be done; checked without the lock, since it is the usual case. */
static bool is_binding_current(const struct workspace_tie *tie)
{
    json_t *doc;
    if (workspace_doc_read(tie->dir, tie->id, &doc, NULL) != ETHOS_OK)
        return false;
    const json_t *entry = json_array_get(json_object_get(doc, "paths"),
                                         workspace_entry_at(doc, tie->root));
    bool current = entry && entry_is_current(tie, entry);
    json_decref(doc);
    return current;
}

/* ---- the aliases ---------------------------------------------------------------------------- */

static int set_alias(struct workspace_tie *tie, const char *hash, const char *id,
                     struct ethos_error *error)
{
    struct ethos_view old = json_view(tie->aliases, hash);
    if (id ? view_eq_str(old, id) : !json_object_get(tie->aliases, hash))
        return ETHOS_OK;
    tie->aliases_changed = true;
    int failed = id ? json_object_set_new(tie->aliases, hash, json_string(id))
                    : json_object_del(tie->aliases, hash);
    return failed ? err_nomem(error) : ETHOS_OK;
}

int workspace_leave(struct workspace_tie *tie, const char *path, struct ethos_error *error)
{
    char hash[WORKSPACE_HASH_SIZE], usual[WORKSPACE_ID_SIZE], next[WORKSPACE_ID_SIZE];
    workspace_hash(path, hash);
    TRY(workspace_usual_id(path, usual, error));
    struct ethos_view alias = json_view(tie->aliases, hash), id = view_str(tie->id);
    if (alias.data ? !view_eq(alias, id) : !workspace_id_has_hash(id, hash))
        return ETHOS_OK; // the path belongs to another memory already
    memcpy(next, usual, sizeof next);
    while ((!tie->deleted && workspace_id_has_hash(id, next + strlen(next) - strlen(hash))) ||
           workspace_there(tie->dir, next) > 0)
        workspace_next_id(next);
    return set_alias(tie, hash, strcmp(next, usual) == 0 ? NULL : next, error);
}

/* Makes the folder find this id by its path. */
static int alias_root(struct workspace_tie *tie, struct ethos_error *error)
{
    char hash[WORKSPACE_HASH_SIZE], usual[WORKSPACE_ID_SIZE];
    workspace_hash(tie->root, hash);
    TRY(workspace_usual_id(tie->root, usual, error));
    return set_alias(tie, hash, strcmp(usual, tie->id) == 0 ? NULL : tie->id, error);
}

/* ---- the document --------------------------------------------------------------------------- */

static int draw_token(json_t *doc, struct ethos_error *error)
{
    unsigned char random[32];
    char token[HASH_HEX_SIZE];
    if (os_random(random, sizeof random) != 0)
        return err_errno(error, errno, "random numbers");
    hash_hex(view_of((const char *)random, sizeof random), token);
    token[WORKSPACE_TOKEN_SIZE - 1] = 0;
    return json_object_set_new(doc, "token", json_string(token)) == 0 ? ETHOS_OK : err_nomem(error);
}

/* Updates version, id and token. */
static int head_doc(struct workspace_tie *tie, struct ethos_error *error)
{
    if (!tie->doc)
        tie->doc = json_pack("{s:i, s:s, s:s, s:[]}", "version", 1, "id", tie->id, "token", "",
                             "paths");
    if (!tie->doc)
        return err_nomem(error);
    if (!view_eq_str(json_view(tie->doc, "id"), tie->id) &&
        json_object_set_new(tie->doc, "id", json_string(tie->id)) != 0)
        return err_nomem(error);
    bool token = json_view(tie->doc, "token").size == WORKSPACE_TOKEN_SIZE - 1;
    return token ? ETHOS_OK : draw_token(tie->doc, error);
}

static json_t *identity_row(const struct os_identity *identity)
{
    return json_pack("{s:I, s:I, s:I}", "dev", (json_int_t)identity->device, "ino",
                     (json_int_t)identity->inode, "btime", (json_int_t)identity->birth_ns);
}

/*
 * The directories that had the memory of an entry before this folder: any of them may still show up
 * elsewhere, and is then the original. A directory that appeared there after this folder never had
 * it. last: the entry's own directory is one of them.
 */
static int add_earlier(const struct workspace_tie *tie, const json_t *entry, bool last, json_t *out)
{
    const json_t *was = json_object_get(entry, "was");
    const struct os_identity recorded = workspace_entry_identity(entry);
    size_t at = workspace_entry_was(entry, &tie->self), count = json_array_size(was);
    int failed = 0;
    if (last && !workspace_entry_knows(entry, &tie->self) && recorded.birth_ns != 0)
        failed = json_array_append_new(out, identity_row(&recorded));
    for (at = at < count ? at + 1 : 0; !failed && at < count; at++)
        failed = json_array_append(out, json_array_get(was, at));
    while (json_array_size(out) > WAS_MAX)
        json_array_remove(out, WAS_MAX);
    return failed;
}

static json_t *make_path_entry(const struct workspace_tie *tie, const json_t *old)
{
    struct ethos_view first = json_view(old, "firstSeen");
    json_t *was = tie->was ? json_copy(tie->was) : json_array();
    json_t *entry = json_pack("{s:s, s:I, s:I, s:I, s:s, s:s}", "path", tie->root, "dev",
                              (json_int_t)tie->self.device, "ino", (json_int_t)tie->self.inode,
                              "btime", (json_int_t)tie->self.birth_ns, "firstSeen",
                              first.data ? first.data : tie->today, "lastSeen", tie->today);
    int failed = !was || !entry || (old && add_earlier(tie, old, true, was) != 0);
    if (!failed && json_array_size(was) > 0)
        failed = json_object_set(entry, "was", was);
    json_decref(was);
    if (!failed)
        return entry;
    json_decref(entry);
    return NULL;
}

typedef int left_fn(const struct workspace_tie *tie, const json_t *entry, bool *out,
                    struct ethos_error *error);

/* Whether the folder is the directory that was recorded, or is now at that path. */
static int is_its_own(const struct workspace_tie *tie, const json_t *entry, bool *out,
                      struct ethos_error *error)
{
    struct os_identity there;
    *out = workspace_entry_knows(entry, &tie->self);
    int stands = *out ? 0 : workspace_at(workspace_entry_path(entry), &there);
    if (stands < 0)
        return err_errno(error, errno, workspace_entry_path(entry));
    *out = *out || (stands && workspace_same(&there, &tie->self));
    return ETHOS_OK;
}

/* For a moved folder: whether nothing is at the recorded path now. */
static int is_gone(const struct workspace_tie *tie, const json_t *entry, bool *out,
                   struct ethos_error *error)
{
    struct os_identity there;
    (void)tie;
    int stands = workspace_at(workspace_entry_path(entry), &there);
    *out = stands == 0 && errno != EACCES;
    return stands < 0 ? err_errno(error, errno, workspace_entry_path(entry)) : ETHOS_OK;
}

/* Likewise: whether another directory is there now. */
static int is_taken(const struct workspace_tie *tie, const json_t *entry, bool *out,
                    struct ethos_error *error)
{
    struct os_identity there;
    (void)tie;
    int stands = workspace_at(workspace_entry_path(entry), &there);
    *out = stands > 0 && workspace_entry_identity(entry).birth_ns != 0 &&
           (!workspace_entry_is(entry, &there) ||
            json_array_size(json_object_get(entry, "was")) > 0);
    return stands < 0 ? err_errno(error, errno, workspace_entry_path(entry)) : ETHOS_OK;
}

static bool make_marker(const struct workspace_tie *tie, struct workspace_marker *out)
{
    const char *token = json_string_value(json_object_get(tie->doc, "token"));
    snprintf(out->id, sizeof out->id, "%s", tie->id);
    snprintf(out->token, sizeof out->token, "%s", token ? token : "");
    return token != NULL;
}

/*
 * Removes a path from the list; a directory there may have written meanwhile, but the memory is not
 * its own.
 */
static int leave_place(struct workspace_tie *tie, size_t at, struct ethos_error *error)
{
    struct os_identity there;
    struct workspace_marker marker;
    const json_t *entry = json_array_get(paths_of(tie), at);
    const char *path = workspace_entry_path(entry);
    bool stands = workspace_at(path, &there) > 0;
    if (!tie->was)
        tie->was = json_array();
    if (!tie->was ||
        add_earlier(tie, entry, !stands || !workspace_entry_is(entry, &there), tie->was) != 0)
        return err_nomem(error);
    int code = workspace_leave(tie, path, error);
    if (code == ETHOS_OK && stands && !workspace_same(&there, &tie->self) &&
        make_marker(tie, &marker))
        workspace_marker_at(path, &marker, true);
    json_array_remove(paths_of(tie), at);
    return code;
}

static int leave_places(struct workspace_tie *tie, left_fn *left, struct ethos_error *error)
{
    int code = ETHOS_OK;
    bool gone = false;
    for (size_t i = json_array_size(paths_of(tie)); i-- > 0 && code == ETHOS_OK;) {
        const json_t *entry = json_array_get(paths_of(tie), i);
        if (strcmp(workspace_entry_path(entry), tie->root) == 0)
            continue;
        code = left(tie, entry, &gone, error);
        if (code == ETHOS_OK && gone)
            code = leave_place(tie, i, error);
    }
    return code;
}

/* Removes the paths that the folder has left, by the most reliable evidence available. */
static int leave_old_places(struct workspace_tie *tie, struct ethos_error *error)
{
    static left_fn *const signs[] = {is_its_own, is_gone, is_taken};
    bool moved = tie->moved &&
                 workspace_entry_at(tie->doc, tie->root) == json_array_size(paths_of(tie));
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && !tie->was && i < (moved ? 3 : 1); i++)
        code = leave_places(tie, signs[i], error);
    return code;
}

static int list_root(struct workspace_tie *tie, struct ethos_error *error)
{
    size_t at = workspace_entry_at(tie->doc, tie->root);
    json_t *entry = make_path_entry(tie, json_array_get(paths_of(tie), at));
    int failed = at < json_array_size(paths_of(tie)) ? json_array_set_new(paths_of(tie), at, entry)
                                                     : json_array_append_new(paths_of(tie), entry);
    return failed ? err_nomem(error) : ETHOS_OK;
}

/* Removes the directory from an entry; true if it was there. */
static bool drop_self(const struct workspace_tie *tie, json_t *paths, size_t at)
{
    json_t *entry = json_array_get(paths, at);
    if (strcmp(workspace_entry_path(entry), tie->root) == 0 ||
        workspace_entry_is(entry, &tie->self))
        return json_array_remove(paths, at) == 0;
    return json_array_remove(json_object_get(entry, "was"),
                             workspace_entry_was(entry, &tie->self)) == 0;
}

int workspace_untie_root(const struct workspace_tie *tie, const char *id, struct ethos_error *error)
{
    json_t *doc;
    bool changed = false;
    int code = workspace_doc_read(tie->dir, id, &doc, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    json_t *paths = json_object_get(doc, "paths");
    for (size_t i = json_array_size(paths); i-- > 0;)
        changed = drop_self(tie, paths, i) || changed;
    if (changed)
        code = workspace_doc_write(tie->dir, id, doc, error);
    if (changed && code == ETHOS_OK)
        code = workspace_index_write(tie->dir, id, doc, error);
    json_decref(doc);
    return code;
}

/* ---- all of it ------------------------------------------------------------------------------ */

int workspace_tie_load(struct workspace_tie *tie, struct ethos_error *error)
{
    int code = workspace_doc_read(tie->dir, tie->id, &tie->doc, error);
    if (code == ETHOS_OK || code == ETHOS_NOTFOUND)
        code = workspace_aliases_read(tie->dir, &tie->aliases, error);
    return code;
}

void workspace_tie_release(struct workspace_tie *tie)
{
    json_decref(tie->doc);
    json_decref(tie->aliases);
    json_decref(tie->was);
}

int workspace_aliases_save(struct workspace_tie *tie, struct ethos_error *error)
{
    return tie->aliases_changed ? workspace_aliases_write(tie->dir, tie->aliases, error) : ETHOS_OK;
}

static bool index_stands(const struct workspace_tie *tie)
{
    struct workspace_index index;
    char id[WORKSPACE_ID_SIZE];
    bool there = workspace_index_read(tie->dir, &index, NULL) == ETHOS_OK && index.names &&
                 (tie->self.birth_ns == 0 ||
                  (workspace_index_identity(&index, &tie->self, id) && strcmp(id, tie->id) == 0));
    workspace_index_release(&index);
    return there;
}

/* A git directory that is not writable gets no marker, and the folder is known by its path. */
static void write_marker(const struct workspace_tie *tie)
{
    struct workspace_marker marker;
    if (tie->marker && *tie->common && make_marker(tie, &marker))
        workspace_marker_write(tie->common, &marker);
}

/* Whether to write a missing marker, as after git init. */
static bool lacks_marker(const struct workspace_tie *tie)
{
    struct workspace_marker marker;
    return tie->marker && *tie->common && workspace_marker_read(tie->common, &marker) == 0;
}

int workspace_tie_root(struct workspace_tie *tie, struct ethos_error *error)
{
    int code = head_doc(tie, error);
    if (code == ETHOS_OK)
        code = leave_old_places(tie, error);
    if (code == ETHOS_OK)
        code = alias_root(tie, error);
    if (code == ETHOS_OK)
        code = list_root(tie, error);
    if (code == ETHOS_OK)
        code = workspace_aliases_save(tie, error);
    if (code == ETHOS_OK)
        code = workspace_doc_write(tie->dir, tie->id, tie->doc, error);
    if (code == ETHOS_OK && (tie->was || !index_stands(tie)))
        code = workspace_index_write(tie->dir, tie->id, tie->doc, error);
    if (code == ETHOS_OK)
        write_marker(tie);
    return code;
}

int workspace_tie_init(struct workspace_tie *tie, int dir, const struct workspace_place *place,
                       const char *id, struct ethos_error *error)
{
    *tie = (struct workspace_tie){
        .dir = dir, .id = id, .root = place->root.data, .common = place->common.data};
    return os_identify(tie->root, &tie->self) == 0 ? ETHOS_OK : err_errno(error, errno, tie->root);
}

int workspace_record(int dir, const struct workspace_place *place,
                     const struct workspace_found *found, bool marker, int64_t now_ms,
                     struct ethos_error *error)
{
    struct workspace_tie tie;
    int lock;
    if (!utf8_valid(str_view(&place->root)))
        return ETHOS_OK;
    TRY(workspace_tie_init(&tie, dir, place, workspace_id(found), error));
    clock_date(now_ms, tie.today);
    tie.marker = marker;
    tie.moved = found->how == WORKSPACE_MARKER;
    bool stood = found->how != WORKSPACE_MOVED && is_binding_current(&tie);
    if (stood && !lacks_marker(&tie))
        return ETHOS_OK;
    TRY(home_lock(dir, WORKSPACE_FOLDER, &lock, error));
    int code = workspace_tie_load(&tie, error);
    if (code == ETHOS_OK && stood)
        write_marker(&tie);
    else if (code == ETHOS_OK)
        code = workspace_tie_root(&tie, error);
    os_close(lock);
    workspace_tie_release(&tie);
    return code;
}
