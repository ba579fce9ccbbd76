/*
 * foreign_parts.h: what the readers of other programs' files share. Private to core/foreign*.
 */
#ifndef ETHOS_CORE_FOREIGN_PARTS_H
#define ETHOS_CORE_FOREIGN_PARTS_H

#include "base/view.h"
#include "core/foreign.h"

/* One file being read. */
struct reading {
    const char *path;
    struct ethos_view text;
    struct arena *arena;
    foreign_item_fn *each;
    foreign_skip_fn *skip;
    void *arg;
};

/* The number of '#' of a heading line, 0 for any other. */
unsigned markdown_heading(struct ethos_view line);

/* Sections as facts; paragraphs and list items as entries. */
int markdown_facts(const struct reading *reading);
int markdown_entries(const struct reading *reading, enum foreign_target target);

int graph_facts(const struct reading *reading);

#endif
