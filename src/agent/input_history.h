/*
 * input_history.h: what people typed in a folder, for the next time: <home>/.mem/input-<hash>.txt, a message per
 * line, the oldest first. Forgetting everywhere takes lines out of it, as of every text of the home.
 */
#ifndef ETHOS_AGENT_INPUT_HISTORY_H
#define ETHOS_AGENT_INPUT_HISTORY_H

#include <ethos/ethos.h>

#define INPUT_HISTORY_MAX_MESSAGES 1000 /* that are read; older ones are dropped */
#define INPUT_HISTORY_MAX_MESSAGE 65536 /* bytes; longer ones are not stored */
#define INPUT_HISTORY_MAX_FILE 16777216 /* bytes */

struct input_history {
    int folder; /* descriptor; -1: nothing is stored */
    char name[32];
};

typedef void input_history_fn(void *arg, struct ethos_view message);

/* Opens that of a folder and gives its messages. Throwaway memory has none. */
int input_history_open(struct ethos *ethos, const char *folder, struct input_history *out,
                       input_history_fn *each, void *arg, struct ethos_error *error);
void input_history_close(struct input_history *self);

/* Adds a message, if it is neither too long nor the file out of reach: nobody waits for that. */
void input_history_add(const struct input_history *self, struct ethos_view message);

#endif
