/*
 * handle.c: the handle: its home, configuration and opened backends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/handle_internal.h"
#include "memory/home/ephemeral.h"
#include "memory/offline/offline.h"
#include "memory/provider/missing_slots.h"
#include "memory/scope_router.h"

#define PATH_LIMIT 4096 /* bytes */

/* ---- opening and closing ------------------------------------------------------------------- */

/* The handle owns the injected backend from the start, so that a failure frees it too. */
static int adopt_injected(struct ethos *self, const struct ethos_options *options,
                          struct ethos_error *error)
{
    if (options->store && options->provider) {
        self->injected = options->provider;
        options->store->ops->close(options->store);
        return err_set(error, ETHOS_INVALID, "ethos_open: give a provider or a store, not both");
    }
    if (options->store)
        return registry_adopt(self->host, options->store, ETHOS_LOCK_DEADLINE_MS, &self->injected,
                              error);
    int code = options->provider ? slots_complete(options->provider, error) : ETHOS_OK;
    if (code == ETHOS_OK)
        self->injected = options->provider;
    return code;
}

static int set_up_handle(struct ethos *self, const struct ethos_options *options,
                         struct ethos_error *error)
{
    TRY(adopt_injected(self, options, error));
    TRY(home_path(options->home, &self->home, error));
    self->fast = options->fast != 0;
    self->brief = options->brief != 0;
    self->wait_ms = self->brief ? ETHOS_BRIEF_DEADLINE_MS : ETHOS_LOCK_DEADLINE_MS;
    self->ephemeral = options->ephemeral != 0;
    if (self->ephemeral)
        return ephemeral_make(&self->root, error);
    self->root = strdup(self->home);
    return self->root ? ETHOS_OK : err_nomem(error);
}

int service_open(const struct ethos_options *options, struct group *group, struct ethos **out_ethos,
                 struct ethos_error *error)
{
    static const struct ethos_options defaults;
    if (!options)
        options = &defaults;
    struct ethos *self = calloc(1, sizeof *self);
    if (!self) {
        if (options->provider)
            options->provider->ops->close(options->provider);
        if (options->store)
            options->store->ops->close(options->store);
        return err_nomem(error);
    }
    self->host = options->host ? options->host : &log_default_host;
    self->group = group;
    turn_cache_init(&self->kept);
    int code = set_up_handle(self, options, error);
    if (code != ETHOS_OK) {
        ethos_close(self);
        return code;
    }
    *out_ethos = self;
    return ETHOS_OK;
}

int ethos_open(const struct ethos_options *options, struct ethos **out_ethos,
               struct ethos_error *error)
{
    return service_open(options, NULL, out_ethos, error);
}

static void close_opened(struct opened *entry)
{
    if (entry->provider)
        entry->provider->ops->close(entry->provider);
    registry_release(&entry->backend);
    free(entry->signature);
    free(entry);
}

void ethos_close(struct ethos *self)
{
    if (!self)
        return;
    free(self->remote_question.values);
    turn_cache_release(&self->kept);
    split_free_all(self);
    for (size_t i = 0; i < ETHOS_SECTIONS; i++)
        self->host->resize(self->host->arg, self->sections[i].text.data, 0);
    if (self->injected)
        self->injected->ops->close(self->injected);
    while (self->opened) {
        struct opened *next = self->opened->next;
        close_opened(self->opened);
        self->opened = next;
    }
    if (self->sessions)
        self->sessions->ops->close(self->sessions);
    registry_release(&self->sessions_backend);
    recall_model_close(self->model);
    while (self->trusts) {
        struct handle_trust *next = self->trusts->next;
        free(self->trusts);
        self->trusts = next;
    }
    while (self->deadlines) {
        struct handle_deadline *next = self->deadlines->next;
        free(self->deadlines);
        self->deadlines = next;
    }
    config_release(&self->config);
    config_release(&self->personality_config);
    if (self->ephemeral && self->root)
        ephemeral_remove(self->root);
    free(self->root);
    free(self->home);
    free(self);
}

/* ---- what operations ask ------------------------------------------------------------------- */

void service_set_wait(struct ethos *self, service_wait_fn *wait, void *arg)
{
    self->wait = wait;
    self->wait_arg = arg;
}

