/*
 * merge_base.h: finds the recorded version that an externally saved text started from.
 *
 * It is the version with the fewest changed lines: a replaced line is one change, and so is one
 * that was only added or only removed. Blank lines, white space at line ends and order do not
 * count. The search goes back from the last version and follows the diffs of the history, so its
 * cost depends on the diffs, not on versions times text.
 */
#ifndef ETHOS_CORE_HISTORY_MERGE_BASE_H
#define ETHOS_CORE_HISTORY_MERGE_BASE_H

#include "core/history/history.h"

#define MERGE_BASE_VERSIONS 1000  /* versions that are searched */
#define MERGE_BASE_MS 604800000   /* and only those that were replaced in the last 7 days */
#define MERGE_BASE_BYTES 67108864 /* of texts read whole because a diff was cut: 64 MiB */
#define MERGE_BASES 32            /* equally near versions that are distinguished */

/*
 * Writes the text before or after a record to out. ETHOS_NOTFOUND if it cannot be rebuilt; any
 * other error ends the search.
 */
typedef int merge_base_text_fn(void *arg, size_t index, bool before, struct str *out);

struct merge_base_case {
    const struct history *history; /* of one key, at least one record */
    struct ethos_view last;        /* the text after its last record */
    struct ethos_view now;         /* the text that was saved */
    int64_t now_ms;
    merge_base_text_fn *text;
    void *arg;
};

/* Lines that only the saved text has, and lines that only a version has. */
struct merge_distance {
    uint64_t came, went;
};

struct merge_bases {
    struct merge_distance last_distance; /* between last and now */
    struct merge_distance distance;      /* of the nearest older versions */
    size_t
        index[MERGE_BASES]; /* each is the text before this record; newest first, all different */
    size_t count;
    bool more; /* there are more equally near versions */
};

/*
 * Index of the first record to consider. Records are in order no matter what the clock said: those
 * after one of the last 7 days count as equally recent.
 */
size_t merge_base_first(const struct history *history, int64_t now_ms);

/* Changed lines. */
uint64_t merge_distance_lines(struct merge_distance distance);

/* Finds the older versions nearest to now. ETHOS_OK, ETHOS_NOMEM, or what text returned. */
int merge_base_find(const struct merge_base_case *facts, struct merge_bases *out);

#endif
