/*
 * conversation_choice.h: which session, personality and model a command talks in.
 */
#ifndef ETHOS_CHAT_CONVERSATION_CHOICE_H
#define ETHOS_CHAT_CONVERSATION_CHOICE_H

#include <limits.h>

#include "agent/models/model.h"
#include "ops/surface.h"

struct conversation_choice {
    struct ethos *ethos;
    struct ethos_request request; /* as it was given */
    char session[ETHOS_UUID_SIZE];
    char personality[ETHOS_MAX_ID + 1];
    char folder[PATH_MAX]; /* the current directory */
    struct model *model;
};

/*
 * Opens the home and the model and finds the session: the one that is named (resume), a new one (fresh), else that
 * of the folder. Nothing is made when no model can be opened. Release in any case.
 */
int conversation_choose(const struct surface_start *start, const char *resume, bool fresh,
                        const char *model, struct conversation_choice *out,
                        struct ethos_error *error);
void conversation_choice_release(struct conversation_choice *self);

#endif
