/*
 * recall.c: searches the indexes of all scopes at once.
 */
#include "memory/recall/recall.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/log.h"
#include "base/system/os.h"
#include "base/text/single_line.h"
#include "base/text/snowball.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/memory/scope.h"
#include "core/notes/index.h"
#include "core/search/passages.h"
#include "core/search/query.h"
#include "core/search/ranked_words.h"
#include "core/sessions/normalize.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"
#include "memory/provider/missing_slots.h"
#include "memory/recall/folder.h"
#include "memory/recall/near_words.h"
#include "memory/recall/remote_meaning.h"
#include "memory/recall/scope_index.h"
#include "memory/scope_router.h"
#include "memory/sessions/lookup.h"

#define ROUNDS 3 /* attempts before a constantly changing text is left out */
#define DAY_MS 86400000
#define LEAST_NEAR 0.3 /* cosine of words with related meanings */

struct searched_scope {
    struct scope_index index;
    struct said_room *room; /* conversations; NULL: texts */
    bool notes_only;        /* its other files are memory of other scopes */
    bool ready;
};

/* A text with hits. */
struct cached_read {
    const struct searched_scope *scope;
    struct ethos_view key, text; /* text.data NULL: it does not exist */
};

struct recall_question {
    struct ethos_turn *turn;
    const struct recall_ask *ask;
    struct recall_report *report;
    struct arena arena;
    struct shown_decisions decisions; /* lines that the owner allows */
    struct searched_scope *scopes;
    size_t scope_count, scope_room;
    struct conversations said;
    struct snowball *languages; /* or NULL */
    struct sessions_person person;
    struct str question;           /* with words similar to unknown ones */
    struct str folders;            /* folders whose conversations are searched; empty: all */
    char session[ETHOS_UUID_SIZE]; /* the session of the caller; "": unknown */
    /* of this round */
    struct arena round;
    struct image *images;
    struct searched_scope **owners; /* by image */
    struct searched_scope *rooms;
    size_t room_count;
    size_t image_count;
    struct cached_read *texts;
    size_t text_count, text_room;
    struct recall_hit *hits;
    struct ranker_hit *ranked;
    size_t hit_count;
    bool stale; /* a text differed from its index */
    int64_t encode_until_ms;
};

/* ---- which scopes ---------------------------------------------------------------------------- */

