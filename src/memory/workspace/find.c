/*
 * find.c: finds the memory of a folder; the first match wins.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/workspace/files.h"
#include "memory/workspace/workspace.h"

/* A search. Each step sets the id if it finds one. */
struct workspace_search {
    int dir;
    const char *root, *common;
    struct looks *looks; /* or NULL */
    char hash[WORKSPACE_HASH_SIZE];
    char usual[WORKSPACE_ID_SIZE];
    char next[WORKSPACE_ID_SIZE]; /* id for a new memory; the hash of its path may be another's */
    struct workspace_index index; /* read by the first step that needs it */
    bool index_read;
    struct os_identity self;
    char id[WORKSPACE_ID_SIZE];
};

/* ---- looking -------------------------------------------------------------------------------- */

static int read_doc(struct workspace_search *look, const char *id, json_t **out,
                    struct ethos_error *error)
{
    looks_add(look->looks, WORKSPACE_FOLDER "/%s/" WORKSPACE_DOC, id);
    return workspace_doc_read(look->dir, id, out, error);
}

static int is_there(struct workspace_search *look, const char *id)
{
    looks_add(look->looks, WORKSPACE_FOLDER "/%s", id);
    return workspace_there(look->dir, id);
}

static int identify_root(struct workspace_search *look)
{
    looks_add(look->looks, "%s", look->root);
    return os_identify(look->root, &look->self);
}

/* Lists every id; the files of each are too many to watch. */
static int each_id(struct workspace_search *look, workspace_id_fn *each, void *arg,
                   struct ethos_error *error)
{
    looks_beyond(look->looks);
    return workspace_each(look->dir, each, arg, error);
}

/* ---- by the marker -------------------------------------------------------------------------- */

/*
 * A copied tree has the marker of the original, which still exists at its recorded path. A folder
 * that was moved is a recorded directory itself, or leads to one by another path.
 */
static int is_copy(struct workspace_search *look, const json_t *doc,
                   const struct workspace_marker *marker, bool *out, struct ethos_error *error)
{
    struct os_identity there;
    const json_t *paths = json_object_get(doc, "paths");
    *out = false;
    if (identify_root(look) != 0)
        return err_errno(error, errno, look->root);
    if (workspace_doc_knows(doc, &look->self))
        return ETHOS_OK;
    looks_beyond(look->looks); // other folders decide
    for (size_t i = 0; !*out && i < json_array_size(paths); i++) {
        const char *path = workspace_entry_path(json_array_get(paths, i));
        int found = workspace_at(path, &there);
        if (found > 0 && !workspace_same(&there, &look->self))
            *out = (found = workspace_marker_at(path, marker, false)) > 0;
        if (found < 0)
            return err_errno(error, errno, path);
    }
    return ETHOS_OK;
}

