/*
 * surrogates.h: characters that a server cut in two. Pure.
 *
 * Some servers cut their text in UTF-16 units, so that one piece of the stream ends in "\ud83d" and the next
 * begins with "\ude00". A JSON parser cannot represent such a half. Before parsing, each half becomes one of
 * the last 2048 characters of Unicode, which nobody uses; afterwards the pieces of one text are joined.
 */
#ifndef ETHOS_AGENT_MODELS_SURROGATES_H
#define ETHOS_AGENT_MODELS_SURROGATES_H

#include "base/str.h"

/* Appends JSON text with its lone surrogate escapes replaced by placeholders. Returns str_code. */
int surrogates_mark(struct ethos_view json, struct str *out);

/*
 * Appends a piece of a text without its placeholders: halves that meet become their character, others U+FFFD. A
 * high half at the end waits in *half (0: none) for the next piece. Returns str_code.
 */
int surrogates_join(uint16_t *half, struct ethos_view piece, struct str *out);

#endif
