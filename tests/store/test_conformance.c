/*
 * test_conformance.c: the conformance suite over the stores of this project. A new store is a row.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../support/alloc.h"
#include "../support/temp.h"
#include "conformance.h"
#include "nested.h"
#include "rows_ram.h"
#include "store/group_commit.h"
#include "store/store.h"

static int open_ram(const struct ethos_host *host, struct ethos_store **out_store,
                    struct ethos_error *error)
{
    const struct ethos_setup setup = {.host = host};
    return store_ram.open(&setup, out_store, error);
}

/* ---- files ---------------------------------------------------------------------------------- */

static struct temp temp;
static bool temp_exists;

static void reset_files(void)
{
    if (temp_exists)
        temp_remove(&temp);
    temp_exists = false;
}

static int open_files_with(uint32_t flags, const struct ethos_host *host,
                           struct ethos_store **out_store, struct ethos_error *error)
{
    char root[sizeof temp.path + 8];
    const struct ethos_setup setup = {
        .host = host, .root = root, .flags = flags, .deadline_ms = 1000};
    if (!temp_exists)
        temp_make(&temp);
    temp_exists = true;
    snprintf(root, sizeof root, "%s/home", temp.path);
    return store_files.open(&setup, out_store, error);
}

static int open_files(const struct ethos_host *host, struct ethos_store **out_store,
                      struct ethos_error *error)
{
    return open_files_with(0, host, out_store, error);
}

static int open_fast_files(const struct ethos_host *host, struct ethos_store **out_store,
                           struct ethos_error *error)
{
    return open_files_with(ETHOS_SETUP_FAST, host, out_store, error);
}

/* ---- decorators ----------------------------------------------------------------------------- */

static int open_traced_ram(const struct ethos_host *host, struct ethos_store **out_store,
                           struct ethos_error *error)
{
    struct ethos_store *inner;
    int code = open_ram(host, &inner, error);
    return code ? code : store_trace_new(host, inner, out_store, error);
}

static int open_traced_files(const struct ethos_host *host, struct ethos_store **out_store,
                             struct ethos_error *error)
{
    struct ethos_store *inner;
    int code = open_files(host, &inner, error);
    return code ? code : store_trace_new(host, inner, out_store, error);
}

static int no_fault(void *arg, const char *call, unsigned long number)
{
    (void)arg, (void)call, (void)number;
    return ETHOS_OK;
}

static int open_faultless_ram(const struct ethos_host *host, struct ethos_store **out_store,
                              struct ethos_error *error)
{
    struct ethos_store *inner;
    int code = open_ram(host, &inner, error);
    return code ? code : store_fault_new(host, inner, no_fault, NULL, out_store, error);
}

/* One group for all; it waits for nobody while there is one thread. */
static struct group *group;

static int open_grouped_ram(const struct ethos_host *host, struct ethos_store **out_store,
                            struct ethos_error *error)
{
    struct ethos_store *inner;
    int code = open_ram(host, &inner, error);
    return code ? code : store_group_new(host, inner, group, "ram", 1000, out_store, error);
}

static int open_grouped_files(const struct ethos_host *host, struct ethos_store **out_store,
                              struct ethos_error *error)
{
    struct ethos_store *inner;
    int code = open_files(host, &inner, error);
    return code ? code : store_group_new(host, inner, group, "files", 1000, out_store, error);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Two stores see the same database, as two machines do. */
static struct rows_ram *database;

static void reset_rows(void)
{
    rows_ram_free(database);
    database = NULL;
}

static int open_rows(const struct ethos_host *host, struct ethos_store **out_store,
                     struct ethos_error *error)
{
    if (!database)
        database = rows_ram_new(host);
    struct ethos_store *inner = database ? rows_ram_open(database) : NULL;
    return inner ? store_rows_new(host, inner, 1000, out_store, error) : ETHOS_NOMEM;
}

static int open_grouped_rows(const struct ethos_host *host, struct ethos_store **out_store,
                             struct ethos_error *error)
{
    struct ethos_store *inner;
    int code = open_rows(host, &inner, error);
    return code ? code : store_group_new(host, inner, group, "rows", 1000, out_store, error);
}

/* ---- in a tree ------------------------------------------------------------------------------ */

static int open_nested_ram(const struct ethos_host *host, struct ethos_store **out_store,
                           struct ethos_error *error)
{
    struct ethos_store *inner;
    int code = open_ram(host, &inner, error);
    return code ? code : nested_new(host, inner, out_store, error);
}

static int open_nested_files(const struct ethos_host *host, struct ethos_store **out_store,
                             struct ethos_error *error)
{
    struct ethos_store *inner;
    int code = open_files(host, &inner, error);
    return code ? code : nested_new(host, inner, out_store, error);
}

static int open_nested_rows(const struct ethos_host *host, struct ethos_store **out_store,
                            struct ethos_error *error)
{
    struct ethos_store *inner;
    int code = open_rows(host, &inner, error);
    return code ? code : nested_new(host, inner, out_store, error);
}

/* ---- without update: store_update's own loop ------------------------------------------------ */

static int open_plain(int code, const struct ethos_store_ops *ops, struct ethos_store_ops *out_ops,
                      struct ethos_store **out_store)
{
    if (code != ETHOS_OK)
        return code;
    *out_ops = *ops;
    out_ops->update = NULL;
    out_ops->batch = NULL;
    (*out_store)->ops = out_ops;
    (*out_store)->capabilities &= ~(uint32_t)ETHOS_STORE_ONCE;
    return ETHOS_OK;
}

static int open_plain_ram(const struct ethos_host *host, struct ethos_store **out_store,
                          struct ethos_error *error)
{
    static struct ethos_store_ops ops;
    return open_plain(open_ram(host, out_store, error), &store_ram, &ops, out_store);
}

static int open_plain_files(const struct ethos_host *host, struct ethos_store **out_store,
                            struct ethos_error *error)
{
    static struct ethos_store_ops ops;
    return open_plain(open_files(host, out_store, error), &store_files, &ops, out_store);
}

static const struct conformance_subject subjects[] = {
    {.name = "ram", .open = open_ram},
    {.name = "files", .open = open_files, .reset = reset_files},
    {.name = "files, fast", .open = open_fast_files, .reset = reset_files},
    {.name = "trace of ram", .open = open_traced_ram},
    {.name = "trace of files", .open = open_traced_files, .reset = reset_files},
    {.name = "ram, in a tree", .open = open_nested_ram},
    {.name = "files, in a tree", .open = open_nested_files, .reset = reset_files},
    {.name = "fault of ram, without faults", .open = open_faultless_ram},
    {.name = "group of ram", .open = open_grouped_ram},
    {.name = "group of files", .open = open_grouped_files, .reset = reset_files},
    {.name = "rows of ram", .open = open_rows, .reset = reset_rows, .in_process = true},
    {.name = "rows of ram, in a tree",
     .open = open_nested_rows,
     .reset = reset_rows,
     .in_process = true},
    {.name = "group of rows of ram",
     .open = open_grouped_rows,
     .reset = reset_rows,
     .in_process = true},
    {.name = "ram without update", .open = open_plain_ram},
    {.name = "files without update", .open = open_plain_files, .reset = reset_files},
};

/* Every allocation of ours fails once, not only those that go through the host. */
static const struct conformance_memory memory = {alloc_fail_at, alloc_count};

int main(void)
{
    int failed = 0;
    if (group_new(&group, NULL) != ETHOS_OK)
        return 1;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        struct conformance_subject subject = subjects[i];
        subject.memory = &memory;
        failed += conformance_run(&subject);
    }
    group_free(group);
    return failed;
}