void service_limit_calls(struct ethos *self, uint32_t call_ms)
{
    self->call_ms = call_ms;
    for (struct handle_deadline *entry = self->deadlines; entry; entry = entry->next)
        entry->deadline.call_ms = call_ms;
}

void service_disable_retries(struct ethos *self, uint32_t wait_ms)
{
    self->once = true;
    self->wait_ms = wait_ms;
}

const char *service_home(const struct ethos *self)
{
    return self->home;
}

const char *service_root(const struct ethos *self)
{
    return self->root;
}

bool service_ephemeral(const struct ethos *self)
{
    return self->ephemeral;
}

int64_t service_now_ms(const struct ethos *self)
{
    return self->host->now_ms(self->host->arg);
}

static int open_dir(const char *path, bool create, int *out, struct ethos_error *error)
{
    int code = home_open(path, create, out, error);
    if (code == ETHOS_NOTFOUND && !create) {
        *out = -1;
        return ETHOS_OK;
    }
    return code;
}

int service_open_home(struct ethos *self, bool create, int *out, struct ethos_error *error)
{
    return open_dir(self->home, create, out, error);
}

int service_open_root(struct ethos *self, bool create, int *out, struct ethos_error *error)
{
    return open_dir(self->root, create, out, error);
}

/* ---- configuration ------------------------------------------------------------------------- */

static int load_personality(struct ethos *self, int dir, const char *personality,
                            struct ethos_error *error)
{
    char path[ETHOS_MAX_ID + 32], scope[ETHOS_MAX_SCOPE];
    TRY(scope_make(SCOPE_PERSONALITY, personality, scope, error));
    if (strcmp(self->personality, personality) != 0) {
        config_release(&self->personality_config);
        snprintf(self->personality, sizeof self->personality, "%s", personality);
    }
    snprintf(path, sizeof path, "personalities/%s/config.yaml", personality);
    return config_load(&self->personality_config, dir, path, CONFIG_PERSONALITY, error);
}

int handle_config(struct ethos *self, int home, const char *personality, struct ethos_error *error)
{
    return personality ? load_personality(self, home, personality, error)
                       : config_load(&self->config, home, "config.yaml", CONFIG_HOME, error);
}

int service_config(struct ethos *self, const char *personality, const struct config **out_home,
                   const struct config **out_personality, struct ethos_error *error)
{
    int dir;
    TRY(service_open_home(self, false, &dir, error));
    int code = handle_config(self, dir, NULL, error);
    if (code == ETHOS_OK && personality)
        code = handle_config(self, dir, personality, error);
    if (dir >= 0)
        os_close(dir);
    if (code != ETHOS_OK)
        return code;
    if (out_home)
        *out_home = &self->config;
    if (out_personality)
        *out_personality = personality ? &self->personality_config : NULL;
    return ETHOS_OK;
}

/* ---- people -------------------------------------------------------------------------------- */

int handle_lookup(struct ethos *self, int root, const char *platform, const char *platform_user,
                  char out_user[ETHOS_MAX_ID + 1], bool *out_known, struct ethos_error *error)
{
    struct identity_map map;
    TRY(identity_load(root, &map, error));
    if (map.damaged) {
        looks_beyond(&self->kept.looks); // so that every call reports it
        log_line(self->host, ETHOS_LOG_WARN, "%s; run ethos doctor for details", map.problem);
    }
    int code = identity_resolve(&map, platform, platform_user, out_user, out_known, error);
    identity_release(&map);
    return code;
}

int handle_local_user(struct ethos *self, int root, struct local_user *out,
                      struct ethos_error *error)
{
    const char *configured = config_get(&self->config, NULL, "user.id");
    if (!*self->login)
        identity_login(self->login, sizeof self->login);
    memcpy(out->login, self->login, sizeof out->login);
    if (!configured)
        return handle_lookup(self, root, "cli", out->login, out->id, &out->known, error);
    char scope[ETHOS_MAX_SCOPE];
    TRY(scope_make(SCOPE_USER, configured, scope, error));
    snprintf(out->id, sizeof out->id, "%s", configured);
    out->known = true;
    return ETHOS_OK;
}

