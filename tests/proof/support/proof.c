/*
 * proof.c: figures, tokens, random numbers, time.
 */
#include "proof.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOTES_SHOWN 8

static struct {
    int argc;
    char **argv;
    unsigned said, failed, noted;
    uint32_t random;
} state = {.random = 0x9e3779b9};

#ifdef __SANITIZE_ADDRESS__
__attribute__((visibility("default"))) const char *__asan_default_options(void);

/* A proof forks thousands of times, and what was freed is copied each time. */
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=4";
}
#endif

void proof_begin(int argc, char **argv)
{
    state.argc = argc;
    state.argv = argv;
    setvbuf(stdout, NULL, _IOLBF, 0);
    proof_reseed(0);
}

static const char *argument(const char *name)
{
    for (int i = 1; i + 1 < state.argc; i++)
        if (strncmp(state.argv[i], "--", 2) == 0 && strcmp(state.argv[i] + 2, name) == 0)
            return state.argv[i + 1];
    return NULL;
}

bool proof_long(void)
{
    for (int i = 1; i < state.argc; i++)
        if (strcmp(state.argv[i], "--long") == 0)
            return true;
    return false;
}

unsigned proof_number(const char *name, unsigned small, unsigned large)
{
    const char *given = argument(name);
    return given ? (unsigned)strtoul(given, NULL, 10) : proof_long() ? large : small;
}

bool proof_part(const char *name)
{
    const char *only = argument("only");
    return !only || strcmp(only, name) == 0;
}

bool proof_say(bool ok, const char *format, ...)
{
    va_list args;
    printf("%sok %u - ", ok ? "" : "not ", ++state.said);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    state.failed += !ok;
    return ok;
}

/* Whether a list of words separated by spaces or commas has this one. */
static bool allowed(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at++)
        if ((at == list || strchr(" ,", at[-1])) && (!at[size] || strchr(" ,", at[size])))
            return true;
    return false;
}

void proof_skip(const char *name, const char *why)
{
    if (proof_long() && !allowed(getenv("ALLOW_SKIP"), name))
        proof_say(false, "%s: not tried: %s (ALLOW_SKIP=%s lets it pass)", name, why, name);
    else
        printf("ok %u - %s # SKIP %s\n", ++state.said, name, why);
}

void proof_note(const char *format, ...)
{
    va_list args;
    if (++state.noted > NOTES_SHOWN)
        return;
    va_start(args, format);
    fputs("# ", stdout);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

int proof_end(void)
{
    if (state.noted > NOTES_SHOWN)
        printf("# and %u more\n", state.noted - NOTES_SHOWN);
    printf("1..%u\n", state.said);
    return state.failed > 0;
}

void proof_die(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(99);
}

/* ---- random numbers and time ---------------------------------------------------------------- */

void proof_reseed(uint32_t salt)
{
    state.random = (proof_number("seed", 1, 1) * 0x9e3779b9u) ^ (salt * 0x85ebca6bu) ^ 0x2545f491u;
    if (state.random == 0)
        state.random = 1;
}

uint32_t proof_random(uint32_t below)
{
    state.random ^= state.random << 13;
    state.random ^= state.random >> 17;
    state.random ^= state.random << 5;
    return below ? state.random % below : 0;
}

int64_t proof_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void proof_sleep_us(unsigned us)
{
    struct timespec span = {us / 1000000, (long)(us % 1000000) * 1000};
    nanosleep(&span, NULL);
}

/* ---- tokens --------------------------------------------------------------------------------- */

void tokens_make(struct tokens *tokens, const char *word, unsigned count)
{
    *tokens = (struct tokens){word, count, calloc(count + 1, sizeof *tokens->seen)};
    if (!tokens->seen)
        proof_die("tokens");
}

void tokens_free(struct tokens *tokens)
{
    free(tokens->seen);
}

void tokens_clear(struct tokens *tokens)
{
    memset(tokens->seen, 0, tokens->count * sizeof *tokens->seen);
}

void tokens_count(struct tokens *tokens, const char *text, size_t size)
{
    size_t word = strlen(tokens->word);
    const char *end = text + size;
    for (const char *at = text; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            stop = end;
        if ((size_t)(stop - at) > word + 1 && memcmp(at, tokens->word, word) == 0 &&
            at[word] == '-') {
            char *after;
            unsigned long number = strtoul(at + word + 1, &after, 10);
            if (after <= stop && (after == stop || *after == ' ' || *after == '\r') &&
                number < tokens->count)
                tokens->seen[number]++;
        }
        at = stop + 1;
    }
}

unsigned tokens_present(const struct tokens *tokens)
{
    unsigned present = 0;
    for (unsigned i = 0; i < tokens->count; i++)
        present += tokens->seen[i] > 0;
    return present;
}

unsigned tokens_doubled(const struct tokens *tokens)
{
    unsigned doubled = 0;
    for (unsigned i = 0; i < tokens->count; i++)
        doubled += tokens->seen[i] > 1;
    return doubled;
}
