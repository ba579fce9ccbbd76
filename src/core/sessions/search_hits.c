/*
 * search_hits.c: what is the same of every search in conversations.
 */
#include "core/sessions/search_hits.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/sanitize.h"

#define BEFORE_UNITS 50 /* CH of a snippet before the hit */
#define AFTER_UNITS 150 /* and from its beginning on */

static int parse_time(const char *name, const char *text, int64_t now_ms, bool end, int64_t *out,
                      struct ethos_error *error)
{
    if (!text || clock_parse(view_str(text), now_ms, end, out, NULL))
        return ETHOS_OK;
    return err_set(error, ETHOS_INVALID, "%s: \"%s\" is not a valid time", name, text);
}

int search_show_begin(struct search_show *self, const struct ethos_search *search, int64_t now_ms,
                      ethos_hit_fn *each, void *arg, struct ethos_error *error)
{
    size_t limit = search->limit ? search->limit : SEARCH_LIMIT;
    *self = (struct search_show){
        .search = search,
        .since = INT64_MIN + 1, // more than what an index says of messages that are gone
        .until = INT64_MAX,
        .limit = limit < SEARCH_RANKED ? limit : SEARCH_RANKED,
        .each = each,
        .arg = arg};
    arena_init(&self->arena);
    str_init(&self->safe, SIZE_MAX);
    int code = parse_time("since", search->since, now_ms, false, &self->since, error);
    if (code == ETHOS_OK)
        code = parse_time("until", search->until, now_ms, true, &self->until, error);
    if (code == ETHOS_OK && query_parse(search->text, &self->arena, &self->query) != ETHOS_OK)
        code = err_nomem(error);
    return code;
}

int search_show_end(struct search_show *self, int code)
{
    str_release(&self->safe);
    arena_release(&self->arena);
    return code == ETHOS_OK ? self->stopped : code;
}

bool search_show_full(const struct search_show *self)
{
    return self->stopped != 0 || self->shown_count >= self->limit;
}

/* ---- one hit --------------------------------------------------------------------------------- */

static bool was_shown(const struct search_show *self, const char *id)
{
    for (size_t i = 0; i < self->shown_count; i++) {
        if (strcmp(self->shown[i], id) == 0)
            return true;
    }
    return false;
}

static int note_shown(struct search_show *self, const char *id, struct ethos_error *error)
{
    char **shown = arena_grow(&self->arena, self->shown, self->shown_count, &self->shown_capacity,
                              sizeof *shown);
    char *copy = arena_str(&self->arena, id);
    if (shown)
        self->shown = shown;
    if (!shown || !copy)
        return err_nomem(error);
    shown[self->shown_count++] = copy;
    return ETHOS_OK;
}

/* The hit is at [start, end) of the content, or nowhere. */
static void cut_snippet(struct ethos_view content, size_t start, size_t end, struct ethos_hit *out)
{
    size_t from = utf8_tail(view_of(content.data, start), BEFORE_UNITS);
    size_t to = start < end ? start + utf8_head(view_from(content, start), AFTER_UNITS)
                            : utf8_head(content, BEFORE_UNITS + AFTER_UNITS);
    out->snippet = view_of(content.data + from, to - from);
    out->hit = start - from;
    out->hit_end = (end < to ? end : to) - from;
    out->cut_before = from > 0;
    out->cut_after = to < content.size;
}

/* The message becomes what a model may read of it. */
static int guard(struct ethos_message *message, struct str *safe, struct ethos_hit *hit,
                 struct ethos_error *error)
{
    struct ethos_view visible = scan_visible(message->content, safe);
    hit->withheld = visible.data != message->content.data;
    message->content = visible;
    return str_code(safe) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

int search_show(struct search_show *self, struct ethos_message *message,
                const struct ethos_session *session, struct ethos_error *error)
{
    struct ethos_hit hit = {.message = message, .session = session};
    size_t start = 0, end = 0;
    if (was_shown(self, message->id))
        return ETHOS_OK;
    int code = self->search->guarded ? guard(message, &self->safe, &hit, error) : ETHOS_OK;
    if (code != ETHOS_OK || !query_matches(&self->query, message->content, &start, &end))
        return code;
    code = note_shown(self, message->id, error);
    if (code != ETHOS_OK)
        return code;
    cut_snippet(message->content, start, end, &hit);
    self->stopped = self->each(self->arg, &hit);
    return ETHOS_OK;
}
