/*
 * cleanse.h: what purging means for one text, the same in every store.
 */
#ifndef ETHOS_STORE_CLEANSE_H
#define ETHOS_STORE_CLEANSE_H

#include <ethos/types.h>

struct str;

/* ETHOS_INVALID when the needle is blank, or more than part of one line. */
int cleanse_check(struct ethos_view needle, struct ethos_error *error);

/*
 * The text without the lines that hold the needle, as `remove` leaves it, in out; one that does not
 * hold it is given as it is. *lines (may be NULL) counts them. ETHOS_OK or ETHOS_NOMEM.
 */
int cleanse_text(struct ethos_view needle, struct ethos_view text, struct str *out,
                 struct ethos_view *out_text, uint64_t *lines);

#endif
