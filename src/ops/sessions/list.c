/*
 * list.c: the operations sessions.list and sessions.search.
 *
 * With a query, a session is listed if every word occurs in its title, its key or any of its messages. For a very
 * frequent word, the newest 40,000 messages with it are searched.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/search/query.h"
#include "memory/sessions/lookup.h"
#include "ops/sessions/sessions.h"

#define PAGE 50
#define HITS 20
#define MANY 2000 /* messages with a word, read in one round */
#define ROUNDS 20
#define PARTS 63 /* of a query; each has a bit */

/* When sessions must have been used last; NULL: at any time. */
struct time_span {
    const char *since, *until;
    char from[CLOCK_ISO_SIZE], to[CLOCK_ISO_SIZE];
};

static void read_span(const struct op_call *call, struct time_span *out)
{
    bool since = op_string(call, "since"), until = op_string(call, "until");
    clock_iso(op_time(call, "since"), out->from);
    clock_iso(op_time(call, "until"), out->to);
    out->since = since ? out->from : NULL;
    out->until = until ? out->to : NULL;
}

static bool is_in_time_span(const struct time_span *span, const struct ethos_session *session)
{
    return (!span->since || strcmp(session->updated_at, span->since) >= 0) &&
           (!span->until || strcmp(session->updated_at, span->until) <= 0);
}

/* Adds the title to show to each row. */
static int add_titles(const struct op_call *call, json_t *rows, struct ethos_error *error)
{
    size_t index;
    json_t *row;
    json_array_foreach (rows, index, row)
        TRY(sessions_add_title(call, row, error));
    return ETHOS_OK;
}

/* ---- words of a query ------------------------------------------------------------------------- */

/* One part of the query: a word, or a phrase in quotes. */
struct query_part {
    struct ethos_view text; /* quotes included */
    struct query query;
};

/* Cuts the next part off *rest; an unpaired quote is an ordinary character. */
static struct ethos_view cut_query_part(struct ethos_view *rest)
{
    *rest = view_trim_start(*rest);
    size_t size = 0;
    const char *quote = rest->size > 1 && *rest->data == '"'
                            ? memchr(rest->data + 1, '"', rest->size - 1)
                            : NULL;
    if (quote)
        size = (size_t)(quote - rest->data) + 1;
    else
        while (size < rest->size && !memchr(" \t\r\n", rest->data[size], 4))
            size++;
    struct ethos_view part = view_of(rest->data, size);
    *rest = view_from(*rest, size);
    return part;
}

/* ---- sessions that match ---------------------------------------------------------------------- */

enum { ENOUGH = 1 }; // returned by a callback to stop

struct session_matcher {
    struct ethos_sessions *store;
    const char *folder, *personality;
    const struct ethos_people *people;
    struct time_span span;
    bool guarded;
    struct str safe; /* the sanitized name, if guarded */
    struct arena arena;
    struct query_part *parts[PARTS];
    size_t count;
    uint64_t bits;               /* of the parts that are being searched */
    size_t hits;                 /* of this round, */
    char oldest[CLOCK_ISO_SIZE]; /* and the time of its oldest */
    json_t *found;               /* id of a session to the bits of the parts found in it */
    json_t *rows;                /* the sessions that have all parts, in this order */
    size_t limit;
};

/* Splits the query. Parts without a word are ignored; the last possible part is the whole rest. */
static int split_query(struct session_matcher *self, struct ethos_view text)
{
    while (self->count < PARTS && !view_blank(text)) {
        struct query_part *part = arena_alloc(&self->arena, sizeof *part);
        if (!part)
            return ETHOS_NOMEM;
        bool last = self->count == PARTS - 1;
        part->text = last ? text : cut_query_part(&text);
        if (last)
            text = view_from(text, text.size);
        if (query_parse(part->text, &self->arena, &part->query) != ETHOS_OK)
            return ETHOS_NOMEM;
        if (part->query.count > 0)
            self->parts[self->count++] = part;
    }
    return ETHOS_OK;
}

static uint64_t all_bits(const struct session_matcher *self)
{
    return (UINT64_C(1) << self->count) - 1;
}

/* Records that a session has some parts; once it has all of them, adds it to the rows. */
static int record_matched_parts(struct session_matcher *self, const struct ethos_session *session,
                                uint64_t bits)
{
    uint64_t had = (uint64_t)json_integer_value(json_object_get(self->found, session->id));
    const char *wanted = self->personality;
    bool other = wanted && (!session->personality || strcmp(wanted, session->personality) != 0);
    if (other || (had | bits) == had || !is_in_time_span(&self->span, session))
        return ETHOS_OK;
    op_json_put(&self->found, session->id, json_integer((json_int_t)(had | bits)));
    if ((had | bits) == all_bits(self))
        op_json_push(&self->rows, sessions_row(session));
    if (!self->found || !self->rows)
        return ETHOS_NOMEM;
    return json_array_size(self->rows) < self->limit ? ETHOS_OK : ENOUGH;
}