int service_local_user(struct ethos *self, char out_user[ETHOS_MAX_ID + 1],
                       struct ethos_error *error)
{
    int dir;
    struct local_user local;
    TRY(service_config(self, NULL, NULL, NULL, error));
    TRY(service_open_root(self, false, &dir, error));
    int code = handle_local_user(self, dir, &local, error);
    if (dir >= 0)
        os_close(dir);
    if (code == ETHOS_OK)
        memcpy(out_user, local.id, sizeof local.id);
    return code;
}

bool service_unlinked(struct ethos *self, char out_login[ETHOS_MAX_ID + 1],
                      char out_user[ETHOS_MAX_ID + 1])
{
    struct local_user local;
    struct identity_map map;
    int dir;
    if (service_config(self, NULL, NULL, NULL, NULL) != ETHOS_OK ||
        service_open_root(self, false, &dir, NULL) != ETHOS_OK || dir < 0)
        return false;
    bool unlinked = handle_local_user(self, dir, &local, NULL) == ETHOS_OK && !local.known &&
                    identity_load(dir, &map, NULL) == ETHOS_OK;
    if (unlinked) {
        unlinked = identity_only(&map, dir, out_user) && strcmp(out_user, local.id) != 0;
        identity_release(&map);
        memcpy(out_login, local.login, sizeof local.login);
    }
    os_close(dir);
    return unlinked;
}

int service_unreached(struct ethos *self, char out_login[ETHOS_MAX_ID + 1],
                      identity_person_fn *each, void *arg)
{
    struct local_user local;
    struct identity_map map;
    int dir;
    int code = service_config(self, NULL, NULL, NULL, NULL);
    if (code == ETHOS_OK && config_get(&self->config, NULL, "user.id"))
        return ETHOS_OK;
    if (code == ETHOS_OK)
        code = service_open_root(self, false, &dir, NULL);
    if (code != ETHOS_OK || dir < 0)
        return code;
    code = handle_local_user(self, dir, &local, NULL);
    if (code == ETHOS_OK)
        code = identity_load(dir, &map, NULL);
    if (code == ETHOS_OK) {
        memcpy(out_login, local.login, sizeof local.login);
        code = identity_unreached(&map, dir, local.id, each, arg);
        identity_release(&map);
    }
    os_close(dir);
    return code;
}

/* ---- backends ------------------------------------------------------------------------------ */

/* The configured backend; turns with the same settings share one. */
struct backend_choice {
    const char *provider; /* as configured */
    const char *name;     /* of the backend */
    const char *allow;    /* paths.allow, or NULL */
    uint32_t flags;
    bool people; /* it keeps profiles, too */
    struct ethos_setting settings[SECRETS_MAX_SETTINGS];
    bool exposed[SECRETS_MAX_SETTINGS]; /* others may read the file it came from */
    size_t count;
};

/*
 * memory.options.user: true or false is for the host, whatever the backend: whether it keeps
 * profiles, too. Any other value is an option of the backend (a login name).
 */
static bool is_people(const struct yaml_pair *pair, bool *out)
{
    bool yes = strcmp(pair->value, "true") == 0;
    if (strcmp(pair->key, SECRETS_PREFIX "user") != 0 || (!yes && strcmp(pair->value, "false")))
        return false;
    *out = yes;
    return true;
}

/* Adds the memory.options.* of a file; they replace those already added. */
static int add_settings(struct backend_choice *choice, const struct config *from,
                        struct ethos_error *error)
{
    size_t prefix = strlen(SECRETS_PREFIX);
    for (size_t i = 0; i < from->table.count; i++) {
        const struct yaml_pair *pair = &from->table.pairs[i];
        size_t at = 0;
        if (strncmp(pair->key, SECRETS_PREFIX, prefix) != 0 || is_people(pair, &choice->people) ||
            config_is_vector_option(choice->provider, pair->key))
            continue;
        while (at < choice->count && strcmp(choice->settings[at].name, pair->key + prefix) != 0)
            at++;
        if (at == SECRETS_MAX_SETTINGS)
            return err_set(error, ETHOS_LIMIT, "memory.options: more than %d",
                           SECRETS_MAX_SETTINGS);
        choice->settings[at] = (struct ethos_setting){pair->key + prefix, pair->value};
        choice->exposed[at] = from->stamp.exposed != 0;
        choice->count += at == choice->count;
    }
    return ETHOS_OK;
}

