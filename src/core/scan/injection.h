/*
 * injection.h: whether a line of text gives a model orders.
 *
 * Points are given for concepts that stand near each other ("ignore", "previous", "instructions"), in the languages
 * of concepts.c, in the text as a reader takes it and in what is hidden in it: spaced letters, digits for letters,
 * markup between letters, encodings. This is a floor and no boundary: it finds what is blunt.
 */
#ifndef ETHOS_CORE_SCAN_INJECTION_H
#define ETHOS_CORE_SCAN_INJECTION_H

#include <stdbool.h>

#include <ethos/types.h>

#define INJECTION_HIDES 5 /* points: kept from prompts */
#define INJECTION_LINES 3 /* that may be taken together */

struct injection {
    unsigned points;
    uint32_t frames; /* what the points are for, a bit each */
    bool goes_on;    /* the lines behind it may make an order of it */
};

/* What a bit of frames stands for, for people: "override", "exfiltration". NULL beyond the last. */
const char *injection_frame_name(unsigned bit);

/* Whether a line has to be measured: most have nothing that gives points, and that is quickly known. */
bool injection_is_possible(struct ethos_view line);

/* The points of a text of one line, or of up to INJECTION_LINES of which each goes on with the one before. */
struct injection injection_measure(struct ethos_view text);

#endif
