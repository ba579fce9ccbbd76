/*
 * test_conformance.c: the conformance suite over the stores of this project. A new store is a row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/temp.h"
#include "conformance.h"
#include "nested.h"
#include "store/group.h"
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
    {"ram", open_ram, NULL},
    {"files", open_files, reset_files},
    {"files, fast", open_fast_files, reset_files},
    {"trace of ram", open_traced_ram, NULL},
    {"trace of files", open_traced_files, reset_files},
    {"ram, in a tree", open_nested_ram, NULL},
    {"files, in a tree", open_nested_files, reset_files},
    {"fault of ram, without faults", open_faultless_ram, NULL},
    {"group of ram", open_grouped_ram, NULL},
    {"group of files", open_grouped_files, reset_files},
    {"ram without update", open_plain_ram, NULL},
    {"files without update", open_plain_files, reset_files},
};

int main(void)
{
    int failed = 0;
    if (group_new(&group, NULL) != ETHOS_OK)
        return 1;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        failed += conformance_run(&subjects[i]);
    group_free(group);
    return failed;
}
