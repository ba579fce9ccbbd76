/*
 * search.c: what of files, notes and conversations answers a question.
 */
#include "memory/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/index.h"
#include "core/line.h"
#include "core/note.h"
#include "core/rank.h"
#include "core/scan.h"
#include "core/scope.h"
#include "memory/handle.h"
#include "memory/notes.h"
#include "memory/slots.h"

#define ARCHIVE "memory-archive.md"
#define BEFORE 80 /* bytes of a long line shown before what was found */

#define SAID_WEIGHT 0.7 /* what was said counts less than what was kept */
#define SAID_EACH 50    /* messages proposed for one word */
#define SAID_WORDS 8    /* words of a question that are looked for in conversations */

struct file {
    const char *scope, *key;
    int64_t mtime_ms;
    bool has; /* some word: the second pass reads it */
};

struct hit {
    struct file file;
    double score;
    struct memory_hit shown; /* its snippet is in `text` */
    char text[SEARCH_MAX_SNIPPET];
    char entry[ETHOS_MAX_KEY + 1]; /* of a line of an index: the note; else "" */
    char session[ETHOS_UUID_SIZE], message[ETHOS_UUID_SIZE], time[CLOCK_ISO_SIZE];
};

struct search {
    struct ethos_turn *turn;
    const struct memory_search *how;
    struct memory_searched *told;
    struct query query;
    struct rank_totals totals;
    bool scoring; /* the second pass */
    struct arena arena;
    struct file *files;
    size_t file_count, file_room;
    const char *scope;   /* being listed */
    bool notes_only;     /* of it */
    const char **scopes; /* of workspaces, for everywhere */
    size_t scope_count, scope_room;
    struct hit *hits; /* the best so far, in order; room for one more than hit_room */
    size_t hit_count, hit_room;
    struct ethos_text text;
    struct str safe; /* of the text at hand, when guarded */
    uint64_t bytes;
};

/* ---- which files ------------------------------------------------------------------------------ */

static int add_file(void *arg, const struct ethos_entry *entry)
{
    struct search *self = arg;
    bool main_file = strcmp(entry->key, NOTES_INDEX) == 0 || strcmp(entry->key, "USER.md") == 0;
    if (!scope_key_visible(entry->key) || (self->notes_only && main_file))
        return ETHOS_OK;
    if (self->file_count == SEARCH_MAX_FILES) {
        self->told->partial = 1;
        return ETHOS_OK;
    }
    struct file *files = arena_grow(&self->arena, self->files, self->file_count, &self->file_room,
                                    sizeof *files);
    if (!files)
        return ETHOS_NOMEM;
    self->files = files;
    struct file *file = &files[self->file_count];
    *file = (struct file){self->scope, arena_str(&self->arena, entry->key), entry->mtime_ms, false};
    self->file_count += file->key != NULL;
    return file->key ? ETHOS_OK : ETHOS_NOMEM;
}

/* No key that is listed; where there is none, reading it says so. */
static int add_archive(struct search *self)
{
    struct file *files = arena_grow(&self->arena, self->files, self->file_count, &self->file_room,
                                    sizeof *files);
    if (!files)
        return ETHOS_NOMEM;
    self->files = files;
    files[self->file_count++] = (struct file){self->scope, ARCHIVE, -1, false};
    return ETHOS_OK;
}

/* The first reason is given; nothing was refused to the caller. */
static void note_reason(struct search *self, int code, const struct ethos_error *why)
{
    if (self->told->code != ETHOS_OK)
        return;
    self->told->code = code == ETHOS_DENIED ? ETHOS_IO : code;
    self->told->error = *why;
    self->told->error.code = self->told->code;
}

/* A file that cannot be read does not hide the others, and is not hidden itself. */
static void pass_over(struct search *self, int code, const struct ethos_error *why)
{
    if (code == ETHOS_NOTFOUND)
        return; // it went meanwhile
    self->told->unreadable++;
    note_reason(self, code, why);
}

