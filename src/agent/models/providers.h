/*
 * providers.h: the servers of models that are known by name, and how a model of one is opened.
 */
#ifndef ETHOS_AGENT_MODELS_PROVIDERS_H
#define ETHOS_AGENT_MODELS_PROVIDERS_H

#include "agent/models/cost.h"
#include "agent/models/model.h"

#define PROVIDER_MAX_VARIABLES 2

struct provider {
    const char *name;
    const char *base_url; /* NULL: the settings must give one */
    const char *wire;
    const char *key_variables
        [PROVIDER_MAX_VARIABLES]; /* of the environment, in this order; NULL ends them */
    const char *url_variable;     /* or NULL */
    const char *list_path;        /* of its models, in place of the wire's; or NULL */
    bool needs_key;
    unsigned port; /* of an address without scheme and port */
};

/* NULL: unknown. */
const struct provider *provider_find(const char *name);

/* All of them, in the order in which they are shown; NULL ends them. */
const struct provider *provider_at(size_t index);

/* Members that are NULL or 0 have the default. Strings are copied. */
struct model_settings {
    const char *provider; /* a name of the table */
    const char *model;
    const char *base_url;
    const char *key;
    const char *wire; /* a name of a wire, in place of the provider's */
    const char *ca_file;
    const char *const *allow_http;     /* hosts to which http is allowed, up to NULL */
    int64_t max_output;                /* tokens of one answer */
    int64_t window;                    /* tokens of the context window */
    int64_t num_ctx;                   /* tokens of the window that Ollama is asked for */
    const struct model_prices *prices; /* NULL: unknown */
    int64_t connect_ms, first_byte_ms, idle_ms;

    /*
     * Waits before a request is repeated. False: abort_fd (or -1) became readable meanwhile. NULL: the clock's;
     * a test gives another.
     */
    bool (*wait)(void *arg, int64_t ms, int abort_fd);
    void *wait_arg;
};

/*
 * Checks the settings; the server is not asked. ETHOS_NOTFOUND for a provider or wire that is unknown,
 * ETHOS_INVALID, ETHOS_DENIED for plain http. To be closed with ops->close.
 */
int model_open(const struct model_settings *settings, struct model **out,
               struct ethos_error *error);

/* A model that a server has. */
struct model_row {
    struct ethos_view name;
    int64_t window;             /* tokens; 0: the server does not say */
    struct model_prices prices; /* COST_UNKNOWN where the server does not say */
};

/* Returns ETHOS_OK to go on; any other code ends the list and is returned by models_list. */
typedef int model_list_fn(void *arg, const struct model_row *row);

/*
 * Asks the server which models it has, in its order; settings->model is not used. Errors are those of model_open,
 * and ETHOS_MODEL when the server does not answer with a list.
 */
int models_list(const struct model_settings *settings, model_list_fn *each, void *arg,
                struct ethos_error *error);

/*
 * The context window that a server is asked for when its requests name one: num_ctx or its default, unless the model
 * has less. model: tokens; 0: unknown.
 */
int64_t model_window(const struct model_settings *settings, int64_t model);

#endif
