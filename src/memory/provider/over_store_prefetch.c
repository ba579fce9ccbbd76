/*
 * over_store_prefetch.c: reads the sections of the memory block from a store.
 *
 * Reads one text after the other where that is cheap, and only those that are needed; a store that
 * can read many at once is called once for all texts that may be needed.
 */
#include <string.h>

#include "base/err.h"
#include "memory/provider/over_store.h"

static void name_section(struct ethos_section *section, const char *scope, const char *key)
{
    memcpy(section->scope, scope, strlen(scope) + 1);
    memcpy(section->key, key, strlen(key) + 1);
}

static void read_section(struct ethos_store *store, const char *scope, const char *key,
                         const struct ethos_read_how *how, struct ethos_section *section)
{
    section->code = ETHOS_NOTFOUND;
    if (!scope)
        return;
    name_section(section, scope, key);
    section->code = store->ops->read(store, scope, key, how, &section->text, &section->error);
}

static void read_sections(struct ethos_store *store, const struct ethos_context *context,
                          const struct ethos_read_how *how, struct ethos_section *sections)
{
    read_section(store, context->user_scope, PROFILE_KEY, how, &sections[ETHOS_SECTION_USER]);
    for (int i = 0; i < 2 && sections[ETHOS_SECTION_USER].code == ETHOS_NOTFOUND; i++)
        if (context->profile_fallback[i])
            read_section(store, context->profile_fallback[i], PROFILE_KEY, how,
                         &sections[ETHOS_SECTION_USER]);
    read_section(store, context->memory_scope, LOG_KEY, how, &sections[ETHOS_SECTION_MEMORY]);
    if (context->workspace_shown)
        read_section(store, context->workspace_scope, LOG_KEY, how,
                     &sections[ETHOS_SECTION_WORKSPACE]);
    read_section(store, context->global_scope, LOG_KEY, how, &sections[ETHOS_SECTION_GLOBAL]);
}

/* Every place where a section may be, best first. */
struct places {
    struct ethos_section found[ETHOS_SECTIONS + 2]; /* a profile has two others */
    enum ethos_section_id ids[ETHOS_SECTIONS + 2];
    size_t count;
};

static void add_section_place(struct places *places, enum ethos_section_id id, const char *scope,
                              const char *key)
{
    if (!scope)
        return;
    name_section(&places->found[places->count], scope, key);
    places->ids[places->count++] = id;
}

/* For each section, the first place that has a text, or the last. */
static void pick_section(const struct ethos_host *host, struct places *places,
                         struct ethos_section *sections)
{
    for (size_t i = 0; i < places->count; i++) {
        struct ethos_section *section = &sections[places->ids[i]];
        struct ethos_section *found = &places->found[i];
        struct ethos_section left = section->code == ETHOS_NOTFOUND ? *section : *found;
        if (section->code == ETHOS_NOTFOUND)
            *section = *found;
        over_free_text(host, &left.text);
    }
}

/* Reads all of them in one call: for a remote store, that is what a read costs. */
static int gather_sections(const struct over_store *self, const struct ethos_context *context,
                           const struct ethos_read_how *how, struct ethos_section *sections,
                           struct ethos_error *error)
{
    struct places places = {.count = 0};
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        sections[i].code = ETHOS_NOTFOUND;
    add_section_place(&places, ETHOS_SECTION_USER, context->user_scope, PROFILE_KEY);
    for (int i = 0; i < 2; i++)
        add_section_place(&places, ETHOS_SECTION_USER, context->profile_fallback[i], PROFILE_KEY);
    add_section_place(&places, ETHOS_SECTION_MEMORY, context->memory_scope, LOG_KEY);
    if (context->workspace_shown)
        add_section_place(&places, ETHOS_SECTION_WORKSPACE, context->workspace_scope, LOG_KEY);
    add_section_place(&places, ETHOS_SECTION_GLOBAL, context->global_scope, LOG_KEY);
    int code = self->store->ops->gather(self->store, how, places.found, places.count, error);
    if (code == ETHOS_OK)
        pick_section(self->host, &places, sections);
    for (size_t i = 0; code != ETHOS_OK && i < places.count; i++)
        over_free_text(self->host, &places.found[i].text);
    return code;
}

int over_prefetch(struct ethos_provider *self, const struct ethos_context *context,
                  const struct ethos_read_how *how, struct ethos_section *sections, size_t count,
                  struct ethos_error *error)
{
    const struct over_store *over = (const struct over_store *)self;
    if (count < ETHOS_SECTIONS)
        return err_set(error, ETHOS_INTERNAL, "prefetch: too few sections");
    if (over->store->ops->gather)
        return gather_sections(over, context, how, sections, error);
    read_sections(over->store, context, how, sections);
    return ETHOS_OK;
}
