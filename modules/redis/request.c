/*
 * request.c: a command as bytes: each word with its size, so that any byte may be in it. How many
 * there are comes first and is known last, so whoever sends it puts that before.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "redis.h"

void request_init(struct redis_request *self)
{
    *self = (struct redis_request){0};
    str_init(&self->bytes, REDIS_MAX_REQUEST);
}

void request_release(struct redis_request *self)
{
    str_release(&self->bytes);
}

void request_word(struct redis_request *self, struct ethos_view word)
{
    self->words++;
    str_printf(&self->bytes, "$%zu\r\n", word.size);
    if (word.size)
        str_add(&self->bytes, word);
    str_add(&self->bytes, VIEW("\r\n"));
}

void request_string(struct redis_request *self, const char *word)
{
    request_word(self, view_str(word));
}

void request_number(struct redis_request *self, uint64_t number)
{
    char word[24];
    snprintf(word, sizeof word, "%" PRIu64, number);
    request_string(self, word);
}

void request_key(struct redis_request *self, const struct redis *redis, const char *scope,
                 const char *table, const char *key)
{
    char name[REDIS_KEY_SIZE];
    redis_key(redis, scope, table, key, name);
    request_string(self, name);
}

void request_say(struct redis_request *self, size_t count, ...)
{
    va_list words;
    va_start(words, count);
    for (size_t i = 0; i < count; i++)
        request_string(self, va_arg(words, const char *));
    va_end(words);
}
