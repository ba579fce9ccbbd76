/*
 * quote.h: foreign text inside a one-line message, or inside a command.
 */
#ifndef ETHOS_BASE_TEXT_QUOTE_H
#define ETHOS_BASE_TEXT_QUOTE_H

#include <ethos/types.h>

struct str;

#define QUOTE_SIZE sizeof(((struct ethos_error *)0)->text)

/*
 * Copies v to out, control bytes (NUL and DEL too) as visible escapes, and returns out. What does
 * not fit is left off: the message it goes into is full by then and says so itself.
 */
const char *quote_line(struct ethos_view v, char out[QUOTE_SIZE]);

/* The same, but only NUL is escaped: for messages whose text is promised to the byte. */
const char *quote_exact(struct ethos_view v, char out[QUOTE_SIZE]);

/* Appends v as one word for a shell, in single quotes unless it is plain. Returns str_code. */
int quote_shell(struct ethos_view v, struct str *out);

#endif
