/*
 * module.h: a module of this build, loaded and opened as a program does it.
 */
#ifndef TESTS_MODULES_MODULE_H
#define TESTS_MODULES_MODULE_H

#include <ethos/provider.h>

/* lib/ethos/<name>.so. Loaded once, and for good; ends the program when that fails. */
const struct ethos_module *module_load(const char *name);

/* Its store, as it is; settings end with a name NULL. */
int module_open(const char *name, const struct ethos_host *host,
                const struct ethos_setting *settings, uint32_t deadline_ms,
                struct ethos_store **out_store, struct ethos_error *error);

/* The whole store that the host makes of a database. */
int module_open_rows(const char *name, const struct ethos_host *host,
                     const struct ethos_setting *settings, uint32_t deadline_ms,
                     struct ethos_store **out_store, struct ethos_error *error);

#endif
