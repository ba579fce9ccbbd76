/*
 * probe.h: how wide the terminal shows emoji, asked of the terminal itself.
 *
 * The question is a few bytes, written before anything is shown; the replies arrive as keys. Pure.
 */
#ifndef ETHOS_CHAT_PROBE_H
#define ETHOS_CHAT_PROBE_H

#include "base/text/cluster.h"
#include "chat/terminal/keys.h"

#define PROBE_QUESTIONS 3
#define PROBE_MS 300 /* a terminal that does not answer by then does as Unicode says */

struct width_probe {
    int replies; /* so far */
    int columns[PROBE_QUESTIONS];
};

/* What is written; the cursor is at the beginning of an empty row, and there again afterwards. */
extern const char probe_question[];

/* True: the key was a reply, and this the last one, or none is expected any more. */
bool probe_key(struct width_probe *self, const struct key *key);

/* What the replies say, if all of them came. */
void probe_apply(const struct width_probe *self, struct cluster_widths *widths);

#endif
