/*
 * injection.h: whether a line of text gives orders to a model.
 *
 * Points are given for concepts that occur near each other ("ignore", "previous", "instructions"),
 * in the languages of concepts.c, in the text as a reader sees it and in text hidden in it: spaced
 * letters, digits for letters, markup between letters, encodings. It finds obvious cases, not all.
 */
#ifndef ETHOS_CORE_SCAN_INJECTION_H
#define ETHOS_CORE_SCAN_INJECTION_H

#include <stdbool.h>

#include <ethos/types.h>

#define INJECTION_HIDES 5 /* points from which a line is hidden */
#define INJECTION_LINES 3 /* lines that may be combined */

struct injection {
    unsigned points;
    uint32_t frames; /* the reasons for the points, one bit each */
    bool goes_on;    /* together with the following lines it may be an order */
};

/* The name of a bit of frames, for people: "override", "exfiltration". NULL after the last. */
const char *injection_frame_name(unsigned bit);

/* A quick check whether a line has to be measured; most lines have nothing that gives points. */
bool injection_is_possible(struct ethos_view line);

/* The points of one line, or of up to INJECTION_LINES lines that continue each other. */
struct injection injection_measure(struct ethos_view text);

#endif
