/*
 * golden.c: reading golden files. Contract in golden.h.
 */
#include "golden.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a section carries: an argument, lines below it. */
enum carries { NO, MAY, MUST };
static const struct verb_rule {
    const char *name;
    enum carries argument;
    bool body;
} rules[] = {
    [VERB_NAME] = {"name:", MUST, false},    [VERB_REQUIRE] = {"require", MUST, false},
    [VERB_FILE] = {"file", MUST, true},      [VERB_RUN] = {"run", MAY, true},
    [VERB_STDIN] = {"stdin", NO, true},      [VERB_STDOUT] = {"stdout", NO, true},
    [VERB_STDERR] = {"stderr", NO, true},    [VERB_EXIT] = {"exit", MUST, false},
    [VERB_FILE_IS] = {"file?", MUST, true},  [VERB_MODE_IS] = {"mode?", MUST, false},
    [VERB_ABSENT] = {"absent", MUST, false},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

/* "verb argument", or "verb! argument" for exact bytes. */
static struct section *section_new(const char *file, int line, char *header)
{
    struct section *self = calloc(1, sizeof(*self));
    size_t length, verb = 0;

    header[strcspn(header, "\n")] = '\0';
    length = strcspn(header, " ");
    self->line = line;
    self->argument = strdup(header + length + strspn(header + length, " "));
    self->exact = length > 0 && header[length - 1] == '!';
    length -= self->exact;
    while (verb < RULES &&
           (strlen(rules[verb].name) != length || strncmp(rules[verb].name, header, length) != 0))
        verb++;
    if (verb == RULES || (self->exact && !rules[verb].body))
        die("%s:%d: no such section: %s", file, line, header);
    if (rules[verb].argument == (*self->argument ? NO : MUST))
        die("%s:%d: %s takes %s argument", file, line, rules[verb].name,
            *self->argument ? "no" : "an");
    self->verb = (enum verb)verb;
    return self;
}

/* A line that is not a header: part of the body, or nothing but a blank or a "#" remark. */
static void section_line(struct section *self, const char *file, int number, const char *line)
{
    bool takes = self && rules[self->verb].body;

    /* The script of a run stands either in its argument or below it. */
    if (takes && self->verb == VERB_RUN && *self->argument)
        takes = false;
    if (!takes && line[0] != '#' && line[0] != '\n')
        die("%s:%d: a line outside any section that takes lines", file, number);
    if (takes && !self->exact)
        text_line(&self->body, line);
    if (takes && self->exact && !text_unescape(&self->body, line))
        die("%s:%d: not a C escape", file, number);
}

static void run_complete(const char *file, const struct section *self)
{
    if (self && self->verb == VERB_RUN && !*self->argument && !self->body.size)
        die("%s:%d: run what?", file, self->line);
}

struct golden **golden_read(const char *file, struct golden **tail)
{
    FILE *in = fopen(file, "r");
    char *line = NULL;
    size_t room = 0;
    struct section *open = NULL, **end = NULL;

    if (!in)
        die("%s: %s", file, strerror(errno));
    for (int number = 1; getline(&line, &room, in) > 0; number++) {
        bool header = strncmp(line, "== ", 3) == 0;

        if (header || strcmp(line, "==\n") == 0) {
            run_complete(file, open);
            open = header ? section_new(file, number, line + 3) : NULL;
        } else {
            section_line(open, file, number, line);
        }
        if (!header)
            continue;
        if (open->verb == VERB_NAME) {
            *tail = calloc(1, sizeof(**tail));
            **tail = (struct golden){.file = file, .name = open};
            tail = &(*tail)->next;
        } else if (end) {
            *end = open;
        } else {
            die("%s:%d: a file begins with == name:", file, number);
        }
        end = &open->next;
    }
    run_complete(file, open);
    free(line);
    fclose(in);
    return tail;
}
