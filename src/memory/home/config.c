/*
 * config.c: the table of settings, and reading and editing config.yaml.
 */
#include "memory/home/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/choice.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text/suggest.h"
#include "base/view.h"

#include <ethos/limits.h>

#define BOTH (CONFIG_HOME | CONFIG_PERSONALITY)
#define KEPT (CONFIG_HOME | CONFIG_KEPT)
#define PROVIDER "memory.provider"
#define VECTOR (BOTH | CONFIG_VECTOR)
#define PLACE (BOTH | CONFIG_PLACE)

const struct config_option config_options[] = {
    {"personality", CONFIG_STRING, CONFIG_HOME, "default", NULL, 0, 0, "the active personality"},
    {"user.id", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0, "your user id, instead of the map's"},
    {"memory.provider", CONFIG_STRING, PLACE, "markdown", NULL, 0, 0,
     "backend: markdown, postgres, redis, remote, or the absolute path of a shared object; vector: "
     "answers by meaning, over memory.options.store"},
    {"memory", CONFIG_STRING, BOTH, NULL, NULL, 0, 0, "older name of memory.provider"},
    {"memory.options.offline", CONFIG_CHOICE, BOTH, "fail", "fail|cached", 0, 0,
     "when a backend is unreachable: fail reads, or show the last known text"},
    {"memory.options.onOffline", CONFIG_CHOICE, BOTH, "refuse", "refuse|queue", 0, 0,
     "when a backend is unreachable: refuse changes, or queue them until it is back"},
    {VECTOR_STORE, CONFIG_STRING, VECTOR, "markdown", NULL, 0, 0,
     "with memory.provider vector: the backend that keeps the text"},
    {VECTOR_OPTION "topK", CONFIG_INTEGER, VECTOR, "12", NULL, 0, 100,
     "with vector: maximum number of entries shown because they match the question"},
    {VECTOR_OPTION "chars", CONFIG_INTEGER, VECTOR, "4000", NULL, 0, ETHOS_CAP_MAX_CH,
     "with vector: maximum number of characters of such entries"},
    {VECTOR_OPTION "tailChars", CONFIG_INTEGER, VECTOR, "2000", NULL, 100, ETHOS_CAP_MAX_CH,
     "with vector: characters of the newest entries, which are always shown"},
    {VECTOR_OPTION "embedder", CONFIG_CHOICE, VECTOR, "local", "local|openai|ollama", 0, 0,
     "with vector: what compares meanings: this machine, or a remote embedding model"},
    {VECTOR_OPTION "embedUrl", CONFIG_STRING, VECTOR, NULL, NULL, 0, 0,
     "with embedder: URL of the server, if not the default"},
    {VECTOR_OPTION "embedModel", CONFIG_STRING, VECTOR, NULL, NULL, 0, 0,
     "with embedder: name of the model, such as nomic-embed-text"},
    {VECTOR_OPTION "embedConsent", CONFIG_SWITCH, VECTOR, "no", NULL, 0, 0,
     "with embedder: whether entries may be sent there (without secrets)"},
    {"memory.options.*", CONFIG_STRING, BOTH, NULL, NULL, 0, 0, "settings of the backend"},
    {"sessions.provider", CONFIG_CHOICE, CONFIG_HOME | CONFIG_PLACE, "auto", "auto|sqlite", 0, 0,
     "what stores conversations and API keys: the home's backend if it can, or SQLite in the home"},
    {"memoryScope", CONFIG_CHOICE, PLACE, "per-personality", "per-personality|global", 0, 0,
     "which MEMORY.md: the personality's own, or one shared by all"},
    {"userScope", CONFIG_CHOICE, PLACE, "user", "user|global|personality", 0, 0,
     "which USER.md: the person's (default), the home's, or the personality's"},
    {"workspaceMemory", CONFIG_CHOICE, CONFIG_HOME, "auto", "auto|on|off", 0, 0,
     "whether prefetch shows the workspace's index"},
    {"globalMemory", CONFIG_CHOICE, CONFIG_HOME, "auto", "auto|on|off", 0, 0,
     "whether prefetch shows the index of global notes; auto: once there are some"},
    {"workspace.marker", CONFIG_SWITCH, CONFIG_HOME, "on", NULL, 0, 0,
     "mark the git directory so that a moved folder keeps its memory"},
    {"prefetch.maxChars", CONFIG_INTEGER, CONFIG_HOME, "20000", NULL, ETHOS_CAP_MIN_CH,
     ETHOS_CAP_MAX_CH, "maximum characters of the memory block"},
    {"prefetch.recallChars", CONFIG_INTEGER, CONFIG_HOME, "2000", NULL, 0, ETHOS_CAP_MAX_CH,
     "characters of the block reserved for what a query finds; 0: none"},
    {"recall.languages", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "language besides English whose word forms a question matches: german, french, ..."},
    {"recall.meaning", CONFIG_SWITCH, CONFIG_HOME, "on", NULL, 0, 0,
     "whether a question also finds other words with the same meaning"},
    {"prefetch.truncate", CONFIG_CHOICE, CONFIG_HOME, "balanced", "balanced|tail", 0, 0,
     "what is cut when memory exceeds that"},
    {"prefetch.guard", CONFIG_SWITCH, CONFIG_HOME, "on", NULL, 0, 0,
     "replace injected instructions and secrets in the block"},
    {"hooks.record", CONFIG_SWITCH, CONFIG_HOME, "on", NULL, 0, 0,
     "whether hooks of agents record conversations as sessions"},
    {"sessions.across", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether agents may read conversations of other projects"},
    {"notes.staleDays", CONFIG_INTEGER, CONFIG_HOME, "90", NULL, 1, 36500,
     "days after which an unverified note counts as stale"},
    {"paths.allow", CONFIG_PATHS, CONFIG_HOME, NULL, NULL, 0, 0,
     "directories outside the home that links may lead into"},
    {"durability", CONFIG_CHOICE, CONFIG_HOME, "durable", "durable|fast", 0, 0,
     "whether a write waits until it would survive a power cut"},
    {"write_in_place", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "overwrite files that cannot be replaced: with several names, or mounted"},
    {"secrets.onWrite", CONFIG_CHOICE, CONFIG_HOME, "redact", "block|redact|warn|keep", 0, 0,
     "what happens to secrets in what agents write, before it is written"},
    {"serve.port", CONFIG_INTEGER, CONFIG_HOME, "3000", NULL, 1, 65535, "port of the server"},
    {"serve.hosts", CONFIG_LIST, CONFIG_HOME, NULL, NULL, 0, 0,
     "additional host names it answers to"},
    {"serve.origins", CONFIG_LIST, CONFIG_HOME, NULL, NULL, 0, 0, "web origins that may call it"},
    {"serve.turns", CONFIG_INTEGER, CONFIG_HOME, "100", NULL, 1, 1000,
     "turns of conversations that the server runs at once"},
    {"memoryApproval.mode", CONFIG_CHOICE, CONFIG_HOME, "off", "off|automated|all", 0, 0,
     "which writes of agents need your approval: none, those of unattended programs, or all"},
    {"memoryApproval.cap", CONFIG_INTEGER, CONFIG_HOME, "200", NULL, 1, 200,
     "writes that may wait in each scope; beyond that, the oldest expires"},
    {"memoryApproval.ttlDays", CONFIG_INTEGER, CONFIG_HOME, "30", NULL, 1, 30,
     "days that a write may wait"},
    {"memoryCapture.*", CONFIG_STRING, KEPT, NULL, NULL, 0, 0, "kept for other programs"},
    {"memoryConsolidation.*", CONFIG_STRING, KEPT, NULL, NULL, 0, 0, "kept for other programs"},
    {"memoryVault.*", CONFIG_STRING, KEPT, NULL, NULL, 0, 0, "kept for other programs"},
    {"display.memory_notices", CONFIG_STRING, KEPT, NULL, NULL, 0, 0, "kept for other programs"},
    {"provider", CONFIG_STRING, BOTH, NULL, NULL, 0, 0,
     "provider of the models: anthropic, openai, openrouter, ollama, lmstudio, llamacpp, "
     "openai-compat"},
    {"model", CONFIG_STRING, BOTH, NULL, NULL, 0, 0, "name of the model, as the server knows it"},
    {"model.default", CONFIG_STRING, CONFIG_PERSONALITY, NULL, NULL, 0, 0, "the same"},
    {"baseUrl", CONFIG_STRING, BOTH, NULL, NULL, 0, 0, "URL of the server, if not the default"},
    {"apiKey", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "key of the provider; better stored in keys.yaml, by ethos setup"},
    {"model.wire", CONFIG_CHOICE, BOTH, NULL, "openai-chat|anthropic|ollama", 0, 0,
     "the protocol of the server, if not the provider's usual one"},
    {"model.window", CONFIG_INTEGER, BOTH, NULL, NULL, 1024, 100000000,
     "tokens of the context window, if the server does not report it"},
    {"model.maxTokens", CONFIG_INTEGER, BOTH, NULL, NULL, 1, 10000000,
     "maximum tokens of one answer"},
    {"model.numCtx", CONFIG_INTEGER, BOTH, NULL, NULL, 1024, 100000000,
     "context window in tokens to request from Ollama"},
    {"model.priceInput", CONFIG_STRING, BOTH, NULL, NULL, 0, 0, "USD per million input tokens"},
    {"model.priceOutput", CONFIG_STRING, BOTH, NULL, NULL, 0, 0, "USD per million output tokens"},
    {"model.caFile", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "certificates to trust instead of the system's"},
    {"model.allowHttp", CONFIG_LIST, CONFIG_HOME, NULL, NULL, 0, 0,
     "other hosts that may be used without TLS"},
    {"model.connectSeconds", CONFIG_INTEGER, CONFIG_HOME, NULL, NULL, 1, 3600,
     "seconds to connect (default: 10)"},
    {"model.firstByteSeconds", CONFIG_INTEGER, CONFIG_HOME, NULL, NULL, 1, 86400,
     "seconds until an answer begins (default: 120, on this machine 600)"},
    {"model.idleSeconds", CONFIG_INTEGER, CONFIG_HOME, NULL, NULL, 1, 86400,
     "seconds of silence in an answer (default: 120)"},
    {"agent.maxSteps", CONFIG_INTEGER, CONFIG_HOME, "50", NULL, 1, 1000,
     "maximum answers in one turn, each followed by tools"},
    {"chat.wrap", CONFIG_CHOICE, CONFIG_HOME, "words", "words|off", 0, 0,
     "how ethos chat wraps the text of answers: at words, or as the terminal does"},
    {"chat.plain", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether ethos chat works line by line, without moving the cursor"},
    {"chat.bell", CONFIG_SWITCH, CONFIG_HOME, "on", NULL, 0, 0,
     "whether ethos chat rings the bell when an answer is complete"},
    {"chat.title", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether ethos chat sets the title of the terminal window"},
    {"channels.telegram.enabled", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether ethos gateway answers on Telegram"},
    {"channels.telegram.apiRoot", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "URL of your own Bot API server"},
    {"channels.telegram.personality", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "personality that answers in conversations that begin there"},
    {"channels.telegram.workspace", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "folder whose memory is used there (default: none)"},
    {"channels.telegram.tools", CONFIG_CHOICE, CONFIG_HOME, "memory", "memory|files", 0, 0,
     "tools of the model there: memory alone, or reading the workspace's files as well"},
    {"channels.telegram.groups", CONFIG_LIST, CONFIG_HOME, NULL, NULL, 0, 0,
     "ids of the group chats it answers in"},
    {"channels.telegram.groupMemory", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether those who may use memory have it in groups, too"},
    {"channels.email.enabled", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether ethos gateway answers emails"},
    {"channels.email.imap", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "server for incoming emails: imaps://HOST"},
    {"channels.email.smtp", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "server for outgoing emails: smtps://HOST, or smtp://HOST:587"},
    {"channels.email.user", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "account name on both servers"},
    {"channels.email.from", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "sender address of answers (default: the user)"},
    {"channels.email.authserv", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "host whose Authentication-Results identify senders; required to answer anybody"},
    {"channels.email.personality", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "personality that answers in conversations that begin there"},
    {"channels.email.workspace", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "folder whose memory is used there (default: none)"},
    {"channels.email.tools", CONFIG_CHOICE, CONFIG_HOME, "memory", "memory|files", 0, 0,
     "tools of the model there: memory alone, or reading the workspace's files as well"},
    {"channels.slack.enabled", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether ethos gateway answers on Slack"},
    {"channels.slack.apiRoot", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "URL of a server with the Slack API"},
    {"channels.slack.events", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether events also arrive over HTTP (Events API)"},
    {"channels.slack.eventsPort", CONFIG_INTEGER, CONFIG_HOME, "3100", NULL, 1, 65535,
     "local port for these events"},
    {"channels.slack.personality", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "personality that answers in conversations that begin there"},
    {"channels.slack.workspace", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "folder whose memory is used there (default: none)"},
    {"channels.slack.tools", CONFIG_CHOICE, CONFIG_HOME, "memory", "memory|files", 0, 0,
     "tools of the model there: memory alone, or reading the workspace's files as well"},
    {"channels.slack.groups", CONFIG_LIST, CONFIG_HOME, NULL, NULL, 0, 0,
     "ids of the channels it answers in"},
    {"channels.slack.groupMemory", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether those who may use memory have it in channels, too"},
    {"channels.discord.enabled", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether ethos gateway answers on Discord"},
    {"channels.discord.apiRoot", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "URL of a server with the Discord API"},
    {"channels.discord.personality", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "personality that answers in conversations that begin there"},
    {"channels.discord.workspace", CONFIG_STRING, CONFIG_HOME, NULL, NULL, 0, 0,
     "folder whose memory is used there (default: none)"},
    {"channels.discord.tools", CONFIG_CHOICE, CONFIG_HOME, "memory", "memory|files", 0, 0,
     "tools of the model there: memory alone, or reading the workspace's files as well"},
    {"channels.discord.groups", CONFIG_LIST, CONFIG_HOME, NULL, NULL, 0, 0,
     "ids of the channels, threads or servers it answers in"},
    {"channels.discord.groupMemory", CONFIG_SWITCH, CONFIG_HOME, "off", NULL, 0, 0,
     "whether those who may use memory have it in channels, too"},
    {"name", CONFIG_STRING, CONFIG_PERSONALITY, NULL, NULL, 0, 0, "how the personality is called"},
    {"description", CONFIG_STRING, CONFIG_PERSONALITY, NULL, NULL, 0, 0, "what it is for"},
    {NULL, CONFIG_STRING, 0, NULL, NULL, 0, 0, NULL},
};

const struct config_option *config_find(const char *key)
{
    for (const struct config_option *row = config_options; row->key; row++) {
        size_t size = strlen(row->key);
        bool family = size > 1 && row->key[size - 1] == '*';
        if (family ? strncmp(key, row->key, size - 1) == 0 && key[size - 1] != 0
                   : strcmp(key, row->key) == 0)
            return row;
    }
    return NULL;
}

const char *config_nearest(const char *key)
{
    const char *names[sizeof config_options / sizeof *config_options];
    size_t count = 0;
    for (const struct config_option *row = config_options; row->key; row++)
        names[count++] = row->key;
    names[count] = NULL;
    return nearest_name(key, names);
}

static bool parse_integer(const char *value, int64_t *out)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    bool plain = *value == '-' || (*value >= '0' && *value <= '9'); // strtoll skips blanks
    if (errno || !plain || end == value || *end)
        return false;
    *out = number;
    return true;
}

/* -1 if it is neither. */
static int parse_switch(const char *value)
{
    if (choice_has("on|true|yes|1", view_str(value)))
        return 1;
    return choice_has("off|false|no|0", view_str(value)) ? 0 : -1;
}

/* The meaning of a permission must not depend on the current directory. */
static int check_paths(const char *what, const char *value, struct ethos_error *error)
{
    for (const char *at = value; *at; at += *at == ',') {
        at += strspn(at, " ");
        size_t size = strcspn(at, ",");
        if (size > 0 && *at != '/')
            return err_hint(error,
                            err_set(error, ETHOS_INVALID, "%s: '%.*s' is not an absolute path",
                                    what, (int)size, at),
                            "start it with /");
        at += size;
    }
    return ETHOS_OK;
}

int config_check(const struct config_option *option, const char *what, const char *value,
                 struct ethos_error *error)
{
    int64_t number;
    char words[128];
    switch (option->type) {
    case CONFIG_CHOICE:
        choice_text(option->choices, words, sizeof words);
        if (!choice_has(option->choices, view_str(value)))
            return err_hint(error,
                            err_set(error, ETHOS_INVALID, "%s: '%s' is not a choice", what, value),
                            "use %s", words);
        return ETHOS_OK;
    case CONFIG_SWITCH:
        if (parse_switch(value) < 0)
            return err_hint(error,
                            err_set(error, ETHOS_INVALID, "%s: '%s' is not a choice", what, value),
                            "use on or off");
        return ETHOS_OK;
    case CONFIG_INTEGER:
        if (!parse_integer(value, &number) || number < option->min || number > option->max)
            return err_hint(
                error, err_set(error, ETHOS_INVALID, "%s: '%s' is out of range", what, value),
                "use a number from %lld to %lld", (long long)option->min, (long long)option->max);
        return ETHOS_OK;
    case CONFIG_PATHS:
        return check_paths(what, value, error);
    case CONFIG_STRING:
    case CONFIG_LIST:
        break;
    }
    return ETHOS_OK;
}

/* "memory.options:" with no lines below it, such as is left when the last one was taken out, says nothing. */
static bool is_empty_block(const struct yaml_pair *pair)
{
    size_t size = strlen(pair->key);
    for (const struct config_option *row = config_options; row->key; row++)
        if (strncmp(row->key, pair->key, size) == 0 && row->key[size] == '.')
            return yaml_is_null(view_str(pair->value));
    return false;
}

/*
 * The known key that an unknown one probably means, if it says where memory is; "" for another
 * below "memory.".
 */
static const char *meant_place(const char *key)
{
    struct ethos_view name = view_str(key);
    for (const struct config_option *row = config_options; row->key; row++)
        if ((row->where & CONFIG_PLACE) && nearest_slip(name, view_str(row->key)))
            return row->key;
    return nearest_slip(view_of(key, strcspn(key, ".")), VIEW("memory")) ? "" : NULL;
}

/* Other unknown keys are preserved: they may belong to another program or a later version. */
static int check_unknown(const struct yaml_pair *pair, const char *name, unsigned where,
                         struct ethos_error *error)
{
    const char *meant = meant_place(pair->key);
    if (!meant)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_INVALID, "%s:%u: no such setting: %s", name, pair->line,
                       pair->key);
    const char *means = *meant ? meant : "memory.provider or memory.options.NAME";
    if (where & CONFIG_HOME)
        return err_hint(error, code, "did you mean %s? To remove it: ethos config unset %s", means,
                        pair->key);
    return err_hint(error, code, "did you mean %s?", means);
}

static int check_table(const struct config *self, const char *name, unsigned where,
                       struct ethos_error *error)
{
    for (size_t i = 0; i < self->table.count; i++) {
        const struct yaml_pair *pair = &self->table.pairs[i];
        const struct config_option *option = config_find(pair->key);
        char what[256];
        int code = ETHOS_OK;
        snprintf(what, sizeof what, "%s:%u: %s", name, pair->line, pair->key);
        if (!option && !is_empty_block(pair))
            code = check_unknown(pair, name, where, error);
        else if (option && (option->where & where))
            code = config_check(option, what, pair->value, error);
        if (code != ETHOS_OK)
            return code;
    }
    return ETHOS_OK;
}

static int parse_text(struct ethos_view text, const char *name, struct arena *arena,
                      struct yaml_table *table, struct ethos_error *error)
{
    int code = yaml_parse(text, name, arena, table, error);
    return code == ETHOS_INVALID ? err_hint(error, code, "edit the file by hand") : code;
}

static int parse_file(struct config *self, const char *name, unsigned where, struct ethos_view text,
                      struct ethos_error *error)
{
    TRY(parse_text(text, name, &self->arena, &self->table, error));
    return check_table(self, name, where, error);
}

int config_load(struct config *self, int dir, const char *name, unsigned where,
                struct ethos_error *error)
{
    struct home_stamp stamp;
    if (self->loaded) {
        home_stamp(dir, name, &stamp);
        if (memcmp(&stamp, &self->stamp, sizeof stamp) == 0)
            return ETHOS_OK;
    }

    config_release(self);
    struct str text;
    str_init(&text, ETHOS_MAX_YAML_BYTES + 1);
    int code = home_read(dir, name, ETHOS_MAX_YAML_BYTES, &text, &self->stamp, error);
    if (code == ETHOS_NOTFOUND)
        code = ETHOS_OK;
    else if (code == ETHOS_OK)
        code = parse_file(self, name, where, str_view(&text), error);
    str_release(&text);
    if (code != ETHOS_OK)
        config_release(self);
    self->loaded = code == ETHOS_OK;
    return code;
}

void config_release(struct config *self)
{
    arena_release(&self->arena);
    *self = (struct config){0};
}

const char *config_own(const struct config *self, const char *key)
{
    if (!self)
        return NULL;
    const char *value = yaml_get(&self->table, key);
    if (value || strcmp(key, "memory.provider") != 0)
        return value;
    value = yaml_get(&self->table,
                     "memory"); // the reference's scalar form, or a block without lines
    return value && *value ? value : NULL;
}

const char *config_get(const struct config *home, const struct config *personality, const char *key)
{
    const struct config_option *option = config_find(key);
    bool own = option && (option->where & CONFIG_PERSONALITY);
    const char *value = own ? config_own(personality, key) : NULL;
    if (!value)
        value = config_own(home, key);
    return value || !option ? value : option->fallback;
}

bool config_is_vector(const struct config *home, const struct config *personality)
{
    return strcmp(config_get(home, personality, PROVIDER), VECTOR_NAME) == 0;
}

/* The backend that one file configures, or NULL. */
static const char *own_backend(const struct config *self)
{
    const char *name = config_own(self, PROVIDER);
    return name && strcmp(name, VECTOR_NAME) == 0 ? config_own(self, VECTOR_STORE) : name;
}

bool config_owns_backend(const struct config *personality)
{
    return own_backend(personality) != NULL;
}

const char *config_backend(const struct config *home, const struct config *personality)
{
    const char *own = own_backend(personality);
    own = own ? own : own_backend(home);
    return own ? own : config_find(PROVIDER)->fallback;
}

bool config_is_vector_option(const char *provider, const char *key)
{
    const struct config_option *option = config_find(key);
    return option && (option->where & CONFIG_VECTOR) && provider[0] != '/';
}

int64_t config_integer(const struct config *home, const struct config *personality, const char *key)
{
    const char *value = config_get(home, personality, key);
    int64_t number = 0;
    if (value)
        parse_integer(value, &number);
    return number;
}

bool config_switch(const struct config *home, const struct config *personality, const char *key)
{
    const char *value = config_get(home, personality, key);
    return value && parse_switch(value) == 1;
}

void config_unknown(const struct config *self, config_unknown_fn *each, void *arg)
{
    for (size_t i = 0; i < self->table.count; i++) {
        const struct yaml_pair *pair = &self->table.pairs[i];
        if (!config_find(pair->key) && !is_empty_block(pair))
            each(arg, pair);
    }
}

static void replace_value(struct ethos_view text, const struct yaml_pair *pair, const char *value,
                          struct str *out)
{
    str_add(out, view_of(text.data, pair->start));
    if (pair->start == pair->end)
        str_addc(out, ' ');
    yaml_quote(value, out);
    str_add(out, view_from(text, pair->end));
}

static void append_config_line(struct ethos_view text, const char *key, const char *value,
                               struct str *out)
{
    str_add(out, text);
    if (text.size > 0 && text.data[text.size - 1] != '\n')
        str_addc(out, '\n');
    str_printf(out, "%s: ", key);
    yaml_quote(value, out);
    str_addc(out, '\n');
}

static void drop_line(struct ethos_view text, const struct yaml_pair *pair, struct str *out)
{
    size_t start = pair->start;
    while (start > 0 && text.data[start - 1] != '\n')
        start--;
    const char *end = memchr(text.data + pair->end, '\n', text.size - pair->end);
    str_add(out, view_of(text.data, start));
    str_add(out, end ? view_from(text, (size_t)(end - text.data) + 1) : VIEW(""));
}

/* Removes names of blocks that have become empty. */
static size_t count_emptied(const struct yaml_table *before, const struct yaml_table *after,
                            const char *key)
{
    size_t count = 0;
    for (size_t i = 0; i < after->count; i++) {
        const struct yaml_pair *pair = &after->pairs[i];
        size_t size = strlen(pair->key);
        count += !*pair->value && strncmp(key, pair->key, size) == 0 && key[size] == '.' &&
                 !yaml_find(before, pair->key);
    }
    return count;
}

static bool same_pairs(const struct yaml_table *before, const struct yaml_table *after,
                       const char *key, const char *value)
{
    size_t kept = 0;
    for (size_t i = 0; i < before->count; i++) {
        const struct yaml_pair *pair = &before->pairs[i];
        const char *now = yaml_get(after, pair->key);
        bool is_key = strcmp(pair->key, key) == 0;
        if (!is_key && (!now || strcmp(now, pair->value) != 0))
            return false;
        kept += !is_key;
    }
    const char *now = yaml_get(after, key);
    if (!value)
        return !now && after->count == kept + count_emptied(before, after, key);
    return after->count == kept + 1 && now && strcmp(now, value) == 0;
}

/*
 * Checks that the new text makes exactly the one change. Not every file can be changed by one line.
 */
static int check_edit(struct ethos_view text, const char *what, const char *key, const char *value,
                      struct arena *arena, const struct yaml_table *before,
                      struct ethos_error *error)
{
    struct yaml_table after;
    int code = yaml_parse(text, what, arena, &after, error);
    if (code == ETHOS_NOMEM || (code == ETHOS_OK && same_pairs(before, &after, key, value)))
        return code;
    code = err_set(error, ETHOS_UNSUPPORTED, "%s: %s cannot be set in a file with this structure",
                   what, key);
    return err_hint(error, code, "edit the file by hand");
}

int config_edit(struct ethos_view text, const char *what, const char *key, const char *value,
                struct str *out, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct yaml_table table;
    arena_init(&arena);
    int code = parse_text(text, what, &arena, &table, error);
    const struct yaml_pair *pair = code == ETHOS_OK ? yaml_find(&table, key) : NULL;
    if (pair && !pair->plain) {
        code = err_set(error, ETHOS_UNSUPPORTED, "%s:%u: %s is not on one line", what, pair->line,
                       key);
        err_hint(error, code, "edit the file by hand");
    } else if (pair && value) {
        replace_value(text, pair, value, out);
    } else if (pair) {
        drop_line(text, pair, out);
    } else if (code == ETHOS_OK && value) {
        append_config_line(text, key, value, out);
    } else if (code == ETHOS_OK) {
        str_add(out, text);
    }
    if (code == ETHOS_OK && str_code(out) == ETHOS_LIMIT)
        code = err_set(error, ETHOS_LIMIT, "%s: too large", what);
    else if (code == ETHOS_OK && str_code(out) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = check_edit(str_view(out), what, key, value, &arena, &table, error);
    return code;
}
