/*
 * str.h: the one growable buffer.
 *
 * Invariants: data is never NULL and always terminated (data[size] == 0), so it can be handed to
 * printf at any time; bytes may include NUL. Every buffer has a ceiling it refuses to pass.
 * A failed append (no memory: ETHOS_NOMEM, ceiling: ETHOS_LIMIT) leaves the content as it was, lets
 * every later append fail with the same code, and is asked for once at the end with str_code.
 *
 *     struct str s;
 *     str_init(&s, ceiling);
 *     str_add(&s, view); str_printf(&s, ...);
 *     if (str_code(&s)) ...
 *     str_release(&s);
 */
#ifndef ETHOS_BASE_STR_H
#define ETHOS_BASE_STR_H

#include <string.h>

#include <ethos/types.h>

struct str {
    char *data;
    size_t size;
    size_t capacity; /* 0 while data points at the shared empty string */
    size_t ceiling;  /* bytes */
    int code;
};

void str_init(struct str *s, size_t ceiling);
void str_release(struct str *s); /* back to the empty state; safe on a released or zeroed str */
void str_clear(struct str *s);   /* size 0, memory kept, code reset */

/* CLEANUP_STR struct str s: released at the end of its block. */
#define CLEANUP_STR __attribute__((cleanup(str_release)))

/* All return str_code(s). */
int str_add(struct str *s, struct ethos_view v);
int str_addc(struct str *s, char c);
int str_printf(struct str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
int str_reserve(struct str *s, size_t more);  /* room for `more` bytes without another growth */
int str_truncate(struct str *s, size_t size); /* no effect when already shorter */
int str_fail(struct str *s, int code);        /* like a failed append; the first code stays */
void str_undo(struct str *s, size_t size); /* truncates to an earlier size and clears a failure */

/* Inline, so that the length of a literal is known at compile time. */
static inline int str_adds(struct str *s, const char *string)
{
    return str_add(s, (struct ethos_view){string, strlen(string)});
}

static inline int str_code(const struct str *s)
{
    return s->code;
}

static inline struct ethos_view str_view(const struct str *s)
{
    return (struct ethos_view){s->data, s->size};
}

/* Passes the bytes to the caller (to be freed with free()) and resets s. NULL after a failure. */
char *str_steal(struct str *s, size_t *out_size);

/* The reverse: the content becomes `size` terminated bytes from malloc, now owned by s. */
void str_adopt(struct str *s, char *data, size_t size);

#endif
