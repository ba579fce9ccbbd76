/*
 * line_kinds.h: whether a line of markdown, outside of code blocks, is a heading or begins a list item.
 */
#ifndef ETHOS_CORE_FORMATS_LINE_KINDS_H
#define ETHOS_CORE_FORMATS_LINE_KINDS_H

#include <stdbool.h>

#include <ethos/types.h>

#define MARKDOWN_LEVELS 6 /* of headings */

/* The level of a heading: one to six '#', then a blank or nothing. 0 if it is not a heading. */
unsigned markdown_heading(struct ethos_view line);

/* The text of a heading line, without a closing row of '#'. */
struct ethos_view markdown_heading_text(struct ethos_view line);

/* Whether the line begins a list item without indentation. */
bool markdown_is_item(struct ethos_view line);

bool markdown_is_indented(struct ethos_view line);

#endif
