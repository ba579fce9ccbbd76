/*
 * scripted_model.h: a model that is a C function: it answers as a test says, and keeps what it was asked.
 */
#ifndef TESTS_AGENT_SCRIPTED_MODEL_H
#define TESTS_AGENT_SCRIPTED_MODEL_H

#include "agent/models/model.h"
#include "base/str.h"

#define SCRIPT_MAX_ANSWERS 64
#define SCRIPT_MAX_CALLS 6

struct scripted_call {
    const char *id, *name, *arguments;
};

struct scripted_answer {
    const char *text;
    struct scripted_call calls[SCRIPT_MAX_CALLS];
    enum model_stop stop;
    const char *raw;
    const char *error; /* fails with this sentence after text and calls */
    enum model_error error_kind;
    unsigned partial_calls;    /* of the calls, so many at the end have no END */
    void (*before)(void *arg); /* called before the answer, or NULL */
};

struct scripted_model {
    struct model model;
    const struct scripted_answer *answers;
    size_t count, asked;
    struct str requests[SCRIPT_MAX_ANSWERS]; /* each as text, see scripted_model.c */
    void *arg;                               /* of before */
};

void scripted_model_init(struct scripted_model *self, const struct scripted_answer *answers,
                         size_t count);
void scripted_model_release(struct scripted_model *self);

#endif