static int add_searched_scope(struct recall_question *self, const char *scope, bool notes_only)
{
    struct searched_scope *rows = arena_grow(&self->arena, self->scopes, self->scope_count,
                                             &self->scope_room, sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    self->scopes = rows;
    struct searched_scope *row = &rows[self->scope_count++];
    *row = (struct searched_scope){.notes_only = notes_only};
    row->index.ethos = self->turn->ethos;
    row->index.provider = split_at(self->turn->provider, scope, NULL);
    snprintf(row->index.scope, sizeof row->index.scope, "%s", scope);
    return ETHOS_OK;
}

static int add_context(struct recall_question *self)
{
    const struct ethos_context *context = &self->turn->context;
    bool global = !self->turn->no_global && strcmp(context->memory_scope, "global") != 0;
    TRY(add_searched_scope(self, context->memory_scope, false));
    if (strcmp(context->user_scope, context->memory_scope) != 0)
        TRY(add_searched_scope(self, context->user_scope, false));
    if (context->workspace_scope)
        TRY(add_searched_scope(self, context->workspace_scope, false));
    return global ? add_searched_scope(self, "global", true) : ETHOS_OK;
}

static int add_workspace(void *arg, const char *scope)
{
    struct recall_question *self = arg;
    const char *own = self->turn->context.workspace_scope;
    if (!view_starts(view_str(scope), VIEW("workspace:")) || (own && strcmp(scope, own) == 0))
        return ETHOS_OK;
    return add_searched_scope(self, scope, false);
}

static void record_report_failure(struct recall_question *self, int code,
                                  const struct ethos_error *why)
{
    if (self->report->code != ETHOS_OK)
        return;
    self->report->code = code;
    self->report->error = *why;
    self->report->error.code = code;
}

static int find_scopes(struct recall_question *self, struct ethos_error *error)
{
    struct ethos_provider *provider = self->turn->provider;
    struct ethos_error why;
    struct scope_target target;
    int code = ETHOS_OK;
    if (self->ask->scope)
        code = scope_target(&self->turn->context, NULL, self->ask->scope, NOTES_INDEX, false,
                            &target, error);
    if (code != ETHOS_OK)
        return code;
    code = self->ask->scope ? add_searched_scope(self, target.scope, false) : add_context(self);
    if (code == ETHOS_OK && self->ask->everywhere && SLOT_PROVIDER(provider, scopes)) {
        code = provider->ops->scopes(provider, add_workspace, self, &why);
        if (code != ETHOS_OK && code != ETHOS_NOMEM) {
            record_report_failure(self, code, &why); // the others are searched
            code = ETHOS_OK;
        }
    }
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* A scope that cannot be searched does not hide the others; if none can, that is the failure. */
static int update_indexes(struct recall_question *self, struct ethos_error *error)
{
    size_t ready = 0;
    struct ethos_error why;
    self->report->unreadable = 0;
    // unreadable decisions allow nothing
    if (shown_file_read(self->turn->ethos, NULL, &self->arena, &self->decisions, &why) ==
        ETHOS_NOMEM)
        return err_nomem(error);
    for (size_t i = 0; i < self->scope_count; i++) {
        struct searched_scope *scope = &self->scopes[i];
        scope->index.decisions = &self->decisions;
        scope->index.encode_until_ms = self->encode_until_ms;
        int code = scope_index_catch_up(&scope->index, self->ask->quick, &why);
        if (code == ETHOS_NOMEM)
            return err_nomem(error);
        scope->ready = code == ETHOS_OK;
        ready += scope->ready;
        if (!scope->ready)
            record_report_failure(self, code, &why);
        else if (scope->index.code != ETHOS_OK)
            record_report_failure(self, scope->index.code, &scope->index.error);
        self->report->unreadable += scope->index.unreadable;
        self->report->encoded += scope->index.encoded;
        self->report->partial = self->report->partial || scope->index.partial;
        self->report->rebuilt = self->report->rebuilt || scope->index.damaged;
    }
    self->report->scopes = ready;
    if (ready > 0)
        return ETHOS_OK;
    if (error)
        *error = self->report->error;
    return self->report->code;
}

/* ---- whose conversations --------------------------------------------------------------------- */

/* The folders of the project. *out_none: no folder, nothing is found. */
static int find_folders(struct recall_question *self, bool *out_none, struct ethos_error *error)
{
    const struct config *home;
    const char *folder = self->turn->context.workspace;
    *out_none = false;
    if (self->ask->said == RECALL_SAID_ALL)
        return ETHOS_OK;
    int code = service_config(self->turn->ethos, NULL, &home, NULL, error);
    if (code != ETHOS_OK ||
        (self->ask->said == RECALL_SAID_PROJECT && config_switch(home, NULL, "sessions.across")))
        return code;
    *out_none = !folder;
    return folder ? sessions_project(self->turn, folder, &self->folders, error) : ETHOS_OK;
}

/* A failure of conversations does not hide the texts. */
static int find_conversations(struct recall_question *self, struct ethos_error *error)
{
    struct ethos_turn *turn = self->turn;
    const struct ethos_request person = {.user = turn->context.user};
    struct ethos_error why;
    bool none = self->ask->said == RECALL_SAID_NONE;
    int code = none ? ETHOS_OK : find_folders(self, &none, &why);
    if (code == ETHOS_OK && !none)
        code = sessions_person(turn->ethos, &person, &self->person, &why);
    if (code == ETHOS_OK && !none) {
        self->said.ethos = turn->ethos;
        code = self->ask->quick ? conversations_open(&self->said, &why)
                                : conversations_catch_up(&self->said, &why);
    }
    if (code == ETHOS_OK && self->said.store && turn->context.session) {
        code = sessions_find(turn->ethos, NULL, turn->context.session, self->session, NULL);
        code = code == ETHOS_NOMEM ? code : ETHOS_OK; // not recorded yet
    }
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        record_report_failure(self, code, &why);
    return ETHOS_OK;
}

static bool is_room_wanted(const struct recall_question *self, const struct said_room *room)
{
    const struct ethos_session session = {.user = room->user};
    return sessions_is_of(&self->person.people, &session) &&
           form_within(self->folders.size > 0 ? self->folders.data : NULL, room->folder);
}

/* An index that cannot be opened does not hide the others. */
static int list_rooms(struct recall_question *self)
{
    struct conversations *said = &self->said;
    self->rooms = arena_array(&self->round, said->count + 1, sizeof *self->rooms);
    self->room_count = 0;
    if (!self->rooms)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < said->count; i++) {
        struct ethos_error why;
        if (!is_room_wanted(self, &said->rooms[i]))
            continue;
        int code = said_room_open(said, &said->rooms[i], &why);
        if (code == ETHOS_NOMEM)
            return code;
        if (code != ETHOS_OK) {
            record_report_failure(self, code, &why);
            continue;
        }
        if (self->ask->encode_ms && said_room_encode(said, &said->rooms[i], self->encode_until_ms,
                                                     &self->report->encoded, &why) != ETHOS_OK)
            return ETHOS_NOMEM;
        self->report->rebuilt = self->report->rebuilt || said->rooms[i].damaged;
        self->rooms[self->room_count++] = (struct searched_scope){.room = &said->rooms[i],
                                                                  .ready = true};
    }
    return ETHOS_OK;
}

/* ---- what is searched ------------------------------------------------------------------------ */

static bool is_main_file(struct ethos_view key)
{
    return view_eq(key, VIEW(NOTES_INDEX)) || view_eq(key, VIEW("USER.md"));
}

static bool is_key_selected(const struct recall_question *self, struct ethos_view key)
{
    for (const char *const *asked = self->ask->keys; asked && *asked; asked++)
        if (view_eq_str(key, *asked))
            return true;
    return self->ask->keys == NULL;
}

/*
 * Excluded: in a scope searched for notes only, other files; archives, if requested; the session of
 * the caller.
 */
static bool is_hidden(const struct recall_question *self, const struct searched_scope *scope,
                      const struct image *image, uint32_t document)
{
    struct ethos_view key = image_document_name(image, document);
    if (scope->room)
        return view_eq_str(said_document_session(image, document), self->session);
    return (scope->notes_only && is_main_file(key)) || !is_key_selected(self, key) ||
           (self->ask->no_archive && view_eq(key, VIEW(RECALL_ARCHIVE)));
}

static int hide_documents(struct recall_question *self, const struct searched_scope *scope,
                          struct image *image)
{
    bool *hidden = arena_array(&self->round, image->counts.documents + 1, sizeof *hidden);
    if (!hidden)
        return ETHOS_NOMEM;
    for (uint32_t d = 0; d < image->counts.documents; d++)
        hidden[d] = image_is_gone(image, d) || is_hidden(self, scope, image, d);
    image->gone = hidden;
    return ETHOS_OK;
}

static int add_images(struct recall_question *self, struct searched_scope *scope)
{
    size_t count;
    const struct recall_index *index = scope->room ? scope->room->index : scope->index.index;
    const struct recall_frame *frames = recall_index_frames(index, &count);
    bool hides = scope->room ? *self->session != '\0'
                             : scope->notes_only || self->ask->no_archive || self->ask->keys;
    for (size_t f = 0; f < count; f++) {
        struct image *image = &self->images[self->image_count];
        *image = frames[f].image;
        self->owners[self->image_count++] = scope;
        if (hides && hide_documents(self, scope, image) != ETHOS_OK)
            return ETHOS_NOMEM;
    }
    return ETHOS_OK;
}

static int list_images(struct recall_question *self)
{
    int code = list_rooms(self);
    size_t most = (self->scope_count + self->room_count) * INDEX_FRAMES + 1;
    self->images = arena_array(&self->round, most, sizeof *self->images);
    self->owners = arena_array(&self->round, most, sizeof *self->owners);
    if (code != ETHOS_OK || !self->images || !self->owners)
        return ETHOS_NOMEM;
    self->image_count = 0;
    for (size_t i = 0; code == ETHOS_OK && i < self->scope_count; i++)
        if (self->scopes[i].ready)
            code = add_images(self, &self->scopes[i]);
    for (size_t i = 0; code == ETHOS_OK && i < self->room_count; i++)
        code = add_images(self, &self->rooms[i]);
    return code;
}

/* The vectors of an image; none if another model made the index. */
static int find_vectors(struct recall_question *self, size_t i, const struct recall_model *model,
                        struct image_vectors *out)
{
    struct searched_scope *scope = self->owners[i];
    const struct recall_index *index = scope->room ? scope->room->index : scope->index.index;
    int code = scope->room ? said_room_open_vectors(&self->said, scope->room, NULL)
                           : scope_index_open_vectors(&scope->index, NULL);
    struct vector_file *vectors = scope->room ? scope->room->vectors : scope->index.vectors;
    if (code == ETHOS_OK && vectors)
        code = vector_file_find(vectors, self->images[i].checksum, out);
    if (!recall_index_is_of(index, model->id))
        self->images[i].rows = NULL;
    return code;
}

static const struct image_document *find_document(const struct image *image, uint32_t unit,
                                                  uint32_t *out_number);

/* Whether the only passages without a cosine are excluded ones, which then get 0. */
static bool has_all(const struct image *image, const struct vectors *piece, float *cosines)
{
    for (uint32_t i = 0; i < piece->count; i++) {
        uint32_t document;
        if (cosines[i] > REMOTE_NONE)
            continue;
        find_document(image, image->passages[piece->first + i].unit, &document);
        if (!image_is_gone(image, document))
            return false;
        cosines[i] = 0;
    }
    return true;
}

/*
 * The cosines of one image with the question from the remote model; *out_all false: some passages
 * have none.
 */
static int compare_image(struct recall_question *self, const struct remote_file *file,
                         const struct service_vectors *question, const struct image *image,
                         struct image_vectors *vectors, bool *out_all)
{
    uint32_t known = 0;
    struct vectors *pieces = arena_array(&self->round, vectors->count + 1, sizeof *pieces);
    for (size_t i = 0; pieces && i < vectors->count; i++) {
        const struct vectors *piece = &vectors->pieces[i];
        float *cosines = arena_array(&self->round, piece->count + 1, sizeof *cosines);
        if (!cosines)
            return ETHOS_NOMEM;
        pieces[i] = *piece;
        pieces[i].cosines = cosines;
        known += piece->count;
        *out_all = *out_all && piece->first + piece->count <= image->counts.passages &&
                   remote_file_compare(file, question, piece, cosines) &&
                   has_all(image, piece, cosines);
    }
    *out_all = *out_all && known == image->counts.passages;
    vectors->pieces = pieces;
    return pieces ? ETHOS_OK : ETHOS_NOMEM;
}

/* Replaces the local vectors if it is complete. */
static int compare_remote(struct recall_question *self, struct image_vectors *vectors)
{
    struct ethos *ethos = self->turn->ethos;
    const struct service_embedder *embedder = &self->turn->settings.embedder;
    const char *scope = self->scopes[0].index.scope;
    char name[RECALL_NAME_SIZE];
    bool all = true;
    int code = ETHOS_OK;
    if (!remote_meaning_may(ethos, embedder))
        return ETHOS_OK;
    recall_file_name(scope, name);
    struct remote_file *file = remote_file_open(ethos, name, embedder);
    struct image_vectors *own = arena_array(&self->round, self->image_count + 1, sizeof *own);
    const struct service_vectors *question = remote_meaning_question(ethos, embedder,
                                                                     self->ask->question);
    for (size_t i = 0; file && own && question && code == ETHOS_OK && i < self->image_count; i++) {
        own[i] = vectors[i];
        code = compare_image(self, file, question, &self->images[i], &own[i], &all);
    }
    remote_file_close(file);
    if (code == ETHOS_OK && question && all && own)
        memcpy(vectors, own, self->image_count * sizeof *own);
    else if (code == ETHOS_OK && question)
        snprintf(ethos->remote_wanted, sizeof ethos->remote_wanted, "%s", scope);
    return own ? code : ETHOS_NOMEM;
}

static int find_meaning(void *arg, struct ranker_meaning *out)
{
    struct recall_question *self = arg;
    struct recall_model *model = self->ask->quick ? NULL : recall_folder_model(self->turn->ethos);
    int code = ETHOS_OK;
    if (!model)
        return ETHOS_OK; // out has none
    struct image_vectors *vectors = arena_array(&self->round, self->image_count + 1,
                                                sizeof *vectors);
    for (size_t i = 0; vectors && code == ETHOS_OK && i < self->image_count; i++)
        code = find_vectors(self, i, model, &vectors[i]);
    if (vectors && code == ETHOS_OK && self->ask->remote && self->scope_count == 1)
        code = compare_remote(self, vectors);
    *out = (struct ranker_meaning){model, vectors};
    return vectors ? code : ETHOS_NOMEM;
}

/* The document of a unit. */
static const struct image_document *find_document(const struct image *image, uint32_t unit,
                                                  uint32_t *out_number)
{
    uint32_t low = 0, high = image->counts.documents;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (image->documents[middle].first_unit <= unit)
            low = middle;
        else
            high = middle;
    }
    *out_number = low;
    return &image->documents[low];
}

