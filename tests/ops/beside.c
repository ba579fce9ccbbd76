/*
 * beside.c: the files store as a module, in a folder of its own: a backend that memory can be moved to where there
 * is no server.
 */
#include <string.h>

#include "base/err.h"
#include "store/store.h"

static const struct ethos_option options[] = {
    {"folder", ETHOS_OPTION_STRING, NULL, "where the files are"},
    {NULL, ETHOS_OPTION_STRING, NULL, NULL},
};

static int beside_open(const struct ethos_setup *setup, struct ethos_store **out_store,
                       struct ethos_error *error)
{
    struct ethos_setup own = *setup;
    own.root = NULL;
    for (size_t i = 0; i < setup->setting_count; i++) {
        if (strcmp(setup->settings[i].name, "folder") == 0)
            own.root = setup->settings[i].value;
    }
    return own.root ? store_files.open(&own, out_store, error)
                    : err_set(error, ETHOS_INVALID, "beside: no folder");
}

/* The table of files, but for where they are. */
static struct ethos_store_ops table;

__attribute__((constructor)) static void make_table(void)
{
    table = store_files;
    table.name = "beside";
    table.options = options;
    table.open = beside_open;
}

const struct ethos_module ethos_module = {.abi = ETHOS_ABI, .name = "beside", .store = &table};
