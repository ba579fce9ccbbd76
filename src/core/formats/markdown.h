/*
 * markdown.h: parses markdown into nodes, from which a web page can be built without HTML.
 *
 * A node is a string, or an object: "t" its tag, "c" its children, and by tag
 *
 *     p h ul ol li code quote hr table thead tbody tr th td    "line": where it begins, from 1
 *     h "level" 1 to 6 · ol "start" · li "checked" true or false, of a task · code "lang"
 *     th, td "align" left, center or right
 *     em strong del code-span br
 *     a "href", "title"; of a link [[to a note]] instead "note"
 *     img "href", with its description as the child; images are not loaded
 *     front: the frontmatter, which is not markdown, as text
 *     hidden: invisible characters, or characters that reorder their surroundings, by number
 *
 * Raw HTML is text. Links that are not http, https, mailto or relative, or that contain hidden characters, have no href.
 * In titles, and where a node is not allowed, hidden characters are text. Blocks without text (a rule, an empty item)
 * have the nearest known line.
 *
 * md4c parses the text. It is quadratic in the worst case, so texts that would take long are refused beforehand.
 */
#ifndef ETHOS_CORE_FORMATS_MARKDOWN_H
#define ETHOS_CORE_FORMATS_MARKDOWN_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/json.h"

#define MARKDOWN_DEPTH 24     /* nested nodes; of deeper ones only the text is used */
#define MARKDOWN_NODES 100000 /* of a document */
#define MARKDOWN_MARKS 64     /* lists and quotes that one line may open */
#define MARKDOWN_COPY 4194304 /* bytes of links and titles: one definition can be used often */
#define MARKDOWN_WORK                                                                              \
    64000000 /* of a paragraph: its bytes times its brackets, colons and the like */

/*
 * Parses a text into an array of nodes. ETHOS_LIMIT for more than ETHOS_MAX_FILE_CH, and beyond the limits above.
 */
int markdown_nodes(struct ethos_view text, json_t **out_nodes, struct ethos_error *error);

/* Whether a link is allowed: http, https, mailto, or relative without a host; no hidden characters. */
bool markdown_url_ok(struct ethos_view url);

#endif
