/*
 * workspace.h: which project folder this is, and the scope of its memory.
 *
 * A folder is known by its path, and survives being moved: by a marker in its git directory, by a
 * recorded alias, or by the identity of the directory itself. Work trees of one repository share one
 * memory; two folders that merely share a name, or one that took the place of another, do not.
 *
 *     workspaces/aliases.json             {"<hash12 of a path>": "<id>"}
 *     workspaces/<id>/workspace.json      {version, id, token, paths: [{path, dev, ino, btime,
 *                                          firstSeen, lastSeen, was: [{dev, ino, btime}]}]}
 *     <git common dir>/ethos-workspace    <id> <token>
 *     workspaces/.mem/index               derived: names and identities (files.h)
 *
 * Looking makes nothing; the first write records. A hit under a path that is not recorded is recorded
 * by the next write, which also takes the path that was left off the list. Whatever folder appears
 * there later is another one: when the memory bears the name of that path, the alias of the path
 * names a memory of its own from then on.
 *
 * Another directory at a recorded path is the folder deleted and made again, until the one that stood
 * there shows up elsewhere: `was` keeps those, newest first. The cases: docs/internals/notes.md.
 *
 * A path that is not UTF-8 is known by its hash alone. A git directory that cannot be shown to belong
 * to the folder (a .git that is a link, a submodule's) has no marker.
 */
#ifndef ETHOS_MEMORY_WORKSPACE_WORKSPACE_H
#define ETHOS_MEMORY_WORKSPACE_WORKSPACE_H

#include <limits.h>
#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/provider.h>
#include <ethos/types.h>

#include "base/json.h"
#include "base/str.h"
#include "base/system/watch_set.h"

#define WORKSPACE_SLUG_MAX 32 /* bytes */

/* A folder, and everything needed to find its memory. */
struct workspace_place {
    struct str root;     /* real path: for a linked work tree, of the main one */
    struct str common;   /* the git common directory, or empty */
    struct looks *looks; /* records the files read to find this and its memory; or NULL */
};

void workspace_place_init(struct workspace_place *place);
void workspace_place_release(struct workspace_place *place);

/* The given folder. */
int workspace_locate(const char *given, struct workspace_place *out, struct ethos_error *error);

/*
 * The project of a folder (NULL: the current directory): its git top level; without git the nearest
 * folder from there up with a memory, else the folder itself. The memory of the home directory or
 * of / does not extend to folders below. ETHOS_NOTFOUND if the folder is gone.
 */
int workspace_around(int dir, const char *folder, struct workspace_place *out,
                     struct ethos_error *error);

/*
 * The folder of an absolute path, or its nearest existing parent. False if that is the home
 * directory or /, whose memory does not extend to folders below.
 */
bool workspace_nearest(const char *folder, char out[PATH_MAX]);

enum workspace_how {
    WORKSPACE_NEW,    /* none yet: the id it would get */
    WORKSPACE_PATH,   /* by its path */
    WORKSPACE_MARKER, /* by the marker in its git directory */
    WORKSPACE_ALIAS,
    WORKSPACE_MOVED, /* by the identity of the directory, whatever its path */
    WORKSPACE_NAMED  /* by its id */
};

struct workspace_found {
    char scope[ETHOS_MAX_SCOPE]; /* "workspace:<id>" */
    enum workspace_how how;
};

/*
 * Appends the folders whose conversations belong to the place, for queries (ethos/session.h): the
 * folder and all below, if that is one project, and likewise for its work trees. Returns str_code.
 */
int workspace_folders(const struct workspace_place *place, const struct workspace_found *found,
                      struct str *out);

/* The id in the scope. */
const char *workspace_id(const struct workspace_found *found);

/*
 * Finds the memory of a place: by its marker; else by the directory; else by its alias or path. dir
 * -1: no home yet. What cannot be read is an error: using another memory would be worse; a marker
 * of another home is ignored. Costs a few opens whatever the number of workspaces.
 */
int workspace_find(int dir, const struct workspace_place *place, struct workspace_found *out,
                   struct ethos_error *error);

/* The id in "workspace:<id>", by which a request may name a memory instead of a folder; or NULL. */
const char *workspace_named(const char *given);

/*
 * The memory with an id, and its folder, which is empty if it has none any more. ETHOS_NOTFOUND
 * hints at a similar one.
 */
int workspace_open(int dir, const char *id, struct workspace_place *out_place,
                   struct workspace_found *out, struct ethos_error *error);

/*
 * Records the place in its workspace.json, with token, alias and marker as needed; nothing if it is
 * recorded already with today's date. Called with a write to the scope. A marker that cannot be
 * written is not an error.
 */
int workspace_record(int dir, const struct workspace_place *place,
                     const struct workspace_found *found, bool marker, int64_t now_ms,
                     struct ethos_error *error);

/* What a turn knows about its workspace. */
struct workspace {
    struct workspace_place place;
    struct workspace_found found;
    bool marker; /* workspace.marker */
    bool recorded;
    struct ethos_error problem; /* code: why its memory is unknown; then nothing is found */
};

/* ---- for people: ethos workspaces ----------------------------------------------------------- */

/*
 * Every workspace of the home, by id: {id, scope, paths: [{path, exists, lastSeen}], notes, bytes};
 * one whose workspace.json cannot be read has a member problem.
 */
int workspace_list(int dir, json_t **out_rows, struct ethos_error *error);

/* ETHOS_NOTFOUND, with a hint at a similar one, if the workspace does not exist. */
int workspace_known(int dir, const char *id, struct ethos_error *error);

/* The same row for one. ETHOS_NOTFOUND as above. */
int workspace_show(int dir, const char *id, json_t **out_row, struct ethos_error *error);

/*
 * Binds the memory `id` to the place, which must have none of its own (ETHOS_EXISTS) unless
 * replace; that one is kept, unbound. check: only whether that is possible.
 */
int workspace_adopt(int dir, const struct workspace_place *place, const char *id, bool replace,
                    bool check, bool marker, int64_t now_ms, struct ethos_error *error);

/*
 * Removes what binds folders to a memory (paths, aliases, marker); with memory also its files and
 * records.
 */
int workspace_forget(int dir, const char *id, bool memory, struct ethos_error *error);

/*
 * Reports aliases.json and every workspace.json that cannot be read; fix: a damaged one is renamed,
 * unchanged; only finding folders other than by path is lost.
 */
int workspace_check(int dir, bool fix, int64_t now_ms, ethos_finding_fn *each, void *arg,
                    struct ethos_error *error);

#endif