/* Adds the bits of the parts that are in a name. */
static int match_name(struct session_matcher *self, const char *name, uint64_t *bits)
{
    struct ethos_view text = self->guarded ? scan_visible(view_str(name), &self->safe)
                                           : view_str(name);
    for (size_t i = 0; i < self->count; i++)
        if (query_matches(&self->parts[i]->query, text, NULL, NULL))
            *bits |= UINT64_C(1) << i;
    return str_code(&self->safe);
}

static int match_names(void *arg, const struct ethos_session *session)
{
    struct session_matcher *self = arg;
    uint64_t bits = 0;
    if (match_name(self, session->title, &bits) != ETHOS_OK ||
        match_name(self, session->key, &bits) != ETHOS_OK)
        return ETHOS_NOMEM;
    return record_matched_parts(self, session, bits);
}

static int match_hit(void *arg, const struct ethos_hit *hit)
{
    struct session_matcher *self = arg;
    const char *time = hit->message->timestamp;
    if (self->hits++ == 0 || strcmp(time, self->oldest) < 0)
        snprintf(self->oldest, sizeof self->oldest, "%s", time);
    return record_matched_parts(self, hit->session, self->bits);
}

/* Searches messages for parts: first the best hits, then in further rounds older and older ones. */
static int find_in_messages(struct session_matcher *self, struct ethos_view text, uint64_t bits,
                            struct ethos_error *error)
{
    char until[CLOCK_ISO_SIZE] = "";
    self->bits = bits;
    for (int round = 0; round < ROUNDS; round++) {
        const struct ethos_search search = {.text = text,
                                            .working_dir = self->folder,
                                            .until = *until ? until : NULL,
                                            .limit = MANY,
                                            .newest = round > 0,
                                            .guarded = self->guarded,
                                            .people = self->people};
        self->hits = 0;
        int code = self->store->ops->search(self->store, &search, match_hit, self, error);
        if (code != ETHOS_OK || self->hits < MANY || strcmp(self->oldest, until) == 0)
            return code;
        memcpy(until, self->oldest, sizeof until);
    }
    return ETHOS_OK;
}

/* Finds sessions, best first: all parts in the names, then all in one message, then anywhere. */
static int find_matching_sessions(struct session_matcher *self, struct ethos_view text,
                                  struct ethos_error *error)
{
    char cursor[ETHOS_CURSOR_SIZE];
    const struct ethos_session_query every = {.working_dir = self->folder,
                                              .personality = self->personality,
                                              .limit = UINT_MAX,
                                              .people = self->people};
    if (self->count == 0)
        return ETHOS_OK;
    TRY(self->store->ops->list(self->store, &every, match_names, self, cursor, error));
    TRY(find_in_messages(self, text, all_bits(self), error));
    for (size_t i = 0; self->count > 1 && i < self->count; i++)
        TRY(find_in_messages(self, self->parts[i]->text, UINT64_C(1) << i, error));
    return ETHOS_OK;
}

static int list_matching(const struct op_call *call, const struct sessions_viewer *viewer,
                         json_t **out_rows, struct ethos_error *error)
{
    struct session_matcher self = {.folder = viewer->folder,
                                   .people = viewer->people,
                                   .personality = op_string(call, "personalityId"),
                                   .guarded = call->guarded,
                                   .found = json_object(),
                                   .rows = json_array(),
                                   .limit = (size_t)op_integer(call, "limit", PAGE)};
    struct ethos_view text = op_text(call, "query");
    arena_init(&self.arena);
    str_init(&self.safe, SIZE_MAX);
    read_span(call, &self.span);
    int code = ethos_sessions(call->ethos, &self.store, error);
    if (code == ETHOS_OK)
        code = split_query(&self, text);
    if (code == ETHOS_OK)
        code = find_matching_sessions(&self, text, error);
    arena_release(&self.arena);
    str_release(&self.safe);
    json_decref(self.found);
    *out_rows = self.rows;
    return code == ENOUGH ? ETHOS_OK : sessions_walk_code(code, error);
}

/* ---- list ------------------------------------------------------------------------------------- */

static int add_session_row(void *arg, const struct ethos_session *session)
{
    json_t **rows = arg;
    op_json_push(rows, sessions_row(session));
    return *rows ? ETHOS_OK : ETHOS_NOMEM;
}

static int list_page(const struct op_call *call, const struct sessions_viewer *viewer,
                     json_t **out_rows, char out_cursor[ETHOS_CURSOR_SIZE],
                     struct ethos_error *error)
{
    struct ethos_sessions *store;
    const struct ethos_session_query query = {.working_dir = viewer->folder,
                                              .people = viewer->people,
                                              .personality = op_string(call, "personalityId"),
                                              .since = op_string(call, "since"),
                                              .until = op_string(call, "until"),
                                              .cursor = op_string(call, "cursor"),
                                              .limit = (unsigned)op_integer(call, "limit", PAGE)};
    *out_rows = json_array();
    int code = ethos_sessions(call->ethos, &store, error);
    if (code != ETHOS_OK)
        return code;
    return sessions_walk_code(
        store->ops->list(store, &query, add_session_row, out_rows, out_cursor, error), error);
}

