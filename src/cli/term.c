/*
 * term.c: writing to people.
 */
#include "cli/term.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/system/os.h"
#include "base/text/terminal.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

#define LARGE 4096 /* bytes */

static bool env_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

static bool is_dumb(void)
{
    const char *term = getenv("TERM");
    return term && strcmp(term, "dumb") == 0;
}

static bool wants_color(bool tty, int color)
{
    const char *force = getenv("CLICOLOR_FORCE");
    if (color != 0)
        return color == 1;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return tty && !env_set("NO_COLOR") && !is_dumb();
}

int term_columns(int fd)
{
    struct winsize size;
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return TERM_COLUMNS;
}

void term_init(struct term *self, int color)
{
    bool tty = isatty(STDOUT_FILENO);
    *self = (struct term){.out = stdout, .tty = tty, .color = wants_color(tty, color)};
    self->width = term_columns(STDOUT_FILENO);
}

void term_page(struct term *self)
{
    int ends[2];
    const char *pager = getenv("PAGER");
    // Unasked, less would complain of a dumb terminal and wait for a key.
    if (!self->tty || self->pager || (is_dumb() && !env_set("PAGER")) || pipe(ends) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("LESS", "FRX", 0); // as git does: colours are shown, one page needs no key
        execl("/bin/sh", "sh", "-c", pager && *pager ? pager : "less 2>/dev/null || cat",
              (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    FILE *out = pid > 0 ? fdopen(ends[1], "w") : NULL;
    if (!out) {
        close(ends[1]);
        return;
    }
    self->out = out;
    self->pager = pid;
}

bool term_finish(struct term *self)
{
    struct stat info;
    errno = EIO; // for a write before the last one, whose own reason is lost
    bool ok = fflush(self->out) == 0 && !ferror(self->out) && !self->failed;
    int reason = self->failed ? self->failed : errno;
    if (!ok && fstat(fileno(self->out), &info) == 0)
        ok = S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode); // its reader went away
    if (self->pager) {
        fclose(self->out);
        while (waitpid(self->pager, NULL, 0) < 0 && errno == EINTR)
            continue;
        self->out = stdout;
        self->pager = 0;
    }
    errno = reason;
    return ok;
}

/* In one piece: stderr writes every piece by itself. */
void term_safe(FILE *out, struct ethos_view text)
{
    struct str safe;
    str_init(&safe, 8 * text.size + 1);
    if (terminal_escape(text, &safe) == ETHOS_OK)
        fwrite(safe.data, 1, safe.size, out);
    str_release(&safe);
}

/* A block of memory goes out as it is: a buffer would only copy it. */
static void write_large(struct term *self, struct ethos_view text)
{
    if (self->failed || fflush(self->out) != 0)
        return; // term_finish tells
    if (os_write_all(fileno(self->out), text.data, text.size) != 0)
        self->failed = errno;
}

void term_text(struct term *self, struct ethos_view text)
{
    if (self->tty)
        term_safe(self->out, text);
    else if (text.size >= LARGE)
        write_large(self, text);
    else if (text.size > 0)
        fwrite(text.data, 1, text.size, self->out);
}

static void print_formatted(struct term *self, const char *format, va_list args)
{
    char *line = NULL;
    int size = vasprintf(&line, format, args);
    if (size >= 0)
        term_text(self, view_of(line, (size_t)size));
    free(line);
}

void term_printf(struct term *self, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_formatted(self, format, args);
    va_end(args);
}

void term_styled(struct term *self, enum term_style style, const char *format, ...)
{
    static const char *const codes[] = {"", "1", "2", "32", "33", "31"};
    va_list args;
    if (self->color && style != TERM_PLAIN)
        fprintf(self->out, "\033[%sm", codes[style]);
    va_start(args, format);
    print_formatted(self, format, args);
    va_end(args);
    if (self->color && style != TERM_PLAIN)
        fputs("\033[0m", self->out);
}

/* ---- width ---------------------------------------------------------------------------------- */

size_t term_fit(struct ethos_view text, int columns, int *out_used)
{
    size_t at = 0;
    int used = 0;
    while (at < text.size) {
        uint32_t cp;
        size_t size = utf8_decode(text.data + at, text.size - at, &cp, NULL);
        int width = unicode_width(cp);
        if (used + width > columns)
            break;
        used += width;
        at += size;
    }
    *out_used = used;
    return at;
}

int term_width(struct ethos_view text)
{
    int used;
    term_fit(text, INT_MAX, &used);
    return used;
}

char *term_line(const struct term *self, struct ethos_view text)
{
    char *line = NULL;
    size_t size;
    FILE *stream = open_memstream(&line, &size);
    if (!stream)
        return NULL;
    if (self->tty)
        term_safe(stream, text);
    else
        fwrite(text.data, 1, text.size, stream);
    fclose(stream);
    for (char *at = line; at && at < line + size; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
    return line;
}

int term_fitting(struct term *self, enum term_style style, struct ethos_view text, int columns)
{
    int used = 0;
    char *line = term_line(self, text);
    struct ethos_view v = view_str(line ? line : "");
    bool whole = term_fit(v, self->tty ? columns : INT_MAX, &used) == v.size;
    int size = (int)(whole ? v.size : term_fit(v, columns - 1, &used));
    term_styled(self, style, "%.*s%s", size, v.data, whole ? "" : "…");
    free(line);
    return used + !whole;
}

/* ---- times ---------------------------------------------------------------------------------- */

void term_when(int64_t ms, int64_t now_ms, char out[TERM_WHEN_SIZE])
{
    enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };
    long long age = (now_ms - ms) / 1000;
    time_t seconds = (time_t)(ms / 1000);
    struct tm local;
    if (age >= 0 && age < MINUTE)
        snprintf(out, TERM_WHEN_SIZE, "just now");
    else if (age >= 0 && age < HOUR)
        snprintf(out, TERM_WHEN_SIZE, "%lld min ago", age / MINUTE);
    else if (age >= 0 && age < DAY)
        snprintf(out, TERM_WHEN_SIZE, "%lld h ago", age / HOUR);
    else if (!localtime_r(&seconds, &local) ||
             strftime(out, TERM_WHEN_SIZE, "%Y-%m-%d %H:%M", &local) == 0)
        snprintf(out, TERM_WHEN_SIZE, "?");
}

int64_t term_local_ms(int64_t ms)
{
    int64_t rest = ms % 1000;
    time_t seconds = (time_t)((ms - rest) / 1000);
    struct tm shown;
    if (!gmtime_r(&seconds, &shown))
        return ms;
    shown.tm_isdst = -1;
    time_t local = mktime(&shown);
    return local == (time_t)-1 ? ms : (int64_t)local * 1000 + rest;
}
