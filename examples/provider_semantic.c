/*
 * provider_semantic.c: the smallest memory provider that answers by meaning.
 *
 * It keeps entries, one for each text that was added, with a vector of what they say; a question brings those that are
 * nearest to it, and without one the newest are shown. What it means by meaning is modest: how often which three letters
 * follow each other. A real one has an encoder and a database in their place; what stands around them is this.
 *
 *   - ETHOS_PROVIDER_SEMANTIC is announced: nobody expects all that was added to be shown
 *   - scopes are kept apart: nothing of another personality, or of another person, is ever compared
 *   - what is removed is gone from answers at once
 *
 * What it leaves out on purpose: persistence (everything is gone when the process ends), and every optional slot.
 *
 *     cc -shared -fPIC provider_semantic.c -o provider_semantic.so
 *     ethos conformance ./provider_semantic.so
 */
#include <ethos/provider.h>

#include <ctype.h>
#include <string.h>

#define PLACES 512 /* of a vector: one for some of the threes of letters */
#define SHOWN 8    /* entries, at most */
#define NEAR 0.1f  /* the square of the least cosine of an answer */

struct entry {
    char *text;
    size_t size;
    char scope[ETHOS_MAX_SCOPE];
    unsigned char vector[PLACES]; /* counts */
};

struct semantic {
    struct ethos_provider base; /* first, so that the host finds the table */
    const struct ethos_host *host;
    struct entry *entries;
    size_t count;
};

static int fail(struct ethos_error *error, int code, const char *why)
{
    if (error) {
        error->code = code;
        strncpy(error->text, why, sizeof error->text - 1);
        error->text[sizeof error->text - 1] = 0;
        error->hint[0] = 0;
    }
    return code;
}

static void *resize(const struct semantic *self, void *block, size_t size)
{
    return self->host->resize(self->host->arg, block, size);
}

/* ---- meaning --------------------------------------------------------------------------------- */

static void measure(const char *text, size_t size, unsigned char vector[PLACES])
{
    unsigned a = ' ', b = ' ';
    memset(vector, 0, PLACES);
    for (size_t i = 0; i < size; i++) {
        unsigned c = (unsigned char)text[i];
        c = isalnum((int)c) || c > 127 ? (unsigned)tolower((int)c) : ' ';
        unsigned place = (a * 31 * 31 + b * 31 + c) % PLACES;
        if (c != ' ' && vector[place] < 255)
            vector[place]++;
        a = b;
        b = c;
    }
}

