/*
 * err.c: filling a caller's error, and what each errno means to a person.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OUT_OF_MEMORY "out of memory"

/* Formats into out; what does not fit is cut on a character and ends in "...". */
__attribute__((format(printf, 3, 0))) static void fill_error(char *out, size_t size,
                                                             const char *format, va_list args)
{
    int length = vsnprintf(out, size, format, args);

    if (length < 0) {
        out[0] = '\0';
        return;
    }
    if ((size_t)length < size)
        return;
    size_t end = size - sizeof("...");
    while (end > 0 && ((unsigned char)out[end] & 0xC0) == 0x80)
        end--;
    memcpy(out + end, "...", sizeof("..."));
}

int err_set(struct ethos_error *error, int code, const char *format, ...)
{
    va_list args;

    if (!error)
        return code;
    error->code = (enum ethos_code)code;
    error->hint[0] = '\0';
    va_start(args, format);
    fill_error(error->text, sizeof(error->text), format, args);
    va_end(args);
    if (code == ETHOS_NOMEM && !strstr(error->text, OUT_OF_MEMORY)) // then nothing was too large
        memcpy(error->text, OUT_OF_MEMORY, sizeof(OUT_OF_MEMORY));
    return code;
}

int err_hint(struct ethos_error *error, int code, const char *format, ...)
{
    va_list args;

    if (!error)
        return code;
    va_start(args, format);
    fill_error(error->hint, sizeof(error->hint), format, args);
    va_end(args);
    return code;
}

/* reason NULL: the system's own words. What is not listed is ETHOS_IO in the system's words. */
static const struct errno_meaning {
    int errnum;
    int code;
    const char *reason;
    const char *hint;
} meanings[] = {
    {ENOSPC, ETHOS_IO, NULL, "free some disk space, then try again; nothing was lost"},
    {EDQUOT, ETHOS_IO, NULL, "free some of your disk quota, then try again; nothing was lost"},
    {EROFS, ETHOS_IO, NULL, "the file system is mounted read-only"},
    {EACCES, ETHOS_IO, NULL, "check owner and permissions of the file and its directory"},
    {EPERM, ETHOS_IO, NULL, "check owner, permissions and attributes of the file"},
    {EIO, ETHOS_IO, NULL, "check the disk and the system log"},
    {EMFILE, ETHOS_BUSY, NULL, "try again later, or raise the limit (ulimit -n)"},
    {ENFILE, ETHOS_BUSY, NULL, "the system has too many open files; try again later"},
    {EAGAIN, ETHOS_BUSY, "busy", "another process is using it; try again"},
    {ETIMEDOUT, ETHOS_BUSY, "busy", "another process is using it; try again"},
    {EFBIG, ETHOS_LIMIT, "too large", NULL},
    {ENOMEM, ETHOS_NOMEM, OUT_OF_MEMORY, NULL},
    {ENOENT, ETHOS_NOTFOUND, "not found", NULL},
    {ELOOP, ETHOS_IO, "symbolic links lead in a circle", NULL},
    {EXDEV, ETHOS_DENIED, "a symbolic link leads outside", "replace it by a regular file"},
    {EISDIR, ETHOS_IO, "is a directory, not a regular file", NULL},
    {ENXIO, ETHOS_IO, "is not a regular file", NULL},
    {ENOTDIR, ETHOS_IO, "a part of the path is not a directory", NULL},
};

_Static_assert(EWOULDBLOCK == EAGAIN, "one row serves both");

static const struct errno_meaning *find_errno_meaning(int errnum)
{
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        if (meanings[i].errnum == errnum)
            return &meanings[i];
    }
    return NULL;
}

int err_errno(struct ethos_error *error, int errnum, const char *subject)
{
    const struct errno_meaning *meaning = find_errno_meaning(errnum);
    int code = meaning ? meaning->code : ETHOS_IO;
    const char *reason = meaning ? meaning->reason : NULL;

    if (!reason)
        reason = strerrordesc_np(errnum); // unlike strerror: no locale, no shared buffer
    err_set(error, code, "%s: %s", subject, reason ? reason : "unknown error");
    if (meaning && meaning->hint)
        err_hint(error, code, "%s", meaning->hint);
    return code;
}

int err_nomem(struct ethos_error *error)
{
    return err_set(error, ETHOS_NOMEM, OUT_OF_MEMORY);
}

const char *err_name(int code)
{
    static const char *const names[] = {
        [-ETHOS_OK] = "ok",
        [-ETHOS_NOTFOUND] = "notfound",
        [-ETHOS_EXISTS] = "exists",
        [-ETHOS_CONFLICT] = "conflict",
        [-ETHOS_INVALID] = "invalid",
        [-ETHOS_DENIED] = "denied",
        [-ETHOS_LIMIT] = "limit",
        [-ETHOS_BUSY] = "busy",
        [-ETHOS_IO] = "io",
        [-ETHOS_NOMEM] = "nomem",
        [-ETHOS_CORRUPT] = "corrupt",
        [-ETHOS_UNSUPPORTED] = "unsupported",
        [-ETHOS_INTERNAL] = "internal",
        [-ETHOS_MODEL] = "model",
        [-ETHOS_PENDING] = "pending",
    };

    return code <= ETHOS_OK && code >= ETHOS_PENDING ? names[-code] : "internal";
}