/* Limits the list to the folder of the call, unless all projects are requested. */
static int choose_folder(const struct op_call *call, struct sessions_viewer *viewer,
                         struct ethos_error *error)
{
    bool all = op_flag(call, "all");
    if (viewer->folder && all)
        return err_hint(
            error, err_set(error, ETHOS_DENIED, "conversations of other projects are not shown"),
            "the owner can allow that: ethos config set sessions.across on");
    if (viewer->folder || all || !sessions_has_folder(call))
        return ETHOS_OK;
    return sessions_limit(call, viewer, error);
}

int sessions_run_list(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char cursor[ETHOS_CURSOR_SIZE] = "";
    struct sessions_viewer viewer;
    json_t *rows = NULL;
    int code = sessions_view(call, &viewer, error);
    if (code == ETHOS_OK)
        code = choose_folder(call, &viewer, error);
    if (code == ETHOS_OK)
        code = view_blank(op_text(call, "query")) ? list_page(call, &viewer, &rows, cursor, error)
                                                  : list_matching(call, &viewer, &rows, error);
    sessions_view_release(&viewer);
    if (code == ETHOS_OK)
        code = add_titles(call, rows, error);
    if (code == ETHOS_OK)
        code = op_return(result,
                         json_pack("{s:O, s:o}", "items", rows, "nextCursor",
                                   op_json_string(*cursor ? cursor : NULL)),
                         error);
    json_decref(rows);
    return code;
}

/* ---- search ----------------------------------------------------------------------------------- */

static json_t *snippet_json(const struct ethos_hit *hit)
{
    struct ethos_view text = hit->snippet;
    return json_pack("{s:o, s:o, s:o, s:b, s:b}", "before", json_text(view_of(text.data, hit->hit)),
                     "match", json_text(view_of(text.data + hit->hit, hit->hit_end - hit->hit)),
                     "after", json_text(view_from(text, hit->hit_end)), "cutBefore",
                     hit->cut_before, "cutAfter", hit->cut_after);
}

struct found_messages {
    json_t *hits;
    bool withheld;
};

static int add_message_hit(void *arg, const struct ethos_hit *hit)
{
    struct found_messages *found = arg;
    op_json_push(&found->hits,
                 json_pack("{s:o, s:o, s:o}", "session", sessions_row(hit->session), "message",
                           sessions_message(hit->message), "snippet", snippet_json(hit)));
    found->withheld |= hit->withheld;
    return found->hits ? ETHOS_OK : ETHOS_NOMEM;
}

/* Adds titles to the sessions of the hits, reading each title once. */
static int add_hit_titles(const struct op_call *call, json_t *hits, struct ethos_error *error)
{
    size_t index;
    json_t *hit;
    json_auto_t *titled = json_object();
    if (!titled)
        return err_nomem(error);
    json_array_foreach (hits, index, hit) {
        json_t *row = json_object_get(hit, "session");
        const char *id = json_view(row, "id").data;
        json_t *known = json_object_get(titled, id);
        if (!known)
            TRY(sessions_add_title(call, row, error));
        if ((known ? json_object_set(hit, "session", known) : json_object_set(titled, id, row)) !=
            0)
            return err_nomem(error);
    }
    return ETHOS_OK;
}

static int find_hits(const struct op_call *call, const struct ethos_search *search,
                     struct found_messages *found, struct ethos_error *error)
{
    struct ethos_sessions *store;
    TRY(ethos_sessions(call->ethos, &store, error));
    TRY(sessions_walk_code(store->ops->search(store, search, add_message_hit, found, error),
                           error));
    return add_hit_titles(call, found->hits, error);
}

int sessions_run_search(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char id[ETHOS_UUID_SIZE];
    struct sessions_viewer viewer;
    const char *name = op_string(call, "session");
    struct ethos_search search = {.text = op_text(call, "query"),
                                  .session = name ? id : NULL,
                                  .role = op_string(call, "role"),
                                  .since = op_string(call, "since"),
                                  .until = op_string(call, "until"),
                                  .limit = (unsigned)op_integer(call, "limit", HITS),
                                  .newest = op_flag(call, "newest"),
                                  .guarded = call->guarded};
    struct found_messages found = {.hits = json_array()};
    int code = sessions_view(call, &viewer, error);
    if (code == ETHOS_OK && op_flag(call, "here") && !viewer.folder)
        code = sessions_limit(call, &viewer, error);
    search.working_dir = viewer.folder;
    search.people = viewer.people;
    if (code == ETHOS_OK && name)
        code = sessions_find(call->ethos, viewer.people, name, id, error);
    if (code == ETHOS_OK)
        code = find_hits(call, &search, &found, error);
    sessions_view_release(&viewer);
    if (code == ETHOS_OK)
        code = op_return(result, json_pack("{s:O}", "hits", found.hits), error);
    result->withheld = found.withheld;
    json_decref(found.hits);
    return code;
}
