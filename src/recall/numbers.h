/*
 * numbers.h: the two functions of libm that ranking needs, as ethos avoids libm to start faster;
 * and a macro for fast loops over numbers.
 */
#ifndef ETHOS_RECALL_NUMBERS_H
#define ETHOS_RECALL_NUMBERS_H

/*
 * A static function whose loops become vector instructions of the current processor. Not under
 * TSan: the choice is made before its runtime is ready.
 */
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define VECTORS
#else
#define VECTORS __attribute__((target_clones("arch=x86-64-v3", "default"), optimize("O3")))
#endif

/* The natural logarithm of a normal number above 0, within a few units of the last place. */
double number_log(double x);

/* The square root of a normal number; 0 for numbers that are not above 0. */
double number_sqrt(double x);

#endif
