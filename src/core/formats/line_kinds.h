/*
 * line_kinds.h: what a line of markdown begins, outside blocks of code.
 */
#ifndef ETHOS_CORE_FORMATS_LINE_KINDS_H
#define ETHOS_CORE_FORMATS_LINE_KINDS_H

#include <stdbool.h>

#include <ethos/types.h>

#define MARKDOWN_LEVELS 6 /* of headings */

/* The level of a heading: one to six '#', then a blank or nothing. 0: it is none. */
unsigned markdown_heading(struct ethos_view line);

/* The text of a heading line; a closing row of '#' is no part of it. */
struct ethos_view markdown_heading_text(struct ethos_view line);

/* Whether a list item begins at the margin. */
bool markdown_is_item(struct ethos_view line);

bool markdown_is_indented(struct ethos_view line);

#endif