static int by_marker(struct workspace_search *look, struct ethos_error *error)
{
    struct workspace_marker marker;
    json_t *doc;
    bool copy = false;
    if (*look->common)
        looks_add(look->looks, "%s/" WORKSPACE_MARKER_NAME, look->common);
    int found = *look->common ? workspace_marker_read(look->common, &marker) : 0;
    if (found <= 0)
        return found == 0 ? ETHOS_OK : err_errno(error, errno, look->common);
    looks_add(look->looks, WORKSPACE_FOLDER "/%s/" WORKSPACE_DOC, marker.id);
    if (workspace_doc_has(look->dir, &marker, look->root)) {
        memcpy(look->id, marker.id, sizeof marker.id);
        return ETHOS_OK;
    }
    int code = read_doc(look, marker.id, &doc, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code; // of another home
    bool ours = view_eq_str(json_view(doc, "token"), marker.token);
    bool recorded = workspace_entry_at(doc, look->root) <
                    json_array_size(json_object_get(doc, "paths"));
    if (ours && !recorded)
        code = is_copy(look, doc, &marker, &copy, error);
    if (code == ETHOS_OK && ours && !copy)
        memcpy(look->id, marker.id, sizeof marker.id);
    json_decref(doc);
    return code;
}

/* ---- by the path ---------------------------------------------------------------------------- */

static int by_alias(struct workspace_search *look, struct ethos_error *error)
{
    json_t *aliases;
    TRY(workspace_usual_id(look->root, look->usual, error));
    snprintf(look->hash, sizeof look->hash, "%s",
             look->usual + strlen(look->usual) - (sizeof look->hash - 1));
    looks_add(look->looks, WORKSPACE_FOLDER "/" WORKSPACE_ALIASES);
    TRY(workspace_aliases_read(look->dir, &aliases, error));
    struct ethos_view id = json_view(aliases, look->hash);
    if (scope_id_ok(id))
        snprintf(look->next, sizeof look->next, "%.*s", VIEW_ARG(id));
    json_decref(aliases);
    int there = *look->next ? is_there(look, look->next) : 0;
    if (there > 0)
        memcpy(look->id, look->next, sizeof look->id);
    return there < 0 ? err_errno(error, errno, WORKSPACE_FOLDER) : ETHOS_OK;
}

static int match_hash(void *arg, const char *id)
{
    struct workspace_search *look = arg;
    if (!*look->id && workspace_id_has_hash(view_str(id), look->hash))
        snprintf(look->id, sizeof look->id, "%s", id);
    return ETHOS_OK;
}

static int read_index(struct workspace_search *look, struct ethos_error *error)
{
    looks_add(look->looks, WORKSPACE_STATE "/" WORKSPACE_INDEX);
    looks_add(look->looks, WORKSPACE_FOLDER "/");
    int code = look->index_read ? ETHOS_OK : workspace_index_read(look->dir, &look->index, error);
    look->index_read = true;
    return code;
}

/* Nearly always the default name; a renamed directory keeps the hash. */
static int by_path(struct workspace_search *look, struct ethos_error *error)
{
    int there = *look->next ? 0 : is_there(look, look->usual);
    if (there < 0)
        return err_errno(error, errno, WORKSPACE_FOLDER);
    if (there > 0) {
        memcpy(look->id, look->usual, sizeof look->id);
        return ETHOS_OK;
    }
    if (*look->next)
        return ETHOS_OK;
    TRY(read_index(look, error));
    if (!look->index.names)
        return each_id(look, match_hash, look, error);
    workspace_index_hash(&look->index, look->hash, look->id);
    return ETHOS_OK;
}

/* ---- by the directory itself ---------------------------------------------------------------- */

/* Sets the id if its document lists the directory. */
static int try_id(struct workspace_search *look, const char *id, struct ethos_error *error)
{
    json_t *doc;
    int code = read_doc(look, id, &doc, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    if (workspace_doc_knows(doc, &look->self))
        snprintf(look->id, sizeof look->id, "%s", id);
    json_decref(doc);
    return ETHOS_OK;
}

struct identity_scan {
    struct workspace_search *look;
    struct ethos_error error;
};

/* Without an index; damaged documents of other workspaces are ignored. */
static int scan_id(void *arg, const char *id)
{
    struct identity_scan *scan = arg;
    int code = *scan->look->id ? ETHOS_OK : try_id(scan->look, id, &scan->error);
    return code == ETHOS_CORRUPT ? ETHOS_OK : code;
}

static int search_identity(struct workspace_search *look, struct ethos_error *error)
{
    struct identity_scan scan = {.look = look};
    char id[WORKSPACE_ID_SIZE];
    TRY(read_index(look, error));
    if (look->index.text.size > 0)
        return workspace_index_identity(&look->index, &look->self, id) ? try_id(look, id, error)
                                                                       : ETHOS_OK;
    int code = each_id(look, scan_id, &scan, &scan.error);
    if (code != ETHOS_OK && error)
        *error = scan.error;
    return code;
}

/*
 * Finds the memory that lists this directory, if it is another than that of its path: the folder
 * was moved here, maybe replacing another. If the path's memory does not list it either, the folder
 * was created again.
 */
static int by_identity(struct workspace_search *look, bool *out_moved, struct ethos_error *error)
{
    char named[WORKSPACE_ID_SIZE];
    *out_moved = false;
    if (identify_root(look) != 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, look->root);
    if (look->self.birth_ns == 0)
        return ETHOS_OK; // an inode number may be reused
    memcpy(named, look->id, sizeof named);
    *look->id = 0;
    int code = *named ? try_id(look, named, error) : ETHOS_OK;
    if (code != ETHOS_OK || *look->id)
        return code;
    code = search_identity(look, error);
    *out_moved = *look->id != 0;
    if (!*out_moved)
        memcpy(look->id, named, sizeof named);
    return code;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int find_known(struct workspace_search *look, enum workspace_how *out_how,
                      struct ethos_error *error)
{
    static const struct {
        enum workspace_how how;
        int (*look)(struct workspace_search *look, struct ethos_error *error);
    } steps[] = {
        {WORKSPACE_MARKER, by_marker}, {WORKSPACE_ALIAS, by_alias}, {WORKSPACE_PATH, by_path}};
    bool moved;
    *out_how = WORKSPACE_NEW;
    for (size_t i = 0; !*look->id && i < sizeof steps / sizeof *steps; i++) {
        int code = steps[i].look(look, error);
        if (code != ETHOS_OK)
            return code;
        if (*look->id)
            *out_how = steps[i].how;
    }
    if (*out_how == WORKSPACE_MARKER)
        return ETHOS_OK;
    int code = by_identity(look, &moved, error);
    if (code == ETHOS_OK && moved)
        *out_how = WORKSPACE_MOVED;
    return code;
}

/* A home without any recorded folder has nothing to search. */
static bool is_first(const struct workspace_search *look)
{
    struct stat info;
    looks_add(look->looks, WORKSPACE_FOLDER);
    return look->dir < 0 ||
           (os_fstatat(look->dir, WORKSPACE_FOLDER, &info, 0) != 0 && errno == ENOENT);
}

static int find_id(struct workspace_search *look, enum workspace_how *out_how,
                   struct ethos_error *error)
{
    *out_how = WORKSPACE_NEW;
    int code = is_first(look) ? ETHOS_OK : find_known(look, out_how, error);
    if (code != ETHOS_OK || *look->id)
        return code;
    memcpy(look->id, look->next, sizeof look->id);
    return *look->id ? ETHOS_OK : workspace_usual_id(look->root, look->id, error);
}

int workspace_find(int dir, const struct workspace_place *place, struct workspace_found *out,
                   struct ethos_error *error)
{
    enum workspace_how how;
    struct workspace_search look = {
        .dir = dir, .root = place->root.data, .common = place->common.data, .looks = place->looks};
    int code = find_id(&look, &how, error);
    if (code == ETHOS_OK)
        code = scope_make(SCOPE_WORKSPACE, look.id, out->scope, error);
    if (code == ETHOS_OK)
        out->how = how;
    workspace_index_release(&look.index);
    return code;
}

/* ---- by its name ---------------------------------------------------------------------------- */

const char *workspace_named(const char *given)
{
    static const char kind[] = "workspace:";
    bool named = given && strncmp(given, kind, sizeof kind - 1) == 0;
    return named ? given + sizeof kind - 1 : NULL;
}

/* Whether the folder at a recorded path would find this memory. */
static int is_home_of(int dir, const char *path, const char *id, struct workspace_place *place,
                      bool *out)
{
    struct workspace_found found;
    str_clear(&place->root);
    str_clear(&place->common);
    int code = *path == '/' ? workspace_locate(path, place, NULL) : ETHOS_NOTFOUND;
    if (code == ETHOS_OK)
        code = workspace_find(dir, place, &found, NULL);
    *out = code == ETHOS_OK && strcmp(workspace_id(&found), id) == 0;
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static int find_folder(int dir, const char *id, struct workspace_place *out,
                       struct ethos_error *error)
{
    json_t *doc = NULL;
    bool found = false;
    looks_add(out->looks, WORKSPACE_FOLDER "/%s/" WORKSPACE_DOC, id);
    int code = workspace_doc_read(dir, id, &doc, NULL);
    const json_t *paths = json_object_get(doc, "paths");
    for (size_t i = json_array_size(paths); code == ETHOS_OK && !found && i-- > 0;)
        code = is_home_of(dir, workspace_entry_path(json_array_get(paths, i)), id, out, &found);
    json_decref(doc);
    if (!found) {
        str_clear(&out->root);
        str_clear(&out->common);
    }
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK; // a damaged document names no folder
}

int workspace_open(int dir, const char *id, struct workspace_place *out_place,
                   struct workspace_found *out, struct ethos_error *error)
{
    int code = workspace_known(dir, id, error);
    if (code == ETHOS_OK)
        code = find_folder(dir, id, out_place, error);
    if (code == ETHOS_OK)
        code = scope_make(SCOPE_WORKSPACE, id, out->scope, error);
    if (code == ETHOS_OK)
        out->how = WORKSPACE_NAMED;
    return code;
}

const char *workspace_id(const struct workspace_found *found)
{
    return strchr(found->scope, ':') + 1;
}
