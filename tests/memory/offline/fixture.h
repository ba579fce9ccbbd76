/*
 * fixture.h: a backend that goes and comes, and what is in front of it: for tests of being out of reach.
 */
#ifndef TESTS_MEMORY_OFFLINE_FIXTURE_H
#define TESTS_MEMORY_OFFLINE_FIXTURE_H

#include "../../store/rows_ram.h"
#include "../world.h"
#include "memory/offline/offline.h"

#define SCOPE "personality:default"
#define PATH_SIZE 1024

extern struct rows_ram *db; /* the backend's rows, which stay */
extern struct backend backend;

int offline_set_up(void **state);
int offline_tear_down(void **state);
#define OFFLINE_TEST(function)                                                                     \
    cmocka_unit_test_setup_teardown(function, offline_set_up, offline_tear_down)

enum { CACHED = 1, QUEUE = 2 };

int open_front(struct world *world, unsigned how, uint32_t deadline_ms,
               struct ethos_provider **out);

/* Another process, as far as this one can tell. */
void begin(struct world *world, unsigned how);

/* What the backend answers from now on; 0: as it should. */
void go_down(int code);

int add(struct world *world, const char *text);
struct ethos_file *read_log(struct world *world);
void assert_log(struct world *world, const char *expected);

/* The one folder below <home>/offline, and below that; how many files are in it, and the first, in <temp>. */
const char *folder(struct world *world, const char *name);
int count_in(struct world *world, const char *name);
void first_in(struct world *world, const char *name, char out[PATH_SIZE]);

#endif
