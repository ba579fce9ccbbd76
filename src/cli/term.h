/*
 * term.h: writing to people.
 *
 * On a terminal, nothing that comes from memory, a file name or an error can move the cursor, set a
 * title or hide text: control characters, bidirectional overrides and invisible characters are shown,
 * not sent. Into a pipe or file, bytes go as they are.
 */
#ifndef ETHOS_CLI_TERM_H
#define ETHOS_CLI_TERM_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <ethos/types.h>

struct term {
    FILE *out;
    bool tty; /* out is a terminal (or a pager on one) */
    bool color;
    int width;
    pid_t pager; /* or 0 */
    int failed;  /* errno of a write past the buffer, or 0 */
};

enum term_style { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_GOOD, TERM_WARN, TERM_BAD };

#define TERM_COLUMNS 80 /* of what is no terminal */
#define TERM_BESIDE 24  /* a text with fewer columns left beside its name stands below it, */
#define TERM_BELOW 6    /* indented so far */

/* The columns of the terminal that fd is. */
int term_columns(int fd);

/* color: 0 auto, 1 always, 2 never. */
void term_init(struct term *self, int color);

/* Sends what follows through $PAGER or less, when out is a terminal. */
void term_page(struct term *self);

/* Flushes, waits for a pager. False when writing failed (a closed pipe is not a failure). */
bool term_finish(struct term *self);

void term_text(struct term *self, struct ethos_view text);
void term_styled(struct term *self, enum term_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void term_printf(struct term *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * One line of at most so many columns, an ellipsis for the rest; into a pipe all of it. Returns the
 * columns used.
 */
int term_fitting(struct term *self, enum term_style style, struct ethos_view text, int columns);

/* Bytes of the start that fits into so many columns; *out_used is what it takes. */
size_t term_fit(struct ethos_view text, int columns, int *out_used);
int term_width(struct ethos_view text);

/*
 * The text as one line as it will be shown: what is escaped takes more room; line ends and tabs are
 * blanks. free() it; NULL: no memory.
 */
char *term_line(const struct term *self, struct ethos_view text);

/* "just now", "5 min ago", "3 h ago", then the date and time of the place. */
#define TERM_WHEN_SIZE 32
void term_when(int64_t ms, int64_t now_ms, char out[TERM_WHEN_SIZE]);

/* The moment at which the clocks of the place show what ms shows in UTC. */
int64_t term_local_ms(int64_t ms);

/* The same protection for one line to a stream such as stderr. */
void term_safe(FILE *out, struct ethos_view text);

#endif
