/*
 * cluster.h: what a terminal shows as one character, and how many columns it takes there.
 *
 * Terminals agree on most widths: the sum of wcwidth over a cluster. On emoji they do not, so a program asks its
 * terminal (chat/probe.h) and says here what it found.
 */
#ifndef ETHOS_BASE_TEXT_CLUSTER_H
#define ETHOS_BASE_TEXT_CLUSTER_H

#include <locale.h>
#include <stdbool.h>

#include <ethos/types.h>

struct cluster_widths {
    locale_t locale;   /* where wcwidth knows Unicode; 0: the tables of utf8proc alone */
    bool emoji_is_two; /* a character that VARIATION SELECTOR-16 makes an emoji takes two columns */
    bool tone_is_none; /* a skin tone takes no columns of its own */
    bool joined_is_two; /* characters that ZERO WIDTH JOINER joins take two columns together */
};

/* A terminal that does as Unicode says. Release in any case. */
void cluster_widths_init(struct cluster_widths *self);
void cluster_widths_release(struct cluster_widths *self);

/* Where the cluster that begins at `at` (before the end) ends. */
size_t cluster_end(struct ethos_view text, size_t at);

/* Columns of one cluster, or of any text. */
int cluster_width(const struct cluster_widths *self, struct ethos_view cluster);
int cluster_text_width(const struct cluster_widths *self, struct ethos_view text);

#endif
