/*
 * purged_lines.h: where a purge removed lines of a text.
 *
 * A purge leaves nothing of the removed text, so nobody can check later whether a text contains it
 * again. But the places can be recorded: "3,17+1" means that lines were removed after the third
 * line of the remaining text, and that one line replaces others after the seventeenth; "*" means
 * that there were too many places. An external edit that adds lines at such a place may bring back
 * what was forgotten; one that adds lines elsewhere does not.
 */
#ifndef ETHOS_CORE_HISTORY_PURGED_LINES_H
#define ETHOS_CORE_HISTORY_PURGED_LINES_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct forget;
struct verdict_case;

#define PLACES_MAX 64 /* places that are recorded */

/*
 * The places where a change removed lines with the text, counted in what remains of `after` once
 * those lines are removed from it too, together with the places that the change recorded before.
 * Absent if there are none. ETHOS_OK or ETHOS_NOMEM; the result is in the arena.
 */
int places_make(const struct forget *forget, struct ethos_view before, struct ethos_view after,
                struct ethos_view known, struct arena *arena, struct ethos_view *out);

/* A line that existed anyway. */
typedef bool places_line_fn(void *arg, struct ethos_view line);

/*
 * Whether an external edit added unknown lines where a purge of the last days removed some, with no
 * other such edit in between. ETHOS_OK, ETHOS_NOMEM, or what facts->text returned, except
 * ETHOS_NOTFOUND.
 */
int places_returned(const struct verdict_case *facts, places_line_fn *known, void *arg, bool *out);

#endif
