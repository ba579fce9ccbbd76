/*
 * providers.c: the servers of models that are known by name.
 */
#include "agent/models/providers.h"

#include <string.h>

#include "base/view.h"

static const struct provider providers[] = {
    {.name = "anthropic",
     .base_url = "https://api.anthropic.com",
     .wire = "anthropic",
     .key_variables = {"ANTHROPIC_API_KEY"},
     .url_variable = "ANTHROPIC_BASE_URL",
     .needs_key = true,
     .port = 443},
    {.name = "openai",
     .base_url = "https://api.openai.com/v1",
     .wire = "openai-chat",
     .key_variables = {"OPENAI_API_KEY"},
     .url_variable = "OPENAI_BASE_URL",
     .needs_key = true,
     .port = 443},
    {.name = "openrouter",
     .base_url = "https://openrouter.ai/api/v1",
     .wire = "openai-chat",
     .key_variables = {"OPENROUTER_API_KEY"},
     .needs_key = true,
     .port = 443},
    {.name = "ollama",
     .base_url = "http://127.0.0.1:11434",
     .wire = "ollama",
     .key_variables = {"OLLAMA_API_KEY"},
     .url_variable = "OLLAMA_HOST",
     .port = 11434},
    {.name = "lmstudio",
     .base_url = "http://127.0.0.1:1234/v1",
     .wire = "openai-chat",
     .list_path = "/api/v1/models", // the other one has no windows
     .port = 1234},
    {.name = "llamacpp",
     .base_url = "http://127.0.0.1:8080/v1",
     .wire = "openai-chat",
     .port = 8080},
    {.name = "openai-compat", .wire = "openai-chat", .port = 80},
};

const struct provider *provider_at(size_t index)
{
    return index < sizeof providers / sizeof *providers ? &providers[index] : NULL;
}

const struct provider *provider_find(const char *name)
{
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++)
        if (strcmp(providers[i].name, name) == 0)
            return &providers[i];
    return NULL;
}
