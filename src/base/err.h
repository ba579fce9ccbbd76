/*
 * err.h: filling a caller's error.
 *
 * Every fallible function ends in `return err_set(error, ETHOS_X, "what: why")` and forwards codes
 * it received unchanged. The text is one line, the message exactly as documented; what the user
 * should do next goes into the hint. error may be NULL everywhere.
 */
#ifndef ETHOS_BASE_ERR_H
#define ETHOS_BASE_ERR_H

#include <ethos/types.h>

/* Sets code and text, clears the hint, returns code. Over-long text ends in "...". */
int err_set(struct ethos_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the next step to an error that is already set; returns its code. */
int err_hint(struct ethos_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * "subject: reason" with a hint: ETHOS_IO, or the code for errno: BUSY, DENIED, LIMIT, NOTFOUND,
 * NOMEM.
 */
int err_errno(struct ethos_error *error, int errnum, const char *subject);

int err_nomem(struct ethos_error *error);

/* If the call fails, returns its code from the calling function. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        int try_code = (call);                                                                     \
        if (try_code != ETHOS_OK)                                                                  \
            return try_code;                                                                       \
    } while (0)

/* "notfound", "conflict", ...; "ok" for 0, "internal" for anything unknown. */
const char *err_name(int code);

#endif
