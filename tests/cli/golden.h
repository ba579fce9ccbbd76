/*
 * golden.h: a golden file as a list of tests, each a list of sections. README.md is the format.
 *
 * A file that breaks it ends the program with its line: nobody should wonder whether a misspelt
 * section was checked. What is read lives as long as the process.
 */
#ifndef TESTS_CLI_GOLDEN_H
#define TESTS_CLI_GOLDEN_H

#include <stdbool.h>

#include "match.h"

enum verb {
    VERB_NAME,
    VERB_REQUIRE,
    VERB_FILE,
    VERB_RUN,
    VERB_STDIN,
    VERB_STDOUT,
    VERB_STDERR,
    VERB_EXIT,
    VERB_FILE_IS,
    VERB_MODE_IS,
    VERB_ABSENT,
};

struct section {
    enum verb verb;
    char *argument;
    struct text body;
    bool exact; /* verb!: bytes by escape, no placeholders */
    int line;
    struct section *next; /* of the same test */
};

struct golden {
    const char *file;
    struct section *name; /* the first section */
    struct golden *next;
};

/* Appends the tests of a file at *tail; returns the new tail. */
struct golden **golden_read(const char *file, struct golden **tail);

/* Says why on standard error and exits with status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
