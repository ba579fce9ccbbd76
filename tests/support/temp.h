/*
 * temp.h: a directory for one test.
 */
#ifndef TESTS_TEMP_H
#define TESTS_TEMP_H

#include <stddef.h>

struct temp {
    char path[64];
    int fd; /* of the directory */
};

/* Makes an empty private directory below $TMPDIR or /tmp; ends the program when that fails. */
void temp_make(struct temp *temp);

/* Closes and removes it with everything below. */
void temp_remove(struct temp *temp);

/* A file below the directory with this content; the mode is 0600. */
void temp_write(const struct temp *temp, const char *name, const char *text);

/* The content of a file below the directory, terminated; NULL when it is not there. free() it. */
char *temp_read(const struct temp *temp, const char *name, size_t *out_size);

#endif
