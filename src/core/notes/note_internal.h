/*
 * note_internal.h: reads the head of a note line by line. Private to note.c and note_edit.c.
 */
#ifndef ETHOS_CORE_NOTES_NOTE_INTERNAL_H
#define ETHOS_CORE_NOTES_NOTE_INTERNAL_H

#include <stdbool.h>

#include <ethos/types.h>

#define NOTE_BOM VIEW("\xEF\xBB\xBF") /* may stand before the first fence */

/* One `name: value` line, at the top level or directly below metadata. */
struct note_field {
    struct ethos_view line; /* with its line end */
    struct ethos_view name;
    struct ethos_view
        value; /* as written, without a comment; directly after the colon when empty */
    size_t indent;
    bool readable; /* the whole value is on this line */
};

/* An iterator over the fields of a frontmatter; set rest, zero the others. */
struct note_fields {
    struct ethos_view rest;
    bool in_metadata;
    size_t inner; /* indentation of the members directly below metadata, once known */
};

bool note_next_field(struct note_fields *fields, struct note_field *out);

/* Reads the next line that is neither blank nor a comment and advances *rest. */
bool note_next_line(struct ethos_view *rest, struct ethos_view *out_line);

size_t note_indent(struct ethos_view line);
bool note_list_item(struct ethos_view line);

/* Whether a title need not be written because the file name (without .md) gives the same one. */
bool note_name_gives(struct ethos_view name, struct ethos_view title);

#endif
