/*
 * models.c: ethos models: what the provider offers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/configured_model.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/text/terminal.h"
#include "base/view.h"
#include "chat/chat.h"

#define COLUMN 44 /* of a name */

struct model_rows {
    json_t *rows;
    bool json;
};

static json_t *price_json(int64_t price)
{
    return price == COST_UNKNOWN ? json_null() : json_real((double)price / 1e9);
}

static int add_model_row(void *arg, const struct model_row *row)
{
    struct model_rows *listing = arg;
    op_json_push(&listing->rows,
                 json_pack("{s:o, s:o, s:o, s:o}", "name", json_text(row->name), "window",
                           row->window > 0 ? json_integer(row->window) : json_null(), "priceInput",
                           price_json(row->prices.input), "priceOutput",
                           price_json(row->prices.output)));
    return listing->rows ? ETHOS_OK : ETHOS_NOMEM;
}

static void print_model_row(const json_t *row)
{
    struct str line;
    const json_t *input = json_object_get(row, "priceInput"),
                 *output = json_object_get(row, "priceOutput");
    json_int_t window = json_integer_value(json_object_get(row, "window"));
    str_init(&line, 65536);
    if (isatty(STDOUT_FILENO))
        terminal_escape(json_view(row, "name"), &line);
    else
        str_add(&line, json_view(row, "name"));
    for (size_t size = line.size; size < COLUMN; size++)
        str_addc(&line, ' ');
    if (window > 0)
        str_printf(&line, "  %7lldk tokens", (long long)(window + 500) / 1000);
    if (json_is_number(input) && json_is_number(output) && json_number_value(output) > 0)
        str_printf(&line, "  $%.2f in, $%.2f out per million", json_number_value(input),
                   json_number_value(output));
    struct ethos_view shown = view_trim_end(str_view(&line));
    printf("%.*s\n", VIEW_ARG(shown));
    str_release(&line);
}

static void print_model_rows(const struct model_rows *listing)
{
    size_t index;
    json_t *row;
    if (listing->json) {
        json_t *json = json_pack("{s:O}", "models", listing->rows);
        json_dumpf(json, stdout, JSON_COMPACT);
        puts("");
        json_decref(json);
        return;
    }
    json_array_foreach (listing->rows, index, row)
        print_model_row(row);
}

int chat_models(const struct surface_start *start, struct ethos_error *error)
{
    struct model_rows listing = {json_array(), start->json};
    struct configured_model *configured = calloc(1, sizeof *configured);
    struct ethos *ethos = NULL;
    const char *provider = json_string_value(json_object_get(start->args, "provider"));
    int code = configured && listing.rows ? ethos_open(start->options, &ethos, error)
                                          : err_nomem(error);
    if (code == ETHOS_OK)
        code = configured_provider_read(ethos, start->request->personality, provider, configured,
                                        error);
    if (code == ETHOS_OK)
        code = models_list(&configured->settings, add_model_row, &listing, error);
    if (code == ETHOS_OK)
        print_model_rows(&listing);
    if (configured)
        configured_model_release(configured);
    free(configured);
    json_decref(listing.rows);
    ethos_close(ethos);
    return code;
}
