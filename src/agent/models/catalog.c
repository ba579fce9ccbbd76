/*
 * catalog.c: the models that a server lists.
 */
#include "agent/models/catalog.h"

#include <string.h>

#include "base/err.h"
#include "base/view.h"

#define MAX_WINDOW 1000000000 /* tokens; more is a mistake */

static int64_t read_tokens(const json_t *value)
{
    int64_t tokens;
    return json_whole(value, &tokens) && tokens > 0 && tokens <= MAX_WINDOW ? tokens : 0;
}

/* What the server gives the model, not what the model could have. */
static int64_t find_window(const json_t *row)
{
    const json_t *instance = json_array_get(json_object_get(row, "loaded_instances"), 0);
    const json_t *values[] = {
        json_object_get(json_object_get(instance, "config"), "context_length"), // LM Studio
        json_object_get(json_object_get(row, "meta"), "n_ctx"),                 // llama.cpp
        json_object_get(row, "max_model_len"),                                  // vLLM
        json_object_get(row, "max_input_tokens"),                               // Anthropic
        json_object_get(row, "context_length"),                                 // OpenRouter
    };
    int64_t window = 0;
    for (size_t i = 0; i < sizeof values / sizeof *values && window == 0; i++)
        window = read_tokens(values[i]);
    return window;
}

static struct model_prices find_prices(const json_t *row)
{
    const json_t *pricing = json_object_get(row, "pricing");
    return (struct model_prices){
        .input = cost_parse_per_token(json_view(pricing, "prompt")),
        .output = cost_parse_per_token(json_view(pricing, "completion")),
        .cache_read = cost_parse_per_token(json_view(pricing, "input_cache_read")),
        .cache_write = cost_parse_per_token(json_view(pricing, "input_cache_write"))};
}

static struct ethos_view find_model_name(const json_t *row)
{
    static const char *const members[] = {"id", "key", "name"};
    struct ethos_view name = {0};
    for (size_t i = 0; i < sizeof members / sizeof *members && name.size == 0; i++)
        name = json_view(row, members[i]);
    return name;
}

int catalog_read(const json_t *document, const char *provider, model_list_fn *each, void *arg,
                 struct ethos_error *error)
{
    const json_t *rows = json_object_get(document, "data");
    size_t i;
    json_t *row;
    if (!json_is_array(rows))
        rows = json_object_get(document, "models");
    if (!json_is_array(rows))
        return err_set(error, ETHOS_MODEL, "%s: the answer is not a list of models", provider);
    if (json_array_size(rows) > CATALOG_MAX_ROWS)
        return err_set(error, ETHOS_LIMIT, "%s: the server lists more than %d models", provider,
                       CATALOG_MAX_ROWS);
    json_array_foreach (rows, i, row) {
        const struct model_row out = {find_model_name(row), find_window(row), find_prices(row)};
        if (out.name.size == 0 || view_starts(json_view(row, "type"), VIEW("embedding")))
            continue;
        int code = each(arg, &out);
        if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}

/* The name begins with the architecture: "llama.context_length". */
int64_t catalog_read_window(const json_t *document)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_object_get(document, "model_info"), name, value)
        if (view_ends(view_str(name), VIEW(".context_length")))
            return read_tokens(value);
    return 0;
}
