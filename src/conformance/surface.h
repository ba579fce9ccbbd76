/*
 * surface.h: `ethos conformance`, for main_conformance.c.
 */
#ifndef ETHOS_CONFORMANCE_SURFACE_H
#define ETHOS_CONFORMANCE_SURFACE_H

#include "ops/surface.h"

surface_fn conformance_serve;

#endif
