/*
 * search.c: finding words in the files and notes of a context.
 */
#include "memory/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/note.h"
#include "core/query.h"
#include "core/scan.h"
#include "core/scope.h"
#include "memory/handle.h"
#include "memory/notes.h"

#define ARCHIVE "memory-archive.md"
#define BEFORE 80 /* bytes of a long line shown before what was found */

enum rank { AS_PHRASE, IN_LINE, IN_FILE };

struct file {
    const char *scope, *key;
    int64_t mtime_ms;
};

struct hit {
    struct file file;
    enum rank rank;
    struct memory_hit shown; /* its snippet is in `text` */
    char text[SEARCH_MAX_SNIPPET];
};

struct search {
    struct ethos_turn *turn;
    const struct memory_search *how;
    struct memory_searched *told;
    struct query query;
    struct arena arena;
    struct file *files;
    size_t file_count, file_room;
    const char *scope; /* being listed */
    bool notes_only;   /* of it */
    struct hit *hits;  /* the best so far, in order; room for one more than asked for */
    size_t hit_count;
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
    *file = (struct file){self->scope, arena_str(&self->arena, entry->key), entry->mtime_ms};
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
    files[self->file_count++] = (struct file){self->scope, ARCHIVE, -1};
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

static int list_files(struct search *self, struct ethos_error *error)
{
    return self->how->scope ? list_one(self, error) : list_context(self, error);
}

/* ---- the best hits ---------------------------------------------------------------------------- */

/* Whether a comes before b; equals keep the order in which they were found. */
static bool is_better(const struct hit *a, const struct hit *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->file.mtime_ms > b->file.mtime_ms;
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

static void keep(struct search *self, const struct file *file, enum rank rank,
                 struct ethos_view line, uint64_t number, size_t start)
{
    size_t at = self->hit_count;
    struct hit *hit = &self->hits[at];
    hit->file = *file;
    hit->rank = rank;
    hit->shown = (struct memory_hit){.line = number};
    cut(hit, line, start);
    struct hit fresh = *hit;
    for (; at > 0 && is_better(&fresh, &self->hits[at - 1]); at--)
        self->hits[at] = self->hits[at - 1];
    self->hits[at] = fresh;
    self->hit_count += self->hit_count < self->how->limit;
}

/* ---- looking ---------------------------------------------------------------------------------- */

static bool look_at_line(struct search *self, const struct file *file, struct ethos_view line,
                         uint64_t number)
{
    size_t start = 0;
    if (!query_matches(&self->query, line, &start, NULL))
        return false;
    keep(self, file, query_is_phrase_in(&self->query, line) ? AS_PHRASE : IN_LINE, line, number,
         start);
    return true;
}

/* No line has all the words: the one that has the first of them stands for the file. */
static void keep_spread(struct search *self, const struct file *file, struct ethos_view text,
                        size_t start)
{
    struct ethos_view line = {0}, rest = text;
    uint64_t number = 0;
    size_t offset = 0;
    while (view_line(&rest, &line)) {
        number++;
        offset = (size_t)(line.data - text.data);
        if (start <= offset + line.size)
            break;
    }
    keep(self, file, IN_FILE, line, number, start > offset ? start - offset : 0);
}

/* The lines of a part of the text; `number` is that of the line before it. */
static size_t look_at_lines(struct search *self, const struct file *file, struct ethos_view part,
                            uint64_t number)
{
    size_t found = 0,
           most = strcmp(file->key, ARCHIVE) == 0 ? self->how->limit : SEARCH_MAX_PER_FILE;
    struct ethos_view line;
    while (found < most && view_line(&part, &line))
        found += look_at_line(self, file, line, ++number);
    return found;
}

/* What a note says counts before what is said about it, which mostly repeats it. */
static void look_into(struct search *self, const struct file *file, struct ethos_view text)
{
    struct note note;
    size_t start = 0;
    if (!query_matches(&self->query, text, &start, NULL))
        return;
    note_parse(text, &note);
    uint64_t before = 0;
    for (const char *at = text.data; at < note.body.data; at++)
        before += *at == '\n';
    if (look_at_lines(self, file, note.body, before) == 0 &&
        look_at_lines(self, file, note.head, 0) == 0)
        keep_spread(self, file, text, start);
}

/* A model must not even learn that a secret is there by asking for it. */
static struct ethos_view visible(struct search *self)
{
    struct ethos_view text = view_of(self->text.data, self->text.size);
    struct ethos_view safe = self->how->guarded ? scan_visible(text, &self->safe) : text;
    self->told->withheld |= safe.data != text.data;
    return safe;
}

static int look_at(struct search *self, const struct file *file, struct ethos_error *error)
{
    struct ethos_error why = {0};
    int code = notes_read(self->turn, file->scope, file->key, &self->text, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK) {
        pass_over(self, code, &why);
        return ETHOS_OK;
    }
    self->told->files++;
    self->bytes += self->text.size;
    look_into(self, file, visible(self));
    return str_code(&self->safe) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int look(struct search *self, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < self->file_count; i++) {
        if (self->bytes > SEARCH_MAX_BYTES) {
            self->told->partial = 1;
            return ETHOS_OK;
        }
        code = look_at(self, &self->files[i], error);
    }
    return code;
}

static int tell(struct search *self, memory_hit_fn *each, void *arg)
{
    int code = ETHOS_OK;
    for (size_t i = 0; i < self->hit_count && code == ETHOS_OK; i++) {
        struct hit *hit = &self->hits[i];
        hit->shown.scope = hit->file.scope;
        hit->shown.key = hit->file.key;
        hit->shown.mtime_ms = hit->file.mtime_ms;
        hit->shown.snippet.data = hit->text;
        code = each(arg, &hit->shown);
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
    self.hits = arena_array(&self.arena, search->limit + 1u, sizeof *self.hits);
    int code = self.hits ? query_parse(search->text, &self.arena, &self.query) : ETHOS_NOMEM;
    code = code == ETHOS_OK ? list_files(&self, error) : err_nomem(error);
    if (code == ETHOS_OK)
        code = look(&self, error);
    if (code == ETHOS_OK)
        code = tell(&self, each, arg);
    notes_free(turn, &self.text);
    str_release(&self.safe);
    arena_release(&self.arena);
    return code;
}
