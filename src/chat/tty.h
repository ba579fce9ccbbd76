/*
 * tty.h: the terminal of a conversation: its modes, its size, what is read and written.
 *
 * While it is raw, each key arrives as it is pressed, pastes have marks, and Ctrl-C and Ctrl-Z are keys. Whatever
 * ends the process, short of SIGKILL, gives the terminal back as it was. One terminal at a time.
 */
#ifndef ETHOS_CHAT_TTY_H
#define ETHOS_CHAT_TTY_H

#include <stdbool.h>

#include <ethos/types.h>

struct tty_size {
    int rows, columns;
};

/* Remembers the modes and makes the terminal raw; -1 and errno. Standard input and output are the terminal. */
int tty_enter(void);

/* The modes as they were; safe to call again, and from a signal handler. */
void tty_leave(void);

/* 24 rows of 80 columns where the terminal does not say. */
struct tty_size tty_size(void);

/* Writes all of it; false: the terminal is gone. */
bool tty_write(struct ethos_view bytes);

/* Whether the terminal wraps rows again when its width changes, as far as the environment says. */
bool tty_rewraps(void);

/* Whether the cursor can be moved: TERM is set and not "dumb". */
bool tty_moves_cursor(void);

#endif
