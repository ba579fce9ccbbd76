/*
 * hollow.c: a provider without its mandatory functions.
 */
#include <ethos/provider.h>

static const struct ethos_provider_ops ops = {.abi = ETHOS_ABI, .name = "hollow"};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "hollow",
    .provider = &ops,
};
