/*
 * memory_formats_internal.h: what the readers of other programs' files share. Private to core/formats/.
 */
#ifndef ETHOS_CORE_FORMATS_MEMORY_FORMATS_INTERNAL_H
#define ETHOS_CORE_FORMATS_MEMORY_FORMATS_INTERNAL_H

#include "base/view.h"
#include "core/formats/memory_formats.h"

/* One file being read. */
struct format_reading {
    const char *path;
    struct ethos_view text;
    struct arena *arena;
    foreign_item_fn *each;
    foreign_skip_fn *skip;
    void *arg;
};

/* Sections as facts; paragraphs and list items as entries. */
int markdown_facts(const struct format_reading *reading);
int markdown_entries(const struct format_reading *reading, enum foreign_target target);

int graph_facts(const struct format_reading *reading);

#endif