/*
 * The home's options are for the home's provider only; the personality's (own, or NULL) override
 * them. Ephemeral memory is in files, whatever is configured: nothing of it may reach the real
 * memory.
 */
static int choose_backend(const struct ethos *self, const struct config *own,
                          struct backend_choice *out, struct ethos_error *error)
{
    const struct config *home = &self->config;
    bool fast = self->fast || strcmp(config_get(home, NULL, "durability"), "fast") == 0;
    bool in_place = config_switch(home, NULL, "write_in_place");
    out->provider = config_get(home, own, "memory.provider");
    out->name = config_backend(home, own);
    out->allow = config_get(home, NULL, "paths.allow");
    out->flags = (fast ? (uint32_t)ETHOS_SETUP_FAST : 0u) |
                 (in_place ? (uint32_t)ETHOS_SETUP_IN_PLACE : 0u);
    out->count = 0;
    out->people = false;
    if (self->ephemeral) {
        out->name = config_find("memory.provider")->fallback;
        return ETHOS_OK;
    }
    if (!config_owns_backend(own))
        TRY(add_settings(out, home, error));
    return own ? add_settings(out, own, error) : ETHOS_OK;
}

/*
 * The key of an opened backend. It holds a hash of the settings, as there may be secrets among
 * them.
 */
static int make_signature(const struct ethos *self, const struct backend_choice *choice,
                          struct str *out)
{
    struct str settings;
    char hash[HASH_HEX_SIZE] = "";
    str_init(&settings, ETHOS_MAX_YAML_BYTES * 4);
    for (size_t i = 0; i < choice->count; i++)
        str_printf(&settings, "%s=%s\n", choice->settings[i].name, choice->settings[i].value);
    int code = str_code(&settings);
    if (choice->count > 0) {
        hash_hex(str_view(&settings), hash);
        explicit_bzero(settings.data, settings.size);
    }
    str_release(&settings);
    str_printf(out, "%s\n%s\n%s\n%u\n%s", self->root, choice->name,
               choice->allow ? choice->allow : "", choice->flags, hash);
    return code == ETHOS_OK ? str_code(out) : code;
}

static struct opened *find_opened(struct ethos *self, const char *signature)
{
    for (struct opened *entry = self->opened; entry; entry = entry->next)
        if (strcmp(entry->signature, signature) == 0)
            return entry;
    return NULL;
}

/* NULL: out of memory. */
static struct ethos_deadline *find_deadline(struct ethos *self, const char *signature)
{
    for (struct handle_deadline *entry = self->deadlines; entry; entry = entry->next)
        if (strcmp(entry->signature, signature) == 0)
            return &entry->deadline;
    size_t size = strlen(signature) + 1;
    struct handle_deadline *entry = calloc(1, sizeof *entry + size);
    if (!entry)
        return NULL;
    memcpy(entry->signature, signature, size);
    entry->deadline.read_ms = ETHOS_READ_DEADLINE_MS;
    entry->deadline.call_ms = self->call_ms;
    entry->deadline.wait = self->wait;
    entry->deadline.wait_arg = self->wait_arg;
    entry->next = self->deadlines;
    self->deadlines = entry;
    return &entry->deadline;
}

static int make_setup(struct ethos *self, const struct backend_choice *choice,
                      const char *signature, struct ethos_setup *out, struct ethos_error *error)
{
    uint32_t patience = self->once ? ETHOS_SETUP_REACH : self->group ? ETHOS_SETUP_STAYS : 0u;
    *out = (struct ethos_setup){.host = self->host,
                                .root = self->root,
                                .allow = choice->allow,
                                .flags = choice->flags | patience,
                                .deadline_ms = self->wait_ms,
                                .deadline = find_deadline(self, signature)};
    return out->deadline ? ETHOS_OK : err_nomem(error);
}

static struct secrets_given make_given(const struct ethos *self,
                                       const struct backend_choice *choice)
{
    return (struct secrets_given){choice->settings, choice->count, choice->exposed, self->home,
                                  NULL};
}

