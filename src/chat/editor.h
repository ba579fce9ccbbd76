/*
 * editor.h: the input in an editor: $VISUAL, $EDITOR, else what there is.
 */
#ifndef ETHOS_CHAT_EDITOR_H
#define ETHOS_CHAT_EDITOR_H

#include <ethos/types.h>

struct str;

#define EDITOR_MAX_TEXT 4194304 /* bytes */

/* Runs a program with the terminal, as in talk_screen. */
typedef int editor_run_fn(void *arg, const char *const argv[]);

/* Appends the text as the editor left it, without the line end at its end. */
int editor_edit(struct ethos_view text, editor_run_fn *run, void *arg, struct str *out,
                struct ethos_error *error);

#endif
