/*
 * ledger.h: the strict reader of a directory's history, written from the documents and sharing no
 * code with src/: own parsing, own CRC, own patches.
 *
 * It finds every deviation: a line that does not parse, members out of order, an unknown source, a
 * seq that does not grow, a time that goes back, a wrong crc or size, an append with lines missing,
 * a chain of hashes that breaks, a version that cannot be rebuilt, a file that is not the last
 * version, a file left in .mem/tmp.
 */
#ifndef TESTS_PROOF_SUPPORT_LEDGER_H
#define TESTS_PROOF_SUPPORT_LEDGER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LEDGER_PENDING = 1, /* the last writer may have been killed: torn tail, unknown file, drafts */
    LEDGER_QUIET = 2,   /* count errors, do not print them */
};

/* One line. Strings belong to json; those that are not there are NULL. */
struct version {
    json_t *json;
    const char *place; /* file name */
    unsigned line;
    const char *key, *actions, *source, *via, *event, *op_id, *txn;
    const char *before, *after; /* hashes */
    const char *blob, *before_blob, *after_blob;
    const char *diff;
    size_t diff_size;
    uint64_t seq, voids_first, voids_last;
    bool voided;
};

struct text {
    char *data; /* NULL: not known */
    size_t size;
    char hash[72];
};

struct ledger {
    char dir[2048];
    unsigned flags;
    struct version *versions; /* of all keys, in order of writing */
    size_t count, capacity;
    unsigned keys, voids, external, seen, events, rebuilt, errors;
};

/*
 * Called for every line in order with the texts before and after it; a seen line has the text it
 * keeps in `kept`. Texts are borrowed for the call.
 */
typedef void version_fn(void *arg, const struct version *version, const struct text *before,
                        const struct text *after, const struct text *kept);

/* Reads and judges the history of a scope directory; each may be NULL. Returns errors == 0. */
bool ledger_check(struct ledger *ledger, const char *dir, unsigned flags, version_fn *each,
                  void *arg);
void ledger_free(struct ledger *ledger);

/* Whether some line, voided or not, has this hash before or after it, or kept that text. */
bool ledger_knows(const struct ledger *ledger, const char *hash);

/* Applies a diff in one direction. False when it does not fit exactly. */
bool ledger_apply(const char *diff, size_t size, const struct text *from, bool reverse,
                  struct text *out);

void text_set(struct text *text, const char *data, size_t size); /* a copy; hash too */
void text_free(struct text *text);

#endif