static int open_backend(struct ethos *self, const struct backend_choice *choice,
                        const char *signature, struct ethos_provider **out,
                        struct ethos_error *error)
{
    struct opened *entry = calloc(1, sizeof *entry);
    if (!entry || !(entry->signature = strdup(signature))) {
        free(entry);
        return err_nomem(error);
    }
    struct ethos_setup setup;
    const struct secrets_given given = make_given(self, choice);
    int code = make_setup(self, choice, signature, &setup, error);
    if (code == ETHOS_OK)
        code = registry_find(choice->name, &entry->backend, error);
    if (code == ETHOS_OK)
        code = offline_open(&entry->backend, &setup, &given,
                            (struct registry_group){self->group, entry->signature},
                            &entry->provider, error);
    if (code != ETHOS_OK) {
        close_opened(entry);
        return code;
    }
    entry->next = self->opened;
    self->opened = entry;
    *out = entry->provider;
    return ETHOS_OK;
}

/* *out_people: it keeps profiles, too. */
static int open_configured_provider(struct ethos *self, const struct config *own,
                                    struct ethos_provider **out, bool *out_people,
                                    struct ethos_error *error)
{
    struct backend_choice choice;
    CLEANUP_STR struct str signature = {0};
    *out_people = true;
    if (self->injected) {
        *out = self->injected;
        return ETHOS_OK;
    }
    int code = choose_backend(self, own, &choice, error);
    if (code != ETHOS_OK)
        return code;
    *out_people = choice.people;
    str_init(&signature, ETHOS_MAX_YAML_BYTES * 4);
    if (make_signature(self, &choice, &signature) != ETHOS_OK)
        code = err_nomem(error);
    struct opened *entry = code == ETHOS_OK ? find_opened(self, signature.data) : NULL;
    if (entry)
        *out = entry->provider;
    else if (code == ETHOS_OK)
        code = open_backend(self, &choice, signature.data, out, error);
    return code;
}

/* Whether the configuration of a personality names a backend or its options. */
static bool has_backend(const struct config *own)
{
    size_t prefix = strlen(SECRETS_PREFIX);
    for (size_t i = 0; i < own->table.count; i++)
        if (strncmp(own->table.pairs[i].key, SECRETS_PREFIX, prefix) == 0)
            return true;
    return config_own(own, "memory.provider");
}

/* *out: whether the personality's backend differs from the home's. */
static int is_other(struct ethos *self, const struct config *own, bool *out,
                    struct ethos_error *error)
{
    struct backend_choice choices[2];
    struct str signatures[2];
    int code = choose_backend(self, NULL, &choices[0], error);
    if (code == ETHOS_OK)
        code = choose_backend(self, own, &choices[1], error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; i < 2; i++) {
        str_init(&signatures[i], ETHOS_MAX_YAML_BYTES * 4);
        if (make_signature(self, &choices[i], &signatures[i]) != ETHOS_OK)
            code = ETHOS_NOMEM;
    }
    *out = code == ETHOS_OK && !view_eq(str_view(&signatures[0]), str_view(&signatures[1]));
    str_release(&signatures[0]);
    str_release(&signatures[1]);
    return code == ETHOS_OK ? code : err_nomem(error);
}

int handle_provider(struct ethos *self, bool own_profile, struct ethos_provider **out,
                    struct ethos_error *error)
{
    const struct config *own = &self->personality_config;
    bool people, other = false;
    struct ethos_provider *provider;
    TRY(open_configured_provider(self, own, &provider, &people, error));
    if (!people && has_backend(own))
        TRY(is_other(self, own, &other, error));
    if (other)
        return split_find(self, provider, own_profile, out, error);
    *out = provider;
    return ETHOS_OK;
}

int handle_home_provider(struct ethos *self, struct ethos_provider **out, struct ethos_error *error)
{
    bool people;
    return open_configured_provider(self, NULL, out, &people, error);
}

int service_provider_for(struct ethos *self, const char *personality, const char **out_name,
                         struct ethos_provider **out, struct ethos_error *error)
{
    const struct config *home, *own;
    TRY(service_config(self, personality, &home, &own, error));
    bool people;
    *out_name = config_backend(home, own);
    return open_configured_provider(self, own, out, &people, error);
}

