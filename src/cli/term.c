/*
 * term.c: writing to people.
 */
#include "cli/term.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/view.h"

static bool env_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

static bool wants_color(bool tty, int color)
{
    const char *force = getenv("CLICOLOR_FORCE");
    const char *term = getenv("TERM");
    if (color != 0)
        return color == 1;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return tty && !env_set("NO_COLOR") && !(term && strcmp(term, "dumb") == 0);
}

static int window_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

void term_init(struct term *self, int color)
{
    bool tty = isatty(STDOUT_FILENO);
    *self = (struct term){stdout, tty, wants_color(tty, color), tty ? window_width() : 80, 0};
}

void term_page(struct term *self)
{
    int ends[2];
    const char *pager = getenv("PAGER");
    if (!self->tty || self->pager || pipe(ends) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/bin/sh", "sh", "-c", pager && *pager ? pager : "less -FRX 2>/dev/null || cat",
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
    bool ok = fflush(self->out) == 0 || errno == EPIPE;
    if (self->pager) {
        fclose(self->out);
        while (waitpid(self->pager, NULL, 0) < 0 && errno == EINTR)
            continue;
        self->out = stdout;
        self->pager = 0;
    }
    return ok;
}

/* Characters that change how the text around them is laid out. */
static bool is_bidi_control(uint32_t cp)
{
    return (cp >= 0x202A && cp <= 0x202E) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0x200E ||
           cp == 0x200F || cp == 0x061C;
}

void term_safe(FILE *out, struct ethos_view text)
{
    size_t size;
    for (size_t i = 0; i < text.size; i += size) {
        uint32_t cp;
        bool ok;
        size = utf8_decode(text.data + i, text.size - i, &cp, &ok);
        if (!ok)
            for (size_t k = 0; k < size; k++)
                fprintf(out, "\\x%02x", (unsigned char)text.data[i + k]);
        else if ((cp < 0x20 && cp != '\n' && cp != '\t') || cp == 0x7F)
            fprintf(out, "^%c", (char)(cp ^ 0x40));
        else if (cp >= 0x80 && cp < 0xA0)
            fprintf(out, "\\x%02x", (unsigned)cp);
        else if (is_bidi_control(cp))
            fprintf(out, "\\u{%X}", (unsigned)cp);
        else
            fwrite(text.data + i, 1, size, out);
    }
}

void term_text(struct term *self, struct ethos_view text)
{
    if (self->tty)
        term_safe(self->out, text);
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
