/*
 * text_units.h: splits a markdown text into units, which search finds separately.
 *
 * A unit is a paragraph, a list item with the lines indented below it, or a code block. Units are in sections: the text
 * before the first heading, then one for each heading. Any text can be read; other markdown (an underlined heading, a
 * quotation) is a paragraph.
 */
#ifndef ETHOS_CORE_FORMATS_TEXT_UNITS_H
#define ETHOS_CORE_FORMATS_TEXT_UNITS_H

#include <stdbool.h>

#include <ethos/types.h>

/* year 0: none. */
struct text_date {
    unsigned year, month, day;
};

struct text_unit {
    bool section; /* a section begins; text has its headings from the top, or is "" */
    struct ethos_view text;
    size_t offset; /* in the whole text; of a section, of its heading */
    struct text_date date;
    const struct ethos_view
        *headings; /* the current ones, by level from 1; absent or blank: none */
};

/* Return 0 to go on; any other value is returned by the walk. */
typedef int text_unit_fn(void *arg, const struct text_unit *unit);

/*
 * Reports sections and units in order, beginning with a section; sections without units are omitted. `above` is a heading
 * above all others; `date` is used if neither a unit nor a heading above it has a date. ETHOS_OK, ETHOS_NOMEM, or the
 * value of `each`.
 */
int text_units_each(struct ethos_view text, struct ethos_view above, struct text_date date,
                    text_unit_fn *each, void *arg);

/* Finds the first date of the form YYYY-MM-DD in a text. */
bool text_date_find(struct ethos_view text, struct text_date *out);

#endif
