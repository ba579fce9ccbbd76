/*
 * archive_blocks.h: the blocks of memory-archive.md.
 *
 *     <!-- archived <ISO> slug=<slug> from=<key> -->     a section that was archived by name
 *     <!-- overflow-archived <ISO> from <key> -->        what a full file dropped (update_archive)
 *
 * A block ends at the next marker of either kind or at the end of the text. Text before the first
 * marker belongs to no block.
 */
#ifndef ETHOS_CORE_MEMORY_ARCHIVE_BLOCKS_H
#define ETHOS_CORE_MEMORY_ARCHIVE_BLOCKS_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

struct archive_block {
    bool overflow;
    struct ethos_view iso, slug, from; /* slug absent for overflow */
    struct ethos_view whole;           /* marker included */
    struct ethos_view body;            /* after the marker line and the "### slug" line */
};

/* Reads the next block and advances *rest; false at the end. */
bool archive_next(struct ethos_view *rest, struct archive_block *out);

/*
 * Removes the newest block with this slug. out_rest is the archive without it, otherwise unchanged;
 * out_body is its body without a leading "> Superseded by" or "> Retracted" note and the blank line
 * after it. ETHOS_NOTFOUND, ETHOS_NOMEM.
 */
int archive_restore(struct ethos_view archive, const char *slug, struct str *out_rest,
                    struct str *out_body);

#endif
