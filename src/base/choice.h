/*
 * choice.h: a closed set of words, written "a|b|c".
 */
#ifndef ETHOS_BASE_CHOICE_H
#define ETHOS_BASE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include <ethos/types.h>

bool choice_has(const char *choices, struct ethos_view word);

/* The words for a person: "a, b or c". Anything that does not fit is omitted. */
void choice_text(const char *choices, char *out, size_t size);

#endif
