/*
 * view_pending.c: changes that wait, for the person who decides.
 */
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/view.h"
#include "cli/view_internal.h"

#define SHORT_ID 8 /* characters: mostly enough to name one */
#define LEAST_ROOM 20

static void when_of(const json_t *row, char out[TERM_WHEN_SIZE])
{
    char iso[CLOCK_ISO_SIZE];
    clock_iso((int64_t)json_number_value(json_object_get(row, "proposedAt")), iso);
    json_t *time = json_pack("{s:s}", "time", iso);
    view_when(time, "time", out);
    json_decref(time);
}

/* "codex/mcp (agent)" */
static void who_of(const json_t *row, char *out, size_t size)
{
    const char *actor = view_member(row, "actor"), *via = view_member(row, "via"),
               *trust = view_member(row, "trust");
    bool both = *via && strcmp(actor, via) != 0;
    snprintf(out, size, "%s%s%s%s%s%s", *actor ? actor : view_member(row, "source"),
             both ? "/" : "", both ? via : "", *trust ? " (" : "", trust, *trust ? ")" : "");
}

/* What would be written, in one line. */
static struct ethos_view first_line(const json_t *update)
{
    struct ethos_view text = json_view(update, "content"), line;
    if (!text.data)
        text = json_view(update, "substringMatch");
    bool head = view_starts(text, VIEW("---\n"));
    while (view_line(&text, &line)) {
        bool fence = view_eq(view_trim(line), VIEW("---"));
        if (head && fence && text.size > 0 && view_starts(text, VIEW("\n")))
            head = false;
        else if (!head && !view_blank(line))
            return view_trim(line);
    }
    return VIEW("");
}

static void print_pending_row(struct cli *self, const json_t *row)
{
    char when[TERM_WHEN_SIZE], who[128];
    const json_t *update = json_object_get(row, "update");
    when_of(row, when);
    who_of(row, who, sizeof who);
    term_styled(&self->term, TERM_BOLD, "%.*s", SHORT_ID, view_member(row, "id"));
    term_styled(&self->term, TERM_DIM, "  %s  %s", when, who);
    term_printf(&self->term, "  %s %s %s\n", view_member(update, "action"),
                view_member(row, "scopeId"), view_member(update, "key"));
    struct ethos_view line = first_line(update);
    if (line.size > 0) {
        term_printf(&self->term, "          ");
        term_text(&self->term, line);
        term_printf(&self->term, "\n");
    }
}

void view_pending(struct cli *self, const json_t *json)
{
    const json_t *rows = json_object_get(json, "pending");
    size_t index, count = json_array_size(rows);
    json_t *row;
    if (count == 0) {
        view_say(self, "Nothing waits for you");
        return;
    }
    if (!self->no_pager)
        term_page(&self->term);
    json_array_foreach ((json_t *)rows, index, row)
        print_pending_row(self, row);
    term_finish(&self->term);
    view_say(self, "%zu change%s wait%s for approval; run ethos pending", count,
             plural_suffix((long long)count), count == 1 ? "s" : "");
}

void view_pending_one(struct cli *self, const json_t *json)
{
    char when[TERM_WHEN_SIZE], who[128];
    size_t index;
    json_t *reason;
    const json_t *update = json_object_get(json, "update");
    struct ethos_view diff = json_view(json, "diff");
    when_of(json, when);
    who_of(json, who, sizeof who);
    term_printf(&self->term, "%-10s%s\n%-10s%s, %s\n%-10s%s %s %s\n", "Id", view_member(json, "id"),
                "From", who, when, "Would", view_member(update, "action"),
                view_member(json, "scopeId"), view_member(update, "key"));
    if (*view_member(json, "sessionId"))
        term_printf(&self->term, "%-10s%s\n", "Session", view_member(json, "sessionId"));
    json_array_foreach (json_object_get(json, "reasons"), index, reason)
        term_printf(&self->term, "%-10s%s\n", index == 0 ? "Why" : "", json_string_value(reason));
    if (*view_member(json, "editedFrom"))
        term_printf(&self->term, "%-10s%s\n", "Edited", "you have changed its text");
    if (json_is_true(json_object_get(json, "moved")))
        term_printf(&self->term, "%-10s%s\n", "Since", "the file was changed meanwhile");
    term_printf(&self->term, "%-10s%s\n\n", "Hash", view_member(json, "hash"));
    if (diff.size > 0)
        view_lines_of_diff(self, diff);
    else
        term_printf(&self->term, "It would change nothing.\n");
}

void view_approved(struct cli *self, const json_t *json)
{
    view_report(self, json);
    if (*view_member(json, "rule"))
        view_say(self, "Added to approval.yaml: %s", view_member(json, "rule"));
    if (*view_member(json, "id"))
        view_say(self, "Approved %.*s; ethos memory undo takes it back", SHORT_ID,
                 view_member(json, "id"));
}

void view_decided(struct cli *self, const json_t *json)
{
    bool never = strcmp(view_member(json, "decided"), "never") == 0;
    view_say(self, "%s %.*s%s", "Rejected", SHORT_ID, view_member(json, "id"),
             never ? "; it will not be proposed again" : "");
}
