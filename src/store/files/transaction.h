/*
 * transaction.h: one recorded transaction, and how recovery resolves it. Private to recovery:
 *
 *   transaction.c    its lines, the state of its keys, finishing it or taking it back
 *   recover.c        finds the transactions that need it
 */
#ifndef ETHOS_STORE_FILES_TRANSACTION_H
#define ETHOS_STORE_FILES_TRANSACTION_H

#include "store/files/internal.h"

enum txn_state { PUBLISHED, UNPUBLISHED, DISPLACED, TWO_SAVES };

/* One key of a transaction. */
struct txn_key {
    struct files_location location;
    struct history_record opening, first, last; /* lines: the first, the first of ours, the last */
    struct ethos_text file, temp;               /* temp: .new, else .draft; data NULL: none */
    struct stat seen;                           /* of file */
    bool has_new, has_draft, has_gone;
    bool twin;               /* file and .new are two names of one file, which was new */
    bool blocked;            /* something is in its directory's place */
    bool odd_file, odd_temp; /* something that is not a text is in its place */
    enum txn_state state;
};

struct txn {
    char id[FILES_TXN_SIZE];
    struct history_record *lines;
    size_t line_count;
    struct txn_key *parts;
    size_t count;
    uint64_t first_seq, last_seq;
    bool over; /* taken back, or followed by other changes: nothing left to do */
};

struct recovery {
    struct files *self;
    struct files_lock *lock;
    struct files_journal *journal;
    const char *scope;
    const struct files_location *locations; /* of the caller, whose locks are held */
    size_t location_count;
    const char *unwanted; /* a transaction to take back in any case, or "" */
    struct arena arena;
    struct str whole; /* every history line, once it was needed */
};

/* Loads the lines of the transaction txn->id; count is 0 when there are none. */
int txn_load(struct recovery *r, struct txn *txn, struct ethos_error *error);

/* Finishes it when every key is published, else takes it back; removes its temporaries. */
int txn_resolve(struct recovery *r, struct txn *txn, struct ethos_error *error);

/* Locates a key; the caller's locks count as taken. */
int txn_locate_key(const struct recovery *r, const char *key, struct files_location *location,
                   struct ethos_error *error);

/* Whether the history of the key has this text, as a version or a blob. */
int txn_is_recorded_text(struct recovery *r, const char *key, const struct ethos_text *text,
                         bool *out_known, struct ethos_error *error);

#endif
