/*
 * mixed.c: a module whose table was compiled against another version than itself.
 */
#include <ethos/provider.h>

static const struct ethos_store_ops ops = {.abi = ETHOS_ABI + 7, .name = "mixed"};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "mixed",
    .store = &ops,
};
