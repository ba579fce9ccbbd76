/*
 * promote.h: turns a note that is generally useful into a skill.
 */
#ifndef ETHOS_MEMORY_NOTES_PROMOTE_H
#define ETHOS_MEMORY_NOTES_PROMOTE_H

#include <stdbool.h>

#include <ethos/ethos.h>

struct notes_promote {
    const char *scope; /* NULL: the workspace */
    const char *name;  /* of the note */
    const char *to;    /* folder of skills; NULL: .claude/skills of the workspace */
    const char *skill; /* its name; NULL: from the note */
    bool replace;      /* overwrite an existing skill */
};

/*
 * Writes <to>/<skill>/SKILL.md durably before the note becomes a pointer to it; a second run finds
 * it done. ETHOS_EXISTS if the file has another text. *out_path is that file; free with free().
 */
int notes_promote(struct ethos_turn *turn, const struct notes_promote *what,
                  const struct ethos_sync_how *how, char **out_path, struct ethos_error *error);

#endif
