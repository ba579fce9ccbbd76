/*
 * old.c: a module of another version: only the number at the start of its tables may be looked at.
 */
#include <ethos/provider.h>

static const struct ethos_provider_ops ops = {.abi = ETHOS_ABI, .name = "old"};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI + 1,
    .name = "old",
    .provider = &ops,
};