static int64_t date_ms(uint32_t date)
{
    char text[CLOCK_ISO_SIZE];
    int64_t ms;
    snprintf(text, sizeof text, "%04u-%02u-%02u", IMAGE_YEAR(date), IMAGE_MONTH(date),
             IMAGE_DAY(date));
    return clock_parse(view_str(text), 0, false, &ms, NULL) ? ms : -1;
}

/* The date in the text, else the last change of its file. */
static int64_t time_of(const struct image *image, uint32_t unit)
{
    uint32_t document, date = image->units[unit].date;
    int64_t stated = date ? date_ms(date) : -1;
    return stated >= 0 ? stated : find_document(image, unit, &document)->time_ms;
}

/* A date covers its whole day. */
static bool is_recent(void *arg, uint32_t image, uint32_t unit)
{
    const struct recall_question *self = arg;
    int64_t time = time_of(&self->images[image], unit);
    int64_t day = self->images[image].units[unit].date ? DAY_MS - 1 : 0;
    return time + day >= self->ask->since_ms;
}

/* ---- reading hits ---------------------------------------------------------------------------- */

/* The current text of a hit; data NULL if there is none. */
static int read_hit_text(struct recall_question *self, const struct searched_scope *scope,
                         struct ethos_view key, const struct image_document *indexed,
                         struct ethos_view *out)
{
    char name[ETHOS_MAX_KEY + 1];
    struct scope_text text;
    struct ethos_view visible = {0};
    struct ethos_error why;
    for (size_t i = 0; i < self->text_count; i++)
        if (self->texts[i].scope == scope && view_eq(self->texts[i].key, key)) {
            *out = self->texts[i].text;
            return ETHOS_OK;
        }
    struct cached_read *rows = arena_grow(&self->round, self->texts, self->text_count,
                                          &self->text_room, sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    self->texts = rows;
    snprintf(name, sizeof name, "%.*s", VIEW_ARG(key));
    scope_text_init(&text);
    int code = scope_index_read_again(&scope->index, name, indexed, &text, &visible, &why);
    self->report->withheld |= code == ETHOS_OK && visible.data != text.raw.data;
    if (code == ETHOS_OK)
        visible.data = arena_copy(&self->round, visible);
    else
        visible = (struct ethos_view){0};
    scope_text_release(self->turn->ethos, &text);
    if (code == ETHOS_NOMEM || (code == ETHOS_OK && !visible.data))
        return ETHOS_NOMEM;
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
        record_report_failure(self, code, &why);
    rows[self->text_count++] = (struct cached_read){scope, key, visible};
    *out = visible;
    return ETHOS_OK;
}

/* The passage of a unit that has most words of the question. */
struct best_passage {
    struct ethos_view unit, text;
    struct matched_words *words;
    size_t most;
};

static int compare_passage(void *arg, size_t start, size_t end)
{
    struct best_passage *best = arg;
    struct ethos_view passage = view_of(best->unit.data + start, end - start);
    size_t count = matched_words_find(passage, best->words);
    if (count > best->most || !best->text.data) {
        best->text = passage;
        best->most = count;
    }
    return ETHOS_OK;
}

static struct ethos_view choose_passage(struct ethos_view unit, struct matched_words *words)
{
    struct best_passage best = {.unit = unit, .words = words};
    passages_each(unit, compare_passage, &best);
    struct ethos_view text = view_trim(best.text);
    matched_words_find(text, words);
    return text;
}

/* A hit and its text. */
struct found_unit {
    const struct searched_scope *scope;
    const struct image *image;
    uint32_t unit, document;
    struct ethos_view text, whole; /* text.data NULL: it differs from what was indexed */
    struct said_message *said;     /* or NULL */
};

/* Whether a message is in the session of the caller. */
static bool is_asking(const struct recall_question *self, const struct said_message *said)
{
    const char *session = self->turn->context.session;
    return session &&
           (strcmp(said->session, session) == 0 || (said->key && strcmp(said->key, session) == 0));
}

static int find_message(struct recall_question *self, struct found_unit *out)
{
    struct ethos_error why;
    struct said_message *said = arena_alloc(&self->round, sizeof *said);
    int code = said ? said_message_read(&self->said, out->scope->room, out->image, out->document,
                                        out->unit, &self->round, said, &why)
                    : ETHOS_NOMEM;
    if (code == ETHOS_NOMEM)
        return code;
    if (code == ETHOS_UNSUPPORTED)
        self->turn->ethos->wants_sessions = true;
    else if (code != ETHOS_OK)
        record_report_failure(self, code, &why);
    if (code != ETHOS_OK)
        return ETHOS_OK;
    if (!said->id) {
        self->stale = true;
        return conversations_force(&self->said, said_document_session(out->image, out->document));
    }
    out->said = said;
    out->whole = said->text;
    if (!is_asking(self, said) && !view_eq(view_trim(said->text), view_trim(self->ask->question)))
        out->text = said->text;
    return ETHOS_OK;
}

/* The whole lines around a part of a text. */
static struct ethos_view lines_around(struct ethos_view text, struct ethos_view part)
{
    const char *end = text.data + text.size, *stop = part.data + part.size;
    const char *before = memrchr(text.data, '\n', (size_t)(part.data - text.data));
    const char *after = memchr(stop, '\n', (size_t)(end - stop));
    const char *start = before ? before + 1 : text.data;
    return view_of(start, (size_t)((after ? after : end) - start));
}

/*
 * Scans the text of a unit again without the rest of its file: numbers alone do not prove that it
 * is the scanned text.
 */
static int extract_unit(const struct scope_index *index, struct ethos_view text,
                        struct ethos_view unit, struct ethos_view *out)
{
    CLEANUP_STR struct str safe;
    str_init(&safe, SIZE_MAX);
    bool clean = scan_visible(unit, &safe).data == unit.data;
    if (!clean && index->shown.count > 0) {
        const struct ethos_view lines = lines_around(text, unit);
        clean = scan_visible_with(lines, &index->shown, &safe).data == lines.data;
    }
    if (clean)
        *out = unit;
    return str_code(&safe) ? ETHOS_NOMEM : ETHOS_OK;
}

/* Whether the text of a unit is still what was indexed; returns the current text. */
static int find_unit(struct recall_question *self, struct found_unit *out)
{
    const struct image_unit *unit = &out->image->units[out->unit];
    struct ethos_view key = image_document_name(out->image, out->document), text;
    if (out->scope->room)
        return find_message(self, out);
    TRY(read_hit_text(self, out->scope, key, &out->image->documents[out->document], &text));
    out->whole = text;
    if (text.data && (uint64_t)unit->offset + unit->size <= text.size &&
        IMAGE_CHECK(view_of(text.data + unit->offset, unit->size)) == unit->check)
        return extract_unit(&out->scope->index, text, view_of(text.data + unit->offset, unit->size),
                            &out->text);
    self->stale = true;
    return scope_index_force((struct scope_index *)&out->scope->index, key);
}

static bool has_same_text(const struct recall_question *self, struct ethos_view text)
{
    for (size_t i = 0; i < self->hit_count; i++)
        if (view_eq(self->hits[i].text, text))
            return true;
    return false;
}

/* ---- near words ------------------------------------------------------------------------------ */

struct near_walk {
    const struct word_table *table;
    struct matched_words *words;
    uint32_t rows[MATCHED_WORDS_MAX]; /* of words that the text lacks; 0: not searched */
};

static int compare_near(void *arg, const struct word *word)
{
    struct near_walk *walk = arg;
    uint32_t row = ranked_words_is_stop(word->folded) ? 0
                                                      : word_table_find(walk->table, word->folded);
    for (size_t i = 0; row != 0 && i < walk->words->count; i++) {
        struct matched_word *matched = &walk->words->rows[i];
        double cosine = walk->rows[i] ? (double)word_table_cosine(walk->table, walk->rows[i], row)
                                      : 0;
        if (cosine < LEAST_NEAR || (*matched->near && cosine <= matched->cosine))
            continue;
        memcpy(matched->near, word->folded.data, word->folded.size);
        matched->near[word->folded.size] = '\0';
        matched->cosine = cosine;
    }
    return 0;
}

/* For words that the passage lacks, finds related words in it. */
static void find_near(const struct recall_question *self, struct ethos_view passage,
                      struct matched_words *words)
{
    const struct recall_model *model = recall_folder_model(self->turn->ethos);
    struct near_walk walk = {.words = words};
    if (!model)
        return;
    walk.table = &model->table;
    for (size_t i = 0; i < words->count; i++)
        if (!*words->rows[i].as && !strpbrk(words->rows[i].word, "0123456789"))
            walk.rows[i] = word_table_find(walk.table, view_str(words->rows[i].word));
    ranked_words_each(passage, compare_near, &walk);
}

static int add_ranked_hit(struct recall_question *self, const struct ranker_hit *ranked)
{
    struct found_unit found = {.scope = self->owners[ranked->image],
                               .image = &self->images[ranked->image],
                               .unit = ranked->unit};
    struct matched_words *words = arena_alloc(&self->round, sizeof *words);
    const struct recall_index *index = found.scope->room ? found.scope->room->index
                                                         : found.scope->index.index;
    find_document(found.image, found.unit, &found.document);
    int code = words ? find_unit(self, &found) : ETHOS_NOMEM;
    if (code != ETHOS_OK || !found.text.data)
        return code;
    if (self->ask->phrases && !query_matches(self->ask->phrases, found.text, NULL, NULL))
        return ETHOS_OK;
    matched_words_read(str_view(&self->question), words);
    struct ethos_view passage = choose_passage(found.text, words);
    if (passage.size == 0 || has_same_text(self, passage))
        return ETHOS_OK;
    if (ranked->is_linear)
        find_near(self, passage, words);
    struct ethos_view name = image_document_name(found.image, found.document);
    const char *key = found.said ? found.said->session : arena_copy(&self->round, name);
    if (!key)
        return ETHOS_NOMEM;
    size_t before = (size_t)(passage.data - found.whole.data);
    self->hits[self->hit_count++] = (struct recall_hit){
        .scope = found.said ? CONVERSATIONS_SCOPE : found.scope->index.scope,
        .key = key,
        .line = 1 + view_newlines(view_of(found.whole.data, before)),
        .said = found.said,
        .text = passage,
        .unit = found.text,
        .whole = found.whole,
        .date_ms = found.said ? found.said->time_ms : time_of(found.image, found.unit),
        .changed_ms = found.said ? found.said->time_ms
                                 : found.image->documents[found.document].time_ms,
        .is_dated = found.image->units[found.unit].date != 0,
        .ranked = ranked,
        .words = words,
        .indexed_ms = recall_index_saved_ms(index),
    };
    return ETHOS_OK;
}

/* ---- languages ------------------------------------------------------------------------------- */

/* A wrong setting is reported, and English is used. */
static int open_languages(struct recall_question *self, struct ethos_error *error)
{
    const struct config *home;
    struct ethos_error why;
    int code = service_config(self->turn->ethos, NULL, &home, NULL, &why);
    const char *names = code == ETHOS_OK ? config_get(home, NULL, "recall.languages") : NULL;
    if (names)
        code = snowball_open(view_str(names), &self->languages, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        log_line(self->turn->ethos->host, ETHOS_LOG_WARN, "recall.languages: %s", why.text);
    return ETHOS_OK;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static bool is_index_line(const struct recall_hit *hit)
{
    struct index_entry entry;
    return strcmp(hit->key, NOTES_INDEX) == 0 && index_line(line_first(hit->text), &entry);
}

/* Whether a hit is the index line of a note that is a hit itself. */
static bool leads_to_hit(const struct recall_question *self, const struct recall_hit *hit)
{
    struct index_entry entry;
    if (strcmp(hit->key, NOTES_INDEX) != 0 || !index_line(line_first(hit->text), &entry))
        return false;
    for (size_t i = 0; i < self->hit_count; i++)
        if (strcmp(self->hits[i].scope, hit->scope) == 0 &&
            view_eq_str(entry.file, self->hits[i].key))
            return true;
    return false;
}

static void drop_index_lines(struct recall_question *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->hit_count; i++)
        if (!leads_to_hit(self, &self->hits[i]))
            self->hits[count++] = self->hits[i];
    self->hit_count = count;
}

static void begin_round(struct recall_question *self)
{
    arena_release(&self->round);
    arena_init(&self->round);
    self->texts = NULL;
    self->text_count = self->text_room = self->hit_count = 0;
    self->stale = false;
}

static void count_units(struct recall_question *self)
{
    self->report->units = 0;
    for (size_t i = 0; i < self->image_count; i++)
        self->report->units += self->images[i].counts.units;
}

static void count_texts(struct recall_question *self)
{
    for (size_t i = 0; i < self->image_count; i++) {
        struct ethos_view before = {0};
        const struct image *image = &self->images[i];
        for (uint32_t d = 0; !self->owners[i]->room && d < image->counts.documents; d++) {
            struct ethos_view name = image_document_name(image, d);
            if (image_is_gone(image, d))
                continue;
            self->report->texts += !view_eq(name, before);
            before = name;
        }
    }
}

static int read_question(struct recall_question *self)
{
    str_clear(&self->question);
    str_add(&self->question, self->ask->question);
    if (!self->ask->words)
        return str_code(&self->question);
    self->report->texts = 0;
    count_texts(self);
    return near_words_add(self->images, self->image_count, self->ask->question, &self->question);
}

/* A text search does not return hits that are only adjacent or related. */
static bool is_hit(const struct recall_question *self, const struct ranker_hit *ranked)
{
    if (self->ask->words)
        return ranked->evidence > 0;
    return ranked->window > 0 || ranked->meaning >= RANKER_LEAST_MEANING;
}

static int run_round(struct recall_question *self, struct ethos_error *error)
{
    size_t count = 0, most = self->ask->limit;
    begin_round(self);
    TRY(list_images(self) || read_question(self) ? err_nomem(error) : ETHOS_OK);
    const struct ranker_scope scope = {.images = self->images,
                                       .count = self->image_count,
                                       .want = self->ask->since_ms ? is_recent : NULL,
                                       .languages = self->languages,
                                       .find_meaning = find_meaning,
                                       .evidence = self->ask->evidence,
                                       .arg = self};
    count_units(self);
    self->stale = self->said.lost;
    self->ranked = arena_array(&self->round, RANKER_MAX_HITS, sizeof *self->ranked);
    self->hits = arena_array(&self->round, RANKER_MAX_HITS, sizeof *self->hits);
    if (!self->ranked || !self->hits)
        return err_nomem(error);
    int code = ranker_rank(&scope, str_view(&self->question), RANKER_MAX_HITS, self->ranked, &count,
                           error);
    for (size_t i = 0, tried = 0; code == ETHOS_OK && i < count && tried < most; i++) {
        if (!is_hit(self, &self->ranked[i]))
            continue;
        size_t before = self->hit_count;
        bool enough = self->ranked[i].evidence >= self->ask->evidence;
        if (enough)
            code = add_ranked_hit(self, &self->ranked[i]);
        if (self->hit_count > before && most < RANKER_MAX_HITS)
            most += is_index_line(&self->hits[before]); // it may be left out
        tried += !enough || self->hit_count > before;
    }
    drop_index_lines(self);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static int run_recall(struct recall_question *self, struct ethos_error *error)
{
    int code = find_scopes(self, error);
    code = code ? code : open_languages(self, error);
    code = code ? code : update_indexes(self, error);
    code = code ? code : find_conversations(self, error);
    code = code ? code : run_round(self, error);
    for (int i = 1; i < ROUNDS && code == ETHOS_OK && self->stale; i++) {
        code = update_indexes(self, error);
        if (code == ETHOS_OK && self->said.store)
            code = conversations_catch_up(&self->said, error);
        code = code ? code : run_round(self, error);
    }
    self->report->scopes += self->room_count > 0;
    return code;
}

int recall_search(struct ethos_turn *turn, const struct recall_ask *ask, recall_hit_fn *each,
                  void *arg, struct recall_report *out, struct ethos_error *error)
{
    struct recall_question self = {.turn = turn, .ask = ask, .report = out};
    recall_folder_begin(turn->ethos);
    self.encode_until_ms = ask->encode_ms ? os_monotonic_ms() + ask->encode_ms
                                          : SCOPE_ENCODE_NOTHING;
    *out = (struct recall_report){0};
    arena_init(&self.arena);
    arena_init(&self.round);
    str_init(&self.folders, SIZE_MAX);
    str_init(&self.question, SIZE_MAX);
    int code = run_recall(&self, error);
    for (size_t i = 0; code == ETHOS_OK && i < self.hit_count && i < ask->limit; i++)
        code = each(arg, &self.hits[i]);
    for (size_t i = 0; i < self.scope_count; i++)
        scope_index_release(&self.scopes[i].index);
    conversations_release(&self.said);
    snowball_close(self.languages);
    sessions_person_release(&self.person);
    str_release(&self.folders);
    str_release(&self.question);
    arena_release(&self.round);
    arena_release(&self.arena);
    return code;
}
