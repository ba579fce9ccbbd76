/*
 * list.c: asking a server which models it has.
 */
#include "agent/models/catalog.h"
#include "agent/models/server.h"

#include <string.h>

#include "base/err.h"
#include "base/view.h"

#define MAX_ANSWER (16u << 20)

struct model_listing {
    struct server server;
    const struct model_settings *settings;
    model_list_fn *each;
    void *arg;
};

/* ---- requests ------------------------------------------------------------------------------------ */

static int parse_model_list(const struct model_listing *self, const struct str *text, json_t **out,
                            struct ethos_error *error)
{
    struct ethos_error reason = {0};
    const char *name = self->server.provider->name;
    if (str_code(text) != ETHOS_OK)
        return err_set(error, str_code(text), "%s: the list of models is too long", name);
    if (json_parse_most(str_view(text), MAX_ANSWER, "models", out, &reason) == ETHOS_OK)
        return ETHOS_OK;
    return err_hint(
        error,
        err_set(error, ETHOS_MODEL, "%s: the list of models is not valid: %s", name, reason.text),
        "check the base URL");
}

/* body: absent for GET. */
static int request_json(const struct model_listing *self, const char *path, struct ethos_view body,
                        json_t **out, struct ethos_error *error)
{
    struct str text;
    struct transport_result result;
    const struct transport_request sent = {
        .path = path, .body = body, .abort_fd = -1, .read = transport_append, .arg = &text};
    str_init(&text, MAX_ANSWER);
    transport_send(self->server.transport, &sent, &result);
    int code = result.has_failed ? err_set(error, ETHOS_MODEL, "%s", result.failure.text)
                                 : parse_model_list(self, &text, out, error);
    str_release(&text);
    return code;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* Ollama says only of one model at a time how large its window is. 0: it does not say. */
static int64_t request_window(const struct model_listing *self, const char *path,
                              struct ethos_view name)
{
    struct ethos_error reason;
    struct str body;
    json_t *document = NULL;
    int64_t window = 0;
    str_init(&body, WIRE_MAX_REQUEST);
    str_adds(&body, "{\"model\":");
    json_quote(name, &body);
    str_adds(&body, "}");
    if (str_code(&body) == ETHOS_OK &&
        request_json(self, path, str_view(&body), &document, &reason) == ETHOS_OK)
        window = catalog_read_window(document);
    json_decref(document);
    str_release(&body);
    return window;
}

static int complete_model_row(void *arg, const struct model_row *row)
{
    const struct model_listing *self = arg;
    const struct wire *wire = self->server.wire;
    struct model_row out = *row;
    if (wire->window_path)
        out.window = request_window(self, wire->window_path, row->name);
    if (wire->sets_window)
        out.window = model_window(self->settings, out.window);
    if (self->server.is_local)
        out.prices = (struct model_prices){0};
    return self->each(self->arg, &out);
}

int models_list(const struct model_settings *settings, model_list_fn *each, void *arg,
                struct ethos_error *error)
{
    struct model_listing self = {.settings = settings, .each = each, .arg = arg};
    json_t *document = NULL;
    int code = server_open(&self.server, settings, error);
    if (code == ETHOS_OK) {
        const char *path = self.server.provider->list_path;
        code = request_json(&self, path && !settings->wire ? path : self.server.wire->list_path,
                            view_str(NULL), &document, error);
    }
    if (code == ETHOS_OK)
        code = catalog_read(document, self.server.provider->name, complete_model_row, &self, error);
    json_decref(document);
    server_close(&self.server);
    return code;
}
