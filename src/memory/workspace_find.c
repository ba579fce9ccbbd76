/*
 * workspace_find.c: the memory of a place, first hit wins.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/scope.h"
#include "memory/workspace.h"
#include "memory/workspace_file.h"

/* A search. Each step leaves the id in it when it knows one. */
struct look {
    int dir;
    const char *root, *common;
    char hash[WORKSPACE_HASH_SIZE];
    char usual[WORKSPACE_ID_SIZE];
    char next
        [WORKSPACE_ID_SIZE]; /* what a new memory is to be called; its path's hash is another's */
    struct workspace_index index; /* read by the step that first needs it */
    char id[WORKSPACE_ID_SIZE];
};

/* ---- by the marker -------------------------------------------------------------------------- */

/*
 * A copied tree carries the marker of the first, which still stands where it was recorded. A folder
 * that was moved is the recorded directory itself, or leads there by another way.
 */
static int is_copy(const struct look *look, const json_t *doc,
                   const struct workspace_marker *marker, bool *out, struct ethos_error *error)
{
    struct os_identity self, there;
    size_t index;
    json_t *entry;
    *out = false;
    if (os_identify(look->root, &self) != 0)
        return err_errno(error, errno, look->root);
    json_array_foreach (json_object_get(doc, "paths"), index, entry) {
        const char *path = workspace_entry_path(entry);
        if (workspace_entry_is(entry, &self)) {
            *out = false;
            return ETHOS_OK;
        }
        if (os_identify(path, &there) == 0 && !workspace_same(&there, &self) &&
            workspace_marker_at(path, marker, false))
            *out = true;
    }
    return ETHOS_OK;
}

static int by_marker(struct look *look, struct ethos_error *error)
{
    struct workspace_marker marker;
    json_t *doc;
    bool copy = false;
    int found = *look->common ? workspace_marker_read(look->common, &marker) : 0;
    if (found <= 0)
        return found == 0 ? ETHOS_OK : err_errno(error, errno, look->common);
    if (workspace_doc_has(look->dir, &marker, look->root)) {
        memcpy(look->id, marker.id, sizeof marker.id);
        return ETHOS_OK;
    }
    int code = workspace_doc_read(look->dir, marker.id, &doc, error);
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

static int by_alias(struct look *look, struct ethos_error *error)
{
    json_t *aliases;
    int code = workspace_usual_id(look->root, look->usual, error);
    if (code != ETHOS_OK)
        return code;
    snprintf(look->hash, sizeof look->hash, "%s",
             look->usual + strlen(look->usual) - (sizeof look->hash - 1));
    code = workspace_aliases_read(look->dir, &aliases, error);
    if (code != ETHOS_OK)
        return code;
    struct ethos_view id = json_view(aliases, look->hash);
    if (scope_id_ok(id))
        snprintf(look->next, sizeof look->next, "%.*s", VIEW_ARG(id));
    json_decref(aliases);
    int there = *look->next ? workspace_there(look->dir, look->next) : 0;
    if (there > 0)
        memcpy(look->id, look->next, sizeof look->id);
    return there < 0 ? err_errno(error, errno, WORKSPACE_FOLDER) : ETHOS_OK;
}

static int match_hash(void *arg, const char *id)
{
    struct look *look = arg;
    if (!*look->id && workspace_id_ends(view_str(id), look->hash))
        snprintf(look->id, sizeof look->id, "%s", id);
    return ETHOS_OK;
}

/* Nearly always the usual name; a directory that somebody renamed keeps the hash. */
static int by_path(struct look *look, struct ethos_error *error)
{
    int there = *look->next ? 0 : workspace_there(look->dir, look->usual);
    if (there < 0)
        return err_errno(error, errno, WORKSPACE_FOLDER);
    if (there > 0) {
        memcpy(look->id, look->usual, sizeof look->id);
        return ETHOS_OK;
    }
    int code = workspace_index_read(look->dir, &look->index, error);
    if (code != ETHOS_OK || *look->next)
        return code;
    if (!look->index.names)
        return workspace_each(look->dir, match_hash, look, error);
    workspace_index_hash(&look->index, look->hash, look->id);
    return ETHOS_OK;
}

/* ---- by the directory itself ---------------------------------------------------------------- */

struct moved {
    struct look *look;
    struct os_identity self;
};

/* Whether the entry is of this directory, and nothing else stands at its path now. */
static bool was_here(const struct moved *moved, const json_t *entry)
{
    struct os_identity there;
    const char *path = workspace_entry_path(entry);
    if (!workspace_entry_is(entry, &moved->self))
        return false;
    if (os_identify(path, &there) == 0)
        return workspace_same(&there, &moved->self);
    return errno == ENOENT || errno == ENOTDIR;
}

/* Takes the id when its document says so. */
static int try_moved(struct moved *moved, const char *id, struct ethos_error *error)
{
    json_t *doc, *entry;
    size_t index;
    int code = workspace_doc_read(moved->look->dir, id, &doc, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    json_array_foreach (json_object_get(doc, "paths"), index, entry) {
        if (was_here(moved, entry))
            snprintf(moved->look->id, sizeof moved->look->id, "%s", id);
    }
    json_decref(doc);
    return ETHOS_OK;
}

/* Without an index; a document of others that cannot be read is theirs to mend. */
static int scan_moved(void *arg, const char *id)
{
    struct moved *moved = arg;
    struct ethos_error ignored;
    int code = *moved->look->id ? ETHOS_OK : try_moved(moved, id, &ignored);
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static int by_identity(struct look *look, struct ethos_error *error)
{
    struct moved moved = {.look = look};
    char id[WORKSPACE_ID_SIZE];
    if (os_identify(look->root, &moved.self) != 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, look->root);
    if (moved.self.birth_ns == 0)
        return ETHOS_OK; // a number alone may have been another's before
    if (look->index.text.size == 0) {
        int code = workspace_each(look->dir, scan_moved, &moved, error);
        return code == ETHOS_NOMEM ? err_nomem(error) : code;
    }
    return workspace_index_identity(&look->index, &moved.self, id) ? try_moved(&moved, id, error)
                                                                   : ETHOS_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int find_id(struct look *look, enum workspace_how *out_how, struct ethos_error *error)
{
    static const struct {
        enum workspace_how how;
        int (*look)(struct look *look, struct ethos_error *error);
    } steps[] = {{WORKSPACE_MARKER, by_marker},
                 {WORKSPACE_ALIAS, by_alias},
                 {WORKSPACE_PATH, by_path},
                 {WORKSPACE_MOVED, by_identity}};
    for (size_t i = 0; look->dir >= 0 && i < sizeof steps / sizeof *steps; i++) {
        int code = steps[i].look(look, error);
        *out_how = steps[i].how;
        if (code != ETHOS_OK || *look->id)
            return code;
    }
    *out_how = WORKSPACE_NEW;
    memcpy(look->id, look->next, sizeof look->id);
    return *look->id ? ETHOS_OK : workspace_usual_id(look->root, look->id, error);
}

int workspace_find(int dir, const struct workspace_place *place, struct workspace_found *out,
                   struct ethos_error *error)
{
    enum workspace_how how;
    struct look look = {.dir = dir, .root = place->root.data, .common = place->common.data};
    int code = find_id(&look, &how, error);
    if (code == ETHOS_OK)
        code = scope_make(SCOPE_WORKSPACE, look.id, out->scope, error);
    if (code == ETHOS_OK)
        out->how = how;
    workspace_index_release(&look.index);
    return code;
}

const char *workspace_id(const struct workspace_found *found)
{
    return strchr(found->scope, ':') + 1;
}
