/*
 * view_api_keys.c: keys of programs for a person.
 */
#include <string.h>

#include "cli/view_internal.h"

static void print_list(struct cli *self, const json_t *row, const char *name)
{
    size_t index;
    json_t *item;
    json_array_foreach (json_object_get(row, name), index, item)
        term_printf(&self->term, "%s%s", index ? " " : "", json_string_value(item));
}

/* The key alone goes to standard output, so that it can be taken from there. */
void view_key(struct cli *self, const json_t *json)
{
    term_printf(&self->term, "%s\n", view_member(json, "key"));
    view_say(self, "Keep it now: it is not shown again. ethos api-key revoke %s ends it.",
             view_member(json, "prefix"));
}

static void print_key(struct cli *self, const json_t *row)
{
    char when[TERM_WHEN_SIZE];
    bool revoked = *view_member(row, "revokedAt");
    term_styled(&self->term, revoked ? TERM_DIM : TERM_BOLD, "%s", view_member(row, "prefix"));
    term_printf(&self->term, "  %s%s", view_member(row, "name"),
                json_is_true(json_object_get(row, "agent")) ? " (agent)" : "");
    view_when(row, revoked ? "revokedAt" : "createdAt", when);
    term_styled(&self->term, revoked ? TERM_WARN : TERM_DIM, "  %s %s\n    ",
                revoked ? "revoked" : "made", when);
    print_list(self, row, "scopes");
    if (json_array_size(json_object_get(row, "only")) > 0) {
        term_printf(&self->term, "\n    only ");
        print_list(self, row, "only");
    }
    if (json_array_size(json_object_get(row, "allowedOrigins")) > 0) {
        term_printf(&self->term, "\n    only for ");
        print_list(self, row, "allowedOrigins");
    }
    term_printf(&self->term, "\n");
}

void view_keys(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *rows = json_object_get(json, "items");
    json_array_foreach ((json_t *)rows, index, row)
        print_key(self, row);
    if (json_array_size(rows) == 0)
        view_say(self, "No keys yet. ethos api-key create NAME --scope memory:read makes one.");
}

void view_browsers(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    char when[TERM_WHEN_SIZE];
    const json_t *rows = json_object_get(json, "items");
    json_array_foreach ((json_t *)rows, index, row) {
        bool used = *view_member(row, "lastUsedAt");
        view_when(row, used ? "lastUsedAt" : "createdAt", when);
        term_styled(&self->term, TERM_BOLD, "%s", view_member(row, "prefix"));
        term_printf(&self->term, "  %s", view_member(row, "name"));
        term_styled(&self->term, TERM_DIM, "  %s %s\n", used ? "used" : "signed in", when);
    }
    if (json_array_size(rows) == 0)
        view_say(self,
                 "No browser is signed in. ethos serve --link prints a link that signs one in.");
}

void view_signed_out(struct cli *self, const json_t *json)
{
    view_say(self, "%s is signed out.", view_member(json, "prefix"));
}

void view_revoked(struct cli *self, const json_t *json)
{
    view_say(self, "%s is revoked.", view_member(json, "prefix"));
}