/* The square of the cosine of two vectors. */
static float compare(const unsigned char *a, const unsigned char *b)
{
    float both = 0, left = 0, right = 0;
    for (size_t i = 0; i < PLACES; i++) {
        both += (float)a[i] * (float)b[i];
        left += (float)a[i] * (float)a[i];
        right += (float)b[i] * (float)b[i];
    }
    return left > 0 && right > 0 ? both * both / (left * right) : 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int semantic_open(const struct ethos_setup *setup, struct ethos_provider **out_provider,
                         struct ethos_error *error)
{
    const struct ethos_host *host = setup->host;
    struct semantic *self = host->resize(host->arg, NULL, sizeof *self);
    if (!self)
        return fail(error, ETHOS_NOMEM, "out of memory");
    memset(self, 0, sizeof *self);
    self->base.ops = ethos_module.provider;
    self->base.capabilities = ETHOS_PROVIDER_SEMANTIC;
    self->host = host;
    *out_provider = &self->base;
    return ETHOS_OK;
}

static void drop(struct semantic *self, size_t at)
{
    resize(self, self->entries[at].text, 0);
    self->count--;
    memmove(self->entries + at, self->entries + at + 1, (self->count - at) * sizeof *self->entries);
}

static void semantic_close(struct ethos_provider *provider)
{
    struct semantic *self = (struct semantic *)provider;
    while (self->count > 0)
        drop(self, self->count - 1);
    resize(self, self->entries, 0);
    resize(self, self, 0);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int append(const struct semantic *self, struct ethos_text *text, const struct entry *entry)
{
    size_t size = text->size + entry->size + 2;
    if (text->capacity < size) {
        char *grown = resize(self, text->data, 2 * size);
        if (!grown)
            return ETHOS_NOMEM;
        text->data = grown;
        text->capacity = 2 * size;
    }
    memcpy(text->data + text->size, entry->text, entry->size);
    text->size += entry->size;
    text->data[text->size++] = '\n';
    text->data[text->size] = 0;
    text->total = text->size;
    return ETHOS_OK;
}

/* The entry of a scope that is nearest to the question and was not taken yet; without a question the newest. */
static const struct entry *find_best(const struct semantic *self, const char *scope,
                                     const unsigned char *question,
                                     const struct entry *taken[SHOWN], size_t count)
{
    const struct entry *best = NULL;
    float most = question ? NEAR : 0;
    for (size_t i = 0; i < self->count; i++) {
        const struct entry *entry = &self->entries[i];
        float near = question ? compare(question, entry->vector) : 1;
        int known = 0;
        for (size_t k = 0; k < count; k++)
            known |= taken[k] == entry;
        if (known || strcmp(entry->scope, scope) != 0 || near < most)
            continue;
        best = entry;
        most = near;
    }
    return best;
}

/* The host guards, cuts and renders; a provider hands over the raw text. */
static int show(const struct semantic *self, const char *scope, const char *key,
                const unsigned char *question, struct ethos_section *section)
{
    const struct entry *taken[SHOWN];
    size_t count = 0;
    struct ethos_text *text = &section->text;
    text->size = text->offset = text->total = 0;
    text->mtime_ms = -1;
    text->revision[0] = 0;
    while (count < SHOWN && (taken[count] = find_best(self, scope, question, taken, count)))
        count++;
    for (size_t i = 0; i < count; i++)
        if (append(self, text, taken[i]) != ETHOS_OK)
            return ETHOS_NOMEM;
    if (count == 0)
        return ETHOS_OK;
    strncpy(section->scope, scope, sizeof section->scope - 1);
    strncpy(section->key, key, sizeof section->key - 1);
    section->code = ETHOS_OK;
    return ETHOS_OK;
}

/* Who somebody is does not depend on the question. */
static int semantic_prefetch(struct ethos_provider *provider, const struct ethos_context *context,
                             const struct ethos_read_how *how, struct ethos_section *sections,
                             size_t count, struct ethos_error *error)
{
    const struct semantic *self = (const struct semantic *)provider;
    unsigned char question[PLACES];
    int asks = context->query && *context->query;
    (void)how;
    if (count < ETHOS_SECTIONS)
        return ETHOS_OK;
    if (asks)
        measure(context->query, strlen(context->query), question);
    if (show(self, context->user_scope, "USER.md", NULL, &sections[ETHOS_SECTION_USER]) ||
        show(self, context->memory_scope, "MEMORY.md", asks ? question : NULL,
             &sections[ETHOS_SECTION_MEMORY]))
        return fail(error, ETHOS_NOMEM, "out of memory");
    return ETHOS_OK;
}

/* ---- changing -------------------------------------------------------------------------------- */

static int add(struct semantic *self, const struct ethos_update *update)
{
    struct ethos_view text = update->text;
    while (text.size > 0 && isspace((unsigned char)text.data[text.size - 1]))
        text.size--;
    while (text.size > 0 && isspace((unsigned char)*text.data)) {
        text.data++;
        text.size--;
    }
    if (text.size == 0)
        return ETHOS_OK;
    struct entry *grown = resize(self, self->entries, (self->count + 1) * sizeof *grown);
    if (!grown)
        return ETHOS_NOMEM;
    self->entries = grown;
    struct entry *entry = &grown[self->count];
    memset(entry, 0, sizeof *entry);
    entry->text = resize(self, NULL, text.size);
    if (!entry->text)
        return ETHOS_NOMEM;
    memcpy(entry->text, text.data, text.size);
    entry->size = text.size;
    strncpy(entry->scope, update->scope, sizeof entry->scope - 1);
    measure(text.data, text.size, entry->vector);
    self->count++;
    return ETHOS_OK;
}

static int contains(const struct entry *entry, struct ethos_view text)
{
    for (size_t i = 0; i + text.size <= entry->size; i++)
        if (memcmp(entry->text + i, text.data, text.size) == 0)
            return 1;
    return 0;
}

/* Entries that hold a text; all where it is empty. */
static void take_out(struct semantic *self, const char *scope, struct ethos_view text)
{
    for (size_t i = self->count; i > 0; i--)
        if (strcmp(self->entries[i - 1].scope, scope) == 0 &&
            (text.size == 0 || contains(&self->entries[i - 1], text)))
            drop(self, i - 1);
}

static int semantic_sync(struct ethos_provider *provider, const struct ethos_context *context,
                         const struct ethos_update *updates, size_t count,
                         const struct ethos_sync_how *how, struct ethos_error *error)
{
    static const struct ethos_view all = {"", 0};
    struct semantic *self = (struct semantic *)provider;
    int code = ETHOS_OK;
    (void)context;
    (void)how;
    for (size_t i = 0; i < count && code == ETHOS_OK; i++) {
        enum ethos_action action = updates[i].action;
        if (action == ETHOS_ACTION_REMOVE && updates[i].text.size > 0)
            take_out(self, updates[i].scope, updates[i].text);
        else if (action == ETHOS_ACTION_REPLACE || action == ETHOS_ACTION_DELETE)
            take_out(self, updates[i].scope, all);
        if (action == ETHOS_ACTION_ADD || action == ETHOS_ACTION_REPLACE)
            code = add(self, &updates[i]);
    }
    return code == ETHOS_OK ? code : fail(error, code, "out of memory");
}

static const struct ethos_provider_ops semantic_ops = {
    .abi = ETHOS_ABI,
    .name = "semantic",
    .open = semantic_open,
    .close = semantic_close,
    .prefetch = semantic_prefetch,
    .sync = semantic_sync,
};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "semantic",
    .provider = &semantic_ops,
};
