/*
 * str.c: the one growable buffer.
 *
 * capacity counts the terminator, so a buffer with memory of its own always has
 * size < capacity. The shared empty string is a literal and is never written to.
 */
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/view.h"

#define SMALLEST 64 /* bytes of a first allocation */

void str_init(struct str *s, size_t ceiling)
{
    *s = (struct str){.data = "", .ceiling = ceiling};
}

void str_release(struct str *s)
{
    if (s->capacity > 0)
        free(s->data);
    str_init(s, s->ceiling);
}

void str_clear(struct str *s)
{
    s->code = ETHOS_OK;
    str_truncate(s, 0);
}

int str_fail(struct str *s, int code)
{
    if (s->code == ETHOS_OK)
        s->code = code;
    return s->code;
}

/* Doubles, but never beyond what the ceiling lets anyone use. */
static size_t next_capacity(const struct str *s, size_t needed)
{
    size_t most = s->ceiling < SIZE_MAX ? s->ceiling + 1 : SIZE_MAX;
    size_t doubled = s->capacity <= most / 2 ? s->capacity * 2 : most;

    if (doubled < SMALLEST)
        doubled = SMALLEST < most ? SMALLEST : most;
    return doubled > needed ? doubled : needed;
}

int str_reserve(struct str *s, size_t more)
{
    if (s->code)
        return s->code;
    if (s->size > s->ceiling || more > s->ceiling - s->size || more > SIZE_MAX - 1 - s->size)
        return str_fail(s, ETHOS_LIMIT);
    size_t needed = s->size + more + 1;
    if (needed <= s->capacity || more == 0)
        return ETHOS_OK;
    size_t capacity = next_capacity(s, needed);
    char *data = realloc(s->capacity > 0 ? s->data : NULL, capacity);
    if (!data)
        return str_fail(s, ETHOS_NOMEM);
    data[s->size] = '\0';
    s->data = data;
    s->capacity = capacity;
    return ETHOS_OK;
}

int str_add(struct str *s, struct ethos_view v)
{
    bool fits = !s->code && v.size < s->capacity - s->size; // mostly
    if ((!fits && str_reserve(s, v.size)) || v.size == 0)
        return s->code;
    memcpy(s->data + s->size, v.data, v.size);
    s->size += v.size;
    s->data[s->size] = '\0';
    return ETHOS_OK;
}

int str_addc(struct str *s, char c)
{
    return str_add(s, view_of(&c, 1));
}

/* Where vsnprintf may write; (NULL, 0) while there is no memory yet. */
static int print_spare(struct str *s, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static int print_spare(struct str *s, const char *format, va_list args)
{
    size_t spare = s->capacity - s->size;
    int length = vsnprintf(spare ? s->data + s->size : NULL, spare, format, args);

    if (spare > 0 && (length < 0 || (size_t)length >= spare))
        s->data[s->size] = '\0'; // a piece of it may stand there
    return length;
}

int str_printf(struct str *s, const char *format, ...)
{
    va_list args;

    if (s->code)
        return s->code;
    va_start(args, format);
    int length = print_spare(s, format, args);
    va_end(args);
    if (length < 0)
        return str_fail(s, errno == ENOMEM ? ETHOS_NOMEM : ETHOS_LIMIT);
    if ((size_t)length >= s->capacity - s->size) {
        if (str_reserve(s, (size_t)length) || length == 0)
            return s->code;
        va_start(args, format);
        length = print_spare(s, format, args);
        va_end(args);
    }
    s->size += (size_t)length;
    return ETHOS_OK;
}

int str_truncate(struct str *s, size_t size)
{
    if (size < s->size) {
        s->size = size;
        s->data[size] = '\0';
    }
    return s->code;
}

void str_undo(struct str *s, size_t size)
{
    str_truncate(s, size);
    s->code = ETHOS_OK;
}

char *str_steal(struct str *s, size_t *out_size)
{
    if (s->code)
        return NULL;
    char *data = s->capacity > 0 ? s->data : calloc(1, 1);
    if (!data) {
        str_fail(s, ETHOS_NOMEM);
        return NULL;
    }
    if (out_size)
        *out_size = s->size;
    str_init(s, s->ceiling);
    return data;
}

void str_adopt(struct str *s, char *data, size_t size)
{
    str_release(s);
    s->data = data;
    s->size = size;
    s->capacity = size + 1;
}
