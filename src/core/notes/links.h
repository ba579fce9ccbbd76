/*
 * links.h: what leads from one note to another: [[name]], [[name|text]], [[name#part]] and
 * [text](name.md).
 */
#ifndef ETHOS_CORE_NOTES_LINKS_H
#define ETHOS_CORE_NOTES_LINKS_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

/* Whether a text links to the note of this name (without .md). */
bool link_to(struct ethos_view text, struct ethos_view name);

/*
 * Takes the text up to its next link off; *out_name is what it names, without .md. False: there is none.
 * A name has no brackets, slashes or line ends.
 */
bool link_next(struct ethos_view *text, struct ethos_view *out_name);

/* Makes out the text with those links leading to another note. Returns str_code. */
int link_move(struct ethos_view text, struct ethos_view name, struct ethos_view new_name,
              struct str *out);

#endif