void handle_embedder(const struct config *home, const struct config *own,
                     struct service_embedder *out)
{
    const char *name = config_get(home, own, VECTOR_OPTION "embedder");
    const char *url = config_get(home, own, VECTOR_OPTION "embedUrl");
    const char *model = config_get(home, own, VECTOR_OPTION "embedModel");
    out->is_ollama = strcmp(name, "ollama") == 0;
    out->is_remote = config_is_vector(home, own) && strcmp(name, "local") != 0;
    out->consent = config_switch(home, own, VECTOR_OPTION "embedConsent");
    snprintf(out->url, sizeof out->url, "%s", url ? url : "");
    snprintf(out->model, sizeof out->model, "%s", model ? model : "");
}

int service_embedder(struct ethos *self, const char *personality, struct service_embedder *out,
                     struct ethos_error *error)
{
    const struct config *home, *own;
    int code = service_config(self, personality, &home, &own, error);
    if (code == ETHOS_OK)
        handle_embedder(home, own, out);
    return code;
}

void service_free_text(const struct ethos *self, struct ethos_text *text)
{
    self->host->resize(self->host->arg, text->data, 0);
    *text = (struct ethos_text){0};
}

int service_place(struct ethos *self, const char *personality, struct str *out,
                  struct ethos_error *error)
{
    const struct config *home, *own;
    struct backend_choice choice;
    struct backend backend;
    if (self->injected)
        return str_printf(out, "%s\n", self->injected->ops->name) == ETHOS_OK ? ETHOS_OK
                                                                              : err_nomem(error);
    TRY(service_config(self, personality, &home, &own, error));
    TRY(choose_backend(self, own, &choice, error));
    TRY(registry_find(choice.name, &backend, error));
    struct secrets_given given = make_given(self, &choice);
    given.also = offline_options(&backend);
    str_printf(out, "%s\n", choice.name);
    secrets_place(registry_options(&backend), &given, out);
    registry_release(&backend);
    return str_code(out) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* Sessions of the home's own backend; a personality's may be another one. */
static int find_sessions(struct ethos *self, struct backend_choice *out, struct ethos_error *error)
{
    if (self->injected || self->ephemeral)
        return ETHOS_OK;
    int code = service_config(self, NULL, NULL, NULL, error);
    if (code != ETHOS_OK || strcmp(config_get(&self->config, NULL, "sessions.provider"), "auto"))
        return code;
    code = choose_backend(self, NULL, out, error);
    if (code == ETHOS_OK)
        code = registry_find(out->name, &self->sessions_backend, error);
    if (code == ETHOS_OK && !self->sessions_backend.sessions)
        registry_release(&self->sessions_backend);
    return code;
}

static int open_configured_sessions(struct ethos *self, const struct backend_choice *choice,
                                    struct ethos_sessions **out, struct ethos_error *error)
{
    struct ethos_setup setup;
    struct str signature;
    struct secrets_given given = make_given(self, choice);
    str_init(&signature, ETHOS_MAX_YAML_BYTES * 4);
    int code = make_signature(self, choice, &signature) == ETHOS_OK
                   ? make_setup(self, choice, signature.data, &setup, error)
                   : err_nomem(error);
    str_release(&signature);
    if (code != ETHOS_OK)
        return code;
    given.also = offline_options(&self->sessions_backend);
    setup.flags |= self->brief ? (uint32_t)ETHOS_SETUP_BRIEF : 0u;
    return registry_open_sessions(&self->sessions_backend, &setup, &given, out, error);
}

int handle_sessions(struct ethos *self, struct ethos_sessions **out, struct ethos_error *error)
{
    struct backend_choice choice;
    *out = NULL;
    int code = find_sessions(self, &choice, error);
    if (code != ETHOS_OK || !self->sessions_backend.sessions)
        return code;
    code = open_configured_sessions(self, &choice, out, error);
    if (code != ETHOS_OK)
        registry_release(&self->sessions_backend);
    return code;
}

bool service_sessions_there(struct ethos *self)
{
    struct backend_choice choice;
    if (!self->sessions)
        find_sessions(self, &choice, NULL);
    bool there = self->sessions_backend.sessions;
    if (!self->sessions)
        registry_release(&self->sessions_backend);
    return there;
}

/* ---- small answers ------------------------------------------------------------------------- */

const char *ethos_code_name(int code)
{
    return err_name(code);
}

const char *ethos_version(void)
{
    return ETHOS_VERSION;
}
