/*
 * folder_binding.h: steps of binding folders to a memory. Private to memory/workspace/.
 *
 *     lock; workspace_tie_init(); today, marker, moved; workspace_tie_load(); workspace_tie_root();
 *     workspace_tie_release(); unlock
 */
#ifndef ETHOS_MEMORY_WORKSPACE_FOLDER_BINDING_H
#define ETHOS_MEMORY_WORKSPACE_FOLDER_BINDING_H

#include "base/clock.h"
#include "memory/workspace/files.h"
#include "memory/workspace/workspace.h"

struct workspace_tie {
    int dir;
    const char *id;
    const char *root, *common; /* of the folder */
    struct os_identity self;
    char today[CLOCK_ISO_SIZE];
    bool marker; /* write a marker */
    bool
        moved; /* found by its marker: if its path is new, recorded paths that are gone were its own */
    bool deleted; /* the memory is deleted */
    json_t *doc;  /* NULL: none yet */
    json_t *aliases;
    bool aliases_changed;
    json_t *was; /* directories at the paths it left, before this folder; NULL: it left none */
};

int workspace_tie_init(struct workspace_tie *tie, int dir, const struct workspace_place *place,
                       const char *id, struct ethos_error *error);

/* Reads document and aliases. Release in any case. */
int workspace_tie_load(struct workspace_tie *tie, struct ethos_error *error);
void workspace_tie_release(struct workspace_tie *tie);

/* Binds the folder to this memory, and writes everything. */
int workspace_tie_root(struct workspace_tie *tie, struct ethos_error *error);

/*
 * Adds an alias: a directory at this path finds another memory from now on. Nothing if the path
 * leads elsewhere already.
 */
int workspace_leave(struct workspace_tie *tie, const char *path, struct ethos_error *error);

/* Removes the folder from the list of another memory. */
int workspace_untie_root(const struct workspace_tie *tie, const char *id,
                         struct ethos_error *error);

int workspace_aliases_save(struct workspace_tie *tie, struct ethos_error *error);

#endif