static int list_scope(struct search *self, const char *scope, struct ethos_error *error)
{
    struct ethos_provider *provider = self->turn->provider;
    self->scope = arena_str(&self->arena, scope);
    int code = self->scope ? provider->ops->list(provider, scope, add_file, self, error)
                           : ETHOS_NOMEM;
    if (code == ETHOS_OK && self->how->archive)
        code = add_archive(self);
    return code == ETHOS_NOMEM ? err_nomem(error) : code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int list_one(struct search *self, struct ethos_error *error)
{
    struct scope_target target;
    int code = scope_target(&self->turn->context, NULL, self->how->scope, NOTES_INDEX, false,
                            &target, error);
    return code == ETHOS_OK ? list_scope(self, target.scope, error) : code;
}

/* One that cannot be listed does not hide the others; when none can, that is the failure. */
static int list_context(struct search *self, struct ethos_error *error)
{
    const struct ethos_context *context = &self->turn->context;
    bool global = !self->turn->no_global && strcmp(context->memory_scope, "global") != 0;
    bool user = strcmp(context->user_scope, context->memory_scope) != 0;
    const char *const scopes[] = {context->memory_scope, user ? context->user_scope : NULL,
                                  context->workspace_scope, global ? "global" : NULL};
    const size_t count = sizeof scopes / sizeof *scopes;
    size_t listed = 0;
    struct ethos_error why;
    for (size_t i = 0; i < count; i++) {
        if (!scopes[i])
            continue;
        self->notes_only = i == count - 1; // its other files are the memory of others
        int code = list_scope(self, scopes[i], &why);
        if (code == ETHOS_NOMEM)
            return err_nomem(error);
        if (code == ETHOS_OK)
            listed++;
        else
            note_reason(self, code, &why);
    }
    if (listed == 0 && error)
        *error = self->told->error;
    return listed == 0 ? self->told->code : ETHOS_OK;
}

static int add_workspace(void *arg, const char *scope)
{
    struct search *self = arg;
    const char *own = self->turn->context.workspace_scope;
    if (strncmp(scope, "workspace:", 10) != 0 || (own && strcmp(scope, own) == 0))
        return ETHOS_OK;
    const char **scopes = arena_grow(&self->arena, self->scopes, self->scope_count,
                                     &self->scope_room, sizeof *scopes);
    if (!scopes)
        return ETHOS_NOMEM;
    self->scopes = scopes;
    scopes[self->scope_count] = arena_str(&self->arena, scope);
    return scopes[self->scope_count++] ? ETHOS_OK : ETHOS_NOMEM;
}

/* The other workspaces; one that cannot be listed does not hide the rest. */
static int list_workspaces(struct search *self, struct ethos_error *error)
{
    struct ethos_provider *provider = self->turn->provider;
    struct ethos_error why;
    if (!self->how->everywhere || !SLOT_PROVIDER(provider, scopes))
        return ETHOS_OK;
    int code = provider->ops->scopes(provider, add_workspace, self, &why);
    if (code != ETHOS_OK && code != ETHOS_NOMEM)
        note_reason(self, code, &why);
    self->notes_only = false;
    for (size_t i = 0; code != ETHOS_NOMEM && i < self->scope_count; i++) {
        code = list_scope(self, self->scopes[i], &why);
        if (code != ETHOS_OK && code != ETHOS_NOMEM)
            note_reason(self, code, &why);
    }
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

static int list_files(struct search *self, struct ethos_error *error)
{
    int code = self->how->scope ? list_one(self, error) : list_context(self, error);
    return code == ETHOS_OK ? list_workspaces(self, error) : code;
}

/* ---- the best hits ---------------------------------------------------------------------------- */

/* Whether a comes before b; equals keep the order in which they were found. */
static bool is_better(const struct hit *a, const struct hit *b)
{
    return a->score > b->score || (a->score == b->score && a->file.mtime_ms > b->file.mtime_ms);
}

static size_t next_char(struct ethos_view text, size_t at)
{
    while (at < text.size && ((unsigned char)text.data[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* The part of a line around what was found. */
static void cut(struct hit *hit, struct ethos_view line, size_t start)
{
    size_t from = 0;
    if (line.size > SEARCH_MAX_SNIPPET && start > BEFORE)
        from = next_char(line, start - BEFORE);
    size_t end = line.size;
    if (end - from > SEARCH_MAX_SNIPPET)
        for (end = from + SEARCH_MAX_SNIPPET;
             end > from && ((unsigned char)line.data[end] & 0xC0) == 0x80;)
            end--;
    memcpy(hit->text, line.data + from, end - from);
    hit->shown.snippet.size = end - from;
    hit->shown.cut_before = from > 0;
    hit->shown.cut_after = end < line.size;
}

/* The hit being made; insert_hit gives it its place. */
static struct hit *next_hit(struct search *self, const struct file *file, double score)
{
    struct hit *hit = &self->hits[self->hit_count];
    *hit = (struct hit){.file = *file, .score = score};
    return hit;
}

static void insert_hit(struct search *self)
{
    size_t at = self->hit_count;
    struct hit fresh = self->hits[at];
    for (; at > 0 && is_better(&fresh, &self->hits[at - 1]); at--)
        self->hits[at] = self->hits[at - 1];
    self->hits[at] = fresh;
    self->hit_count += self->hit_count < self->hit_room;
}

/* ---- files ------------------------------------------------------------------------------------ */

/* The line of a text that answers best, and where. */
struct best_line {
    struct ethos_view line;
    uint64_t number;
    size_t start;
};

static struct best_line find_line(const struct search *self, struct ethos_view text,
                                  uint64_t before)
{
    struct best_line best = {.line = line_first(text), .number = before + 1};
    struct ethos_view line;
    double most = 0;
    bool named = false;
    for (uint64_t number = before + 1; view_line(&text, &line); number++) {
        struct rank_counts counts = {0};
        if (!named && !line_blank(line)) {
            best.number = number;
            named = true;
        }
        rank_count(&self->query, line, 1, &counts);
        counts.words = 0; // however long
        double score = rank_score(&self->query, &counts, &self->totals);
        if (score > most) {
            most = score;
            best = (struct best_line){line, number, counts.start};
        }
    }
    return best;
}

static uint64_t count_lines(const char *from, const char *to)
{
    uint64_t lines = 0;
    for (; from < to; from++)
        lines += *from == '\n';
    return lines;
}

/* A note is one text: what it says, its title and its description. */
static int search_note(struct search *self, struct file *file, struct ethos_view text)
{
    struct note note;
    struct rank_counts counts = {0};
    struct str title;
    note_parse(text, &note);
    str_init(&title, SIZE_MAX);
    int code = note_title(&note, file->key, &title);
    rank_count(&self->query, note.body, 1, &counts);
    rank_count(&self->query, note.description, RANK_HOOK, &counts);
    rank_count(&self->query, str_view(&title), RANK_TITLE, &counts);
    str_release(&title);
    if (!self->scoring) {
        file->has = rank_add(&self->query, &counts, &self->totals);
        return code;
    }
    double score = rank_score(&self->query, &counts, &self->totals);
    if (score <= 0)
        return code;
    struct hit *hit = next_hit(self, file, score);
    struct best_line best = find_line(self, note.body, count_lines(text.data, note.body.data));
    hit->shown.line = best.number;
    cut(hit, best.line, best.start);
    insert_hit(self);
    return code;
}

/* Every other file is a text for each of its lines. */
static void search_lines(struct search *self, struct file *file, struct ethos_view text)
{
    struct ethos_view line;
    struct index_entry entry;
    for (uint64_t number = 1; view_line(&text, &line); number++) {
        struct rank_counts counts = {0};
        if (line_blank(line))
            continue;
        rank_count(&self->query, line, 1, &counts);
        if (!self->scoring) {
            file->has |= rank_add(&self->query, &counts, &self->totals);
            continue;
        }
        double score = rank_score(&self->query, &counts, &self->totals);
        if (score <= 0)
            continue;
        struct hit *hit = next_hit(self, file, score);
        hit->shown.line = number;
        cut(hit, line, counts.start);
        if (strcmp(file->key, NOTES_INDEX) == 0 && index_line(line, &entry))
            memcpy(hit->entry, entry.file.data, entry.file.size);
        insert_hit(self);
    }
}

static bool is_note(const char *key)
{
    return strcmp(key, NOTES_INDEX) != 0 && strcmp(key, "USER.md") != 0 &&
           strcmp(key, ARCHIVE) != 0;
}

/* A model must not even learn that a secret is there by asking for it. */
static struct ethos_view visible(struct search *self)
{
    struct ethos_view text = view_of(self->text.data, self->text.size);
    struct ethos_view safe = self->how->guarded ? scan_visible(text, &self->safe) : text;
    self->told->withheld |= safe.data != text.data;
    return safe;
}

static int search_file(struct search *self, struct file *file, struct ethos_error *error)
{
    struct ethos_error why = {0};
    int code = notes_read(self->turn, file->scope, file->key, &self->text, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK) {
        pass_over(self, code, &why);
        return ETHOS_OK;
    }
    self->told->files += !self->scoring;
    self->bytes += self->scoring ? 0 : self->text.size;
    struct ethos_view text = visible(self);
    code = ETHOS_OK;
    if (is_note(file->key))
        code = search_note(self, file, text);
    else
        search_lines(self, file, text);
    return code == ETHOS_OK && str_code(&self->safe) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* The first pass counts, the second scores. */
static int search_files(struct search *self, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < self->file_count; i++) {
        if (!self->scoring && self->bytes > SEARCH_MAX_BYTES) {
            self->told->partial = 1;
            break;
        }
        if (!self->scoring || self->files[i].has)
            code = search_file(self, &self->files[i], error);
    }
    return code;
}

/* ---- conversations ---------------------------------------------------------------------------- */

static bool has_message(const struct search *self, const char *id)
{
    for (size_t i = 0; i < self->hit_count; i++)
        if (strcmp(self->hits[i].message, id) == 0)
            return true;
    return false;
}

/* A message that has one of the words, scored by all of them. */
static int add_message(void *arg, const struct ethos_hit *said)
{
    static const struct file nowhere = {"", "", -1, false};
    struct search *self = arg;
    struct rank_counts counts = {0};
    if (has_message(self, said->message->id))
        return ETHOS_OK;
    rank_count(&self->query, said->message->content, 1, &counts);
    double score = SAID_WEIGHT * rank_score(&self->query, &counts, &self->totals);
    if (score <= 0)
        return ETHOS_OK;
    struct hit *hit = next_hit(self, &nowhere, score);
    cut(hit, said->snippet, said->hit);
    for (size_t i = 0; i < hit->shown.snippet.size; i++)
        if (hit->text[i] == '\n' || hit->text[i] == '\r')
            hit->text[i] = ' ';
    hit->shown.cut_before |= said->cut_before;
    hit->shown.cut_after |= said->cut_after;
    snprintf(hit->session, sizeof hit->session, "%s", said->session->id);
    snprintf(hit->message, sizeof hit->message, "%s", said->message->id);
    snprintf(hit->time, sizeof hit->time, "%s", said->message->timestamp);
    insert_hit(self);
    return ETHOS_OK;
}

/* Those with all of it, then those with each word. */
static int search_said(struct search *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->how->sessions;
    struct ethos_search search = {.text = self->how->text,
                                  .working_dir = self->how->working_dir,
                                  .limit = SAID_EACH,
                                  .guarded = self->how->guarded,
                                  .people = self->how->people};
    int code = store->ops->search(store, &search, add_message, self, error);
    for (size_t i = 0; code == ETHOS_OK && i < self->query.count && i < SAID_WORDS; i++) {
        const struct query_term *term = &self->query.terms[i];
        search.text = term->words[0].folded;
        if (term->count == 1)
            code = store->ops->search(store, &search, add_message, self, error);
    }
    return code;
}

/* ---- the answer ------------------------------------------------------------------------------- */

/* Whether the note that a line of an index leads to is a hit itself. */
static bool is_repeated(const struct search *self, const struct hit *line)
{
    for (size_t i = 0; *line->entry && i < self->hit_count; i++) {
        const struct file *file = &self->hits[i].file;
        if (strcmp(file->key, line->entry) == 0 && strcmp(file->scope, line->file.scope) == 0)
            return true;
    }
    return false;
}

static int report_hits(struct search *self, memory_hit_fn *each, void *arg)
{
    int code = ETHOS_OK;
    size_t count = 0;
    for (size_t i = 0; i < self->hit_count && code == ETHOS_OK && count < self->how->limit; i++) {
        struct hit *hit = &self->hits[i];
        if (is_repeated(self, hit))
            continue;
        hit->shown.scope = hit->file.scope;
        hit->shown.key = hit->file.key;
        hit->shown.mtime_ms = hit->file.mtime_ms;
        hit->shown.snippet.data = hit->text;
        if (*hit->message) {
            hit->shown.session = hit->session;
            hit->shown.message = hit->message;
            hit->shown.time = hit->time;
        }
        code = each(arg, &hit->shown);
        count++;
    }
    return code;
}

int memory_search(struct ethos_turn *turn, const struct memory_search *search, memory_hit_fn *each,
                  void *arg, struct memory_searched *out, struct ethos_error *error)
{
    struct search self = {.turn = turn, .how = search, .told = out};
    *out = (struct memory_searched){0};
    arena_init(&self.arena);
    str_init(&self.safe, ETHOS_MAX_STORE_BYTES);
    self.hit_room = 2 * (size_t)search->limit; // lines of an index that are left out
    self.hits = arena_array(&self.arena, self.hit_room + 1, sizeof *self.hits);
    int code = self.hits ? rank_parse(search->text, &self.arena, &self.query) : ETHOS_NOMEM;
    code = code == ETHOS_OK ? list_files(&self, error) : err_nomem(error);
    if (code == ETHOS_OK)
        code = search_files(&self, error);
    self.scoring = true;
    if (code == ETHOS_OK)
        code = search_files(&self, error);
    if (code == ETHOS_OK && search->sessions)
        code = search_said(&self, error);
    if (code == ETHOS_OK)
        code = report_hits(&self, each, arg);
    notes_free(turn, &self.text);
    str_release(&self.safe);
    arena_release(&self.arena);
    return code;
}
