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

/* Where a folder is; all that finding its memory needs to know about it. */
struct workspace_place {
    struct str root;     /* real path: the main work tree for a linked one */
    struct str common;   /* the git common directory, or empty */
    struct looks *looks; /* told what was looked at to know all this, and its memory; or NULL */
};

void workspace_place_init(struct workspace_place *place);
void workspace_place_release(struct workspace_place *place);

/* The folder that is given, as it is. */
int workspace_locate(const char *given, struct workspace_place *out, struct ethos_error *error);

/*
 * The project that a folder (NULL: the current directory) is in: its git top level; without git the
 * nearest folder from there up that has a memory, else the folder itself. The memory of the home
 * directory or of / is that of no folder below. ETHOS_NOTFOUND when the folder is gone.
 */
int workspace_around(int dir, const char *folder, struct workspace_place *out,
                     struct ethos_error *error);

/*
 * The folder of an absolute path, or the nearest above it when it is gone. False when that is the home directory or /,
 * whose memory is that of no folder below.
 */
bool workspace_nearest(const char *folder, char out[PATH_MAX]);

enum workspace_how {
    WORKSPACE_NEW,    /* none yet: the id it would get */
    WORKSPACE_PATH,   /* by its path */
    WORKSPACE_MARKER, /* by the marker in its git directory */
    WORKSPACE_ALIAS,
    WORKSPACE_MOVED, /* by the identity of the directory, whatever its path leads to */
    WORKSPACE_NAMED  /* by its id */
};

struct workspace_found {
    char scope[ETHOS_MAX_SCOPE]; /* "workspace:<id>" */
    enum workspace_how how;
};

/*
 * Appends the folders whose conversations are those of the place, as queries want them (ethos/session.h): it
 * and all below, when that is one project, and so for its work trees. Returns str_code.
 */
int workspace_folders(const struct workspace_place *place, const struct workspace_found *found,
                      struct str *out);

/* The id in the scope. */
const char *workspace_id(const struct workspace_found *found);

/*
 * The memory of a place: that of its marker; else the one that knows the directory; else that of its
 * alias or path. dir -1: no home yet. What cannot be read is an error: another memory instead of this
 * one would be worse; a marker that is not ours is no marker. Costs a few opens whatever the number
 * of workspaces.
 */
int workspace_find(int dir, const struct workspace_place *place, struct workspace_found *out,
                   struct ethos_error *error);

/* The id in "workspace:<id>", by which a request may name a memory instead of a folder; or NULL. */
const char *workspace_named(const char *given);

/*
 * The memory of an id, and the folder that has it, which is empty when none has any more.
 * ETHOS_NOTFOUND hints at a near one.
 */
int workspace_open(int dir, const char *id, struct workspace_place *out_place,
                   struct workspace_found *out, struct ethos_error *error);

/*
 * Records the place in its workspace.json, with token, alias and marker as needed; nothing when it
 * stands there already with the date of today. Called with a write to the scope. That the marker
 * cannot be written is no failure.
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
    struct ethos_error problem; /* code: why its memory cannot be told; then nothing is found */
};

/* ---- for people: ethos workspaces ----------------------------------------------------------- */

/*
 * Every workspace of the home, by id: {id, scope, paths: [{path, exists, lastSeen}], notes, bytes};
 * one whose workspace.json cannot be read has a member problem.
 */
int workspace_list(int dir, json_t **out_rows, struct ethos_error *error);

/* ETHOS_NOTFOUND, hinting at a near one, when there is no such workspace. */
int workspace_known(int dir, const char *id, struct ethos_error *error);

/* The same row of one. ETHOS_NOTFOUND as above. */
int workspace_show(int dir, const char *id, json_t **out_row, struct ethos_error *error);

/*
 * Makes the memory `id` that of the place, which must have none of its own (ETHOS_EXISTS) unless
 * replace; that one stays, untied. check: only whether it could.
 */
int workspace_adopt(int dir, const struct workspace_place *place, const char *id, bool replace,
                    bool check, bool marker, int64_t now_ms, struct ethos_error *error);

/*
 * Takes away what ties folders to a memory (paths, aliases, marker), or with memory also its files and
 * what the home recorded about them.
 */
int workspace_forget(int dir, const char *id, bool memory, struct ethos_error *error);

/*
 * Tells each of aliases.json and the workspace.json that cannot be read; fix: one that is damaged is
 * moved aside, every byte kept, which loses only how folders find their memory other than by path.
 */
int workspace_check(int dir, bool fix, int64_t now_ms, ethos_finding_fn *each, void *arg,
                    struct ethos_error *error);

#endif
