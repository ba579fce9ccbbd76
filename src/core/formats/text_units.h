/*
 * text_units.h: the parts of a markdown text that are found by themselves.
 *
 * A unit is a paragraph, a list item with what is indented below it, or a block of code. Units stand in
 * sections: the text before the first heading, then one for each heading. Reading never fails; what a reader
 * of markdown would see otherwise (an underlined heading, a quotation) is a paragraph.
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
    bool section; /* a section begins; text is its headings from the top, "" without one */
    struct ethos_view text;
    size_t offset; /* in the whole text; of a section, of its heading */
    struct text_date date;
    const struct ethos_view *headings; /* that are open, by level from 1; absent or blank: none */
};

/* Return 0 to go on; any other value is returned by the walk. */
typedef int text_unit_fn(void *arg, const struct text_unit *unit);

/*
 * In order, the first one a section, and no section without a unit. `above` stands over all headings; `date` is
 * that of what states none: neither the text itself nor a heading above it. ETHOS_OK, ETHOS_NOMEM, or what each
 * returned.
 */
int text_units_each(struct ethos_view text, struct ethos_view above, struct text_date date,
                    text_unit_fn *each, void *arg);

/* The first date of the form YYYY-MM-DD in a text. */
bool text_date_find(struct ethos_view text, struct text_date *out);

#endif
