/*
 * markdown.h: a text as nodes that a page can be built of, without a renderer's HTML in between.
 *
 * A node is a string, or an object: "t" its tag, "c" its children, and by tag
 *
 *     p h ul ol li code quote hr table thead tbody tr th td    "line": where it begins, from 1
 *     h "level" 1 to 6 · ol "start" · li "checked" true or false, of a task · code "lang"
 *     th, td "align" left, center or right
 *     em strong del code-span br
 *     a "href", "title"; of a link [[to a note]] instead "note"
 *     img "href", its description as the child; nobody is asked to load it
 *     front: the frontmatter, which is no markdown, as text
 *     hidden: characters that nobody would see, or that reorder what stands around them, by their numbers
 *
 * Raw HTML is text. A link that is not http, https, mailto or relative has no href, nor has one with
 * hidden characters; in titles, and where no node may stand, those are text. Blocks without text of
 * their own (a rule, an empty item) have the nearest line that can be told.
 *
 * md4c parses. It is quadratic in the worst case, so what would take long is refused beforehand.
 */
#ifndef ETHOS_CORE_FORMATS_MARKDOWN_H
#define ETHOS_CORE_FORMATS_MARKDOWN_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/json.h"

#define MARKDOWN_DEPTH 24     /* nodes inside each other; deeper ones give their text only */
#define MARKDOWN_NODES 100000 /* of a document */
#define MARKDOWN_MARKS 64     /* lists and quotes that one line may open */
#define MARKDOWN_COPY 4194304 /* bytes of links and titles: one definition may serve many */
#define MARKDOWN_WORK                                                                              \
    64000000 /* of a paragraph: its bytes times its brackets, colons and the like */

/*
 * An array of nodes. ETHOS_LIMIT for more than ETHOS_MAX_FILE_CH, and for what is beyond the limits
 * above.
 */
int markdown_nodes(struct ethos_view text, json_t **out_nodes, struct ethos_error *error);

/* Whether a link may lead there: http, https, mailto, or relative without a host; nothing hidden. */
bool markdown_url_ok(struct ethos_view url);

#endif
