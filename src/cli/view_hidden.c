/*
 * view_hidden.c: lines that the guard hides from prompts, and those that are shown anyway.
 */
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "cli/view_internal.h"

#define SHORT_HASH 12 /* digits: enough to name a line */

/* "reads like an instruction, looks like a secret (aws-key)" */
static void describe_reasons(const json_t *row, struct str *out)
{
    size_t index;
    json_t *why;
    const char *kind = view_member(row, "kind");
    json_array_foreach (json_object_get(row, "why"), index, why) {
        bool secret = strcmp(json_string_value(why), "secret") == 0;
        str_adds(out, index > 0 ? ", " : "");
        str_adds(out, secret ? "looks like a secret" : "reads like an instruction");
        if (secret && *kind)
            str_printf(out, " (%s)", kind);
    }
}

static void print_hidden_row(struct cli *self, const json_t *row)
{
    struct str why;
    const char *state = view_member(row, "state");
    struct ethos_view text = json_view(row, "text");
    str_init(&why, 1024);
    describe_reasons(row, &why);
    term_styled(&self->term, TERM_BOLD, "%s", view_member(row, "key"));
    if (view_integer(row, "line") > 0)
        term_styled(&self->term, TERM_BOLD, ":%lld", view_integer(row, "line"));
    term_styled(&self->term, TERM_DIM, "  %s  %.*s", view_member(row, "scope"), SHORT_HASH,
                view_member(row, "hash"));
    term_printf(&self->term, "  %s; %s\n", state, why.size > 0 ? why.data : "");
    if (text.data) {
        term_printf(&self->term, "    ");
        term_text(&self->term, text);
        term_printf(&self->term, "\n");
    }
    str_release(&why);
}

void view_hidden(struct cli *self, const json_t *json)
{
    const json_t *rows = json_object_get(json, "lines");
    size_t index, count = json_array_size(rows), hidden = 0;
    json_t *row;
    if (count == 0) {
        view_say(self, "Nothing is hidden");
        return;
    }
    if (!self->no_pager)
        term_page(&self->term);
    json_array_foreach ((json_t *)rows, index, row) {
        print_hidden_row(self, row);
        hidden += strcmp(view_member(row, "state"), "hidden") == 0;
    }
    term_finish(&self->term);
    if (hidden > 0)
        view_say(self,
                 "%zu line%s hidden from prompts; ethos memory show-anyway FILE:LINE shows one",
                 hidden, hidden == 1 ? " is" : "s are");
    if (json_is_true(json_object_get(json, "partial")))
        view_say(self, "There are more files than were looked through; name one with --key");
}

void view_describe_line(FILE *out, const json_t *row)
{
    struct str why;
    str_init(&why, 1024);
    describe_reasons(row, &why);
    fprintf(out, "%s:%lld of %s (%s):\n    ", view_member(row, "key"), view_integer(row, "line"),
            view_member(row, "scope"), why.size > 0 ? why.data : "");
    term_safe(out, json_view(row, "text"));
    fputs("\nThis line will be sent to models as it is, until its text changes.\n", out);
    str_release(&why);
}

void view_shown_line(struct cli *self, const json_t *json)
{
    bool dry = json_is_true(json_object_get(json, "dryRun"));
    view_say(self, "%s:%lld %s: this line will be sent to models, until its text changes",
             view_member(json, "key"), view_integer(json, "line"),
             dry ? "would be shown" : "is shown now");
}

void view_hidden_line(struct cli *self, const json_t *json)
{
    view_say(self, "The line is hidden again from prompts with the memory of %s",
             view_member(json, "scope"));
}
