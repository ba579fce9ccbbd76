/*
 * setup.c: ethos setup: finds keys in the environment and servers on this machine, asks for the rest, makes one
 * real call, and writes the settings. Every question has an option; --yes takes what was found.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "agent/configured_model.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/text/terminal.h"
#include "base/view.h"
#include "chat/chat.h"
#include "ops/admin/config_edit.h"
#include "ops/shutdown.h"

#define MAX_CHOICES 16
#define MAX_MODELS 2000
#define MODELS_SHOWN 30
#define FIND_CONNECT_MS 300 /* a server on this machine answers at once or is not there */
#define FIND_ANSWER_MS 3000
#define MAX_LINE 4096 /* bytes of an answer */
#define QUESTION "Answer with the single word ok."

struct setup {
    const struct surface_start *start;
    struct ethos *ethos;
    bool asks; /* somebody is there to answer */
    struct configured_model *configured;
    const struct provider *found[MAX_CHOICES];
    char why[MAX_CHOICES][64]; /* each was found: its key, or its server */
    size_t found_count;
    const struct provider *provider;
    char model[CONFIGURED_MAX_NAME], base_url[1024];
    struct str key; /* that was typed; empty: one was found, or none is needed */
    json_t *models; /* names */
};

/* ---- asking a person --------------------------------------------------------------------------- */

static void print_to_person(const char *text)
{
    struct str safe;
    str_init(&safe, 65536);
    terminal_escape(view_str(text), &safe);
    fputs(safe.data, stderr);
    str_release(&safe);
}

/* A line without its end. False: there is no more input. */
static bool read_typed_line(char *out, size_t size)
{
    if (!fgets(out, (int)size, stdin))
        return false;
    out[strcspn(out, "\n")] = '\0';
    return true;
}

static bool read_hidden_line(char *out, size_t size)
{
    struct termios before, quiet;
    bool terminal = tcgetattr(STDIN_FILENO, &before) == 0;
    if (terminal) {
        quiet = before;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    bool read = read_typed_line(out, size);
    if (terminal) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        print_to_person("\n");
    }
    return read;
}

/* A number of the list from 1, or what was typed instead of one. -1: there is no more input. */
static long ask_choice(const char *question, size_t count, char typed[MAX_LINE])
{
    char *end;
    print_to_person(question);
    if (!read_typed_line(typed, MAX_LINE))
        return -1;
    long number = strtol(typed, &end, 10);
    return end != typed && !*end && number >= 1 && (size_t)number <= count ? number : 0;
}

static int refuse_unasked(struct ethos_error *error, const char *what, const char *option)
{
    int code = err_set(error, ETHOS_INVALID, "%s is not known, and nobody is here to ask", what);
    return err_hint(error, code, "%s", option);
}

/* ---- what there is ----------------------------------------------------------------------------- */

static int count_row(void *arg, const struct model_row *row)
{
    size_t *count = arg;
    (void)row;
    ++*count;
    return ETHOS_OK;
}

static void add_found_provider(struct setup *self, const struct provider *provider, const char *why)
{
    if (self->found_count == MAX_CHOICES)
        return;
    self->found[self->found_count] = provider;
    snprintf(self->why[self->found_count++], sizeof self->why[0], "%s", why);
}

static void find_usable_provider(struct setup *self, const struct provider *provider)
{
    struct configured_model *configured = self->configured;
    char why[64];
    size_t count = 0;
    if (!provider->base_url ||
        configured_provider_read(self->ethos, NULL, provider->name, configured, NULL) != ETHOS_OK)
        return;
    if (provider->needs_key) {
        add_found_provider(self, provider, configured->key_source);
        return;
    }
    configured->settings.connect_ms = FIND_CONNECT_MS;
    configured->settings.first_byte_ms = FIND_ANSWER_MS;
    if (models_list(&configured->settings, count_row, &count, NULL) != ETHOS_OK)
        return;
    snprintf(why, sizeof why, "a server with %zu model%s", count, count == 1 ? "" : "s");
    add_found_provider(self, provider, why);
}

