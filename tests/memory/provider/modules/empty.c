/*
 * empty.c: a module that offers nothing.
 */
#include <ethos/provider.h>

const struct ethos_module ethos_module = {.abi = ETHOS_ABI, .name = "empty"};
