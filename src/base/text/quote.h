/*
 * quote.h: quotes arbitrary text for a one-line message or for a shell command.
 */
#ifndef ETHOS_BASE_TEXT_QUOTE_H
#define ETHOS_BASE_TEXT_QUOTE_H

#include <ethos/types.h>

struct str;

#define QUOTE_SIZE sizeof(((struct ethos_error *)0)->text)

/*
 * Copies v to out with control bytes (including NUL and DEL) as visible escapes, and returns out.
 * Text that does not fit is omitted.
 */
const char *quote_line(struct ethos_view v, char out[QUOTE_SIZE]);

/* The same, but only NUL is escaped: for messages whose exact text is documented. */
const char *quote_exact(struct ethos_view v, char out[QUOTE_SIZE]);

/* Appends v as one word of a shell command, in single quotes if needed. Returns str_code. */
int quote_shell(struct ethos_view v, struct str *out);

#endif
