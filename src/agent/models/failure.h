/*
 * failure.h: why a model did not answer, from what its server said. Pure.
 */
#ifndef ETHOS_AGENT_MODELS_FAILURE_H
#define ETHOS_AGENT_MODELS_FAILURE_H

#include "agent/models/model.h"
#include "base/json.h"

#define FAILURE_TEXT_SIZE 1280 /* bytes: the server's own words are cut before */

struct failure {
    enum model_error error;
    int http;         /* status, or 0 */
    int64_t retry_ms; /* how long the server asks to wait, or 0 */
    char text[FAILURE_TEXT_SIZE];
};

/* Who is asked: for the sentence, and for the key that must not be in it. */
struct failure_context {
    const char *provider;
    const char *key; /* or NULL */
};

/* detail: what the server or the transport says, or absent. */
void failure_set(struct failure *out, const struct failure_context *context, enum model_error error,
                 int http, struct ethos_view detail);

/* Of an answer with an error status: its body is JSON of any of the known shapes, or text. */
void failure_from_body(struct failure *out, const struct failure_context *context, int http,
                       struct ethos_view body);

/* Of a member "error" within an answer: an object or a string. */
void failure_from_json(struct failure *out, const struct failure_context *context,
                       const json_t *error);

#endif
