/*
 * match.h: text of a golden file: how it is written down, compared and shown.
 *
 * Expected text may hold placeholders; README.md lists them.
 */
#ifndef TESTS_CLI_MATCH_H
#define TESTS_CLI_MATCH_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *data;
    size_t size;
};

/* Appends a line as it stands; "\ No newline at end" takes the newline before it away. */
void text_line(struct text *self, const char *line);

/* Appends a line with its C escapes resolved and without its own newline. False: not an escape. */
bool text_unescape(struct text *self, const char *line);

/* The whole file, errno set when false. */
bool text_read(struct text *self, const char *path);

/* Makes the file, mode 0600, and the directories it lies in, mode 0700; errno set when false. */
bool text_write(struct text self, char *path);

/* With every @HOME@ replaced; the result is the caller's. */
struct text text_expand(struct text self, const char *home);

/* Equal once @HOME@ is replaced and placeholders are filled; with home NULL, equal byte by byte. */
bool text_match(struct text expected, struct text got, const char *home);

/* Prints the differing lines, as TAP remarks, to standard output. */
void text_diff(struct text expected, struct text got, const char *home);

#endif
