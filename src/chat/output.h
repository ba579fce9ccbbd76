/*
 * output.h: text for a person: escaped where it goes to a terminal, as it is elsewhere.
 */
#ifndef ETHOS_CHAT_OUTPUT_H
#define ETHOS_CHAT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include <ethos/types.h>

void output_text(FILE *out, struct ethos_view text, bool is_terminal);

#endif
