/*
 * note.h: a note file: optional frontmatter, then the body.
 *
 * Reading borrows slices and never fails: a file without frontmatter, or with one that does not
 * close, is all body. Known members may stand at the top level or under `metadata:`. Nothing here
 * rewrites a note; edits are by line and keep every other byte.
 */
#ifndef ETHOS_CORE_NOTE_H
#define ETHOS_CORE_NOTE_H

#include <stdbool.h>

#include <ethos/types.h>

struct note {
    bool has_frontmatter;
    struct ethos_view frontmatter; /* the lines between the fences */
    struct ethos_view body;        /* after the closing fence and one blank line */
    struct ethos_view name, description, type, title, created, verified, source, expires,
        supersedes, check; /* unquoted where the quotes are plain; absent view when missing */
};

void note_parse(struct ethos_view text, struct note *out);

#endif
