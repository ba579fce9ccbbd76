/*
 * view_chunks.c: the entries of a file, and what became of one.
 */
#include "base/view.h"
#include "cli/view_internal.h"

static void view_text(struct cli *self, struct ethos_view text)
{
    struct ethos_view line;
    while (view_line(&text, &line)) {
        term_printf(&self->term, "  ");
        term_text(&self->term, line);
        term_printf(&self->term, "\n");
    }
}

/* "314f28b2ce63905b line 3 Home > Kitchen", then what it says. */
static void view_entry(struct cli *self, const json_t *chunk)
{
    size_t index;
    json_t *heading;
    term_styled(&self->term, TERM_BOLD, "%s", view_member(chunk, "id"));
    term_styled(&self->term, TERM_DIM, " line %lld%s", view_integer(chunk, "line"),
                json_is_true(json_object_get(chunk, "archived")) ? " of the archive" : "");
    json_array_foreach (json_object_get(chunk, "path"), index, heading) {
        term_printf(&self->term, index ? " > " : "  ");
        term_text(&self->term, view_str(json_string_value(heading)));
    }
    term_printf(&self->term, "\n");
    view_text(self, json_view(chunk, "content"));
}

void view_chunks(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *chunk;
    const json_t *items = json_object_get(json, "items");
    json_array_foreach (items, index, chunk)
        view_entry(self, chunk);
    if (json_array_size(items) == 0)
        view_say(self, "No entries");
}

void view_chunk(struct cli *self, const json_t *json)
{
    view_entry(self, json_object_get(json, "chunk"));
}

/* The report of the write, and the entry as it is then; or, where it is not there any more, the nearest one. */
void view_changed_chunk(struct cli *self, const json_t *json)
{
    const json_t *chunk = json_object_get(json, "chunk"),
                 *nearest = json_object_get(json, "nearest");
    if (nearest) {
        view_say(self, "The nearest entry:");
        view_entry(self, nearest);
        return;
    }
    view_report(self, json);
    if (chunk && !self->quiet)
        view_entry(self, chunk);
}
