/*
 * purged_lines.h: where lines stood that a purge took out of a text.
 *
 * A purge leaves nothing of what it took, so nobody can tell later whether a text holds it again. Where it stood can
 * be told: "3,17+1" says that lines went after the third line of the text that is left, and that one line stands in
 * the place of others after the seventeenth; "*" that there were too many places. An edit that puts lines there may
 * bring back what was forgotten; one that puts lines elsewhere does not.
 */
#ifndef ETHOS_CORE_HISTORY_PURGED_LINES_H
#define ETHOS_CORE_HISTORY_PURGED_LINES_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct forget;
struct verdict_case;

#define PLACES_MAX 64 /* places that are told */

/*
 * The places of a change by which lines that hold the text went, in the text that is left of `after` when those lines
 * are out of it, too; with the places that the change had before. Absent when there are none. ETHOS_OK or
 * ETHOS_NOMEM; what is returned is in the arena.
 */
int places_make(const struct forget *forget, struct ethos_view before, struct ethos_view after,
                struct ethos_view known, struct arena *arena, struct ethos_view *out);

/* A line that was there in any case. */
typedef bool places_line_fn(void *arg, struct ethos_view line);

/*
 * Whether an edit made outside put lines that were not known where a purge of the last days took some out, with no
 * other such edit between them. ETHOS_OK, ETHOS_NOMEM, or what facts->text returned but ETHOS_NOTFOUND.
 */
int places_returned(const struct verdict_case *facts, places_line_fn *known, void *arg, bool *out);

#endif