static void find_providers(struct setup *self)
{
    for (size_t i = 0; provider_at(i); i++)
        find_usable_provider(self, provider_at(i));
    configured_model_release(self->configured);
}

/* ---- provider, key and model -------------------------------------------------------------------- */

static void show_found_providers(const struct setup *self)
{
    char line[256];
    for (size_t i = 0; i < self->found_count; i++) {
        snprintf(line, sizeof line, "%3zu  %-14s %s\n", i + 1, self->found[i]->name, self->why[i]);
        print_to_person(line);
    }
    print_to_person(self->found_count > 0 ? "Others: " : "Nothing was found here. Providers: ");
    for (size_t i = 0; provider_at(i); i++) {
        snprintf(line, sizeof line, "%s%s", i > 0 ? ", " : "", provider_at(i)->name);
        print_to_person(line);
    }
    print_to_person("\n");
}

static int ask_provider(struct setup *self, struct ethos_error *error)
{
    char typed[MAX_LINE];
    show_found_providers(self);
    for (;;) {
        long number = ask_choice("Which provider (number or name)? ", self->found_count, typed);
        if (number < 0)
            return err_set(error, ETHOS_INVALID, "no provider was chosen");
        self->provider = number > 0 ? self->found[number - 1] : provider_find(typed);
        if (self->provider)
            return ETHOS_OK;
        print_to_person("There is no such provider.\n");
    }
}

static int choose_provider(struct setup *self, struct ethos_error *error)
{
    const char *given = json_string_value(json_object_get(self->start->args, "provider"));
    if (given) {
        self->provider = provider_find(given);
        int code = self->provider
                       ? ETHOS_OK
                       : err_set(error, ETHOS_INVALID, "provider '%.60s' is unknown", given);
        return err_hint(error, code, "ethos setup --help lists them");
    }
    find_providers(self);
    if (self->asks)
        return ask_provider(self, error);
    if (self->found_count > 0 && self->start->yes) {
        self->provider = self->found[0];
        return ETHOS_OK;
    }
    return refuse_unasked(error, "the provider",
                          self->found_count > 0
                              ? "--provider names one, --yes takes the first that was found"
                              : "--provider names one");
}

static int choose_address(struct setup *self, struct ethos_error *error)
{
    const char *given = json_string_value(json_object_get(self->start->args, "baseUrl"));
    if (given && strlen(given) >= sizeof self->base_url)
        return err_set(error, ETHOS_LIMIT, "the URL is too long");
    if (given) {
        snprintf(self->base_url, sizeof self->base_url, "%s", given);
        return ETHOS_OK;
    }
    bool known = self->provider->base_url ||
                 (self->provider->url_variable && getenv(self->provider->url_variable));
    if (known)
        return ETHOS_OK;
    if (!self->asks)
        return refuse_unasked(error, "the address of the server", "--base-url gives it");
    print_to_person("Where is the server (such as http://127.0.0.1:8000/v1)? ");
    return read_typed_line(self->base_url, sizeof self->base_url) && *self->base_url
               ? ETHOS_OK
               : err_set(error, ETHOS_INVALID, "no address was given");
}

static int read_key_stdin(struct setup *self, struct ethos_error *error)
{
    if (os_read_all(STDIN_FILENO, &self->key, KEYS_MAX_KEY + 2) != 0)
        return err_set(error, ETHOS_INVALID, "standard input: not a key");
    struct ethos_view key = view_trim(str_view(&self->key));
    return key.size > 0 ? ETHOS_OK
                        : err_set(error, ETHOS_INVALID, "standard input: there is no key in it");
}

static int ask_key(struct setup *self, struct ethos_error *error)
{
    char line[MAX_LINE + 2];
    snprintf(line, sizeof line, "Key for %s (it is not shown): ", self->provider->name);
    print_to_person(line);
    bool read = read_hidden_line(line, sizeof line) && *line;
    if (read)
        str_adds(&self->key, line);
    explicit_bzero(line, sizeof line);
    return read ? ETHOS_OK : err_set(error, ETHOS_INVALID, "no key was given");
}

