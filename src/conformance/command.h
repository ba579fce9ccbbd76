/*
 * command.h: the command `ethos conformance`, for main_conformance.c.
 */
#ifndef ETHOS_CONFORMANCE_COMMAND_H
#define ETHOS_CONFORMANCE_COMMAND_H

#include "ops/surface.h"

surface_fn conformance_serve;

#endif
