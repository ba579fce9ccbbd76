/*
 * text.h: the memory that everything is measured on.
 */
#ifndef ETHOS_BENCH_TEXT_H
#define ETHOS_BENCH_TEXT_H

#include <ethos/types.h>

/*
 * Notes as agents write them, of so many bytes or up to three fewer: short lines, mostly ASCII, some
 * other letters in every paragraph. data NULL when there is no memory; free it with free().
 */
struct ethos_view text_make(size_t bytes);

#endif
