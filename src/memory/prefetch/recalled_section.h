/*
 * recalled_section.h: the section "## Recalled" of a memory block: what memory holds about the question of a
 * turn, and the other sections do not show.
 *
 *     ## Recalled
 *
 *     [workspace:3f2a deploy.md:12, 2026-11-03]
 *     The staging server is rebuilt every night.
 *
 *     [session 1f0c2d3e, user, 2026-11-04]
 *     The staging server moved to Dublin.
 *
 * A passage is shown when it has enough of the question's weight (RECALLED_EVIDENCE): how well it ranks says
 * nothing, as some passage always ranks first. The section depends on texts and the question alone; a date is
 * one that the text states.
 */
#ifndef ETHOS_MEMORY_PREFETCH_RECALLED_SECTION_H
#define ETHOS_MEMORY_PREFETCH_RECALLED_SECTION_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/str.h"
#include "memory/prefetch/found_chunks.h"

#define RECALLED_PASSAGES 20  /* that are considered */
#define RECALLED_EVIDENCE 0.6 /* docs/internals/recall.md, "Whether anything answers" */

struct recalled_limits {
    uint64_t chars;              /* CH, heading and join included */
    uint64_t bytes;              /* the same; 0: any */
    bool quick;                  /* struct recall_ask */
    bool said;                   /* conversations of the project, too */
    unsigned chunks;             /* entries of memory in it, at most; the mode vector */
    struct found_chunks *placed; /* those stand in a section of their own instead; or NULL */
};

/*
 * Appends the section to the others, or nothing. What cannot be searched is logged and left out. found (NULL: nobody
 * asks) has a row for each passage. ETHOS_OK or ETHOS_NOMEM.
 */
struct recalled_found {
    struct ethos_found *rows;
    size_t count;
    uint64_t left_out; /* entries of memory */
};
int recalled_section_add(struct ethos_turn *turn, const struct recalled_limits *limits,
                         struct str *text, struct recalled_found *found, struct ethos_error *error);
void recalled_found_release(struct recalled_found *found);

#endif
