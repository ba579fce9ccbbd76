/*
 * cluster.h: grapheme clusters as a terminal shows them, and their width in columns.
 *
 * Terminals agree on most widths: the sum of wcwidth over a cluster. They differ on emoji, so a
 * program tests its terminal (chat/probe.h) and sets the result here.
 */
#ifndef ETHOS_BASE_TEXT_CLUSTER_H
#define ETHOS_BASE_TEXT_CLUSTER_H

#include <locale.h>
#include <stdbool.h>

#include <ethos/types.h>

struct cluster_widths {
    locale_t locale;    /* with wcwidth for Unicode; 0: use only the tables of utf8proc */
    bool emoji_is_two;  /* a character followed by VARIATION SELECTOR-16 is two columns wide */
    bool tone_is_none;  /* a skin tone adds no columns */
    bool joined_is_two; /* characters joined by ZERO WIDTH JOINER are two columns wide together */
};

/* A terminal that follows Unicode. Always release it. */
void cluster_widths_init(struct cluster_widths *self);
void cluster_widths_release(struct cluster_widths *self);

/* The end of the cluster that begins at `at` (before the end of text). */
size_t cluster_end(struct ethos_view text, size_t at);

/* Columns of one cluster, or of any text. */
int cluster_width(const struct cluster_widths *self, struct ethos_view cluster);
int cluster_text_width(const struct cluster_widths *self, struct ethos_view text);

#endif