/* The settings as they will be, in self->configured. */
static int read_settings(struct setup *self, struct ethos_error *error)
{
    struct configured_model *configured = self->configured;
    int code = configured_provider_read(self->ethos, NULL, self->provider->name, configured, error);
    bool keyless = code == ETHOS_MODEL && !configured->settings.key;
    if (code != ETHOS_OK && !keyless)
        return code;
    if (*self->base_url && strcmp(self->base_url, configured->base_url) != 0) {
        // A key of the environment is for the provider's own address.
        configured_model_release(configured);
        configured->settings.key = NULL;
        keyless = self->provider->needs_key;
        configured->settings.base_url = self->base_url;
    }
    if (json_is_true(json_object_get(self->start->args, "keyStdin")))
        code = read_key_stdin(self, error);
    else if (keyless && self->asks)
        code = ask_key(self, error);
    else if (keyless)
        return refuse_unasked(error, "the key",
                              "export it, or pipe it into ethos setup --key-stdin");
    else
        code = ETHOS_OK;
    if (code == ETHOS_OK && self->key.size > 0) {
        snprintf(configured->key, sizeof configured->key, "%.*s",
                 VIEW_ARG(view_trim(str_view(&self->key))));
        configured->settings.key = configured->key;
    }
    return code;
}

static int add_model(void *arg, const struct model_row *row)
{
    struct setup *self = arg;
    if (json_array_size(self->models) < MAX_MODELS)
        op_json_push(&self->models, json_text(row->name));
    return self->models ? ETHOS_OK : ETHOS_NOMEM;
}

static int set_model(struct setup *self, const char *name, struct ethos_error *error)
{
    size_t size = strlen(name);
    if (size >= sizeof self->model)
        return err_set(error, ETHOS_LIMIT, "the name of the model is too long");
    memcpy(self->model, name, size + 1);
    return ETHOS_OK;
}

static int ask_model_name(struct setup *self, struct ethos_error *error)
{
    char typed[MAX_LINE], line[CONFIGURED_MAX_NAME + 16];
    size_t count = json_array_size(self->models),
           shown = count < MODELS_SHOWN ? count : MODELS_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        snprintf(line, sizeof line, "%3zu  %.250s\n", i + 1,
                 json_string_value(json_array_get(self->models, i)));
        print_to_person(line);
    }
    snprintf(line, sizeof line, "and %zu more; ethos models lists them\n", count - shown);
    if (shown < count)
        print_to_person(line);
    long number = ask_choice("Which model (number or name)? ", shown, typed);
    if (number < 0 || (number == 0 && !*typed))
        return err_set(error, ETHOS_INVALID, "no model was chosen");
    const char *name = number > 0
                           ? json_string_value(json_array_get(self->models, (size_t)number - 1))
                           : typed;
    return set_model(self, name, error);
}

static int choose_model(struct setup *self, struct ethos_error *error)
{
    const char *given = json_string_value(json_object_get(self->start->args, "model"));
    if (given)
        return set_model(self, given, error);
    int code = models_list(&self->configured->settings, add_model, self, error);
    if (code != ETHOS_OK)
        return code;
    if (self->asks)
        return ask_model_name(self, error);
    if (json_array_size(self->models) == 0 || !self->start->yes)
        return refuse_unasked(error, "the model",
                              "--model names it, --yes takes the first of ethos models");
    return set_model(self, json_string_value(json_array_get(self->models, 0)), error);
}

/* ---- one real call ------------------------------------------------------------------------------ */

struct trial {
    struct model_usage usage;
    bool failed;
    char problem[512];
};

static void collect_trial_event(void *arg, const struct model_event *event)
{
    struct trial *trial = arg;
    if (event->kind == MODEL_USAGE)
        trial->usage = event->usage;
    if (event->kind == MODEL_ERROR) {
        trial->failed = true;
        snprintf(trial->problem, sizeof trial->problem, "%.*s", VIEW_ARG(event->text));
    }
}

