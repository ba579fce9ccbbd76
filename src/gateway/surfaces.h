/*
 * surfaces.h: the surface of the program ethos-gateway.
 */
#ifndef ETHOS_GATEWAY_SURFACES_H
#define ETHOS_GATEWAY_SURFACES_H

#include "ops/surface.h"

surface_fn gateway_run; /* ethos gateway */

#endif
