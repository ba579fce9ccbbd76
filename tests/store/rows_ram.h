/*
 * rows_ram.h: the smallest database: four tables and a number for each scope, in memory.
 *
 * The reference of what fetch, commit, rows, copies and watch mean, and one that does what a test wants:
 * another writer comes in between, an answer is lost, a row rots, nobody answers for a while.
 */
#ifndef TESTS_STORE_ROWS_RAM_H
#define TESTS_STORE_ROWS_RAM_H

#include <stdbool.h>

#include <ethos/provider.h>

struct rows_ram;

/* An empty database; NULL without memory. */
struct rows_ram *rows_ram_new(const struct ethos_host *host);
void rows_ram_free(struct rows_ram *db);
void rows_ram_clear(struct rows_ram *db); /* forgets everything, and tells nobody */

/* A store over it, of which there may be several; closing it leaves the database. NULL without memory. */
struct ethos_store *rows_ram_open(struct rows_ram *db);

/* What happens to the calls to come, and what was asked so far. All zero: nothing. */
struct rows_ram_hooks {
    unsigned conflicts;            /* so many commits answer that the version moved */
    int fails;                     /* the next commit does nothing and answers this */
    int loses;                     /* the next commit happens and answers this */
    int then;                      /* and every call after it this */
    void (*between)(void *arg);    /* called once, after the next fetch; may use another store */
    void (*after_page)(void *arg); /* the same, after the next page of rows */
    void *arg;
    int down;  /* every call answers this */
    bool deaf; /* nobody is told of what changes, only afterwards that it may have */
    unsigned fetches, commits, forgets; /* counted; commits that want operations forgotten */
    unsigned pages, rows, watches;      /* of rows, and those in them; the same */
};
struct rows_ram_hooks *rows_ram_hooks(struct rows_ram *db);

/* What a scope has: its version, how many operations it knows. */
uint64_t rows_ram_version(struct rows_ram *db, const char *scope);
size_t rows_ram_operations(const struct rows_ram *db, const char *scope);

/* The row of a number, to be damaged; NULL when there is none. What it points at is the database's. */
struct ethos_row *rows_ram_row(struct rows_ram *db, const char *scope, uint64_t number);

/* Whether some bytes occur anywhere in what is kept. */
bool rows_ram_holds(const struct rows_ram *db, struct ethos_view needle);

#endif