static void report_trial(const struct setup *self, const struct trial *trial, int64_t ms)
{
    char line[512], cost[64] = "cost unknown";
    if (trial->usage.known & MODEL_KNOWS_COST)
        snprintf(cost, sizeof cost, "$%.6f", (double)trial->usage.nano_usd / 1e9);
    snprintf(line, sizeof line, "%s/%s answered in %.1f s: %lld tokens, %s\n", self->provider->name,
             self->model, (double)ms / 1000, (long long)(trial->usage.input + trial->usage.output),
             cost);
    if (!self->start->quiet)
        print_to_person(line);
}

static int try_model(struct setup *self, struct ethos_error *error)
{
    struct model *model;
    struct trial trial = {0};
    const struct model_message message = {.role = MODEL_USER, .text = VIEW(QUESTION)};
    const struct model_request request = {
        .messages = &message, .message_count = 1, .abort_fd = shutdown_catch_signals()};
    self->configured->settings.model = self->model;
    int code = model_open(&self->configured->settings, &model, error);
    if (code != ETHOS_OK)
        return code;
    int64_t began = os_monotonic_ms();
    model->ops->ask(model, &request, collect_trial_event, &trial);
    model->ops->close(model);
    if (trial.failed) {
        code = err_set(error, ETHOS_MODEL, "%s", trial.problem);
        return err_hint(error, code, "nothing was changed");
    }
    report_trial(self, &trial, os_monotonic_ms() - began);
    return ETHOS_OK;
}

/* ---- writing ------------------------------------------------------------------------------------ */

static int write_settings(struct setup *self, struct ethos_error *error)
{
    const struct settings_change changes[] = {
        {"provider", self->provider->name},
        {"model", self->model},
        {"baseUrl", *self->base_url ? self->base_url : NULL},
    };
    struct op_result result;
    struct op_call call = {.ethos = self->ethos,
                           .request = self->start->request,
                           .dry_run = self->start->dry_run,
                           .via = "cli"};
    op_result_init(&result);
    int code = ETHOS_OK;
    if (self->key.size > 0 && !self->start->dry_run)
        code = configured_key_store(self->ethos, self->provider, view_trim(str_view(&self->key)),
                                    error);
    if (code == ETHOS_OK)
        code = settings_write(&call, "", changes, sizeof changes / sizeof *changes, &result, error);
    op_result_release(&result);
    return code;
}

static void report_setup(const struct setup *self)
{
    char line[512];
    if (self->start->json)
        printf("{\"provider\":\"%s\",\"model\":\"%s\"}\n", self->provider->name, self->model);
    snprintf(line, sizeof line,
             "%s%s is the model now%s. Try: ethos ask 'What do you know about me?'\n",
             self->start->dry_run ? "(dry run) " : "", self->model,
             self->key.size > 0 ? "; its key is in keys.yaml" : "");
    if (!self->start->quiet)
        print_to_person(line);
}

int chat_setup(const struct surface_start *start, struct ethos_error *error)
{
    struct setup self = {.start = start,
                         .configured = calloc(1, sizeof(struct configured_model)),
                         .models = json_array()};
    bool piped = json_is_true(json_object_get(start->args, "keyStdin"));
    self.asks = !start->no_input && !start->yes && !piped && isatty(STDIN_FILENO);
    str_init(&self.key, KEYS_MAX_KEY + 2);
    int code = self.configured && self.models ? ethos_open(start->options, &self.ethos, error)
                                              : err_nomem(error);
    if (code == ETHOS_OK)
        code = choose_provider(&self, error);
    if (code == ETHOS_OK)
        code = choose_address(&self, error);
    if (code == ETHOS_OK)
        code = read_settings(&self, error);
    if (code == ETHOS_OK)
        code = choose_model(&self, error);
    if (code == ETHOS_OK)
        code = try_model(&self, error);
    if (code == ETHOS_OK)
        code = write_settings(&self, error);
    if (code == ETHOS_OK)
        report_setup(&self);
    if (self.configured)
        configured_model_release(self.configured);
    free(self.configured);
    explicit_bzero(self.key.data, self.key.capacity);
    str_release(&self.key);
    json_decref(self.models);
    ethos_close(self.ethos);
    shutdown_restore_signals(false);
    return code;
}
