/*
 * conformance.h: the suite that runs over every store is in src/conformance, as others may run it, too.
 */
#ifndef TESTS_STORE_CONFORMANCE_H
#define TESTS_STORE_CONFORMANCE_H

#include "conformance/conformance.h"

#endif
