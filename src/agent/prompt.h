/*
 * prompt.h: the system prompt of a turn: stable parts first, so that the caches of models hold.
 */
#ifndef ETHOS_AGENT_PROMPT_H
#define ETHOS_AGENT_PROMPT_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/str.h"

#define PROMPT_PARTS 7
#define PROMPT_MAX_PART 1048576 /* bytes */

struct prompt_setup {
    struct ethos *ethos;
    struct ethos_turn *turn;
    const char *folder;      /* of the project; NULL: none */
    bool reads_files;        /* read_file is there */
    bool writes_memory;      /* memory_write is there */
    const char *number;      /* of the session's fences */
    bool no_memory;          /* the prompt has SOUL.md and the project, but nothing of memory */
    const char *not_applied; /* what became of updates of the turn before, or NULL */
};

struct prompt {
    struct str parts[PROMPT_PARTS];
    struct ethos_view views[PROMPT_PARTS]; /* those that are not empty */
    size_t count;
    struct ethos_block *block; /* of memory; NULL: there is none */
    bool foreign;              /* it has instructions that the owner has not accepted */
};

/* Release in any case. A part of memory that cannot be read leaves its error in block->error. */
int prompt_build(const struct prompt_setup *setup, struct prompt *out, struct ethos_error *error);
void prompt_release(struct prompt *self);

/* What a part is, for a person. */
const char *prompt_part_name(size_t part);

/* What the question of the turn found, which stands in its message; absent: nothing. */
struct ethos_view prompt_recalled(const struct prompt *self);

/* The revision of a file that the block showed whole; NULL: it did not. store NULL is memory. */
const char *prompt_shown_revision(const struct prompt *self, const struct ethos_context *context,
                                  const char *store, const char *key);

#endif
